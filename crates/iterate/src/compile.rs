//! Kernels as loops over levels.
//!
//! Loop by loop in the iteration graph's order. At an iterator, each product has the cursors of its tensors' sparse
//! levels there; a product is computed where all of these are, so the points of the merge lattice are the unions of the
//! products' cursors, and at each the products whose cursors are among them go on inside (sparse convolutions, section
//! 5.1). Dense levels are located: position `p * n + i`.
//!
//! A subscript of several iterators is *reduced* by the loops of all but the last of them: each visits the coordinates
//! where what the others can reach of the level, a window on it, is not empty (section 3.1). The last one *resolves*
//! it. Positions within a window are walked from its first position on, so that no level is searched (section 5.2). A
//! level whose subscript is known when its role comes is searched for its coordinate.
//!
//! Products that do not have an iterator are computed outside of its loop. Conditions of products are bounds of the
//! last of their iterators' loops.
//!
//! Before -> after, `y(i) += A(i, j) * x(j)`, `A` in rows (`csr`):
//! `parallel i = 0 to N { for p = A.pos1[i] to A.pos1[i + 1] { y[i] += A[p] * x[A.crd1[p]] } }`; sums are made of
//! reductions as everywhere.

use std::collections::{BTreeMap, BTreeSet};

use dastac_loops::linear::Facts;
use dastac_loops::{
    Case, CoIter, Condition, For, Function, Index, Mark, Mode, Module, PartitionedRange, Stmt,
    Store, StoreMode, Sum, Value, VarId, While,
};

use super::assemble::ResultMode;
use super::graph;
use super::kernel::{IterateError, Kernel, Linear, MOST_CURSORS, Walking};
use super::level::{Found, Sparse, SubscriptRole};
use super::space::on_levels;
use super::state::{At, State};
use super::walks::{Over, Walk, Walks};

/// Adds the function `name`, which sets the result, to a module. It takes the result, then the operands' buffers, each
/// once, in order.
///
/// # Errors
/// Orders of levels that contradict each other; levels that cannot be walked in order; lattices of too many points.
pub fn compile(module: &mut Module, name: &str, kernel: &Kernel) -> Result<(), IterateError> {
    let mut args = vec![(kernel.result, Mode::Out)];
    for buffer in kernel.inputs() {
        if !args.iter().any(|(known, _)| *known == buffer) {
            args.push((buffer, Mode::In));
        }
    }
    let mut function = Function::new(name, args);
    if !fill(&mut function, module, kernel)?.whole {
        let clear = cleared(&mut function, kernel);
        function.body.insert(0, clear);
    }
    module.functions.push(function);
    Ok(())
}

/// What the statements of a kernel do.
#[derive(Clone, Debug)]
pub struct Filled {
    /// They set all of the result; else they add to it, and it has to be zero before.
    pub whole: bool,
    /// What their loops go over.
    pub walks: Walks,
}

/// Fills a function that has no statements yet with those of a kernel; the module gets its workspaces.
///
/// # Errors
/// As [`compile`].
pub fn fill(
    function: &mut Function,
    module: &mut Module,
    kernel: &Kernel,
) -> Result<Filled, IterateError> {
    let kernel = &on_levels(kernel)?;
    let mut part = Function::new(function.name.clone(), Vec::new());
    part.vars = std::mem::take(&mut function.vars);
    let (body, walks) = statements(&mut part, module, kernel, &mut ResultMode::AtPlaces)?;
    (function.vars, function.body) = (part.vars, body);
    // Loops over whole extents, not over positions.
    let whole = |inner: &&For| {
        let ends = |iterator: &usize| inner.upper == [kernel.iterators[*iterator].1.clone()];
        inner.lower == [Index::Const(0)] && kernel.head.iter().any(ends)
    };
    let all = |loops: &[&For]| loops.len() == kernel.head.len() && loops.iter().all(whole);
    Ok(Filled { whole: set_once(&mut function.body, kernel, &all), walks })
}

/// What keeps a kernel from being compiled; nothing is added to the module.
pub fn obstacle(module: &Module, kernel: &Kernel) -> Option<IterateError> {
    let kernel = match on_levels(kernel) {
        Ok(kernel) => kernel,
        Err(error) => return Some(error),
    };
    let (mut scratch, mut function) = (module.clone(), Function::new("", Vec::new()));
    statements(&mut function, &mut scratch, &kernel, &mut ResultMode::AtPlaces).err()
}

/// The statements of a kernel, as they are before all passes, and what their loops go over; the module gets their
/// workspaces.
pub(super) fn statements(
    function: &mut Function,
    module: &mut Module,
    kernel: &Kernel,
    goal: &mut ResultMode,
) -> Result<(Vec<Stmt>, Walks), IterateError> {
    let order = graph::order_on_levels(kernel)?;
    let conditions = kernel.products.iter().map(|product| kernel.conditions(product)).collect();
    let (values, facts) = (BTreeMap::new(), Facts::default());
    let part = std::mem::replace(function, Function::new("", Vec::new()));
    let wanted = std::mem::take(goal);
    let mut builder = Builder {
        kernel,
        order,
        conditions,
        module,
        function: part,
        values,
        facts,
        goal: wanted,
        walks: Walks::new(),
        sequential: 0,
        parallel: 0,
    };
    let states = (0..kernel.products.len()).map(|product| State::new(kernel, product));
    let body = builder.loops(0, states.collect());
    (*function, *goal) = (builder.function, builder.goal);
    Ok((body?, builder.walks))
}

pub(super) struct Builder<'a> {
    pub(super) kernel: &'a Kernel,
    order: Vec<usize>,
    /// Of each product.
    conditions: Vec<Vec<Linear>>,
    pub(super) module: &'a mut Module,
    pub(super) function: Function,
    /// What iterators are at the current place.
    values: BTreeMap<usize, Index>,
    /// What is known of them.
    pub(super) facts: Facts,
    /// What becomes of the result.
    goal: ResultMode,
    /// What loops go over.
    pub(super) walks: Walks,
    /// How many loops around have iterations that follow each other.
    pub(super) sequential: usize,
    /// How many loops around are over all of an iterator of the head.
    parallel: usize,
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
    /// The loops of iterators from `depth` on.
    fn loops(&mut self, depth: usize, states: Vec<State>) -> Result<Vec<Stmt>, IterateError> {
        let mut tested = self.tested(&states, true, &|_, _| true);
        if tested.len() > 1 && self.goal.appends_at(depth) {
            // A coordinate that is appended is reached once: what products differ in is tested inside. What keeps
            // places within levels is not put off.
            let kernel = self.kernel;
            tested = self.tested(&states, false, &|product, condition| {
                condition >= kernel.products[product].conditions.len()
            });
        }
        self.goal.in_several(depth, tested.len());
        let mut body = Vec::new();
        for Tested { tests, stored, states } in tested {
            // Where a place is outside of its level, nothing says whether it is stored.
            let inside = guarded(stored, self.searched(depth, states)?);
            body.extend(guarded(tests, inside));
        }
        Ok(body)
    }

    /// Products at the next dense levels, with those of some conditions that are to be tested: products with the same
    /// ones together.
    fn tested(
        &self,
        states: &[State],
        presence: bool,
        which: &dyn Fn(usize, usize) -> bool,
    ) -> Vec<Tested> {
        let mut tested: Vec<Tested> = Vec::new();
        for state in states {
            let mut state = state.clone();
            self.locate(&mut state);
            let mut tests = self.tests(&mut state, which);
            let mut stored = Vec::new();
            if presence {
                stored = std::mem::take(&mut state.untested);
                let within = std::mem::take(&mut state.within);
                let open = |test: &Condition| !tests.contains(test) && !self.facts.imply(test);
                let within: Vec<Condition> = within.into_iter().filter(open).collect();
                tests.extend(within);
            }
            let same = |known: &&mut Tested| known.tests == tests && known.stored == stored;
            match tested.iter_mut().find(same) {
                Some(known) => known.states.push(state),
                None => tested.push(Tested { tests, stored, states: vec![state] }),
            }
        }
        tested
    }

    /// The loops of products whose conditions hold, where levels may have to be searched.
    fn searched(&mut self, depth: usize, states: Vec<State>) -> Result<Vec<Stmt>, IterateError> {
        let mut body = Vec::new();
        let (mut ready, count) = (Vec::new(), states.len());
        for state in states {
            if let Some(factor) = self.stored_window(&state) {
                let mut loops = Ok(Vec::new());
                let stmts = self.with_stored_window(&state, factor, &mut |builder, state| {
                    loops = builder.searched(depth, vec![state]);
                    loops.clone().unwrap_or_default()
                });
                loops?;
                body.extend(stmts);
                continue;
            }
            match self.known_level(&state) {
                Some(factor) => body.extend(self.find(depth, &state, factor)?),
                None => ready.push(state),
            }
        }
        self.goal.in_several(depth, count - ready.len() + usize::from(!ready.is_empty()));
        if !ready.is_empty() {
            body.extend(self.at_depth(depth, ready)?);
        }
        Ok(body)
    }

    /// The loops of products that have all their places and conditions at a depth.
    fn at_depth(&mut self, depth: usize, states: Vec<State>) -> Result<Vec<Stmt>, IterateError> {
        let Some(&iterator) = self.order.get(depth) else {
            return Ok(states.iter().map(|state| self.store(state)).collect());
        };
        let has = |state: &State| {
            self.kernel.head.contains(&iterator)
                || self.kernel.products[state.product].mentions(iterator)
        };
        let (inside, outside): (Vec<State>, Vec<State>) = states.into_iter().partition(has);
        let mut body = match outside.is_empty() {
            true => Vec::new(),
            false => self.at_depth(depth + 1, outside)?,
        };
        let (mut given, mut free) = (Vec::<(Index, Vec<State>)>::new(), Vec::new());
        for state in inside {
            match self.given(&state, iterator).into_iter().next() {
                None => free.push(state),
                Some(value) => match given.iter_mut().find(|(known, _)| *known == value) {
                    Some((_, states)) => states.push(state),
                    None => given.push((value, vec![state])),
                },
            }
        }
        self.goal.in_several(depth, given.len() + usize::from(!free.is_empty()));
        for (value, states) in given {
            body.extend(self.at_value(depth, iterator, &value, states)?);
        }
        if !free.is_empty() {
            body.extend(self.one(depth, iterator, free)?);
        }
        Ok(body)
    }

    /// The positions of elements that an iterator is equal to in a product.
    fn given(&self, state: &State, iterator: usize) -> Vec<Index> {
        let factors = &self.kernel.products[state.product].factors;
        let own = factors.iter().zip(&state.places);
        let own = own.filter(|(factor, _)| factor.position == Some(iterator));
        own.filter_map(|(_, place)| match &place.at {
            At::Position(position) => Some(position.clone()),
            At::Segment(..) => None,
        })
        .collect()
    }

    /// What is inside of an iterator that has one value, the position of an element.
    fn at_value(
        &mut self,
        depth: usize,
        iterator: usize,
        value: &Index,
        mut states: Vec<State>,
    ) -> Result<Vec<Stmt>, IterateError> {
        let range = self.range(iterator, &mut states);
        let never_negative = |lower: &&Index| lower.as_const().is_none_or(|lower| lower > 0);
        let lower = range.lower.iter().filter(never_negative);
        let mut tests: Vec<Condition> =
            lower.map(|lower| lower.clone().at_most(value.clone())).collect();
        tests.extend(range.upper.iter().map(|upper| value.clone().less(upper.clone())));
        let known = self.facts.len();
        tests.iter().for_each(|test| self.facts.assume(test));
        self.values.insert(iterator, value.clone());
        let mut body = Ok(Vec::new());
        let mut inside: Vec<(Vec<Condition>, Vec<State>)> = Vec::new();
        for state in states {
            let others = self.given(&state, iterator).into_iter().filter(|other| other != value);
            let equal: Vec<Condition> = others.map(|other| other.equal(value.clone())).collect();
            match inside.iter_mut().find(|(known, _)| *known == equal) {
                Some((_, states)) => states.push(state),
                None => inside.push((equal, vec![state])),
            }
        }
        self.goal.in_several(depth, inside.len());
        for (equal, states) in inside {
            body = body.and_then(|mut body: Vec<Stmt>| {
                let one = self.loops(depth + 1, states)?;
                match equal.is_empty() {
                    true => body.extend(one),
                    false => body.push(Stmt::when(Condition::all(equal), one)),
                }
                Ok(body)
            });
        }
        self.values.remove(&iterator);
        self.facts.truncate(known);
        let body = self.goal.marked(&mut self.function, iterator, value.clone(), body?);
        Ok(match tests.is_empty() {
            true => body,
            false => vec![Stmt::when(Condition::all(tests), body)],
        })
    }

    /// The loop of one iterator, around products that have it.
    fn one(
        &mut self,
        depth: usize,
        iterator: usize,
        mut states: Vec<State>,
    ) -> Result<Vec<Stmt>, IterateError> {
        let range = self.range(iterator, &mut states);
        let sparse = self.levels(iterator, &range, &states);
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
        if sparse.is_empty()
            && self.kernel.walking == Walking::Subsections
            && let Some(body) = self.over_windows(depth, iterator, &range, &states)?
        {
            return Ok(body);
        }
        match (&sparse[..], points.len()) {
            ([], _) => self.over_range(depth, iterator, &range, states),
            ([only], 1)
                if only.is_each()
                    && self.is_one_entry(only)
                    && !(only.repeats() && self.goal.appends_at(depth)) =>
            {
                self.over_positions(depth, iterator, &range, states, only)
            }
            _ => {
                if let Some(one) = sparse.iter().find(|one| !one.ordered) {
                    let (operand, level) = one.name;
                    return Err(IterateError::Level { operand, level });
                }
                // Loops around that threads share are enough, unless they are over a few batches of what windows go
                // over.
                let enough = self.parallel > 0
                    && sparse.iter().all(|one| one.role == SubscriptRole::Resolves);
                let one = self.sequential > 0 || self.goal.appends() || enough;
                if one || self.mark(iterator, &states) == Mark::Sequential {
                    return self.walk(depth, iterator, &range, (&states, &sets), (&sparse, points));
                }
                // Any part of the range can be walked, so threads take parts.
                let [begin, end] = ["begin", "end"].map(|name| self.function.fresh_var(name));
                let part = Range { lower: vec![Index::Var(begin)], upper: vec![Index::Var(end)] };
                let sparse = self.levels(iterator, &part, &states);
                let body =
                    self.walk(depth, iterator, &part, (&states, &sets), (&sparse, points))?;
                let (lower, upper, step, work) = (range.lower, range.upper, 1, None);
                let partitioned = PartitionedRange { begin, end, lower, upper, step, work, body };
                Ok(vec![Stmt::Partitioned(partitioned)])
            }
        }
    }

    /// The sparse levels that products have at an iterator.
    fn levels(&mut self, iterator: usize, range: &Range, states: &[State]) -> Vec<Sparse> {
        let mut sparse: Vec<Sparse> = Vec::new();
        for state in states {
            for factor in 0..state.places.len() {
                let Some(level) = self.level(iterator, range, state, factor) else { continue };
                match sparse.iter_mut().find(|one| one.is_same(&level)) {
                    Some(same) => same.users.extend(level.users),
                    None => sparse.push(level),
                }
            }
        }
        sparse
    }

    /// Whether a position stands for one element of each tensor, of which no other has the coordinate too: tensors
    /// whose entries repeat coordinates may be read at several elements that have one in common.
    fn is_one_entry(&self, level: &Sparse) -> bool {
        let subscripts = |(product, factor): &(usize, usize)| {
            &self.kernel.products[*product].factors[*factor].subscripts
        };
        level.unique
            || level.users.iter().all(|user| {
                let mut others = level.users.iter().filter(|other| other.0 == user.0);
                others.all(|other| subscripts(other) == subscripts(user))
            })
    }

    /// A loop over all of a range.
    fn over_range(
        &mut self,
        depth: usize,
        iterator: usize,
        range: &Range,
        states: Vec<State>,
    ) -> Result<Vec<Stmt>, IterateError> {
        let var = self.iterator_var(iterator);
        self.walks.insert(var, Walk::new(Some(iterator), Over::Range, []));
        let known = self.facts.len();
        self.facts.assume_range(var, &range.lower, &range.upper);
        let mut mark = self.mark(iterator, &states);
        let around = (self.sequential, self.parallel);
        match mark {
            Mark::Sequential => self.sequential += 1,
            _ => self.parallel += 1,
        }
        let body = self.inside(depth, iterator, Index::Var(var), states);
        (self.sequential, self.parallel) = around;
        self.facts.truncate(known);
        let body = body?;
        if body.iter().any(is_shared) {
            mark = Mark::Sequential;
        }
        let (lower, upper) = (range.lower.clone(), range.upper.clone());
        Ok(vec![self.repeated(For { var, lower, upper, step: 1, mark, body })])
    }

    /// A loop over the positions of a level that is alone, each for itself.
    fn over_positions(
        &mut self,
        depth: usize,
        iterator: usize,
        range: &Range,
        states: Vec<State>,
        level: &Sparse,
    ) -> Result<Vec<Stmt>, IterateError> {
        let (cursor, single) = (&level.cursor, level.is_single());
        let position = match single {
            true => cursor.start.clone(),
            false => Index::Var(cursor.position),
        };
        let place = cursor.at(&position);
        let value = place.clone().floor_div(cursor.step);
        let mut tests = Vec::new();
        if cursor.step != 1 {
            tests.push(place.modulo(cursor.step).equal(Index::Const(0)));
        }
        if !cursor.above {
            tests.push(range.first().at_most(value.clone()));
        }
        if !cursor.below {
            tests.push(value.clone().less(range.end()));
        }
        let known = self.facts.len();
        self.facts.assume(&range.first().at_most(value.clone()));
        self.facts.assume(&value.clone().less(range.end()));
        let at = At::Position(level.position(&position));
        let mark = self.mark(iterator, &states);
        let states = states.into_iter().map(|state| level.found(state, &at, &value)).collect();
        self.sequential += 1;
        let body = self.inside(depth, iterator, value, states);
        self.sequential -= 1;
        self.facts.truncate(known);
        let mut body = body?;
        if !tests.is_empty() {
            body = vec![Stmt::when(Condition::all(tests), body)];
        }
        if single {
            return Ok(body);
        }
        if !level.ordered || !level.unique {
            self.goal.out_of_order(depth);
        }
        // Elements that are beside those of a level are at different positions.
        self.walks.insert(cursor.position, level.walk(iterator));
        let distinct = level.unique || self.goal.factor().is_some();
        let mark = if distinct { mark } else { Mark::Sequential };
        let (lower, upper) = (vec![cursor.start.clone()], vec![cursor.end.clone()]);
        Ok(vec![self.repeated(For { var: cursor.position, lower, upper, step: 1, mark, body })])
    }

    /// A walk over the coordinates where levels are.
    fn walk(
        &mut self,
        depth: usize,
        iterator: usize,
        range: &Range,
        (states, sets): (&[State], &[BTreeSet<usize>]),
        (sparse, points): (&[Sparse], BTreeSet<BTreeSet<usize>>),
    ) -> Result<Vec<Stmt>, IterateError> {
        let mut points: Vec<BTreeSet<usize>> = points.into_iter().collect();
        points.sort_by_key(|point| std::cmp::Reverse(point.len()));
        let every = self.kernel.walking == Walking::Search
            && sparse.iter().any(|level| level.role == SubscriptRole::Reduces);
        if every && points.iter().all(|point| !point.is_empty()) {
            points.push(BTreeSet::new());
        }
        let var = self.iterator_var(iterator);
        let all = points.iter().any(|point| point.is_empty());
        self.walked(iterator, var, all, sparse);
        let known = self.facts.len();
        self.facts.assume_range(var, &range.lower, &range.upper);
        self.sequential += 1;
        let cases = self.cases(depth, iterator, var, (states, sets), (sparse, &points));
        self.sequential -= 1;
        self.facts.truncate(known);
        let cursors = sparse.iter().map(|one| one.cursor.clone()).collect();
        let (lower, upper, cases) = (range.first(), range.end(), cases?);
        Ok(vec![Stmt::CoIter(CoIter { var, lower, upper, cursors, cases })])
    }

    /// Keeps what the loops of a walk will go over, `all` coordinates or those where levels are.
    fn walked(&mut self, iterator: usize, var: VarId, all: bool, sparse: &[Sparse]) {
        let reducing = sparse.iter().filter(|one| one.role == SubscriptRole::Reduces);
        let over = if all { Over::Range } else { Over::Subsections };
        let operands = reducing.map(|one| one.name.0);
        self.walks.insert(var, Walk::new(Some(iterator), over, operands));
        for one in sparse {
            self.walks.insert(one.cursor.position, one.walk(iterator));
        }
    }

    /// What a walk does at the points of its lattice.
    fn cases(
        &mut self,
        depth: usize,
        iterator: usize,
        var: VarId,
        (states, sets): (&[State], &[BTreeSet<usize>]),
        (sparse, points): (&[Sparse], &[BTreeSet<usize>]),
    ) -> Result<Vec<Case>, IterateError> {
        let mut cases = Vec::new();
        for point in points {
            // Where positions repeat, those of the coordinate are a segment.
            let mut ends = Vec::new();
            let mut found: BTreeMap<usize, At> = BTreeMap::new();
            for at in point {
                let level = &sparse[*at];
                let position = Index::Var(level.cursor.position);
                let place = match level.cursor.repeats && level.role == SubscriptRole::Resolves {
                    true => {
                        let end = self.function.fresh_var("end");
                        ends.push((*at, end));
                        level.segment(&position, &Index::Var(end))
                    }
                    false => At::Position(level.position(&position)),
                };
                found.insert(*at, place);
            }
            let inside = states.iter().zip(sets).filter(|(_, set)| set.is_subset(point));
            let inside = inside.map(|(state, _)| {
                found.iter().fold(state.clone(), |state, (at, place)| {
                    sparse[*at].found(state, place, &Index::Var(var))
                })
            });
            let inside: Vec<State> = inside.collect();
            let mut body = match inside.is_empty() {
                true => Vec::new(),
                false => self.inside(depth, iterator, Index::Var(var), inside)?,
            };
            for (at, end) in ends.into_iter().rev() {
                body = vec![self.until_other_place(&sparse[at], end, body)];
            }
            cases.push(Case { cursors: point.iter().copied().collect(), body });
        }
        Ok(cases)
    }

    /// Statements with a variable for the end of the positions that have the place of a cursor's.
    fn until_other_place(&mut self, level: &Sparse, end: VarId, after: Vec<Stmt>) -> Stmt {
        let cursor = &level.cursor;
        let position = Index::Var(cursor.position);
        let same = cursor.at(&Index::Var(end)).equal(cursor.at(&position));
        self.pass_over((end, position + 1), cursor.end.clone(), same, after)
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

    /// The statements inside of an iterator's loop.
    pub(super) fn inside(
        &mut self,
        depth: usize,
        iterator: usize,
        value: Index,
        states: Vec<State>,
    ) -> Result<Vec<Stmt>, IterateError> {
        self.values.insert(iterator, value.clone());
        let body = self.loops(depth + 1, states)?;
        self.values.remove(&iterator);
        Ok(self.goal.marked(&mut self.function, iterator, value, body))
    }

    /// A level whose subscript is known is searched for it.
    fn find(
        &mut self,
        depth: usize,
        state: &State,
        factor: usize,
    ) -> Result<Vec<Stmt>, IterateError> {
        let Some(Found { level, value }) = self.search(state, factor) else {
            return Ok(Vec::new());
        };
        let cursor = &level.cursor;
        self.walks.insert(cursor.position, Walk::new(None, Over::Search, [level.name.0]));
        if !level.ordered || level.is_single() {
            if !level.unique {
                self.goal.out_of_order(depth);
            }
            let position = match level.is_single() {
                true => cursor.start.clone(),
                false => Index::Var(cursor.position),
            };
            let test = cursor.at(&position).equal(value.clone());
            let state = level.found(state.clone(), &At::Position(position), &value);
            let body = vec![Stmt::when(test, self.loops(depth, vec![state])?)];
            let (start, end) = (cursor.start.clone(), cursor.end.clone());
            return Ok(match level.is_single() {
                true => body,
                false => vec![Stmt::For(For::new(cursor.position, start, end, body))],
            });
        }
        let position = Index::Var(cursor.position);
        let end = cursor.repeats.then(|| self.function.fresh_var("end"));
        let at = match end {
            Some(end) => level.segment(&position, &Index::Var(end)),
            None => At::Position(position),
        };
        let mut body = self.loops(depth, vec![level.found(state.clone(), &at, &value)])?;
        if let Some(end) = end {
            body = vec![self.until_other_place(&level, end, body)];
        }
        let var = self.function.fresh_var("at");
        let (lower, upper) = (value.clone(), value + 1);
        let cases = vec![Case { cursors: vec![0], body }];
        Ok(vec![Stmt::CoIter(CoIter { var, lower, upper, cursors: vec![level.cursor], cases })])
    }

    /// The range of an iterator's loop: its extent, and the conditions that it is the last iterator of. Of products
    /// that differ in these it is the smallest range around, and they keep them as tests.
    fn range(&self, iterator: usize, states: &mut [State]) -> Range {
        let mut ranges: Vec<(Range, BTreeSet<usize>)> = Vec::new();
        for state in &*states {
            let mut lower = vec![Index::Const(0)];
            let mut upper = vec![self.kernel.iterators[iterator].1.clone()];
            let mut used = BTreeSet::new();
            for (at, condition) in self.conditions[state.product].iter().enumerate() {
                let coefficient = condition.coefficient(iterator);
                let Some(rest) = self.value_but(condition, iterator) else { continue };
                if state.tested.contains(&at) || coefficient == 0 {
                    continue;
                }
                match coefficient {
                    // c * i + rest >= 0
                    1.. => {
                        lower.push((Index::Const(coefficient - 1) - rest).floor_div(coefficient))
                    }
                    _ => upper.push(rest.floor_div(-coefficient) + 1),
                }
                used.insert(at);
            }
            ranges.push((Range { lower, upper }, used));
        }
        let Some((first, _)) = ranges.first() else {
            return Range { lower: Vec::new(), upper: Vec::new() };
        };
        let same = |(range, _): &(Range, BTreeSet<usize>)| {
            range.lower == first.lower && range.upper == first.upper
        };
        if ranges.iter().all(same) {
            for (state, (_, used)) in states.iter_mut().zip(&ranges) {
                state.tested.extend(used);
            }
            return ranges.swap_remove(0).0;
        }
        let one = |indices: Option<Index>| indices.into_iter().collect();
        Range {
            lower: one(ranges.iter().map(|(range, _)| range.first()).reduce(Index::min)),
            upper: one(ranges.iter().map(|(range, _)| range.end()).reduce(Index::max)),
        }
    }

    /// Conditions of a product, of those that `which` wants, that can be decided now, and were not.
    fn tests(&self, state: &mut State, which: &dyn Fn(usize, usize) -> bool) -> Vec<Condition> {
        let mut tests = Vec::new();
        for (at, condition) in self.conditions[state.product].iter().enumerate() {
            if !which(state.product, at) {
                continue;
            }
            let Some(value) = self.value(condition) else { continue };
            let test = Index::Const(0).at_most(value);
            if state.tested.insert(at) && !self.facts.imply(&test) {
                tests.push(test);
            }
        }
        tests
    }

    /// Goes down levels that can be located, whose iterators have values.
    fn locate(&self, state: &mut State) {
        let State { product, places, untested, within, .. } = state;
        let factors = &self.kernel.products[*product].factors;
        for (factor, place) in factors.iter().zip(places) {
            let operand = &self.kernel.operands[factor.operand];
            while let (Some(level), At::Position(at)) = (operand.levels.get(place.level), &place.at)
            {
                if !level.kind.can_locate() {
                    break;
                }
                let Some(value) = self.value(&factor.subscripts[place.level]) else { break };
                let extent = &operand.extents[place.level];
                let Some(found) = level.locate(at, &value, extent) else { break };
                if found.condition.is_some() {
                    within.push(Index::Const(0).at_most(value.clone()));
                    within.push(value.less(extent.clone()));
                }
                untested.extend(found.condition);
                place.found(At::Position(found.position));
            }
        }
    }

    /// What is added to an element of the result.
    fn store(&self, state: &State) -> Stmt {
        let product = &self.kernel.products[state.product];
        let mut factors = Vec::new();
        if product.coefficient != self.kernel.semiring.one() {
            factors.push(Value::constant(product.coefficient));
        }
        for (factor, place) in product.factors.iter().zip(&state.places) {
            // A level that is not unique has a singleton behind it, so that the last one's place is a position.
            let (At::Position(at), None) = (&place.at, factor.position) else { continue };
            factors.push(Value::load(self.kernel.operands[factor.operand].values, at.clone()));
        }
        factors.extend(product.values.iter().map(|value| value.rebuild(&|leaf| self.leaf(leaf))));
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
        if tests.is_empty() { store } else { Stmt::when(Condition::all(tests), vec![store]) }
    }

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
    fn leaf(&self, leaf: &Index) -> Index {
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
    fn mark(&self, iterator: usize, states: &[State]) -> Mark {
        let products = states.iter().map(|state| state.product).collect();
        match self.kernel.tells_apart(iterator, &products) {
            true => Mark::THREADS,
            false => Mark::Sequential,
        }
    }

    /// A loop; a reduction around one addition is a sum.
    fn repeated(&self, inner: For) -> Stmt {
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
}

/// Products with the same conditions.
struct Tested {
    /// What holds at their points.
    tests: Vec<Condition>,
    /// What holds where the coordinates that were located are stored.
    stored: Vec<Condition>,
    states: Vec<State>,
}

/// Statements where conditions hold.
fn guarded(conditions: Vec<Condition>, body: Vec<Stmt>) -> Vec<Stmt> {
    match conditions.is_empty() {
        true => body,
        false => vec![Stmt::when(Condition::all(conditions), body)],
    }
}

/// Whether there is a range in parts.
fn is_shared(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.visit(&mut |stmt| found |= matches!(stmt, Stmt::Partitioned(_)));
    found
}

/// Makes additions to zeros of the result what sets it, if all there is is one nest that comes to each element once, of
/// loops that come to all.
pub(super) fn set_once(body: &mut [Stmt], kernel: &Kernel, all: &dyn Fn(&[&For]) -> bool) -> bool {
    if body.is_empty() {
        return kernel.products.is_empty();
    }
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
    let zero = kernel.semiring.zero();
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
    let zero = Stmt::set(kernel.result, place, Value::constant(kernel.semiring.zero()));
    head.iter().rev().fold(zero, |body, at| {
        let upper = kernel.iterators[*at].1.clone();
        Stmt::For(For::new(vars[at], Index::Const(0), upper, vec![body]).parallel())
    })
}
