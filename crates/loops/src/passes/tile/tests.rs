//! Tiled nests compute what the nests do, and look as they should.

use crate::interp::{Data, run_steps};
use crate::machine::Machine;
use crate::passes::{Context, TILE, find, tile};
use crate::*;
use crate::{parse, verify};
use proptest::prelude::*;

/// A machine with few registers, so that tiles are small and full ones occur.
pub(super) const SMALL: Machine = Machine {
    vector_bytes: 32,
    registers: 8,
    fuses: false,
    gathers: false,
    l1: 1 << 10,
    l2: 4 << 10,
    last: 4 << 10,
    line: 64,
    page: 64,
    stack: 4 << 10,
    stream: 6 << 10,
    wake: 16 << 10,
    multiply_adds: 1,
    read_l1: 8,
    read_l2: 8,
    read_last: 8,
    read_memory: 4,
    chains: 8,
    scalar_chains: 4,
    packs: 4,
    predicts: 1 << 10,
    function: 16,
    vector_functions: Vec::new(),
    same_shape: 8,
    calls: 64,
    memories: Vec::new(),
    levels: Vec::new(),
};

pub(super) const HEAD: &str =
    "module(N, M)\nbuffer A : f64[1000]\nbuffer B : f64[400]\nbuffer C : f64[400]\n";

pub(super) fn tiled(text: &str, machine: &Machine) -> (Module, Module) {
    let before = parse(text).unwrap();
    assert_eq!(verify(&before), Ok(()), "{before}");
    let mut after = before.clone();
    tile(&mut after, machine);
    assert_eq!(verify(&after), Ok(()), "{after}");
    (before, after)
}

/// The results of both, and how many elements each wrote.
pub(super) fn compare(before: &Module, after: &Module, symbols: &[i64]) {
    let ramp = |len: i64, seed: i64| {
        Data::Float((0..len).map(|x| ((x * 7 + seed) % 11 - 4) as f64).collect())
    };
    let run = |module: &Module| {
        let mut data = [ramp(1000, 1), ramp(400, 2), ramp(400, 3)];
        run_steps(module, "f", symbols, &mut data, 1 << 22)
            .map_err(|error| format!("{error}\n{module}"))
            .unwrap();
        data
    };
    // Small integers: exact in any order.
    let (expected, found) = (run(before), run(after));
    let [expected, found] = [&expected[0], &found[0]].map(|data| data.as_float().unwrap());
    let wrong = (0..1000).find(|at| expected[*at] != found[*at]);
    let wrong = wrong.map(|at| format!("A[{at}] is {}, not {}", found[at], expected[at]));
    assert_eq!(wrong, None, "{symbols:?}\n{before}\n{after}");
}

/// What a pass makes of a function's body; it computes the same, in tiles too.
pub(super) fn pieces(pass: &str, body: &str) -> String {
    let before = parse(&format!("{HEAD}func f(inout A, in B, in C) {{ {body} }}")).unwrap();
    assert_eq!(verify(&before), Ok(()), "{before}");
    let mut after = before.clone();
    (find(pass).unwrap().run)(&mut after, &Context::of(&SMALL));
    assert_eq!(verify(&after), Ok(()), "{after}");
    let mut tiled: Vec<Module> = Vec::new();
    for shared in [false, true] {
        tiled.push(before.clone());
        tile(tiled.last_mut().unwrap(), &SMALL.with_threads(shared));
    }
    for symbols in [[0, 0], [1, 1], [2, 5], [5, 2], [7, 9], [9, 0], [0, 9], [10, 3], [10, 10]] {
        compare(&before, &after, &symbols);
        for tiled in &tiled {
            compare(&before, tiled, &symbols);
        }
    }
    let text = after.to_string();
    let body = &text[text.find("{\n").unwrap() + 2..text.len() - 2];
    body.lines().map(|line| format!("{}\n", &line[2..])).collect()
}

fn check(body: &str) -> String {
    let (before, after) = tiled(&format!("{HEAD}func f(inout A, in B, in C) {{ {body} }}"), &SMALL);
    for symbols in [[0, 0], [1, 1], [2, 5], [5, 2], [7, 9], [9, 0], [0, 9], [9, 9]] {
        compare(&before, &after, &symbols);
    }
    let text = after.to_string();
    let body = &text[text.find("{\n").unwrap() + 2..text.len() - 2];
    body.lines().map(|line| format!("{}\n", &line[2..])).collect()
}

#[test]
fn a_triangle_of_products() {
    expect_test::expect![[r#"
        for xb = 0 to max(M, 1) step 128 {
          parallel it = 0 to N - 1 step 2 {
            unroll i = it to it + 2 {
              unroll j = i to it + 1 {
                if xb <= 0 {
                  A[i * 10 + j] = 0.0
                }
                A[i * 10 + j] += sum(x = xb to min(M, xb + 128)) B[10 * i + x] * B[10 * j + x]
              }
            }
            parallel jt = it + 1 to N - 1 step 2 {
              unroll i = it to it + 2 {
                unroll j = jt to jt + 2 {
                  if xb <= 0 {
                    A[i * 10 + j] = 0.0
                  }
                  A[i * 10 + j] += sum(x = xb to min(M, xb + 128) fetch B[10 * (it + jt / 2 % 2) + (x + 128)], B[10 * (it + jt / 2 % 2 + 2) + x]) B[10 * i + x] * B[10 * j + x]
                }
              }
            }
            parallel j = max(it + 1, it + 2 * ((N - (it + 1)) / 2) + 1) to N {
              unroll i = it to it + 2 {
                if xb <= 0 {
                  A[i * 10 + j] = 0.0
                }
                A[i * 10 + j] += sum(x = xb to min(M, xb + 128)) B[10 * i + x] * B[10 * j + x]
              }
            }
          }
          parallel i = max(0, 2 * (N / 2)) to N {
            parallel jt = i to N - 1 step 2 {
              unroll j = jt to jt + 2 {
                if xb <= 0 {
                  A[i * 10 + j] = 0.0
                }
                A[i * 10 + j] += sum(x = xb to min(M, xb + 128)) B[10 * i + x] * B[10 * j + x]
              }
            }
            parallel j = max(i, i + 2 * ((N - i) / 2)) to N {
              if xb <= 0 {
                A[i * 10 + j] = 0.0
              }
              A[i * 10 + j] += sum(x = xb to min(M, xb + 128)) B[10 * i + x] * B[10 * j + x]
            }
          }
        }
    "#]].assert_eq(&check(
        "parallel i = 0 to N { parallel j = i to N { A[i * 10 + j] = sum(x = 0 to M) B[10 * i + x] * B[10 * j + x] } }",
    ));
}

#[test]
fn rows_that_share_a_vector() {
    expect_test::expect![[r#"
        parallel it = 0 to N - 3 step 4 {
          unroll i = it to it + 4 {
            A[i] = sum(x = i to it + 3) B[10 * i + x] * C[x] + sum(x = it + 3 to N) B[10 * i + x] * C[x]
          }
        }
        parallel i = max(0, 4 * (N / 4)) to N {
          A[i] = sum(x = i to N) B[10 * i + x] * C[x]
        }
    "#]]
        .assert_eq(&check("parallel i = 0 to N { A[i] = sum(x = i to N) B[10 * i + x] * C[x] }"));
}

#[test]
fn the_middle_of_a_simplex_goes_outside() {
    let text = check(
        "parallel i = 0 to N { parallel j = i to N { parallel k = j to N {
           A[i * 100 + j * 10 + k] += sum(x = 0 to M) B[10 * i + x] * B[10 * j + x] * B[10 * k + x] } } }",
    );
    let outer: Vec<&str> = text.lines().take(2).map(str::trim).collect();
    assert_eq!(outer, ["for xb = 0 to M step 128 {", "parallel j = 0 to N {"], "{text}");
}

#[test]
fn panels_of_columns() {
    let text = check(
        "parallel k = 1 to 3 { parallel i = k to N { parallel j = 1 to M {
           A[k * 100 + i * 10 + j] = sum(x = 0 to M) B[10 * i + x] * C[10 * j + x] } } }",
    );
    let loops = text.lines().filter(|line| line.contains("step")).take(4).map(str::trim);
    expect_test::expect![[r#"
        for xb = 0 to max(M, 1) step 128 {
        for jp = 1 to M step 2 {
        parallel it = k to N - 1 step 2 {
        parallel jt = jp to min(M - 1, jp + 1) step 2 {"#]]
    .assert_eq(&loops.collect::<Vec<_>>().join("\n"));
}

#[test]
fn what_is_not_tiled() {
    for body in [
        // Nothing is shared.
        "parallel i = 0 to N { A[i] = sum(x = 0 to M) B[10 * i + x] * C[10 * i + x] }",
        // No sum, and what is written, or read, are no neighbours; too little is.
        "parallel i = 0 to N { parallel j = 0 to M { A[i + 10 * j] = B[i] * C[j] } }",
        "parallel i = 0 to N { parallel j = 0 to M { A[i * 10 + j] = B[i] * C[2 * j] } }",
        "parallel i = 0 to 10 { parallel j = 0 to 10 { A[i * 10 + j] = B[i] * C[j] } }",
        // Not known to be independent.
        "for i = 0 to N { for j = 0 to M { A[i + j] += sum(x = 0 to M) B[x] * C[10 * j + x] } }",
        // Reads what it writes.
        "parallel i = 0 to N { A[i] = sum(x = 0 to M) A[10 * i + x + 10] * B[x] }",
    ] {
        // The last of these has a race, so it is not run.
        let text = format!("{HEAD}func f(inout A, in B, in C) {{ {body} }}");
        let (before, after) = tiled(&text, &SMALL);
        assert_eq!(before.to_string(), after.to_string());
    }
}

#[test]
fn panels_that_are_copied() {
    let text = "func f(inout A, in B, in C) { parallel i = 0 to N { parallel j = 0 to M { A[40 * i + j] = sum(x = 0 \
        to 10) B[10 * i + x] * C[40 * x + j] } } }";
    let (before, after) = tiled(&format!("{HEAD}{text}"), &SMALL);
    let loops = after.functions[0].to_string();
    let start = loops.find("for jp").unwrap_or_else(|| panic!("{loops}"));
    let lines: Vec<&str> = loops[start..].lines().take(18).map(str::trim).collect();
    expect_test::expect![[r#"
        for jp = 0 to p1 step 8 {
        for jc = max(min(min(max(p0, 0) / 4, 5), 1), 0) to max(min(min(max(p0, 0) / 4, 5), 1), 0) + 1 {
        with b3 of 1024 or b2 if jc <= 0 {
        if 1 <= jc {
        for jt = jp to min(p1 - 7, jp + 1) step 8 {
        for x = xb to min(10, xb + 128) {
        unroll j = jt to jt + 8 {
        b3[(jt - jp) * 128 + (x - xb) * 8 + (j - jt)] = b2[40 * x + j]
        }
        }
        }
        }
        parallel it = 0 to p0 - 1 step 2 {
        if jp + 4 <= min(p1, jp + 8) {
        parallel jt = jp to min(p1 - 7, jp + 1) step 8 {
        unroll i = it to it + 2 {
        unroll j = jt to jt + 8 {
        if xb <= 0 {"#]].assert_eq(&lines.join("\n"));
    for symbols in
        [[0, 0], [1, 1], [2, 40], [3, 40], [4, 40], [25, 40], [25, 7], [20, 9], [9, 0], [0, 9]]
    {
        compare(&before, &after, &symbols);
    }
}

#[test]
fn what_is_only_written() {
    let text = "func f(inout A, in B, in C) { parallel i = 0 to N { parallel j = i to min(M, i + 40) { A[40 * i + j] \
        = B[i] * C[j] } } }";
    let (before, after) = tiled(&format!("{HEAD}{text}"), &SMALL.with_threads(true));
    expect_test::expect![[r#"
        func f(inout b0, in b1, in b2) {
          partition ib, ie = 0 to p0 by max(ie, 0) * ((max(min(p1, 40), 0) * 2 + max(min(p1, ie / 2 + 40) - ie / 2, 0) * 2 * 4 + max(min(p1, ie + 40) - ie, 0) * 2) / 6) {
            parallel i = ib to ie {
              parallel j = i to min(p1, i + 40, i + (0 - (40 * i + i)) % 8) {
                b0[40 * i + j] = b1[i] * b2[j]
              }
              parallel jt = i + (0 - (40 * i + i)) % 8 to min(p1 - 15, i + 25) step 16 {
                unroll j = jt to jt + 16 {
                  b0[40 * i + j] = b1[i] * b2[j] stream if 384 <= max(ie - ib, 0) * ((max(min(p1, ib + 40) - ib, 0) + max(min(p1, (ib + ie) / 2 + 40) - (ib + ie) / 2, 0) * 4 + max(min(p1, ie + 40) - ie, 0)) / 6)
                }
              }
              parallel jt = max(i + (0 - (40 * i + i)) % 8, i + (0 - (40 * i + i)) % 8 + 16 * ((min(p1, i + 40) - (i + (0 - (40 * i + i)) % 8)) / 16)) to min(p1 - 3, i + 37) step 4 {
                unroll j = jt to jt + 4 {
                  b0[40 * i + j] = b1[i] * b2[j] stream if 384 <= max(ie - ib, 0) * ((max(min(p1, ib + 40) - ib, 0) + max(min(p1, (ib + ie) / 2 + 40) - (ib + ie) / 2, 0) * 4 + max(min(p1, ie + 40) - ie, 0)) / 6)
                }
              }
              parallel j = max(i + (0 - (40 * i + i)) % 8, i + (0 - (40 * i + i)) % 8 + 4 * ((min(p1, i + 40) - (i + (0 - (40 * i + i)) % 8)) / 4)) to min(p1, i + 40) {
                b0[40 * i + j] = b1[i] * b2[j]
              }
            }
          }
        }
    "#]].assert_eq(&after.functions[0].to_string());
    for symbols in [[0, 0], [1, 1], [2, 50], [50, 2], [20, 9], [9, 0], [0, 9], [9, 60]] {
        compare(&before, &after, &symbols);
    }
}

/// A random nest of up to three independent loops around a sum.
pub(super) fn nest(mut choose: impl FnMut(usize) -> usize) -> String {
    let names = ["i", "j", "k"];
    let depth = 1 + choose(3);
    let mut text = String::new();
    for (level, name) in names.iter().enumerate().take(depth) {
        let mut pick = |upper: bool, text: &mut String| {
            let outer = if level > 0 { names[choose(level)] } else { "1" };
            let bound = match choose(7) {
                0 | 1 if upper => "N".to_owned(),
                0 | 1 => "0".to_owned(),
                2 => outer.to_owned(),
                3 => format!("{outer} - {}", choose(3)),
                4 => format!("{outer} + {}", choose(4)),
                5 if upper => format!("N - {outer}"),
                _ if upper => "M".to_owned(),
                _ => format!("{}", choose(3)),
            };
            text.push_str(&bound);
        };
        let (mut lower, mut upper) = (String::new(), String::new());
        pick(false, &mut lower);
        pick(true, &mut upper);
        // Within the buffers, whatever the bounds are.
        text.push_str(&format!("parallel {name} = max(0, {lower}) to min(10, {upper}) {{ "));
    }
    let inner = names[choose(depth)];
    let lower = ["0", "0", "1", inner][choose(4)].to_owned();
    let upper = ["M", "M", "N", &format!("{inner} + 3"), &format!("min(M, {inner} + 1)")]
        [choose(5)]
    .to_owned();
    let mut load = |buffer: &str| {
        let row = names[choose(depth)];
        match choose(4) {
            0 => format!("{buffer}[x]"),
            1 => format!("{buffer}[10 * x + {row}]"),
            _ => format!("{buffer}[20 * {row} + x]"),
        }
    };
    let mut value = format!("{} * {}", load("B"), load("C"));
    if choose(3) == 0 {
        value = format!("{value} * B[20 * {} + x]", names[choose(depth)]);
    }
    let factor = ["", "", "2.0 * ", "B[0] * "][choose(4)];
    let positions = ["i", "i * 10 + j", "i * 100 + j * 10 + k"];
    let mode = ["=", "+="][choose(2)];
    let position = positions[depth - 1];
    text.push_str(&format!("A[{position}] {mode} {factor}(sum(x = {lower} to {upper}) {value}) "));
    text.push_str(&"} ".repeat(depth));
    text
}

/// What is shared out by how much work.
#[test]
fn parts_have_equal_work() {
    let text = format!(
        "{HEAD}func f(inout A, in B, in C) {{ parallel i = 0 to N {{ parallel j = i to N {{
           A[i * 10 + j] = sum(x = 0 to M) B[10 * i + x] * B[10 * j + x] }} }} }}"
    );
    let (_, after) = tiled(&text, &SMALL.with_threads(true));
    let [Stmt::Partitioned(partitioned)] = &after.functions[0].body[..] else { panic!("{after}") };
    assert_eq!(partitioned.step, 2);
    for n in [1, 2, 5, 40, 1000] {
        let work = |end: i64| {
            let end = |var| (var == partitioned.end).then_some(end);
            partitioned.work.as_ref().unwrap().eval(&[n, 10], &end).unwrap() as f64
        };
        let exact = |end: i64| (0..end).map(|i| 20 * (n - i) + (n - i)).sum::<i64>() as f64;
        for end in [0, n / 3, n / 2, n] {
            let bound = 0.02 * exact(n) + 20.0 * n as f64;
            assert!((work(end) - exact(end)).abs() <= bound, "{n} {end}: {partitioned:?}");
        }
    }
}

/// Elements that few rows have, of a size that only a run knows.
const SYMBOLIC: &str =
    "module(N, M)\nbuffer A : f64[max(1000, N)]\nbuffer B : f64[400]\nbuffer C : f64[400]\n";

#[test]
fn long_sums_are_cut_into_parts() {
    let text = format!(
        "{SYMBOLIC}func f(inout A, in B, in C) {{ parallel i = 0 to N {{ A[i] = sum(x = 1 to M) B[10 * i + x] * C[10 * i + x] }}
           A[500] = 2.0 * (sum(x = 0 to M) B[x] * C[x]) }}"
    );
    let (before, after) = tiled(&text, &SMALL);
    expect_test::expect![[r#"
        func f(inout b0, in b1, in b2) {
          partial xb, xe = 1 to p1 step 1024 in 16 if 32768 <= p1 - 1 and p0 * 16 <= p1 - 1 and max(1000, p0) <= 256 with b0 as b3 at xs from 0 of max(1000, p0) {
            parallel i = 0 to p0 {
              b3[i + xs] = sum(x = xb to xe) b1[10 * i + x] * b2[10 * i + x]
            }
          } then {
            for i = 0 to p0 {
              b0[i] = sum(xp = 0 to 16) b3[i + xp * max(1000, p0)]
            }
          }
          partial xb, xe = 0 to p1 step 1024 in 16 if 32768 <= p1 and 16 <= p1 with b0 as b4 at xs from 500 of 1 {
            b4[xs + 500] = 2.0 * (sum(x = xb to xe) b1[x] * b2[x])
          } then {
            b0[500] = sum(xp = 0 to 16) b4[xp]
          }
        }
    "#]].assert_eq(&after.functions[0].to_string());
    for symbols in [[0, 0], [1, 1], [2, 5], [5, 2], [7, 9], [9, 0], [0, 9], [9, 9], [3, 40]] {
        compare(&before, &after, &symbols);
    }
}

#[test]
fn a_loop_that_reads_what_a_sum_does() {
    let check = |body: &str| {
        let text = format!("{SYMBOLIC}func f(inout A, in B, in C) {{ {body} }}");
        let (before, after) = tiled(&text, &SMALL);
        for symbols in [[0, 0], [1, 1], [2, 5], [5, 2], [7, 9], [9, 0], [0, 9], [9, 9], [3, 40]] {
            compare(&before, &after, &symbols);
        }
        after.functions[0].to_string()
    };
    let sum = "if 0 < N { if M >= 1 { A[0] = 2.0 * (sum(j = 0 to N) B[j + 3] * C[j]) } }";
    expect_test::expect![[r#"
        func f(inout b0, in b1, in b2) {
          if 0 < p0 {
            if p1 >= 1 {
              partial jb, je = 0 to p0 step 1024 in 16 if 32768 <= p0 and 16 <= p0 with b0 as b3 at js from 0 of 1 {
                for jt = jb to max(je, jb + 1) step 1024 {
                  if jt <= jb {
                    b3[js] = 0.0
                  }
                  b3[js] += 2.0 * (sum(j = jt to min(je, jt + 1024)) b1[j + 3] * b2[j])
                  parallel i = max(1, jt + 1) to min(p1, p0 + 1, je + 1, jt + 1025, max(1, jt + 1) + (0 - max(1, jt + 1)) % 8) {
                    b0[i] = b1[i + 50] * b2[i - 1]
                  }
                  parallel it = max(1, jt + 1) + (0 - max(1, jt + 1)) % 8 to min(p1 - 15, p0 - 14, je - 14, jt + 1010) step 16 {
                    unroll i = it to it + 16 {
                      b0[i] = b1[i + 50] * b2[i - 1] stream if 256 <= max(1000, p0)
                    }
                  }
                  parallel it = max(max(1, jt + 1) + (0 - max(1, jt + 1)) % 8, max(1, jt + 1) + (0 - max(1, jt + 1)) % 8 + 16 * ((min(min(min(p1, p0 + 1), je + 1), jt + 1025) - (max(1, jt + 1) + (0 - max(1, jt + 1)) % 8)) / 16)) to min(p1 - 3, p0 - 2, je - 2, jt + 1022) step 4 {
                    unroll i = it to it + 4 {
                      b0[i] = b1[i + 50] * b2[i - 1] stream if 256 <= max(1000, p0)
                    }
                  }
                  parallel i = max(max(1, jt + 1) + (0 - max(1, jt + 1)) % 8, max(1, jt + 1) + (0 - max(1, jt + 1)) % 8 + 4 * ((min(min(min(p1, p0 + 1), je + 1), jt + 1025) - (max(1, jt + 1) + (0 - max(1, jt + 1)) % 8)) / 4)) to min(p1, p0 + 1, je + 1, jt + 1025) {
                    b0[i] = b1[i + 50] * b2[i - 1]
                  }
                }
              } then {
                b0[0] = sum(jp = 0 to 16) b3[jp]
              }
            }
          }
        }
    "#]].assert_eq(&check(&format!(
        "{sum} parallel i = 1 to min(M, N + 1) {{ A[i] = B[i + 50] * C[i - 1] }}"
    )));
    // There may be more iterations than terms; iterations without terms; one of them stores to what the sum does; they
    // read something else.
    for next in [
        "parallel i = 1 to min(M, N + 2) { A[i] = C[i - 1] }",
        "parallel i = 1 to M + 1 { A[i] = C[i - 1] }",
        "parallel i = 0 to min(M, N) { A[i] = C[i] }",
        "parallel i = 1 to min(M, N) { A[i] = B[i + 2 * N] }",
    ] {
        assert!(check(&format!("{sum} {next}")).contains(&format!("\n  {}", &next[..8])), "{next}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn tiles_keep_the_meaning(
        choices in prop::collection::vec(0usize..1000, 40),
        wide: bool,
        shared: bool,
        symbolic: bool,
    ) {
        let mut choices = choices.into_iter().cycle();
        let body = nest(|n| choices.next().unwrap_or(0) % n);
        let head = if symbolic { SYMBOLIC } else { HEAD };
        let text = format!("{head}func f(inout A, in B, in C) {{ {body} }}");
        let registers = if wide { 16 } else { 8 };
        let machine = Machine { registers, ..SMALL }.with_threads(shared);
        let (before, after) = tiled(&text, &machine);
        for symbols in [[0, 0], [1, 1], [3, 8], [8, 3], [10, 10], [7, 0], [0, 7]] {
            compare(&before, &after, &symbols);
        }
    }

    #[test]
    fn each_pass_keeps_the_meaning(choices in prop::collection::vec(0usize..1000, 40), shared: bool, symbolic: bool) {
        let mut choices = choices.into_iter().cycle();
        let body = nest(|n| choices.next().unwrap_or(0) % n);
        let head = if symbolic { SYMBOLIC } else { HEAD };
        let mut before = parse(&format!("{head}func f(inout A, in B, in C) {{ {body} }}")).unwrap();
        let machine = SMALL.with_threads(shared);
        for pass in TILE.passes.iter().map(|name| find(name).unwrap()) {
            let mut after = before.clone();
            (pass.run)(&mut after, &Context::of(&machine));
            if after == before {
                continue;
            }
            prop_assert_eq!(verify(&after), Ok(()), "{}: {}", pass.name, after);
            // A pass begins with the text that the one before it leaves.
            prop_assert_eq!(parse(&after.to_string()).unwrap(), after.canonical(), "{}", pass.name);
            for symbols in [[0, 0], [3, 8], [9, 4]] {
                compare(&before, &after, &symbols);
            }
            before = after;
        }
    }
}

#[test]
fn bounds_of_the_outer_loop_stay_all() {
    // Where the first loop is empty for `M <= N`, the exchanged one is too.
    let found = check(
        "parallel i = 0 to N { parallel k = max(i, N) to min(10, M, N + 1) {
           A[10 * i + k] += sum(j = 0 to i) B[2 * k + 3 * j] * C[i]
         } }",
    );
    expect_test::expect!["parallel k = max(N, 0) to min(10, M, N + 1) {"]
        .assert_eq(found.lines().next().unwrap_or_default());
}
