//! A program's registers at its end: as a core leaves them, and as a slow interpreter does, which shares nothing with
//! it and is written as the specification tells.

use dastac_pim::bank::Shared;
use dastac_pim::core::{Core, Entry, Start};
use dastac_pim::{BANK, Image, Profile};

use crate::assemble::{RET, s};

/// Where the scratchpad begins.
pub const SCRATCH: u32 = dastac_pim::SCRATCHPAD;

/// What a program leaves.
pub struct Machine {
    pub x: [u32; 32],
    pub f: [u32; 32],
}

/// Where the routine stands that ends a thread.
const ROUTINES: u32 = 0x0f00_0000;

/// Bytes of the scratchpad that programs may use.
const COMMON: usize = 128;

impl Machine {
    /// Runs a program on a core; what it leaves in registers is stored to a bank behind it.
    pub fn run(program: &[u32]) -> Machine {
        let mut shared = Shared::default();
        shared.add(&[0; 256], true).unwrap();
        let mut words = program.to_vec();
        // Register 30 is not written by programs, and taken for the address.
        words.push(0x37 | 30 << 7 | BANK);
        for register in 0..32 {
            words.push(s(0x23, 2, [30, register], 4 * register as i32));
            words.push(s(0x27, 2, [30, register], 128 + 4 * register as i32));
        }
        words.extend([0x37 | 1 << 7 | ROUTINES, RET]);
        let image = Image {
            text: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
            ..Image::default()
        };
        let (profile, text) = (Profile::named("blimp").unwrap(), image.decoded());
        let start = Start {
            core: 0,
            profile: &profile,
            text: &text,
            common: vec![0; COMMON],
            threads: vec![Entry { pc: dastac_pim::TEXT, arguments: Vec::new() }],
            shared: &shared,
            limit: 10_000,
            sampled: 0,
        };
        let mut finished = Core::new(start).unwrap().run().unwrap();
        let mut word = |at: u32| finished.bank.read(at, 4).unwrap();
        let mut left = Machine { x: [0; 32], f: [0; 32] };
        for register in 0..32 {
            left.x[register] = word(4 * register as u32);
            left.f[register] = word(128 + 4 * register as u32);
        }
        left.neutral()
    }

    /// Without the registers in which a core starts with something.
    fn neutral(mut self) -> Machine {
        for register in [1, 2, 30] {
            self.x[register] = 0;
        }
        self
    }

    /// The same by the slow interpreter: instructions that do not jump.
    pub fn interpret(program: &[u32]) -> Machine {
        let mut slow = Slow { x: [0; 32], f: [0; 32], memory: [0; COMMON], pc: dastac_pim::TEXT };
        // As a core starts: the return address and the stack.
        (slow.x[1], slow.x[2]) = (ROUTINES, SCRATCH + 0x1_0000);
        for word in program {
            slow.step(*word);
            slow.x[0] = 0;
            slow.pc += 4;
        }
        Machine { x: slow.x, f: slow.f }.neutral()
    }
}

struct Slow {
    x: [u32; 32],
    f: [u32; 32],
    memory: [u8; COMMON],
    pc: u32,
}

/// A field of a word, as the specification writes it: `word[high:low]`.
fn field(word: u32, high: u32, low: u32) -> u32 {
    let mut value = 0;
    for bit in (low..=high).rev() {
        value = value * 2 + (word >> bit & 1);
    }
    value
}

/// A number of so many bits with a sign.
fn signed(value: u32, bits: u32) -> i64 {
    let value = i64::from(value);
    if value >= 1 << (bits - 1) { value - (1 << bits) } else { value }
}

fn modulo(value: i128) -> u32 {
    value.rem_euclid(1 << 32) as u32
}

impl Slow {
    fn step(&mut self, word: u32) {
        let (rd, rs1, rs2) = (field(word, 11, 7), field(word, 19, 15), field(word, 24, 20));
        let (a, b) = (self.x[rs1 as usize], self.x[rs2 as usize]);
        let imm = signed(field(word, 31, 20), 12);
        let to = rd as usize;
        match field(word, 6, 0) {
            0x37 => self.x[to] = field(word, 31, 12) << 12,
            0x17 => {
                self.x[to] = modulo(i128::from(self.pc) + i128::from(field(word, 31, 12)) * 4096)
            }
            0x13 => {
                let alternative = field(word, 14, 12) == 5 && field(word, 30, 30) == 1;
                self.x[to] = integer(field(word, 14, 12), alternative, a, modulo(imm.into()));
            }
            0x33 if field(word, 31, 25) == 1 => self.x[to] = multiply(field(word, 14, 12), a, b),
            0x33 => self.x[to] = integer(field(word, 14, 12), field(word, 30, 30) == 1, a, b),
            0x03 => self.x[to] = self.load(a, imm, field(word, 14, 12)),
            0x07 => self.f[to] = self.load(a, imm, 2),
            0x23 | 0x27 => {
                let offset = signed(field(word, 31, 25) * 32 + rd, 12);
                let value = if field(word, 6, 0) == 0x27 { self.f[rs2 as usize] } else { b };
                let at = (i64::from(a) + offset - i64::from(SCRATCH)) as usize;
                for byte in 0..1 << field(word, 14, 12) {
                    self.memory[at + byte] = (value >> (8 * byte)) as u8;
                }
            }
            opcode => self.float(word, opcode),
        }
    }

    fn load(&self, from: u32, imm: i64, funct3: u32) -> u32 {
        let at = (i64::from(from) + imm - i64::from(SCRATCH)) as usize;
        let bytes = 1 << (funct3 % 4);
        let value = (0..bytes).map(|byte| u32::from(self.memory[at + byte]) << (8 * byte)).sum();
        if funct3 < 2 { modulo(signed(value, 8 * bytes as u32).into()) } else { value }
    }

    fn float(&mut self, word: u32, opcode: u32) {
        let (rd, rs1, rs2) =
            (field(word, 11, 7) as usize, field(word, 19, 15), field(word, 24, 20));
        let of = |register: u32| f32::from_bits(self.f[register as usize]);
        let (a, b, c) = (of(rs1), of(rs2), of(field(word, 31, 27)));
        let sign = |negative: bool| f32::from_bits(a.abs().to_bits() | u32::from(negative) << 31);
        let mode = field(word, 14, 12);
        // Products of floats are exact in doubles; what is added to them is rounded twice, hence the fused one.
        let number = match (opcode, field(word, 31, 25), mode) {
            (0x43, ..) => f32::mul_add(a, b, c),
            (0x47, ..) => f32::mul_add(a, b, -c),
            (0x4b, ..) => f32::mul_add(-a, b, c),
            (0x4f, ..) => f32::mul_add(-a, b, -c),
            (_, 0x00, _) => (f64::from(a) + f64::from(b)) as f32,
            (_, 0x04, _) => (f64::from(a) - f64::from(b)) as f32,
            (_, 0x08, _) => (f64::from(a) * f64::from(b)) as f32,
            (_, 0x0c, _) => (f64::from(a) / f64::from(b)) as f32,
            (_, 0x10, 0) => sign(b.is_sign_negative()),
            (_, 0x10, 1) => sign(!b.is_sign_negative()),
            (_, 0x10, 2) => sign(a.is_sign_negative() != b.is_sign_negative()),
            (_, 0x14, 0) if a == b => {
                if a.is_sign_negative() {
                    a
                } else {
                    b
                }
            }
            (_, 0x14, 0) => a.min(b),
            (_, 0x14, 1) if a == b => {
                if a.is_sign_negative() {
                    b
                } else {
                    a
                }
            }
            (_, 0x14, 1) => a.max(b),
            (_, 0x68, _) => match rs2 {
                0 => self.x[rs1 as usize] as i32 as f32,
                _ => self.x[rs1 as usize] as f32,
            },
            (_, 0x78, _) => f32::from_bits(self.x[rs1 as usize]),
            _ => return self.rounded(word, a, b),
        };
        let exact = matches!(field(word, 31, 25), 0x10 | 0x78) && opcode == 0x53;
        self.f[rd] = if number.is_nan() && !exact { 0x7fc0_0000 } else { number.to_bits() };
    }

    fn rounded(&mut self, word: u32, a: f32, b: f32) {
        let (mode, high) = (field(word, 14, 12), field(word, 31, 25));
        let unsigned = field(word, 20, 20) == 1;
        self.x[field(word, 11, 7) as usize] = match (high, mode) {
            (0x50, 2) => u32::from(a == b),
            (0x50, 1) => u32::from(a < b),
            (0x50, _) => u32::from(a <= b),
            (0x70, 0) => a.to_bits(),
            (0x70, _) => class(a),
            _ => converted(f64::from(a), mode, unsigned),
        };
    }
}

/// A number as an integer: rounded, then held within what there is.
fn converted(value: f64, mode: u32, unsigned: bool) -> u32 {
    let (least, most) = if unsigned { (0.0, 4294967295.0) } else { (-2147483648.0, 2147483647.0) };
    let below = value.floor();
    let rounded = match (mode, value - below) {
        (_, 0.0) => value,
        (1, _) => {
            if value < 0.0 {
                below + 1.0
            } else {
                below
            }
        }
        (2, _) => below,
        (3, _) => below + 1.0,
        (_, part) if part < 0.5 => below,
        (_, part) if part > 0.5 => below + 1.0,
        (4, _) => {
            if value < 0.0 {
                below
            } else {
                below + 1.0
            }
        }
        _ => {
            if below % 2.0 == 0.0 {
                below
            } else {
                below + 1.0
            }
        }
    };
    let held = if value.is_nan() { most } else { rounded.clamp(least, most) };
    modulo(held as i128)
}

fn class(a: f32) -> u32 {
    let (negative, exponent, rest) =
        (a.to_bits() >> 31 == 1, a.to_bits() >> 23 & 255, a.to_bits() & 0x7f_ffff);
    let kind = match (exponent, rest) {
        (255, 0) => 0,
        (255, rest) => return if rest >> 22 == 0 { 1 << 8 } else { 1 << 9 },
        (0, 0) => 3,
        (0, _) => 2,
        _ => 1,
    };
    1 << if negative { kind } else { 7 - kind }
}

fn integer(funct3: u32, alternative: bool, a: u32, b: u32) -> u32 {
    let (x, y) = (signed(a, 32), signed(b, 32));
    let amount = b % 32;
    match funct3 {
        0 if alternative => modulo(i128::from(x) - i128::from(y)),
        0 => modulo(i128::from(x) + i128::from(y)),
        1 => modulo(i128::from(a) * (1 << amount)),
        2 => u32::from(x < y),
        3 => u32::from(a < b),
        4 => (0..32).map(|bit| u32::from(a >> bit & 1 != b >> bit & 1) << bit).sum(),
        5 if alternative => modulo(i128::from(x).div_euclid(1 << amount)),
        5 => modulo(i128::from(a).div_euclid(1 << amount)),
        6 => (0..32).map(|bit| (a >> bit & 1).max(b >> bit & 1) << bit).sum(),
        _ => (0..32).map(|bit| ((a >> bit & 1) * (b >> bit & 1)) << bit).sum(),
    }
}

fn multiply(funct3: u32, a: u32, b: u32) -> u32 {
    let (x, y) = (i128::from(signed(a, 32)), i128::from(signed(b, 32)));
    let (u, v) = (i128::from(a), i128::from(b));
    match (funct3, b) {
        (0, _) => modulo(x * y),
        (1, _) => modulo((x * y).div_euclid(1 << 32)),
        (2, _) => modulo((x * v).div_euclid(1 << 32)),
        (3, _) => modulo((u * v).div_euclid(1 << 32)),
        (4 | 5, 0) => u32::MAX,
        (6 | 7, 0) => a,
        (4, _) => modulo(x / y),
        (5, _) => modulo(u / v),
        (6, _) => modulo(x % y),
        _ => modulo(u % v),
    }
}
