//! Turns sequential loops that accumulate into one element into sums, from the inside out.
//!
//! - `for l = 0 to i + 1 { A[i] += v(l) }` -> `A[i] += sum(l = 0 to i + 1) v(l)`
//! - `for l = 0 to Q { if c(l) { A[i] += v(l) } }` -> `A[i] += sum(l = 0 to Q if c(l)) v(l)`
//! - `for l = 0 to Q { A[i] min= v(l) }` -> `A[i] min= min(l = 0 to Q) v(l)`
//!
//! The element must not vary with `l`, and `v` must not read the buffer. Since the element may not exist where
//! nothing is added to it, the new statement is executed only where the range is not empty:
//!
//! - `for l = 0 to Q { A[i] += v(l) }` -> `if 0 < Q { A[i] += sum(l = 0 to Q) v(l) }`
//!
//! The guard is left out where enclosing loops imply it or an earlier statement stores to the same element. A condition
//! that varies with `l` and is not a bound on it cannot be such a guard: without an earlier store, the loop stays.

use crate::ir::*;
use crate::linear::{Facts, Within};
use crate::reduction::{accumulation, guarded};

pub(super) fn run(function: &mut Function, buffers: &[Buffer]) {
    let mut contract = Contract { buffers, facts: Facts::default(), stored: Vec::new() };
    contract.block(&mut function.body);
}

struct Contract<'a> {
    buffers: &'a [Buffer],
    facts: Facts,
    /// Elements that have been stored to whenever the current place is reached.
    stored: Vec<(BufferId, Index)>,
}

impl Within for Contract<'_> {
    fn facts(&mut self) -> &mut Facts {
        &mut self.facts
    }

    fn block(&mut self, body: &mut [Stmt]) {
        let stored = self.stored.len();
        for stmt in body {
            self.inside(stmt);
            if let Stmt::For(inner) = stmt
                && let Some(sum) = self.sum(inner)
            {
                *stmt = sum;
            }
            if let Stmt::Store(store) = stmt {
                self.stored.push((store.buffer, store.index.clone()));
            }
        }
        self.stored.truncate(stored);
    }
}

impl Contract<'_> {
    /// The statement that a loop is equal to, if it accumulates into one element.
    fn sum(&self, inner: &For) -> Option<Stmt> {
        let found = accumulation(inner, self.buffers)?;
        let store = found.store;
        let known = (store.buffer, &store.index);
        let exists = self.stored.iter().any(|(buffer, index)| (*buffer, index) == known);
        let mut guards = found.invariant;
        if !exists {
            guards.extend(found.has_terms?);
        }
        guards.retain(|guard| !self.facts.imply(guard));
        Some(guarded(store, guards))
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tests::check;
    use expect_test::expect;

    fn contract(body: &str) -> String {
        check(&["contract"], body)
    }

    #[test]
    fn nests_become_nested_sums() {
        expect![[r#"
              for i = 0 to N {
                C[i] = 0.0
                C[i] += sum(l = 0 to M) sum(m = l to M if m % 2 == l % 2) B[i * M + l] * B[i * M + m]
              }
              for i = 0 to N {
                C[i] += sum(l = 0 to i + 1 step 2) sum(m = l to i + 1) index(m)
              }
              if M < 9 and 0 < M and 0 < N {
                C[0] += sum(l = 0 to N) sum(m = 0 to min(M, l + 1)) index(m)
              }
        "#]].assert_eq(&contract(
            "for i = 0 to N {
               C[i] = 0.0
               for l = 0 to M { for m = l to M { if m % 2 == l % 2 { C[i] += B[i * M + l] * B[i * M + m] } } }
             }
             for i = 0 to N { for l = 0 to i + 1 step 2 { for m = l to i + 1 { C[i] += index(m) } } }
             for l = 0 to N { for m = 0 to M { if m <= l and M < 9 { C[0] += index(m) } } }",
        ));
    }

    #[test]
    fn an_element_that_need_not_exist_is_guarded() {
        // C has no element i where i >= N.
        expect![[r#"
              for i = 0 to N + M {
                if i < N {
                  C[i] += sum(l = i to N) 1.0
                }
              }
              for i = 0 to N + M {
                if 0 < M and 0 < N - i {
                  C[i] += sum(l = 0 to min(M, N - i)) 1.0
                }
              }
              for i = 0 to N {
                for l = 0 to M {
                  if l % 2 == 0 {
                    C[i] += 1.0
                  }
                }
              }
        "#]]
        .assert_eq(&contract(
            "for i = 0 to N + M { for l = i to N { C[i] += 1.0 } }
             for i = 0 to N + M { for l = 0 to M { if l + i < N { C[i] += 1.0 } } }
             for i = 0 to N { for l = 0 to M { if l % 2 == 0 { C[i] += 1.0 } } }",
        ));
    }

    #[test]
    fn what_stays() {
        expect![[r#"
              for l = 0 to N {
                C[l] += 1.0
              }
              for l = 0 to N {
                C[0] += C[l]
              }
              for l = 0 to N {
                C[0] = 1.0
              }
              for l = 0 to N {
                s[0] += index(l)
              }
              for l = 0 to N {
                C[0] += 1.0
                A[0] += 1.0
              }
              for i = 0 to N {
                for l = 0 to M {
                  if l < i {
                    C[i] += 1.0
                  } else {
                    C[i] += 2.0
                  }
                }
              }
        "#]]
        .assert_eq(&contract(
            "for l = 0 to N { C[l] += 1.0 }
             for l = 0 to N { C[0] += C[l] }
             for l = 0 to N { C[0] = 1.0 }
             for l = 0 to N { s[0] += index(l) }
             for l = 0 to N { C[0] += 1.0 A[0] += 1.0 }
             for i = 0 to N { for l = 0 to M { if l < i { C[i] += 1.0 } else { C[i] += 2.0 } } }",
        ));
    }
}
