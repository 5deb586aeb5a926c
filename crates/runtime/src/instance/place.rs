//! Places in dense arrays.

/// The coordinates of an element of a dense array in C order.
pub fn unflatten(mut position: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (slot, extent) in index.iter_mut().zip(shape).rev() {
        *slot = position % extent.max(&1);
        position /= extent.max(&1);
    }
    index
}
