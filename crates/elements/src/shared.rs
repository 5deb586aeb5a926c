//! Memory that several threads write to at the same time, each to places of its own.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::Native;

/// Elements that any number of threads may set, but not read.
///
/// Every store is atomic, part by part of complex elements, and without an order between stores: it costs what any
/// store costs. Where two threads set one element, it has the value of one of them, or a part of each.
pub struct Shared<'a, T: Native> {
    first: *mut T,
    length: usize,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: only atomic stores go through it, to memory that is borrowed mutably as long as it lives.
unsafe impl<T: Native> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Native> Sync for Shared<'_, T> {}

impl<'a, T: Native> Shared<'a, T> {
    /// These elements.
    pub fn of(all: &'a mut [T]) -> Shared<'a, T> {
        Shared { first: all.as_mut_ptr(), length: all.len(), borrowed: PhantomData }
    }

    /// Sets an element.
    ///
    /// # Panics
    /// A place beyond the end.
    #[allow(clippy::cast_possible_truncation)] // words are cut into parts
    #[inline]
    pub fn set(&self, at: usize, value: T) {
        assert!(at < self.length, "{at} is not below {}", self.length);
        let word = value.to_word();
        // SAFETY: the place is one of the elements, which nothing but this type's stores accesses now. Each part is as
        // aligned as its atomic type asks for: sizes of elements are 1, 2, 4 and 8 bytes, or two parts of 4 or 8 bytes.
        // What is stored are the bytes of a value of `T`.
        unsafe {
            let place = self.first.add(at);
            match (size_of::<T>(), align_of::<T>()) {
                (1, _) => AtomicU8::from_ptr(place.cast()).store(word as u8, Relaxed),
                (2, _) => AtomicU16::from_ptr(place.cast()).store(word as u16, Relaxed),
                (4, _) => AtomicU32::from_ptr(place.cast()).store(word as u32, Relaxed),
                (8, 8) => AtomicU64::from_ptr(place.cast()).store(word as u64, Relaxed),
                (8, _) => {
                    let parts: *mut u32 = place.cast();
                    AtomicU32::from_ptr(parts).store(word as u32, Relaxed);
                    AtomicU32::from_ptr(parts.add(1)).store((word >> 32) as u32, Relaxed);
                }
                _ => {
                    let parts: *mut u64 = place.cast();
                    AtomicU64::from_ptr(parts).store(word as u64, Relaxed);
                    AtomicU64::from_ptr(parts.add(1)).store((word >> 64) as u64, Relaxed);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Element, Storage};

    /// Two threads set every other element of each type.
    #[test]
    fn threads_set_elements_of_all_types() {
        for element in Element::ALL {
            let numbers: Vec<f64> = (0..200).map(|at| f64::from(at % 2)).collect();
            let wanted = Storage::of_numbers(*element, &numbers).unwrap();
            let mut found = Storage::zeroed(*element, wanted.len()).unwrap();
            with_type!(*element, T => {
                let shared = Shared::of(found.as_mut_slice::<T>().unwrap());
                let all = wanted.typed::<T>();
                let half = |first: usize| {
                    for at in (first..all.len()).step_by(2) {
                        shared.set(at, all[at]);
                    }
                };
                std::thread::scope(|scope| {
                    scope.spawn(|| half(0));
                    half(1);
                });
            });
            assert_eq!(found, wanted, "{element}");
        }
    }

    #[test]
    #[should_panic(expected = "3 is not below 3")]
    fn places_beyond_the_end_are_refused() {
        Shared::of(&mut [0u32; 3]).set(3, 1);
    }
}
