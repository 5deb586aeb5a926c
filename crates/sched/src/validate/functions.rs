//! Functions of elements, as symbols of which nothing is known: a function of the loops is that of a statement if it is
//! the same function of the same elements.
//!
//! Before -> after: the statement `2 * exp(A(i, j)) * x(j)` is the product of the number 2, the element `x(j)` and
//! the value `exp(A(i, j))`; so is `2.0 * exp(A[N * i + j]) * x[j]` in the loops, where the positions are of these
//! elements.

use dastac_layout::Proof;
use dastac_loops::{Index, MathFunction, SymbolId, Value, VarId};
use dastac_stur::ast::Operation;
use dastac_stur::infer::Statement;
use dastac_stur::program::Scalar;
use dastac_stur::semiring::Semiring;

use super::points::Lift;
use super::terms::{Around, Factor, Reading, Sums, Term, What};
use super::{Stop, Validator};
use crate::elements::{buffer, comparison};

/// Variables from here on stand for the reads of a statement, in expected values.
const READS: u32 = 1 << 30;

/// Variables from here on stand for the iterators of a statement, in expected values.
const ITERATORS: u32 = 1 << 31;

/// Powers up to this one are products.
const MOST_FACTORS: f64 = 4.0;

/// The read of a statement that an expected position stands for.
pub(super) fn read_of(index: &Index) -> Option<usize> {
    match index {
        Index::Var(VarId(var)) if (READS..ITERATORS).contains(var) => Some((var - READS) as usize),
        _ => None,
    }
}

/// The iterator of a statement that an expected number stands for.
pub(super) fn iterator_of(index: &Index) -> Option<usize> {
    match index {
        Index::Var(VarId(var)) if *var >= ITERATORS => Some((var - ITERATORS) as usize),
        _ => None,
    }
}

impl Validator<'_> {
    /// A statement as a sum of products, in which variables stand for its reads and its iterators.
    pub(super) fn expected(&self, statement: &Statement, sums: Sums) -> Result<Vec<Term>, Stop> {
        let Sums { semiring, zero } = sums;
        let mut factors = Vec::new();
        for (at, read) in statement.reads.iter().enumerate().filter(|(_, read)| !read.argument) {
            let what = What::Element(buffer(read.tensor), placeholder(READS, at)?);
            factors.push(Factor { what, reciprocal: read.reciprocal });
        }
        for (symbol, reciprocal) in &statement.symbols {
            let what = What::Number(Index::Symbol(symbol_id(*symbol)?));
            factors.push(Factor { what, reciprocal: *reciprocal });
        }
        let coefficient = statement.coefficient;
        let mut terms = vec![Term { coefficient, sums: Around::default(), factors }];
        let reading = Reading { naming: self.naming, semiring, zero };
        for function in &statement.functions {
            let mut value = expected_value(&function.value, statement)?;
            if semiring == Semiring::OrAnd && !matches!(value, Value::Compare(..)) {
                value = Value::Truth(Box::new(value));
            }
            let own = match function.reciprocal {
                false => reading.terms(&value),
                true => reading.terms(&(Value::constant(1.0) / value)),
            };
            terms = reading.products_of(&terms, &own.map_err(Stop::undecided)?);
        }
        Ok(terms)
    }

    /// Proves that a number of the loops is the value of an iterator.
    pub(super) fn number(
        &self,
        vars: &[VarId],
        lift: &Lift,
        (iterator, found): (&str, &Index),
    ) -> Result<bool, Stop> {
        let isl = self.inferred.sets.names.isl(iterator);
        let text = self.naming.text(found);
        let text = text.ok_or_else(|| Stop::undecided("a number that is not affine"))?;
        for (here, images) in &lift.pieces {
            let Some(image) = images.get(isl) else { return Ok(false) };
            let other = self.set(vars, &[format!("({text}) != ({image})")])?;
            if !here.is_disjoint(&other)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a value of the loops is what a statement has, at all points.
    pub(super) fn same_value(
        &self,
        statement: &Statement,
        (vars, lift): (&[VarId], &Lift),
        expected: &Value,
        found: &Value,
    ) -> Result<bool, Stop> {
        let go = |a: &Value, b: &Value| self.same_value(statement, (vars, lift), a, b);
        let all = |pairs: &[(&Value, &Value)]| -> Result<bool, Stop> {
            for (a, b) in pairs {
                if !go(a, b)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        Ok(match (expected, found) {
            (Value::Const(a), Value::Const(b)) => a == b || (a - b).abs() <= 1e-12 * a.abs(),
            (Value::Load(a, place), Value::Load(b, index)) if a == b => {
                let read = read_of(place).and_then(|at| statement.reads.get(at));
                let read = read.ok_or_else(|| Stop::undecided("an argument"))?;
                let proven = match read.sorted.is_empty() {
                    true => self.address(vars, lift, index, read.tensor, &read.subscripts),
                    false => self.sorted_address(vars, lift, index, read),
                };
                match proven {
                    Ok(()) => true,
                    Err(Stop::Not(Proof::Refuted(_))) => false,
                    Err(other) => return Err(other),
                }
            }
            (Value::FromIndex(a), Value::FromIndex(b)) => match iterator_of(a) {
                Some(at) => self.number(vars, lift, (&statement.iterators[at], b))?,
                None => a == b,
            },
            (Value::Add(..), Value::Add(..)) | (Value::Mul(..), Value::Mul(..)) => {
                let is_sum = matches!(expected, Value::Add(..));
                let (mut wanted, mut open) = (Vec::new(), Vec::new());
                flatten(expected, is_sum, &mut wanted);
                flatten(found, is_sum, &mut open);
                if wanted.len() != open.len() {
                    return Ok(false);
                }
                for one in wanted {
                    let mut at = None;
                    for (k, other) in open.iter().enumerate() {
                        if at.is_none() && go(one, other)? {
                            at = Some(k);
                        }
                    }
                    match at {
                        Some(at) => open.remove(at),
                        None => return Ok(false),
                    };
                }
                true
            }
            (Value::Div(a, b), Value::Div(c, d))
            | (Value::Min(a, b), Value::Min(c, d))
            | (Value::Max(a, b), Value::Max(c, d)) => all(&[(a, c), (b, d)])?,
            (Value::Compare(how, a, b), Value::Compare(other, c, d)) => {
                how == other && all(&[(a, c), (b, d)])?
            }
            (Value::Truth(a), Value::Truth(b)) => go(a, b)?,
            (Value::Cast(to, a), Value::Cast(other, b)) => to == other && go(a, b)?,
            (Value::Apply(function, a), Value::Apply(other, b)) => {
                let pairs: Vec<(&Value, &Value)> = a.iter().zip(b).collect();
                function == other && a.len() == b.len() && all(&pairs)?
            }
            (Value::Select(a), Value::Select(b)) => {
                let pairs: Vec<(&Value, &Value)> = a.iter().zip(b.iter()).collect();
                all(&pairs)?
            }
            _ => false,
        })
    }
}

fn placeholder(first: u32, at: usize) -> Result<Index, Stop> {
    let at = u32::try_from(at).ok().filter(|at| *at < READS);
    Ok(Index::Var(VarId(first + at.ok_or_else(|| Stop::undecided("too many factors"))?)))
}

fn symbol_id(at: usize) -> Result<SymbolId, Stop> {
    u32::try_from(at).map(SymbolId).map_err(|_| Stop::undecided("too many symbols"))
}

/// The summands of a sum, or the factors of a product.
fn flatten<'v>(value: &'v Value, is_sum: bool, parts: &mut Vec<&'v Value>) {
    match (value, is_sum) {
        (Value::Add(a, b), true) | (Value::Mul(a, b), false) => {
            flatten(a, is_sum, parts);
            flatten(b, is_sum, parts);
        }
        _ => parts.push(value),
    }
}

/// The value of a function of a statement.
fn expected_value(scalar: &Scalar, statement: &Statement) -> Result<Value, Stop> {
    let all = |parts: &[Scalar]| -> Result<Vec<Value>, Stop> {
        parts.iter().map(|part| expected_value(part, statement)).collect()
    };
    let unknown = || Stop::undecided("a function");
    Ok(match scalar {
        Scalar::Number(number) => Value::constant(*number),
        Scalar::Symbol(at) => Value::from_index(Index::Symbol(symbol_id(*at)?)),
        Scalar::Index(name) => {
            let at = statement.iterators.iter().position(|iterator| iterator == name);
            Value::from_index(placeholder(ITERATORS, at.ok_or_else(unknown)?)?)
        }
        Scalar::Element(at) => {
            let read = statement.reads.get(*at).ok_or_else(unknown)?;
            let value = Value::load(buffer(read.tensor), placeholder(READS, *at)?);
            if read.reciprocal { Value::constant(1.0) / value } else { value }
        }
        Scalar::Holds(_) => return Err(unknown()),
        Scalar::Sum(parts) => all(parts)?.into_iter().reduce(|a, b| a + b).ok_or_else(unknown)?,
        Scalar::Product(parts) => {
            all(parts)?.into_iter().reduce(|a, b| a * b).ok_or_else(unknown)?
        }
        Scalar::Apply(Operation::Function(MathFunction::Pow), parts)
            if matches!(&parts[..], [_, Scalar::Number(_)]) =>
        {
            let [base, Scalar::Number(exponent)] = &parts[..] else { return Err(unknown()) };
            power(expected_value(base, statement)?, *exponent)
        }
        Scalar::Apply(operation, parts) => {
            let mut parts = all(parts)?;
            match (operation, parts.len()) {
                (Operation::Function(function), _) => Value::apply(*function, parts),
                (Operation::Cast(element), 1) => Value::cast(*element, parts.remove(0)),
                (Operation::Where, 3) => {
                    let (test, then) = (parts.remove(0), parts.remove(0));
                    Value::select(test, then, parts.remove(0))
                }
                (_, 2) => {
                    let (a, b) = (parts.remove(0), parts.remove(0));
                    match operation {
                        Operation::Min => a.min(b),
                        Operation::Max => a.max(b),
                        Operation::Compare(how) => Value::compare(comparison(*how), a, b),
                        Operation::Divide => a / b,
                        _ => return Err(unknown()),
                    }
                }
                _ => return Err(unknown()),
            }
        }
    })
}

/// A power, as a product or a root if it is a simple one.
fn power(base: Value, exponent: f64) -> Value {
    let size = exponent.abs();
    if exponent == 0.5 {
        return Value::apply(MathFunction::Sqrt, vec![base]);
    }
    if size.fract() != 0.0 || !(1.0..=MOST_FACTORS).contains(&size) {
        return Value::apply(MathFunction::Pow, vec![base, Value::constant(exponent)]);
    }
    let mut product = base.clone();
    let mut count = 1.0;
    while count < size {
        product = product * base.clone();
        count += 1.0;
    }
    if exponent < 0.0 { Value::constant(1.0) / product } else { product }
}
