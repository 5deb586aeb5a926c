//! The machine that loops are made for, as passes see it.
//!
//! A target describes itself as a [`Machine`]; a pass reads from it what is worth its while. Nothing here decides what
//! is computed: loops made for one machine are right on every other.

use crate::place::{ParallelLevel, Space};
use dastac_elements::Function as MathFunction;

/// A machine: the sizes and abilities that passes decide by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    /// Bytes of a vector register; of a scalar one, where there are no vectors.
    pub vector_bytes: i64,
    /// Number of vector registers.
    pub registers: i64,
    /// Whether one instruction multiplies and adds.
    pub fuses: bool,
    /// Whether one instruction loads elements at any places into the lanes of a vector, under a mask.
    pub gathers: bool,
    /// Bytes of what is nearest to a core: its first cache, or its scratchpad.
    pub l1: i64,
    /// Bytes of what is next: the second cache, or a core's part of main memory.
    pub l2: i64,
    /// Bytes of the last cache that a core has while all others use theirs.
    pub last: i64,
    /// Bytes of a line of memory: what moves between memory and caches at once.
    pub line: i64,
    /// Bytes of a page of memory: what one entry of the translation buffer covers.
    pub page: i64,
    /// Bytes of the largest workspace that is put on the stack.
    pub stack: i64,
    /// Bytes that a nest reads and writes at least where stores past the caches take less time than others.
    pub stream: i64,
    /// Elements that a range or loop loads at least where it is worth waking threads, which takes microseconds.
    pub wake: i64,
    /// Fused multiply-adds of 64-bit numbers that a core does in a nanosecond, in vectors of all bytes.
    pub multiply_adds: i64,
    /// Bytes that a core reads in a nanosecond from its first cache.
    pub read_l1: i64,
    /// The same from its second cache.
    pub read_l2: i64,
    /// The same from the last cache.
    pub read_last: i64,
    /// The same from memory.
    pub read_memory: i64,
    /// Partial sums side by side that hide the latency of an addition.
    pub chains: i64,
    /// The same where terms are loaded one by one, which takes longer than their additions.
    pub scalar_chains: i64,
    /// Lanes of a vector that is put together of elements loaded one by one; at most those of a vector. 1 if that takes
    /// longer than a gather, or than adding them up one by one.
    pub packs: i64,
    /// Iterations of loops of which a processor still knows, when it executes them again, where each loop ended.
    pub predicts: i64,
    /// Loop nests of one shape that are worth a function of their own: the code generator takes milliseconds for each.
    pub same_shape: i64,
    /// Calls in a row that one function has at most: the code generator takes time that grows with their square.
    pub calls: i64,
    /// Elements that are loaded in the time of a call of a function such as `exp`.
    pub function: i64,
    /// Functions that a library computes for all lanes of a vector at once; others without instructions are called for
    /// one lane after the other.
    pub vector_functions: Vec<MathFunction>,
    /// Memories beside the main one.
    pub memories: Vec<Memory>,
    /// Levels of parallelism, the outermost first. None of them means that loops run one iteration after the other.
    pub levels: Vec<Processors>,
}

/// A memory that is not the main one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    /// Which one.
    pub space: Space,
    /// Bytes of each.
    pub bytes: i64,
    /// The level whose processors have one each.
    pub level: ParallelLevel,
}

/// Processors that share out the iterations of a parallel loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Processors {
    /// Their level.
    pub level: ParallelLevel,
    /// Their number, inside of one processor of the level outside; none if only known when the code runs.
    pub count: Option<i64>,
}

impl Machine {
    /// A machine without vectors and threads that has few registers and small caches.
    pub const PLAIN: Machine = Machine {
        vector_bytes: 8,
        registers: 8,
        fuses: false,
        gathers: false,
        l1: 16 << 10,
        l2: 64 << 10,
        last: 64 << 10,
        line: 64,
        page: 4 << 10,
        stack: 4 << 10,
        stream: 96 << 10,
        wake: 16 << 10,
        multiply_adds: 1,
        read_l1: 8,
        read_l2: 8,
        read_last: 8,
        read_memory: 4,
        chains: 8,
        scalar_chains: 4,
        packs: 4,
        predicts: 128 << 10,
        same_shape: 8,
        calls: 64,
        function: 16,
        vector_functions: Vec::new(),
        memories: Vec::new(),
        levels: Vec::new(),
    };

    /// This machine with threads, whose number is known when the code runs, as its only level, or with none.
    pub fn with_threads(self, threads: bool) -> Machine {
        let level = Processors { level: ParallelLevel::Threads, count: None };
        Machine { levels: threads.then_some(level).into_iter().collect(), ..self }
    }

    /// Whether it has processors at this level.
    pub fn has(&self, level: ParallelLevel) -> bool {
        self.levels.iter().any(|known| known.level == level)
    }

    /// Whether there are threads: then nests are cut into parts of equal work, on the outside of everything else.
    pub fn has_threads(&self) -> bool {
        self.has(ParallelLevel::Threads)
    }

    /// Elements of so many bytes in a vector.
    pub fn lanes(&self, bytes: i64) -> i64 {
        self.vector_bytes / bytes
    }

    /// What a function costs for each element, in elements that are loaded.
    pub fn cost(&self, function: MathFunction) -> i64 {
        match function.is_instruction() {
            true => 1,
            false if self.vector_functions.contains(&function) => {
                (self.function / self.lanes(8).max(1)).max(2)
            }
            false => self.function,
        }
    }

    /// Bytes of a memory beside the main one; 0 if there is no such memory.
    pub fn bytes_of(&self, space: Space) -> i64 {
        self.memories.iter().find(|memory| memory.space == space).map_or(0, |memory| memory.bytes)
    }
}
