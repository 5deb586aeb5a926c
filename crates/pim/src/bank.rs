//! The memory of a core's bank: windows of buffers that cores share until they write, and workspaces.
//!
//! The host's buffers stand one behind the other at multiples of a page, at the same addresses for all cores. A core
//! reads the shared bytes until it writes to a page, of which it has a copy from then on. What it touched of each
//! buffer is a [`Window`]: the bytes that a host has to move, and what has to fit the bank.

use crate::address::{BANK, PAGE};
use crate::fault::Cause;

/// The buffers of a launch, as the host hands them out.
#[derive(Debug, Default)]
pub struct Shared {
    /// Where each buffer stands, in the order of the launch.
    pub placed: Vec<Placed>,
    /// All bytes.
    pub bytes: Vec<u8>,
    /// Which buffer each page belongs to.
    owners: Vec<u32>,
}

/// A buffer among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its first byte.
    pub begin: u32,
    /// Behind its last byte.
    pub end: u32,
    /// Whether cores may store to it.
    pub writable: bool,
}

impl Shared {
    /// Adds a buffer; nothing if addresses do not reach so far.
    pub fn add(&mut self, bytes: &[u8], writable: bool) -> Option<()> {
        let begin = u32::try_from(self.bytes.len()).ok()?;
        let end = begin.checked_add(u32::try_from(bytes.len()).ok()?)?;
        // An empty buffer has an address too.
        let next = end.max(begin + 1).checked_next_multiple_of(PAGE)?;
        next.checked_add(BANK).filter(|end| *end < u32::MAX - BANK / 2)?;
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(next as usize, 0);
        self.owners.resize((next / PAGE) as usize, self.placed.len() as u32);
        self.placed.push(Placed { begin, end, writable });
        Some(())
    }
}

/// What a core touched of a buffer: `begin..end`, empty if nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first byte.
    pub begin: u32,
    /// Behind the last one.
    pub end: u32,
}

impl Window {
    /// Nothing.
    pub const NONE: Window = Window { begin: u32::MAX, end: 0 };

    fn widen(&mut self, begin: u32, end: u32) {
        self.begin = self.begin.min(begin);
        self.end = self.end.max(end);
    }

    /// Its bytes.
    pub fn bytes(self) -> u64 {
        u64::from(self.end.saturating_sub(self.begin))
    }

    /// The smallest window around two.
    pub fn around(self, other: Window) -> Window {
        Window { begin: self.begin.min(other.begin), end: self.end.max(other.end) }
    }
}

/// What a core touched of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// What it read.
    pub read: Window,
    /// What it wrote.
    pub written: Window,
}

/// A page that a core wrote to.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its number.
    pub number: u32,
    /// Its bytes.
    pub bytes: Box<[u8; PAGE as usize]>,
    /// A bit for each byte that was written.
    pub dirty: Box<[u64; PAGE as usize / 64]>,
}

impl Page {
    /// Copies what was written to other bytes, which begin with this page.
    pub fn merge(&self, into: &mut [u8]) {
        for (at, (to, from)) in into.iter_mut().zip(self.bytes.iter()).enumerate() {
            if self.dirty[at / 64] & (1 << (at % 64)) != 0 {
                *to = *from;
            }
        }
    }
}

/// No page of a core's own.
const SHARED: u32 = u32::MAX;

/// The bank of one core.
#[derive(Debug)]
pub struct Bank<'a> {
    shared: &'a Shared,
    /// For each page the place of the core's own copy, or [`SHARED`].
    table: Vec<u32>,
    /// Pages that were written.
    pub pages: Vec<Page>,
    /// What was touched of each buffer.
    pub touched: Vec<Touched>,
    heap: Heap,
}

impl<'a> Bank<'a> {
    /// A bank that nothing was written to; workspaces have at most `room` bytes.
    pub fn new(shared: &'a Shared, room: u32) -> Bank<'a> {
        let begin = shared.bytes.len() as u32;
        Bank {
            shared,
            table: vec![SHARED; shared.owners.len()],
            pages: Vec::new(),
            touched: vec![
                Touched { read: Window::NONE, written: Window::NONE };
                shared.placed.len()
            ],
            heap: Heap {
                begin,
                top: begin,
                limit: begin.saturating_add(room),
                most: begin,
                free: Vec::new(),
            },
        }
    }

    /// Most bytes that workspaces had at once.
    pub fn workspaces(&self) -> u64 {
        u64::from(self.heap.most - self.heap.begin)
    }

    /// Memory for a workspace: its address.
    ///
    /// # Errors
    /// More than there may be.
    pub fn allocate(&mut self, bytes: u64) -> Result<u32, Cause> {
        let place = self.heap.allocate(bytes).ok_or(Cause::NoMemory { bytes })?;
        let pages = self.heap.top.div_ceil(PAGE) as usize;
        if pages > self.table.len() {
            self.table.resize(pages, SHARED);
        }
        Ok(place + BANK)
    }

    /// Gives a workspace back.
    pub fn give_back(&mut self, address: u32) {
        self.heap.give_back(address.wrapping_sub(BANK));
    }

    /// Bytes, the lowest first, as a number.
    ///
    /// # Errors
    /// An address outside of all buffers.
    #[inline]
    pub fn read(&mut self, offset: u32, bytes: u32) -> Result<u32, Cause> {
        let number = offset / PAGE;
        let out = || Cause::OutOfBank { address: offset.wrapping_add(BANK) };
        let end = offset.checked_add(bytes).ok_or_else(out)?;
        match self.shared.owners.get(number as usize) {
            Some(owner) => {
                let owner = *owner as usize;
                if end > self.shared.placed[owner].end {
                    return Err(out());
                }
                self.touched[owner].read.widen(offset, end);
            }
            None if end > self.heap.top => return Err(out()),
            None => {}
        }
        let own = self.table[number as usize];
        let from = match own {
            SHARED => self.shared.bytes.get(offset as usize..end as usize),
            own => {
                let at = (offset % PAGE) as usize;
                self.pages[own as usize].bytes.get(at..at + bytes as usize)
            }
        };
        // A workspace that was not written to holds anything.
        let from = from.unwrap_or(&[]);
        Ok(from.iter().rev().fold(0, |all, byte| (all << 8) | u32::from(*byte)))
    }

    /// Stores the lowest bytes of a number.
    ///
    /// # Errors
    /// An address outside of all buffers, or in one that is only read.
    #[inline]
    pub fn write(&mut self, offset: u32, bytes: u32, value: u32) -> Result<(), Cause> {
        let (number, address) = (offset / PAGE, offset.wrapping_add(BANK));
        let end = offset.checked_add(bytes).ok_or(Cause::OutOfBank { address })?;
        match self.shared.owners.get(number as usize) {
            Some(owner) => {
                let owner = *owner as usize;
                let placed = self.shared.placed[owner];
                if end > placed.end {
                    return Err(Cause::OutOfBank { address });
                }
                if !placed.writable {
                    return Err(Cause::ReadOnly { address });
                }
                self.touched[owner].written.widen(offset, end);
            }
            None if end > self.heap.top => return Err(Cause::OutOfBank { address }),
            None => {}
        }
        let own = match self.table[number as usize] {
            SHARED => self.copy(number),
            own => own as usize,
        };
        let page = &mut self.pages[own];
        let at = (offset % PAGE) as usize;
        page.bytes[at..at + bytes as usize].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
        // Accesses are aligned: all bits are in one word.
        page.dirty[at / 64] |= ((1u64 << bytes) - 1) << (at % 64);
        Ok(())
    }

    /// A page of the core's own.
    fn copy(&mut self, number: u32) -> usize {
        let mut bytes = Box::new([0; PAGE as usize]);
        let begin = (number * PAGE) as usize;
        if let Some(from) = self.shared.bytes.get(begin..begin + PAGE as usize) {
            bytes.copy_from_slice(from);
        }
        let place = self.pages.len();
        self.table[number as usize] = place as u32;
        self.pages.push(Page { number, bytes, dirty: Box::new([0; PAGE as usize / 64]) });
        place
    }
}

/// Memory for workspaces: what was given back is used again where it fits.
#[derive(Debug)]
struct Heap {
    begin: u32,
    /// Behind what was ever asked for.
    top: u32,
    limit: u32,
    most: u32,
    /// What was given out: where it begins, its bytes, whether it is in use.
    free: Vec<(u32, u32, bool)>,
}

impl Heap {
    fn allocate(&mut self, bytes: u64) -> Option<u32> {
        let bytes = u32::try_from(bytes.max(1)).ok()?.checked_next_multiple_of(64)?;
        if let Some(block) = self.free.iter_mut().find(|one| !one.2 && one.1 >= bytes) {
            block.2 = true;
            return Some(block.0);
        }
        let place = self.top;
        self.top = place.checked_add(bytes).filter(|top| *top <= self.limit)?;
        self.most = self.most.max(self.top);
        self.free.push((place, bytes, true));
        Some(place)
    }

    fn give_back(&mut self, place: u32) {
        if let Some(block) = self.free.iter_mut().find(|one| one.0 == place) {
            block.2 = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_have_copies_of_what_they_write() {
        let mut shared = Shared::default();
        shared.add(&[1, 2, 3, 4, 5, 6, 7, 8], true).unwrap();
        shared.add(&[9, 0, 0, 0], false).unwrap();
        let mut bank = Bank::new(&shared, 1 << 20);
        assert_eq!(bank.read(4, 4), Ok(0x0807_0605));
        bank.write(4, 2, 0xbbaa).unwrap();
        assert_eq!(bank.read(4, 4), Ok(0x0807_bbaa));
        assert_eq!(Bank::new(&shared, 0).read(4, 4), Ok(0x0807_0605));
        assert_eq!(bank.read(PAGE, 1), Ok(9));
        assert_eq!(bank.touched[0].read, Window { begin: 4, end: 8 });
        assert_eq!(bank.touched[0].written, Window { begin: 4, end: 6 });
        assert_eq!(bank.touched[1].read.bytes(), 1);
        let mut merged = vec![0; 8];
        bank.pages[0].merge(&mut merged);
        assert_eq!(merged, [0, 0, 0, 0, 0xaa, 0xbb, 0, 0]);
        let out = |offset: u32| Err(Cause::OutOfBank { address: BANK + offset });
        assert_eq!(bank.read(8, 1), out(8));
        assert_eq!(bank.read(2 * PAGE, 1), out(2 * PAGE));
        assert_eq!(bank.write(8, 4, 0), out(8).map(|_: u32| ()));
        assert_eq!(bank.write(PAGE, 1, 0), Err(Cause::ReadOnly { address: BANK + PAGE }));
    }

    #[test]
    fn workspaces_are_used_again() {
        let shared = Shared::default();
        let mut bank = Bank::new(&shared, 256);
        let first = bank.allocate(100).unwrap();
        let second = bank.allocate(64).unwrap();
        assert_eq!((first, second), (BANK, BANK + 128));
        bank.give_back(first);
        assert_eq!(bank.allocate(128), Ok(first));
        assert_eq!(bank.allocate(128), Err(Cause::NoMemory { bytes: 128 }));
        bank.write(0, 4, 7).unwrap();
        assert_eq!(bank.read(0, 4), Ok(7));
        assert_eq!(bank.workspaces(), 192);
    }
}
