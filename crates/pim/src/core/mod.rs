//! One core: its threads, their instructions, and the time that all takes.
//!
//! A thread issues an instruction at most every [`Profile::stages`] cycles, a core one in each cycle: so `T` threads
//! reach `min(1, T / stages)` instructions a cycle. What costs several instructions issues several times. Threads that
//! access the bank are ready when it is done.

mod execute;
mod memory;
mod schedule;

use crate::address::{SCRATCHPAD, TEXT};
use crate::bank::{Bank, Shared};
use crate::counters::Counters;
use crate::fault::{Cause, Fault};
use crate::isa::Op;
use crate::profile::Profile;
use crate::registers::Registers;
use crate::routines;
use crate::timing::Timing;

pub use memory::{Memory, Place};
use schedule::{Mutexes, Ready};

/// What a core starts with.
#[derive(Debug)]
pub struct Start<'a> {
    /// Its number.
    pub core: usize,
    /// The machine.
    pub profile: &'a Profile,
    /// The instructions, from [`TEXT`] on; nothing where a word is none.
    pub text: &'a [Option<Op>],
    /// The part of the scratchpad that all threads share: constants and parameters.
    pub common: Vec<u8>,
    /// What each thread starts with.
    pub threads: Vec<Entry>,
    /// The buffers.
    pub shared: &'a Shared,
    /// Instructions that it may execute.
    pub limit: u64,
    /// Cycles between the first points of a timeline, which double where there are many; 0 for none.
    pub sampled: u64,
}

/// Where a thread starts, with the first of its arguments.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// The address of its first instruction.
    pub pc: u32,
    /// Its arguments.
    pub arguments: Vec<u32>,
}

/// A thread.
#[derive(Debug)]
struct Thread {
    pc: u32,
    registers: Registers,
    /// Instructions that the one that was executed has still to issue.
    left: u32,
    /// When the bank is done for it.
    until: u64,
    ended: bool,
}

/// A core that runs.
#[derive(Debug)]
pub struct Core<'a> {
    number: usize,
    profile: &'a Profile,
    text: &'a [Option<Op>],
    threads: Vec<Thread>,
    memory: Memory<'a>,
    ready: Ready,
    mutexes: Mutexes,
    /// Threads that wait at the barrier.
    waiting: Vec<u8>,
    counters: Counters,
    now: u64,
    limit: u64,
    sampled: u64,
    timeline: Vec<Counters>,
}

/// What a core leaves.
#[derive(Debug)]
pub struct Finished<'a> {
    /// What it counted.
    pub counters: Counters,
    /// Its bank.
    pub bank: Bank<'a>,
    /// What it had counted at regular times.
    pub timeline: Vec<Counters>,
}

/// What a thread does after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It goes on.
    Goes,
    /// It waits for others.
    Waits,
    /// It has ended.
    Ends,
}

/// Points of a timeline are between so many and twice as many, if a program runs long enough.
const POINTS: usize = 128;

/// Bytes of the smallest stack.
const STACK: u32 = 256;

impl<'a> Core<'a> {
    /// A core before its first instruction.
    ///
    /// # Errors
    /// A scratchpad that does not hold what threads share and a stack for each.
    pub fn new(start: Start<'a>) -> Result<Core<'a>, Fault> {
        let Start { core, profile, text, common, threads, shared, limit, sampled } = start;
        let count = threads.len().max(1) as u32;
        let top = (common.len() as u32).next_multiple_of(16);
        let stack = profile.scratchpad.saturating_sub(top) / count / 16 * 16;
        if stack < STACK {
            let cause = Cause::Scratchpad { address: SCRATCHPAD + top };
            return Err(Fault { core, thread: 0, pc: TEXT, place: None, cause });
        }
        let mut scratchpad = common;
        scratchpad.resize(profile.scratchpad as usize, 0);
        let (bank, timing) = (Bank::new(shared, profile.bank), Timing::new(profile, threads.len()));
        let memory = Memory { scratchpad, bank, timing, common: top, stack };
        let mut ready = Ready::default();
        let thread = |(at, entry): (usize, Entry)| {
            ready.add(0, at as u8);
            let mut registers = Registers::ZERO;
            registers.x[1] = routines::EXIT;
            registers.x[2] = SCRATCHPAD + top + (at as u32 + 1) * stack;
            (registers.x[3], registers.x[4]) = (core as u32, at as u32);
            for (argument, value) in entry.arguments.iter().enumerate() {
                registers.x[10 + argument] = *value;
            }
            Thread { pc: entry.pc, registers, left: 0, until: 0, ended: false }
        };
        let threads = threads.into_iter().enumerate().map(thread).collect();
        Ok(Core {
            number: core,
            profile,
            text,
            threads,
            memory,
            ready,
            mutexes: Mutexes::default(),
            waiting: Vec::new(),
            counters: Counters::default(),
            now: 0,
            limit,
            sampled,
            timeline: Vec::new(),
        })
    }

    /// Runs until all threads have ended.
    ///
    /// # Errors
    /// The first fault.
    pub fn run(mut self) -> Result<Finished<'a>, Fault> {
        while let Some((from, at)) = self.ready.take() {
            let thread = at as usize;
            self.wait(from, thread);
            self.counters.instructions += 1;
            if self.counters.instructions > self.limit {
                return Err(self.fault(thread, Cause::Limit { limit: self.limit }));
            }
            let then = match self.threads[thread].left {
                0 => self.step(thread).map_err(|cause| self.fault(thread, cause))?,
                left => {
                    self.threads[thread].left = left - 1;
                    Then::Goes
                }
            };
            self.now += 1;
            match then {
                Then::Goes => {
                    let next = self.now - 1 + self.profile.stages;
                    let until =
                        if self.threads[thread].left == 0 { self.threads[thread].until } else { 0 };
                    self.ready.add(next.max(until), at);
                }
                Then::Waits => {}
                Then::Ends => self.end(thread).map_err(|cause| self.fault(thread, cause))?,
            }
        }
        if let Some(stuck) = self.threads.iter().position(|thread| !thread.ended) {
            return Err(self.fault(stuck, Cause::Divergence));
        }
        // The last results have to arrive.
        let last = self.threads.iter().map(|thread| thread.until).max().unwrap_or(0);
        self.counters.memory += last.saturating_sub(self.now);
        self.counters.cycles = self.now.max(last);
        let busy = self.counters.memory + self.counters.pipeline + self.counters.waiting;
        self.counters.issue = self.counters.cycles - busy - self.counters.scratchpad;
        self.sample();
        Ok(Finished { counters: self.counters, bank: self.memory.bank, timeline: self.timeline })
    }

    /// Lets time pass until the next thread issues.
    #[inline]
    fn wait(&mut self, from: u64, thread: usize) {
        if from > self.now {
            let idle = from - self.now;
            match self.threads[thread].until >= from {
                true => self.counters.memory += idle,
                false if self.waiting.is_empty() => self.counters.pipeline += idle,
                false => self.counters.waiting += idle,
            }
            self.now = from;
        }
        if self.sampled > 0 && self.now >= self.sampled * (self.timeline.len() as u64 + 1) {
            self.sample();
        }
    }

    fn sample(&mut self) {
        while self.sampled > 0 && self.now >= self.sampled * (self.timeline.len() as u64 + 1) {
            let mut counters = Counters { cycles: self.now, ..self.counters.clone() };
            let busy = counters.memory + counters.pipeline + counters.waiting;
            counters.issue = self.now.saturating_sub(busy + counters.scratchpad);
            self.timeline.push(counters);
            if self.timeline.len() == 2 * POINTS {
                // Every second one stays: the interval is twice as long from now on.
                let mut number = 0;
                self.timeline.retain(|_| {
                    number += 1;
                    number % 2 == 0
                });
                self.sampled *= 2;
            }
        }
    }

    /// A thread has ended: what it kept of the bank goes back.
    fn end(&mut self, thread: usize) -> Result<(), Cause> {
        let until = self.memory.timing.flush(thread, self.now, &mut self.counters);
        let ended = &mut self.threads[thread];
        ended.until = ended.until.max(until);
        ended.ended = true;
        // Who waits for it at a barrier waits for ever.
        let alive = self.threads.iter().any(|thread| !thread.ended);
        match alive && !self.waiting.is_empty() {
            true => Err(Cause::Divergence),
            false => Ok(()),
        }
    }

    fn fault(&self, thread: usize, cause: Cause) -> Fault {
        let pc = self.threads.get(thread).map_or(TEXT, |thread| thread.pc);
        Fault { core: self.number, thread, pc, place: None, cause }
    }
}
