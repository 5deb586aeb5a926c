//! The registers of a thread, and how functions get their arguments in them: the calling convention `ilp32f`.

/// Register `a0`, the first of arguments and results.
pub const A0: usize = 10;

/// The registers of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// Integer registers, and one that takes what is written to `x0`.
    pub x: [u32; 33],
    /// Bits of float registers.
    pub f: [u32; 32],
}

impl Registers {
    /// All 0.
    pub const ZERO: Registers = Registers { x: [0; 33], f: [0; 32] };

    /// An integer argument.
    pub fn word(&self, at: usize) -> u32 {
        self.x[A0 + at]
    }

    /// An argument of two words, the first of which is at a place.
    pub fn long(&self, at: usize) -> u64 {
        u64::from(self.word(at)) | u64::from(self.word(at + 1)) << 32
    }

    /// An argument of 64 bits.
    pub fn double(&self, at: usize) -> f64 {
        f64::from_bits(self.long(2 * at))
    }

    /// An argument of 32 bits.
    pub fn single(&self, at: usize) -> f32 {
        f32::from_bits(self.f[A0 + at])
    }

    /// The result.
    pub fn give(&mut self, word: u32) {
        self.x[A0] = word;
    }

    /// The result.
    pub fn give_long(&mut self, long: u64) {
        self.x[A0] = long as u32;
        self.x[A0 + 1] = (long >> 32) as u32;
    }

    /// The result.
    pub fn give_double(&mut self, value: f64) {
        self.give_long(value.to_bits());
    }

    /// The result.
    pub fn give_single(&mut self, value: f32) {
        self.f[A0] = value.to_bits();
    }
}
