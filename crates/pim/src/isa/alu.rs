//! What instructions compute: functions of the values of registers.
//!
//! Floats are their bits. Results that are not a number are the canonical one, as the specification says.

use super::op::{Kind, Rounding};

/// The canonical bits of what is not a number.
pub const NAN: u32 = 0x7fc0_0000;

/// Integer arithmetic. Kinds that are none give 0.
#[inline]
pub fn integer(kind: Kind, a: u32, b: u32) -> u32 {
    let (signed, by) = (a as i32, b as i32);
    match kind {
        Kind::Add => a.wrapping_add(b),
        Kind::Sub => a.wrapping_sub(b),
        Kind::Sll => a << (b & 31),
        Kind::Slt => u32::from(signed < by),
        Kind::Sltu => u32::from(a < b),
        Kind::Xor => a ^ b,
        Kind::Srl => a >> (b & 31),
        Kind::Sra => (signed >> (b & 31)) as u32,
        Kind::Or => a | b,
        Kind::And => a & b,
        Kind::Mul => a.wrapping_mul(b),
        Kind::Mulh => ((i64::from(signed) * i64::from(by)) >> 32) as u32,
        Kind::Mulhsu => ((i64::from(signed) * i64::from(b)) >> 32) as u32,
        Kind::Mulhu => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        Kind::Div if b == 0 => u32::MAX,
        Kind::Div => signed.wrapping_div(by) as u32,
        Kind::Divu => a.checked_div(b).unwrap_or(u32::MAX),
        Kind::Rem if b == 0 => a,
        Kind::Rem => signed.wrapping_rem(by) as u32,
        Kind::Remu => a.checked_rem(b).unwrap_or(a),
        _ => 0,
    }
}

/// Whether a branch is taken.
#[inline]
pub fn taken(kind: Kind, a: u32, b: u32) -> bool {
    match kind {
        Kind::Beq => a == b,
        Kind::Bne => a != b,
        Kind::Blt => (a as i32) < b as i32,
        Kind::Bge => (a as i32) >= b as i32,
        Kind::Bltu => a < b,
        _ => a >= b,
    }
}

fn canonical(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

/// Float arithmetic: of two numbers, of one (the first), or of three.
#[inline]
pub fn float(kind: Kind, first: u32, second: u32, third: u32) -> u32 {
    const SIGN: u32 = 1 << 31;
    let (a, b, c) = (f32::from_bits(first), f32::from_bits(second), f32::from_bits(third));
    match kind {
        Kind::FaddS => canonical(a + b),
        Kind::FsubS => canonical(a - b),
        Kind::FmulS => canonical(a * b),
        Kind::FdivS => canonical(a / b),
        Kind::FsqrtS => canonical(a.sqrt()),
        Kind::FmaddS => canonical(a.mul_add(b, c)),
        Kind::FmsubS => canonical(a.mul_add(b, -c)),
        Kind::FnmsubS => canonical((-a).mul_add(b, c)),
        Kind::FnmaddS => canonical((-a).mul_add(b, -c)),
        Kind::FsgnjS => (first & !SIGN) | (second & SIGN),
        Kind::FsgnjnS => (first & !SIGN) | (!second & SIGN),
        Kind::FsgnjxS => first ^ (second & SIGN),
        Kind::FminS => extreme(a, b, a < b || (a == b && a.is_sign_negative())),
        Kind::FmaxS => extreme(a, b, a > b || (a == b && a.is_sign_positive())),
        _ => NAN,
    }
}

/// The first of two numbers if it is the one; what is not a number gives way to the other.
fn extreme(a: f32, b: f32, first: bool) -> u32 {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => NAN,
        (true, false) => b.to_bits(),
        (false, true) => a.to_bits(),
        _ => if first { a } else { b }.to_bits(),
    }
}

/// An integer of floats: comparisons, classes, conversions, bits.
#[inline]
pub fn from_float(kind: Kind, first: u32, second: u32, rounding: Rounding) -> u32 {
    let (a, b) = (f32::from_bits(first), f32::from_bits(second));
    match kind {
        Kind::FeqS => u32::from(a == b),
        Kind::FltS => u32::from(a < b),
        Kind::FleS => u32::from(a <= b),
        Kind::FclassS => class(a),
        Kind::FcvtWS if a.is_nan() => i32::MAX as u32,
        Kind::FcvtWS => rounded(a, rounding) as i32 as u32,
        Kind::FcvtWuS if a.is_nan() => u32::MAX,
        Kind::FcvtWuS => rounded(a, rounding) as u32,
        _ => first,
    }
}

fn rounded(value: f32, rounding: Rounding) -> f32 {
    match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
        Rounding::NearestAway => value.round(),
    }
}

/// The class of a number as one of ten bits.
fn class(value: f32) -> u32 {
    use std::num::FpCategory::*;
    let negative = value.is_sign_negative();
    let bit = match (value.classify(), negative) {
        (Infinite, true) => 0,
        (Normal, true) => 1,
        (Subnormal, true) => 2,
        (Zero, true) => 3,
        (Zero, false) => 4,
        (Subnormal, false) => 5,
        (Normal, false) => 6,
        (Infinite, false) => 7,
        (Nan, _) if value.to_bits() & (1 << 22) == 0 => 8,
        (Nan, _) => 9,
    };
    1 << bit
}

/// A float of an integer.
#[inline]
pub fn to_float(kind: Kind, value: u32) -> u32 {
    match kind {
        Kind::FcvtSW => (value as i32 as f32).to_bits(),
        Kind::FcvtSWu => (value as f32).to_bits(),
        _ => value,
    }
}
