//! Results with `:F` of a run: arrays that functions of the computation fill.
//!
//! They are as long as the run needs them, and keep their memory for the next one: a run that stores no more than those
//! before allocates nothing.

use std::collections::BTreeMap;

use dastac_formats::storage::Indices;
use dastac_formats::{StorageError, Values};
use dastac_loops::{BufferId, Element};
use dastac_runtime::Argument;

use crate::Error;
use crate::dynamic::Copy;
use crate::run::check_memory;

/// The arrays of all results.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) arrays: BTreeMap<BufferId, Array>,
    /// Results in other formats, for rules that read them so: by the buffer of their values.
    pub(crate) copies: BTreeMap<BufferId, Copy>,
}

/// One array.
#[derive(Debug)]
pub(crate) enum Array {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I64(Vec<i64>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    Bool(Vec<bool>),
}

/// Bytes of an element.
pub(crate) fn bytes(element: Element) -> u128 {
    match element {
        Element::F64 | Element::I64 => 8,
        Element::F32 | Element::U32 | Element::I32 => 4,
        Element::Bool => 1,
    }
}

impl Array {
    /// An array without elements.
    pub(crate) fn new(element: Element) -> Array {
        match element {
            Element::F64 => Array::F64(Vec::new()),
            Element::F32 => Array::F32(Vec::new()),
            Element::I64 => Array::I64(Vec::new()),
            Element::U32 => Array::U32(Vec::new()),
            Element::I32 => Array::I32(Vec::new()),
            Element::Bool => Array::Bool(Vec::new()),
        }
    }

    /// Gives it `length` elements, which somebody sets; `name` is the tensor's.
    ///
    /// # Errors
    /// More memory than there is; positions beyond 32 bits.
    pub(crate) fn fit(&mut self, name: &str, length: usize) -> Result<(), Error> {
        match self {
            Array::F64(all) => fit(all, name, length),
            Array::F32(all) => fit(all, name, length),
            Array::I64(all) => fit(all, name, length),
            Array::U32(_) if u32::try_from(length).is_err() => Err(Error::Wide(name.into())),
            Array::U32(all) => fit(all, name, length),
            Array::I32(all) => fit(all, name, length),
            Array::Bool(all) => fit(all, name, length),
        }
    }

    /// How many elements it has.
    pub(crate) fn len(&self) -> usize {
        match self {
            Array::F64(all) => all.len(),
            Array::F32(all) => all.len(),
            Array::I64(all) => all.len(),
            Array::U32(all) => all.len(),
            Array::I32(all) => all.len(),
            Array::Bool(all) => all.len(),
        }
    }

    /// As an argument that is only read.
    pub(crate) fn input(&self) -> Argument<'_> {
        match self {
            Array::F64(all) => Argument::read(all),
            Array::F32(all) => Argument::read(all),
            Array::I64(all) => Argument::read(all),
            Array::U32(all) => Argument::read(all),
            Array::I32(all) => Argument::read(all),
            Array::Bool(all) => Argument::read(all),
        }
    }

    /// As an argument that is written to.
    pub(crate) fn output(&mut self) -> Argument<'_> {
        match self {
            Array::F64(all) => Argument::write(all),
            Array::F32(all) => Argument::write(all),
            Array::I64(all) => Argument::write(all),
            Array::U32(all) => Argument::write(all),
            Array::I32(all) => Argument::write(all),
            Array::Bool(all) => Argument::write(all),
        }
    }

    /// Its numbers as values of a tensor, if they are such.
    pub(crate) fn values(&self) -> Option<Values> {
        match self {
            Array::F64(all) => Some(Values::F64(all.clone())),
            Array::F32(all) => Some(Values::F32(all.clone())),
            Array::I64(all) => Some(Values::I64(all.clone())),
            Array::I32(all) => Some(Values::I32(all.clone())),
            Array::Bool(all) => Some(Values::Bool(all.clone())),
            Array::U32(_) => None,
        }
    }

    /// Its numbers as positions or coordinates, if they are such.
    pub(crate) fn indices(&self) -> Option<Indices> {
        match self {
            Array::U32(all) => Some(Indices::U32(all.clone())),
            // Functions store numbers that are not negative.
            Array::I64(all) => {
                Some(Indices::U64(all.iter().map(|at| at.cast_unsigned()).collect()))
            }
            Array::F64(_) | Array::F32(_) | Array::I32(_) | Array::Bool(_) => None,
        }
    }

    /// The last of its integers.
    pub(crate) fn last(&self) -> Option<i64> {
        match self {
            Array::I64(all) => all.last().copied(),
            _ => None,
        }
    }
}

fn fit<T: std::marker::Copy + Default>(
    all: &mut Vec<T>,
    name: &str,
    length: usize,
) -> Result<(), Error> {
    if all.capacity() < length {
        *all = Vec::new(); // what is in it is of the run before
        let bytes = length as u128 * size_of::<T>() as u128;
        check_memory(&format!("the result `{name}`"), bytes)?;
        let source = || StorageError::Memory { what: "the result".into(), bytes };
        all.try_reserve_exact(length)
            .map_err(|_| Error::Storage { tensor: name.into(), source: source() })?;
    }
    all.resize(length, T::default());
    Ok(())
}
