//! What becomes of stores, as text, and that it computes the same.

use super::{block_rows, run};
use crate::interp::Data;
use crate::machine::Machine;
use crate::passes::Context;
use crate::passes::tests::compare;
use crate::random::{self, Style};
use crate::*;
use expect_test::expect;
use proptest::prelude::*;

/// Vectors of four `f64`.
fn vectors() -> Machine {
    Machine { vector_bytes: 32, fuses: true, gathers: true, packs: 1, ..Machine::PLAIN }
}

const HEAD: &str = "module(N, M)\nbuffer A : f64[N * N]\nbuffer C : f64[N]\nbuffer B : f64[N * M]\n\
                    buffer pos : u32[N + 1]\nbuffer crd : u32[N * M]\n";

/// Lowers a function body, compares what it computes at some sizes, and prints it.
fn check(machine: &Machine, body: &str) -> String {
    let text = format!("{HEAD}func f(inout A, inout C, in B, in pos, in crd) {{ {body} }}");
    let before = parse(&text).unwrap();
    assert_eq!(verify(&before), Ok(()));
    let mut after = before.clone();
    run(&mut after, &Context::of(machine));
    assert_eq!(verify(&after), Ok(()), "{after}");
    assert_eq!(parse(&after.to_string()).unwrap(), after.canonical(), "{after}");
    for (n, m) in [(0, 0), (1, 3), (5, 2), (4, 5), (3, 0), (9, 11), (17, 7)] {
        let data = |len: i64, seed: i64| {
            Data::Float((0..len).map(|x| ((x * 7 + seed) % 11 - 4) as f64).collect())
        };
        let rows = Data::Int((0..=n).map(|row| (row * row).min(n * m)).collect());
        let columns = Data::Int((0..n * m).map(|at| at * 3 % n.max(1)).collect());
        let all = [data(n * n, 1), data(n, 2), data(n * m, 3), rows, columns];
        compare(&before, &after, &[n, m], &all).unwrap();
    }
    let text = after.to_string();
    let body = &text[text.find("{\n").unwrap() + 2..text.len() - 2];
    body.lines().map(|line| format!("{}\n", &line[2..])).collect()
}

#[test]
fn a_loop_that_adds_to_an_element_and_to_neighbours() {
    let body =
        "if N > 3 { for k = 1 to N { C[0] += B[k] * B[0]  A[k] += B[k] * B[1] + B[k - 1] } }";
    expect![[r#"
        if N > 3 {
          integer lower = 1
          integer upper = N
          wrapping length = max(upper - lower, 0)
          $0 : f64[4] = constant 0.0
          wrapping end = lower + (length - length % 32)
          carry k = lower to end step 32 with $1 : f64[4] = $0, $2 : f64[4] = $0, $3 : f64[4] = $0, $4 : f64[4] = $0, $5 : f64[4] = $0, $6 : f64[4] = $0, $7 : f64[4] = $0, $8 : f64[4] = $0 {
            $9 : f64[4] = load B[k]
            $10 : f64 = load B[0]
            $11 : f64[4] = broadcast $10
            $12 : f64[4] = fma $9, $11, $1
            $13 : f64[4] = load A[k]
            $14 : f64[4] = load B[k]
            $15 : f64 = load B[1]
            $16 : f64[4] = broadcast $15
            $17 : f64[4] = fma $14, $16, $13
            $18 : f64[4] = load B[k - 1]
            $19 : f64[4] = add $17, $18
            write A[k] = $19
            wrapping k_1 = k + 4
            $20 : f64[4] = load B[k_1]
            $21 : f64 = load B[0]
            $22 : f64[4] = broadcast $21
            $23 : f64[4] = fma $20, $22, $2
            $24 : f64[4] = load A[k_1]
            $25 : f64[4] = load B[k_1]
            $26 : f64 = load B[1]
            $27 : f64[4] = broadcast $26
            $28 : f64[4] = fma $25, $27, $24
            $29 : f64[4] = load B[k_1 - 1]
            $30 : f64[4] = add $28, $29
            write A[k_1] = $30
            wrapping k_2 = k + 8
            $31 : f64[4] = load B[k_2]
            $32 : f64 = load B[0]
            $33 : f64[4] = broadcast $32
            $34 : f64[4] = fma $31, $33, $3
            $35 : f64[4] = load A[k_2]
            $36 : f64[4] = load B[k_2]
            $37 : f64 = load B[1]
            $38 : f64[4] = broadcast $37
            $39 : f64[4] = fma $36, $38, $35
            $40 : f64[4] = load B[k_2 - 1]
            $41 : f64[4] = add $39, $40
            write A[k_2] = $41
            wrapping k_3 = k + 12
            $42 : f64[4] = load B[k_3]
            $43 : f64 = load B[0]
            $44 : f64[4] = broadcast $43
            $45 : f64[4] = fma $42, $44, $4
            $46 : f64[4] = load A[k_3]
            $47 : f64[4] = load B[k_3]
            $48 : f64 = load B[1]
            $49 : f64[4] = broadcast $48
            $50 : f64[4] = fma $47, $49, $46
            $51 : f64[4] = load B[k_3 - 1]
            $52 : f64[4] = add $50, $51
            write A[k_3] = $52
            wrapping k_4 = k + 16
            $53 : f64[4] = load B[k_4]
            $54 : f64 = load B[0]
            $55 : f64[4] = broadcast $54
            $56 : f64[4] = fma $53, $55, $5
            $57 : f64[4] = load A[k_4]
            $58 : f64[4] = load B[k_4]
            $59 : f64 = load B[1]
            $60 : f64[4] = broadcast $59
            $61 : f64[4] = fma $58, $60, $57
            $62 : f64[4] = load B[k_4 - 1]
            $63 : f64[4] = add $61, $62
            write A[k_4] = $63
            wrapping k_5 = k + 20
            $64 : f64[4] = load B[k_5]
            $65 : f64 = load B[0]
            $66 : f64[4] = broadcast $65
            $67 : f64[4] = fma $64, $66, $6
            $68 : f64[4] = load A[k_5]
            $69 : f64[4] = load B[k_5]
            $70 : f64 = load B[1]
            $71 : f64[4] = broadcast $70
            $72 : f64[4] = fma $69, $71, $68
            $73 : f64[4] = load B[k_5 - 1]
            $74 : f64[4] = add $72, $73
            write A[k_5] = $74
            wrapping k_6 = k + 24
            $75 : f64[4] = load B[k_6]
            $76 : f64 = load B[0]
            $77 : f64[4] = broadcast $76
            $78 : f64[4] = fma $75, $77, $7
            $79 : f64[4] = load A[k_6]
            $80 : f64[4] = load B[k_6]
            $81 : f64 = load B[1]
            $82 : f64[4] = broadcast $81
            $83 : f64[4] = fma $80, $82, $79
            $84 : f64[4] = load B[k_6 - 1]
            $85 : f64[4] = add $83, $84
            write A[k_6] = $85
            wrapping k_7 = k + 28
            $86 : f64[4] = load B[k_7]
            $87 : f64 = load B[0]
            $88 : f64[4] = broadcast $87
            $89 : f64[4] = fma $86, $88, $8
            $90 : f64[4] = load A[k_7]
            $91 : f64[4] = load B[k_7]
            $92 : f64 = load B[1]
            $93 : f64[4] = broadcast $92
            $94 : f64[4] = fma $91, $93, $90
            $95 : f64[4] = load B[k_7 - 1]
            $96 : f64[4] = add $94, $95
            write A[k_7] = $96
          } next $12, $23, $34, $45, $56, $67, $78, $89 gives $97, $98, $99, $100, $101, $102, $103, $104
          $105 : f64[4] = add $97, $101
          $106 : f64[4] = add $98, $102
          $107 : f64[4] = add $99, $103
          $108 : f64[4] = add $100, $104
          $109 : f64[4] = add $105, $107
          $110 : f64[4] = add $106, $108
          $111 : f64[4] = add $109, $110
          wrapping end_1 = lower + (length - length % 4)
          carry k = end to end_1 step 4 with $112 : f64[4] = $111 {
            $113 : f64[4] = load B[k]
            $114 : f64 = load B[0]
            $115 : f64[4] = broadcast $114
            $116 : f64[4] = fma $113, $115, $112
            $117 : f64[4] = load A[k]
            $118 : f64[4] = load B[k]
            $119 : f64 = load B[1]
            $120 : f64[4] = broadcast $119
            $121 : f64[4] = fma $118, $120, $117
            $122 : f64[4] = load B[k - 1]
            $123 : f64[4] = add $121, $122
            write A[k] = $123
          } next $116 gives $124
          $125 : f64[2] = shuffle $124, $124 [0, 1]
          $126 : f64[2] = shuffle $124, $124 [2, 3]
          $127 : f64[2] = add $125, $126
          $128 : f64 = extract $127[0]
          $129 : f64 = extract $127[1]
          $130 : f64 = add $128, $129
          carry k = end_1 to upper with $131 : f64 = $130 {
            $132 : f64 = load B[k]
            $133 : f64 = load B[0]
            $134 : f64 = fma $132, $133, $131
            $135 : f64 = load A[k]
            $136 : f64 = load B[k]
            $137 : f64 = load B[1]
            $138 : f64 = fma $136, $137, $135
            $139 : f64 = load B[k - 1]
            $140 : f64 = add $138, $139
            write A[k] = $140
          } next $134 gives $141
          $142 : f64 = load C[0]
          $143 : f64 = add $142, $141
          write C[0] = $143
        }
    "#]].assert_eq(&check(&vectors(), body));
    // What is read is added to, an element is added to twice, and neighbours are apart.
    for body in [
        "for k = 1 to N { C[0] += A[k]  A[k] += B[k] }",
        "for k = 1 to N { C[0] += B[k]  C[0] += B[k]  A[k] += B[k] }",
        "for k = 1 to N { C[0] += B[k]  A[N * k] += B[k] }",
        "for k = 1 to N { C[0] += B[k]  A[k] += 1.0  A[k - 1] += 1.0 }",
    ] {
        let body = format!("if N > 0 {{ if M > 0 {{ if N <= M {{ {body} }} }} }}");
        assert!(!check(&vectors(), &body).contains("f64[4]"), "{body}");
    }
}

#[test]
fn a_tile_loads_what_its_elements_share_once() {
    let body =
        "if N > 3 { unroll i = 0 to 2 { unroll j = 2 to 4 { A[N * i + j] += C[i] * C[j] } } }";
    expect![[r#"
        if N > 3 {
          $0 : f64 = load C[0]
          $1 : f64 = load C[2]
          $2 : f64 = mul $0, $1
          $3 : f64 = load C[3]
          $4 : f64 = mul $0, $3
          $5 : f64 = load C[1]
          $6 : f64 = mul $5, $1
          $7 : f64 = mul $5, $3
          integer at = N + 2
          integer at_1 = N + 3
          $8 : f64 = load A[2]
          $9 : f64 = add $8, $2
          write A[2] = $9
          $10 : f64 = load A[3]
          $11 : f64 = add $10, $4
          write A[3] = $11
          $12 : f64 = load A[at]
          $13 : f64 = add $12, $6
          write A[at] = $13
          $14 : f64 = load A[at_1]
          $15 : f64 = add $14, $7
          write A[at_1] = $15
        }
    "#]]
    .assert_eq(&check(&Machine::PLAIN, body));
}

#[test]
fn a_sum_has_its_terms_in_lanes() {
    let body = "for i = 0 to N { C[i] = sum(k = 0 to M unroll 2) B[M * i + k] * B[k] }";
    expect![[r#"
        for i = 0 to N {
          integer lower = 0
          integer upper = M
          wrapping length = max(upper - lower, 0)
          $0 : f64[4] = constant 0.0
          wrapping end = lower + (length - length % 8)
          carry k = lower to end step 8 with $1 : f64[4] = $0, $2 : f64[4] = $0 {
            $3 : f64[4] = load B[M * i + k]
            $4 : f64[4] = load B[k]
            $5 : f64[4] = fma $3, $4, $1
            wrapping k_1 = k + 4
            $6 : f64[4] = load B[M * i + k_1]
            $7 : f64[4] = load B[k_1]
            $8 : f64[4] = fma $6, $7, $2
          } next $5, $8 gives $9, $10
          $11 : f64[4] = add $9, $10
          wrapping end_1 = lower + (length - length % 4)
          carry k = end to end_1 step 4 with $12 : f64[4] = $11 {
            $13 : f64[4] = load B[M * i + k]
            $14 : f64[4] = load B[k]
            $15 : f64[4] = fma $13, $14, $12
          } next $15 gives $16
          wrapping rest = length % 4
          choose if rest != 0 {
            $17 : truth[4] = first rest
            $18 : f64[4] = load B[M * i + end_1] where $17
            $19 : f64[4] = load B[end_1] where $17
            $20 : f64[4] = fma $18, $19, $16
            $21 : f64[4] = select $17, $20, $16
          } else {
          } gives $22 : f64[4] = $21 or $16
          $23 : f64[2] = shuffle $22, $22 [0, 1]
          $24 : f64[2] = shuffle $22, $22 [2, 3]
          $25 : f64[2] = add $23, $24
          $26 : f64 = extract $25[0]
          $27 : f64 = extract $25[1]
          $28 : f64 = add $26, $27
          write C[i] = $28
        }
    "#]]
    .assert_eq(&check(&vectors(), body));
}

#[test]
fn stored_terms_are_gathered() {
    let body = "for i = 0 to N { C[i] = sum(p = pos[i] to pos[i + 1]) B[p] * A[crd[p]] }";
    expect![[r#"
        for i = 0 to N {
          integer lower = pos[i]
          integer upper = pos[i + 1]
          wrapping length = upper - lower
          choose if length <= 4 {
            wrapping rest = max(length, 0)
            $0 : truth[4] = first_bits rest
            $1 : f64[4] = constant 0.0
            $2 : f64[4] = load B[lower] where $0
            $3 : integer[4] = load crd[lower] where $0
            $4 : f64[4] = gather A[$3] where $0
            $5 : f64[4] = mul $2, $4
            $6 : f64[4] = select $0, $5, $1
            $7 : f64[2] = shuffle $6, $6 [0, 1]
            $8 : f64[2] = shuffle $6, $6 [2, 3]
            $9 : f64[2] = add $7, $8
            $10 : f64 = extract $9[0]
            $11 : f64 = extract $9[1]
            $12 : f64 = add $10, $11
          } else {
            wrapping before = length - 1
            wrapping before_1 = before - before % 4
            wrapping last = lower + before_1
            wrapping rest = length - before_1
            $13 : f64[4] = constant 0.0
            carry p = lower to last step 4 with $14 : f64[4] = $13 {
              $15 : f64[4] = load B[p]
              $16 : integer[4] = load crd[p]
              $17 : f64[4] = gather A[$16]
              $18 : f64[4] = fma $15, $17, $14
            } next $18 gives $19
            $20 : truth[4] = first_bits rest
            $21 : f64[4] = load B[last] where $20
            $22 : integer[4] = load crd[last] where $20
            $23 : f64[4] = gather A[$22] where $20
            $24 : f64[4] = fma $21, $23, $19
            $25 : f64[4] = select $20, $24, $19
            $26 : f64[2] = shuffle $25, $25 [0, 1]
            $27 : f64[2] = shuffle $25, $25 [2, 3]
            $28 : f64[2] = add $26, $27
            $29 : f64 = extract $28[0]
            $30 : f64 = extract $28[1]
            $31 : f64 = add $29, $30
          } gives $32 : f64 = $12 or $31
          write C[i] = $32
        }
    "#]]
    .assert_eq(&check(&vectors(), body));
}

#[test]
fn stored_terms_are_packed() {
    let body = "for i = 0 to N { C[i] = sum(p = pos[i] to pos[i + 1]) B[p] * A[crd[p]] }";
    let machine = Machine { packs: 4, ..vectors() };
    expect![[r#"
        for i = 0 to N {
          integer lower = pos[i]
          integer upper = pos[i + 1]
          wrapping length = max(upper - lower, 0)
          wrapping middle = lower + (length - length % 4)
          $0 : f64 = constant 0.0
          carry p = middle to upper with $1 : f64 = $0 {
            $2 : f64 = load B[p]
            $3 : f64 = load A[crd[p]]
            $4 : f64 = fma $2, $3, $1
          } next $4 gives $5
          choose if lower < middle {
            $6 : f64[4] = constant 0.0
            carry p = lower to middle step 4 with $7 : f64[4] = $6 {
              $8 : f64[4] = load B[p]
              $9 : f64 = load A[crd[p]]
              $10 : f64 = load A[crd[p + 1]]
              $11 : f64 = load A[crd[p + 2]]
              $12 : f64 = load A[crd[p + 3]]
              $13 : f64[4] = pack $9, $10, $11, $12
              $14 : f64[4] = fma $8, $13, $7
            } next $14 gives $15
            $16 : f64[2] = shuffle $15, $15 [0, 1]
            $17 : f64[2] = shuffle $15, $15 [2, 3]
            $18 : f64[2] = add $16, $17
            $19 : f64 = extract $18[0]
            $20 : f64 = extract $18[1]
            $21 : f64 = add $19, $20
            $22 : f64 = add $21, $5
          } else {
          } gives $23 : f64 = $22 or $5
          write C[i] = $23
        }
    "#]]
    .assert_eq(&check(&machine, body));
}

/// Makes blocks of rows, compares what they compute, also in registers, and prints them.
fn blocks(machine: &Machine, head: &str, body: &str) -> String {
    let text = format!("{head}func f(inout A, inout C, in B, in pos, in crd) {{ {body} }}");
    let before = parse(&text).unwrap();
    assert_eq!(verify(&before), Ok(()));
    let mut blocks = before.clone();
    block_rows::run(&mut blocks, &Context::of(machine));
    assert_eq!(verify(&blocks), Ok(()), "{blocks}");
    assert_eq!(parse(&blocks.to_string()).unwrap(), blocks.canonical(), "{blocks}");
    let mut after = blocks.clone();
    run(&mut after, &Context::of(machine));
    assert_eq!(verify(&after), Ok(()), "{after}");
    assert_eq!(parse(&after.to_string()).unwrap(), after.canonical(), "{after}");
    for (n, m) in [(0, 0), (1, 3), (5, 2), (17, 11), (16, 4), (33, 40), (50, 7), (48, 0)] {
        let data = |len: i64, seed: i64| {
            Data::Float((0..len).map(|x| ((x * 7 + seed) % 11 - 4) as f64).collect())
        };
        // Rows of one length, of no more than a few, and of all lengths.
        for kind in 0..4 {
            let end = |row: i64| match kind {
                0 => row * m.min(3),
                1 => row * row % 7 / 3 + row * m / 2,
                2 => (row * row).min(n * m),
                _ => row / 9 * m * 5,
            };
            let mut ends: Vec<i64> = (0..=n).map(|row| end(row).min(n * m)).collect();
            ends.sort_unstable();
            let columns = Data::Int((0..n * m).map(|at| at * 3 % n.max(1)).collect());
            let all = [data(n * n, 1), data(n, 2), data(n * m, 3), Data::Int(ends), columns];
            compare(&before, &blocks, &[n, m], &all).unwrap();
            compare(&before, &after, &[n, m], &all).unwrap();
        }
    }
    let text = blocks.to_string();
    let body = &text[text.find("{\n").unwrap() + 2..text.len() - 2];
    // What is asked of a block takes a long line.
    let short = |line: &str| match line.split_once(" and ") {
        Some((first, _)) => format!("{} and .. {{\n", &first[2..]),
        None => format!("{}\n", &line[2..]),
    };
    body.lines().map(short).collect()
}

#[test]
fn rows_are_told_apart_by_blocks() {
    let machine = Machine { packs: 4, predicts: 8, ..vectors() };
    let all = [
        "for i = 0 to N { C[i] = sum(p = pos[i] to pos[i + 1]) B[p] * A[crd[p]] }",
        "for i = 2 to min(N, M) { C[i] += 2.0 * (max(p = pos[i - 1] to pos[i]) B[p] * A[crd[p]]) }",
        // Neighbours, which need no loads one by one; terms of two rows.
        "for i = 0 to N { C[i] = sum(p = pos[i] to pos[i + 1]) B[p] }",
        "for i = 0 to N - 1 { C[i] = sum(p = pos[i] to pos[i + 2]) B[p] * A[crd[p]] }",
    ];
    let all: Vec<String> = all.iter().map(|body| blocks(&machine, HEAD, body)).collect();
    expect![[r#"
        for ih = 0 to (N + 15) / 16 {
          if pos[min(ih * 16 + 16, N)] - pos[max(ih * 16, 0)] == 0 {
            for iz = max(0, ih * 16) to min(N, ih * 16 + 16) {
              C[iz] = 0.0
            }
          } else if 8 < N * M / 4 + N * 2 and .. {
            for ir = max(0, ih * 16) to min(N, ih * 16 + 16) {
              C[ir] = sum(pr = pos[ir] to pos[ir + 1] hint(irregular)) B[pr] * A[crd[pr]]
            }
          } else {
            for i = max(0, ih * 16) to min(N, ih * 16 + 16) {
              C[i] = sum(p = pos[i] to pos[i + 1]) B[p] * A[crd[p]]
            }
          }
        }
        if 2 < min(N, M) {
          for ih = 0 to min((N + 15) / 16, (M + 15) / 16) {
            if 8 < N * M / 4 + N * 2 and .. {
              for ir = max(2, ih * 16) to min(N, M, ih * 16 + 16) {
                C[ir] += 2.0 * (max(pr = pos[ir - 1] to pos[ir] hint(irregular)) B[pr] * A[crd[pr]])
              }
            } else {
              for i = max(2, ih * 16) to min(N, M, ih * 16 + 16) {
                C[i] += 2.0 * (max(p = pos[i - 1] to pos[i]) B[p] * A[crd[p]])
              }
            }
          }
        }
        for i = 0 to N {
          C[i] = sum(p = pos[i] to pos[i + 1]) B[p]
        }
        for i = 0 to N - 1 {
          C[i] = sum(p = pos[i] to pos[i + 2]) B[p] * A[crd[p]]
        }
    "#]]
    .assert_eq(&all.concat());
}

#[test]
fn elements_are_in_lanes_past_the_caches() {
    let body =
        "for b = 0 to N - 7 step 8 { unroll i = b to b + 8 { C[i] = 2.0 * A[i] stream if N > 9 } }";
    expect![[r#"
        for b = 0 to N - 7 step 8 {
          $0 : f64 = constant 2.0
          $1 : f64[4] = load A[b]
          $2 : f64[4] = broadcast $0
          $3 : f64[4] = mul $2, $1
          $4 : f64[4] = load A[b + 4]
          $5 : f64[4] = broadcast $0
          $6 : f64[4] = mul $5, $4
          integer at = b + 4
          $7 : truth = holds N > 9
          $8 : truth = aligned C[b] to 64
          $9 : truth = and $7, $8
          choose if $9 {
            write C[b] = $3 streamed 32
            write C[at] = $6 streamed 32
          } else {
            write C[b] = $3
            write C[at] = $6
          }
        }
        fence
    "#]]
    .assert_eq(&check(&vectors(), body));
}

#[test]
fn columns_become_rows() {
    let body = "if N > 3 { if M > 3 { unroll i = 0 to 4 { unroll j = 0 to 4 { \
                A[N * i + j] += B[M * j + i] * B[M * (3 - j) + 3 - i] } } } }";
    let text = check(&vectors(), body);
    let count = |what: &str| text.matches(what).count();
    assert_eq!((count("load B"), count("shuffle"), count("load A")), (8, 16, 4), "{text}");
    let pairs = Machine { vector_bytes: 16, ..vectors() };
    expect![[r#"
        if N > 1 {
          if M > 2 {
            $0 : f64[2] = load B[1]
            $1 : f64[2] = load B[M + 1]
            $2 : f64[2] = shuffle $0, $1 [0, 2]
            $3 : f64[2] = shuffle $0, $1 [1, 3]
            write A[0] = $2
            write A[N] = $3
          }
        }
    "#]].assert_eq(&check(
        &pairs,
        "if N > 1 { if M > 2 { unroll i = 0 to 2 { unroll j = 0 to 2 { A[N * i + j] = B[M * j + i + 1] } } } }",
    ));
}

#[test]
fn sums_whose_bounds_move_with_the_lanes_are_masked() {
    let body = "for b = 0 to N - 3 step 4 { unroll i = b to b + 4 {
        if i < 2 { C[i] = 0.0 }
        C[i] += sum(k = i to N) A[N * k + i] } }";
    expect![[r#"
        for b = 0 to N - 3 step 4 {
          if b < 2 {
            $0 : f64 = constant 0.0
            write C[b] = $0
          }
          if b + 1 < 2 {
            $1 : f64 = constant 0.0
            integer at = b + 1
            write C[at] = $1
          }
          if b + 2 < 2 {
            $2 : f64 = constant 0.0
            integer at = b + 2
            write C[at] = $2
          }
          if b + 3 < 2 {
            $3 : f64 = constant 0.0
            integer at = b + 3
            write C[at] = $3
          }
          $4 : integer[4] = lanes b by 1
          integer lower = b
          integer upper = N
          $5 : f64[4] = constant 0.0
          carry k = lower to upper with $6 : f64[4] = $5 {
            $7 : integer[4] = lanes k by 0
            $8 : truth[4] = compare $7 >= $4
            $9 : f64[4] = load A[N * k + b] where $8
            $10 : f64[4] = add $6, $9
            $11 : f64[4] = select $8, $10, $6
          } next $11 gives $12
          $13 : f64[4] = load C[b]
          $14 : f64[4] = add $13, $12
          write C[b] = $14
        }
    "#]]
    .assert_eq(&check(&vectors(), body));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn vectors_keep_the_meaning(seed: u64) {
        let before = random::module(seed, Style::Runnable);
        let mut after = before.clone();
        run(&mut after, &Context::of(&vectors()));
        prop_assert_eq!(verify(&after), Ok(()));
        prop_assert_eq!(&parse(&after.to_string()).unwrap(), &after.canonical());
        let data = |seed: i64| Data::Float((0..16).map(|x| ((x * 5 + seed) % 7 - 3) as f64).collect());
        let data = [data(1), data(2), data(3)];
        for symbols in [[4, 3], [0, 2]] {
            compare(&before, &after, &symbols, &data).map_err(TestCaseError::fail)?;
        }
    }
}

#[test]
fn functions_and_selections_are_computed_in_lanes() {
    let body = "unroll j = 0 to 4 { A[j] = select(compare(B[j] < 1.0), exp(C[0]), cast(i8, sqrt(abs(B[j])))) }";
    let text = format!(
        "module()\nbuffer A : f64[4]\nbuffer B : f32[4]\nbuffer C : f64[1]\nfunc f(out A, in B, in C) {{ {body} }}"
    );
    let before = parse(&text).unwrap();
    assert_eq!(verify(&before), Ok(()));
    let mut after = before.clone();
    run(&mut after, &Context::of(&vectors()));
    assert_eq!(verify(&after), Ok(()), "{after}");
    assert_eq!(parse(&after.to_string()).unwrap(), after.canonical(), "{after}");
    let data = [
        Data::Float(vec![0.0; 4]),
        Data::Float(vec![0.5, 9.0, f64::NAN, -16.0]),
        Data::Float(vec![0.0]),
    ];
    compare(&before, &after, &[], &data).unwrap();
    let text = after.to_string();
    expect![[r#"
          $0 : f32[4] = load B[0]
          $1 : f32 = constant 1.0
          $2 : f32[4] = broadcast $1
          $3 : truth[4] = compare $0 < $2
          $4 : f64 = load C[0]
          $5 : f64 = apply exp $4
          $6 : f32[4] = load B[0]
          $7 : f32[4] = apply abs $6
          $8 : f32[4] = apply sqrt $7
          $9 : f64[4] = cast i8 $8
          $10 : f64[4] = broadcast $5
          $11 : f64[4] = select $3, $10, $9
          write A[0] = $11
    "#]]
    .assert_eq(&text[text.find("{\n").unwrap() + 2..text.len() - 2].replace("\n  ", "\n")[2..]);
}

#[test]
fn elements_that_do_not_move_are_loaded_once() {
    let text = check(&vectors(), "for i = 0 to N { C[i] = sum(k = 0 to N) A[k] * A[i - k + k] }");
    assert!(text.contains(" : f64 = load A[i - k + k]"), "{text}");
}

#[test]
fn sums_of_at_most_one_term() {
    expect![[r#"
        if M > 0 {
          for i = 0 to N {
            integer lower = max(0, crd[i])
            integer upper = min(N, min(crd[i], N - 1) + 1)
            $0 : f64 = constant 0.0
            choose if lower < upper {
              $1 : f64 = load A[lower]
            } else {
            } gives $2 : f64 = $1 or $0
            write C[i] = $2
          }
        }
    "#]]
    .assert_eq(&check(
        &vectors(),
        "if M > 0 { for i = 0 to N { C[i] = sum(k = max(0, crd[i]) to min(N, min(crd[i], N - 1) + 1)) A[k] } }",
    ));
}

#[test]
fn what_divides_divides_what_varies_less() {
    let body = "for i = 0 to N { parallel kt = 0 to N - 7 step 8 { unroll k = kt to kt + 8 {
        C[k] = sum(p = 0 to i) B[p] * A[N * p + k] / (1.0 + B[p + i])
    } } }";
    let text = check(&vectors(), body);
    assert_eq!(text.matches("div").count(), 1, "{text}");
}
