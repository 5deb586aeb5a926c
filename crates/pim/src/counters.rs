//! What is counted while a program runs.

use serde::Serialize;

/// Cycles of one core by their cause, and what it moved. The causes add up to [`Counters::cycles`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Cycles until the last thread ended.
    pub cycles: u64,
    /// Cycles in which an instruction was issued, but for those below.
    pub issue: u64,
    /// Cycles in which an instruction was issued that accesses the scratchpad.
    pub scratchpad: u64,
    /// Cycles without an instruction, since threads waited for the bank.
    pub memory: u64,
    /// Cycles without an instruction, since too few threads fill the pipeline.
    pub pipeline: u64,
    /// Cycles without an instruction, since threads waited for each other.
    pub waiting: u64,
    /// Instructions, those of routines too.
    pub instructions: u64,
    /// Rows of the bank that were opened.
    pub rows: u64,
    /// Transfers of the DMA engine.
    pub transfers: u64,
    /// Bytes read from the bank.
    pub read: u64,
    /// Bytes written to the bank.
    pub written: u64,
}

impl Counters {
    /// Adds what another core counted; `cycles` is the larger one.
    pub fn add(&mut self, other: &Counters) {
        self.cycles = self.cycles.max(other.cycles);
        self.issue += other.issue;
        self.scratchpad += other.scratchpad;
        self.memory += other.memory;
        self.pipeline += other.pipeline;
        self.waiting += other.waiting;
        self.instructions += other.instructions;
        self.rows += other.rows;
        self.transfers += other.transfers;
        self.read += other.read;
        self.written += other.written;
    }
}
