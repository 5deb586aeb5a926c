//! Arrays of Python, borrowed.

use std::slice;

use dastac::elements::{Element, View, ViewMut, with_type};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;

/// An array that is borrowed until this is dropped: it stays alive and in place.
pub struct Array {
    buffer: PyUntypedBuffer,
    element: Element,
}

/// The element type that a format of the buffer protocol names, in this machine's order of bytes.
fn element(format: &[u8], size: usize) -> Option<Element> {
    let code = match format {
        [b'@' | b'=' | b'<', code @ ..] if cfg!(target_endian = "little") => code,
        code => code,
    };
    Some(match (code, size) {
        (b"d", 8) => Element::F64,
        (b"f", 4) => Element::F32,
        (b"e", 2) => Element::F16,
        (b"Zd", 16) => Element::C128,
        (b"Zf", 8) => Element::C64,
        (b"b", 1) => Element::I8,
        (b"h", 2) => Element::I16,
        (b"i" | b"l", 4) => Element::I32,
        (b"l" | b"q", 8) => Element::I64,
        (b"B", 1) => Element::U8,
        (b"I" | b"L", 4) => Element::U32,
        (b"?", 1) => Element::Bool,
        _ => return None,
    })
}

impl Array {
    /// Borrows an array in C order, if the object is one of elements that programs have.
    pub fn borrow(object: &Bound<'_, PyAny>) -> Option<Array> {
        let buffer = PyUntypedBuffer::get(object).ok()?;
        let element = element(buffer.format().to_bytes(), buffer.item_size())?;
        let aligned = (buffer.buf_ptr() as usize).is_multiple_of(element.part().bytes());
        let array = Array { buffer, element };
        let usable = array.buffer.is_c_contiguous() && (aligned || array.len() == 0);
        (usable && array.holds_values()).then_some(array)
    }

    /// Whether all bytes are values of the element type: a truth value is 0 or 1.
    fn holds_values(&self) -> bool {
        if self.element != Element::Bool || self.len() == 0 {
            return true;
        }
        // SAFETY: the buffer has so many items of one byte, in C order, and is borrowed.
        let bytes =
            unsafe { slice::from_raw_parts(self.buffer.buf_ptr().cast::<u8>(), self.len()) };
        bytes.iter().all(|byte| *byte <= 1)
    }

    /// The type of its elements.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Its extents.
    pub fn shape(&self) -> &[usize] {
        self.buffer.shape()
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.buffer.item_count()
    }

    /// Whether nothing may be written to it.
    pub fn is_read_only(&self) -> bool {
        self.buffer.readonly()
    }

    /// Whether two arrays have bytes in common.
    pub fn overlaps(&self, other: &Array) -> bool {
        let range = |array: &Array| {
            let start = array.buffer.buf_ptr() as usize;
            (start, start + array.buffer.len_bytes())
        };
        let ((start, end), (other_start, other_end)) = (range(self), range(other));
        start < other_end && other_start < end
    }

    /// Its elements.
    pub fn view(&self) -> View<'_> {
        with_type!(self.element, T => {
            let all: &[T] = match self.len() {
                0 => &[],
                // SAFETY: the buffer has so many items of this type and size, in C order and aligned, and stays in
                // place while it is borrowed; of truth values every byte was looked at.
                length => unsafe { slice::from_raw_parts(self.buffer.buf_ptr().cast(), length) },
            };
            View::of(all)
        })
    }

    /// Its elements, to be written to; `None` if nothing may be written.
    pub fn view_mut(&mut self) -> Option<ViewMut<'_>> {
        if self.is_read_only() {
            return None;
        }
        Some(with_type!(self.element, T => {
            let all: &mut [T] = match self.len() {
                0 => &mut [],
                // SAFETY: as in `view`; the caller compared it with all other arrays of the call.
                length => unsafe {
                    slice::from_raw_parts_mut(self.buffer.buf_ptr().cast(), length)
                },
            };
            ViewMut::of(all)
        }))
    }

    /// Its elements as indices that are not negative, or become too large to be one.
    pub fn indices(&self) -> Option<dastac::formats::storage::IndexView<'_>> {
        use dastac::formats::storage::IndexView;
        let view = self.view();
        match self.element {
            Element::U32 => view.as_slice::<u32>().map(IndexView::U32),
            Element::I32 => view.as_slice::<i32>().map(|all| {
                // SAFETY: both types have the same size and alignment, and every bit pattern is a value of both.
                IndexView::U32(unsafe { slice::from_raw_parts(all.as_ptr().cast(), all.len()) })
            }),
            Element::I64 => view.as_slice::<i64>().map(IndexView::I64),
            _ => None,
        }
    }
}
