//! Buffers of a run, each with its tensor's element type. Outside of them values are 64-bit floats, which hold those of 32 bits exactly.

use dastac_backend::{AlignedVec, BufferArg};
use dastac_stur::program::Element;

use crate::Error;

/// A packed buffer or dense array of one tensor.
#[derive(Debug)]
pub enum Buffer {
    /// Of 64-bit floats.
    F64(AlignedVec<f64>),
    /// Of 32-bit floats.
    F32(AlignedVec<f32>),
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
        })
    }

    /// The values, rounded to the element type.
    ///
    /// # Errors
    /// No memory for them.
    pub fn of(element: Element, values: &[f64]) -> Result<Buffer, Error> {
        let mut buffer = Buffer::zeroed(element, values.len())?;
        buffer.fill(|at| values[at]);
        Ok(buffer)
    }

    /// Sets every element by its position, rounded to the element type.
    pub fn fill(&mut self, mut value: impl FnMut(usize) -> f64) {
        match self {
            Buffer::F64(data) => data.iter_mut().enumerate().for_each(|(k, v)| *v = value(k)),
            Buffer::F32(data) => {
                data.iter_mut().enumerate().for_each(|(k, v)| *v = value(k) as f32);
            }
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Buffer::F64(data) => data.len(),
            Buffer::F32(data) => data.len(),
        }
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
            Buffer::F32(data) => {
                let mut wide = AlignedVec::zeroed(data.len())?;
                wide.iter_mut().zip(data.iter()).for_each(|(to, from)| *to = (*from).into());
                Ok(wide)
            }
        }
    }

    /// As an argument that is only read.
    pub(crate) fn input(&self) -> BufferArg<'_> {
        match self {
            Buffer::F64(data) => BufferArg::F64In(data),
            Buffer::F32(data) => BufferArg::F32In(data),
        }
    }

    /// As an argument that is written to.
    pub(crate) fn output(&mut self) -> BufferArg<'_> {
        match self {
            Buffer::F64(data) => BufferArg::F64(data),
            Buffer::F32(data) => BufferArg::F32(data),
        }
    }
}
