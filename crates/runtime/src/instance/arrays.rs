//! Memory for results with formats.

use std::collections::BTreeMap;

use dastac_elements::{Element, Storage};
use dastac_formats::StorageError;
use dastac_loops::BufferId;

use crate::bound::Converted;
use crate::error::{Error, Result};
use crate::memory::check_memory;

/// The arrays of all results with formats.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) arrays: BTreeMap<BufferId, Storage>,
    /// Results in other formats, for rules that read them so: by the buffer of their values.
    pub(super) copies: BTreeMap<BufferId, Converted<'static>>,
}

/// Gives an array `length` elements, which somebody sets; `name` is the tensor's.
///
/// # Errors
/// More memory than there is; positions beyond 32 bits.
pub(super) fn fit(array: &mut Storage, name: &str, length: usize) -> Result<()> {
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
