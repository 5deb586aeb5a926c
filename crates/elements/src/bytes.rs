//! Memory of a length and an alignment that are known when it is made.
//!
//! This, `view.rs` and `shared.rs` are the crate's only files with `unsafe`.

#![allow(unsafe_code)]

use crate::Native;
use memmap2::{Advice, MmapMut, MmapOptions};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Alignment of memory that is made here: one cache line, one 512-bit vector. Kernels run without it too, but vector
/// loads that are split between cache lines cost up to half of their speed.
const ALIGNMENT: usize = 64;

/// Memory could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory for a buffer of {bytes} bytes")]
pub struct NoMemory {
    /// How much was asked for; saturated.
    pub bytes: usize,
}

/// Memory from this size on is mapped by itself, in huge pages where the system has them: touching fresh small pages
/// costs more than filling them.
const MAPPED: usize = 2 * HUGE;
/// What a huge page holds on x86-64.
const HUGE: usize = 1 << 21;

/// Bytes that are owned. Invariants: `pointer` is in `memory` (or dangling and aligned where that has no bytes), and
/// behind it are the `initialised` bytes, of which the first `length` are in use.
pub(crate) struct Bytes {
    pointer: NonNull<u8>,
    length: usize,
    initialised: usize,
    memory: Memory,
}

/// What bytes stand in.
enum Memory {
    /// Memory on the heap, allocated with this layout.
    Heap(Layout),
    /// Pages that come to exist, as zeros, when they are touched.
    Pages { _owned: MmapMut },
}

impl Bytes {
    /// `count` times `size` zeros, aligned to [`ALIGNMENT`].
    pub(crate) fn zeroed(count: usize, size: usize) -> Result<Bytes, NoMemory> {
        let bytes = count.saturating_mul(size);
        if bytes >= MAPPED {
            return Bytes::mapped(bytes).ok_or(NoMemory { bytes });
        }
        let layout = Layout::from_size_align(bytes, ALIGNMENT).map_err(|_| NoMemory { bytes })?;
        if bytes == 0 {
            let pointer = NonNull::<Aligned>::dangling().cast();
            return Ok(Bytes { pointer, length: 0, initialised: 0, memory: Memory::Heap(layout) });
        }
        // SAFETY: the layout's size is not zero.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(NoMemory { bytes })?;
        Ok(Bytes { pointer, length: bytes, initialised: bytes, memory: Memory::Heap(layout) })
    }

    /// Zeros in pages of their own, from the beginning of a huge page on.
    fn mapped(length: usize) -> Option<Bytes> {
        let size = length.checked_next_multiple_of(HUGE)?.checked_add(HUGE)?;
        let mut pages = MmapOptions::new().len(size).no_reserve_swap().map_anon().ok()?;
        // Without huge pages it only takes longer.
        let _ = pages.advise(Advice::HugePage);
        let skipped = pages.as_ptr().align_offset(HUGE);
        let pointer = NonNull::from(pages.get_mut(skipped..)?).cast();
        Some(Bytes {
            pointer,
            length,
            initialised: size - skipped,
            memory: Memory::Pages { _owned: pages },
        })
    }

    /// The bytes of a vector's elements, which stay where they are.
    pub(crate) fn from_vec<T: Native>(all: Vec<T>) -> Bytes {
        let mut all = ManuallyDrop::new(all);
        let (length, capacity) = (size_of_val(&all[..]), all.capacity() * size_of::<T>());
        let pointer = NonNull::from(all.as_mut_slice()).cast();
        // SAFETY: a vector's memory has this layout, so it does not overflow. Elements are native types, without
        // padding.
        let layout = unsafe { Layout::from_size_align_unchecked(capacity, align_of::<T>()) };
        Bytes { pointer, length, initialised: length, memory: Memory::Heap(layout) }
    }

    /// The bytes as a vector of elements, which stay where they are; the bytes themselves where they are not those of a
    /// vector. They must be those of a slice of the type.
    pub(crate) fn into_vec<T: Native>(self) -> Result<Vec<T>, Bytes> {
        let size = size_of::<T>();
        let Memory::Heap(layout) = &self.memory else { return Err(self) };
        let whole = layout.size().is_multiple_of(size) && self.length.is_multiple_of(size);
        if layout.size() == 0 || layout.align() != align_of::<T>() || !whole {
            return Err(self);
        }
        let (length, capacity) = (self.length / size, layout.size() / size);
        let bytes = ManuallyDrop::new(self);
        // SAFETY: the memory was allocated by the global allocator with the layout of that many elements, of which
        // `length` are initialised and values of `T`; nothing else owns it any more.
        Ok(unsafe { Vec::from_raw_parts(bytes.pointer.cast().as_ptr(), length, capacity) })
    }

    /// Makes it `length` bytes long, where its memory suffices: bytes that come to it hold anything that they held, or
    /// zero.
    pub(crate) fn fit(&mut self, length: usize) -> bool {
        if length > self.capacity() {
            return false;
        }
        if let Some(more) = length.checked_sub(self.initialised) {
            // SAFETY: `self.initialised + more` bytes are within the memory, which is owned.
            unsafe { self.pointer.add(self.initialised).write_bytes(0, more) };
            self.initialised = length;
        }
        self.length = length;
        true
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// How many there is memory for.
    pub(crate) fn capacity(&self) -> usize {
        match &self.memory {
            Memory::Heap(layout) => layout.size(),
            Memory::Pages { .. } => self.initialised,
        }
    }

    /// All of them.
    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: `length` bytes are initialised, or the pointer is dangling and the length 0.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.length) }
    }

    /// All of them. Whoever writes them must leave values of the element type.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`; `self` owns the memory and is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.length) }
    }
}

/// Something of the alignment of memory that is made here.
#[repr(align(64))]
struct Aligned;

impl Drop for Bytes {
    fn drop(&mut self) {
        if let Memory::Heap(layout) = &self.memory
            && layout.size() > 0
        {
            // SAFETY: allocated with this layout, in `zeroed` or by a vector, whose allocator is the global one too.
            unsafe { dealloc(self.pointer.as_ptr(), *layout) };
        }
    }
}

// SAFETY: it owns its bytes, which belong to elements that are `Send`.
unsafe impl Send for Bytes {}
// SAFETY: a shared reference only reads the bytes, which belong to elements that are `Sync`.
unsafe impl Sync for Bytes {}
