//! Pages of memory for code.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use crate::load_error::LoadError;

/// A mapping that this owns: writable at first.
#[derive(Debug)]
pub(super) struct Pages {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to this value alone, and to no thread.
unsafe impl Send for Pages {}
// SAFETY: a shared reference gives out no more than the address.
unsafe impl Sync for Pages {}

/// The size of a page.
pub(super) fn page_size() -> usize {
    rustix::param::page_size()
}

impl Pages {
    /// Zeroed pages of at least `bytes` bytes.
    pub(super) fn new(bytes: usize) -> Result<Pages, LoadError> {
        let length = bytes.max(1).next_multiple_of(page_size());
        let failed = |error: rustix::io::Errno| LoadError::Memory { bytes, source: error.into() };
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping at an address of the system's choice touches no other memory.
        let start = unsafe { mmap_anonymous(null_mut(), length, protection, MapFlags::PRIVATE) };
        let start = start.map_err(failed)?.cast();
        let start = NonNull::new(start).ok_or_else(|| failed(rustix::io::Errno::NOMEM))?;
        Ok(Pages { start, length })
    }

    /// Where it begins.
    pub(super) fn address(&self) -> u64 {
        self.start.as_ptr().addr() as u64
    }

    /// Its bytes, before [`Pages::protect`].
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is alive, of this length, initialised with zeros, and borrowed mutably; it is writable
        // until `protect`, which takes the value.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Makes the pages of `code` executable and those of `constants` readable; neither is writable any more.
    pub(super) fn protect(
        self,
        code: Range<usize>,
        constants: Range<usize>,
    ) -> Result<Protected, LoadError> {
        self.set(code, MprotectFlags::READ | MprotectFlags::EXEC)?;
        self.set(constants, MprotectFlags::READ)?;
        Ok(Protected(self))
    }

    fn set(&self, range: Range<usize>, flags: MprotectFlags) -> Result<(), LoadError> {
        let range = range.start.min(self.length)..range.end.min(self.length);
        if range.is_empty() {
            return Ok(());
        }
        // SAFETY: the range is within the mapping, to which no slice is borrowed here.
        let done = unsafe {
            let start = self.start.as_ptr().add(range.start).cast::<c_void>();
            mprotect(start, range.len(), flags)
        };
        done.map_err(|error| LoadError::Memory { bytes: range.len(), source: error.into() })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, unmapped once; nothing borrows it. That an unmapping fails cannot be helped.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Pages whose code and constants are fixed.
#[derive(Debug)]
pub(super) struct Protected(Pages);

impl Protected {
    /// The address of a byte.
    pub(super) fn at(&self, offset: usize) -> Option<NonNull<c_void>> {
        // SAFETY: the byte is within the mapping.
        (offset < self.0.length).then(|| unsafe { self.0.start.add(offset).cast() })
    }
}
