//! Values of integer expressions and conditions, with checked arithmetic.

use crate::ir::*;

/// Why an integer expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// Leaves the range of 64-bit integers.
    #[error("integer overflow")]
    Overflow,
    /// An exact division has a remainder.
    #[error("exact division of {value} by {by} has a remainder")]
    Remainder {
        /// The dividend.
        value: i64,
        /// The divisor.
        by: i64,
    },
    /// A divisor is not positive.
    #[error("the divisor {0} is not positive")]
    Divisor(i64),
    /// A symbol has no value.
    #[error("symbol {} has no value", .0.0)]
    Symbol(SymbolId),
    /// A variable has no value here.
    #[error("variable {} has no value", .0.0)]
    Variable(VarId),
    /// An element cannot be loaded here.
    #[error("element {} of buffer {} cannot be loaded", .1, .0.0)]
    Load(BufferId, i64),
    /// An index that is asserted to be within a buffer is not.
    #[error("index {index} is outside of the {size} elements of buffer {}", .buffer.0)]
    Outside {
        /// The buffer.
        buffer: BufferId,
        /// The index.
        index: i64,
        /// The buffer's size.
        size: i64,
    },
}

/// What the leaves of integer expressions are.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    /// The symbols' values, in the module's order.
    pub symbols: &'a [i64],
    /// The variables' values, where they have one.
    pub vars: &'a dyn Fn(VarId) -> Option<i64>,
    /// The elements of buffers of integers, where there are any.
    pub loads: &'a dyn Fn(BufferId, i64) -> Option<i64>,
}

impl<'a> Env<'a> {
    /// Nothing can be loaded.
    pub fn new(symbols: &'a [i64], vars: &'a dyn Fn(VarId) -> Option<i64>) -> Env<'a> {
        Env { symbols, vars, loads: &|_, _| None }
    }
}

impl Index {
    /// The value, given the symbols' and variables' values.
    pub fn eval(
        &self,
        symbols: &[i64],
        vars: &dyn Fn(VarId) -> Option<i64>,
    ) -> Result<i64, EvalError> {
        self.eval_in(&Env::new(symbols, vars))
    }

    /// The value, given the leaves'.
    pub fn eval_in(&self, env: &Env<'_>) -> Result<i64, EvalError> {
        let eval = |index: &Index| index.eval_in(env);
        let divisor = |by: i64| if by > 0 { Ok(by) } else { Err(EvalError::Divisor(by)) };
        let checked = |value: Option<i64>| value.ok_or(EvalError::Overflow);
        match self {
            Index::Const(value) => Ok(*value),
            Index::Symbol(symbol) => {
                env.symbols.get(symbol.0 as usize).copied().ok_or(EvalError::Symbol(*symbol))
            }
            Index::Var(var) => (env.vars)(*var).ok_or(EvalError::Variable(*var)),
            Index::Add(left, right) => checked(eval(left)?.checked_add(eval(right)?)),
            Index::Sub(left, right) => checked(eval(left)?.checked_sub(eval(right)?)),
            Index::Mul(left, right) => checked(eval(left)?.checked_mul(eval(right)?)),
            Index::FloorDiv(value, by) => Ok(eval(value)?.div_euclid(divisor(*by)?)),
            Index::Mod(value, by) => Ok(eval(value)?.rem_euclid(divisor(*by)?)),
            Index::Quotient(value, by) => Ok(eval(value)?.div_euclid(divisor(eval(by)?)?)),
            Index::ExactDiv(value, by) => match (eval(value)?, divisor(*by)?) {
                (value, by) if value % by == 0 => Ok(value / by),
                (value, by) => Err(EvalError::Remainder { value, by }),
            },
            Index::Min(left, right) => Ok(eval(left)?.min(eval(right)?)),
            Index::Max(left, right) => Ok(eval(left)?.max(eval(right)?)),
            Index::Load(buffer, index) => {
                let at = eval(index)?;
                (env.loads)(*buffer, at).ok_or(EvalError::Load(*buffer, at))
            }
            Index::Select(condition, then, otherwise) => {
                if condition.eval_in(env)? {
                    eval(then)
                } else {
                    eval(otherwise)
                }
            }
            Index::Within(inner) => match (eval(&inner.index)?, eval(&inner.size)?) {
                (index, size) if (0..size).contains(&index) => Ok(index),
                (index, size) => Err(EvalError::Outside { buffer: inner.buffer, index, size }),
            },
        }
    }

    /// The value of an expression in symbols only.
    pub fn eval_symbols(&self, symbols: &[i64]) -> Result<i64, EvalError> {
        self.eval(symbols, &|_| None)
    }

    /// The value of an expression without symbols or variables.
    pub fn eval_const(&self) -> Result<i64, EvalError> {
        self.eval(&[], &|_| None)
    }
}

impl Condition {
    /// Whether it holds, given the symbols' and variables' values. Stops at the first condition that decides.
    pub fn eval(
        &self,
        symbols: &[i64],
        vars: &dyn Fn(VarId) -> Option<i64>,
    ) -> Result<bool, EvalError> {
        self.eval_in(&Env::new(symbols, vars))
    }

    /// Whether it holds, given the leaves' values. Stops at the first condition that decides.
    pub fn eval_in(&self, env: &Env<'_>) -> Result<bool, EvalError> {
        match self {
            Condition::Compare(op, left, right) => {
                Ok(op.holds(left.eval_in(env)?, right.eval_in(env)?))
            }
            Condition::And(list) => {
                for condition in list {
                    if !condition.eval_in(env)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Condition::Or(list) => {
                for condition in list {
                    if condition.eval_in(env)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

/// The half-open range `max(lower..) to min(upper..)`; empty bounds leave it empty.
pub fn eval_range(
    lower: &[Index],
    upper: &[Index],
    env: &Env<'_>,
) -> Result<std::ops::Range<i64>, EvalError> {
    let mut range = i64::MIN..i64::MAX;
    for bound in lower {
        range.start = range.start.max(bound.eval_in(env)?);
    }
    for bound in upper {
        range.end = range.end.min(bound.eval_in(env)?);
    }
    if lower.is_empty() || upper.is_empty() {
        return Ok(0..0);
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_down() {
        for (value, by, quotient, remainder) in [(7, 3, 2, 1), (-7, 3, -3, 2), (-6, 3, -2, 0)] {
            let value = Box::new(Index::Const(value));
            assert_eq!(Index::FloorDiv(value.clone(), by).eval_const(), Ok(quotient));
            assert_eq!(Index::Mod(value, by).eval_const(), Ok(remainder));
        }
    }

    #[test]
    fn errors() {
        let symbol = || Box::new(Index::Symbol(SymbolId(0)));
        let eval = |index: Index| index.eval(&[i64::MAX], &|_| None);
        assert_eq!(eval(Index::Add(symbol(), symbol())), Err(EvalError::Overflow));
        assert_eq!(eval(Index::Mul(symbol(), symbol())), Err(EvalError::Overflow));
        assert_eq!(
            eval(Index::ExactDiv(symbol(), 2)),
            Err(EvalError::Remainder { value: i64::MAX, by: 2 })
        );
        assert_eq!(eval(Index::FloorDiv(symbol(), 0)), Err(EvalError::Divisor(0)));
        assert_eq!(eval(Index::Var(VarId(3))), Err(EvalError::Variable(VarId(3))));
        assert_eq!(eval(Index::Symbol(SymbolId(1))), Err(EvalError::Symbol(SymbolId(1))));
    }
}
