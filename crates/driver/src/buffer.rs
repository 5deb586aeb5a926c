//! Buffers of a run, each with its tensor's element type. Outside of them values are 64-bit floats, which hold all
//! others exactly but for integers beyond 2^53.

use dastac_backend::AlignedVec;
use dastac_formats::storage::Slice;
use dastac_formats::{ElementType, Values};
use dastac_runtime::Argument;
use dastac_stur::program::Element;

use crate::Error;

/// A packed buffer or dense array of one tensor.
#[derive(Debug)]
pub enum Buffer {
    /// Of 64-bit floats.
    F64(AlignedVec<f64>),
    /// Of 32-bit floats.
    F32(AlignedVec<f32>),
    /// Of 32-bit integers.
    I32(AlignedVec<i32>),
    /// Of 64-bit integers.
    I64(AlignedVec<i64>),
    /// Of truth values.
    Bool(AlignedVec<bool>),
}

/// Does the same with a buffer of every type.
macro_rules! with_buffer {
    ($buffer:expr, $data:ident => $body:expr) => {
        match $buffer {
            Buffer::F64($data) => $body,
            Buffer::F32($data) => $body,
            Buffer::I32($data) => $body,
            Buffer::I64($data) => $body,
            Buffer::Bool($data) => $body,
        }
    };
}

/// The type of stored elements.
pub fn stored_type(element: Element) -> ElementType {
    match element {
        Element::F64 => ElementType::F64,
        Element::F32 => ElementType::F32,
        Element::I32 => ElementType::I32,
        Element::I64 => ElementType::I64,
        Element::Bool => ElementType::Bool,
    }
}

impl Buffer {
    /// `length` zeros.
    ///
    /// # Errors
    /// No memory for them.
    pub fn zeroed(element: Element, length: usize) -> Result<Buffer, Error> {
        Ok(match element {
            Element::F64 => Buffer::F64(AlignedVec::zeroed(length)?),
            Element::F32 => Buffer::F32(AlignedVec::zeroed(length)?),
            Element::I32 => Buffer::I32(AlignedVec::zeroed(length)?),
            Element::I64 => Buffer::I64(AlignedVec::zeroed(length)?),
            Element::Bool => Buffer::Bool(AlignedVec::zeroed(length)?),
        })
    }

    /// The values, as the element type holds them.
    ///
    /// # Errors
    /// No memory for them.
    pub fn of(element: Element, values: &[f64]) -> Result<Buffer, Error> {
        let mut buffer = Buffer::zeroed(element, values.len())?;
        buffer.fill(|at| values[at]);
        Ok(buffer)
    }

    /// Values of their own type.
    ///
    /// # Errors
    /// No memory for them.
    pub fn of_values(values: &Values) -> Result<Buffer, Error> {
        Ok(match values {
            Values::F64(all) => Buffer::F64(AlignedVec::from_slice(all)?),
            Values::F32(all) => Buffer::F32(AlignedVec::from_slice(all)?),
            Values::I32(all) => Buffer::I32(AlignedVec::from_slice(all)?),
            Values::I64(all) => Buffer::I64(AlignedVec::from_slice(all)?),
            Values::Bool(all) => Buffer::Bool(AlignedVec::from_slice(all)?),
        })
    }

    /// Its type.
    pub fn element(&self) -> Element {
        match self {
            Buffer::F64(_) => Element::F64,
            Buffer::F32(_) => Element::F32,
            Buffer::I32(_) => Element::I32,
            Buffer::I64(_) => Element::I64,
            Buffer::Bool(_) => Element::Bool,
        }
    }

    /// Sets every element by its position, as the element type holds it.
    pub fn fill(&mut self, mut value: impl FnMut(usize) -> f64) {
        let element = self.element();
        let mut value = |at| element.round(value(at));
        match self {
            Buffer::F64(data) => data.iter_mut().enumerate().for_each(|(k, v)| *v = value(k)),
            Buffer::F32(data) => {
                data.iter_mut().enumerate().for_each(|(k, v)| *v = value(k) as f32);
            }
            Buffer::I32(data) => {
                data.iter_mut().enumerate().for_each(|(k, v)| *v = value(k) as i32);
            }
            Buffer::I64(data) => {
                data.iter_mut().enumerate().for_each(|(k, v)| *v = value(k) as i64);
            }
            Buffer::Bool(data) => {
                data.iter_mut().enumerate().for_each(|(k, v)| *v = value(k) != 0.0);
            }
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        with_buffer!(self, data => data.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An element.
    pub fn get(&self, at: usize) -> f64 {
        match self {
            Buffer::F64(data) => data[at],
            Buffer::F32(data) => data[at].into(),
            Buffer::I32(data) => data[at].into(),
            Buffer::I64(data) => data[at] as f64,
            Buffer::Bool(data) => u8::from(data[at]).into(),
        }
    }

    /// All elements.
    pub fn as_slice(&self) -> Slice<'_> {
        match self {
            Buffer::F64(data) => Slice::F64(data),
            Buffer::F32(data) => Slice::F32(data),
            Buffer::I32(data) => Slice::I32(data),
            Buffer::I64(data) => Slice::I64(data),
            Buffer::Bool(data) => Slice::Bool(data),
        }
    }

    /// All values.
    pub fn to_vec(&self) -> Vec<f64> {
        (0..self.len()).map(|at| self.get(at)).collect()
    }

    /// All values, aligned.
    ///
    /// # Errors
    /// No memory for them.
    pub fn widened(self) -> Result<AlignedVec<f64>, Error> {
        match self {
            Buffer::F64(data) => Ok(data),
            other => {
                let mut wide = AlignedVec::zeroed(other.len())?;
                wide.iter_mut().enumerate().for_each(|(at, to)| *to = other.get(at));
                Ok(wide)
            }
        }
    }

    /// As an argument that is only read.
    pub fn input(&self) -> Argument<'_> {
        argument(self.as_slice())
    }

    /// As an argument that is written to.
    pub fn output(&mut self) -> Argument<'_> {
        match self {
            Buffer::F64(data) => Argument::write(data),
            Buffer::F32(data) => Argument::write(data),
            Buffer::I32(data) => Argument::write(data),
            Buffer::I64(data) => Argument::write(data),
            Buffer::Bool(data) => Argument::write(data),
        }
    }
}

/// Elements as an argument that is only read.
pub(crate) fn argument(slice: Slice<'_>) -> Argument<'_> {
    match slice {
        Slice::F64(data) => Argument::read(data),
        Slice::F32(data) => Argument::read(data),
        Slice::I32(data) => Argument::read(data),
        Slice::I64(data) => Argument::read(data),
        Slice::Bool(data) => Argument::read(data),
    }
}
