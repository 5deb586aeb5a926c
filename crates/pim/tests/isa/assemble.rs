//! Instructions as words, for tests; the other way round than the decoder, by the tables of the specification.

/// Registers, fields and opcode of an instruction with three registers.
pub fn r(opcode: u32, funct3: u32, funct7: u32, regs: [u32; 3]) -> u32 {
    let [rd, rs1, rs2] = regs;
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

/// An instruction with an immediate of 12 bits.
pub fn i(opcode: u32, funct3: u32, regs: [u32; 2], imm: i32) -> u32 {
    let [rd, rs1] = regs;
    (imm as u32 & 0xfff) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

/// A store of `rs2` at `rs1 + imm`.
pub fn s(opcode: u32, funct3: u32, regs: [u32; 2], imm: i32) -> u32 {
    let ([rs1, rs2], imm) = (regs, imm as u32);
    (imm >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (imm & 31) << 7 | opcode
}

/// A branch.
pub fn b(funct3: u32, regs: [u32; 2], imm: i32) -> u32 {
    let ([rs1, rs2], imm) = (regs, imm as u32);
    let high = (imm >> 12 & 1) << 31 | (imm >> 5 & 0x3f) << 25;
    high | rs2 << 20 | rs1 << 15 | funct3 << 12 | (imm >> 1 & 15) << 8 | (imm >> 11 & 1) << 7 | 0x63
}

/// `lui` or `auipc` of the upper 20 bits.
pub fn u(opcode: u32, rd: u32, upper: u32) -> u32 {
    (upper & 0xffff_f000) | rd << 7 | opcode
}

/// `addi rd, rs1, imm`.
pub fn addi(rd: u32, rs1: u32, imm: i32) -> u32 {
    i(0x13, 0, [rd, rs1], imm)
}

/// A 32-bit constant.
pub fn li(rd: u32, value: u32) -> [u32; 2] {
    [u(0x37, rd, value.wrapping_add(0x800)), addi(rd, rd, (value as i32) << 20 >> 20)]
}

/// `ret`.
pub const RET: u32 = 0x0000_8067;
