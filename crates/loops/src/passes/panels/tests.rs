//! Panels compute what the statements do, whatever their domains are.

use crate::interp::{Data, run_steps};
use crate::machine::Machine;
use crate::passes::{Context, REGISTERS, THREADS, TILE, find, run};
use crate::*;
use expect_test::expect;
use proptest::prelude::*;

const HEAD: &str =
    "module(N, M)\nbuffer C : f64[10000]\nbuffer A : f64[10000]\nbuffer B : f64[10000]\n";

/// A machine with vectors of four numbers and caches so small that few rows are several blocks.
fn machine(threads: bool) -> Machine {
    let machine = Machine { vector_bytes: 32, registers: 16, fuses: true, ..Machine::PLAIN };
    Machine { l1: 2 << 10, l2: 4 << 10, ..machine }.with_threads(threads)
}

fn result(module: &Module, symbols: &[i64]) -> Vec<f64> {
    let ramp =
        |seed: i64| Data::Float((0..10000).map(|x| ((x * 7 + seed) % 11 - 4) as f64).collect());
    let mut data = [ramp(1), ramp(2), ramp(3)];
    run_steps(module, "f", symbols, &mut data, 1 << 26)
        .map_err(|error| format!("{error}\n{module}"))
        .unwrap();
    data[0].as_float().unwrap().to_vec()
}

/// Takes the first side of each condition that has another.
fn always(body: &mut Vec<Stmt>) {
    for mut stmt in std::mem::take(body) {
        match &mut stmt {
            Stmt::If(inner) if !inner.otherwise.is_empty() => body.append(&mut inner.then),
            Stmt::If(inner) => {
                always(&mut inner.then);
                body.push(stmt);
            }
            _ => body.push(stmt),
        }
    }
}

/// What the pass makes of a function's body, which computes the same, with all other passes too. The numbers are small
/// integers and exact in any order.
fn after(body: &str, sizes: &[[i64; 2]]) -> (String, bool) {
    let before = parse(&format!("{HEAD}func f(inout C, in A, in B) {{ {body} }}")).unwrap();
    assert_eq!(verify(&before), Ok(()), "{before}");
    let mut after = before.clone();
    (find("pack-operands").unwrap().run)(&mut after, &Context::of(&machine(true)));
    assert_eq!(verify(&after), Ok(()), "{after}");
    // Sizes of tests are small: panels whatever is gained.
    let mut panels = after.clone();
    panels.functions.iter_mut().for_each(|function| always(&mut function.body));
    let mut all = vec![after.clone(), panels.clone()];
    for (sequences, threads) in
        [(&[TILE, THREADS][..], true), (&[TILE, REGISTERS], false), (&[TILE, REGISTERS], true)]
    {
        let mut lowered = panels.clone();
        for sequence in sequences {
            run(*sequence, &mut lowered, &machine(threads));
            assert_eq!(verify(&lowered), Ok(()), "{}: {lowered}", sequence.name);
        }
        all.push(lowered);
    }
    for symbols in sizes {
        let expected = result(&before, symbols);
        for after in &all {
            let same = expected == result(after, symbols);
            assert!(same, "{symbols:?}\n{before}\n{after}");
        }
    }
    let taken = after != before;
    (after.to_string(), taken)
}

const SIZES: [[i64; 2]; 8] = [[0, 0], [1, 1], [1, 7], [2, 0], [7, 5], [13, 41], [41, 13], [75, 67]];

/// Functions that are computed from panels, and how many workspaces each has.
#[test]
fn what_is_taken() {
    let rows = "parallel i = 0 to N { parallel j = 0 to M {";
    let list = [
        (
            "lower triangle",
            format!(
                "{rows} C[M * i + j] = sum(k = 0 to i + 1) A[exact((i + 1) * i, 2) + k] * B[M * k + j] }} }}"
            ),
        ),
        (
            "both halves, the mirrored one negative",
            format!(
                "{rows} C[M * i + j] = 0.0 }} }}
                 {rows} C[M * i + j] += sum(k = 0 to i + 1) A[exact((i + 1) * i, 2) + k] * B[M * k + j] }} }}
                 parallel i = 0 to N - 1 {{ parallel j = 0 to M {{ C[M * i + j] += -1.0 * (sum(k = i + 1 to N)
                 A[exact((k + 1) * k, 2) + i] * B[M * k + j]) }} }}"
            ),
        ),
        (
            "a band that selects",
            "parallel i = 0 to N { parallel j = 0 to M { C[M * i + j] += sum(k = max(0, i - 20) to min(N, i + 21)) \
             A[select(k >= i, 80 * (k - i) + i, 5000 + 80 * (i - k) + i)] * B[M * k + j] } }"
                .to_owned(),
        ),
        (
            "two triangles into a triangle",
            "parallel i = 0 to N { parallel j = 0 to i + 1 { C[exact((i + 1) * i, 2) + j] = sum(k = j to i + 1) \
             A[N * i + k] * B[N * j + k] } }"
                .to_owned(),
        ),
        (
            "rank 2k, columns apart",
            "parallel i = 0 to N { parallel j = 0 to i + 1 { C[exact((i + 1) * i, 2) + j] = sum(k = 0 to M) \
             A[M * i + k] * B[M * j + k] + sum(k = 0 to M) B[M * i + k] * A[M * j + k] } }"
                .to_owned(),
        ),
        (
            "batches, terms of two sums, three factors",
            "parallel h = 0 to 3 { parallel i = 0 to N { parallel j = 0 to M { C[N * M * h % 4000 + M * i + j] += \
             sum(l = 0 to i + 1) B[N * j + l] * (sum(k = l to N) A[N * i + k] * B[N * j + k]) } } }"
                .to_owned(),
        ),
        (
            "something else beside",
            format!(
                "{rows} C[M * i + j] = sum(k = i to N) A[N * i + k] * B[M * k + j] }} }}
                 {rows} C[M * i + j] += A[N * i + i] * B[M * i + j] }} }}"
            ),
        ),
        (
            "a triangle after zeros, then all",
            format!(
                "{rows} C[M * i + j] = 0.0 }} }}
                 parallel i = 0 to N {{ parallel j = 0 to min(M, i + 1) {{ C[M * i + j] += sum(k = 0 to N)
                 A[N * i + k] * B[M * k + j] }} }}
                 {rows} C[M * i + j] += sum(k = 0 to N) B[N * i + k] * A[M * k + j] }} }}"
            ),
        ),
        (
            "all after zeros, then rows that are elsewhere at small sizes",
            format!(
                "{rows} C[M * i + j] = 0.0 }} }}
                 {rows} C[M * i + j] += sum(k = 0 to N) A[N * i + k] * B[M * k + j] }} }}
                 parallel i = max(0, 31 - N) to N {{ parallel j = max(0, 30 - i) to M {{ C[M * i + j] +=
                 sum(k = 0 to N) B[select(N <= 30, 7 + N * i + k, N * i + k)] * A[M * k + j] }} }}"
            ),
        ),
        (
            "another sum that says which rows and columns meet",
            format!(
                "{rows} C[M * i + j] = sum(l = 0 to min(4, i + j + 1)) sum(k = 0 to i + 1)
                 A[N * i + k] * B[M * k + j] * A[l] }} }}"
            ),
        ),
        (
            "the same, added",
            format!(
                "{rows} C[M * i + j] += sum(l = 0 to 40) sum(k = 0 to i + 1 if l <= i + j)
                 A[N * i + k] * B[M * k + j] * A[l] }} }}"
            ),
        ),
    ];
    let mut table = String::new();
    for (name, body) in list {
        let sizes = if name.starts_with("batches") { &SIZES[..6] } else { &SIZES[..] };
        let (text, taken) = after(&body, sizes);
        let panels = text.matches(".columns of").count();
        table.push_str(&format!("{name}: {taken}, {panels} groups\n"));
    }
    expect![[r#"
        lower triangle: true, 1 groups
        both halves, the mirrored one negative: true, 1 groups
        a band that selects: true, 1 groups
        two triangles into a triangle: true, 1 groups
        rank 2k, columns apart: true, 2 groups
        batches, terms of two sums, three factors: true, 1 groups
        something else beside: true, 1 groups
        a triangle after zeros, then all: true, 2 groups
        all after zeros, then rows that are elsewhere at small sizes: true, 2 groups
        another sum that says which rows and columns meet: false, 0 groups
        the same, added: false, 0 groups
    "#]]
    .assert_eq(&table);
}

#[test]
fn a_lower_triangle() {
    let (text, _) = after(
        "parallel i = 0 to N { parallel j = 0 to M {
         C[M * i + j] = sum(k = 0 to i + 1) A[N * i + k] * B[M * k + j] } }",
        &SIZES,
    );
    expect![[r#"
        module(N, M)
        buffer C : f64[10000]
        buffer A : f64[10000]
        buffer B : f64[10000]
        buffer A.rows : f64[1024]
        buffer B.columns : f64[256]
        buffer C.tile : f64[32]
        func f(inout C, in A, in B) {
          if 262144 <= max(N, 0) * ((max(M, 0) + max(M, 0) * max(N / 2 + 1, 0) * 4 + max(M, 0) * max(N + 1, 0)) / 6) and max(N, 0) * max(M, 0) * 40 <= max(N, 0) * ((max(M, 0) + max(M, 0) * max(N / 2 + 1, 0) * 4 + max(M, 0) * max(N + 1, 0)) / 6) and max(N, 0) * 12 <= max(N, 0) * max(M, 0) and max(M, 0) * 12 <= max(N, 0) * max(M, 0) {
            if N - 1 >= 0 {
              partition ib, ie = 0 to N step 4 by max(ie, 0) * ((max(M, 0) * 2 + max(M, 0) * (max(ie / 2 + 1, 0) * 2) * 4 + max(M, 0) * (max(ie + 1, 0) * 2)) / 6) {
                with C.tile of 32 {
                  for ic = max(0, ib) to min(N, ie) step 32 {
                    for kb = 0 to min(N, ie, ic + 32) step 32 {
                      with A.rows of 1024 {
                        for it = (max(ic, kb) - ic) / 4 * 4 + ic to min(N, ie, ic + 32) step 4 {
                          if N - (it + 3) - 1 >= 0 and it - (kb + 31) >= 0 and ie - (it + 3) - 1 >= 0 and ic - (it + 3) + 31 >= 0 {
                            for k = kb to min(kb + 32, N, ie, ic + 32, it + 4) {
                              unroll i = it to it + 4 {
                                A.rows[(it - ic) * 32 + (k - kb) * 4 + (i - it)] = A[N * i + k]
                              }
                            }
                          } else {
                            parallel iz = (it - ic) * 32 to (it - ic) * 32 + (min(min(min(min(kb + 32, N), ie), ic + 32), it + 4) - kb) * 4 {
                              A.rows[iz] = 0.0
                            }
                            if M - 1 >= 0 {
                              parallel i = max(0, ib, ic, it) to min(N, ie, ic + 32, it + 4) {
                                parallel k = max(0, kb) to min(i + 1, kb + 32) {
                                  A.rows[31 * it + -4 * kb + -32 * ic + i + 4 * k] = A[N * i + k]
                                }
                              }
                            }
                          }
                        }
                        for jc = 0 to M step 8 {
                          with B.columns of 256 {
                            for jt = jc to min(M, jc + 8) step 8 {
                              if M - (jt + 7) - 1 >= 0 and jc - (jt + 7) + 7 >= 0 {
                                for k = kb to min(kb + 32, N, ie, ic + 32) {
                                  unroll j = jt to jt + 8 {
                                    B.columns[(jt - jc) * 32 + (k - kb) * 8 + (j - jt)] = B[M * k + j]
                                  }
                                }
                              } else {
                                parallel jz = (jt - jc) * 32 to (jt - jc) * 32 + (min(min(min(kb + 32, N), ie), ic + 32) - kb) * 8 {
                                  B.columns[jz] = 0.0
                                }
                                if M - (jt + 7) - 1 >= 0 and jc - (jt + 7) + 7 >= 0 {
                                  for k = max(0, kb) to min(kb + 32, N, ie, ic + 32) {
                                    unroll j = jt to jt + 8 {
                                      B.columns[31 * jt + -32 * jc + -8 * kb + 8 * k + j] = B[M * k + j]
                                    }
                                  }
                                } else {
                                  parallel k = max(0, kb) to min(kb + 32, N, ie, ic + 32) {
                                    parallel j = max(0, jc, jt) to min(M, jc + 8, jt + 8) {
                                      B.columns[31 * jt + -32 * jc + -8 * kb + 8 * k + j] = B[M * k + j]
                                    }
                                  }
                                }
                              }
                            }
                            for it = (max(ic, kb) - ic) / 4 * 4 + ic to min(N, ie, ic + 32) step 4 {
                              for jt = jc to min(M, jc + 8) step 8 {
                                unroll ir = 0 to 4 {
                                  unroll jr = 0 to 8 {
                                    C.tile[ir * 8 + jr] = sum(k = kb to min(kb + 32, N, ie, ic + 32, it + 4)) A.rows[(it - ic) * 32 + (k - kb) * 4 + ir] * B.columns[(jt - jc) * 32 + (k - kb) * 8 + jr]
                                  }
                                }
                                if N - 1 - (it + 3) >= 0 and M - 1 - (jt + 7) >= 0 and ie - 1 - (it + 3) >= 0 and ic + 31 - (it + 3) >= 0 and jc + 7 - (jt + 7) >= 0 {
                                  if kb <= 0 {
                                    unroll i = it to it + 4 {
                                      unroll j = jt to jt + 8 {
                                        C[M * i + j] = C.tile[(i - it) * 8 + (j - jt)]
                                      }
                                    }
                                  } else {
                                    unroll i = it to it + 4 {
                                      unroll j = jt to jt + 8 {
                                        C[M * i + j] += C.tile[(i - it) * 8 + (j - jt)]
                                      }
                                    }
                                  }
                                } else {
                                  if kb <= 0 {
                                    parallel i = max(0, ib, ic, it) to min(N, ie, ic + 32, it + 4) {
                                      parallel j = max(0, jc, jt) to min(M, jc + 8, jt + 8) {
                                        C[M * i + j] = 0.0
                                      }
                                    }
                                  }
                                  parallel i = max(0, ib, ic, it) to min(N, ie, ic + 32, it + 4) {
                                    parallel j = max(0, jc, jt) to min(M, jc + 8, jt + 8) {
                                      C[M * i + j] += C.tile[-1 * jt + -8 * it + 8 * i + j]
                                    }
                                  }
                                }
                              }
                            }
                          }
                        }
                      }
                    }
                  }
                }
              }
            }
          } else {
            parallel i = 0 to N {
              parallel j = 0 to M {
                C[M * i + j] = sum(k = 0 to i + 1) A[N * i + k] * B[M * k + j]
              }
            }
          }
        }
    "#]].assert_eq(&text);
}

#[test]
fn what_stays() {
    for body in [
        // Dense operands are for tiles.
        "parallel i = 0 to N { parallel j = 0 to M { C[M * i + j] = sum(k = 0 to N) A[N * i + k] * B[M * k + j] } }",
        // A factor of rows and columns.
        "parallel i = 0 to N { parallel j = 0 to N { C[N * i + j] = sum(k = 0 to i + 1) A[i + k] * B[i + j] } }",
        // A matrix times a vector.
        "parallel i = 0 to N { C[i] = sum(k = 0 to i + 1) A[N * i + k] * B[k] }",
        // Few terms.
        "parallel i = 0 to N { parallel j = 0 to M {
         C[M * i + j] = sum(k = i to i + 3) A[N * i + k] * B[M * k + j] } }",
        // Minima.
        "parallel i = 0 to N { parallel j = 0 to M {
         C[M * i + j] = min(k = 0 to i + 1) A[N * i + k] * B[M * k + j] } }",
    ] {
        assert!(!after(body, &SIZES[..5]).1, "{body}");
    }
}

#[test]
fn terms_that_begin_later_in_earlier_rows() {
    // Blocks of terms have columns from different ones on: tiles must not be cut in another way for each.
    let body = "parallel i = 0 to N { parallel j = i to M { C[75 * i + j] = 0.0 } }
        parallel i = 0 to N { parallel j = i to M { C[75 * i + j] +=
          sum(k = max(0, N - i - 1) to N) A[exact((i + 1) * i, 2) + k] * A[k] * B[75 * k + j] } }";
    assert!(after(body, &[[45, 40], [70, 66], [33, 1]]).1);
}

/// Bounds of sums, of any kind.
fn bound(which: usize, upper: bool) -> String {
    let shift = (which / 8 % 7) as i64 - 3;
    let shift = if (which / 56).is_multiple_of(4) { shift * 9 } else { shift };
    match (which % 8, upper) {
        (0, false) => "0".to_owned(),
        (0 | 1, true) => "N".to_owned(),
        (1, false) => format!("{}", shift.max(0)),
        (2, _) => format!("i + {}", shift + 30).replace("+ 30", if upper { "+ 30" } else { "- 9" }),
        (3, _) => format!("j + {}", shift),
        (4, _) => format!("i + {}", shift),
        (5, false) => format!("max(0, i + {shift})"),
        (5, true) => format!("min(N, i + {shift})"),
        (6, false) => format!("max(i, j + {shift})"),
        (6, true) => format!("min(i + 1, j + {shift})"),
        (_, false) => format!("max(0, N - i - {})", shift.abs()),
        (_, true) => format!("min(N, N - j + {shift})"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// One to three products with any bounds, which share columns or not, set or add.
    #[test]
    fn products_with_any_bounds(choices in prop::collection::vec(0usize..10000, 24)) {
        let mut choices = choices.into_iter();
        let mut next = || choices.next().unwrap_or(0);
        let heads = ["j = 0 to M", "j = 0 to i + 1", "j = i to M", "j = max(0, i - 5) to min(M, i + 30)"];
        let head = heads[next() % heads.len()];
        let mut body = String::new();
        let sets = next() % 3;
        if sets == 0 {
            body.push_str(&format!("parallel i = 0 to N {{ parallel {head} {{ C[75 * i + j] = 0.0 }} }}"));
        }
        for at in 0..1 + next() % 3 {
            let mode = if sets == 1 && at == 0 { "=" } else { "+=" };
            let selected = "A[select(k >= i, 60 * (k - i) + i, 60 * i + k)]";
            let packed = "A[exact((i + 1) * i, 2) + k] * A[k]";
            let row = ["A[N * i + k]", "A[75 * k + i]", selected, packed][next() % 4];
            let column = ["B[75 * k + j]", "B[N * j + k]", "B[75 * k + j]"][next() % 3];
            let (low, high) = (bound(next(), false), bound(next(), true));
            let factor = ["", "-1.0 * ", "2.0 * "][next() % 3];
            let (low, high) = (format!("max(0, {low})"), format!("min(N, {high})"));
            body.push_str(&format!(
                " parallel i = 0 to N {{ parallel {head} {{
                 C[75 * i + j] {mode} {factor}(sum(k = {low} to {high}) {row} * {column}) }} }}"
            ));
        }
        after(&body, &[[1, 1], [13, 9], [45, 40], [70, 66]]);
    }
}
