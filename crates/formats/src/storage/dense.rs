//! Rows of dense matrices, without a list of their elements.

use rayon::prelude::*;

use super::{Indices, LevelData, StorageError, Tensor};
use crate::format::Format;
use dastac_elements::{Native, Storage, View, with_type};

impl Tensor {
    /// The elements of a dense matrix, in C order, that are not zero, in `csr`.
    ///
    /// # Errors
    /// Another rank than 2; an array of another length; no memory.
    pub fn rows_of_dense(shape: &[u64], values: View<'_>) -> Result<Tensor, StorageError> {
        let &[rows, columns] = shape else {
            return Err(StorageError::Rank { tensor: shape.len(), format: 2 });
        };
        if u128::from(rows) * u128::from(columns) != values.len() as u128 {
            let whole = Storage::copy_of(values).map_err(|_| no_memory(values))?;
            return Tensor::from_dense(shape.to_vec(), whole);
        }
        with_type!(values.element(), T => of_rows::<T>([rows, columns], values.typed()))
    }
}

fn no_memory(values: View<'_>) -> StorageError {
    StorageError::Memory { what: "the values".into(), bytes: values.bytes().len() as u128 }
}

fn of_rows<T: Native>([rows, columns]: [u64; 2], all: &[T]) -> Result<Tensor, StorageError> {
    let levels = |positions: &[u64], coordinates: Vec<u64>| {
        let level = crate::format::Format::csr().levels()[1].kind;
        let arrays = vec![
            Indices::of(positions, coordinates.len() as u64),
            Indices::of(&coordinates, columns.saturating_sub(1)),
        ];
        vec![LevelData::dense(), LevelData::new(level, arrays)]
    };
    // Columns are as many as there are elements in a row, which are in memory.
    let width = usize::try_from(columns).unwrap_or(usize::MAX).max(1);
    let is_entry = |value: &T| !value.is(0.0);
    let mut positions = vec![0u64; usize::try_from(rows).unwrap_or(usize::MAX).saturating_add(1)];
    positions[1..].par_iter_mut().zip(all.par_chunks(width)).for_each(|(count, row)| {
        *count = row.iter().filter(|value| is_entry(value)).count() as u64;
    });
    for row in 1..positions.len() {
        positions[row] += positions[row - 1];
    }
    let places = all.par_iter().enumerate().filter(|(_, value)| is_entry(value));
    let (coordinates, values): (Vec<u64>, Vec<T>) =
        places.map(|(at, value)| ((at % width) as u64, *value)).unzip();
    let levels = levels(&positions, coordinates);
    Tensor::from_parts(vec![rows, columns], Format::csr(), levels, Storage::from(values))
}
