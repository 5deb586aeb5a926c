//! Memory for elements of one type.

use crate::bytes::Bytes;
use crate::{Element, Native, NoMemory, Number, Scalar, Space, View, ViewMut, Word};
use rayon::prelude::*;

/// Elements in a row, all of one type.
///
/// Invariant: the bytes are those of a slice of the element's Rust type.
pub struct Storage {
    element: Element,
    space: Space,
    bytes: Bytes,
}

impl Storage {
    /// No elements.
    pub fn empty(element: Element) -> Storage {
        with_type!(element, T => Storage::from(Vec::<T>::new()))
    }

    /// `length` zeros, aligned to 64 bytes.
    ///
    /// # Errors
    /// No memory for them.
    pub fn zeroed(element: Element, length: usize) -> Result<Storage, NoMemory> {
        let bytes = Bytes::zeroed(length, element.bytes())?;
        Ok(Storage { element, space: Space::Main, bytes })
    }

    /// A copy, aligned to 64 bytes.
    ///
    /// # Errors
    /// No memory for it.
    pub fn copy_of(view: View<'_>) -> Result<Storage, NoMemory> {
        let mut storage = Storage::zeroed(view.element(), view.len())?;
        storage.bytes.as_mut_slice().copy_from_slice(view.bytes());
        Ok(storage)
    }

    /// Numbers, as the element type holds them: see [`Element::round`]. Two make a complex element.
    ///
    /// # Errors
    /// No memory for them.
    pub fn of_numbers(element: Element, numbers: &[f64]) -> Result<Storage, NoMemory> {
        let mut storage = Storage::zeroed(element, numbers.len() / element.parts())?;
        storage.view_mut().fill(|at| numbers[at]);
        Ok(storage)
    }

    /// Gives it `length` elements, which hold what they held before, or zero where memory had to be found for them.
    /// Memory is kept for the next time.
    ///
    /// # Errors
    /// No memory for them.
    pub fn fit(&mut self, length: usize) -> Result<(), NoMemory> {
        let bytes = length.saturating_mul(self.element.bytes());
        if !self.bytes.fit(bytes) {
            self.bytes = Bytes::zeroed(0, 1)?; // what is in it is not needed: its memory may serve now
            self.bytes = Bytes::zeroed(length, self.element.bytes())?;
        }
        Ok(())
    }

    /// Moves elements to another place, which they may overlap.
    ///
    /// # Panics
    /// Places outside of it.
    pub fn move_within(&mut self, from: std::ops::Range<usize>, to: usize) {
        let size = self.element.bytes();
        let bytes = from.start * size..from.end * size;
        self.bytes.as_mut_slice().copy_within(bytes, to * size);
    }

    /// Their type.
    pub fn element(&self) -> Element {
        self.element
    }

    /// The memory that they stand in.
    pub fn space(&self) -> Space {
        self.space
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.element.bytes()
    }

    /// How many it has memory for.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity() / self.element.bytes()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == 0
    }

    /// All of them, to be read.
    pub fn view(&self) -> View<'_> {
        View::of_bytes(self.element, self.space, self.bytes.as_slice())
    }

    /// All of them, to be written.
    pub fn view_mut(&mut self) -> ViewMut<'_> {
        ViewMut::of_bytes(self.element, self.space, self.bytes.as_mut_slice())
    }

    /// As a slice, if they are of this type.
    pub fn as_slice<T: Native>(&self) -> Option<&[T]> {
        self.view().as_slice()
    }

    /// As a slice, if they are of this type.
    pub fn as_mut_slice<T: Native>(&mut self) -> Option<&mut [T]> {
        (T::ELEMENT == self.element).then(|| self.view_mut().into_typed())
    }

    /// As a vector, if they are of this type: in the same memory where they came from one, else copied.
    pub fn into_vec<T: Native>(self) -> Option<Vec<T>> {
        (T::ELEMENT == self.element).then(|| match self.bytes.into_vec() {
            Ok(all) => all,
            Err(bytes) => {
                let all = View::of_bytes(self.element, self.space, bytes.as_slice());
                all.typed().to_vec()
            }
        })
    }

    /// As a slice of what they are. Panics if they are of another type; for use where [`with_type!`] chose it.
    pub fn typed<T: Native>(&self) -> &[T] {
        self.view().typed()
    }

    /// One of them.
    pub fn get(&self, at: usize) -> Option<Scalar> {
        self.view().get(at)
    }

    /// One of the real numbers that they consist of: see [`View::number`].
    pub fn number(&self, at: usize) -> f64 {
        self.view().number(at)
    }

    /// The real numbers that they consist of: see [`View::to_f64`].
    pub fn to_f64(&self) -> Vec<f64> {
        self.view().to_f64()
    }

    /// Sets every real number that they consist of by its place: see [`ViewMut::fill`].
    pub fn fill(&mut self, value: impl FnMut(usize) -> f64) {
        self.view_mut().fill(value);
    }

    /// How many are not zero.
    pub fn nonzeros(&self) -> u64 {
        with_type!(self.element, T => {
            self.typed::<T>().par_iter().filter(|value| !value.is(0.0)).count() as u64
        })
    }

    /// Whether one of them is this number. Panics beyond the end, as slices do.
    pub fn is(&self, at: usize, number: f64) -> bool {
        with_type!(self.element, T => self.typed::<T>()[at].is(number))
    }

    /// Whether each is the negative of the other's at its place.
    pub fn are_negatives_of(&self, other: &Storage) -> bool {
        with_type!(self.element, T => self.typed::<T>().iter().enumerate().all(|(at, value)| {
            value.negated().map(crate::element::Named::scalar) == other.get(at)
        }))
    }

    /// Those at the given places.
    pub fn select(&self, places: &[usize]) -> Storage {
        with_type!(self.element, T => {
            let all = self.typed::<T>();
            places.iter().map(|at| all[*at]).collect()
        })
    }

    /// As words, see [`Native::to_word`]. What does not fit in the word type is lost.
    pub fn words<W: Word>(&self) -> Vec<W> {
        with_type!(self.element, T => {
            self.typed::<T>().par_iter().map(|value| W::of(value.to_word())).collect()
        })
    }

    /// All of them as numbers, one after the other.
    pub fn numbers(&self) -> impl Iterator<Item = Number> + '_ {
        self.view().iter().map(Scalar::number)
    }
}

impl<T: Native> From<Vec<T>> for Storage {
    fn from(all: Vec<T>) -> Storage {
        Storage { element: T::ELEMENT, space: Space::Main, bytes: Bytes::from_vec(all) }
    }
}

impl<T: Native> FromIterator<T> for Storage {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Storage {
        Storage::from(Vec::from_iter(all))
    }
}

impl Clone for Storage {
    fn clone(&self) -> Storage {
        with_type!(self.element, T => Storage::from(self.typed::<T>().to_vec()))
    }
}

impl PartialEq for Storage {
    fn eq(&self, other: &Storage) -> bool {
        self.view() == other.view()
    }
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.view().fmt(f)
    }
}
