//! Blocks of elements are computed to the end before the next, where a loop adds to all of them again and again.
//!
//! A tensor that is stored by diagonals, or in padded rows side by side, is walked one diagonal after the other: each
//! adds to all elements of the result, which then come from memory as often as there are diagonals, and threads would
//! meet after each. In a block the elements stay in the first cache, and threads share the blocks.
//!
//! Before -> after: `for p = a to b { parallel i = max(0, d[p]) to min(N, e[p]) { y[i] += v[N * p + i] } }` ->
//! `parallel t = 0 to N step 1024 { for p = a to b { parallel i = max(0, d[p], t) to min(N, e[p], t + 1024) { .. } }
//! }`.
//!
//! Where each loop goes over all elements, they change places, and what is added is a sum: `for p = a to b { parallel i
//! = 0 to N { if c[p * N + i] < N { y[i] += v[p * N + i] } } }` -> `parallel i = 0 to N { y[i] += sum(p = a to b if c[p
//! * N + i] < N) v[p * N + i] }`.

use super::walk::{Walk, each_statement};
use crate::ir::*;
use crate::linear::Facts;
use crate::passes::Context;
use crate::polynomial::Polynomial;

/// The part of the first cache that a block takes.
const PART: i64 = 4;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_statement(module, context, |walk, stmt| {
        if walk.inside {
            return None;
        }
        let updates = Updates::of(stmt)?;
        let (lower, upper) = updates.range()?;
        if !updates.have_rows((&lower, &upper), &walk.facts) {
            return None;
        }
        if let Some(sums) = updates.summed().and_then(|sums| updates.guarded(sums, walk)) {
            return Some(vec![sums]);
        }
        if !updates.inner.is_empty() {
            return None;
        }
        let bytes: i64 = updates.stores.iter().map(|store| walk.element_bytes(store)).sum();
        // So many elements are a block.
        let size = (walk.machine.l1 / PART / bytes.max(1)).max(walk.machine.vector_bytes);
        let block = walk.fresh(updates.elements.var, "b");
        let (begin, end) = (Index::Var(block), Index::Var(block) + size);
        let within = For {
            lower: with(&updates.elements.lower, begin),
            upper: with(&updates.elements.upper, end),
            ..updates.elements.clone()
        };
        let mut body = Stmt::For(within);
        for around in updates.loops.iter().rev() {
            body = Stmt::For(For { body: vec![body], ..(*around).clone() });
        }
        let (step, mark) = (size, Mark::THREADS);
        Some(vec![Stmt::For(For { var: block, lower, upper, step, mark, body: vec![body] })])
    });
}

/// Loops around one that adds to elements of which each iteration has its own.
struct Updates<'a> {
    loops: Vec<&'a For>,
    elements: &'a For,
    /// Loops inside of that over elements.
    inner: Vec<&'a For>,
    stores: Vec<&'a Store>,
}

/// Updates as sums.
struct Summed {
    /// The loop over the elements.
    stmt: Stmt,
    /// The conditions that are the same for all terms of an element.
    same: Vec<Condition>,
    /// Whether there are others.
    tested: bool,
}

impl<'a> Updates<'a> {
    /// Of loops of which each has nothing but the next in it.
    fn of(stmt: &'a Stmt) -> Option<Updates<'a>> {
        let mut loops = Vec::new();
        let mut inner = stmt;
        let elements = loop {
            let Stmt::For(one) = inner else { return None };
            match one.mark {
                Mark::Sequential => loops.push(one),
                Mark::Parallel(_) if one.step == 1 => break one,
                _ => return None,
            }
            let [only] = &one.body[..] else { return None };
            inner = only;
        };
        let mut updates = Updates { loops, elements, inner: Vec::new(), stores: Vec::new() };
        let all = elements.body.iter().all(|stmt| updates.adds(stmt));
        (all && !updates.loops.is_empty() && !updates.stores.is_empty()).then_some(updates)
    }

    /// Whether a statement only adds to elements that the loops around do not tell apart; its stores are kept.
    fn adds(&mut self, stmt: &'a Stmt) -> bool {
        match stmt {
            Stmt::Store(store) => {
                let apart = self.loops.iter().any(|around| store.index.mentions(around.var));
                let own = store.index.mentions(self.elements.var);
                let reads = |store: &Store| {
                    let mut reads = false;
                    store.value.visit(&mut |value| {
                        reads |= matches!(value, Value::Load(buffer, _) if *buffer == store.buffer);
                    });
                    reads
                };
                let adds = store.mode != StoreMode::Set && own && !apart && !reads(store);
                self.stores.push(store);
                adds
            }
            Stmt::If(inner) => {
                let mut all = inner.then.iter().chain(&inner.otherwise);
                all.all(|stmt| self.adds(stmt))
            }
            Stmt::For(inner) if matches!(inner.mark, Mark::Parallel(_)) && inner.step == 1 => {
                let mut bounds = inner.lower.iter().chain(&inner.upper);
                let same =
                    !bounds.any(|bound| self.loops.iter().any(|around| bound.mentions(around.var)));
                self.inner.push(inner);
                same && inner.body.iter().all(|stmt| self.adds(stmt))
            }
            _ => false,
        }
    }

    /// The elements outside, if their range is the same in all iterations of the loops around.
    fn summed(&self) -> Option<Summed> {
        let Updates { loops, elements, .. } = self;
        let (lower, upper) = self.range()?;
        if lower.len() < elements.lower.len() || upper.len() < elements.upper.len() {
            return None;
        }
        // What is inside of the loop over elements: other loops, and conditions of what is added.
        let (mut body, mut conditions) = (&elements.body[..], Vec::new());
        let store = loop {
            match body {
                [Stmt::Store(store)] => break store,
                [Stmt::For(inner)] => body = &inner.body,
                [Stmt::If(inner)] if inner.otherwise.is_empty() => {
                    conditions.push(inner.condition.clone());
                    body = &inner.then;
                }
                _ => return None,
            }
        };
        let conjuncts = conditions.into_iter().flat_map(Condition::conjuncts);
        let (terms, same): (Vec<Condition>, Vec<Condition>) =
            conjuncts.partition(|one| loops.iter().any(|around| one.mentions(around.var)));
        let tested = !terms.is_empty();
        let mut condition = tested.then(|| Condition::all(terms));
        let kind = match store.mode {
            StoreMode::Set => return None,
            StoreMode::Add => Reduction::Sum,
            StoreMode::Multiply => Reduction::Product,
            StoreMode::Min => Reduction::Min,
            StoreMode::Max => Reduction::Max,
        };
        let mut value = store.value.clone();
        for around in loops.iter().rev() {
            value = Value::Sum(Box::new(Sum {
                kind,
                var: around.var,
                lower: around.lower.clone(),
                upper: around.upper.clone(),
                step: around.step,
                unroll: None,
                condition: condition.take(),
                fetch: Vec::new(),
                body: value,
            }));
        }
        let store = Stmt::Store(Store { value, ..store.clone() });
        let store = match same.is_empty() {
            true => store,
            false => Stmt::when(Condition::all(same.iter().cloned()), vec![store]),
        };
        let around = self.inner.iter().rev().chain([elements]);
        let stmt =
            around.fold(store, |body, one| Stmt::For(For { body: vec![body], ..(*one).clone() }));
        Some(Summed { stmt, same, tested })
    }

    /// Sums into elements, where these are there: without any iteration of the loops around, nothing was stored, and
    /// there may be no such elements.
    fn guarded(&self, summed: Summed, walk: &mut Walk<'_>) -> Option<Stmt> {
        let Updates { loops, elements, inner, stores } = self;
        let Summed { stmt: sums, same, tested } = summed;
        let known = walk.facts.len();
        for one in [elements].into_iter().chain(inner) {
            walk.facts.assume_range(one.var, &one.lower, &one.upper);
        }
        same.iter().for_each(|condition| walk.facts.assume(condition));
        let inside = stores.iter().all(|store| {
            let next = store.index.clone() + 1;
            walk.known(&next.at_most(walk.buffers[store.buffer.0 as usize].size.clone()))
        });
        walk.facts.truncate(known);
        if inside {
            return Some(sums);
        }
        // Where no term has its condition, nothing was stored either.
        if tested {
            return None;
        }
        let mut conditions = Vec::new();
        for around in loops {
            for (low, high) in
                around.lower.iter().flat_map(|low| around.upper.iter().map(move |high| (low, high)))
            {
                if loops.iter().any(|other| low.mentions(other.var) || high.mentions(other.var)) {
                    return None;
                }
                let some = (low.clone() + 1).at_most(high.clone());
                if !walk.known(&some) {
                    conditions.push(some);
                }
            }
        }
        match conditions.is_empty() {
            true => Some(sums),
            false => Some(Stmt::when(Condition::all(conditions), vec![sums])),
        }
    }

    /// Whether something is stored for all elements of a range in each iteration of the loops around, whether it is
    /// used or not: then all blocks together do not take more iterations of these than there are such elements.
    fn have_rows(&self, (lower, upper): (&[Index], &[Index]), facts: &Facts) -> bool {
        let mut rows = false;
        let is_row = |index: &Index| {
            let long = |around: &&For| {
                let next = index.substitute(around.var, &(Index::Var(around.var) + around.step));
                let step = Polynomial::of(&next)?.plus(&Polynomial::of(index)?, -1)?.to_index(&[]);
                let length = |low: &Index, high: &Index| high.clone() - low.clone();
                let mut lengths =
                    lower.iter().flat_map(|low| upper.iter().map(move |high| length(low, high)));
                let within = |length: Index| facts.imply(&length.at_most(step.clone()));
                lengths.any(within).then_some(())
            };
            self.loops.iter().all(|around| long(around).is_some())
        };
        for store in &self.stores {
            store.value.visit(&mut |value| {
                if let Value::Load(_, index) = value {
                    rows |= is_row(index);
                }
            });
        }
        rows
    }

    /// The bounds of the elements that hold in all iterations of the loops around.
    fn range(&self) -> Option<(Vec<Index>, Vec<Index>)> {
        let fixed = |bounds: &[Index]| {
            let free = |bound: &&Index| self.loops.iter().all(|around| !bound.mentions(around.var));
            let bounds: Vec<Index> = bounds.iter().filter(free).cloned().collect();
            (!bounds.is_empty()).then_some(bounds)
        };
        Some((fixed(&self.elements.lower)?, fixed(&self.elements.upper)?))
    }
}

/// Bounds with one more.
fn with(bounds: &[Index], bound: Index) -> Vec<Index> {
    bounds.iter().cloned().chain([bound]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::pieces;

    fn blocked(body: &str) -> String {
        pieces("block-updates", body)
    }

    #[test]
    fn blocks_of_diagonals() {
        expect_test::expect![[r#"
            parallel ib = 0 to N step 32 {
              for p = 0 to 10 {
                parallel i = max(0, p - 4, ib) to min(N, N - p, ib + 32) {
                  A[i] += B[N * p + i]
                }
              }
            }
        "#]]
        .assert_eq(&blocked(
            "for p = 0 to 10 { parallel i = max(0, p - 4) to min(N, N - p) { A[i] += B[N * p + i] } }",
        ));
    }

    #[test]
    fn the_same_elements_each_time_are_sums() {
        expect_test::expect![[r#"
            parallel i = 0 to min(N, 10) {
              A[i] max= max(p = 0 to 10 if p + i < 9) B[10 * p + i]
            }
        "#]]
        .assert_eq(&blocked(
            "for p = 0 to 10 { parallel i = 0 to min(N, 10) { if p + i < 9 { A[i] max= B[10 * p + i] } } }",
        ));
    }

    #[test]
    fn loops_inside_stay_inside() {
        expect_test::expect![[r#"
            parallel i = 0 to min(N, 10) {
              parallel k = 0 to min(M, 20) {
                if i < M {
                  A[20 * i + k] += sum(p = 0 to 10 if p + i < 9) B[10 * p + i] * C[20 * p + k]
                }
              }
            }
        "#]]
        .assert_eq(&blocked(
            "for p = 0 to 10 { parallel i = 0 to min(N, 10) { if p + i < 9 and i < M { parallel k = 0 to min(M, 20) { \
             A[20 * i + k] += B[10 * p + i] * C[20 * p + k] } } } }",
        ));
    }

    #[test]
    fn elements_that_may_not_be_there_are_not_touched() {
        expect_test::expect![[r#"
            if 1 <= M {
              parallel i = 0 to N + 1 {
                A[i] += sum(p = 0 to M) B[(N + 1) * p + i]
              }
            }
        "#]]
        .assert_eq(&blocked(
            "for p = 0 to M { parallel i = 0 to N + 1 { A[i] += B[(N + 1) * p + i] } }",
        ));
    }

    #[test]
    fn what_has_no_rows_stays() {
        for body in [
            // A window on what is stored.
            "for p = 0 to N { parallel i = max(0, p - 4) to min(N, p + 1) { A[i] += B[p] * C[p - i + 4] } }",
            // Each iteration has elements of its own.
            "for p = 0 to 10 { parallel i = max(0, p) to N { A[N * p + i] += B[N * p + i] } }",
            // What is read changes.
            "for p = 0 to 10 { parallel i = max(0, p) to N { A[i] += A[N * p + i] } }",
            "for p = 0 to 10 { parallel i = max(0, p) to N { A[i] = B[N * p + i] } }",
        ] {
            let same = blocked(body);
            assert!(!same.contains("ib") && !same.contains("sum("), "{same}");
        }
    }
}
