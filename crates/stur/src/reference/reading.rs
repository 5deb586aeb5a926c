//! What a walk computes at a point: what the dense evaluator does there, of operands that are looked up by their
//! coordinates.

use std::cell::RefCell;
use std::collections::HashMap;

use super::dense::position;
use super::elements::Elements;
use super::functions::Function;
use super::joins::Plan;
use super::number::{self, Kind, Number};
use super::structure::Status;
use super::{EvalError, Evaluator, Interval, Nest, Read, narrow, relations};
use crate::program::{Product, Rule, TensorId};
use crate::semiring::Semiring;

/// A box of up to so many elements has a byte for each to remember whether it may be stored.
const MAX_MARKS: u128 = 1 << 28;

/// What walks read, and which elements may be stored as far as that was asked for.
pub(super) struct Reading<'e, 'p, 'w> {
    evaluator: &'e Evaluator<'p>,
    operands: &'w HashMap<TensorId, Elements>,
    known: RefCell<HashMap<TensorId, Known>>,
}

/// Whether elements may be stored.
enum Known {
    /// In C order: 0 where it was not asked for, 1 if not, 2 if so.
    Marks(Vec<u8>),
    Some(HashMap<Vec<i64>, bool>),
}

/// A product at a point where it is not structurally zero, or where a result with a fill has an element.
pub(super) struct Term {
    /// What is added to the element of the head.
    pub value: Option<Number>,
    /// Whether the element is stored.
    pub stored: bool,
}

/// A rule's arithmetic.
#[derive(Clone, Copy)]
pub(super) struct Arithmetic {
    pub semiring: Semiring,
    pub kind: Kind,
    pub has_fill: bool,
}

impl<'e, 'p, 'w> Reading<'e, 'p, 'w> {
    pub fn new(
        evaluator: &'e Evaluator<'p>,
        operands: &'w HashMap<TensorId, Elements>,
    ) -> Reading<'e, 'p, 'w> {
        Reading { evaluator, operands, known: RefCell::default() }
    }

    /// The product at a point; `None` where it adds nothing to the head and stores nothing.
    pub fn term(
        &self,
        plan: &Plan<'_>,
        arithmetic: Arithmetic,
        chosen: &[usize],
        point: &[i64],
    ) -> Result<Option<Term>, EvalError> {
        let Arithmetic { semiring, kind, has_fill } = arithmetic;
        let program = self.evaluator.program;
        let mut term = plan.constant;
        let (mut is_stored, mut is_zero, mut is_placed) = (true, false, !has_fill);
        // Of arguments that are not stored the second says so only if they cannot be.
        let (mut arguments, mut possible) = (Vec::new(), Vec::new());
        for (at, read) in plan.reads.iter().enumerate() {
            let has_format = program.tensor(read.tensor).format.is_some();
            let joined = plan.joins.iter().zip(chosen).find(|(join, _)| join.read == Some(at));
            let value = match joined {
                Some(_) if read.position => {
                    is_placed = true;
                    arguments.push(None);
                    possible.push(None);
                    continue;
                }
                Some((join, entry)) => Number::read(&join.entries.values, *entry),
                None => {
                    let subscripts = read.subscripts.iter().map(|code| code.eval(point));
                    let index: Vec<i64> = subscripts.collect::<Result<_, _>>()?;
                    let found = self.stored(read.tensor, plan.plain[at], &index)?;
                    is_placed |= found.is_some() && has_format;
                    let fill = program.fill(read.tensor);
                    let inside = || position(self.evaluator.shape(read.tensor), &index).is_some();
                    let found = match found {
                        None if fill != 0.0 && inside() => Some(Number::of(kind, fill)),
                        found => found,
                    };
                    if found.is_none() {
                        let may_be = has_fill && self.may_be(read.tensor, &index)?;
                        arguments.push(None);
                        possible.push(may_be.then_some(Number::of(kind, 0.0)));
                        match (read.argument, may_be) {
                            (true, _) => {}
                            (false, true) => is_stored = false,
                            (false, false) => return Ok(None),
                        }
                        continue;
                    }
                    found
                }
            };
            is_placed |= joined.is_some();
            let Some(value) = value else {
                let tensor = self.evaluator.name(read.tensor);
                return Err(EvalError::MissingInput { tensor });
            };
            let by_value = !self.evaluator.exact[read.tensor.0] && !has_format;
            let value = match read.reciprocal {
                true if by_value && value.is_zero() => {
                    is_zero |= !read.argument;
                    value
                }
                true => value.reciprocal(),
                false => value,
            };
            arguments.push(Some(value));
            possible.push(Some(value));
            if !read.argument {
                term = number::multiply(semiring, term, value.as_kind(kind));
            }
        }
        for function in &plan.functions {
            let (value, zero) = factor(function, semiring, point, &arguments)?;
            if zero && (!has_fill || factor(function, semiring, point, &possible)?.1) {
                return Ok(None);
            }
            if !has_fill && function.leaves_out(value, semiring) {
                return Ok(None);
            }
            is_stored &= !zero;
            term = number::multiply(semiring, term, value);
        }
        let stored = is_placed && (is_stored || has_fill);
        Ok(Some(Term { value: (is_stored && !is_zero).then_some(term), stored }))
    }

    /// An element that is structurally not zero.
    fn stored(
        &self,
        tensor: TensorId,
        plain: bool,
        index: &[i64],
    ) -> Result<Option<Number>, EvalError> {
        Ok(match self.operands.get(&tensor) {
            Some(Elements::All(array)) => match position(&array.shape, index) {
                Some(at) if plain || self.may_be(tensor, index)? => Number::read(&array.data, at),
                _ => None,
            },
            Some(Elements::Stored(entries)) => {
                entries.find(index).and_then(|at| Number::read(&entries.values, at))
            }
            None => {
                let tensor = self.evaluator.name(tensor);
                return Err(EvalError::MissingInput { tensor });
            }
        })
    }

    /// Whether an element may be structurally not zero, whatever tensors with `:F` store.
    fn may_be(&self, tensor: TensorId, index: &[i64]) -> Result<bool, EvalError> {
        let shape = self.evaluator.shape(tensor);
        let Some(at) = position(shape, index) else { return Ok(false) };
        let cells = shape.iter().fold(1u128, |all, extent| all.saturating_mul(*extent as u128));
        {
            let mut known = self.known.borrow_mut();
            let known = known.entry(tensor).or_insert_with(|| match cells <= MAX_MARKS {
                true => Known::Marks(vec![0; cells as usize]),
                false => Known::Some(HashMap::new()),
            });
            match known {
                Known::Marks(marks) if marks[at] != 0 => return Ok(marks[at] == 2),
                Known::Some(some) if some.contains_key(index) => return Ok(some[index]),
                _ => {}
            }
        }
        let may_be = match self.evaluator.is_stored(tensor, index)? {
            Status::Zero => false,
            Status::Redundant { target, .. } => self.may_be(tensor, &target)?,
            Status::Unique => match self.evaluator.program.tensor(tensor).rule() {
                Some(rule) => self.may_be_computed(&self.evaluator.program.rules[rule.0], index)?,
                None => true,
            },
        };
        match self.known.borrow_mut().get_mut(&tensor) {
            Some(Known::Marks(marks)) => marks[at] = 1 + u8::from(may_be),
            Some(Known::Some(some)) => {
                some.insert(index.to_vec(), may_be);
            }
            None => {}
        }
        Ok(may_be)
    }

    /// Whether a rule has a product for an element.
    fn may_be_computed(&self, rule: &Rule, index: &[i64]) -> Result<bool, EvalError> {
        let mut accesses = rule.products.iter().flat_map(|product| &product.accesses);
        if accesses.any(|access| access.position.is_some()) {
            return Ok(true); // where an element has a position is known only when it is stored
        }
        for product in &rule.products {
            let reads = self.evaluator.reads(product)?;
            let functions = self.evaluator.functions(rule, product)?;
            let nest = self.evaluator.nest_at(rule, product, index)?;
            let some = nest
                .any(&[], &mut |point| self.may_be_at(&reads, &functions, rule.semiring, point))?;
            if some {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn may_be_at(
        &self,
        reads: &[Read],
        functions: &[Function],
        semiring: Semiring,
        point: &[i64],
    ) -> Result<bool, EvalError> {
        let mut possible = Vec::new();
        for read in reads {
            let subscripts = read.subscripts.iter().map(|code| code.eval(point));
            let index: Vec<i64> = subscripts.collect::<Result<_, _>>()?;
            let filled = self.evaluator.program.fill(read.tensor) != 0.0;
            let may_be = match filled {
                true => position(self.evaluator.shape(read.tensor), &index).is_some(),
                false => self.may_be(read.tensor, &index)?,
            };
            if !may_be && !read.argument {
                return Ok(false);
            }
            possible.push(may_be.then_some(Number::Integer(1)));
        }
        for function in functions {
            if factor(function, semiring, point, &possible)?.1 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A function as a factor, and whether it is structurally zero.
fn factor(
    function: &Function,
    semiring: Semiring,
    point: &[i64],
    arguments: &[Option<Number>],
) -> Result<(Number, bool), EvalError> {
    let value = function.value(point, arguments)?;
    let zero = value.is_zero() && !semiring.is_of_values();
    let value = value.number();
    Ok((if function.reciprocal { value.reciprocal() } else { value }, zero))
}

impl Evaluator<'_> {
    /// The loops of a product for one element of the head, whatever positions elements have.
    fn nest_at(&self, rule: &Rule, product: &Product, index: &[i64]) -> Result<Nest, EvalError> {
        let (mut ranges, mut limits) = self.limits(rule, product)?;
        for (name, at) in rule.iterators.iter().zip(index) {
            if let Some(slot) = product.iterators.iter().position(|slot| slot == name) {
                ranges[slot] = Interval::new(*at, *at);
            }
        }
        let relations = relations(&product.comparisons, &product.iterators, &self.symbols)?;
        limits.extend(relations.iter().cloned());
        narrow(&mut ranges, &limits);
        Nest::new(&product.iterators, 0, ranges, relations)
    }
}
