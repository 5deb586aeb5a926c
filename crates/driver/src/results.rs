//! Results with `:F` of a run: arrays that functions of the computation fill.
//!
//! They are as long as the run needs them, and keep their memory for the next one: a run that stores no more than those
//! before allocates nothing.

use std::collections::BTreeMap;

use dastac_elements::{Element, Storage};
use dastac_formats::StorageError;
use dastac_formats::storage::Indices;
use dastac_loops::BufferId;

use crate::Error;
use crate::dynamic::Copy;
use crate::run::check_memory;

/// The arrays of all results.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) arrays: BTreeMap<BufferId, Storage>,
    /// Results in other formats, for rules that read them so: by the buffer of their values.
    pub(crate) copies: BTreeMap<BufferId, Copy>,
}

/// Gives an array `length` elements, which somebody sets; `name` is the tensor's.
///
/// # Errors
/// More memory than there is; positions beyond 32 bits.
pub(crate) fn fit(array: &mut Storage, name: &str, length: usize) -> Result<(), Error> {
    if array.element() == Element::U32 && u32::try_from(length).is_err() {
        return Err(Error::Wide(name.into()));
    }
    let bytes = length as u128 * array.element().bytes() as u128;
    if array.capacity() < length {
        *array = Storage::empty(array.element()); // what is in it is of the run before
        check_memory(&format!("the result `{name}`"), bytes)?;
    }
    let source = StorageError::Memory { what: "the result".into(), bytes };
    array.fit(length).map_err(|_| Error::Storage { tensor: name.into(), source })
}

/// Numbers as positions or coordinates, if they are such.
pub(crate) fn indices(array: &Storage) -> Option<Indices> {
    if let Some(all) = array.as_slice::<u32>() {
        return Some(Indices::U32(all.to_vec()));
    }
    // Functions store numbers that are not negative.
    let all = array.as_slice::<i64>()?;
    Some(Indices::U64(all.iter().map(|at| at.cast_unsigned()).collect()))
}
