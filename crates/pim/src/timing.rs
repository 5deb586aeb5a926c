//! What accesses of a bank take: a row buffer where cores load and store directly, a DMA engine else.

use crate::counters::Counters;
use crate::profile::{Access, Dma, Profile};

/// What an access costs beside its instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// More instructions of a routine.
    pub instructions: u32,
    /// When the bank is done; 0 if it does not matter.
    pub until: u64,
}

/// The state of a bank that decides about times.
#[derive(Debug)]
pub struct Timing<'a> {
    profile: &'a Profile,
    open: Option<u32>,
    /// When the DMA engine is free.
    free: u64,
    /// Lines that threads keep, one thread after the other: the number of the line and whether it was written to.
    lines: Vec<Option<(u32, bool)>>,
}

impl<'a> Timing<'a> {
    /// The state before a program.
    pub fn new(profile: &'a Profile, threads: usize) -> Timing<'a> {
        let lines = match &profile.access {
            Access::Direct { .. } => 0,
            Access::Dma(dma) => threads * dma.lines as usize,
        };
        Timing { profile, open: None, free: 0, lines: vec![None; lines] }
    }

    /// An access of a thread at a time.
    #[inline]
    pub fn access(&mut self, access: BankAccess, counters: &mut Counters) -> Cost {
        let BankAccess { thread, offset, bytes, store, now } = access;
        let profile = self.profile;
        match &profile.access {
            Access::Direct { hit, miss } => {
                let moved = if store { &mut counters.written } else { &mut counters.read };
                *moved += u64::from(bytes);
                let cycles = if self.opens(offset, counters) { *miss } else { *hit };
                Cost { instructions: 0, until: now + cycles }
            }
            Access::Dma(dma) => {
                let (line, many) = (offset / dma.line, dma.lines as usize);
                let place = thread * many + line as usize % many;
                let Cost { until, .. } = match self.lines[place] {
                    Some((known, dirty)) if known == line => {
                        self.lines[place] = Some((line, dirty || store));
                        Cost::default()
                    }
                    old => {
                        self.lines[place] = Some((line, store));
                        if let Some((known, true)) = old {
                            let back =
                                Moved { offset: known * dma.line, bytes: dma.line, write: true };
                            self.transfer(dma, back, now, counters);
                        }
                        let read = Moved { offset: line * dma.line, bytes: dma.line, write: false };
                        self.transfer(dma, read, now, counters)
                    }
                };
                Cost { instructions: dma.lookup, until }
            }
        }
    }

    /// Writes the lines of a thread back that it wrote to: when that is done.
    pub fn flush(&mut self, thread: usize, now: u64, counters: &mut Counters) -> u64 {
        let Access::Dma(dma) = &self.profile.access else { return now };
        let many = dma.lines as usize;
        let mut until = now;
        for place in thread * many..(thread + 1) * many {
            if let Some((line, true)) = self.lines[place].take() {
                let moved = Moved { offset: line * dma.line, bytes: dma.line, write: true };
                until = self.transfer(dma, moved, now, counters).until;
            }
        }
        until
    }

    /// A transfer that a program asks for: when it is done.
    pub fn explicit(&mut self, moved: Moved, now: u64, counters: &mut Counters) -> u64 {
        let profile = self.profile;
        match &profile.access {
            Access::Dma(dma) => self.transfer(dma, moved, now, counters).until,
            Access::Direct { hit, miss } => {
                let Moved { offset, bytes, write } = moved;
                let moved = if write { &mut counters.written } else { &mut counters.read };
                *moved += u64::from(bytes);
                let words = u64::from(bytes.div_ceil(4));
                let opened = u64::from(self.opens(offset, counters));
                now + words * hit + opened * (miss - hit)
            }
        }
    }

    fn transfer(&mut self, dma: &Dma, moved: Moved, now: u64, counters: &mut Counters) -> Cost {
        let Moved { offset, bytes, write } = moved;
        let (first, moved) = match write {
            true => (dma.write, &mut counters.written),
            false => (dma.read, &mut counters.read),
        };
        *moved += u64::from(bytes);
        counters.transfers += 1;
        self.opens(offset, counters);
        let begin = self.free.max(now);
        self.free = begin + first + u64::from(bytes).div_ceil(dma.bytes);
        Cost { instructions: 0, until: self.free }
    }

    /// Whether a row has to be opened.
    #[inline]
    fn opens(&mut self, offset: u32, counters: &mut Counters) -> bool {
        let row = Some(offset / self.profile.row);
        let opens = self.open != row;
        if opens {
            self.open = row;
            counters.rows += 1;
        }
        opens
    }
}

/// An access of a bank.
#[derive(Clone, Copy, Debug)]
pub struct BankAccess {
    /// The thread.
    pub thread: usize,
    /// Where, from the begin of the bank on.
    pub offset: u32,
    /// Its size.
    pub bytes: u32,
    /// Whether it is a store.
    pub store: bool,
    /// When.
    pub now: u64,
}

/// Bytes that are moved between a bank and a scratchpad.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// Where, from the begin of the bank on.
    pub offset: u32,
    /// How many.
    pub bytes: u32,
    /// Whether to the bank.
    pub write: bool,
}
