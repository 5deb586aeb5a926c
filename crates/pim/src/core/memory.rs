//! Loads and stores of a thread: the scratchpad, or the bank and what it takes.

use crate::address::{BANK, SCRATCHPAD};
use crate::bank::Bank;
use crate::counters::Counters;
use crate::fault::Cause;
use crate::timing::{BankAccess, Cost, Moved, Timing};

/// What a core's threads load from and store to.
#[derive(Debug)]
pub struct Memory<'a> {
    /// The scratchpad.
    pub scratchpad: Vec<u8>,
    /// The bank.
    pub bank: Bank<'a>,
    /// What the bank takes.
    pub timing: Timing<'a>,
    /// Where the part of the scratchpad ends that all threads read.
    pub common: u32,
    /// Bytes of each thread's stack, which begin behind it.
    pub stack: u32,
}

/// One access.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The thread.
    pub thread: usize,
    /// The address.
    pub address: u32,
    /// Its size.
    pub bytes: u32,
    /// When.
    pub now: u64,
}

impl Memory<'_> {
    /// The number at an address, and what that costs.
    ///
    /// # Errors
    /// An address that is misaligned, or that the thread may not read.
    #[inline]
    pub fn load(&mut self, place: Place, counters: &mut Counters) -> Result<(u32, Cost), Cause> {
        let Place { thread, address, bytes, now } = place;
        aligned(place)?;
        if address >= BANK {
            let offset = address - BANK;
            let value = self.bank.read(offset, bytes)?;
            let access = BankAccess { thread, offset, bytes, store: false, now };
            return Ok((value, self.timing.access(access, counters)));
        }
        let at = self.own(place)?;
        counters.scratchpad += 1;
        let from = &self.scratchpad[at..at + bytes as usize];
        Ok((from.iter().rev().fold(0, |all, byte| (all << 8) | u32::from(*byte)), Cost::default()))
    }

    /// Stores a number, and says what that costs.
    ///
    /// # Errors
    /// As [`Memory::load`].
    #[inline]
    pub fn store(
        &mut self,
        place: Place,
        value: u32,
        counters: &mut Counters,
    ) -> Result<Cost, Cause> {
        let Place { thread, address, bytes, now } = place;
        aligned(place)?;
        if address >= BANK {
            let offset = address - BANK;
            self.bank.write(offset, bytes, value)?;
            let access = BankAccess { thread, offset, bytes, store: true, now };
            return Ok(self.timing.access(access, counters));
        }
        let at = self.own(place)?;
        counters.scratchpad += 1;
        self.scratchpad[at..at + bytes as usize]
            .copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
        Ok(Cost::default())
    }

    /// Moves bytes between the scratchpad and the bank: when that is done.
    ///
    /// # Errors
    /// As [`Memory::load`].
    pub fn transfer(
        &mut self,
        place: Place,
        bank: u32,
        write: bool,
        counters: &mut Counters,
    ) -> Result<u64, Cause> {
        let at = self.own(place)?;
        let offset = bank.checked_sub(BANK).ok_or(Cause::OutOfBank { address: bank })?;
        for step in 0..place.bytes {
            let byte = at + step as usize;
            match write {
                true => self.bank.write(offset + step, 1, u32::from(self.scratchpad[byte]))?,
                false => self.scratchpad[byte] = self.bank.read(offset + step, 1)? as u8,
            }
        }
        let moved = Moved { offset, bytes: place.bytes, write };
        Ok(self.timing.explicit(moved, place.now, counters))
    }

    /// The place in the scratchpad of an access that a thread may make: to what all share, or to its own stack.
    #[inline]
    fn own(&self, place: Place) -> Result<usize, Cause> {
        let Place { thread, address, bytes, .. } = place;
        let fault = || Cause::Scratchpad { address };
        let offset = address.checked_sub(SCRATCHPAD).ok_or(Cause::OutOfBank { address })?;
        let end = offset.checked_add(bytes).ok_or_else(fault)?;
        let stack = self.common + thread as u32 * self.stack;
        let shared = end <= self.common;
        match shared || (offset >= stack && end <= stack + self.stack) {
            true => Ok(offset as usize),
            false => Err(fault()),
        }
    }
}

#[inline]
fn aligned(place: Place) -> Result<(), Cause> {
    let Place { address, bytes, .. } = place;
    match address & (bytes - 1) {
        0 => Ok(()),
        _ => Err(Cause::Misaligned { address, bytes }),
    }
}
