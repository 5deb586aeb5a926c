//! Rules with the products of computed operands in place of these.
//!
//! Before -> after, for `T(i, j) := B(i, k) * X(k, j)`: `C(i, j) := X(k, i) * T(k, j)` ->
//! `C(i, j) := X(k, i) * B(k, l) * X(l, j)`, which shows that `C` is symmetric if `B` is. Only symmetry and redundancy
//! are read off such a rule: its products distribute over sums, so that it has the same values, but what is executed
//! still reads `T`.

use std::collections::BTreeMap;

use super::{InferError, Space, named};
use crate::program::{Access, Product, Program, Rule, TensorId};
use crate::semiring::Semiring;
use crate::sets::{Affine, Sets};

/// Computed operands are replaced at most so often one after the other.
const MAX_ROUNDS: usize = 4;
/// A rule may have this many products then.
const MAX_PRODUCTS: usize = 8;
/// A product may have this many accesses and iterators then.
const MAX_ACCESSES: usize = 8;

/// The iteration space of a product of a rule.
type SpaceOf<'c> = &'c dyn Fn(&Rule, &Product) -> Result<Space, InferError>;

/// The same rule with more and more of its computed operands replaced.
pub(super) fn inlined(
    program: &Program,
    sets: &Sets,
    rule: &Rule,
    spaces: &[Space],
    space_of: SpaceOf<'_>,
) -> Result<Vec<(Rule, Vec<Space>)>, InferError> {
    let mut rounds: Vec<(Rule, Vec<Space>)> = Vec::new();
    let mut inliner = Inliner { program, sets, head: rule.head, space_of, fresh: 0 };
    for _ in 0..MAX_ROUNDS {
        let (last, last_spaces) = match rounds.last() {
            Some((rule, spaces)) => (rule, spaces.as_slice()),
            None => (rule, spaces),
        };
        let Some(next) = inliner.round(last, last_spaces)? else { break };
        rounds.push(next);
    }
    Ok(rounds)
}

struct Inliner<'c> {
    program: &'c Program,
    sets: &'c Sets,
    head: TensorId,
    space_of: SpaceOf<'c>,
    /// Iterators that were named here.
    fresh: usize,
}

impl<'c> Inliner<'c> {
    /// Replaces every operand that can be replaced once. `None` if there is none, or if the rule becomes too long.
    fn round(
        &mut self,
        rule: &Rule,
        spaces: &[Space],
    ) -> Result<Option<(Rule, Vec<Space>)>, InferError> {
        if rule.products.len() > MAX_PRODUCTS {
            return Ok(None);
        }
        let mut changed = false;
        let mut all = Vec::new();
        for (product, space) in rule.products.iter().zip(spaces) {
            let mut open = vec![(product.clone(), space.clone(), product.accesses.len())];
            // Accesses are taken from the last to the first; new ones are added at the end.
            while let Some((product, space, end)) = open.pop() {
                let access = (0..end).rev().find_map(|at| {
                    self.definition(rule, &product.accesses[at]).map(|inner| (at, inner))
                });
                let Some((at, inner)) = access else {
                    all.push((product, space));
                    if all.len() > MAX_PRODUCTS {
                        return Ok(None);
                    }
                    continue;
                };
                changed = true;
                for part in &inner.products {
                    let (next, space) =
                        match self.replaced(rule, (&product, &space), at, inner, part)? {
                            Some(next) => next,
                            None => return Ok(None),
                        };
                    open.push((next, space, at));
                }
                if open.len() > MAX_PRODUCTS {
                    return Ok(None);
                }
            }
        }
        if !changed {
            return Ok(None);
        }
        let (products, spaces) = all.into_iter().unzip();
        Ok(Some((Rule { products, ..rule.clone() }, spaces)))
    }

    /// The rule of an operand whose products may stand in its place.
    fn definition(&self, rule: &Rule, access: &Access) -> Option<&'c Rule> {
        let tensor = self.program.tensor(access.tensor);
        let inner = &self.program.rules[tensor.rule()?.0];
        // Elements are not rounded on the way through the operand only if all types are the same.
        let element = self.program.tensor(self.head).element;
        let mut types = inner.products.iter().flat_map(|product| &product.accesses);
        let same = tensor.element == element
            && types.all(|access| self.program.tensor(access.tensor).element == element);
        // A product with a negative number does not distribute over a maximum.
        let distributes = rule.semiring != Semiring::MaxTimes && !rule.semiring.is_of_values();
        // Functions do not distribute, and a product whose range another one bounds has none by itself.
        let plain = |rule: &Rule| rule.products.iter().all(|one| one.functions.is_empty());
        let fits = distributes
            && plain(rule)
            && plain(inner)
            && !inner.products.iter().any(|product| inner.is_open(product))
            && inner.semiring == rule.semiring
            && inner.products.iter().all(Product::is_affine);
        (same && fits && !access.reciprocal && access.position.is_none()).then_some(inner)
    }

    /// A product with a product of an operand in place of this operand.
    fn replaced(
        &mut self,
        rule: &Rule,
        (product, space): (&Product, &Space),
        at: usize,
        inner: &Rule,
        part: &Product,
    ) -> Result<Option<(Product, Space)>, InferError> {
        let mut values: BTreeMap<String, Affine> =
            inner.iterators.iter().cloned().zip(space.subscripts[at].iter().cloned()).collect();
        let mut iterators = product.iterators.clone();
        for name in part.iterators.iter().filter(|name| !inner.iterators.contains(name)) {
            let fresh = self.fresh_name(&iterators);
            values.insert(name.clone(), Affine::name(&fresh));
            iterators.push(fresh);
        }
        let inner_space = (self.space_of)(inner, part)?;
        let images: Vec<Affine> = part.iterators.iter().map(|name| values[name].clone()).collect();
        let outer = self.sets.access(&iterators, &Affine::each(&product.iterators))?;
        let below = self.sets.access(&iterators, &images)?;
        let domain = outer
            .intersect_range(&space.domain)?
            .domain()?
            .intersect(&below.intersect_range(&inner_space.domain)?.domain()?)?;
        let mut subscripts = space.subscripts.clone();
        subscripts.remove(at);
        for own in &inner_space.subscripts {
            let moved: Option<Vec<Affine>> = own.iter().map(|s| s.substitute(&values)).collect();
            let Some(moved) = moved else { return Ok(None) };
            subscripts.push(moved);
        }
        let mut next = product.clone();
        next.accesses.remove(at);
        next.accesses.extend(part.accesses.iter().cloned());
        next.symbols.extend(part.symbols.iter().cloned());
        next.coefficient = match rule.semiring {
            Semiring::SumTimes => product.coefficient * part.coefficient,
            other => other.multiply(product.coefficient, part.coefficient),
        };
        next.iterators = iterators;
        if next.accesses.len() > MAX_ACCESSES || next.iterators.len() > MAX_ACCESSES {
            return Ok(None);
        }
        let domain = named(self.sets, &domain.simplify()?, &next.iterators)?;
        Ok(Some((next, Space { domain, subscripts })))
    }

    fn fresh_name(&mut self, taken: &[String]) -> String {
        loop {
            self.fresh += 1;
            let name = format!("inlined{}", self.fresh);
            let known = self.sets.names.is_symbol(&name) || self.sets.names.original(&name) != name;
            if !known && !taken.contains(&name) {
                return name;
            }
        }
    }
}
