//! The same numbers as another type.

use crate::{Element, Native, Scalar, Storage};

/// A value that another type cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{value} is no value of type {to}")]
pub struct CastError {
    /// The value.
    pub value: Scalar,
    /// Where it stands among the values.
    pub at: usize,
    /// The type that was asked for.
    pub to: Element,
}

impl Storage {
    /// The same values as another type: see [`Native::from_number`].
    ///
    /// # Errors
    /// A value that the type cannot hold.
    pub fn cast(self, to: Element) -> Result<Storage, CastError> {
        if self.element() == to {
            return Ok(self);
        }
        with_type!(self.element(), From => with_type!(to, To => cast::<From, To>(self.typed())))
    }
}

fn cast<From: Native, To: Native>(values: &[From]) -> Result<Storage, CastError> {
    let fail = |at, value: From| CastError { value: value.scalar(), at, to: To::ELEMENT };
    let one = |(at, value): (usize, &From)| {
        To::from_number(value.number()).ok_or_else(|| fail(at, *value))
    };
    Ok(Storage::from(values.iter().enumerate().map(one).collect::<Result<Vec<To>, _>>()?))
}
