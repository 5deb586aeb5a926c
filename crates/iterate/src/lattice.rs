//! The loops of iterators, one inside of the other, and the merge lattice of the products at each.

use std::collections::BTreeSet;

use dastac_loops::{Condition, Cursor, Index, Mark, PartitionedRange, Stmt};

use super::builder::{Builder, Range};
use super::kernel::{IterateError, MOST_CURSORS, Walking};
use super::level::{Sparse, SubscriptRole};
use super::state::State;

/// Products with more sets of conditions are not told apart: there is a case for each set of them.
const MOST_CASES: usize = 3;

impl Builder<'_> {
    /// The loops of products whose conditions hold, where levels may have to be searched.
    pub(super) fn searched(
        &mut self,
        depth: usize,
        states: Vec<State>,
    ) -> Result<Vec<Stmt>, IterateError> {
        let mut body = Vec::new();
        let (mut ready, count) = (Vec::new(), states.len());
        // Products that are searched stand by themselves: where coordinates are appended, they are inside.
        let apart = !(count > 1 && self.goal.gathers() && self.goal.appends_at(depth));
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
            match self.known_level(&state).filter(|_| apart) {
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

    /// The loops of iterators from `depth` on.
    pub(super) fn loops(
        &mut self,
        depth: usize,
        states: Vec<State>,
    ) -> Result<Vec<Stmt>, IterateError> {
        let mut tested = self.tested(&states, true, &|_, _| true);
        if tested.len() > 1 && self.goal.appends_at(depth) {
            // A coordinate that is appended is reached once: what products differ in is tested inside. What keeps
            // places within levels is not put off.
            let kernel = self.kernel;
            tested = self.tested(&states, false, &|product, condition| {
                condition >= kernel.products[product].conditions.len()
            });
            if tested.len() > 1 && self.goal.gathers() {
                // Inside of these loops products may differ.
                tested = vec![Tested { tests: Vec::new(), stored: Vec::new(), states }];
            } else if let Some(body) = self.in_cases(depth, &tested)? {
                return Ok(body);
            }
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

    /// The loops of products by which of them have their conditions, one case for each set of them, so that each
    /// coordinate is reached once: those of rows of `A(i, j) + B(i - N, j)`, which are of `A` or of `B`.
    fn in_cases(
        &mut self,
        depth: usize,
        tested: &[Tested],
    ) -> Result<Option<Vec<Stmt>>, IterateError> {
        let presence = tested.iter().any(|one| !one.stored.is_empty());
        if !(2..=MOST_CASES).contains(&tested.len()) || presence {
            return Ok(None);
        }
        let mut body = Vec::new();
        for set in 1..1usize << tested.len() {
            let (mut tests, mut others, mut states) = (Vec::new(), Vec::new(), Vec::new());
            for (at, one) in tested.iter().enumerate() {
                if set >> at & 1 == 1 {
                    tests.extend(one.tests.iter().cloned());
                    states.extend(one.states.iter().cloned());
                } else {
                    others.push(Condition::all(one.tests.iter().cloned()).negate());
                }
            }
            let len = self.facts.len();
            tests.iter().for_each(|test| self.facts.assume(test));
            let never = tests.iter().any(|test| self.facts.imply(&test.clone().negate()));
            others.retain(|other| !self.facts.imply(other));
            tests.extend(others);
            if !never && Condition::all(tests.iter().cloned()).as_bool() != Some(false) {
                body.extend(guarded(tests, self.searched(depth, states)?));
            }
            self.facts.truncate(len);
        }
        Ok(Some(body))
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

    /// The loops of products that have all their places and conditions at a depth.
    fn at_depth(&mut self, depth: usize, states: Vec<State>) -> Result<Vec<Stmt>, IterateError> {
        let Some(&iterator) = self.order.get(depth) else {
            let mut body = Vec::new();
            for state in &states {
                body.extend(self.unless_stored(state)?);
            }
            return Ok(body);
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
            // Where products stay together, some are not as far as their element yet.
            if self.is_awaited(&state, iterator) {
                self.goal.out_of_order(depth);
            }
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
        let mut body = self.in_gaps(iterator, &range, &mut states, &sparse)?;
        if !states.is_empty() {
            body.extend(self.over_states(depth, iterator, &range, (states, sparse))?);
        }
        Ok(body)
    }

    /// The loop of one iterator over its range, with the levels that products have there.
    fn over_states(
        &mut self,
        depth: usize,
        iterator: usize,
        range: &Range,
        (mut states, mut sparse): (Vec<State>, Vec<Sparse>),
    ) -> Result<Vec<Stmt>, IterateError> {
        let ranges = self.ranges(iterator, &mut states, &sparse);
        sparse.extend(self.ranged(iterator, &ranges, None));
        let of = |state: &State| -> BTreeSet<usize> {
            let own = sparse.iter().enumerate().filter(|(_, one)| one.of(state.product));
            own.map(|(at, _)| at).collect()
        };
        let sets: Vec<BTreeSet<usize>> = states.iter().map(of).collect();
        let mut points: BTreeSet<BTreeSet<usize>> = BTreeSet::new();
        // Where what must not be stored is walked, points tell where it is.
        let forbidden = states.iter().zip(&sets).flat_map(|(state, set)| {
            let cursors = self.forbidden(state, &sparse).into_iter();
            cursors.map(move |(cursor, _)| set | &BTreeSet::from([cursor]))
        });
        let all: Vec<BTreeSet<usize>> = sets.iter().cloned().chain(forbidden).collect();
        for set in &all {
            let unions: Vec<_> = points.iter().map(|point| point | set).collect();
            points.extend(unions);
            points.insert(set.clone());
        }
        if sparse.is_empty()
            && self.kernel.walking == Walking::Subsections
            && let Some(body) = self.over_windows(depth, iterator, range, &states)?
        {
            return Ok(body);
        }
        match (&sparse[..], points.len()) {
            ([], _) => self.over_range(depth, iterator, range, states),
            ([only], 1)
                if only.is_each()
                    && self.is_one_entry(only)
                    && !(only.repeats() && self.goal.appends_at(depth)) =>
            {
                self.over_positions(depth, iterator, range, states, only)
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
                    return self.walk(depth, iterator, range, (&states, &sets), (&sparse, points));
                }
                // Any part of the range can be walked, so threads take parts.
                let [begin, end] = ["begin", "end"].map(|name| self.function.fresh_var(name));
                let part = Range { lower: vec![Index::Var(begin)], upper: vec![Index::Var(end)] };
                let mut sparse = self.levels(iterator, &part, &states);
                sparse.extend(self.ranged(iterator, &ranges, Some(&part)));
                let body =
                    self.walk(depth, iterator, &part, (&states, &sets), (&sparse, points))?;
                let (lower, upper) = (range.lower.clone(), range.upper.clone());
                let (step, work) = (1, None);
                let partitioned = PartitionedRange { begin, end, lower, upper, step, work, body };
                Ok(vec![Stmt::Partitioned(partitioned)])
            }
        }
    }

    /// The ranges of products that have no level at an iterator where others have one, and smaller ranges than these: a
    /// walk goes over them as over levels with all of their coordinates. `A(i, j) + d(i) * (i = j)` is where `A` has
    /// elements, and at one more. Their conditions count as tested.
    fn ranges(
        &self,
        iterator: usize,
        states: &mut [State],
        sparse: &[Sparse],
    ) -> Vec<(Range, Vec<usize>)> {
        let mut ranges: Vec<(Range, Vec<usize>)> = Vec::new();
        let walked = sparse.iter().all(|one| one.role == SubscriptRole::Resolves && one.ordered);
        if sparse.is_empty() || !walked || self.kernel.walking == Walking::Search {
            return ranges;
        }
        for state in states {
            if sparse.iter().any(|one| one.of(state.product)) {
                continue;
            }
            let (own, used) = self.own_range(iterator, state);
            let same = |(known, _): &(Range, Vec<usize>)| {
                known.lower == own.lower && known.upper == own.upper
            };
            match ranges.iter().position(same) {
                _ if used.is_empty() => continue,
                Some(at) => ranges[at].1.push(state.product),
                None if sparse.len() + ranges.len() >= MOST_CURSORS => continue,
                None => ranges.push((own, vec![state.product])),
            }
            state.tested.extend(used);
        }
        ranges
    }

    /// These ranges, or what of them is in a part, as levels.
    fn ranged(
        &mut self,
        iterator: usize,
        ranges: &[(Range, Vec<usize>)],
        part: Option<&Range>,
    ) -> Vec<Sparse> {
        let mut all = Vec::new();
        for (range, products) in ranges {
            let name = format!("r{}", self.kernel.iterators[iterator].0);
            let position = self.function.fresh_var(name);
            let (mut start, mut end) = (range.first(), range.end());
            if let Some(part) = part {
                (start, end) = (start.max(part.first()), end.min(part.end()));
            }
            let cursor = Cursor {
                position,
                start,
                end,
                place: Index::Var(position),
                step: 1,
                width: Index::Const(1),
                repeats: false,
                above: true,
                below: true,
            };
            all.push(Sparse {
                cursor,
                role: SubscriptRole::Resolves,
                users: Vec::new(),
                ranged: products.clone(),
                name: (usize::MAX, 0),
                ordered: true,
                unique: true,
                reversed: false,
                near: Index::Const(0),
            });
        }
        all
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
        let body = self.goal.gathered(depth + 1, body, &mut self.function);
        self.values.remove(&iterator);
        Ok(self.goal.appended(iterator, value, body))
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
