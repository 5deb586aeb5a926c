//! What ends a program before its time.

/// Why a core stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// An access at an address that is not a multiple of its size.
    #[error("a misaligned access of {bytes} bytes at {address:#010x}")]
    Misaligned {
        /// The address.
        address: u32,
        /// Its size.
        bytes: u32,
    },
    /// An access of the bank outside of all buffers.
    #[error("an access outside of every buffer, at {address:#010x}")]
    OutOfBank {
        /// The address.
        address: u32,
    },
    /// A store to a buffer that is only read.
    #[error("a store to a buffer that is only read, at {address:#010x}")]
    ReadOnly {
        /// The address.
        address: u32,
    },
    /// An access of the scratchpad outside of what the thread has of it.
    #[error(
        "an access outside of the thread's part of the scratchpad, at {address:#010x}: its stack is full"
    )]
    Scratchpad {
        /// The address.
        address: u32,
    },
    /// Workspaces that need more than the bank has left.
    #[error("workspaces need more memory than the bank has: {bytes} bytes more")]
    NoMemory {
        /// Bytes that were asked for.
        bytes: u64,
    },
    /// A word that is no instruction.
    #[error("no instruction at {address:#010x}")]
    Illegal {
        /// The address.
        address: u32,
    },
    /// More instructions than a core may execute.
    #[error("more than {limit} instructions: an endless loop")]
    Limit {
        /// How many it may.
        limit: u64,
    },
    /// Threads that wait for each other, or for one that ended.
    #[error("threads wait at a barrier or for a mutex that others never reach or give back")]
    Divergence,
    /// A mutex given back by a thread that does not have it.
    #[error("mutex {mutex} is given back by a thread that does not have it")]
    Mutex {
        /// Its number.
        mutex: u32,
    },
    /// A call of the environment that there is not.
    #[error("no call of the environment has number {number}")]
    Call {
        /// Its number.
        number: u32,
    },
    /// The program ended itself.
    #[error("the program gave up")]
    Abort,
}

/// A fault: what happened, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("core {core}, thread {thread}, at {pc:#010x}{}: {cause}", self.within())]
pub struct Fault {
    /// The core.
    pub core: usize,
    /// The thread.
    pub thread: usize,
    /// The address of the instruction.
    pub pc: u32,
    /// The function that the address belongs to, if it is known.
    pub place: Option<String>,
    /// What happened.
    pub cause: Cause,
}

impl Fault {
    /// ` in f`, if the function is known.
    fn within(&self) -> String {
        self.place.as_ref().map_or(String::new(), |place| format!(" in {place}"))
    }
}
