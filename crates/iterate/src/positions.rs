//! Iterators that have one value: positions of elements, where these are found, and what others define.

use dastac_loops::{Condition, Index, Stmt};

use super::builder::Builder;
use super::kernel::IterateError;
use super::state::{At, State};

impl Builder<'_> {
    /// The positions of elements that an iterator is equal to in a product.
    pub(super) fn given(&self, state: &State, iterator: usize) -> Vec<Index> {
        let factors = &self.kernel.products[state.product].factors;
        let own = factors.iter().zip(&state.places);
        let own = own.filter(|(factor, _)| factor.position == Some(iterator));
        let positions = own.filter_map(|(_, place)| match &place.at {
            At::Position(position) => Some(position.clone()),
            At::Segment(..) => None,
        });
        let defined = self.definitions(state, iterator).filter(|value| self.has_value(value));
        positions.chain(defined.map(|value| value.rebuild(&|leaf| self.leaf(leaf)))).collect()
    }

    /// The expressions that an iterator is equal to in a product.
    fn definitions(&self, state: &State, iterator: usize) -> impl Iterator<Item = &Index> {
        let all = self.kernel.products[state.product].defined.iter();
        all.filter(move |(at, _)| *at == iterator).map(|(_, value)| value)
    }

    /// Whether all iterators of an expression have values.
    fn has_value(&self, value: &Index) -> bool {
        value.free_vars().iter().all(|var| self.is_known(var.0 as usize))
    }

    /// Whether an iterator is the position of an element that is not found yet, or defined by others without values.
    pub(super) fn is_awaited(&self, state: &State, iterator: usize) -> bool {
        let factors = self.kernel.products[state.product].factors.iter().zip(&state.places);
        let position = factors.into_iter().any(|(factor, place)| {
            let levels = self.kernel.operands[factor.operand].levels.len();
            factor.position == Some(iterator) && place.level < levels
        });
        position || self.definitions(state, iterator).any(|value| !self.has_value(value))
    }

    /// What is inside of an iterator that has one value.
    pub(super) fn at_value(
        &mut self,
        depth: usize,
        iterator: usize,
        value: &Index,
        mut states: Vec<State>,
    ) -> Result<Vec<Stmt>, IterateError> {
        let range = self.range(iterator, &mut states);
        // Positions are never negative.
        let defined = states.iter().any(|state| self.definitions(state, iterator).next().is_some());
        let open = |lower: &&Index| defined || lower.as_const().is_none_or(|lower| lower > 0);
        let lower = range.lower.iter().filter(open);
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
        let body = self.goal.gathered(depth + 1, body?, &mut self.function);
        let body = self.goal.appended(iterator, value.clone(), body);
        Ok(match tests.is_empty() {
            true => body,
            false => vec![Stmt::when(Condition::all(tests), body)],
        })
    }
}
