//! Reduction fusion: a sum and a later loop that read the same elements become one loop.
//!
//! Before -> after, of a matrix with a first row and a subdiagonal times `x`:
//! ```text
//! partial b, e = 0 to N { y[0] = sum(j = b to e) B[j] * x[j] }  parallel i = 1 to N + 1 { y[i] = D[i] * x[i - 1] }
//! ```
//! becomes
//! ```text
//! partial b, e = 0 to N { for t = b to e step 1024 {
//!   y[0] += sum(j = t to t + 1024) B[j] * x[j]
//!   parallel i = t + 1 to t + 1025 { y[i] = D[i] * x[i - 1] }
//! } }
//! ```
//! so that each part of `x` is loaded from memory once.

use super::block_sums::cut;
use super::vectorize_streams::has_sums;
use super::walk::{Walk, each_function};
use crate::ir::*;
use crate::linear::{flatten_max, flatten_min};
use crate::passes::Context;

/// Terms of a piece: few enough that what they read stays in the nearest cache.
const PIECE: i64 = 1024;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_function(module, context, |walk, body| walk.fuse(body));
}

impl Walk<'_> {
    /// Moves loops into the partial sums before them where that is possible and gains something.
    fn fuse(&mut self, body: &mut Vec<Stmt>) {
        let mut at = 0;
        while at + 1 < body.len() {
            let (before, after) = body.split_at_mut(at + 1);
            if self.fused(&mut before[at], &after[0], &mut Vec::new()) {
                body.remove(at + 1);
            } else {
                at += 1;
            }
        }
    }

    /// Puts a loop into the partial sum that a statement is, under conditions without which the loop has no iterations.
    fn fused(&mut self, stmt: &mut Stmt, next: &Stmt, conditions: &mut Vec<Condition>) -> bool {
        match stmt {
            Stmt::If(inner) if inner.otherwise.is_empty() => {
                let [only] = &mut inner.then[..] else { return false };
                conditions.extend(inner.condition.clone().conjuncts());
                self.fused(only, next, conditions)
            }
            Stmt::Partial(partial) => match self.in_one_pass(partial, next, conditions) {
                Some(body) => {
                    partial.body = body;
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    fn in_one_pass(
        &mut self,
        partial: &Partial,
        next: &Stmt,
        conditions: &[Condition],
    ) -> Option<Vec<Stmt>> {
        let ([Stmt::Store(total)], Stmt::For(next)) = (&partial.body[..], next) else {
            return None;
        };
        let [Stmt::Store(store)] = &next.body[..] else { return None };
        let (factors, sum) = cut(&total.value)?;
        let whole = self.hint(next.var).unroll.is_none_or(|factor| factor == 1);
        let independent = next.mark == Mark::THREADS && next.step == 1 && whole;
        let reads = |value: &Value| {
            value.loads(store.buffer) || value.loads(partial.buffer) || value.loads(total.buffer)
        };
        if has_sums(&store.value) || !independent || reads(&store.value) || reads(&total.value) {
            return None;
        }
        let offset = same_loads(&sum, next.var, &store.value).into_iter().find(|offset| {
            let len = self.facts.len();
            let fits = self.fits(partial, (next, store), *offset, conditions);
            self.facts.truncate(len);
            fits
        })?;
        Some(self.pass((partial, total), (factors, sum), (next, offset)))
    }

    /// Whether all iterations of the loop belong to terms, and none stores to what the sum does.
    fn fits(
        &mut self,
        partial: &Partial,
        (next, store): (&For, &Store),
        offset: i64,
        conditions: &[Condition],
    ) -> bool {
        let any = |list: &[Index], holds: &dyn Fn(&Index) -> bool| list.iter().any(holds);
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        next.lower.iter().for_each(|bound| flatten_max(bound, &mut lower));
        next.upper.iter().for_each(|bound| flatten_min(bound, &mut upper));
        let len = self.facts.len();
        for condition in conditions {
            // Where there is no sum there is no loop.
            self.facts.assume(&condition.clone().negate());
            let empty = any(&upper, &|high| {
                any(&lower, &|low| self.known(&high.clone().at_most(low.clone())))
            });
            self.facts.truncate(len);
            if !empty {
                return false;
            }
        }
        conditions.iter().for_each(|condition| self.facts.assume(condition));
        let begins = partial.lower.iter().all(|first| {
            any(&lower, &|low| self.known(&(first.clone() + offset).at_most(low.clone())))
        });
        let ends = partial.upper.iter().all(|last| {
            any(&upper, &|high| self.known(&high.clone().at_most(last.clone() + offset)))
        });
        self.facts.assume_range(next.var, &next.lower, &next.upper);
        let (one, other) = (&store.index, &partial.base);
        let apart = store.buffer != partial.buffer
            || self.known(&one.clone().less(other.clone()))
            || self.known(&other.clone().less(one.clone()));
        begins && ends && apart && partial.extent == Index::Const(1)
    }

    /// Pieces of terms, with the iterations that read the same after each.
    fn pass(
        &mut self,
        (partial, total): (&Partial, &Store),
        (factors, sum): (Vec<Value>, Sum),
        (next, offset): (&For, i64),
    ) -> Vec<Stmt> {
        let piece = self.fresh(sum.var, "t");
        let start = Index::Var(piece);
        let (begin, end) = (Index::Var(partial.begin), Index::Var(partial.end));
        let stop = vec![end.clone(), start.clone() + PIECE];
        let first = start.clone().at_most(begin.clone());
        let zero = Stmt::set(total.buffer, total.index.clone(), Value::Const(0.0));
        let mut lower = next.lower.clone();
        lower.push(start.clone() + offset);
        let mut upper = next.upper.clone();
        upper.extend(stop.iter().map(|stop| stop.clone() + offset));
        let part = Value::Sum(Box::new(Sum { lower: vec![start], upper: stop, ..sum }));
        let value = Value::product(factors.into_iter().chain([part]));
        let store = Store { value, mode: StoreMode::Add, ..total.clone() };
        let body = vec![
            Stmt::when(first, vec![zero]),
            Stmt::Store(store),
            Stmt::For(For { lower, upper, ..next.clone() }),
        ];
        // A part without terms sets its result all the same.
        let (lower, upper) = (vec![begin.clone()], vec![end.max(begin + 1)]);
        let mark = Mark::Sequential;
        vec![Stmt::For(For { var: piece, lower, upper, step: PIECE, mark, body })]
    }
}

/// By how much iterations are beyond the terms that read the same elements, one after the other.
fn same_loads(sum: &Sum, var: VarId, value: &Value) -> Vec<i64> {
    let streams = |value: &Value, var: VarId| {
        let mut streams: Vec<(BufferId, Index)> = Vec::new();
        value.visit(&mut |value| {
            if let Value::Load(buffer, index) = value
                && index.constant_stride(var) == Some(1)
            {
                streams.push((*buffer, index.substitute(var, &Index::Const(0))));
            }
        });
        streams
    };
    let others = streams(value, var);
    let pairs = streams(&sum.body, sum.var).into_iter().flat_map(|one| {
        let same = others.iter().filter(move |(other, _)| *other == one.0);
        same.map(move |(_, other)| one.1.constant_difference(other)).collect::<Vec<_>>()
    });
    pairs.flatten().collect()
}
