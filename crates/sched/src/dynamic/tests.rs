//! Rules that read dynamic tensors, as loops; those that are refused, with the place.

use dastac_iterate::Walking;
use dastac_layout::Layout;
use dastac_loops::Element;
use dastac_poly::Context;
use dastac_stur::infer::infer;

const TENSORS: &str = "symbols: N, K
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
A:F := csr
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:F := csc
I:D(i) := (0 <= i < N)
I:F := D
L:D(i, j) := (0 <= i < N) * (0 <= j < N)
L:U(i, j) := (j <= i)
x:D(i) := (0 <= i < N)
";

/// The function `kernel` of a rule, or the first message and where it points.
fn kernel(rule: &str) -> String {
    let source = format!("{TENSORS}{rule}\n");
    let (program, _) = dastac_stur::load(&source).unwrap();
    let inferred = infer(&program, &Context::new().unwrap()).unwrap();
    let layouts = Layout::all(&inferred).unwrap();
    match crate::kernel(
        &inferred,
        &layouts,
        crate::Reading { indices: Element::U32, walking: Walking::default(), reserves: false },
    ) {
        Ok(kernel) => {
            let copies = kernel.stored.iter().filter(|one| one.converted_for.is_some());
            let copies = copies.map(|one| {
                let name = &program.tensor(one.tensor).name;
                format!("{name} as {}\n", one.operand.format)
            });
            let text = kernel.module.to_string();
            let function = text.split_once("func ").map_or("", |(_, function)| function);
            copies.collect::<String>() + function
        }
        Err(crate::SchedError::Layout(dastac_layout::LayoutError::Program(found))) => {
            let span = found[0].labels[0].0;
            format!("{} at `{}`", found[0].message, &source[span.start..span.end])
        }
        Err(other) => other.to_string(),
    }
}

#[test]
fn structured_tensors_are_located_within_their_bounds() {
    expect_test::expect![[r#"
        kernel(out y, in A.pos1, in A.crd1, in A, in L) {
          parallel i = 0 to N {
            parallel k = 0 to N {
              y[N * i + k] = 0.0
            }
          }
          parallel i = 0 to N {
            for pj = A.pos1[i] to A.pos1[i + 1] {
              parallel k = 0 to min(N, A.crd1[pj] + 1) {
                y[N * i + k] += A[pj] * L[exact((A.crd1[pj] + 1) * A.crd1[pj], 2) + k]
              }
            }
          }
        }
    "#]]
    .assert_eq(&kernel("y(i, k) := A(i, j) * L(j, k)"));
    expect_test::expect![[r#"
        kernel(out y, in A.pos1, in A.crd1, in A, in L, in x) {
          parallel i = 0 to N {
            y[i] = 0.0
          }
          parallel i = 0 to N {
            coiter j = 0 to min(N, i + 1) over pj = A.pos1[i] to A.pos1[i + 1] at A.crd1[pj] above {
              case pj {
                y[i] += A[pj] * L[exact((i + 1) * i, 2) + j] * x[j]
              }
            }
          }
        }
    "#]]
    .assert_eq(&kernel("y(i) := A(i, j) * L(i, j) * x(j)"));
}

#[test]
fn iterators_are_shifted() {
    expect_test::expect![[r#"
        kernel(out y, in A.pos1, in A.crd1, in A, in x) {
          parallel i = 0 to N {
            y[i] = sum(pj = A.pos1[i] to A.pos1[i + 1]) sum(k = max(0, 0 - (A.crd1[pj] + max(0 - (N - 1), 0 - K))) to min(min(N, 3) - max(0 - (N - 1), 0 - K), 0 - A.crd1[pj] + (N - (max(0 - (N - 1), 0 - K) + 1)) + 1)) A[pj] * x[A.crd1[pj] + (k + max(0 - (N - 1), 0 - K))]
          }
        }
    "#]].assert_eq(&kernel("y(i) := A(i, j) * x(j + k) * (-K <= k < 3)"));
}

#[test]
fn contradictions_are_mended_by_copies() {
    expect_test::expect![[r#"
        B as csr
        kernel(out y, in A.pos1, in A.crd1, in A, in B.copy.pos1, in B.copy.crd1, in B.copy) {
          parallel i = 0 to N {
            parallel j = 0 to N {
              y[N * i + j] = 0.0
            }
          }
          parallel i = 0 to N {
            coiter j = 0 to N over pj = A.pos1[i] to A.pos1[i + 1] at A.crd1[pj] within, pj_1 = B.copy.pos1[i] to B.copy.pos1[i + 1] at B.copy.crd1[pj_1] within {
              case pj, pj_1 {
                y[N * i + j] += A[pj] * B.copy[pj_1]
              }
            }
          }
        }
    "#]].assert_eq(&kernel("y(i, j) := A(i, j) * B(i, j)"));
    expect_test::expect![[r#"
        A as csc
        kernel(out y, in A.pos1, in A.crd1, in A, in A.copy.pos1, in A.copy.crd1, in A.copy) {
          y[0] = 0.0
          for i = 0 to N {
            coiter j = 0 to N over pj = A.pos1[i] to A.pos1[i + 1] at A.crd1[pj] within, pj_1 = A.copy.pos1[i] to A.copy.pos1[i + 1] at A.copy.crd1[pj_1] within {
              case pj, pj_1 {
                y[0] += A[pj] * A.copy[pj_1]
              }
            }
          }
        }
    "#]].assert_eq(&kernel("y() := A(i, j) * A(j, i)"));
}

#[test]
fn positions_are_not_those_of_copies() {
    expect_test::expect![[r#"
        kernel(out y, in A.pos1, in A.crd1, in A, in B.pos1, in B.crd1, in B, in x) {
          parallel p = 0 to N {
            y[p] = 0.0
          }
          parallel i = 0 to N {
            parallel pj = A.pos1[i] to A.pos1[i + 1] {
              coiter at = i to i + 1 over p = B.pos1[A.crd1[pj]] to B.pos1[A.crd1[pj] + 1] at B.crd1[p] {
                case p {
                  if pj < N {
                    if p < N {
                      y[pj] += x[p]
                    }
                  }
                }
              }
            }
          }
        }
    "#]]
        .assert_eq(&kernel("y(p) := (p = pos(A(i, j))) * (q = pos(B(i, j))) * x(q) * (0 <= p < N)"));
}

#[test]
fn what_is_not_there_is_refused_with_the_place() {
    let many: Vec<String> = (0..7).map(|k| format!("A(i, j + {k})")).collect();
    expect_test::expect!["not supported yet: 7 sparse levels in one loop at `y(i) := A(i, j + 0) * A(i, j + 1) * A(i, \
        j + 2) * A(i, j + 3) * A(i, j + 4) * A(i, j + 5) * A(i, j + 6)`"]
    .assert_eq(&kernel(&format!("y(i) := {}", many.join(" * "))));
}

#[test]
fn quotients_are_walked_and_computed_iterators_have_no_loops() {
    expect_test::expect![[r#"
        kernel(out y, in A.pos1, in A.crd1, in A, in x) {
          parallel i = 0 to N {
            y[i] = sum(psubscript.2 = A.pos1[i] to A.pos1[i + 1]) sum(j = max(0, 0 - A.crd1[psubscript.2] * -2) to min(N, A.crd1[psubscript.2] * 2 + 2)) A[psubscript.2] * x[j]
          }
        }
    "#]]
    .assert_eq(&kernel("y(i) := A(i, j / 2) * x(j)"));
    expect_test::expect![[r#"
        kernel(out y, in A.pos1, in A.crd1, in A, in x) {
          parallel i = 0 to N {
            y[i] = 0.0
          }
          parallel i = 0 to N {
            for pj = A.pos1[i] to A.pos1[i + 1] {
              if 0 <= i * A.crd1[pj] and i * A.crd1[pj] < N {
                y[i] += A[pj] * x[i * A.crd1[pj]]
              }
            }
          }
        }
    "#]]
    .assert_eq(&kernel("y(i) := A(i, j) * x(s) * (s = i * j)"));
}
