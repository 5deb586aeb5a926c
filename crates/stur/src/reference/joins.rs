//! How a product is walked: which factors are enumerated, in which order, and which loops are left.

use std::borrow::Cow;
use std::collections::HashMap;

use super::code::{Code, Relation, relations};
use super::elements::{Elements, Entries, Walk, WalkError};
use super::functions::Function;
use super::interval::{Interval, linear, narrow};
use super::nest::Nest;
use super::number::{self, Kind, Number};
use super::{EvalError, Evaluator, Read};
use crate::ast::{BinaryOp, CompareOp};
use crate::program::{Access, Element, Product, Rule, TensorId};

/// A factor whose elements are enumerated.
pub(super) struct Join<'w> {
    pub entries: Cow<'w, Entries>,
    /// The access, unless these are the elements that are wanted.
    pub read: Option<usize>,
    /// Positions whose coordinates are known from the factors before.
    keys: Vec<(usize, Code)>,
    /// The entries of each combination of these coordinates.
    groups: HashMap<Vec<i64>, Vec<usize>>,
}

/// A factor to enumerate: the access, unless these are the elements that are wanted, and the elements.
type Factor<'w> = (Option<usize>, Cow<'w, Entries>);

/// A product, prepared.
pub(super) struct Plan<'w> {
    pub joins: Vec<Join<'w>>,
    pub nest: Nest,
    pub reads: Vec<Read>,
    /// For each of these, whether all that a dense array holds may be taken as it is.
    pub plain: Vec<bool>,
    pub functions: Vec<Function>,
    /// The slot of each iterator of the head.
    pub head: Vec<usize>,
    pub constant: Number,
}

impl Evaluator<'_> {
    pub(super) fn plan<'w>(
        &self,
        rule: &Rule,
        product: &Product,
        walk: &Walk<'w>,
    ) -> Result<Plan<'w>, WalkError> {
        let reads = self.reads(product)?;
        let joins = self.joins(rule, product, &reads, walk)?;
        self.finish(rule, product, joins, Some(walk.operands))
    }

    /// Whether a product is zero wherever none of its operands with `:F` stores anything.
    pub(super) fn needs_some(
        &self,
        rule: &Rule,
        product: &Product,
        operands: &HashMap<TensorId, Elements>,
    ) -> Result<bool, WalkError> {
        let is_stored = |access: &Access| {
            self.program.fill(access.tensor) == 0.0
                && matches!(operands.get(&access.tensor), Some(Elements::Stored(_)))
        };
        if product.accesses.iter().any(|access| !access.argument && is_stored(access)) {
            return Ok(true);
        }
        let others: Vec<bool> = product.accesses.iter().map(|access| !is_stored(access)).collect();
        let functions = self.functions(rule, product)?;
        let mut all = functions.iter();
        Ok(!rule.semiring.is_of_values()
            && all.any(|function| function.vanishes(&others, product.iterators.len())))
    }

    /// The points of a product at which one of its factors stores something.
    pub(super) fn plan_of_one<'w>(
        &self,
        rule: &Rule,
        product: &Product,
        read: usize,
        entries: &'w Entries,
    ) -> Result<Plan<'w>, WalkError> {
        self.finish(rule, product, vec![(Some(read), Cow::Borrowed(entries))], None)
    }

    /// Fails for rules whose result or operands are not 0 where they store nothing.
    pub(super) fn is_zero_elsewhere(&self, rule: &Rule) -> Result<(), WalkError> {
        let mut accesses = rule.products.iter().flat_map(|product| &product.accesses);
        let filled = accesses.any(|access| self.program.fill(access.tensor) != 0.0);
        match filled || rule.fill.is_some() {
            true => Err(WalkError::Unsupported("it is not 0 where nothing is stored")),
            false => Ok(()),
        }
    }

    /// Whether it does not matter for a factor that an element in a dense array is structurally zero: there is no such
    /// element, or what stands in its place makes a product as little as if it was left out.
    ///
    /// For a head with `:F` it does matter, since it stores nothing there.
    pub(super) fn reads_as_array(&self, rule: &Rule, read: &Read) -> Result<bool, EvalError> {
        if self.program.tensor(read.tensor).rule().is_none() && self.is_plain(read.tensor)? {
            return Ok(true);
        }
        let has_zero = self.program.zero(read.tensor) == rule.semiring.zero();
        let is_factor = !read.reciprocal && !read.argument;
        Ok(is_factor && has_zero && self.program.tensor(rule.head).format.is_none())
    }

    /// The factors to enumerate, the smallest ones first, but each after one that it shares iterators with if there is
    /// such. These are the ones without which a product is zero, and elements whose positions are asked for.
    fn joins<'w>(
        &self,
        rule: &Rule,
        product: &Product,
        reads: &[Read],
        walk: &Walk<'w>,
    ) -> Result<Vec<Factor<'w>>, WalkError> {
        let functions = self.functions(rule, product)?;
        let slots = product.iterators.len();
        let vanishes = |read: usize| {
            let stored: Vec<bool> = (0..reads.len()).map(|at| at != read).collect();
            let mut all = functions.iter();
            !rule.semiring.is_of_values() && all.any(|function| function.vanishes(&stored, slots))
        };
        let mut waiting: Vec<(Option<usize>, Cow<'w, Entries>, Vec<usize>)> = Vec::new();
        for (at, read) in reads.iter().enumerate() {
            let Some(Elements::Stored(entries)) = walk.operands.get(&read.tensor) else { continue };
            let mut slots = direct(&read.subscripts);
            let position = product.accesses[at].position.as_ref();
            if let Some(name) = position {
                slots.extend(product.iterators.iter().position(|slot| slot == name));
                waiting.push((Some(at), Cow::Owned(self.positioned(read.tensor, entries)), slots));
                continue;
            }
            // Results with fills have elements where any factor is stored.
            let filled = rule.fill.is_some() || self.program.fill(read.tensor) != 0.0;
            if !filled && (!read.argument || vanishes(at)) {
                waiting.push((Some(at), Cow::Borrowed(entries), slots));
            }
        }
        let mut bound: Vec<usize> = Vec::new();
        let mut joins = Vec::new();
        if let Some(wanted) = walk.wanted {
            let slots = rule.iterators.iter();
            let slots = slots.filter_map(|name| product.iterators.iter().position(|s| s == name));
            bound.extend(slots);
            joins.push((None, Cow::Borrowed(wanted)));
        }
        while !waiting.is_empty() {
            let shared = |slots: &Vec<usize>| slots.iter().filter(|s| bound.contains(s)).count();
            let next = waiting.iter().enumerate().min_by_key(|(_, (_, entries, slots))| {
                (std::cmp::Reverse(shared(slots)), entries.len())
            });
            let next = next.map_or(0, |(at, _)| at);
            let (read, entries, slots) = waiting.remove(next);
            for slot in slots {
                if !bound.contains(&slot) {
                    bound.push(slot);
                }
            }
            joins.push((read, entries));
        }
        Ok(joins)
    }

    /// Stored elements with their positions among all of them as one more coordinate.
    fn positioned(&self, tensor: TensorId, entries: &Entries) -> Entries {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        if let Some(storage) = &self.program.tensor(tensor).format {
            order.sort_by_cached_key(|entry| {
                let index = entries.at(*entry);
                let levels = storage.format.map().levels().iter();
                levels.map(|expr| expr.value(&|at| index[at].into())).collect::<Vec<i128>>()
            });
        }
        let mut positions = vec![0; order.len()];
        for (position, entry) in (0..).zip(order) {
            positions[entry] = position;
        }
        let each = positions.iter().enumerate();
        let each = each.map(|(entry, position)| [entries.at(entry), &[*position]].concat());
        Entries {
            coordinates: each.collect::<Vec<_>>().concat(),
            shape: [&entries.shape[..], &[entries.len()]].concat(),
            values: entries.values.clone(),
        }
    }

    fn finish<'w>(
        &self,
        rule: &Rule,
        product: &Product,
        joins: Vec<Factor<'w>>,
        operands: Option<&HashMap<TensorId, Elements>>,
    ) -> Result<Plan<'w>, WalkError> {
        // Coordinates stand before the iterators, so that these are loops that equations determine.
        let coordinates: usize = joins.iter().map(|(_, entries)| entries.shape.len()).sum();
        let mut slots: Vec<String> = (0..coordinates).map(|at| format!(".{at}")).collect();
        slots.extend(product.iterators.iter().cloned());
        let code = |slot: usize| Code::Slot(coordinates + slot);
        let mut moved = product.clone();
        moved.iterators.clone_from(&slots);
        let reads = self.reads(&moved)?;
        let (mut ranges, mut limits) = self.limits(rule, &moved)?;
        let mut equations = Vec::new();
        let mut first = 0;
        let mut known: Vec<Option<usize>> = vec![None; slots.len()];
        let mut prepared = Vec::new();
        for (read, entries) in joins {
            let subscripts: Vec<Code> = match read {
                Some(read) => {
                    let mut subscripts = reads[read].subscripts.clone();
                    let position = product.accesses[read].position.as_ref();
                    let slot = |name| product.iterators.iter().position(|slot| slot == name);
                    subscripts.extend(position.and_then(slot).map(code));
                    subscripts
                }
                None => {
                    let names = rule.iterators.iter();
                    let found = names.map(|name| product.iterators.iter().position(|s| s == name));
                    found.flatten().map(code).collect()
                }
            };
            let mut keys = Vec::new();
            for (at, subscript) in subscripts.iter().enumerate() {
                let place = first + at;
                ranges[place] = Interval { low: 0, high: entries.shape[at] as i128 - 1 };
                equations.push((subscript.clone(), place));
                if let Some(key) = known_value(subscript, &known) {
                    keys.push((at, key));
                }
            }
            for (at, subscript) in subscripts.iter().enumerate() {
                if let Code::Slot(slot) = subscript {
                    known[*slot].get_or_insert(first + at);
                }
            }
            let mut groups: HashMap<Vec<i64>, Vec<usize>> = HashMap::new();
            for entry in 0..entries.len() {
                let key = keys.iter().map(|(at, _)| entries.at(entry)[*at]).collect();
                groups.entry(key).or_default().push(entry);
            }
            first += entries.shape.len();
            prepared.push(Join { entries, read, keys, groups });
        }
        if self.is_boxed(rule) {
            for (name, extent) in rule.iterators.iter().zip(self.shape(rule.head)) {
                if let Some(slot) = slots.iter().position(|slot| slot == name) {
                    ranges[slot] = Interval { low: 0, high: *extent as i128 - 1 };
                }
            }
        }
        let mut all = relations(&moved.comparisons, &slots, &self.symbols)?;
        all.extend(operands.into_iter().flat_map(|operands| self.chosen(rule, &moved, operands)));
        for (subscript, place) in equations {
            let relation = |left, right| Relation { left, operator: CompareOp::Eq, right };
            all.extend(
                solved(&subscript, place).map(|(slot, code)| relation(Code::Slot(slot), code)),
            );
            all.push(relation(subscript, Code::Slot(place)));
        }
        limits.extend(all.iter().cloned());
        narrow(&mut ranges, &limits);
        let element = self.program.tensor(rule.head).element;
        let kind = rule_kind(element);
        let mut constant = Number::of(kind, product.coefficient);
        for factor in &product.symbols {
            let value = Number::of_index(kind, self.symbols[factor.symbol].1);
            let value = if factor.reciprocal { value.reciprocal() } else { value };
            constant = number::multiply(rule.semiring, constant, value);
        }
        let head = rule.iterators.iter().filter_map(|name| slots.iter().position(|s| s == name));
        let mut plain = Vec::new();
        for read in &reads {
            plain.push(self.reads_as_array(rule, read)?);
        }
        Ok(Plan {
            plain,
            joins: prepared,
            nest: Nest::new(&slots, coordinates, ranges, all)?,
            reads,
            functions: self.functions(rule, &moved)?,
            head: head.collect(),
            constant,
        })
    }

    /// Whether all elements of a tensor's box are unique: the dimensions are the only structure, ranges of single
    /// iterators that begin at 0.
    pub fn is_plain(&self, tensor: TensorId) -> Result<bool, EvalError> {
        let declared = self.program.tensor(tensor);
        if declared.unique.is_some() || declared.redundancy.is_some() {
            return Ok(false);
        }
        let Some(domain) = &declared.domain else { return Ok(true) };
        let [region] = domain.regions.as_slice() else { return Ok(false) };
        let slots = &domain.iterators;
        let relations = relations(&region.comparisons, slots, &self.symbols)?;
        let of_one = |relation: &Relation| {
            let linear = |code| linear(code).map_or(2, |(terms, _)| terms.len());
            linear(&relation.left) + linear(&relation.right) <= 1
                && relation.operator != CompareOp::Ne
        };
        let single = relations.iter().all(of_one);
        let shape = self.shape(tensor);
        let ends = [vec![0; shape.len()], shape.iter().map(|e| *e as i64 - 1).collect()];
        if shape.contains(&0) {
            return Ok(true);
        }
        Ok(single && region.locals.is_empty() && {
            let mut inside = true;
            for end in &ends {
                inside &= self.in_domain(tensor, end)?;
            }
            inside
        })
    }
}

/// What a rule computes with. Whether a number is 0 does not depend on its kind.
pub(super) fn rule_kind(element: Element) -> Kind {
    if element == Element::Bool { Kind::Reals } else { Kind::of(element) }
}

/// The iterators that are subscripts by themselves.
fn direct(subscripts: &[Code]) -> Vec<usize> {
    let slots = subscripts.iter().filter_map(|code| match code {
        Code::Slot(slot) => Some(*slot),
        _ => None,
    });
    slots.collect()
}

/// A linear code with coordinates in place of all its iterators, if these are known.
fn known_value(code: &Code, known: &[Option<usize>]) -> Option<Code> {
    let (terms, constant) = linear(code)?;
    let mut sum = Code::Const(i64::try_from(constant).ok()?);
    for (slot, coefficient) in terms {
        let coefficient = Code::Const(i64::try_from(coefficient).ok()?);
        let term =
            Code::Op(BinaryOp::Mul, Box::new(coefficient), Box::new(Code::Slot(known[slot]?)));
        sum = Code::Op(BinaryOp::Add, Box::new(sum), Box::new(term));
    }
    Some(sum)
}

/// `subscript = coordinate` solved for each iterator that it has with the coefficient 1 or -1.
fn solved(subscript: &Code, coordinate: usize) -> impl Iterator<Item = (usize, Code)> {
    let (terms, constant) = linear(subscript).unwrap_or_default();
    let found = terms.clone().into_iter().filter(|(_, coefficient)| coefficient.abs() == 1);
    found.filter_map(move |(slot, sign)| {
        let times = |factor: i128, code: Code| {
            let factor = Code::Const(i64::try_from(factor).ok()?);
            Some(Code::Op(BinaryOp::Mul, Box::new(factor), Box::new(code)))
        };
        let mut sum = times(sign, Code::Slot(coordinate))?;
        let mut add = |term| {
            let left = std::mem::replace(&mut sum, Code::Const(0));
            sum = Code::Op(BinaryOp::Add, Box::new(left), Box::new(term));
        };
        add(Code::Const(i64::try_from(-sign * constant).ok()?));
        for (other, coefficient) in terms.iter().filter(|(other, _)| *other != slot) {
            add(times(-sign * coefficient, Code::Slot(*other))?);
        }
        Some((slot, sum))
    })
}

/// What is called with coordinates, and with the elements that they are of.
type Visit<'v> = &'v mut dyn FnMut(&[i64], &[usize]) -> Result<(), EvalError>;

/// Calls `visit` with the coordinates of every combination of elements that fit, and with the elements.
pub(super) fn each(
    joins: &[Join<'_>],
    at: usize,
    fixed: &mut Vec<i64>,
    chosen: &mut [usize],
    visit: Visit<'_>,
) -> Result<(), EvalError> {
    let Some(join) = joins.get(at) else { return visit(fixed, chosen) };
    let key = key(join, fixed)?;
    for entry in join.groups.get(&key).into_iter().flatten() {
        let before = fixed.len();
        fixed.extend_from_slice(join.entries.at(*entry));
        chosen[at] = *entry;
        each(joins, at + 1, fixed, chosen, visit)?;
        fixed.truncate(before);
    }
    Ok(())
}

fn key(join: &Join<'_>, fixed: &[i64]) -> Result<Vec<i64>, EvalError> {
    join.keys.iter().map(|(_, code)| code.eval(fixed)).collect()
}

/// How many combinations of elements fit, up to `limit`.
pub(super) fn count(
    joins: &[Join<'_>],
    fixed: &mut Vec<i64>,
    limit: u128,
) -> Result<u128, EvalError> {
    let Some((join, inner)) = joins.split_first() else { return Ok(1) };
    let key = key(join, fixed)?;
    let Some(group) = join.groups.get(&key) else { return Ok(0) };
    if inner.is_empty() {
        return Ok(group.len() as u128);
    }
    let mut sum = 0u128;
    for entry in group {
        let before = fixed.len();
        fixed.extend_from_slice(join.entries.at(*entry));
        sum += count(inner, fixed, limit)?;
        fixed.truncate(before);
        if sum > limit {
            break;
        }
    }
    Ok(sum)
}
