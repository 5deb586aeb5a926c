//! Kernels as loops over levels.
//!
//! Loop by loop in the iteration graph's order. At an iterator, each product has the cursors of its tensors' sparse levels there; a product is computed where
//! all of these are, so the points of the merge lattice are the unions of the products' cursors, and at each the products whose cursors are
//! among them go on inside (sparse convolutions, section 5.1). Dense levels are located: position `p * n + i`.
//!
//! Products that do not have an iterator are computed outside of its loop.
//!
//! Before -> after, `y(i) += A(i, j) * x(j)`, `A` in rows (`csr`):
//! `parallel i = 0 to N { for p = A.pos1[i] to A.pos1[i + 1] { y[i] += A[p] * x[A.crd1[p]] } }`; sums are made of reductions as everywhere.

use std::collections::{BTreeMap, BTreeSet};

use dastac_loops::{
    Case, CoIter, Condition, Cursor, For, Function, Index, Mark, Mode, Module, Stmt, Store,
    StoreMode, Value, passes,
};

use super::graph;
use super::kernel::{IterateError, Kernel, LevelBuffers, Linear, MOST_CURSORS, Product};
use crate::format::Kind;

/// Adds the function `name`, which sets the result, to a module. It takes the result, then the operands' buffers, each once, in order.
///
/// # Errors
/// Orders of levels that contradict each other; levels that cannot be walked in order; lattices of too many points.
pub fn compile(module: &mut Module, name: &str, kernel: &Kernel) -> Result<(), IterateError> {
    let mut args = vec![(kernel.result, Mode::Out)];
    for buffer in kernel.operands.iter().flat_map(|operand| operand.buffers()) {
        if !args.iter().any(|(known, _)| *known == buffer) {
            args.push((buffer, Mode::In));
        }
    }
    let mut function = Function::new(name, args);
    let context = passes::Context { symbols: &module.symbols, buffers: &module.buffers };
    if !fill(&mut function, &context, kernel)? {
        let clear = cleared(&mut function, kernel);
        function.body.insert(0, clear);
    }
    module.functions.push(function);
    Ok(())
}

/// Fills a function that has no statements yet with those of a kernel. Gives whether they set all of the result; else they add to it, and it has to be
/// zero before.
///
/// # Errors
/// As [`compile`].
pub fn fill(
    function: &mut Function,
    context: &passes::Context<'_>,
    kernel: &Kernel,
) -> Result<bool, IterateError> {
    let order = graph::order(kernel)?;
    let vars = std::mem::take(&mut function.vars);
    let part = Function { vars, ..Function::new(function.name.clone(), Vec::new()) };
    let mut builder = Builder { kernel, order, function: part, values: BTreeMap::new() };
    let products = 0..kernel.products.len();
    let products = products.map(|product| State {
        product,
        places: kernel.products[product].factors.iter().map(|_| (0, Index::Const(0))).collect(),
    });
    let body = builder.loops(0, products.collect());
    let mut part = builder.function;
    part.body = body?;
    for pass in passes::PASSES {
        (pass.run)(&mut part, context);
    }
    (function.vars, function.body) = (part.vars, part.body);
    Ok(set_once(&mut function.body, kernel))
}

/// A product on the way to its elements: of each factor, the levels that are resolved, and the position there.
#[derive(Clone)]
struct State {
    product: usize,
    places: Vec<(usize, Index)>,
}

struct Builder<'a> {
    kernel: &'a Kernel,
    order: Vec<usize>,
    function: Function,
    /// What iterators are at the current place.
    values: BTreeMap<usize, Index>,
}

/// A sparse level at an iterator, at one place in a tensor.
struct Sparse {
    cursor: Cursor,
    /// The products' factors that are there.
    users: Vec<(usize, usize)>,
}

impl Sparse {
    fn of(&self, product: usize) -> bool {
        self.users.iter().any(|(user, _)| *user == product)
    }
}

impl Builder<'_> {
    /// The loops of iterators from `depth` on.
    fn loops(&mut self, depth: usize, states: Vec<State>) -> Result<Vec<Stmt>, IterateError> {
        if states.is_empty() {
            return Ok(Vec::new());
        }
        let Some(&iterator) = self.order.get(depth) else {
            return states.iter().map(|state| self.store(state)).collect();
        };
        let has = |state: &State| {
            self.kernel.head.contains(&iterator)
                || self.kernel.products[state.product].mentions(iterator)
        };
        let (inside, outside): (Vec<State>, Vec<State>) = states.into_iter().partition(has);
        let mut body = self.loops(depth + 1, outside)?;
        if !inside.is_empty() {
            body.push(self.one(depth, iterator, &inside)?);
        }
        Ok(body)
    }

    /// The loop of one iterator, around products that have it.
    fn one(
        &mut self,
        depth: usize,
        iterator: usize,
        states: &[State],
    ) -> Result<Stmt, IterateError> {
        let mut sparse: Vec<Sparse> = Vec::new();
        for state in states {
            let factors = &self.kernel.products[state.product].factors;
            for factor in 0..factors.len() {
                let Some(cursor) = self.cursor(iterator, state, factor)? else { continue };
                let user = (state.product, factor);
                let same = sparse.iter_mut().find(|one| same_place(&one.cursor, &cursor));
                match same {
                    Some(same) => same.users.push(user),
                    None => sparse.push(Sparse { cursor, users: vec![user] }),
                }
            }
        }
        if sparse.len() > MOST_CURSORS {
            return Err(IterateError::Cursors(sparse.len()));
        }
        let of = |state: &State| -> BTreeSet<usize> {
            let own = sparse.iter().enumerate().filter(|(_, one)| one.of(state.product));
            own.map(|(at, _)| at).collect()
        };
        let sets: Vec<BTreeSet<usize>> = states.iter().map(of).collect();
        let mut points: BTreeSet<BTreeSet<usize>> = BTreeSet::new();
        for set in &sets {
            let unions: Vec<_> = points.iter().map(|point| point | set).collect();
            points.extend(unions);
            points.insert(set.clone());
        }
        let mut points: Vec<BTreeSet<usize>> = points.into_iter().collect();
        points.sort_by_key(|point| std::cmp::Reverse(point.len()));

        let (name, extent) = self.kernel.iterators[iterator].clone();
        let head = self.kernel.head.contains(&iterator);
        let mark = if head { Mark::Parallel } else { Mark::Sequential };
        let alone = points.len() == 1;
        let (var, value) = match &sparse[..] {
            // A level alone is walked by its positions.
            [only] if alone => {
                let position = only.cursor.position;
                (position, only.cursor.at(&Index::Var(position)))
            }
            _ => {
                let var = self.function.fresh_var(name);
                (var, Index::Var(var))
            }
        };
        self.values.insert(iterator, value.clone());
        let mut cases = Vec::new();
        for point in points {
            let mut inside = Vec::new();
            for (state, set) in states.iter().zip(&sets) {
                if set.is_subset(&point) {
                    let mut state = state.clone();
                    for one in &sparse {
                        let position = || Index::Var(one.cursor.position);
                        for (product, factor) in &one.users {
                            if *product == state.product {
                                let (level, place) = &mut state.places[*factor];
                                (*level, *place) = (*level + 1, position());
                            }
                        }
                    }
                    self.locate(&mut state);
                    inside.push(state);
                }
            }
            let body = self.loops(depth + 1, inside)?;
            cases.push(Case { cursors: point.into_iter().collect(), body });
        }
        self.values.remove(&iterator);
        let range = match &sparse[..] {
            [] => Some((Index::Const(0), extent.clone())),
            [only] if alone => Some((only.cursor.start.clone(), only.cursor.end.clone())),
            _ => None,
        };
        Ok(match (range, cases.pop()) {
            (Some((lower, upper)), Some(case)) => {
                // A reduction around one addition is a sum.
                if let ([Stmt::Store(store)], Mark::Sequential) = (&case.body[..], mark) {
                    let value = Value::sum(var, lower, upper, store.value.clone());
                    return Ok(Stmt::Store(Store { value, ..store.clone() }));
                }
                let (lower, upper) = (vec![lower], vec![upper]);
                Stmt::For(For { var, lower, upper, step: 1, mark, body: case.body })
            }
            (_, last) => {
                cases.extend(last);
                let cursors = sparse.into_iter().map(|one| one.cursor).collect();
                Stmt::CoIter(CoIter { var, lower: Index::Const(0), upper: extent, cursors, cases })
            }
        })
    }

    /// The cursor of a factor's next level, if that is a sparse one of this iterator.
    fn cursor(
        &mut self,
        iterator: usize,
        state: &State,
        factor: usize,
    ) -> Result<Option<Cursor>, IterateError> {
        let own = &self.kernel.products[state.product].factors[factor];
        let operand = &self.kernel.operands[own.operand];
        let (level, place) = &state.places[factor];
        let Some(buffers) = operand.levels.get(*level) else { return Ok(None) };
        let subscript = &own.subscripts[operand.format.order()[*level]];
        if subscript.as_iterator() != Some(iterator) {
            return Ok(None);
        }
        let (start, end, coordinates) = match buffers {
            LevelBuffers::Dense => return Ok(None),
            LevelBuffers::Compressed { positions, coordinates, .. } => {
                let at = |index: Index| Index::Load(*positions, Box::new(index));
                (at(place.clone()), at(place.clone() + 1), *coordinates)
            }
            LevelBuffers::Singleton { coordinates } => {
                (place.clone(), place.clone() + 1, *coordinates)
            }
        };
        let kind = operand.format.levels()[*level];
        if !kind.ordered || !kind.unique {
            return Err(IterateError::Level { operand: own.operand, level: *level });
        }
        let position = self.function.fresh_var(format!("p{}", self.kernel.iterators[iterator].0));
        let place = Index::Load(coordinates, Box::new(Index::Var(position)));
        let (step, width) = (1, Index::Const(1));
        let (repeats, above, below) = (false, true, true);
        Ok(Some(Cursor { position, start, end, place, step, width, repeats, above, below }))
    }

    /// Goes down dense levels whose iterators have values.
    fn locate(&self, state: &mut State) {
        let factors = &self.kernel.products[state.product].factors;
        for (factor, (level, place)) in factors.iter().zip(&mut state.places) {
            let operand = &self.kernel.operands[factor.operand];
            while let Some(LevelBuffers::Dense) = operand.levels.get(*level) {
                let dimension = operand.format.order()[*level];
                let Some(value) = self.value(&factor.subscripts[dimension]) else { break };
                *place = place.clone() * operand.extents[dimension].clone() + value;
                *level += 1;
            }
        }
    }

    /// What is added to an element of the result.
    fn store(&self, state: &State) -> Result<Stmt, IterateError> {
        let product = &self.kernel.products[state.product];
        let mut factors = Vec::new();
        if product.coefficient != 1.0 {
            factors.push(Value::constant(product.coefficient));
        }
        for (factor, (level, place)) in product.factors.iter().zip(&state.places) {
            let operand = &self.kernel.operands[factor.operand];
            if *level < operand.levels.len() {
                return Err(IterateError::Repeated { operand: factor.operand });
            }
            factors.push(Value::load(operand.values, place.clone()));
        }
        factors.extend(product.values.iter().map(|value| value.rebuild(&|leaf| self.leaf(leaf))));
        let value = Value::product(factors);
        let place = self.kernel.place.rebuild(&|leaf| self.leaf(leaf));
        let store = Stmt::add(self.kernel.result, place, value);
        let tests = self.tests(product);
        Ok(if tests.is_empty() { store } else { Stmt::when(Condition::all(tests), vec![store]) })
    }

    /// The value of a linear expression, where all its iterators have theirs.
    fn value(&self, linear: &Linear) -> Option<Index> {
        linear.terms().iter().try_fold(linear.constant.clone(), |sum, (iterator, coefficient)| {
            Some(self.values.get(iterator)?.clone() * *coefficient + sum)
        })
    }

    /// The value of an iterator that stands for it in a factor.
    fn leaf(&self, leaf: &Index) -> Index {
        let value = match leaf {
            Index::Var(var) => self.values.get(&(var.0 as usize)),
            _ => None,
        };
        value.cloned().unwrap_or_else(|| leaf.clone())
    }

    /// What has to be tested where all iterators are known.
    fn tests(&self, product: &Product) -> Vec<Condition> {
        let zero = || Index::Const(0);
        let mut tests = Vec::new();
        for condition in &product.conditions {
            tests.extend(self.value(condition).map(|value| zero().at_most(value)));
        }
        for factor in &product.factors {
            let operand = &self.kernel.operands[factor.operand];
            for (level, dimension) in operand.format.levels().iter().zip(operand.format.order()) {
                let subscript = &factor.subscripts[*dimension];
                if level.kind != Kind::Dense || subscript.as_iterator().is_some() {
                    continue;
                }
                if let Some(value) = self.value(subscript) {
                    let extent = operand.extents[*dimension].clone();
                    tests.extend([zero().at_most(value.clone()), value.less(extent)]);
                }
            }
        }
        tests.extend(product.tests.iter().map(|test| test.rebuild(&|leaf| self.leaf(leaf))));
        tests
    }
}

/// Whether two cursors walk the same positions.
fn same_place(one: &Cursor, other: &Cursor) -> bool {
    let position = Index::Var(other.position);
    one.start == other.start && one.end == other.end && one.at(&position) == other.place
}

/// Makes additions to zeros of the result what sets it, if all there is is one nest that comes to each element once.
fn set_once(body: &mut [Stmt], kernel: &Kernel) -> bool {
    let [stmt] = body else { return kernel.products.is_empty() && body.is_empty() };
    let mut stmt = stmt;
    for _ in &kernel.head {
        let Stmt::For(inner) = stmt else { return false };
        // A loop over a whole extent, not over positions.
        let whole = |iterator: &usize| inner.upper == [kernel.iterators[*iterator].1.clone()];
        if inner.mark != Mark::Parallel
            || inner.lower != [Index::Const(0)]
            || !kernel.head.iter().any(whole)
        {
            return false;
        }
        let [only] = &mut inner.body[..] else { return false };
        stmt = only;
    }
    let Stmt::Store(store) = stmt else { return false };
    store.mode = StoreMode::Set;
    true
}

/// Sets the result to zero.
fn cleared(function: &mut Function, kernel: &Kernel) -> Stmt {
    let vars: BTreeMap<usize, _> = kernel
        .head
        .iter()
        .map(|at| (*at, function.fresh_var(kernel.iterators[*at].0.clone())))
        .collect();
    let place = kernel.place.rebuild(&|leaf| match leaf {
        Index::Var(var) => Index::Var(vars[&(var.0 as usize)]),
        _ => leaf.clone(),
    });
    let zero = Stmt::set(kernel.result, place, Value::constant(0.0));
    kernel.head.iter().rev().fold(zero, |body, at| {
        let upper = kernel.iterators[*at].1.clone();
        Stmt::For(For::new(vars[at], Index::Const(0), upper, vec![body]).parallel())
    })
}
