//! Visits compute what the statements do, and look as they should.

use crate::interp::{Data, run_steps};
use crate::machine::Machine;
use crate::passes::{Context, REGISTERS, THREADS, TILE, find, run};
use crate::*;
use expect_test::expect;
use proptest::prelude::*;

const HEAD: &str =
    "module(N, M)\nbuffer y : f64[100]\nbuffer S : f64[30000]\nbuffer x : f64[100]\n";

/// A machine with vectors of four numbers, which visits four rows at once.
fn machine(threads: bool) -> Machine {
    let machine = Machine { vector_bytes: 32, registers: 16, fuses: true, ..Machine::PLAIN };
    machine.with_threads(threads)
}

fn result(module: &Module, symbols: &[i64]) -> Vec<f64> {
    let ramp = |len: i64, seed: i64| {
        Data::Float((0..len).map(|x| ((x * 7 + seed) % 11 - 4) as f64).collect())
    };
    let mut data = [ramp(100, 1), ramp(30000, 2), ramp(100, 3)];
    run_steps(module, "f", symbols, &mut data, 1 << 22)
        .map_err(|error| format!("{error}\n{module}"))
        .unwrap();
    data[0].as_float().unwrap().to_vec()
}

/// What the pass makes of a function's body; it computes the same, in register code too. The numbers are small integers
/// and exact in any order.
fn check(body: &str, sizes: &[i64]) -> String {
    let before = parse(&format!("{HEAD}func f(inout y, in S, in x) {{ {body} }}")).unwrap();
    assert_eq!(verify(&before), Ok(()), "{before}");
    let mut after = before.clone();
    (find("read-once").unwrap().run)(&mut after, &Context::of(&machine(true)));
    assert_eq!(verify(&after), Ok(()), "{after}");
    let mut all = vec![after.clone()];
    for sequences in [&[TILE, THREADS][..], &[TILE, REGISTERS]] {
        let mut lowered = before.clone();
        for sequence in sequences {
            run(*sequence, &mut lowered, &machine(true));
            assert_eq!(verify(&lowered), Ok(()), "{}: {lowered}", sequence.name);
        }
        all.push(lowered);
    }
    for n in sizes {
        let symbols = [*n, 5];
        let expected = result(&before, &symbols);
        for after in &all {
            assert_eq!(expected, result(after, &symbols), "{symbols:?}\n{before}\n{after}");
        }
    }
    let text = after.to_string();
    let body = &text[text.find("{\n").unwrap() + 2..text.len() - 2];
    body.lines().map(|line| format!("{}\n", &line[2..])).collect()
}

const SIZES: [i64; 9] = [0, 1, 2, 3, 4, 7, 13, 20, 70];

#[test]
fn both_halves_of_a_symmetric_matrix() {
    expect![[r#"
        partial b, e = 0 to 16 in 16 if 512 <= N with y as y.parts at s from 0 of 100 {
          if e <= b + 1 {
            for at = 0 to 100 {
              y.parts[at + s] = 0.0
            }
          }
          with y.sums of 4 {
            for part = b to e {
              for it = part * 4 to N - 3 step 64 {
                y.sums[0] = 0.0
                y.sums[1] = 0.0
                y.sums[2] = 0.0
                y.sums[3] = 0.0
                for k = 0 to it {
                  y.sums[0] += S[exact((it + 1) * it, 2) + k] * x[k]
                  y.sums[1] += S[exact((it + 2) * (it + 1), 2) + k] * x[k]
                  y.sums[2] += S[exact((it + 3) * (it + 2), 2) + k] * x[k]
                  y.sums[3] += S[exact((it + 4) * (it + 3), 2) + k] * x[k]
                  y.parts[k + s] += -1.0 * x[it] * S[exact((it + 1) * it, 2) + k] + -1.0 * x[it + 1] * S[exact((it + 2) * (it + 1), 2) + k] + -1.0 * x[it + 2] * S[exact((it + 3) * (it + 2), 2) + k] + -1.0 * x[it + 3] * S[exact((it + 4) * (it + 3), 2) + k]
                }
                y.parts[it + s] += y.sums[0]
                y.parts[it + 1 + s] += y.sums[1]
                y.parts[it + 2 + s] += y.sums[2]
                y.parts[it + 3 + s] += y.sums[3]
                y.parts[it + s] += S[exact((it + 1) * it, 2) + it] * x[it] + -1.0 * x[it + 1] * S[exact((it + 2) * (it + 1), 2) + it] + -1.0 * x[it + 2] * S[exact((it + 3) * (it + 2), 2) + it] + -1.0 * x[it + 3] * S[exact((it + 4) * (it + 3), 2) + it]
                y.parts[it + 1 + s] += S[exact((it + 2) * (it + 1), 2) + it] * x[it] + S[exact((it + 2) * (it + 1), 2) + (it + 1)] * x[it + 1] + -1.0 * x[it + 2] * S[exact((it + 3) * (it + 2), 2) + (it + 1)] + -1.0 * x[it + 3] * S[exact((it + 4) * (it + 3), 2) + (it + 1)]
                y.parts[it + 2 + s] += S[exact((it + 3) * (it + 2), 2) + it] * x[it] + S[exact((it + 3) * (it + 2), 2) + (it + 1)] * x[it + 1] + S[exact((it + 3) * (it + 2), 2) + (it + 2)] * x[it + 2] + -1.0 * x[it + 3] * S[exact((it + 4) * (it + 3), 2) + (it + 2)]
                y.parts[it + 3 + s] += S[exact((it + 4) * (it + 3), 2) + it] * x[it] + S[exact((it + 4) * (it + 3), 2) + (it + 1)] * x[it + 1] + S[exact((it + 4) * (it + 3), 2) + (it + 2)] * x[it + 2] + S[exact((it + 4) * (it + 3), 2) + (it + 3)] * x[it + 3]
              }
              if part == 15 {
                for i = max(0, N / 4 * 4) to N {
                  y.parts[i + s] += S[exact((i + 1) * i, 2) + i] * x[i]
                  y.sums[0] = 0.0
                  for k = 0 to i {
                    y.sums[0] += S[exact((i + 1) * i, 2) + k] * x[k]
                    y.parts[k + s] += -1.0 * x[i] * S[exact((i + 1) * i, 2) + k]
                  }
                  y.parts[i + s] += y.sums[0]
                }
              }
            }
          }
        } then {
          for p = 0 to 16 {
            for at = 0 to 100 {
              y[at] += y.parts[p * 100 + at]
            }
          }
        }
    "#]].assert_eq(&check(
        "parallel i = 0 to N { y[i] += sum(k = 0 to i + 1) S[exact((i + 1) * i, 2) + k] * x[k] }
         parallel i = 0 to N - 1 { y[i] += -1.0 * (sum(k = i + 1 to N) S[exact((k + 1) * k, 2) + i] * x[k]) }",
        &SIZES,
    ));
}

#[test]
fn a_quadratic_form() {
    expect![[r#"
        if N - 1 >= 0 and N - 2 >= 0 {
          partial b, e = 0 to 16 in 16 if 512 <= N with y as y.parts at s from 0 of 100 {
            if e <= b + 1 {
              for at = 0 to 100 {
                y.parts[at + s] = 0.0
              }
            }
            with y.sums of 4 {
              for part = b to e {
                for it = part * 4 to N - 3 step 64 {
                  y.sums[0] = 0.0
                  y.sums[1] = 0.0
                  y.sums[2] = 0.0
                  y.sums[3] = 0.0
                  for k = it + 4 to N {
                    y.sums[0] += S[N * it + k] * x[k]
                    y.sums[1] += S[N * (it + 1) + k] * x[k]
                    y.sums[2] += S[N * (it + 2) + k] * x[k]
                    y.sums[3] += S[N * (it + 3) + k] * x[k]
                  }
                  y.parts[s] += 2.0 * x[it] * y.sums[0] + 2.0 * x[it + 1] * y.sums[1] + 2.0 * x[it + 2] * y.sums[2] + 2.0 * x[it + 3] * y.sums[3]
                  y.parts[s] += x[it] * (S[N * it + it] * x[it]) + x[it] * (S[N * it + (it + 1)] * x[it + 1]) + x[it] * (S[N * it + (it + 2)] * x[it + 2]) + x[it] * (S[N * it + (it + 3)] * x[it + 3]) + x[it] * (S[N * it + (it + 1)] * x[it + 1]) + x[it] * (S[N * it + (it + 2)] * x[it + 2]) + x[it] * (S[N * it + (it + 3)] * x[it + 3]) + x[it + 1] * (S[N * (it + 1) + (it + 1)] * x[it + 1]) + x[it + 1] * (S[N * (it + 1) + (it + 2)] * x[it + 2]) + x[it + 1] * (S[N * (it + 1) + (it + 3)] * x[it + 3]) + x[it + 1] * (S[N * (it + 1) + (it + 2)] * x[it + 2]) + x[it + 1] * (S[N * (it + 1) + (it + 3)] * x[it + 3]) + x[it + 2] * (S[N * (it + 2) + (it + 2)] * x[it + 2]) + x[it + 2] * (S[N * (it + 2) + (it + 3)] * x[it + 3]) + x[it + 2] * (S[N * (it + 2) + (it + 3)] * x[it + 3]) + x[it + 3] * (S[N * (it + 3) + (it + 3)] * x[it + 3])
                }
                if part == 15 {
                  for i = max(0, N / 4 * 4) to N {
                    y.parts[s] += x[i] * (S[N * i + i] * x[i])
                    y.sums[0] = 0.0
                    for k = i + 1 to N {
                      y.sums[0] += S[N * i + k] * x[k]
                    }
                    y.parts[s] += 2.0 * x[i] * y.sums[0]
                  }
                }
              }
            }
          } then {
            for p = 0 to 16 {
              for at = 0 to 100 {
                y[at] += y.parts[p * 100 + at]
              }
            }
          }
        } else {
          if 0 < N {
            y[0] += sum(i = 0 to N) x[i] * (sum(k = i to N) S[N * i + k] * x[k])
          }
          if 0 < N - 1 {
            y[0] += sum(i = 1 to N) x[i] * (sum(k = 0 to i) S[N * k + i] * x[k])
          }
        }
    "#]].assert_eq(&check(
        "if 0 < N { y[0] += sum(i = 0 to N) x[i] * (sum(k = i to N) S[N * i + k] * x[k]) }
         if 0 < N - 1 { y[0] += sum(i = 1 to N) x[i] * (sum(k = 0 to i) S[N * k + i] * x[k]) }",
        &SIZES,
    ));
}

#[test]
fn a_symmetric_tensor_of_order_3() {
    let place = |a: &str, b: &str, c: &str| format!("S[N * N * {a} + N * {b} + {c}]");
    let role = |range: &str, inner: &str, place: String| {
        format!(
            "parallel i = 0 to N {{ y[i] += sum(j = {range}) x[j] * (sum(k = {inner}) {place} * x[k]) }}"
        )
    };
    let all = [
        role("i to N", "j to N", place("i", "j", "k")),
        role("0 to i", "0 to j", place("k", "j", "i")),
        role("0 to i", "j to i", place("j", "k", "i")),
        role("i to N", "0 to i", place("k", "i", "j")),
        role("i + 1 to N", "i to j", place("i", "k", "j")),
        role("0 to i", "i to N", place("j", "i", "k")),
    ];
    expect![[r#"
        partial b, e = 0 to 16 in 16 if 64 <= N with y as y.parts at s from 0 of 100 {
          if e <= b + 1 {
            for at = 0 to 100 {
              y.parts[at + s] = 0.0
            }
          }
          with y.sums of 4 {
            for part = b to e {
              for i = part to N step 16 {
                for j = i to i + 1 {
                  y.parts[i + s] += x[j] * (S[N * N * i + N * j + j] * x[j])
                  y.sums[0] = 0.0
                  for k = j + 1 to N {
                    y.sums[0] += S[N * N * i + N * j + k] * x[k]
                    y.parts[k + s] += x[i] * x[j] * S[N * N * i + N * j + k]
                  }
                  y.parts[i + s] += 2.0 * x[j] * y.sums[0]
                }
                for jt = i + 1 to N - 3 step 4 {
                  y.sums[0] = 0.0
                  y.sums[1] = 0.0
                  y.sums[2] = 0.0
                  y.sums[3] = 0.0
                  for k = jt + 4 to N {
                    y.sums[0] += S[N * N * i + N * jt + k] * x[k]
                    y.sums[1] += S[N * N * i + N * (jt + 1) + k] * x[k]
                    y.sums[2] += S[N * N * i + N * (jt + 2) + k] * x[k]
                    y.sums[3] += S[N * N * i + N * (jt + 3) + k] * x[k]
                    y.parts[k + s] += 2.0 * x[jt] * x[i] * S[N * N * i + N * jt + k] + 2.0 * x[jt + 1] * x[i] * S[N * N * i + N * (jt + 1) + k] + 2.0 * x[jt + 2] * x[i] * S[N * N * i + N * (jt + 2) + k] + 2.0 * x[jt + 3] * x[i] * S[N * N * i + N * (jt + 3) + k]
                  }
                  y.parts[i + s] += 2.0 * x[jt] * y.sums[0] + 2.0 * x[jt + 1] * y.sums[1] + 2.0 * x[jt + 2] * y.sums[2] + 2.0 * x[jt + 3] * y.sums[3]
                  y.parts[jt + s] += 2.0 * x[i] * y.sums[0]
                  y.parts[jt + 1 + s] += 2.0 * x[i] * y.sums[1]
                  y.parts[jt + 2 + s] += 2.0 * x[i] * y.sums[2]
                  y.parts[jt + 3 + s] += 2.0 * x[i] * y.sums[3]
                  y.parts[i + s] += x[jt] * (S[N * N * i + N * jt + jt] * x[jt]) + x[jt] * (S[N * N * i + N * jt + (jt + 1)] * x[jt + 1]) + x[jt] * (S[N * N * i + N * jt + (jt + 2)] * x[jt + 2]) + x[jt] * (S[N * N * i + N * jt + (jt + 3)] * x[jt + 3]) + x[jt] * (S[N * N * i + N * jt + (jt + 1)] * x[jt + 1]) + x[jt] * (S[N * N * i + N * jt + (jt + 2)] * x[jt + 2]) + x[jt] * (S[N * N * i + N * jt + (jt + 3)] * x[jt + 3]) + x[jt + 1] * (S[N * N * i + N * (jt + 1) + (jt + 1)] * x[jt + 1]) + x[jt + 1] * (S[N * N * i + N * (jt + 1) + (jt + 2)] * x[jt + 2]) + x[jt + 1] * (S[N * N * i + N * (jt + 1) + (jt + 3)] * x[jt + 3]) + x[jt + 1] * (S[N * N * i + N * (jt + 1) + (jt + 2)] * x[jt + 2]) + x[jt + 1] * (S[N * N * i + N * (jt + 1) + (jt + 3)] * x[jt + 3]) + x[jt + 2] * (S[N * N * i + N * (jt + 2) + (jt + 2)] * x[jt + 2]) + x[jt + 2] * (S[N * N * i + N * (jt + 2) + (jt + 3)] * x[jt + 3]) + x[jt + 2] * (S[N * N * i + N * (jt + 2) + (jt + 3)] * x[jt + 3]) + x[jt + 3] * (S[N * N * i + N * (jt + 3) + (jt + 3)] * x[jt + 3])
                  y.parts[jt + s] += 2.0 * x[i] * (S[N * N * i + N * jt + jt] * x[jt]) + 2.0 * x[i] * (S[N * N * i + N * jt + (jt + 1)] * x[jt + 1]) + 2.0 * x[i] * (S[N * N * i + N * jt + (jt + 2)] * x[jt + 2]) + 2.0 * x[i] * (S[N * N * i + N * jt + (jt + 3)] * x[jt + 3])
                  y.parts[jt + 1 + s] += 2.0 * x[jt] * x[i] * S[N * N * i + N * jt + (jt + 1)] + 2.0 * x[i] * (S[N * N * i + N * (jt + 1) + (jt + 1)] * x[jt + 1]) + 2.0 * x[i] * (S[N * N * i + N * (jt + 1) + (jt + 2)] * x[jt + 2]) + 2.0 * x[i] * (S[N * N * i + N * (jt + 1) + (jt + 3)] * x[jt + 3])
                  y.parts[jt + 2 + s] += 2.0 * x[jt] * x[i] * S[N * N * i + N * jt + (jt + 2)] + 2.0 * x[jt + 1] * x[i] * S[N * N * i + N * (jt + 1) + (jt + 2)] + 2.0 * x[i] * (S[N * N * i + N * (jt + 2) + (jt + 2)] * x[jt + 2]) + 2.0 * x[i] * (S[N * N * i + N * (jt + 2) + (jt + 3)] * x[jt + 3])
                  y.parts[jt + 3 + s] += 2.0 * x[jt] * x[i] * S[N * N * i + N * jt + (jt + 3)] + 2.0 * x[jt + 1] * x[i] * S[N * N * i + N * (jt + 1) + (jt + 3)] + 2.0 * x[jt + 2] * x[i] * S[N * N * i + N * (jt + 2) + (jt + 3)] + 2.0 * x[i] * (S[N * N * i + N * (jt + 3) + (jt + 3)] * x[jt + 3])
                }
                for j = max(i + 1, (N - (i + 1)) / 4 * 4 + (i + 1)) to N {
                  y.parts[i + s] += x[j] * (S[N * N * i + N * j + j] * x[j])
                  y.parts[j + s] += 2.0 * x[i] * (S[N * N * i + N * j + j] * x[j])
                  y.sums[0] = 0.0
                  for k = j + 1 to N {
                    y.sums[0] += S[N * N * i + N * j + k] * x[k]
                    y.parts[k + s] += 2.0 * x[j] * x[i] * S[N * N * i + N * j + k]
                  }
                  y.parts[i + s] += 2.0 * x[j] * y.sums[0]
                  y.parts[j + s] += 2.0 * x[i] * y.sums[0]
                }
              }
            }
          }
        } then {
          for p = 0 to 16 {
            for at = 0 to 100 {
              y[at] += y.parts[p * 100 + at]
            }
          }
        }
    "#]].assert_eq(&check(&all.concat(), &[0, 1, 2, 3, 7, 20]));
}

#[test]
fn a_result_whose_size_is_selected() {
    let text = "module(N)\nbuffer y : f64[select(N >= 1, 1, 0) * 2]\nbuffer S : f64[N * N]\n\
                func f(inout y, in S) { y[0] += sum(i = 0 to N) sum(k = i to N) S[N * i + k] }";
    let before = parse(text).unwrap();
    let mut after = before.clone();
    (find("read-once").unwrap().run)(&mut after, &Context::of(&machine(true)));
    assert_eq!(verify(&after), Ok(()), "{after}");
    for n in [1, 2, 9] {
        let ones = |len: i64| Data::Float(vec![1.0; len as usize]);
        let run = |module: &Module| {
            let mut data = [ones(2), ones(n * n)];
            run_steps(module, "f", &[n], &mut data, 1 << 20).unwrap();
            data[0].as_float().unwrap().to_vec()
        };
        assert_eq!(run(&after), run(&before), "{after}");
    }
    let text = after.to_string();
    assert!(text.contains("partial") && text.contains("for at = 0 to 2 {"), "{text}");
}

#[test]
fn what_stays() {
    // Elements that have one role, different elements, a loop that uses elements again, a diagonal, an order that
    // matters.
    let halves = |between: &str| {
        format!(
            "parallel i = 0 to N {{ y[i] += sum(k = 0 to i) S[N * i + k] * x[k] }} {between}
             parallel i = 0 to N {{ y[i] += sum(k = i to N) S[N * k + i] * x[k] }}"
        )
    };
    for body in [
        "parallel i = 0 to N { y[i] += sum(k = 0 to N) S[N * i + k] * x[k] }".to_owned(),
        "parallel i = 0 to N { y[i] += sum(k = 0 to i) S[N * i + k] * x[k] }
         parallel i = 0 to N { y[i] += sum(k = i to N) S[N * i + k] * x[k] }"
            .to_owned(),
        "parallel i = 0 to N { y[i] += sum(j = 0 to M) sum(k = 0 to i) S[N * i + k] * x[k + j] }
         parallel i = 0 to N { y[i] += sum(j = 0 to M) sum(k = i to N) S[N * k + i] * x[k + j] }"
            .to_owned(),
        "parallel i = 0 to N { y[i] += sum(k = i to i + 3) S[N * i + k] * x[k] }
         parallel i = 0 to N { y[i] += sum(k = max(0, i - 2) to i) S[N * k + i] * x[k] }"
            .to_owned(),
        halves("y[0] = 0.0"),
    ] {
        assert!(!check(&body, &SIZES[..5]).contains("partial"), "{body}");
    }
    assert!(check(&halves("y[0] += 1.0"), &SIZES[..5]).contains("partial"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() })]

    #[test]
    fn roles_with_any_ranges(choices in prop::collection::vec(0usize..1000, 40)) {
        let mut choices = choices.into_iter().cycle();
        let mut choose = |n: usize| choices.next().unwrap_or(0) % n;
        let mut body = String::new();
        let packed = choose(2) == 0;
        for _ in 0..2 + choose(3) {
            let across = choose(2) == 0;
            let (row, column) = if across { ("k", "i") } else { ("i", "k") };
            let place = match packed {
                true => format!("exact(({row} + 1) * {row}, 2) + {column}"),
                false => format!("(N + M) * {row} + {column} + {}", choose(2)),
            };
            let low = ["0", "1", "max(0, i - 1)", "i", "max(0, i - M)"][choose(5)];
            let high = ["i", "i + 1", "N", "N - 1", "min(N, i + M)"][choose(5)];
            let (first, last) = (["0", "0", "2"][choose(3)], ["N", "N", "N - 1"][choose(3)]);
            let by = ["", "2.0 * ", "-1.0 * "][choose(3)];
            let factor = ["x[k]", "x[k] * x[i]", "x[k + 1]"][choose(3)];
            let to = ["i", "i", "i + 1", "2 * i"][choose(4)];
            body.push_str(&format!(
                "parallel i = {first} to {last} {{ y[{to}] += {by}(sum(k = {low} to {high}) S[{place}] * {factor}) }}\n"
            ));
        }
        check(&body, &[0, 1, 2, 6, 19, 40]);
    }
}
