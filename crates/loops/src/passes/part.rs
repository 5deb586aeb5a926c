//! Gives each of several pieces that a loop adds to one element a loop of its own.
//!
//! `for j = 0 to N { if i <= j { A[i] max= B[i + j] } if j < i { A[i] max= B[j] } }` -> `for j = 0 to N { if i <= j {
//! A[i] max= B[i + j] } } for j = 0 to N { if j < i { A[i] max= B[j] } }`
//!
//! A condition then is a bound of its loop, and the loop a sum.

use crate::ir::*;

pub(super) fn run(function: &mut Function, _: &[Buffer]) {
    block(&mut function.body);
}

fn block(body: &mut Vec<Stmt>) {
    for mut stmt in std::mem::take(body) {
        stmt.bodies_mut().into_iter().for_each(block);
        match &stmt {
            Stmt::For(inner) if are_pieces(inner) => {
                body.extend(inner.body.iter().map(|piece| {
                    let (lower, upper) = (inner.lower.clone(), inner.upper.clone());
                    Stmt::For(For { lower, upper, body: vec![piece.clone()], ..*inner })
                }));
            }
            _ => body.push(stmt),
        }
    }
}

/// Whether the statements of a loop do nothing but add to one element, where conditions on the loop's variable hold.
fn are_pieces(inner: &For) -> bool {
    let pieces = inner.body.iter().map(|stmt| match stmt {
        Stmt::If(piece) => match &piece.then[..] {
            [Stmt::Store(store)] => Some((piece, store)),
            _ => None,
        },
        _ => None,
    });
    let Some(pieces) = pieces.collect::<Option<Vec<_>>>() else { return false };
    let Some((_, first)) = pieces.first() else { return false };
    let is_piece = |(piece, store): &(&If, &Store)| {
        let alike =
            store.buffer == first.buffer && store.index == first.index && store.mode == first.mode;
        piece.otherwise.is_empty()
            && alike
            && store.mode.reduction().is_some()
            && piece.condition.mentions(inner.var)
            && !store.index.mentions(inner.var)
            && !store.value.loads(store.buffer)
    };
    pieces.len() > 1 && pieces.iter().all(is_piece)
}

#[cfg(test)]
mod tests {
    use crate::passes::tests::check;

    #[test]
    fn pieces_have_loops() {
        expect_test::expect![[r#"
            for i = 0 to N {
              for j = 0 to N {
                if i <= j {
                  C[i] max= A[N * i + j]
                }
              }
              for j = 0 to N {
                if j < i {
                  C[i] max= A[N * j + i]
                }
              }
            }
            for i = 0 to N {
              for j = 0 to N {
                if i <= j {
                  C[i] += 1.0
                }
                if j < i {
                  C[i] max= A[N * j + i]
                }
              }
            }
            for i = 0 to N {
              for j = 0 to N {
                if i <= j {
                  C[i] += 1.0
                }
                if j < i {
                  C[i] += C[j]
                }
              }
            }
            for i = 0 to N {
              for j = 0 to N {
                if i <= j {
                  C[j] += 1.0
                }
                if j < i {
                  C[j] += 2.0
                }
              }
            }
        "#]].assert_eq(&check(
            &["part"],
            "for i = 0 to N { for j = 0 to N { if i <= j { C[i] max= A[N * i + j] } if j < i { C[i] max= A[N * j + i] } } }
             for i = 0 to N { for j = 0 to N { if i <= j { C[i] += 1.0 } if j < i { C[i] max= A[N * j + i] } } }
             for i = 0 to N { for j = 0 to N { if i <= j { C[i] += 1.0 } if j < i { C[i] += C[j] } } }
             for i = 0 to N { for j = 0 to N { if i <= j { C[j] += 1.0 } if j < i { C[j] += 2.0 } } }",
        ));
    }
}
