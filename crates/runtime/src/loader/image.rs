//! An object in memory: sections copied, symbols resolved, places patched.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::NonNull;

use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags, RelocationTarget,
    SymbolIndex, SymbolSection,
};

use super::elf::{Elf, Section};
use super::layout::{ADDRESS, Layout, Slots, is_loaded, is_zero};
use super::memory::{Pages, Protected};
use super::symbols;
use super::x86_64::{self as machine, Place, STUB, Through};
use crate::load_error::LoadError;

/// Code in this process.
#[derive(Debug)]
pub(crate) struct Image {
    pages: Protected,
    /// Where the symbols are that others may see.
    exported: BTreeMap<String, usize>,
}

impl Image {
    /// Loads an object. The libraries that its code calls are there.
    pub(crate) fn load(object: &[u8]) -> Result<Image, LoadError> {
        let elf = Elf::parse(object)?;
        machine::check(&elf)?;
        let slots = slots(&elf)?;
        let layout = Layout::of(&elf, slots.len())?;
        let pages = Pages::new(layout.end)?;
        let mut loading = Loading { elf, slots, layout, pages };
        loading.copy()?;
        loading.fill_slots()?;
        loading.relocate()?;
        loading.finish()
    }

    /// The address of a symbol.
    pub(crate) fn find(&self, symbol: &str) -> Option<NonNull<c_void>> {
        self.pages.at(*self.exported.get(symbol)?)
    }
}

/// The relocations of a section, each with its offset, kind, symbol and addend.
fn relocations<'a>(section: &'a Section<'_, '_>) -> impl Iterator<Item = Patch> + use<'a> {
    section.relocations().filter_map(|(offset, relocation)| {
        let RelocationFlags::Elf { r_type } = relocation.flags() else { return None };
        let symbol = match relocation.target() {
            RelocationTarget::Symbol(symbol) => Some(symbol),
            _ => None,
        };
        Some(Patch { offset, kind: r_type, symbol, addend: relocation.addend() })
    })
}

/// A relocation: a place to be patched.
struct Patch {
    offset: u64,
    kind: u32,
    symbol: Option<SymbolIndex>,
    addend: i64,
}

/// The symbols that code reaches through the table of addresses.
fn slots(elf: &Elf<'_>) -> Result<Slots, LoadError> {
    let mut slots = Slots::default();
    for section in elf.sections().filter(is_loaded) {
        for Patch { kind, symbol, .. } in relocations(&section) {
            let Some(symbol) = symbol else { continue };
            let through = match machine::through(kind) {
                Through::Table => true,
                Through::Call => elf.symbol_by_index(symbol)?.is_undefined(),
                Through::Nothing => false,
            };
            if through {
                slots.number(symbol.0);
            }
        }
    }
    Ok(slots)
}

/// A section in memory.
struct InMemory {
    name: String,
    start: usize,
    size: u64,
}

/// An object on its way into memory.
struct Loading<'a> {
    elf: Elf<'a>,
    slots: Slots,
    layout: Layout,
    pages: Pages,
}

impl Loading<'_> {
    /// Copies the sections' bytes.
    fn copy(&mut self) -> Result<(), LoadError> {
        for section in self.elf.sections().filter(is_loaded) {
            let Some(start) = self.layout.sections.get(&section.index().0) else { continue };
            if !is_zero(&section) {
                let data = section.data()?;
                self.pages.bytes()[*start..start + data.len()].copy_from_slice(data);
            }
        }
        Ok(())
    }

    /// The address of a symbol.
    fn address(&self, symbol: SymbolIndex) -> Result<u64, LoadError> {
        let symbol = self.elf.symbol_by_index(symbol)?;
        match symbol.section() {
            SymbolSection::Section(section) => {
                let damaged = || LoadError::Section(symbol.name().unwrap_or("?").to_owned());
                let start = self.layout.sections.get(&section.0).ok_or_else(damaged)?;
                // The address is checked where it is called or patched in; a damaged one may be anything.
                Ok((self.pages.address() + *start as u64).wrapping_add(symbol.address()))
            }
            SymbolSection::Absolute => Ok(symbol.address()),
            _ => symbols::address(symbol.name()?, symbol.is_weak()),
        }
    }

    /// Writes the table of addresses, and the stubs that jump to them.
    fn fill_slots(&mut self) -> Result<(), LoadError> {
        let (stubs, table) = (self.layout.stubs, self.layout.table);
        let numbered: Vec<(usize, usize)> = self.slots.iter().collect();
        for (symbol, number) in numbered {
            let address = self.address(SymbolIndex(symbol))?;
            let (stub, entry) = (stubs + number * STUB.len(), table + number * ADDRESS);
            let base = self.pages.address();
            let code = machine::stub(base + stub as u64, base + entry as u64);
            self.pages.bytes()[entry..entry + ADDRESS].copy_from_slice(&address.to_le_bytes());
            self.pages.bytes()[stub..stub + STUB.len()].copy_from_slice(&code);
        }
        Ok(())
    }

    /// Patches every place.
    fn relocate(&mut self) -> Result<(), LoadError> {
        let mut all = Vec::new();
        for section in self.elf.sections().filter(is_loaded) {
            let Some(start) = self.layout.sections.get(&section.index().0) else { continue };
            let into =
                InMemory { name: section.name()?.to_owned(), start: *start, size: section.size() };
            all.push((into, relocations(&section).collect::<Vec<_>>()));
        }
        for (into, patches) in &all {
            for patch in patches {
                self.patch(into, patch)?;
            }
        }
        Ok(())
    }

    fn patch(&mut self, into: &InMemory, patch: &Patch) -> Result<(), LoadError> {
        let Patch { offset, kind, symbol, addend } = *patch;
        let damaged = || LoadError::Section(into.name.clone());
        let width = machine::width(kind) as u64;
        if offset.checked_add(width).is_none_or(|end| end > into.size) {
            return Err(damaged());
        }
        let symbol = symbol.ok_or_else(damaged)?;
        let (base, slot) = (self.pages.address(), self.slots.get(symbol.0));
        let target = match (machine::through(kind), slot) {
            (Through::Table, Some(slot)) => base + (self.layout.table + slot * ADDRESS) as u64,
            (Through::Call, Some(slot)) => base + (self.layout.stubs + slot * STUB.len()) as u64,
            _ => self.address(symbol)?,
        };
        let at = into.start + offset as usize;
        let place = Place { address: base + at as u64, target, addend };
        let known = machine::patch(kind, &place, &mut self.pages.bytes()[at..at + width as usize]);
        match known {
            Some(true) => Ok(()),
            Some(false) => {
                let name = self.elf.symbol_by_index(symbol)?.name().unwrap_or("?").to_owned();
                Err(LoadError::Far(name))
            }
            None => Err(LoadError::Relocation { kind, section: into.name.clone() }),
        }
    }

    /// Fixes code and constants, and keeps what others may call.
    fn finish(self) -> Result<Image, LoadError> {
        let Loading { elf, layout, pages, .. } = self;
        let mut exported = BTreeMap::new();
        for symbol in elf.symbols().filter(|symbol| symbol.is_global()) {
            let SymbolSection::Section(section) = symbol.section() else { continue };
            if let Some(start) = layout.sections.get(&section.0) {
                let offset = usize::try_from(symbol.address()).unwrap_or(usize::MAX);
                exported.insert(symbol.name()?.to_owned(), start.saturating_add(offset));
            }
        }
        let pages = pages.protect(layout.code, layout.constants)?;
        Ok(Image { pages, exported })
    }
}
