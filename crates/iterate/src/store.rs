//! What loops store: products at elements of the result, and zeros where nothing is added up.

use std::collections::BTreeMap;

use dastac_loops::{
    BufferId, Condition, For, Function, Index, Mark, Reduction, Stmt, Store, StoreMode, Sum, Value,
};

use super::builder::Builder;
use super::kernel::{ELEMENT, Kernel};
use super::state::{At, State};

impl Builder<'_> {
    /// What is added to an element of the result.
    pub(super) fn store(&mut self, state: &State) -> Vec<Stmt> {
        self.store_times(state, None)
    }

    /// What is added to an element of the result, several times in a sum.
    pub(super) fn store_times(&mut self, state: &State, times: Option<Index>) -> Vec<Stmt> {
        let kernel = self.kernel;
        let product = &kernel.products[state.product];
        let mut factors = Vec::new();
        if product.coefficient != self.kernel.semiring.one() {
            factors.push(Value::constant(product.coefficient));
        }
        for (factor, place) in product.factors.iter().zip(&state.places) {
            if !factor.argument && factor.position.is_none() {
                let values = kernel.operands[factor.operand].values;
                factors.push(self.element(values, &place.at, kernel.reduction()));
            }
        }
        for value in &product.values {
            let value = value.rebuild(&|leaf| self.leaf(leaf));
            factors.push(self.with_elements(&value, state));
        }
        factors.extend(times.map(Value::FromIndex));
        let value = self.kernel.product_of(factors);
        let index = match self.goal.factor().map(|factor| &state.places[factor].at) {
            Some(At::Position(at)) => at.clone(),
            _ => self.kernel.place.rebuild(&|leaf| self.leaf(leaf)),
        };
        let mode = self.kernel.reduction().mode();
        let store =
            Stmt::Store(Store { buffer: self.kernel.result, index, value, mode, stream: None });
        let tests = product.tests.iter().map(|test| test.rebuild(&|leaf| self.leaf(leaf)));
        let tests: Vec<Condition> = tests.collect();
        let mut body = vec![store];
        for (marks, place) in self.goal.marks() {
            let place = place.rebuild(&|leaf| self.leaf(leaf));
            body.push(Stmt::set(marks, place, Value::FromIndex(Index::Const(1))));
        }
        if tests.is_empty() { body } else { vec![Stmt::when(Condition::all(tests), body)] }
    }
}

impl Builder<'_> {
    /// A value with the elements of factors in place of what stands for them.
    fn with_elements(&mut self, value: &Value, state: &State) -> Value {
        let Value::Load(ELEMENT, Index::Const(factor)) = value else {
            return value.map_parts(&mut |part| self.with_elements(part, state));
        };
        let factor = usize::try_from(*factor).unwrap_or(0);
        let own = &self.kernel.products[state.product].factors[factor];
        let values = self.kernel.operands[own.operand].values;
        self.element(values, &state.places[factor].at, Reduction::Sum)
    }

    /// The value of a factor. Where a last level repeats coordinates and is walked beside others, it is made of all
    /// entries at the coordinate.
    fn element(&mut self, values: BufferId, at: &At, kind: Reduction) -> Value {
        match at {
            At::Position(at) => Value::load(values, at.clone()),
            At::Segment(start, end) => {
                let var = self.function.fresh_var("entry");
                Value::Sum(Box::new(Sum {
                    kind,
                    var,
                    lower: vec![start.clone()],
                    upper: vec![end.clone()],
                    step: 1,
                    unroll: None,
                    condition: None,
                    fetch: Vec::new(),
                    body: Value::load(values, Index::Var(var)),
                }))
            }
        }
    }
}

/// Makes additions to zeros of the result what sets it, if all there is is one nest that comes to each element once, of
/// loops that come to all.
pub(super) fn set_once(body: &mut [Stmt], kernel: &Kernel, all: &dyn Fn(&[&For]) -> bool) -> bool {
    let (mut stmts, mut loops) = (&*body, Vec::new());
    while let [Stmt::For(inner)] = stmts {
        loops.push(inner);
        stmts = &inner.body;
    }
    let parallel = |inner: &&For| matches!(inner.mark, Mark::Parallel(_));
    if !loops.iter().all(parallel) || !add_to_one(stmts) || !all(&loops) {
        return false;
    }
    let Some(Stmt::Store(store)) = innermost(body).first_mut() else { return false };
    store.mode = StoreMode::Set;
    let zero = kernel.zero;
    if zero != kernel.reduction().neutral() {
        // Without products it is zero.
        let value = std::mem::replace(&mut store.value, Value::Const(zero));
        store.value = kernel.reduction().join(Value::Const(zero), value);
    }
    true
}

/// The statements inside of loops that are around nothing else.
fn innermost(body: &mut [Stmt]) -> &mut [Stmt] {
    match body {
        [Stmt::For(inner)] => innermost(&mut inner.body),
        body => body,
    }
}

/// Whether statements store to one element and do nothing else.
fn add_to_one(stmts: &[Stmt]) -> bool {
    let Some(Stmt::Store(first)) = stmts.first() else { return false };
    stmts.iter().all(|stmt| match stmt {
        Stmt::Store(store) => (store.buffer, &store.index) == (first.buffer, &first.index),
        _ => false,
    })
}

/// Sets the result to zero.
pub(super) fn cleared(function: &mut Function, kernel: &Kernel) -> Stmt {
    let (head, place) = kernel
        .unsplit
        .as_ref()
        .map_or((&kernel.head, &kernel.place), |(head, place)| (head, place));
    let vars: BTreeMap<usize, _> =
        head.iter().map(|at| (*at, function.fresh_var(kernel.iterators[*at].0.clone()))).collect();
    let place = place.rebuild(&|leaf| match leaf {
        Index::Var(var) => Index::Var(vars[&(var.0 as usize)]),
        _ => leaf.clone(),
    });
    let zero = Stmt::set(kernel.result, place, Value::constant(kernel.zero));
    head.iter().rev().fold(zero, |body, at| {
        let upper = kernel.iterators[*at].1.clone();
        Stmt::For(For::new(vars[at], Index::Const(0), upper, vec![body]).parallel())
    })
}
