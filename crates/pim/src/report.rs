//! What is known of a run: times, transfers, and what cores counted.

use serde::Serialize;

use crate::counters::Counters;

/// All launches of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The machine.
    pub profile: String,
    /// Cores that there were.
    pub cores: usize,
    /// Threads of each.
    pub threads: usize,
    /// Seconds, all together.
    pub seconds: Seconds,
    /// The launches, in order.
    pub launches: Vec<LaunchReport>,
}

/// Where time went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// To banks.
    pub to_banks: f64,
    /// On cores.
    pub cores: f64,
    /// From banks.
    pub from_banks: f64,
    /// To start programs and learn that they ended.
    pub launches: f64,
}

impl Seconds {
    /// The sum.
    pub fn total(&self) -> f64 {
        self.to_banks + self.cores + self.from_banks + self.launches
    }

    fn add(&mut self, other: Seconds) {
        self.to_banks += other.to_banks;
        self.cores += other.cores;
        self.from_banks += other.from_banks;
        self.launches += other.launches;
    }
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaunchReport {
    /// The program.
    pub program: String,
    /// Cores that ran it.
    pub cores: usize,
    /// Most threads of a core.
    pub threads: usize,
    /// Bits of its integers.
    pub index_bits: u32,
    /// Where time went.
    pub seconds: Seconds,
    /// The largest number of cycles over the mean one.
    pub imbalance: f64,
    /// Bytes to and from banks.
    pub transfers: Vec<Transfer>,
    /// What all cores counted together; `cycles` are those of the slowest.
    pub counters: Counters,
    /// What each core counted.
    pub per_core: Vec<Counters>,
    /// What each core had counted at regular times, if that was asked for.
    #[serde(skip)]
    pub timeline: Vec<Vec<Counters>>,
}

/// How a buffer gets to banks or from them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transfer {
    /// The buffer.
    pub buffer: String,
    /// `broadcast`, `scatter` or `gather`.
    pub kind: &'static str,
    /// Bytes, of all banks together.
    pub bytes: u64,
    /// Bytes of the bank that has most.
    pub largest: u64,
    /// Seconds that it takes.
    pub seconds: f64,
}

impl Report {
    /// Adds a launch.
    pub fn add(&mut self, launch: LaunchReport) {
        self.seconds.add(launch.seconds);
        self.launches.push(launch);
    }
}
