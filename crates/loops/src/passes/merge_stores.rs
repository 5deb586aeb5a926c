//! Combines stores to one element that follow each other.
//!
//! - `A[i] = u; A[i] += v` -> `A[i] = u + v`
//! - `A[i] += u; A[i] += v` -> `A[i] += u + v`; minima and maxima too
//!
//! `v` must not read the buffer.

use crate::ir::*;

pub(super) fn run(function: &mut Function, buffers: &[Buffer]) {
    block(&mut function.body, buffers);
}

fn block(body: &mut Vec<Stmt>, buffers: &[Buffer]) {
    let mut merged: Vec<Stmt> = Vec::with_capacity(body.len());
    for mut stmt in body.drain(..) {
        stmt.bodies_mut().into_iter().for_each(|body| block(body, buffers));
        if let (Stmt::Store(store), Some(Stmt::Store(first))) = (&mut stmt, merged.last_mut())
            && let Some(kind) = combines(first, store, buffers)
        {
            let zero = || Value::Const(0.0);
            let left = std::mem::replace(&mut first.value, zero());
            first.value = kind.join(left, std::mem::replace(&mut store.value, zero()));
            continue;
        }
        merged.push(stmt);
    }
    *body = merged;
}

/// How the values of two stores are joined, if they can be.
fn combines(first: &Store, second: &Store, buffers: &[Buffer]) -> Option<Reduction> {
    let element = buffers.get(first.buffer.0 as usize).map(|buffer| buffer.element);
    let same = first.buffer == second.buffer
        && first.index == second.index
        && (first.mode == StoreMode::Set || first.mode == second.mode)
        && !second.value.loads(first.buffer)
        && element.is_some_and(|element| !element.is_integer() || !second.is_index());
    second.mode.reduction().filter(|_| same)
}

#[cfg(test)]
mod tests {
    use crate::passes::tests::check;

    #[test]
    fn stores_merge() {
        expect_test::expect![[r#"
              for i = 0 to N {
                C[i] = A[i] + 2.0
                A[i] += 3.0
                A[i] += A[i]
                A[i] = 3.0 * A[i]
                A[0] = 1.0
                A[i] += 2.0
              }
              s[0] = index(N)
              s[0] += index(1)
        "#]]
        .assert_eq(&check(
            &["merge-stores"],
            "for i = 0 to N {
               C[i] = 0.0 C[i] += A[i] C[i] += 2.0
               A[i] += 1.0 A[i] += 2.0 A[i] += A[i] A[i] = 3.0 * A[i]
               A[0] = 1.0 A[i] += 2.0
             }
             s[0] = index(N) s[0] += index(1)",
        ));
    }
}
