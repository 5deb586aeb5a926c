//! Random functionals of a rule: sums of all elements of its head, each with a random weight (Freivalds' check, for
//! sums of products of any number of factors).
//!
//! A weight is the product of one weight for each position, so that the sum over the head's elements and the sum of
//! products within each of them can be exchanged: iterators are summed away one after the other, the one first whose
//! factors have the fewest pairs of elements that fit. That costs about as much as the operands have elements, however
//! many products there are. If the head is right, the functional of its elements is the same number.
//!
//! A single wrong element always changes the functional, since no weight is 0, or even in integers; several wrong ones
//! cancel out at random only.

use std::collections::HashMap;

use super::code::{Relation, relations};
use super::elements::{Elements, WalkError};
use super::interval::{Interval, narrow};
use super::number::{self, Kind, Number};
use super::{Code, EvalError, Evaluator};
use crate::program::{Product, Rule, TensorId};
use crate::semiring::Semiring;

/// The random weight of a coordinate at a position of the head.
pub type Weights<'w> = &'w dyn Fn(usize, i64) -> i64;

/// The value of a functional.
#[derive(Clone, Copy, Debug)]
pub struct Functional {
    sum: Number,
    /// The sum of all magnitudes that were added up.
    pub magnitude: f64,
    /// How many numbers were added up.
    pub terms: u128,
}

impl Functional {
    fn zero(kind: Kind) -> Functional {
        Functional { sum: Number::of(kind, 0.0), magnitude: 0.0, terms: 0 }
    }

    fn add(&mut self, other: Functional) {
        self.sum = number::add(Semiring::SumTimes, self.sum, other.sum);
        self.magnitude += other.magnitude;
        self.terms += other.terms;
    }

    /// How far it is from another one; of integers, modulo the range of `element`.
    pub fn distance(&self, other: &Functional, element: dastac_elements::Element) -> f64 {
        match (self.sum, other.sum) {
            (Number::Integer(a), Number::Integer(b)) => {
                element.wrapped(a.wrapping_sub(b)).unsigned_abs() as f64
            }
            (a, b) => {
                let ([a, c], [b, d]) = (a.parts(), b.parts());
                (a - b).hypot(c - d)
            }
        }
    }
}

/// A factor, or what is left of some after iterators were summed away.
struct Table {
    slots: Vec<usize>,
    /// The values of the iterators, row by row.
    keys: Vec<i64>,
    /// The number in each row, and the sum of the magnitudes in it.
    values: Vec<(Number, f64)>,
}

impl Table {
    fn key(&self, row: usize) -> &[i64] {
        &self.keys[row * self.slots.len()..][..self.slots.len()]
    }

    fn push(&mut self, key: impl Iterator<Item = i64>, value: (Number, f64)) {
        self.keys.extend(key);
        self.values.push(value);
    }

    /// Where an iterator stands.
    fn column(&self, slot: usize) -> Option<usize> {
        self.slots.iter().position(|other| *other == slot)
    }
}

impl Evaluator<'_> {
    /// A functional of what a rule defines, of the given operands, by at most about `limit` steps.
    ///
    /// # Errors
    /// A rule that is not a sum of products of elements at plain subscripts, or one that takes more steps.
    pub fn functional(
        &self,
        rule: &Rule,
        operands: &HashMap<TensorId, Elements>,
        weights: Weights<'_>,
        limit: u128,
    ) -> Result<Functional, WalkError> {
        let element = self.program.tensor(rule.head).element;
        if rule.semiring != Semiring::SumTimes {
            return Err(WalkError::Unsupported("it is no sum"));
        }
        if !self.is_plain(rule.head)? {
            return Err(WalkError::Unsupported("the result has a declared structure"));
        }
        self.is_zero_elsewhere(rule)?;
        let mut sum = Functional::zero(Kind::of(element));
        for product in &rule.products {
            sum.add(self.summed(rule, product, operands, weights, limit)?);
        }
        Ok(sum)
    }

    /// The same functional of elements that were computed.
    ///
    /// # Errors
    /// More elements than memory may have.
    pub fn functional_of(
        &self,
        tensor: TensorId,
        elements: &Elements,
        weights: Weights<'_>,
    ) -> Result<Functional, EvalError> {
        let kind = Kind::of(self.program.tensor(tensor).element);
        let mut sum = Functional::zero(kind);
        for_each(elements, &mut |index, value| {
            let weight = index.iter().enumerate().map(|(at, value)| weights(at, *value));
            let value = weighted(value.as_kind(kind), weight.fold(1i64, i64::wrapping_mul));
            sum.add(Functional { sum: value, magnitude: magnitude(value), terms: 1 });
        });
        Ok(sum)
    }

    fn summed(
        &self,
        rule: &Rule,
        product: &Product,
        operands: &HashMap<TensorId, Elements>,
        weights: Weights<'_>,
        limit: u128,
    ) -> Result<Functional, WalkError> {
        let kind = Kind::of(self.program.tensor(rule.head).element);
        let mut tables = self.tables(rule, product, operands, kind)?;
        let head = |slot: usize| rule.iterators.iter().position(|n| *n == product.iterators[slot]);
        let mut constant = Number::of(kind, product.coefficient);
        for factor in &product.symbols {
            let value = Number::of_index(kind, self.symbols[factor.symbol].1);
            let value = if factor.reciprocal { value.reciprocal() } else { value };
            constant = number::multiply(Semiring::SumTimes, constant, value);
        }
        let mut slots: Vec<usize> = (0..product.iterators.len()).collect();
        let mut steps = 0u128;
        while !slots.is_empty() {
            let costs = slots.iter().map(|slot| pairs(&tables, *slot));
            let Some((at, cost)) = costs.enumerate().min_by_key(|(_, cost)| *cost) else { break };
            steps += cost;
            if steps > limit {
                return Err(WalkError::Unsupported("its factors fit in too many ways"));
            }
            let slot = slots.remove(at);
            let (with, without) =
                tables.into_iter().partition::<Vec<_>, _>(|table| table.column(slot).is_some());
            tables = without;
            let weight = |value: i64| head(slot).map_or(1, |dimension| weights(dimension, value));
            tables.extend(eliminated(with, slot, kind, &weight));
        }
        let mut sum = Functional { sum: constant, magnitude: magnitude(constant), terms: steps };
        for table in tables {
            // Without iterators, a table is one number; no row is a sum over nothing.
            let zero = (Number::of(kind, 0.0), 0.0);
            let (value, size) = table.values.first().copied().unwrap_or(zero);
            sum.sum = number::multiply(Semiring::SumTimes, sum.sum, value);
            sum.magnitude *= size;
        }
        Ok(sum)
    }

    /// The factors of a product as tables, within what its comparisons say of each iterator.
    fn tables(
        &self,
        rule: &Rule,
        product: &Product,
        operands: &HashMap<TensorId, Elements>,
        kind: Kind,
    ) -> Result<Vec<Table>, WalkError> {
        let unsupported = |why| Err(WalkError::Unsupported(why));
        if !product.functions.is_empty() {
            return unsupported("it has functions of elements");
        }
        let slots = &product.iterators;
        let all = relations(&product.comparisons, slots, &self.symbols)?;
        let about = |relation: &Relation| -> Vec<usize> {
            (0..slots.len()).filter(|slot| relation.mentions(&|other| other == *slot)).collect()
        };
        if all.iter().any(|relation| about(relation).len() > 1) {
            return unsupported("it has conditions between iterators");
        }
        let (mut ranges, mut limits) = self.limits(rule, product)?;
        for (name, extent) in rule.iterators.iter().zip(self.shape(rule.head)) {
            if let Some(slot) = slots.iter().position(|slot| slot == name) {
                ranges[slot] = Interval { low: 0, high: *extent as i128 - 1 };
            }
        }
        limits.extend(all.iter().cloned());
        narrow(&mut ranges, &limits);
        let holds = |slot: usize, value: i64| -> Result<bool, EvalError> {
            let mut point = vec![0; slots.len()];
            point[slot] = value;
            let mut holds = ranges[slot].low <= value.into() && ranges[slot].high >= value.into();
            for relation in all.iter().filter(|relation| about(relation) == [slot]) {
                holds &= relation.holds(&point)?;
            }
            Ok(holds)
        };
        let mut tables = Vec::new();
        for relation in all.iter().filter(|relation| about(relation).is_empty()) {
            if !relation.holds(&vec![0; slots.len()])? {
                tables.push(Table { slots: Vec::new(), keys: Vec::new(), values: Vec::new() });
            }
        }
        for read in self.reads(product)? {
            let Some(elements) = operands.get(&read.tensor) else {
                return Err(EvalError::MissingInput { tensor: self.name(read.tensor) }.into());
            };
            let stored = matches!(elements, Elements::Stored(_));
            if read.position || !stored && !self.reads_as_array(rule, &read)? {
                return unsupported("an operand has structure that its values do not tell");
            }
            let subscripts: Option<Vec<usize>> = read
                .subscripts
                .iter()
                .map(|code| match code {
                    Code::Slot(slot) => Some(*slot),
                    _ => None,
                })
                .collect();
            let Some(subscripts) = subscripts else {
                return unsupported("it has subscripts of several iterators");
            };
            let mut own = subscripts.clone();
            own.sort_unstable();
            own.dedup();
            let mut table = Table { slots: own.clone(), keys: Vec::new(), values: Vec::new() };
            let mut failed = None;
            for_each(elements, &mut |index, value| {
                let value = if read.reciprocal { value.reciprocal() } else { value };
                let value = value.as_kind(kind);
                let at = |slot: usize| subscripts.iter().position(|other| *other == slot);
                let fits = subscripts.iter().zip(index).try_fold(true, |fits, (slot, value)| {
                    let same = at(*slot).is_some_and(|at| index[at] == *value);
                    Ok(fits && same && holds(*slot, *value)?)
                });
                match fits {
                    Ok(true) => {
                        let key = own.iter().filter_map(|slot| at(*slot)).map(|at| index[at]);
                        table.push(key, (value, magnitude(value)));
                    }
                    Ok(false) => {}
                    Err(error) => failed = Some(error),
                }
            });
            if let Some(error) = failed {
                return Err(EvalError::into(error));
            }
            tables.push(table);
        }
        let bound: Vec<usize> = tables.iter().flat_map(|table| table.slots.clone()).collect();
        for slot in (0..slots.len()).filter(|slot| !bound.contains(slot)) {
            let Some((low, high)) = ranges[slot].finite() else {
                return Err(EvalError::Unbounded { iterator: slots[slot].clone() }.into());
            };
            let mut table = Table { slots: vec![slot], keys: Vec::new(), values: Vec::new() };
            for value in low..=high {
                if holds(slot, value)? {
                    table.push([value].into_iter(), (Number::of(kind, 1.0), 1.0));
                }
            }
            tables.push(table);
        }
        Ok(tables)
    }
}

/// How many pairs of rows fit if an iterator is summed away, or more.
fn pairs(tables: &[Table], slot: usize) -> u128 {
    let mut product: HashMap<i64, u128> = HashMap::new();
    for (at, table) in tables.iter().filter(|table| table.column(slot).is_some()).enumerate() {
        let column = table.column(slot).unwrap_or(0);
        let mut counts: HashMap<i64, u128> = HashMap::new();
        for row in 0..table.values.len() {
            *counts.entry(table.key(row)[column]).or_default() += 1;
        }
        if at == 0 {
            product = counts;
            continue;
        }
        product.retain(|value, count| match counts.get(value) {
            Some(other) => {
                *count = count.saturating_mul(*other);
                true
            }
            None => false,
        });
    }
    product.values().fold(0, |sum, count| sum.saturating_add(*count))
}

/// The product of tables with an iterator summed away, where each of its values has a weight.
fn eliminated(
    tables: Vec<Table>,
    slot: usize,
    kind: Kind,
    weight: &dyn Fn(i64) -> i64,
) -> Option<Table> {
    let joined = tables.into_iter().reduce(|left, right| joined(&left, &right))?;
    let column = joined.column(slot)?;
    let kept = |at: &usize| *at != column;
    let slots = (0..joined.slots.len()).filter(kept).map(|at| joined.slots[at]).collect();
    let mut result = Table { slots, keys: Vec::new(), values: Vec::new() };
    let mut rows: HashMap<Vec<i64>, usize> = HashMap::new();
    for (row, (value, size)) in joined.values.iter().enumerate() {
        let key = joined.key(row);
        let rest: Vec<i64> = (0..key.len()).filter(kept).map(|at| key[at]).collect();
        let factor = weight(key[column]);
        let (value, size) = (weighted(*value, factor), size * (factor as f64).abs());
        let at = *rows.entry(rest.clone()).or_insert_with(|| {
            result.push(rest.into_iter(), (Number::of(kind, 0.0), 0.0));
            result.values.len() - 1
        });
        let sum = &mut result.values[at];
        *sum = (number::add(Semiring::SumTimes, sum.0, value), sum.1 + size);
    }
    Some(result)
}

/// The rows of two tables that agree in the iterators that both have, multiplied.
fn joined(left: &Table, right: &Table) -> Table {
    let shared: Vec<(usize, usize)> = (left.slots.iter().enumerate())
        .filter_map(|(at, slot)| Some((at, right.column(*slot)?)))
        .collect();
    let own: Vec<usize> =
        (0..right.slots.len()).filter(|at| shared.iter().all(|(_, other)| other != at)).collect();
    let mut groups: HashMap<Vec<i64>, Vec<usize>> = HashMap::new();
    for row in 0..right.values.len() {
        let key = shared.iter().map(|(_, at)| right.key(row)[*at]).collect();
        groups.entry(key).or_default().push(row);
    }
    let slots = left.slots.iter().copied().chain(own.iter().map(|at| right.slots[*at])).collect();
    let mut result = Table { slots, keys: Vec::new(), values: Vec::new() };
    for (row, (value, size)) in left.values.iter().enumerate() {
        let key: Vec<i64> = shared.iter().map(|(at, _)| left.key(row)[*at]).collect();
        for other in groups.get(&key).into_iter().flatten() {
            let (factor, scale) = right.values[*other];
            let rest = own.iter().map(|at| right.key(*other)[*at]);
            let value = number::multiply(Semiring::SumTimes, *value, factor);
            result.push(left.key(row).iter().copied().chain(rest), (value, size * scale));
        }
    }
    result
}

fn weighted(value: Number, weight: i64) -> Number {
    let weight = match value {
        Number::Integer(_) => Number::Integer(weight),
        _ => Number::Real(weight as f64),
    };
    number::multiply(Semiring::SumTimes, value, weight)
}

fn magnitude(value: Number) -> f64 {
    let [re, im] = value.parts();
    re.hypot(im)
}

fn for_each(elements: &Elements, visit: &mut dyn FnMut(&[i64], Number)) {
    match elements {
        Elements::All(array) => {
            for at in 0..array.data.len() {
                if let Some(value) = Number::read(&array.data, at) {
                    visit(&super::index_at(&array.shape, at), value);
                }
            }
        }
        Elements::Stored(entries) => {
            for at in 0..entries.len() {
                if let Some(value) = Number::read(&entries.values, at) {
                    visit(entries.at(at), value);
                }
            }
        }
    }
}
