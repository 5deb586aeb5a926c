//! Expressions that code computes at every point of a loop nest, and for which sizes they stay within 64 bits.

use dastac_loops::{EvalError, Index, VarId};
use serde::{Deserialize, Serialize};

/// A loop nest with iterators and conditions that are computed at its points.
///
/// Variable `k` of the expressions is loop `k`, then come the definitions in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Computed {
    /// The values that each loop's iterator may have.
    pub loops: Vec<Range>,
    /// Iterators that are computed.
    pub definitions: Vec<Expression>,
    /// Both sides of conditions that are tested.
    pub compared: Vec<Expression>,
}

/// From the smallest of some expressions of the symbols to the largest of others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// None of the values is below all of them.
    pub low: Vec<Index>,
    /// None of the values is above all of them.
    pub high: Vec<Index>,
}

/// An expression of symbols and variables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expression {
    /// How to compute it.
    pub value: Index,
    /// The expression as the program writes it.
    pub text: String,
    /// Where it stands in the program's text: the first byte and the end.
    pub span: (usize, usize),
}

/// The smallest and the largest value.
type Interval = (i64, i64);

/// Iterators that are computed stay below this, in absolute value: code adds to them.
const MAX_COMPUTED: i64 = 1 << 61;

impl Computed {
    /// The first expression that may leave 64 bits for these values of the symbols.
    pub fn overflow(&self, symbols: &[i64]) -> Option<&Expression> {
        let mut variables = Vec::new();
        for range in &self.loops {
            match range.interval(symbols) {
                Ok((low, high)) if low <= high => variables.push((low, high)),
                Ok(_) => return None, // the loops have no points
                Err(_) => variables.push((i64::MIN, i64::MAX)),
            }
        }
        for definition in &self.definitions {
            let fits = |(low, high): &Interval| *low > -MAX_COMPUTED && *high < MAX_COMPUTED;
            match interval(&definition.value, symbols, &variables).filter(fits) {
                Some(interval) => variables.push(interval),
                None => return Some(definition),
            }
        }
        self.compared.iter().find(|side| interval(&side.value, symbols, &variables).is_none())
    }
}

impl Range {
    fn interval(&self, symbols: &[i64]) -> Result<Interval, EvalError> {
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        for bound in &self.low {
            low = low.min(bound.eval_symbols(symbols)?);
        }
        for bound in &self.high {
            high = high.max(bound.eval_symbols(symbols)?);
        }
        Ok((low, high))
    }
}

/// The interval of all values of an expression; `None` if a value, or one on the way to it, may exceed 64 bits.
fn interval(index: &Index, symbols: &[i64], variables: &[Interval]) -> Option<Interval> {
    let of = |index: &Index| interval(index, symbols, variables);
    match index {
        Index::Const(value) => Some((*value, *value)),
        Index::Symbol(symbol) => symbols.get(symbol.0 as usize).map(|value| (*value, *value)),
        Index::Var(VarId(var)) => variables.get(*var as usize).copied(),
        Index::Add(left, right) => {
            let (a, b) = (of(left)?, of(right)?);
            Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?))
        }
        Index::Sub(left, right) => {
            let (a, b) = (of(left)?, of(right)?);
            Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?))
        }
        Index::Mul(left, right) => corners(of(left)?, of(right)?, i64::checked_mul),
        // Rounding keeps the order of quotients.
        Index::FloorDiv(value, by) | Index::ExactDiv(value, by) => {
            corners(of(value)?, (*by, *by), i64::checked_div_euclid)
        }
        Index::Quotient(value, by) => {
            let by = of(by)?;
            (by.0 > 0).then(|| corners(of(value)?, by, i64::checked_div_euclid)).flatten()
        }
        Index::Mod(value, by) => {
            of(value)?;
            Some((0, by.checked_sub(1)?))
        }
        Index::Min(left, right) => {
            let (a, b) = (of(left)?, of(right)?);
            Some((a.0.min(b.0), a.1.min(b.1)))
        }
        Index::Max(left, right) => {
            let (a, b) = (of(left)?, of(right)?);
            Some((a.0.max(b.0), a.1.max(b.1)))
        }
        Index::Select(_, left, right) => {
            let (a, b) = (of(left)?, of(right)?);
            Some((a.0.min(b.0), a.1.max(b.1)))
        }
        // Sizes and layouts load nothing and assert nothing.
        Index::Load(..) | Index::Within(_) => None,
    }
}

/// The interval of an operation whose extremes are at extremes of its operands.
fn corners(a: Interval, b: Interval, op: fn(i64, i64) -> Option<i64>) -> Option<Interval> {
    let mut all = [0; 4];
    for (corner, (a, b)) in all.iter_mut().zip([(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)]) {
        *corner = op(a, b)?;
    }
    Some((*all.iter().min()?, *all.iter().max()?))
}
