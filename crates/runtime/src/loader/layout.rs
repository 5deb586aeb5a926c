//! Where the sections of an object stand in memory.

use std::collections::BTreeMap;
use std::ops::Range;

use object::elf::{SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_NOBITS};
use object::read::elf::SectionHeader as _;
use object::{Endianness, Object as _, ObjectSection as _};

use super::elf::{Elf, Section};
use super::memory::page_size;
use super::x86_64::STUB;
use crate::load_error::LoadError;

/// Bytes of an address.
pub(super) const ADDRESS: usize = 8;

/// What pages are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Code,
    Constants,
    Variables,
}

/// Offsets into the mapping.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Where each section that is loaded begins.
    pub(super) sections: BTreeMap<usize, usize>,
    /// Stubs and addresses, in the order in which [`Layout::slot`] counts.
    pub(super) stubs: usize,
    /// The table of addresses.
    pub(super) table: usize,
    pub(super) code: Range<usize>,
    pub(super) constants: Range<usize>,
    pub(super) end: usize,
}

/// Whether a section is part of the program that runs.
pub(super) fn is_loaded(section: &Section<'_, '_>) -> bool {
    let flags = section.elf_section_header().sh_flags(Endianness::Little) as u32;
    flags & SHF_ALLOC != 0 && section.name() != Ok(".eh_frame")
}

/// Whether a section holds nothing but zeros, which the file does not have.
pub(super) fn is_zero(section: &Section<'_, '_>) -> bool {
    section.elf_section_header().sh_type(Endianness::Little) == SHT_NOBITS
}

fn use_of(section: &Section<'_, '_>) -> Use {
    let flags = section.elf_section_header().sh_flags(Endianness::Little) as u32;
    match (flags & SHF_EXECINSTR != 0, flags & SHF_WRITE != 0) {
        (true, _) => Use::Code,
        (false, true) => Use::Variables,
        (false, false) => Use::Constants,
    }
}

impl Layout {
    /// Places all sections, with room for `slots` stubs and addresses.
    pub(super) fn of(elf: &Elf<'_>, slots: usize) -> Result<Layout, LoadError> {
        let mut layout = Layout::default();
        layout.group(elf, Use::Code)?;
        layout.stubs = layout.end.next_multiple_of(STUB.len());
        layout.end = layout.stubs + slots * STUB.len();
        layout.code = 0..layout.page();
        layout.group(elf, Use::Constants)?;
        layout.table = layout.end.next_multiple_of(ADDRESS);
        layout.end = layout.table + slots * ADDRESS;
        layout.constants = layout.code.end..layout.page();
        layout.group(elf, Use::Variables)?;
        Ok(layout)
    }

    fn group(&mut self, elf: &Elf<'_>, wanted: Use) -> Result<(), LoadError> {
        for section in elf.sections().filter(is_loaded).filter(|one| use_of(one) == wanted) {
            let damaged = || LoadError::Section(section.name().unwrap_or("?").to_owned());
            let align = usize::try_from(section.align().max(1)).map_err(|_| damaged())?;
            let size = usize::try_from(section.size()).map_err(|_| damaged())?;
            if !align.is_power_of_two() || align > page_size() || size > u32::MAX as usize {
                return Err(damaged());
            }
            let start = self.end.next_multiple_of(align);
            self.sections.insert(section.index().0, start);
            self.end = start + size;
        }
        Ok(())
    }

    /// Ends a group at the border of a page.
    fn page(&mut self) -> usize {
        self.end = self.end.next_multiple_of(page_size());
        self.end
    }
}

/// Symbols that code reaches through the table of addresses, numbered, with their addresses where they are other
/// libraries'.
#[derive(Debug, Default)]
pub(super) struct Slots {
    numbers: BTreeMap<usize, usize>,
}

impl Slots {
    /// The number of a symbol, by its place in the object's table; a new one if it has none.
    pub(super) fn number(&mut self, symbol: usize) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(symbol).or_insert(next)
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.numbers.iter().map(|(symbol, number)| (*symbol, *number))
    }

    pub(super) fn get(&self, symbol: usize) -> Option<usize> {
        self.numbers.get(&symbol).copied()
    }
}
