//! What a walk reads and gives.

use std::collections::HashMap;

use super::{Array, EvalError};
use crate::program::TensorId;

/// The elements of a tensor that a walk reads.
#[derive(Clone, Debug)]
pub enum Elements {
    /// All of the box.
    All(Array),
    /// Those that are stored, each once.
    Stored(Entries),
}

/// Stored elements, in the order of their coordinates: these, one element after the other, and their values.
#[derive(Clone, Debug)]
pub struct Entries {
    /// The tensor's box.
    pub shape: Vec<usize>,
    /// As many coordinates for each element as the box has dimensions.
    pub coordinates: Vec<i64>,
    /// The values: elements of the tensor's type, or integers of 64 bits.
    pub values: dastac_elements::Storage,
}

impl Entries {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The coordinates of one.
    pub fn at(&self, entry: usize) -> &[i64] {
        let rank = self.shape.len();
        &self.coordinates[entry * rank..][..rank]
    }

    /// Which one has the given coordinates.
    pub fn find(&self, index: &[i64]) -> Option<usize> {
        let (mut first, mut end) = (0, self.len());
        while first < end {
            let middle = first + (end - first) / 2;
            match self.at(middle).cmp(index) {
                std::cmp::Ordering::Less => first = middle + 1,
                std::cmp::Ordering::Greater => end = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }
}

/// An element that a walk computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Walked {
    /// Its coordinates.
    pub index: Vec<i64>,
    /// Its value, of the head's type.
    pub value: dastac_elements::Number,
    /// Whether a head with `:F` stores it.
    pub stored: bool,
}

impl Walked {
    /// The coordinates and the value.
    pub fn pair(self) -> (Vec<i64>, dastac_elements::Number) {
        (self.index, self.value)
    }
}

/// What a walk of a rule is given.
pub struct Walk<'w> {
    /// The operands, by tensor.
    pub operands: &'w HashMap<TensorId, Elements>,
    /// If only some elements of the head are wanted: which, each once.
    pub wanted: Option<&'w Entries>,
    /// Is told how many products are done, now and then.
    pub progress: &'w mut dyn FnMut(u128),
}

/// Why a rule is not walked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WalkError {
    /// Something that a walk does not do.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The evaluator's own.
    #[error(transparent)]
    Eval(#[from] EvalError),
}
