//! Each pass, text in and text out; what is computed stays the same.

use expect_test::{Expect, expect};

use crate::interp::{Data, Limits, STEPS, run_on};
use crate::machine::Machine;
use crate::passes::{CHECKED_THREADS, Context, THREADS, find};
use crate::{Module, parse, verify};

const HEAD: &str = "module(N, M)\nbuffer A : f64[N * M]\nbuffer B : f64[N * M]\nbuffer C : f64[N]\n\
                    buffer pos : i64[N + 1]\nbuffer W : f64[4 * N]\n";

/// Runs passes on a function body as [`run_all`] does, and compares the text at the end.
fn check(passes: &[&str], body: &str, expected: &Expect) {
    let text = run_all(passes, body);
    expected.assert_eq(&text[text.find("func f").unwrap()..]);
}

/// Runs passes on a function body, verifies and compares after each; gives the text at the end.
fn run_all(passes: &[&str], body: &str) -> String {
    let text = format!("{HEAD}func f(inout A, in B, inout C, in pos) {{ {body} }}");
    let mut module = parse(&text).unwrap();
    assert_eq!(verify(&module), Ok(()));
    let before = results(&module, 1);
    let machine = Machine::PLAIN.with_threads(true);
    for name in passes {
        (find(name).unwrap().run)(&mut module, &Context::of(&machine));
        assert_eq!(verify(&module), Ok(()), "after {name}: {module}");
        for threads in [1, 2, 3, 7] {
            assert_eq!(results(&module, threads), before, "after {name}: {module}");
        }
        let again = parse(&module.to_string()).unwrap();
        assert_eq!(again.canonical(), module.canonical(), "after {name}");
    }
    module.to_string()
}

/// What a module computes at several sizes with so many threads, in small integers, which are exact in any order.
fn results(module: &Module, threads: i64) -> Vec<Vec<Data>> {
    let sizes = [(0, 0), (1, 1), (5, 2), (7, 9), (12, 3)];
    sizes
        .map(|(n, m)| {
            let numbers = |len: i64, seed: i64| {
                Data::Float((0..len).map(|x| ((x * 7 + seed) % 5 - 2) as f64).collect())
            };
            let rows = Data::Int((0..=n).map(|row| row * m).collect());
            let mut data = vec![numbers(n * m, 1), numbers(n * m, 2), numbers(n, 3), rows];
            let limits = Limits { steps: STEPS, threads };
            run_on(module, "f", &[n, m], &mut data, limits)
                .unwrap_or_else(|error| panic!("{error}\n{module}"));
            data
        })
        .to_vec()
}

#[test]
fn choosing() {
    let body = "
        parallel i = 0 to N { parallel j = 0 to M { A[i * M + j] = 0.0 } }
        for i = 0 to N { parallel p = pos[i] to pos[i + 1] { A[p] += 1.0 } }
        for i = 0 to N { parallel j = 0 to M { A[i * M + j] += B[i * M + j] } }
        parallel i = 0 to N { partition a, b = 0 to M by b { for j = a to b { A[i * M + j] += 1.0 } } }
        partition a, b = 0 to N { parallel i = a to b { C[i] += 1.0 } }";
    check(
        &["choose-threads"],
        body,
        &expect![[r#"
        func f(inout A, in B, inout C, in pos) {
          parallel i = 0 to N {
            for j = 0 to M {
              A[i * M + j] = 0.0
            }
          }
          for i = 0 to N {
            for p = pos[i] to pos[i + 1] {
              A[p] += 1.0
            }
          }
          for i = 0 to N {
            parallel j = 0 to M {
              A[i * M + j] += B[i * M + j]
            }
          }
          parallel i = 0 to N {
            if 0 < M {
              for j = 0 to M {
                A[i * M + j] += 1.0
              }
            }
          }
          partition a, b = 0 to N {
            for i = a to b {
              C[i] += 1.0
            }
          }
        }
    "#]],
    );
}

#[test]
fn outlining() {
    let body = "
        parallel i = 0 to N { for j = 0 to i { A[i * M] += sum(k = 0 to M) B[k + M * j] } }
        parallel i = 0 to N { C[i] += 2.0 }
        for k = 0 to 2 { partition a, b = 0 to N { for i = a to b { C[i] += B[i * M - i * M + k] } } }";
    let body = body.replace("B[i * M - i * M + k]", "index(k)");
    check(
        &["outline"],
        &body,
        &expect![[r#"
            func f(inout A, in B, inout C, in pos) {
              parallel i = 0 to N hint(guided) {
                call f__body1(i) on A, B
              }
              parallel i = 0 to N {
                call f__body2(i) on C
              }
              for k = 0 to 2 {
                partition a, b = 0 to N {
                  call f__body3(k, a, b) on C
                }
              }
            }
            private func f__body1(symbol M, index i, inout A, in B) {
              for j = 0 to i {
                A[i * M] += sum(k = 0 to M) B[k + M * j]
              }
            }
            private inline func f__body2(index i, inout C) {
              C[i] += 2.0
            }
            private func f__body3(index k, index a, index b, inout C) {
              for i = a to b {
                C[i] += index(k)
              }
            }
        "#]],
    );
}

#[test]
fn partitioning() {
    let body = "partition a, b = 1 to N step 4 by pos[b] { for i = a to b { C[i] += B[i] } }"
        .replace("B[i]", "1.0");
    check(
        &["outline", "spare-threads", "partition"],
        &body,
        &expect![[r#"
            func f(inout A, in B, inout C, in pos) {
              if 1 < N {
                if pos[N] < 16384 and max(N - 1, 0) < 16384 {
                  call f__body1(1, N) on C
                } else {
                  team part in parts {
                    while low = 0, high = (N + 2) / 4 if low < high {
                    } then select(max(pos[N], 0) * part <= pos[(low + high) / 2 * 4 + 1] * parts, low, (low + high) / 2 + 1), select(max(pos[N], 0) * part <= pos[(low + high) / 2 * 4 + 1] * parts, (low + high) / 2, high) after {
                      while low_1 = 0, high_1 = (N + 2) / 4 if low_1 < high_1 {
                      } then select(max(pos[N], 0) * (part + 1) <= pos[(low_1 + high_1) / 2 * 4 + 1] * parts, low_1, (low_1 + high_1) / 2 + 1), select(max(pos[N], 0) * (part + 1) <= pos[(low_1 + high_1) / 2 * 4 + 1] * parts, (low_1 + high_1) / 2, high_1) after {
                        call f__body1(select(part == 0, 1, min(low * 4 + 1, N)), select(parts <= part + 1, N, min(low_1 * 4 + 1, N))) on C
                      }
                    }
                  }
                }
              }
            }
            private func f__body1(index a, index b, inout C) {
              for i = a to b {
                C[i] += 1.0
              }
            }
        "#]],
    );
    let body = "partition a, b = 0 to min(N, M) { for i = a to b { C[i] += 1.0 } }";
    check(
        &["outline", "spare-threads", "partition"],
        body,
        &expect![[r#"
            func f(inout A, in B, inout C, in pos) {
              if 0 < min(N, M) {
                if max(min(N, M), 0) < 16384 {
                  call f__body1(0, min(N, M)) on C
                } else {
                  team part in parts {
                    while low = 0, high = min(N, M) if low < high {
                    } then select(max(min(N, M), 0) * part <= (low + high) / 2 * parts, low, (low + high) / 2 + 1), select(max(min(N, M), 0) * part <= (low + high) / 2 * parts, (low + high) / 2, high) after {
                      while low_1 = 0, high_1 = min(N, M) if low_1 < high_1 {
                      } then select(max(min(N, M), 0) * (part + 1) <= (low_1 + high_1) / 2 * parts, low_1, (low_1 + high_1) / 2 + 1), select(max(min(N, M), 0) * (part + 1) <= (low_1 + high_1) / 2 * parts, (low_1 + high_1) / 2, high_1) after {
                        call f__body1(select(part == 0, 0, min(low, min(N, M))), select(parts <= part + 1, min(N, M), min(low_1, min(N, M)))) on C
                      }
                    }
                  }
                }
              }
            }
            private func f__body1(index a, index b, inout C) {
              for i = a to b {
                C[i] += 1.0
              }
            }
        "#]],
    );
}

#[test]
fn sums_in_parts() {
    let body = "partial b, e = 0 to M in 4 if N < M with C as W at h from 0 of N {
            for i = 0 to N { W[i + h] = sum(j = b to e) B[i * M + j] }
        } then {
            for i = 0 to N { C[i] = sum(p = 0 to 4) W[p * N + i] }
        }";
    check(
        &["expand-partial-sums", "choose-threads", "outline"],
        body,
        &expect![[r#"
        func f(inout A, in B, inout C, in pos) {
          if N < M {
            with W of N * 4 {
              parallel part = 0 to 4 {
                call f__body1(min(part * max(M, 0) / 4, max(M, 0)), min((part + 1) * max(M, 0) / 4, max(M, 0)), part * N) on B, W
              }
              for i = 0 to N {
                C[i] = sum(p = 0 to 4) W[p * N + i]
              }
            }
          } else {
            call f__body1(0, max(M, 0), 0) on B, C
          }
        }
        private func f__body1(symbol N, symbol M, index b, index e, index h, in B, inout W) {
          for i = 0 to N {
            W[i + h] = sum(j = b to e) B[i * M + j]
          }
        }
    "#]],
    );
    let shared = body.replace("for i = 0 to N { W", "partition x, y = 0 to N { for i = x to y { W");
    let shared = shared.replace("} then", "} } then");
    let all = ["expand-partial-sums", "choose-threads", "outline", "spare-threads", "partition"];
    check(
        &all,
        &shared,
        &expect![[r#"
            func f(inout A, in B, inout C, in pos) {
              if N < M {
                with W of N * 4 {
                  if 4 * ((max(max(max(N, 0) * max(max(min(max(M, 0) / 4, max(M, 0)) - min(0, max(M, 0)), 0) + 2, 1), 0), 1) + max(max(max(N, 0) * max(max(min(3 * max(M, 0) / 4, max(M, 0)) - min(2 * max(M, 0) / 4, max(M, 0)), 0) + 2, 1), 0), 1) * 4 + max(max(max(N, 0) * max(max(min(5 * max(M, 0) / 4, max(M, 0)) - min(4 * max(M, 0) / 4, max(M, 0)), 0) + 2, 1), 0), 1)) / 6) < 16384 {
                    for part = 0 to 4 {
                      call f__body2(part) on B, W
                    }
                  } else {
                    parallel part = 0 to 4 {
                      call f__body2(part) on B, W
                    }
                  }
                  for i = 0 to N {
                    C[i] = sum(p = 0 to 4) W[p * N + i]
                  }
                }
              } else if 0 < N {
                team part in parts {
                  while low = 0, high = N if low < high {
                  } then select(max(N, 0) * part <= (low + high) / 2 * parts, low, (low + high) / 2 + 1), select(max(N, 0) * part <= (low + high) / 2 * parts, (low + high) / 2, high) after {
                    while low_1 = 0, high_1 = N if low_1 < high_1 {
                    } then select(max(N, 0) * (part + 1) <= (low_1 + high_1) / 2 * parts, low_1, (low_1 + high_1) / 2 + 1), select(max(N, 0) * (part + 1) <= (low_1 + high_1) / 2 * parts, (low_1 + high_1) / 2, high_1) after {
                      call f__body1(0, max(M, 0), 0, select(part == 0, 0, min(low, N)), select(parts <= part + 1, N, min(low_1, N))) on B, C
                    }
                  }
                }
              }
            }
            private func f__body1(symbol M, index b, index e, index h, index x, index y, in B, inout W) {
              for i = x to y {
                W[i + h] = sum(j = b to e) B[i * M + j]
              }
            }
            private func f__body2(symbol N, symbol M, index part, in B, inout W) {
              if 0 < N {
                call f__body1(min(part * max(M, 0) / 4, max(M, 0)), min((part + 1) * max(M, 0) / 4, max(M, 0)), part * N, 0, N) on B, W
              }
            }
        "#]],
    );
}

#[test]
fn placing() {
    let mut module = parse(&format!(
        "{HEAD}buffer x : f64[1]\nbuffer y : f64[1]\nfunc f(inout C) {{
            with x of 4 {{ with y of 4 {{ }} }} with y of N {{ }} with W of 1000 {{ }}
        }}"
    ))
    .unwrap();
    (find("place-workspaces").unwrap().run)(&mut module, &Context::of(&Machine::PLAIN));
    assert_eq!(verify(&module), Ok(()));
    let text = module.to_string();
    let buffers: Vec<&str> = text.lines().filter(|line| line.contains("in stack")).collect();
    assert_eq!(buffers, ["buffer x : f64[1] in stack"]);
}

#[test]
fn shapes() {
    let nests: String = (0..9)
        .map(|n| {
            let (buffer, factor) = if n == 4 { ("A", 2) } else { ("C", 1) };
            format!(
                "for i = {n} to N {{ {buffer}[i - {n}] += index({factor} * i + {n}) + B[i - i] }} "
            )
        })
        .collect();
    let nests = nests.replace(" + B[i - i]", "").replace("A[i", "C[i");
    check(
        &["share-shapes"],
        &nests,
        &expect![[r#"
        func f(inout A, in B, inout C, in pos) {
          call f__shape1(0, 0, 0) on C
          call f__shape1(1, 1, 1) on C
          call f__shape1(2, 2, 2) on C
          call f__shape1(3, 3, 3) on C
          for i = 4 to N {
            C[i - 4] += index(2 * i + 4)
          }
          call f__shape1(5, 5, 5) on C
          call f__shape1(6, 6, 6) on C
          call f__shape1(7, 7, 7) on C
          call f__shape1(8, 8, 8) on C
        }
        private func f__shape1(symbol N, index p0, index p1, index p2, inout C) {
          for i = p0 to N {
            C[i - p1] += index(i + p2)
          }
        }
    "#]],
    );
}

/// Statements whose threads write elements of their own, the same for the same seed.
struct Programs(u64);

impl Programs {
    fn choose<'a>(&mut self, from: &[&'a str]) -> &'a str {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from[(self.0 >> 33) as usize % from.len()]
    }

    fn program(&mut self) -> String {
        let count = self.choose(&["1", "2", "9", "12"]).parse().unwrap_or(1);
        (0..count).map(|_| self.statement()).collect()
    }

    fn statement(&mut self) -> String {
        match self.choose(&["nest", "nest", "for", "if", "rows", "range", "range", "sums"]) {
            "for" => format!("for k = 0 to 2 {{ {} }} ", self.nest()),
            "if" => format!("if {} {{ {} }} ", self.choose(&["N < M", "M < 4"]), self.nest()),
            "rows" => format!(
                "for r = 0 to N {{ parallel p = pos[r] to pos[r + 1] {{ A[p] {} }} }} ",
                self.set()
            ),
            "range" => format!("{} ", self.range()),
            "sums" => self.sums(),
            _ => format!("{} ", self.nest()),
        }
    }

    fn nest(&mut self) -> String {
        let lower = self.choose(&["0", "1", "2", "3"]);
        let inner = self.choose(&["for", "parallel", "for"]);
        let upper = self.choose(&["M", "min(i, M)", "min(M, 3)"]);
        format!(
            "parallel i = {lower} to N {{ {inner} j = 0 to {upper} {{ A[i * M + j] {} }} }}",
            self.set()
        )
    }

    fn range(&mut self) -> String {
        let (lower, step) = (self.choose(&["0", "1", "2"]), self.choose(&["1", "2", "4"]));
        let work =
            self.choose(&["", "by b", "by 9000 * b", "by pos[b]", "by 8000 * pos[b]", "by 0 - b"]);
        let inner = self.choose(&["for", "parallel"]);
        let body = format!("{inner} i = a to b {{ C[i] {} }}", self.set());
        format!("partition a, b = {lower} to N step {step} {work} {{ {body} }}")
    }

    fn set(&mut self) -> &'static str {
        self.choose(&["= 1.0", "+= 2.0", "+= sum(l = 0 to M) B[l]", "min= 1.0"])
    }

    fn sums(&mut self) -> String {
        let (parts, step) = (self.choose(&["2", "4"]), self.choose(&["1", "2", "3"]));
        let condition = self.choose(&["N < M", "M <= N", "0 <= N"]);
        let (open, close) =
            [("", ""), ("partition x, y = 0 to N {", "}")][(self.0 >> 40) as usize % 2];
        let range = if open.is_empty() { "0 to N" } else { "x to y" };
        format!(
            "partial b, e = 0 to M step {step} in {parts} if {condition} with C as W at h from 0 of N {{ {open} \
                for i = {range} {{ W[i + h] = sum(j = b to e) B[i * M + j] }} {close} \
            }} then {{ for i = 0 to N {{ C[i] = sum(p = 0 to {parts}) W[p * N + i] }} }} "
        )
    }
}

/// Elements beside the sums are stored too: no call may take their buffer twice.
#[test]
fn sums_in_parts_beside_other_elements() {
    let body = "if N > 0 { partial b, e = 1 to M in 4 if N < M with C as W at h from 0 of 1 {
            W[h] = sum(j = b to e) B[j]
            for i = b to min(e, N) { C[i] = B[i] + 1.0 }
        } then { C[0] = sum(p = 0 to 4) W[p] } }";
    check(
        &["expand-partial-sums"],
        body,
        &expect![[r#"
        func f(inout A, in B, inout C, in pos) {
          if N > 0 {
            if N < M {
              with W of 4 {
                parallel part = 0 to 4 {
                  call f__body1(min(part * (max(M, 1) - 1) / 4 + 1, max(M, 1)), min((part + 1) * (max(M, 1) - 1) / 4 + 1, max(M, 1)), part) on B, C, W
                }
                C[0] = sum(p = 0 to 4) W[p]
              }
            } else {
              C[0] = sum(j = 1 to max(M, 1)) B[j]
              for i = 1 to min(max(M, 1), N) {
                C[i] = B[i] + 1.0
              }
            }
          }
        }
        private func f__body1(symbol N, index b, index e, index h, in B, inout C, inout W) {
          W[h] = sum(j = b to e) B[j]
          for i = b to min(e, N) {
            C[i] = B[i] + 1.0
          }
        }
    "#]],
    );
}

#[test]
fn random_programs_compute_the_same_on_any_number_of_threads() {
    for seed in 0..150 {
        let program = Programs(seed).program();
        let sequence = if seed % 3 == 0 { CHECKED_THREADS } else { THREADS };
        run_all(sequence.passes, &program);
    }
}

#[test]
fn sparing_loops() {
    // Of rows of constant and of average length; of few iterations; with a search; of an unknown number of steps.
    let body = "
        parallel i = 0 to N { C[i] = 0.0 }
        parallel i = 0 to N step 4 { for j = 0 to M { A[i * M + j] += exp(B[i * M + j]) } }
        parallel i = 0 to N { for p = pos[i] to pos[i + 1] { A[p] = B[p] + 1.0 } }
        parallel x = 0 to 2 { if x < N { C[x] = 1.0 } }
        parallel i = 0 to N {
          while low = pos[i], high = pos[i + 1] if low < high { }
            then low + 1, high after { for p = low to high { A[p] += 1.0 } } }
        parallel i = 0 to N { while x = 0 if x != 3 { C[i] += 1.0 } then x + 1 after { } }";
    check(
        &["outline", "spare-threads"],
        body,
        &expect![[r#"
        func f(inout A, in B, inout C, in pos) {
          if max(N, 0) < 16384 {
            for i = 0 to N {
              call f__body1(i) on C
            }
          } else {
            parallel i = 0 to N {
              call f__body1(i) on C
            }
          }
          if max(N, 0) * max(max(M, 0) * 18, 1) / 4 < 16384 {
            for i = 0 to N step 4 {
              call f__body2(i) on A, B
            }
          } else {
            parallel i = 0 to N step 4 {
              call f__body2(i) on A, B
            }
          }
          if max(N, 0) * max(floor(pos[N] + (max(N, 1) - 1), max(N, 1)) * 2, 1) < 16384 {
            for i = 0 to N hint(guided) {
              call f__body3(i) on A, B, pos
            }
          } else {
            parallel i = 0 to N hint(guided) {
              call f__body3(i) on A, B, pos
            }
          }
          for x = 0 to 2 hint(guided) {
            call f__body4(x) on C
          }
          if max(N, 0) * max(floor(pos[N] + (max(N, 1) - 1), max(N, 1)) + 16, 1) < 16384 {
            for i = 0 to N hint(guided) {
              call f__body5(i) on A, pos
            }
          } else {
            parallel i = 0 to N hint(guided) {
              call f__body5(i) on A, pos
            }
          }
          parallel i = 0 to N hint(guided) {
            call f__body6(i) on C
          }
        }
        private inline func f__body1(index i, inout C) {
          C[i] = 0.0
        }
        private func f__body2(symbol M, index i, inout A, in B) {
          for j = 0 to M {
            A[i * M + j] += exp(B[i * M + j])
          }
        }
        private func f__body3(index i, inout A, in B, in pos) {
          for p = pos[i] to pos[i + 1] {
            A[p] = B[p] + 1.0
          }
        }
        private inline func f__body4(symbol N, index x, inout C) {
          if x < N {
            C[x] = 1.0
          }
        }
        private func f__body5(index i, inout A, in pos) {
          while low = pos[i], high = pos[i + 1] if low < high {
          } then low + 1, high after {
            for p = low to high {
              A[p] += 1.0
            }
          }
        }
        private func f__body6(index i, inout C) {
          while x = 0 if x != 3 {
            C[i] += 1.0
          } then x + 1
        }
    "#]],
    );
}
