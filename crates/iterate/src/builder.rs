//! What is known while the loops of a kernel are built: where they are, the values of iterators, and what holds.

use std::collections::BTreeMap;

use dastac_loops::linear::Facts;
use dastac_loops::{
    Condition, For, Function, Index, Mark, Module, Stmt, Store, Sum, Value, VarId, While,
};

use super::kernel::{Kernel, Linear};
use super::result_mode::ResultMode;
use super::state::State;
use super::walks::Walks;

/// The loops of a kernel while they are built.
pub(super) struct Builder<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) order: Vec<usize>,
    /// Of each product.
    pub(super) conditions: Vec<Vec<Linear>>,
    pub(super) module: &'a mut Module,
    pub(super) function: Function,
    /// What iterators are at the current place.
    pub(super) values: BTreeMap<usize, Index>,
    /// What is known of them.
    pub(super) facts: Facts,
    /// What becomes of the result.
    pub(super) goal: ResultMode,
    /// What loops go over.
    pub(super) walks: Walks,
    /// How many loops around have iterations that follow each other.
    pub(super) sequential: usize,
    /// How many loops around are over all of an iterator of the head.
    pub(super) parallel: usize,
}

/// The range of a loop: from the largest of the first to the smallest of the others.
pub(super) struct Range {
    pub(super) lower: Vec<Index>,
    pub(super) upper: Vec<Index>,
}

impl Range {
    pub(super) fn first(&self) -> Index {
        self.lower.iter().cloned().reduce(Index::max).unwrap_or(Index::Const(0))
    }

    pub(super) fn end(&self) -> Index {
        self.upper.iter().cloned().reduce(Index::min).unwrap_or(Index::Const(0))
    }
}

impl Builder<'_> {
    /// The value of a linear expression, where all its iterators have theirs.
    pub(super) fn value(&self, linear: &Linear) -> Option<Index> {
        self.value_but(linear, usize::MAX)
    }

    /// The value of all of a linear expression but an iterator's part.
    pub(super) fn value_but(&self, linear: &Linear, iterator: usize) -> Option<Index> {
        let terms = linear.terms().iter().filter(|(at, _)| *at != iterator);
        let mut sum = Index::Const(0);
        for (at, coefficient) in terms {
            let value = self.values.get(at)?.clone();
            sum = match coefficient {
                -1 => sum - value,
                _ => sum + value * *coefficient,
            };
        }
        Some(sum + linear.constant.clone())
    }

    /// Whether an iterator has a value.
    pub(super) fn is_known(&self, iterator: usize) -> bool {
        self.values.contains_key(&iterator)
    }

    /// The value of an iterator that stands for it in a factor.
    pub(super) fn leaf(&self, leaf: &Index) -> Index {
        let value = match leaf {
            Index::Var(var) => self.values.get(&(var.0 as usize)),
            _ => None,
        };
        value.cloned().unwrap_or_else(|| leaf.clone())
    }

    pub(super) fn iterator_var(&mut self, iterator: usize) -> VarId {
        self.function.fresh_var(self.kernel.iterators[iterator].0.clone())
    }

    /// Iterations that set different elements may run side by side.
    pub(super) fn mark(&self, iterator: usize, states: &[State]) -> Mark {
        let products = states.iter().map(|state| state.product).collect();
        match self.kernel.tells_apart(iterator, &products) {
            true => Mark::THREADS,
            false => Mark::Sequential,
        }
    }

    /// A loop; a reduction around one addition is a sum.
    pub(super) fn repeated(&self, inner: For) -> Stmt {
        if let ([Stmt::Store(store)], Mark::Sequential) = (&inner.body[..], inner.mark)
            && !self.goal.appends()
            && !store.index.mentions(inner.var)
            && let Some(kind) = store.mode.reduction()
        {
            let For { var, lower, upper, step, .. } = inner;
            let (unroll, condition, fetch, body) = (None, None, Vec::new(), store.value.clone());
            let sum = Sum { kind, var, lower, upper, step, unroll, condition, fetch, body };
            return Stmt::Store(Store { value: Value::Sum(Box::new(sum)), ..store.clone() });
        }
        Stmt::For(inner)
    }

    /// Statements with a variable for the first position from a start on where a condition of it fails, or the end. The
    /// condition may load what is at the position: it is not asked at the end.
    pub(super) fn pass_over(
        &mut self,
        (position, start): (VarId, Index),
        end: Index,
        passed: Condition,
        after: Vec<Stmt>,
    ) -> Stmt {
        let here = Index::Var(position);
        let condition = here.clone().less(end).and(passed);
        let (vars, next) = (vec![(position, start)], vec![here + 1]);
        Stmt::While(While { vars, condition, body: Vec::new(), next, after })
    }
}
