//! Buffers aligned for the widest vectors.

use crate::{Error, Result};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Alignment of an [`AlignedVec`]: one cache line, one 512-bit vector.
const ALIGNMENT: usize = 64;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
    impl Sealed for i64 {}
    impl Sealed for i32 {}
    impl Sealed for bool {}
}

/// An element type of a buffer. Its value of all zero bits is 0.
pub trait Scalar: sealed::Sealed + Copy + fmt::Debug + 'static {}
impl Scalar for f64 {}
impl Scalar for f32 {}
impl Scalar for i64 {}
impl Scalar for i32 {}
impl Scalar for bool {}

/// A slice on the heap of fixed length, aligned to 64 bytes and zero at first.
///
/// Kernels run without this alignment too, but split vector loads cost up to half of their speed.
pub struct AlignedVec<T: Scalar> {
    data: NonNull<T>,
    length: usize,
}

impl<T: Scalar> AlignedVec<T> {
    /// `length` zeros; an error where there is no memory for them.
    pub fn zeroed(length: usize) -> Result<Self> {
        let layout = Self::layout(length)
            .ok_or(Error::Memory { bytes: length.saturating_mul(size_of::<T>()) })?;
        if length == 0 {
            return Ok(Self { data: NonNull::dangling(), length });
        }
        // SAFETY: the layout's size is not zero, since neither the length nor the size of an element is.
        let data = NonNull::new(unsafe { alloc_zeroed(layout) }.cast());
        Ok(Self { data: data.ok_or(Error::Memory { bytes: layout.size() })?, length })
    }

    /// A copy of `slice`.
    pub fn from_slice(slice: &[T]) -> Result<Self> {
        let mut vec = Self::zeroed(slice.len())?;
        vec.copy_from_slice(slice);
        Ok(vec)
    }

    fn layout(length: usize) -> Option<Layout> {
        Layout::array::<T>(length).ok()?.align_to(ALIGNMENT).ok()
    }
}

impl<T: Scalar> Deref for AlignedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `data` is valid for `length` initialised elements (zero bits are a value of every
        // `Scalar`), or dangling and aligned for 0 of them.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.length) }
    }
}

impl<T: Scalar> DerefMut for AlignedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; `self` owns the memory and is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.length) }
    }
}

impl<T: Scalar> Drop for AlignedVec<T> {
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.length).filter(|_| self.length > 0) {
            // SAFETY: allocated in `zeroed` with the same layout.
            unsafe { dealloc(self.data.as_ptr().cast(), layout) };
        }
    }
}

impl<T: Scalar> fmt::Debug for AlignedVec<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

// SAFETY: it owns its elements, which are `Send`.
unsafe impl<T: Scalar> Send for AlignedVec<T> {}
// SAFETY: a shared reference only reads the elements, which are `Sync`.
unsafe impl<T: Scalar> Sync for AlignedVec<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_and_zero() {
        for length in [0, 1, 7, 1000] {
            let mut vec = AlignedVec::<f32>::zeroed(length).unwrap();
            assert_eq!(vec.len(), length);
            assert!(vec.iter().all(|x| *x == 0.0));
            assert!(length == 0 || (vec.as_ptr() as usize).is_multiple_of(64));
            vec.fill(1.0);
            assert_eq!(&*AlignedVec::from_slice(&vec).unwrap(), &*vec);
        }
    }

    #[test]
    fn too_much_is_an_error() {
        for length in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8 - 8] {
            assert!(matches!(AlignedVec::<f64>::zeroed(length), Err(Error::Memory { .. })));
        }
    }
}
