//! One instruction of a thread.

use super::{Core, Place, Then};
use crate::address::{ROUTINES, TEXT};
use crate::fault::Cause;
use crate::isa::{Class, Group, Kind, Op, alu};
use crate::registers::{A0, Registers};
use crate::routines::{self, Action, Routine};

/// Numbers of calls of the environment, in register `a7`.
mod call {
    pub const EXIT: u32 = 0;
    pub const BARRIER: u32 = 1;
    pub const LOCK: u32 = 2;
    pub const UNLOCK: u32 = 3;
    /// `a0` in the scratchpad, `a1` in the bank, `a2` bytes.
    pub const READ: u32 = 4;
    pub const WRITE: u32 = 5;
}

impl Core<'_> {
    /// Executes an instruction, and notes what more it costs.
    pub(super) fn step(&mut self, thread: usize) -> Result<Then, Cause> {
        let pc = self.threads[thread].pc;
        let place = pc.wrapping_sub(TEXT) / 4;
        let found = if pc.is_multiple_of(4) {
            self.text.get(place as usize).copied().flatten()
        } else {
            None
        };
        let Some(op) = found else {
            return match routines::at(pc) {
                Some(routine) if pc >= ROUTINES => self.routine(thread, routine),
                _ => Err(Cause::Illegal { address: pc }),
            };
        };
        let mut next = pc.wrapping_add(4);
        let Registers { x, f } = &mut self.threads[thread].registers;
        let (a, b) = (x[op.rs1 as usize], x[op.rs2 as usize]);
        let rd = op.rd as usize;
        let fs = |register: u8| f[register as usize];
        match op.group {
            Group::Immediate => x[rd] = alu::integer(op.kind, a, op.imm as u32),
            Group::Register => x[rd] = alu::integer(op.kind, a, b),
            Group::Upper if op.kind == Kind::Lui => x[rd] = op.imm as u32,
            Group::Upper => x[rd] = pc.wrapping_add(op.imm as u32),
            Group::Branch if alu::taken(op.kind, a, b) => next = pc.wrapping_add(op.imm as u32),
            Group::Branch => {}
            Group::Jump => {
                let from = if op.kind == Kind::Jal { pc } else { a };
                x[rd] = next;
                next = from.wrapping_add(op.imm as u32) & !1;
            }
            Group::Float => f[rd] = alu::float(op.kind, fs(op.rs1), fs(op.rs2), fs(op.rs3)),
            Group::FromFloat => {
                x[rd] = alu::from_float(op.kind, fs(op.rs1), fs(op.rs2), op.rounding);
            }
            Group::ToFloat => f[rd] = alu::to_float(op.kind, a),
            Group::Load => return self.load(thread, op),
            Group::Store => return self.store(thread, op),
            Group::System => return self.system(thread, op),
        }
        // A taken jump to a word that is none is found when it is executed.
        let state = &mut self.threads[thread];
        state.pc = next;
        state.left = self.profile.costs[op.kind.class() as usize] - 1;
        Ok(Then::Goes)
    }

    fn load(&mut self, thread: usize, op: Op) -> Result<Then, Cause> {
        let registers = &self.threads[thread].registers;
        let address = registers.x[op.rs1 as usize].wrapping_add(op.imm as u32);
        let bytes = match op.kind {
            Kind::Lb | Kind::Lbu => 1,
            Kind::Lh | Kind::Lhu => 2,
            _ => 4,
        };
        let place = Place { thread, address, bytes, now: self.now };
        let (value, cost) = self.memory.load(place, &mut self.counters)?;
        let state = &mut self.threads[thread];
        let rd = op.rd as usize;
        match op.kind {
            Kind::Flw => state.registers.f[rd] = value,
            Kind::Lb => state.registers.x[rd] = value as u8 as i8 as u32,
            Kind::Lh => state.registers.x[rd] = value as u16 as i16 as u32,
            _ => state.registers.x[rd] = value,
        }
        state.pc = state.pc.wrapping_add(4);
        state.left = self.profile.cost(Class::Access) - 1 + cost.instructions;
        state.until = state.until.max(cost.until);
        Ok(Then::Goes)
    }

    fn store(&mut self, thread: usize, op: Op) -> Result<Then, Cause> {
        let registers = &self.threads[thread].registers;
        let address = registers.x[op.rs1 as usize].wrapping_add(op.imm as u32);
        let value = match op.kind {
            Kind::Fsw => registers.f[op.rs2 as usize],
            _ => registers.x[op.rs2 as usize],
        };
        let bytes = match op.kind {
            Kind::Sb => 1,
            Kind::Sh => 2,
            _ => 4,
        };
        let place = Place { thread, address, bytes, now: self.now };
        let cost = self.memory.store(place, value, &mut self.counters)?;
        let state = &mut self.threads[thread];
        state.pc = state.pc.wrapping_add(4);
        state.left = self.profile.cost(Class::Access) - 1 + cost.instructions;
        state.until = state.until.max(cost.until);
        Ok(Then::Goes)
    }

    fn system(&mut self, thread: usize, op: Op) -> Result<Then, Cause> {
        let state = &mut self.threads[thread];
        state.left = self.profile.cost(Class::Plain) - 1;
        match op.kind {
            Kind::Ecall => return self.call(thread),
            Kind::Ebreak => return Err(Cause::Abort),
            // Control registers of floats: flags are not kept, and the mode is always the nearest even number.
            Kind::Csrrw | Kind::Csrrs | Kind::Csrrc => match op.imm {
                1..=3 => state.registers.x[op.rd as usize] = 0,
                _ => return Err(Cause::Illegal { address: state.pc }),
            },
            _ => {}
        }
        state.pc = state.pc.wrapping_add(4);
        Ok(Then::Goes)
    }

    fn call(&mut self, thread: usize) -> Result<Then, Cause> {
        let state = &mut self.threads[thread];
        let [first, second, third] = [0, 1, 2].map(|at| state.registers.word(at));
        let number = state.registers.x[A0 + 7];
        let at = thread as u8;
        if number == call::EXIT {
            return Ok(Then::Ends);
        }
        let go = match number {
            call::BARRIER => return self.barrier(thread),
            call::LOCK => self.mutexes.lock(first, at),
            call::UNLOCK => {
                let next = self.mutexes.unlock(first, at).ok_or(Cause::Mutex { mutex: first })?;
                if let Some(next) = next {
                    self.ready.add(self.now + self.profile.stages, next);
                }
                true
            }
            call::READ | call::WRITE => {
                let place = Place { thread, address: first, bytes: third, now: self.now };
                let write = number == call::WRITE;
                let until = self.memory.transfer(place, second, write, &mut self.counters)?;
                let state = &mut self.threads[thread];
                state.until = state.until.max(until);
                true
            }
            number => return Err(Cause::Call { number }),
        };
        self.threads[thread].pc = self.threads[thread].pc.wrapping_add(4);
        Ok(if go { Then::Goes } else { Then::Waits })
    }

    /// A thread gets to the barrier; the last one lets all go on.
    fn barrier(&mut self, thread: usize) -> Result<Then, Cause> {
        if self.threads.iter().any(|thread| thread.ended) {
            return Err(Cause::Divergence);
        }
        self.threads[thread].pc = self.threads[thread].pc.wrapping_add(4);
        if self.waiting.len() + 1 < self.threads.len() {
            self.waiting.push(thread as u8);
            return Ok(Then::Waits);
        }
        for other in std::mem::take(&mut self.waiting) {
            self.ready.add(self.now + self.profile.stages, other);
        }
        Ok(Then::Goes)
    }

    /// A routine that the thread called.
    fn routine(&mut self, thread: usize, routine: &Routine) -> Result<Then, Cause> {
        let mut more = routine.cost(&self.profile.routines).saturating_sub(1);
        let registers = &mut self.threads[thread].registers;
        match routine.action {
            Action::Exit => return Ok(Then::Ends),
            Action::Abort => return Err(Cause::Abort),
            Action::Compute(compute) => compute(registers),
            Action::Function(function, single) => routines::apply(function, single, registers),
            Action::Nothing => registers.give(0),
            Action::Allocate(at) => {
                let bytes = u64::from(registers.word(at));
                let address = self.memory.bank.allocate(bytes)?;
                self.threads[thread].registers.give(address);
            }
            Action::Free => {
                let address = registers.word(0);
                self.memory.bank.give_back(address);
            }
            Action::Set => more += self.set(thread)?,
            Action::Copy => more += self.copy(thread)?,
        }
        let state = &mut self.threads[thread];
        state.pc = state.registers.x[1];
        state.left = more;
        Ok(Then::Goes)
    }

    /// `memset(a0, a1, a2)`: the instructions that it costs.
    fn set(&mut self, thread: usize) -> Result<u32, Cause> {
        let [to, value, bytes] = [0, 1, 2].map(|at| self.threads[thread].registers.word(at));
        let steps = Steps { bytes, aligned: to % 4 == 0 };
        let word = (value & 0xff) * 0x0101_0101;
        let mut more = 0;
        for (at, size) in steps.all() {
            let place = Place { thread, address: to.wrapping_add(at), bytes: size, now: self.now };
            let cost = self.memory.store(place, word, &mut self.counters)?;
            more += 3 + cost.instructions;
            let state = &mut self.threads[thread];
            state.until = state.until.max(cost.until);
        }
        Ok(more)
    }

    /// `memmove(a0, a1, a2)`: the instructions that it costs.
    fn copy(&mut self, thread: usize) -> Result<u32, Cause> {
        let [to, from, bytes] = [0, 1, 2].map(|at| self.threads[thread].registers.word(at));
        let steps = Steps { bytes, aligned: (to | from) % 4 == 0 };
        let mut order: Vec<(u32, u32)> = steps.all().collect();
        if from < to {
            order.reverse();
        }
        let mut more = 0;
        for (at, size) in order {
            let place =
                Place { thread, address: from.wrapping_add(at), bytes: size, now: self.now };
            let (value, read) = self.memory.load(place, &mut self.counters)?;
            let place = Place { address: to.wrapping_add(at), ..place };
            let written = self.memory.store(place, value, &mut self.counters)?;
            more += 4 + read.instructions + written.instructions;
            let state = &mut self.threads[thread];
            state.until = state.until.max(read.until).max(written.until);
        }
        Ok(more)
    }
}

/// Words where they are aligned, then bytes.
struct Steps {
    bytes: u32,
    aligned: bool,
}

impl Steps {
    /// Where each step begins, and its size.
    fn all(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let words = if self.aligned { self.bytes / 4 } else { 0 };
        let rest = words * 4..self.bytes;
        (0..words).map(|word| (word * 4, 4)).chain(rest.map(|byte| (byte, 1)))
    }
}
