//! From words of memory to [`Op`]s.
//!
//! Before -> after: `0x00c58533` -> `add x10, x11, x12`. The instructions are those of the base instruction set RV32I,
//! of its extensions M and F, and those of Zicsr that read and write control registers. Float arithmetic rounds to the
//! nearest even number: other static modes are refused, but for conversions to integers, which have all of them.

use super::op::{Group, Kind, NOWHERE, Op, Rounding};

/// The instruction that a word is; nothing if it is none.
pub fn decode(word: u32) -> Option<Op> {
    let opcode = word & 0x7f;
    match opcode {
        0x37 => Some(Op { imm: upper(word), ..base(word, Group::Upper, Kind::Lui) }),
        0x17 => Some(Op { imm: upper(word), ..base(word, Group::Upper, Kind::Auipc) }),
        0x6f => Some(Op { imm: jump(word), ..base(word, Group::Jump, Kind::Jal) }),
        0x67 if funct3(word) == 0 => {
            Some(Op { imm: immediate(word), ..base(word, Group::Jump, Kind::Jalr) })
        }
        0x63 => branch(word),
        0x03 | 0x07 => load(word),
        0x23 | 0x27 => store(word),
        0x13 => arithmetic_immediate(word),
        0x33 => arithmetic(word),
        0x0f => Some(base(word, Group::System, Kind::Fence)),
        0x73 => system(word),
        0x43 | 0x47 | 0x4b | 0x4f => fused(word),
        0x53 => float(word),
        _ => None,
    }
}

fn bits(word: u32, from: u32, count: u32) -> u32 {
    (word >> from) & ((1 << count) - 1)
}

fn funct3(word: u32) -> u32 {
    bits(word, 12, 3)
}

/// The immediate of loads and of arithmetic, with its sign.
fn immediate(word: u32) -> i32 {
    (word as i32) >> 20
}

fn upper(word: u32) -> i32 {
    (word & 0xffff_f000) as i32
}

fn jump(word: u32) -> i32 {
    let low = (bits(word, 21, 10) << 1) | (bits(word, 20, 1) << 11) | (bits(word, 12, 8) << 12);
    ((word as i32 >> 31) << 20) | low as i32
}

/// An instruction that writes an integer register.
fn base(word: u32, group: Group, kind: Kind) -> Op {
    let rd = bits(word, 7, 5) as u8;
    Op {
        rd: if rd == 0 { NOWHERE } else { rd },
        rs1: bits(word, 15, 5) as u8,
        rs2: bits(word, 20, 5) as u8,
        rs3: 0,
        imm: 0,
        rounding: Rounding::NearestEven,
        group,
        kind,
    }
}

/// An instruction that writes a float register.
fn float_base(word: u32, group: Group, kind: Kind) -> Op {
    Op { rd: bits(word, 7, 5) as u8, ..base(word, group, kind) }
}

fn branch(word: u32) -> Option<Op> {
    let kind = match funct3(word) {
        0 => Kind::Beq,
        1 => Kind::Bne,
        4 => Kind::Blt,
        5 => Kind::Bge,
        6 => Kind::Bltu,
        7 => Kind::Bgeu,
        _ => return None,
    };
    let low = (bits(word, 8, 4) << 1) | (bits(word, 25, 6) << 5) | (bits(word, 7, 1) << 11);
    let imm = ((word as i32 >> 31) << 12) | low as i32;
    Some(Op { imm, rd: NOWHERE, ..base(word, Group::Branch, kind) })
}

fn load(word: u32) -> Option<Op> {
    let kind = match (word & 0x7f, funct3(word)) {
        (0x03, 0) => Kind::Lb,
        (0x03, 1) => Kind::Lh,
        (0x03, 2) => Kind::Lw,
        (0x03, 4) => Kind::Lbu,
        (0x03, 5) => Kind::Lhu,
        (0x07, 2) => Kind::Flw,
        _ => return None,
    };
    let make = if kind == Kind::Flw { float_base } else { base };
    Some(Op { imm: immediate(word), ..make(word, Group::Load, kind) })
}

fn store(word: u32) -> Option<Op> {
    let kind = match (word & 0x7f, funct3(word)) {
        (0x23, 0) => Kind::Sb,
        (0x23, 1) => Kind::Sh,
        (0x23, 2) => Kind::Sw,
        (0x27, 2) => Kind::Fsw,
        _ => return None,
    };
    let imm = ((word as i32 >> 25) << 5) | bits(word, 7, 5) as i32;
    Some(Op { imm, rd: NOWHERE, ..base(word, Group::Store, kind) })
}

fn arithmetic_immediate(word: u32) -> Option<Op> {
    let high = bits(word, 25, 7);
    let (kind, imm) = match (funct3(word), high) {
        (0, _) => (Kind::Add, immediate(word)),
        (2, _) => (Kind::Slt, immediate(word)),
        (3, _) => (Kind::Sltu, immediate(word)),
        (4, _) => (Kind::Xor, immediate(word)),
        (6, _) => (Kind::Or, immediate(word)),
        (7, _) => (Kind::And, immediate(word)),
        (1, 0) => (Kind::Sll, bits(word, 20, 5) as i32),
        (5, 0) => (Kind::Srl, bits(word, 20, 5) as i32),
        (5, 0x20) => (Kind::Sra, bits(word, 20, 5) as i32),
        _ => return None,
    };
    Some(Op { imm, ..base(word, Group::Immediate, kind) })
}

fn arithmetic(word: u32) -> Option<Op> {
    let kind = match (bits(word, 25, 7), funct3(word)) {
        (0, 0) => Kind::Add,
        (0x20, 0) => Kind::Sub,
        (0, 1) => Kind::Sll,
        (0, 2) => Kind::Slt,
        (0, 3) => Kind::Sltu,
        (0, 4) => Kind::Xor,
        (0, 5) => Kind::Srl,
        (0x20, 5) => Kind::Sra,
        (0, 6) => Kind::Or,
        (0, 7) => Kind::And,
        (1, 0) => Kind::Mul,
        (1, 1) => Kind::Mulh,
        (1, 2) => Kind::Mulhsu,
        (1, 3) => Kind::Mulhu,
        (1, 4) => Kind::Div,
        (1, 5) => Kind::Divu,
        (1, 6) => Kind::Rem,
        (1, 7) => Kind::Remu,
        _ => return None,
    };
    Some(base(word, Group::Register, kind))
}

fn system(word: u32) -> Option<Op> {
    let kind = match (funct3(word), word >> 7) {
        (0, 0) => Kind::Ecall,
        (0, 0x2000) => Kind::Ebreak,
        (1 | 5, _) => Kind::Csrrw,
        (2 | 6, _) => Kind::Csrrs,
        (3 | 7, _) => Kind::Csrrc,
        _ => return None,
    };
    // `rs3` says whether the operand is the field of the register itself; `imm` is the control register.
    let immediate = u8::from(funct3(word) >= 5);
    let register = bits(word, 20, 12) as i32;
    Some(Op { imm: register, rs3: immediate, ..base(word, Group::System, kind) })
}

fn fused(word: u32) -> Option<Op> {
    let kind = match word & 0x7f {
        0x43 => Kind::FmaddS,
        0x47 => Kind::FmsubS,
        0x4b => Kind::FnmsubS,
        _ => Kind::FnmaddS,
    };
    let single = bits(word, 25, 2) == 0;
    let op = Op { rs3: bits(word, 27, 5) as u8, ..float_base(word, Group::Float, kind) };
    (single && rounds_to_nearest(word)).then_some(op)
}

/// Whether arithmetic rounds to the nearest even number: its mode says so, or that of the control register, which is
/// that one.
fn rounds_to_nearest(word: u32) -> bool {
    matches!(funct3(word), 0 | 7)
}

fn float(word: u32) -> Option<Op> {
    let (high, mode, second) = (bits(word, 25, 7), funct3(word), bits(word, 20, 5));
    let arithmetic = |kind| rounds_to_nearest(word).then(|| float_base(word, Group::Float, kind));
    let other = |kind| Some(float_base(word, Group::Float, kind));
    let from = |kind| Some(base(word, Group::FromFloat, kind));
    match (high, mode, second) {
        (0x00, ..) => arithmetic(Kind::FaddS),
        (0x04, ..) => arithmetic(Kind::FsubS),
        (0x08, ..) => arithmetic(Kind::FmulS),
        (0x0c, ..) => arithmetic(Kind::FdivS),
        (0x2c, _, 0) => arithmetic(Kind::FsqrtS),
        (0x10, 0, _) => other(Kind::FsgnjS),
        (0x10, 1, _) => other(Kind::FsgnjnS),
        (0x10, 2, _) => other(Kind::FsgnjxS),
        (0x14, 0, _) => other(Kind::FminS),
        (0x14, 1, _) => other(Kind::FmaxS),
        (0x50, 2, _) => from(Kind::FeqS),
        (0x50, 1, _) => from(Kind::FltS),
        (0x50, 0, _) => from(Kind::FleS),
        (0x70, 1, 0) => from(Kind::FclassS),
        (0x70, 0, 0) => from(Kind::FmvXW),
        (0x60, _, 0 | 1) => {
            let kind = if second == 0 { Kind::FcvtWS } else { Kind::FcvtWuS };
            Some(Op { rounding: rounding(mode)?, ..base(word, Group::FromFloat, kind) })
        }
        (0x68, _, 0 | 1) if rounds_to_nearest(word) => {
            let kind = if second == 0 { Kind::FcvtSW } else { Kind::FcvtSWu };
            Some(float_base(word, Group::ToFloat, kind))
        }
        (0x78, 0, 0) => Some(float_base(word, Group::ToFloat, Kind::FmvWX)),
        _ => None,
    }
}

fn rounding(mode: u32) -> Option<Rounding> {
    match mode {
        0 | 7 => Some(Rounding::NearestEven),
        1 => Some(Rounding::Zero),
        2 => Some(Rounding::Down),
        3 => Some(Rounding::Up),
        4 => Some(Rounding::NearestAway),
        _ => None,
    }
}
