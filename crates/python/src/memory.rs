//! Memory of results as a buffer of Python.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use dastac::elements::Storage;
use dastac::loops::BufferId;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::pool::Spares;

/// Bytes that a result owns; arrays are made over them without a copy.
#[pyclass(frozen)]
pub struct Block {
    /// Keeps the bytes where they are; nothing else refers to them.
    owner: Owner,
    /// Where its memory goes when nobody uses it any more.
    home: Option<Home>,
    bytes: *mut u8,
    length: usize,
}

/// Where memory came from, to be used again.
pub struct Home {
    /// The memory that waits.
    pub spares: Arc<Spares>,
    /// The buffer that it was of.
    pub buffer: BufferId,
}

impl Drop for Block {
    fn drop(&mut self) {
        if let (Some(Home { spares, buffer }), Owner::Elements(all)) =
            (self.home.take(), &mut self.owner)
        {
            let empty = Storage::empty(all.element());
            spares.put(buffer, std::mem::replace(all, empty));
        }
    }
}

/// What owns bytes.
pub enum Owner {
    /// Elements.
    Elements(Storage),
    /// Indices of 32 bits.
    Narrow(Vec<u32>),
    /// Indices of 64 bits.
    Wide(Vec<u64>),
}

// SAFETY: the bytes are those of the owner, which may move to another thread; what Python does with them is as with
// any other array.
unsafe impl Send for Block {}
// SAFETY: nothing in Rust reads the bytes through a shared reference.
unsafe impl Sync for Block {}

impl Block {
    /// Takes over memory.
    pub fn new(mut owner: Owner, home: Option<Home>) -> Block {
        let (bytes, length) = match &mut owner {
            Owner::Elements(all) => {
                let length = all.view().bytes().len();
                (all.view_mut().as_mut_ptr(), length)
            }
            Owner::Narrow(all) => (all.as_mut_ptr().cast(), size_of_val(&all[..])),
            Owner::Wide(all) => (all.as_mut_ptr().cast(), size_of_val(&all[..])),
        };
        Block { owner, home, bytes, length }
    }
}

#[pymethods]
impl Block {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill"));
        }
        let this = slf.get();
        let bytes: *mut c_void = if this.length == 0 { ptr::null_mut() } else { this.bytes.cast() };
        let length = ffi::Py_ssize_t::try_from(this.length)?;
        // SAFETY: the view is Python's, and the object owns the bytes and keeps them in place as long as it lives,
        // which is at least as long as the view refers to it.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), bytes, length, 0, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
