//! Checks of a rule at some elements of its result: at those that a result with `:F` stores, as far as there is time
//! for them, and at others that are chosen at random.

use std::collections::{BTreeSet, HashMap};

use dastac_elements::{Element, Number};
use dastac_runtime::stream;
use dastac_stur::ast::ExprKind;
use dastac_stur::program::{Rule, TensorId};
use dastac_stur::reference::{Elements, Entries, Status, Walk, WalkError, position};
use rand::Rng;

use super::check::{MAX_WALK, Method};
use super::difference::{Verification, worst_of};
use super::entries::{as_places, storage};
use super::large::{Failed, Rules};
use crate::describe::id;

/// How many elements are chosen at random, at most.
const SAMPLES: u128 = 1000;

/// How often an element is chosen again that is structurally zero.
const TRIES: usize = 30;

impl Rules<'_, '_> {
    /// Compares all elements that are stored, and elements that are chosen at random.
    pub(super) fn samples(
        &self,
        rule: &Rule,
        operands: &HashMap<TensorId, Elements>,
        found: &Elements,
    ) -> Result<(Verification, Method), Failed> {
        if let Elements::Stored(entries) = found {
            let others = self.chosen(rule, operands, found, SAMPLES)?;
            let others = others.into_iter().filter(|index| entries.find(index).is_none());
            let mut all: Vec<Vec<i64>> = others.collect();
            let count = all.len() as u64;
            all.extend((0..entries.len()).map(|at| entries.at(at).to_vec()));
            all.sort();
            if let Some(verification) = self.compared_at(rule, operands, found, &all)? {
                let elements = entries.len() as u64;
                return Ok((verification, Method::Stored { elements, others: count }));
            }
        }
        let mut count = SAMPLES;
        loop {
            let all = self.chosen(rule, operands, found, count)?;
            if let Some(verification) = self.compared_at(rule, operands, found, &all)? {
                return Ok((verification, Method::Samples { elements: all.len() as u64 }));
            }
            if count == 1 {
                let why = "even one of its elements has too many products";
                return Err(WalkError::Unsupported(why).into());
            }
            count = (count / 10).max(1);
        }
    }

    /// Elements that are chosen at random, sorted: of a result with `:F` a third of those that it stores; a third where
    /// an operand stores something; of a result with structure, elements that are not structurally zero.
    fn chosen(
        &self,
        rule: &Rule,
        operands: &HashMap<TensorId, Elements>,
        found: &Elements,
        count: u128,
    ) -> Result<Vec<Vec<i64>>, Failed> {
        let shape = self.evaluator.shape(rule.head).to_vec();
        if shape.contains(&0) {
            return Ok(Vec::new());
        }
        let head = self.reference.program.tensor(rule.head);
        let is_structured =
            head.domain.is_some() || head.unique.is_some() || head.redundancy.is_some();
        let mut rng = stream(SAMPLES as u64, id(rule.head));
        let mut all = BTreeSet::new();
        for at in 0..count {
            let mut index: Vec<i64> = Vec::new();
            for _ in 0..TRIES {
                index = shape.iter().map(|extent| rng.random_range(0..*extent as i64)).collect();
                match at % 3 {
                    0 => {
                        if let Elements::Stored(entries) = found
                            && !entries.is_empty()
                        {
                            index = entries.at(rng.random_range(0..entries.len())).to_vec();
                        }
                    }
                    1 => beside(rule, operands, &shape, &mut rng, &mut index),
                    _ => {}
                }
                let is_zero = is_structured && {
                    let status = self.evaluator.is_stored(rule.head, &index);
                    status.map_err(WalkError::from)? == Status::Zero
                };
                if !is_zero {
                    break;
                }
            }
            all.insert(index);
        }
        Ok(all.into_iter().collect())
    }

    /// Compares some elements, which are sorted; `None` if they have too many products.
    fn compared_at(
        &self,
        rule: &Rule,
        operands: &HashMap<TensorId, Elements>,
        found: &Elements,
        all: &[Vec<i64>],
    ) -> Result<Option<Verification>, Failed> {
        let wanted = Entries {
            shape: self.evaluator.shape(rule.head).to_vec(),
            coordinates: all.concat(),
            values: storage(Element::I64, all.iter().map(|_| Number::Integer(1))),
        };
        let mut walk = Walk { operands, wanted: Some(&wanted), progress: &mut |_| {} };
        if self.evaluator.walk_cost(rule, &walk, MAX_WALK)? > MAX_WALK {
            return Ok(None);
        }
        let walked = self.evaluator.walk(rule, &mut walk)?;
        let head = self.reference.program.tensor(rule.head);
        let zero = self.zero(rule);
        let expected: HashMap<Vec<i64>, (Number, bool)> =
            walked.into_iter().map(|one| (one.index, (one.value, one.stored))).collect();
        let mut other = None;
        let (mut values, mut wanted) = (Vec::new(), Vec::new());
        for index in all {
            let (value, stored) = expected.get(index).copied().unwrap_or((zero, false));
            wanted.push(value);
            values.push(match found {
                Elements::Stored(entries) => {
                    let at = entries.find(index);
                    let spare = |at: usize| {
                        let zero = self.reference.program.zero(rule.head);
                        self.may_spare(rule) && entries.values.is(at, zero)
                    };
                    if at.is_some() != stored && !at.is_some_and(spare) {
                        other.get_or_insert_with(|| (index.clone(), at.is_some()));
                    }
                    at.and_then(|at| entries.values.get(at)).map_or(zero, |value| value.number())
                }
                Elements::All(array) => {
                    let at = position(&array.shape, index);
                    at.and_then(|at| array.data.get(at)).map_or(zero, |value| value.number())
                }
            });
        }
        let values = storage(head.element, values.into_iter());
        let wanted = storage(head.element, wanted.into_iter());
        let index = |at: usize| as_places(&all[at]);
        let mut worst = worst_of(&head.name, &index, &values, &wanted, self.tolerance);
        if let Some((index, is)) = other {
            worst.max_error = f64::INFINITY;
            worst.stored = Some((head.name.clone(), as_places(&index), is));
        }
        Ok(Some(worst))
    }

    /// Whether the result may store zeros where no product has a point.
    pub(super) fn may_spare(&self, rule: &Rule) -> bool {
        let head = self.reference.program.tensor(rule.head);
        let format = head.format.as_ref().map(|stored| &stored.format);
        self.reference.may_spare(self.instance, rule.head)
            || format.is_some_and(|format| format.blocks_of_results().is_some())
    }

    /// What elements are that no product reaches.
    pub(super) fn zero(&self, rule: &Rule) -> Number {
        let (program, head) = (self.reference.program, rule.head);
        let zero = program.zero(head);
        match program.tensor(head).element.is_integer() {
            true => Number::Integer(zero as i64),
            false => Number::Float(zero),
        }
    }
}

/// Moves an element to where some operand stores something, in the coordinates that are subscripts of both.
fn beside(
    rule: &Rule,
    operands: &HashMap<TensorId, Elements>,
    shape: &[usize],
    rng: &mut impl Rng,
    index: &mut [i64],
) {
    let accesses = rule.products.iter().flat_map(|product| &product.accesses);
    let stored = accesses.filter_map(|access| match operands.get(&access.tensor) {
        Some(Elements::Stored(entries)) if !entries.is_empty() => Some((access, entries)),
        _ => None,
    });
    let stored: Vec<_> = stored.collect();
    if stored.is_empty() {
        return;
    }
    let (access, entries) = stored[rng.random_range(0..stored.len())];
    let entry = entries.at(rng.random_range(0..entries.len()));
    for (subscript, at) in access.subscripts.iter().zip(entry) {
        let ExprKind::Name(name) = &subscript.kind else { continue };
        let place = rule.iterators.iter().position(|iterator| iterator == name);
        if let Some(place) = place.filter(|place| *at < shape[*place] as i64) {
            index[place] = *at;
        }
    }
}
