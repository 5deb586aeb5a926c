//! Every instruction with edge cases, from the text of the specification, and random programs on the cores beside a
//! slow interpreter that reads words bit by bit.

mod assemble;
mod machine;

use assemble::{addi, b, i, li, r, s, u};
use machine::{Machine, SCRATCH};
use proptest::prelude::*;

const MIN: u32 = 0x8000_0000;

/// What an instruction of two registers leaves in a third.
fn of_two(word: u32, a: u32, b: u32) -> u32 {
    let mut program = Vec::new();
    program.extend(li(5, a));
    program.extend(li(6, b));
    program.push(word);
    Machine::run(&program).x[7]
}

#[test]
fn integer_registers() {
    let reg = |funct3, funct7, a, b| of_two(r(0x33, funct3, funct7, [7, 5, 6]), a, b);
    assert_eq!(reg(0, 0, u32::MAX, 2), 1);
    assert_eq!(reg(0, 0x20, 1, 3), -2i32 as u32);
    assert_eq!(reg(1, 0, 1, 33), 2, "only five bits of an amount count");
    assert_eq!(reg(2, 0, MIN, 0), 1);
    assert_eq!(reg(3, 0, MIN, 0), 0);
    assert_eq!(reg(4, 0, 0b1100, 0b1010), 0b0110);
    assert_eq!(reg(5, 0, MIN, 31), 1);
    assert_eq!(reg(5, 0x20, MIN, 31), u32::MAX);
    assert_eq!(reg(6, 0, 0b1100, 0b1010), 0b1110);
    assert_eq!(reg(7, 0, 0b1100, 0b1010), 0b1000);
}

#[test]
fn multiplication_and_division() {
    let reg = |funct3, a, b| of_two(r(0x33, funct3, 1, [7, 5, 6]), a, b);
    assert_eq!(reg(0, 0x1234_5678, 0x10), 0x2345_6780);
    assert_eq!(reg(1, MIN, MIN), 0x4000_0000);
    assert_eq!(reg(1, u32::MAX, 1), u32::MAX);
    assert_eq!(reg(2, u32::MAX, u32::MAX), u32::MAX, "-1 times 2^32 - 1");
    assert_eq!(reg(3, u32::MAX, u32::MAX), u32::MAX - 1);
    assert_eq!(reg(4, -7i32 as u32, 2), -3i32 as u32);
    assert_eq!(reg(4, 5, 0), u32::MAX);
    assert_eq!(reg(4, MIN, u32::MAX), MIN, "overflow gives the dividend");
    assert_eq!(reg(5, 5, 0), u32::MAX);
    assert_eq!(reg(5, MIN, 2), 0x4000_0000);
    assert_eq!(reg(6, -7i32 as u32, 2), -1i32 as u32);
    assert_eq!(reg(6, 5, 0), 5);
    assert_eq!(reg(6, MIN, u32::MAX), 0);
    assert_eq!(reg(7, 7, 0), 7);
    assert_eq!(reg(7, u32::MAX, 16), 15);
}

#[test]
fn immediates_and_constants() {
    let one = |word, a| of_two(word, a, 0);
    assert_eq!(one(addi(7, 5, -2048), 0), -2048i32 as u32);
    assert_eq!(one(i(0x13, 2, [7, 5], -1), MIN), 1);
    assert_eq!(one(i(0x13, 3, [7, 5], -1), 5), 1, "the immediate is extended with its sign");
    assert_eq!(one(i(0x13, 4, [7, 5], -1), 5), !5);
    assert_eq!(one(i(0x13, 6, [7, 5], 8), 1), 9);
    assert_eq!(one(i(0x13, 7, [7, 5], 0xf), 0x1ff), 0xf);
    assert_eq!(one(i(0x13, 1, [7, 5], 31), 1), MIN);
    assert_eq!(one(i(0x13, 5, [7, 5], 4), MIN), 0x0800_0000);
    assert_eq!(one(i(0x13, 5, [7, 5], 0x400 | 4), MIN), 0xf800_0000);
    assert_eq!(one(u(0x37, 7, 0xabcd_e000), 0), 0xabcd_e000);
    assert_eq!(one(u(0x17, 7, 0x1000), 0), 0x0001_0000 + 16 + 0x1000, "from its own address");
    assert_eq!(Machine::run(&[addi(0, 0, 5), addi(7, 0, 1)]).x[7], 1, "x0 stays 0");
}

#[test]
fn branches_and_jumps() {
    let taken = |funct3, a, b2| {
        let mut program = Vec::new();
        program.extend(li(5, a));
        program.extend(li(6, b2));
        program.extend([addi(7, 0, 1), b(funct3, [5, 6], 8), addi(7, 0, 2)]);
        Machine::run(&program).x[7] == 1
    };
    let table = [(0, false, false), (1, true, true), (4, true, false), (5, false, true)];
    for (funct3, signed, other) in table {
        assert_eq!(taken(funct3, MIN, 1), signed, "{funct3}");
        assert_eq!(taken(funct3, 1, MIN), other, "{funct3}");
    }
    assert!(taken(0, 3, 3) && !taken(1, 3, 3) && taken(5, 3, 3) && taken(7, 3, 3));
    assert!(taken(6, 1, MIN) && !taken(6, MIN, 1) && taken(7, MIN, 1));
    // jal over an instruction; jalr back to the address that it kept, over another.
    let jal = 0x0080_02ef; // jal x5, 8
    let program = [
        jal,
        addi(7, 7, 100),
        addi(7, 7, 1),
        b(0, [7, 6], 12),
        addi(6, 7, 1),
        i(0x67, 0, [8, 5], 4),
    ];
    let left = Machine::run(&program);
    assert_eq!((left.x[7], left.x[5], left.x[8]), (2, 0x0001_0004, 0x0001_0018));
}

#[test]
fn loads_and_stores() {
    let mut program = Vec::new();
    program.extend(li(5, SCRATCH));
    program.extend(li(6, 0x8081_8283));
    program.push(s(0x23, 2, [5, 6], 4));
    program.extend(
        [(0, 10), (1, 11), (2, 12), (4, 13), (5, 14)].map(|(f, rd)| i(0x03, f, [rd, 5], 4)),
    );
    program.push(s(0x23, 0, [5, 0], 5));
    program.push(i(0x03, 2, [15, 5], 4));
    program.push(s(0x23, 1, [5, 0], 6));
    program.push(i(0x03, 2, [16, 5], 4));
    program.extend([i(0x07, 2, [3, 5], 4), s(0x27, 2, [5, 3], 8), i(0x03, 2, [17, 5], 8)]);
    let x = Machine::run(&program).x;
    assert_eq!(x[10..15], [0xffff_ff83, 0xffff_8283, 0x8081_8283, 0x83, 0x8283]);
    assert_eq!(x[15..18], [0x8081_0083, 0x0000_0083, 0x0000_0083]);
}

/// What an instruction leaves in a float register, of three numbers, or in an integer register.
fn of_floats(word: u32, numbers: [f32; 3]) -> Machine {
    let mut program = Vec::new();
    for (at, number) in numbers.iter().enumerate() {
        program.extend(li(5, number.to_bits()));
        program.push(r(0x53, 0, 0x78, [1 + at as u32, 5, 0]));
    }
    program.push(word);
    Machine::run(&program)
}

#[test]
fn float_arithmetic() {
    let two = |funct7, a, b| of_floats(r(0x53, 7, funct7, [7, 1, 2]), [a, b, 0.0]).f[7];
    assert_eq!(two(0, 1.5, 2.25), 3.75f32.to_bits());
    assert_eq!(two(4, 1.0, 1.0), 0);
    assert_eq!(two(8, 1e30, 1e30), f32::INFINITY.to_bits());
    assert_eq!(two(12, 1.0, 0.0), f32::INFINITY.to_bits());
    assert_eq!(two(12, 0.0, 0.0), 0x7fc0_0000, "the canonical one of what is no number");
    assert_eq!(of_floats(r(0x53, 7, 0x2c, [7, 1, 0]), [-1.0, 0.0, 0.0]).f[7], 0x7fc0_0000);
    assert_eq!(of_floats(r(0x53, 7, 0x2c, [7, 1, 0]), [9.0, 0.0, 0.0]).f[7], 3f32.to_bits());
    let fused = |opcode| of_floats(3 << 27 | r(opcode, 7, 0, [7, 1, 2]), [2.0, 3.0, 1.0]).f[7];
    let all = [0x43, 0x47, 0x4b, 0x4f].map(fused).map(f32::from_bits);
    assert_eq!(all, [7.0, 5.0, -5.0, -7.0]);
}

#[test]
fn signs_extremes_and_comparisons() {
    let two = |funct3, funct7, a, b| of_floats(r(0x53, funct3, funct7, [7, 1, 2]), [a, b, 0.0]);
    let float = |funct3, funct7, a, b| f32::from_bits(two(funct3, funct7, a, b).f[7]);
    assert_eq!(float(0, 0x10, 1.0, -2.0), -1.0);
    assert_eq!(float(1, 0x10, 1.0, -2.0), 1.0);
    assert_eq!(float(2, 0x10, -1.0, -2.0), 1.0);
    assert_eq!(float(0, 0x14, 1.0, f32::NAN), 1.0);
    assert_eq!(float(1, 0x14, f32::NAN, 2.0), 2.0);
    assert_eq!(two(0, 0x14, 0.0, -0.0).f[7], MIN, "the zero with a sign is smaller");
    assert_eq!(two(1, 0x14, -0.0, 0.0).f[7], 0);
    let holds = |funct3, a, b| two(funct3, 0x50, a, b).x[7];
    assert_eq!([holds(2, 1.0, 1.0), holds(1, 1.0, 1.0), holds(0, 1.0, 1.0)], [1, 0, 1]);
    assert_eq!([holds(2, f32::NAN, 1.0), holds(1, f32::NAN, 1.0), holds(0, f32::NAN, 1.0)], [0; 3]);
    let class = |a| of_floats(r(0x53, 1, 0x70, [7, 1, 0]), [a, 0.0, 0.0]).x[7];
    let numbers = [f32::NEG_INFINITY, -1.0, -1e-40, -0.0, 0.0, 1e-40, 1.0, f32::INFINITY];
    for (bit, number) in numbers.into_iter().enumerate() {
        assert_eq!(class(number), 1 << bit, "{number}");
    }
    assert_eq!(class(f32::from_bits(0x7f80_0001)), 1 << 8);
    assert_eq!(class(f32::NAN), 1 << 9);
}

#[test]
fn conversions() {
    let to = |rounding, unsigned, a| {
        of_floats(r(0x53, rounding, 0x60, [7, 1, unsigned]), [a, 0.0, 0.0]).x[7] as i32
    };
    let all = |a| [0, 1, 2, 3, 4].map(|rounding| to(rounding, 0, a));
    assert_eq!(all(2.5), [2, 2, 2, 3, 3]);
    assert_eq!(all(-2.5), [-2, -2, -3, -2, -3]);
    assert_eq!([to(0, 0, 3e9), to(0, 0, -3e9), to(0, 0, f32::NAN)], [i32::MAX, i32::MIN, i32::MAX]);
    assert_eq!(
        [to(0, 1, -1.0), to(0, 1, f32::NAN), to(0, 1, 3e9)],
        [0, -1, 3_000_000_000u32 as i32]
    );
    let from = |unsigned, a| {
        let mut program = li(5, a).to_vec();
        program.push(r(0x53, 7, 0x68, [7, 5, unsigned]));
        f32::from_bits(Machine::run(&program).f[7])
    };
    assert_eq!((from(0, u32::MAX), from(1, u32::MAX)), (-1.0, 4_294_967_300.0));
    let moved = of_floats(r(0x53, 0, 0x70, [7, 1, 0]), [-0.0, 0.0, 0.0]).x[7];
    assert_eq!(moved, MIN);
}

#[test]
fn words_that_are_no_instructions() {
    let words = [
        0,
        u32::MAX,
        0x33 | 2 << 25,
        0x63 | 2 << 12,
        0x03 | 3 << 12,
        0x53 | 1 << 12,
        0x27 | 3 << 12,
    ];
    for word in words {
        assert_eq!(dastac_pim::isa::decode(word), None, "{word:#x}");
    }
}

/// A random instruction that neither jumps nor accesses memory outside of the first words of the scratchpad, whose
/// address is in register 31; it does not write there.
fn any_instruction() -> impl Strategy<Value = u32> {
    let register = 0..31u32;
    (0..14u32, any::<u32>(), register.clone(), register.clone(), register).prop_map(pick)
}

fn pick((kind, bits, rd, rs1, rs2): (u32, u32, u32, u32, u32)) -> u32 {
    let (funct3, imm, three) = (bits >> 3 & 7, (bits >> 8) as i32 & 0x7ff, [rd, rs1, rs2]);
    let word = ((bits >> 20 & 15) * 4) as i32;
    match kind {
        0 => r(0x33, funct3, if matches!(funct3, 0 | 5) { (bits & 1) << 5 } else { 0 }, three),
        1 => r(0x33, funct3, 1, three),
        2 if matches!(funct3, 1 | 5) => i(0x13, funct3, [rd, rs1], imm & 31),
        2 => i(0x13, funct3, [rd, rs1], imm - 1024),
        3 => u(if bits & 1 == 0 { 0x37 } else { 0x17 }, rd, bits),
        4 => i(0x03, [0, 1, 2, 4, 5, 2, 2, 0][funct3 as usize], [rd, 31], word),
        5 => s(0x23, funct3 % 3, [31, rs2], word),
        6 => i(0x07, 2, [rd, 31], word),
        7 => s(0x27, 2, [31, rs2], word),
        8 => r(0x53, 7, [0, 4, 8, 12][(bits & 3) as usize], three),
        9 => (bits & 31) << 27 | r([0x43, 0x47, 0x4b, 0x4f][(bits >> 5 & 3) as usize], 7, 0, three),
        10 => r(0x53, bits % 3, 0x10, three),
        11 => r(0x53, bits % 2, 0x14, three),
        12 => r(0x53, bits % 3, 0x50, three),
        _ => match bits % 5 {
            0 => r(0x53, funct3 % 5, 0x60, [rd, rs1, bits >> 7 & 1]),
            1 => r(0x53, 7, 0x68, [rd, rs1, bits >> 7 & 1]),
            2 => r(0x53, 0, 0x70, [rd, rs1, 0]),
            3 => r(0x53, 1, 0x70, [rd, rs1, 0]),
            _ => r(0x53, 0, 0x78, [rd, rs1, 0]),
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_programs(seeds in proptest::collection::vec(any::<u32>(), 8),
                       words in proptest::collection::vec(any_instruction(), 1..60)) {
        let mut program = li(31, SCRATCH).to_vec();
        for (at, seed) in seeds.iter().enumerate() {
            program.extend(li(1 + 3 * at as u32, *seed));
            program.push(r(0x53, 0, 0x78, [1 + 3 * at as u32, 1 + 3 * at as u32, 0]));
        }
        program.extend(words);
        let (found, expected) = (Machine::run(&program), Machine::interpret(&program));
        prop_assert_eq!(found.x, expected.x);
        prop_assert_eq!(found.f, expected.f);
    }
}
