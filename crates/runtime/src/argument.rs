//! Buffers as arguments of a call.

use dastac_elements::{Element, Native, View, ViewMut};
use dastac_pim::Operand;

/// One buffer of a call, borrowed from the caller.
#[derive(Debug)]
pub enum Argument<'a> {
    /// Elements that are only read.
    In(View<'a>),
    /// Elements that are read and written.
    Out(ViewMut<'a>),
}

impl<'a> From<View<'a>> for Argument<'a> {
    fn from(view: View<'a>) -> Argument<'a> {
        Argument::In(view)
    }
}

impl<'a> From<ViewMut<'a>> for Argument<'a> {
    fn from(view: ViewMut<'a>) -> Argument<'a> {
        Argument::Out(view)
    }
}

impl<'a> Argument<'a> {
    /// A slice that is only read.
    pub fn read<T: Native>(all: &'a [T]) -> Argument<'a> {
        Argument::In(View::of(all))
    }

    /// A slice that is read and written.
    pub fn write<T: Native>(all: &'a mut [T]) -> Argument<'a> {
        Argument::Out(ViewMut::of(all))
    }
}

impl Argument<'_> {
    /// Their type.
    pub fn element(&self) -> Element {
        match self {
            Argument::In(view) => view.element(),
            Argument::Out(view) => view.element(),
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Argument::In(view) => view.len(),
            Argument::Out(view) => view.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether they may be written.
    pub fn is_writable(&self) -> bool {
        matches!(self, Argument::Out(_))
    }

    /// Their bytes, for a machine of its own.
    pub(crate) fn operand(&mut self) -> Operand<'_> {
        match self {
            Argument::In(view) => Operand::In(view.bytes()),
            Argument::Out(view) => {
                let bytes = view.len() * view.element().bytes();
                // SAFETY: the view is a borrowed slice of so many elements, which are numbers: all bytes are valid.
                Operand::Out(unsafe { std::slice::from_raw_parts_mut(view.as_mut_ptr(), bytes) })
            }
        }
    }

    /// The bytes of the elements.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Argument::In(view) => view.bytes(),
            Argument::Out(view) => view.view().bytes(),
        }
    }

    /// The bytes of the elements, to be written, if they may be.
    pub(crate) fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        match self {
            Argument::In(_) => None,
            Argument::Out(view) => {
                let length = view.len() * view.element().bytes();
                // SAFETY: the view has as many elements, which are borrowed mutably with it; whoever writes the bytes
                // writes elements of the type, none of which has invalid bit patterns but for truth values.
                Some(unsafe { std::slice::from_raw_parts_mut(view.as_mut_ptr(), length) })
            }
        }
    }

    /// Where they stand. Nothing may be written there unless they are writable.
    pub(crate) fn pointer(&mut self) -> *mut u8 {
        match self {
            Argument::In(view) => view.bytes().as_ptr().cast_mut(),
            Argument::Out(view) => view.as_mut_ptr(),
        }
    }
}
