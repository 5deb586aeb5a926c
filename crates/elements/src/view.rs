//! Elements that somebody else owns.

#![allow(unsafe_code)]

use crate::{Element, Native, Scalar, Space};

/// Elements in a row, all of one type, borrowed.
///
/// Invariant: the bytes are those of a slice of the element's Rust type.
#[derive(Clone, Copy)]
pub struct View<'a> {
    element: Element,
    space: Space,
    bytes: &'a [u8],
}

impl<'a> View<'a> {
    /// These elements.
    pub fn of<T: Native>(all: &'a [T]) -> View<'a> {
        // SAFETY: native types have no padding, so all of their bytes are initialised.
        let bytes = unsafe { std::slice::from_raw_parts(all.as_ptr().cast(), size_of_val(all)) };
        View { element: T::ELEMENT, space: Space::Main, bytes }
    }

    /// Bytes that keep the invariant.
    pub(crate) fn of_bytes(element: Element, space: Space, bytes: &'a [u8]) -> View<'a> {
        View { element, space, bytes }
    }

    /// Their type.
    pub fn element(self) -> Element {
        self.element
    }

    /// The memory that they stand in.
    pub fn space(self) -> Space {
        self.space
    }

    /// How many.
    pub fn len(self) -> usize {
        self.bytes.len() / self.element.bytes()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Their bytes, in this machine's order.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// As a slice, if they are of this type.
    pub fn as_slice<T: Native>(self) -> Option<&'a [T]> {
        (T::ELEMENT == self.element).then(|| self.typed())
    }

    /// As a slice of what they are. Panics if they are of another type; for use where [`with_type!`] chose it.
    pub fn typed<T: Native>(self) -> &'a [T] {
        assert_eq!(T::ELEMENT, self.element, "elements are of another type");
        // SAFETY: by the invariant the bytes are those of a slice of `T`.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.len()) }
    }

    /// The real numbers that they consist of, in the same memory: twice as many where they are complex.
    pub fn parts(self) -> View<'a> {
        View { element: self.element.part(), ..self }
    }

    /// One of them.
    pub fn get(self, at: usize) -> Option<Scalar> {
        with_type!(self.element, T => self.typed::<T>().get(at).map(|value| {
            crate::element::Named::scalar(*value)
        }))
    }

    /// One of the real numbers that they consist of, as a 64-bit float. Panics beyond the end, as slices do.
    pub fn number(self, at: usize) -> f64 {
        with_type!(self.element.part(), T => self.parts().typed::<T>()[at].number().to_f64())
    }

    /// All of them, one after the other.
    pub fn iter(self) -> impl Iterator<Item = Scalar> + 'a {
        (0..self.len()).filter_map(move |at| self.get(at))
    }

    /// The real numbers that they consist of as 64-bit floats, to which large integers are rounded: of each complex
    /// element its real and its imaginary part.
    pub fn to_f64(self) -> Vec<f64> {
        with_type!(self.element.part(), T => {
            self.parts().typed::<T>().iter().map(|value| value.number().to_f64()).collect()
        })
    }
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.element)?;
        with_type!(self.element, T => self.typed::<T>().fmt(f))
    }
}

/// Elements are compared as numbers, where they are of one type.
impl PartialEq for View<'_> {
    fn eq(&self, other: &View<'_>) -> bool {
        with_type!(self.element, T => Some(self.typed::<T>()) == other.as_slice::<T>())
    }
}

/// Elements in a row, all of one type, borrowed to be written to.
///
/// Invariant: the bytes are those of a slice of the element's Rust type, and stay such.
pub struct ViewMut<'a> {
    element: Element,
    space: Space,
    bytes: &'a mut [u8],
}

impl<'a> ViewMut<'a> {
    /// These elements.
    pub fn of<T: Native>(all: &'a mut [T]) -> ViewMut<'a> {
        let (pointer, length) = (all.as_mut_ptr().cast(), size_of_val(all));
        // SAFETY: native types have no padding, and methods of this type write no bytes but values of their type.
        let bytes = unsafe { std::slice::from_raw_parts_mut(pointer, length) };
        ViewMut { element: T::ELEMENT, space: Space::Main, bytes }
    }

    /// Bytes that keep the invariant.
    pub(crate) fn of_bytes(element: Element, space: Space, bytes: &'a mut [u8]) -> ViewMut<'a> {
        ViewMut { element, space, bytes }
    }

    /// The same elements, only to be read.
    pub fn view(&self) -> View<'_> {
        View { element: self.element, space: self.space, bytes: self.bytes }
    }

    /// The same elements, borrowed for a shorter time.
    pub fn reborrow(&mut self) -> ViewMut<'_> {
        ViewMut { element: self.element, space: self.space, bytes: self.bytes }
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
        self.view().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Where they stand. Who writes there must write values of their type.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr()
    }

    /// As a slice, if they are of this type.
    pub fn as_mut_slice<T: Native>(&mut self) -> Option<&mut [T]> {
        (T::ELEMENT == self.element).then(|| self.reborrow().into_typed())
    }

    /// As a slice of what they are. Panics if they are of another type; for use where [`with_type!`] chose it.
    pub fn into_typed<T: Native>(self) -> &'a mut [T] {
        assert_eq!(T::ELEMENT, self.element, "elements are of another type");
        let length = self.bytes.len() / size_of::<T>();
        // SAFETY: by the invariant the bytes are those of a slice of `T`, which is borrowed mutably as long as the
        // result is.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), length) }
    }

    /// The real numbers that they consist of, in the same memory: twice as many where they are complex.
    pub fn into_parts(self) -> ViewMut<'a> {
        ViewMut { element: self.element.part(), ..self }
    }

    /// Sets every real number that they consist of by its place, as the element type holds it: see [`Element::round`].
    pub fn fill(&mut self, mut value: impl FnMut(usize) -> f64) {
        let element = self.element.part();
        let mut rounded = |at| element.round(value(at));
        with_type!(element, T => {
            for (at, to) in self.reborrow().into_parts().into_typed::<T>().iter_mut().enumerate() {
                *to = T::from_rounded(rounded(at));
            }
        });
    }
}

impl std::fmt::Debug for ViewMut<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.view().fmt(f)
    }
}
