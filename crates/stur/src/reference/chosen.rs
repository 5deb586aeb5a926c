//! Loops whose only value follows from integers in memory: `k` in `sum(k) (p(i) + 1 = k) * A(k)`.

use std::collections::HashMap;
use std::rc::Rc;

use super::Evaluator;
use super::code::{Code, Integers, Relation};
use super::elements::Elements;
use super::number::Number;
use crate::ast::{BinaryOp, CompareOp, Operation};
use crate::program::{Product, Rule, Scalar, TensorId};
use crate::semiring::Semiring;

/// Integers that are computed with have at most this magnitude, so that no sum or product of a few overflows.
const LARGEST: i64 = 1 << 62;

impl Evaluator<'_> {
    /// Whether integers that are read choose among the values of iterators of sums.
    pub fn has_choices(&self) -> bool {
        let mut rules = self.program.rules.iter();
        rules.any(|rule| rule.products.iter().any(|one| self.choices(rule, one).next().is_some()))
    }

    /// The slots of iterators that are compared with a value, and the values.
    fn choices<'p>(
        &self,
        rule: &'p Rule,
        product: &'p Product,
    ) -> impl Iterator<Item = (usize, &'p Scalar)> {
        let is_sparse = self.program.tensor(rule.head).format.is_some();
        let adds = rule.semiring == Semiring::SumTimes && rule.fill.is_none() && !is_sparse;
        let functions = product.functions.iter().filter(move |one| adds && !one.reciprocal);
        functions.filter_map(|function| {
            let Scalar::Apply(Operation::Compare(CompareOp::Eq), parts) = &function.value else {
                return None;
            };
            let (name, value) = match &parts[..] {
                [value, Scalar::Index(name)] | [Scalar::Index(name), value] => (name, value),
                _ => return None,
            };
            let slot = product.iterators.iter().position(|slot| slot == name)?;
            (!rule.iterators.contains(name)).then_some((slot, value))
        })
    }

    /// Relations that hold wherever a product is more than 0 times numbers: where an integer chooses one value of an
    /// iterator, all other products are 0. Slots are those of the product's iterators.
    ///
    /// There are none for results with fills or formats, which have elements where products are 0, and none of
    /// iterators of the head, over whose other values something may be infinite.
    pub(super) fn chosen(
        &self,
        rule: &Rule,
        product: &Product,
        operands: &HashMap<TensorId, Elements>,
    ) -> Vec<Relation> {
        let mut all = Vec::new();
        for (slot, value) in self.choices(rule, product) {
            let Some(code) = self.integer(product, value, operands) else { continue };
            let is_finite =
                || product.accesses.iter().all(|read| finite(operands.get(&read.tensor)));
            if !code.mentions(&|other| other == slot) && is_finite() {
                let left = Code::Slot(slot);
                all.push(Relation { left, operator: CompareOp::Eq, right: code });
            }
        }
        all
    }

    /// What is computed of integers that a product reads, iterators, and numbers.
    fn integer(
        &self,
        product: &Product,
        value: &Scalar,
        operands: &HashMap<TensorId, Elements>,
    ) -> Option<Code> {
        let joined = |operator: BinaryOp, parts: &[Scalar]| {
            let mut codes = parts.iter().map(|part| self.integer(product, part, operands));
            let first = codes.next()??;
            codes.try_fold(first, |all, code| {
                Some(Code::Op(operator, Box::new(all), Box::new(code?)))
            })
        };
        match value {
            Scalar::Number(number) if number.fract() == 0.0 && number.abs() < 1e9 => {
                Some(Code::Const(*number as i64))
            }
            Scalar::Index(name) => {
                product.iterators.iter().position(|slot| slot == name).map(Code::Slot)
            }
            Scalar::Element(at) => {
                let read = product.accesses.get(*at)?;
                let tensor = self.program.tensor(read.tensor);
                let is_there = tensor.unique.is_none() && tensor.redundancy.is_none();
                let is_integer = tensor.element.is_integer() && !read.reciprocal;
                let Some(Elements::All(array)) = operands.get(&read.tensor) else { return None };
                if !is_integer || !is_there || read.position.is_some() {
                    return None;
                }
                let integer = |at: usize| match Number::read(&array.data, at) {
                    Some(Number::Integer(value)) if value.abs() <= LARGEST => Some(value),
                    _ => None,
                };
                let of = (0..array.data.len()).map(integer).collect::<Option<Vec<i64>>>()?;
                let slots = &product.iterators;
                let subscripts = read.subscripts.iter();
                let subscripts = subscripts
                    .map(|one| Code::new(one, slots, &self.symbols))
                    .collect::<Result<_, _>>();
                let integers = Integers::new(array.shape.clone(), of, 0);
                Some(Code::Element(Rc::new(integers), subscripts.ok()?))
            }
            Scalar::Sum(parts) => joined(BinaryOp::Add, parts),
            _ => None,
        }
    }
}

/// Whether what is 0 times an operand's elements is 0.
fn finite(operand: Option<&Elements>) -> bool {
    let data = match operand {
        Some(Elements::All(array)) => &array.data,
        Some(Elements::Stored(entries)) => &entries.values,
        None => return false,
    };
    data.element().is_integer() || data.to_f64().iter().all(|value| value.is_finite())
}
