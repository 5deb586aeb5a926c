//! What the host knows when a program starts: symbols, and the elements of buffers of integers.

use std::collections::BTreeMap;

use dastac_elements::Element;
use dastac_loops::eval::{Env, EvalError};
use dastac_loops::{BufferId, Index, VarId};

/// A buffer in the host's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostBuffer {
    /// The type of its elements.
    pub element: Element,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl HostBuffer {
    /// An element that is an integer; nothing if it is none.
    pub fn integer(&self, at: i64) -> Option<i64> {
        let size = self.element.bytes();
        let begin = usize::try_from(at).ok()?.checked_mul(size)?;
        let bytes = self.bytes.get(begin..begin + size)?;
        if !self.element.is_integer() {
            return None;
        }
        let number = bytes.iter().rev().fold(0u64, |all, byte| (all << 8) | u64::from(*byte));
        let unused = 64 - 8 * size as u32;
        Some(match self.element.is_signed() {
            true => (number << unused) as i64 >> unused,
            false => number as i64,
        })
    }

    /// The smallest and the largest element; nothing where there are none, or no integers.
    pub fn extremes(&self) -> Option<(i64, i64)> {
        let count = (self.bytes.len() / self.element.bytes()) as i64;
        (0..count).filter_map(|at| self.integer(at)).fold(None, |found, one| {
            Some(
                found.map_or((one, one), |(least, most): (i64, i64)| {
                    (least.min(one), most.max(one))
                }),
            )
        })
    }
}

/// What expressions are evaluated by.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The values of symbols.
    pub symbols: &'a [i64],
    /// Buffers.
    pub buffers: &'a BTreeMap<BufferId, HostBuffer>,
}

/// The values of variables around an expression, the innermost last.
pub type Values = Vec<(VarId, i64)>;

impl Facts<'_> {
    /// What an expression gives for values of variables.
    ///
    /// # Errors
    /// As [`Index::eval_in`].
    pub fn eval(&self, index: &Index, values: &Values) -> Result<i64, EvalError> {
        self.with(values, |env| index.eval_in(env))
    }

    /// Evaluates in an environment with values of variables.
    pub fn with<T>(&self, values: &Values, evaluate: impl FnOnce(&Env<'_>) -> T) -> T {
        let vars = |var: VarId| values.iter().rev().find(|one| one.0 == var).map(|one| one.1);
        let loads = |buffer: BufferId, at: i64| self.buffers.get(&buffer)?.integer(at);
        evaluate(&Env { symbols: self.symbols, vars: &vars, loads: &loads })
    }

    /// A range: the largest of its lower bounds and the smallest of its upper ones.
    ///
    /// # Errors
    /// As [`Index::eval_in`].
    pub fn range(
        &self,
        lower: &[Index],
        upper: &[Index],
        values: &Values,
    ) -> Result<(i64, i64), EvalError> {
        let all = |list: &[Index]| -> Result<Vec<i64>, EvalError> {
            list.iter().map(|one| self.eval(one, values)).collect()
        };
        let first = all(lower)?.into_iter().max().unwrap_or(0);
        Ok((first, all(upper)?.into_iter().min().unwrap_or(first)))
    }
}
