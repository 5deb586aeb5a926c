//! A static linker: an object file for 32-bit RISC-V becomes an [`Image`].
//!
//! Sections of instructions come one after the other, then those of constants; calls of functions that the object does
//! not have lead to routines ([`crate::routines`]). Code must be compiled without relaxation.

use std::collections::BTreeMap;

use object::read::elf::ElfFile32;
use object::{
    Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags,
    RelocationTarget, SectionKind, SymbolIndex, SymbolSection, elf,
};

use crate::address::{SCRATCHPAD, TEXT};
use crate::image::Image;
use crate::routines;

/// Why an object cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// A file that is no such object.
    #[error("the object file is damaged: {0}")]
    Damaged(String),
    /// A function that neither the object nor the machine has.
    #[error("the code calls `{0}`, which the machine has no routine for")]
    Missing(String),
    /// A relocation that the linker does not know.
    #[error("a relocation of kind {0} is not known")]
    Relocation(u32),
    /// A jump that is too far.
    #[error("a jump to {0:#x} is too far")]
    Far(u32),
}

impl From<object::Error> for LinkError {
    fn from(error: object::Error) -> LinkError {
        LinkError::Damaged(error.to_string())
    }
}

type File<'a> = ElfFile32<'a, Endianness>;

/// Where the sections of an object stand.
struct Linker<'a> {
    file: File<'a>,
    /// The address of each section that is loaded.
    begins: BTreeMap<usize, u32>,
    image: Image,
    /// Whether sizes have 64 bits.
    wide: bool,
}

/// Links an object whose sizes have 64 bits (`wide`) or 32.
///
/// # Errors
/// A damaged object, a function that is missing, a relocation that is not known.
pub fn link(object: &[u8], wide: bool) -> Result<Image, LinkError> {
    let file = File::parse(object)?;
    let mut linker = Linker { file, begins: BTreeMap::new(), image: Image::default(), wide };
    linker.place()?;
    linker.name()?;
    linker.relocate()?;
    Ok(linker.image)
}

impl Linker<'_> {
    /// Gives each section that is loaded its address.
    fn place(&mut self) -> Result<(), LinkError> {
        for section in self.file.sections() {
            let (bytes, begin) = match section.kind() {
                SectionKind::Text => (&mut self.image.text, TEXT),
                SectionKind::Data
                | SectionKind::ReadOnlyData
                | SectionKind::ReadOnlyString
                | SectionKind::UninitializedData => (&mut self.image.data, SCRATCHPAD),
                _ => continue,
            };
            if section.name()?.starts_with(".eh_frame") {
                continue;
            }
            bytes.resize(bytes.len().next_multiple_of(section.align().max(4) as usize), 0);
            self.begins.insert(section.index().0, begin + bytes.len() as u32);
            bytes.extend(section.uncompressed_data()?.iter());
            if section.kind() == SectionKind::UninitializedData {
                bytes.resize(bytes.len() + section.size() as usize, 0);
            }
        }
        Ok(())
    }

    fn name(&mut self) -> Result<(), LinkError> {
        for symbol in self.file.symbols() {
            if symbol.is_definition() && symbol.kind() == object::SymbolKind::Text {
                let SymbolSection::Section(section) = symbol.section() else { continue };
                let Some(begin) = self.begins.get(&section.0) else { continue };
                let address = begin + symbol.address() as u32;
                self.image.functions.insert(symbol.name()?.to_owned(), address);
            }
        }
        Ok(())
    }

    fn address(&self, symbol: SymbolIndex) -> Result<u32, LinkError> {
        let symbol = self.file.symbol_by_index(symbol)?;
        match symbol.section() {
            SymbolSection::Section(section) => match self.begins.get(&section.0) {
                Some(begin) => Ok(begin + symbol.address() as u32),
                None => Err(LinkError::Damaged("a symbol of a section that is not loaded".into())),
            },
            SymbolSection::Absolute => Ok(symbol.address() as u32),
            _ => {
                let name = symbol.name()?;
                routines::address(name, self.wide)
                    .ok_or_else(|| LinkError::Missing(name.to_owned()))
            }
        }
    }

    fn relocate(&mut self) -> Result<(), LinkError> {
        let mut patches = Vec::new();
        let mut highs = BTreeMap::new();
        for section in self.file.sections() {
            let Some(begin) = self.begins.get(&section.index().0) else { continue };
            for (offset, relocation) in section.relocations() {
                let RelocationFlags::Elf { r_type: kind } = relocation.flags() else { continue };
                let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
                if matches!(kind, elf::R_RISCV_RELAX | elf::R_RISCV_ALIGN) {
                    continue;
                }
                let place = begin + offset as u32;
                let target = self.address(symbol)?.wrapping_add(relocation.addend() as u32);
                if kind == elf::R_RISCV_PCREL_HI20 {
                    highs.insert(place, target);
                }
                patches.push(Patch { kind, place, target });
            }
        }
        for mut patch in patches {
            // The lower part of a distance names the instruction with the upper part.
            if matches!(patch.kind, elf::R_RISCV_PCREL_LO12_I | elf::R_RISCV_PCREL_LO12_S) {
                let high = highs.get(&patch.target).copied();
                let high = high.ok_or(LinkError::Relocation(patch.kind))?;
                patch.target = high.wrapping_sub(patch.target);
            }
            patch.apply(&mut self.image)?;
        }
        Ok(())
    }
}

/// A place that refers to a symbol.
struct Patch {
    kind: u32,
    place: u32,
    target: u32,
}

impl Patch {
    fn apply(&self, image: &mut Image) -> Result<(), LinkError> {
        let Patch { kind, place, target } = *self;
        let distance = target.wrapping_sub(place);
        match kind {
            elf::R_RISCV_32 => put(image, place, |_| target),
            elf::R_RISCV_ADD32 => put(image, place, |word| word.wrapping_add(target)),
            elf::R_RISCV_SUB32 => put(image, place, |word| word.wrapping_sub(target)),
            elf::R_RISCV_32_PCREL => put(image, place, |_| distance),
            elf::R_RISCV_HI20 => put(image, place, |word| with_high(word, target)),
            elf::R_RISCV_PCREL_HI20 => put(image, place, |word| with_high(word, distance)),
            elf::R_RISCV_LO12_I | elf::R_RISCV_PCREL_LO12_I => {
                put(image, place, |word| with_low(word, target))
            }
            elf::R_RISCV_LO12_S | elf::R_RISCV_PCREL_LO12_S => {
                put(image, place, |word| with_low_of_store(word, target))
            }
            elf::R_RISCV_CALL | elf::R_RISCV_CALL_PLT => {
                put(image, place, |word| with_high(word, distance));
                put(image, place + 4, |word| with_low(word, distance));
            }
            elf::R_RISCV_BRANCH if fits(distance, 13) => {
                put(image, place, |word| with_branch(word, distance))
            }
            elf::R_RISCV_JAL if fits(distance, 21) => {
                put(image, place, |word| with_jump(word, distance))
            }
            elf::R_RISCV_BRANCH | elf::R_RISCV_JAL => return Err(LinkError::Far(target)),
            kind => return Err(LinkError::Relocation(kind)),
        }
        Ok(())
    }
}

fn put(image: &mut Image, place: u32, change: impl FnOnce(u32) -> u32) {
    let (bytes, begin) = match place >= SCRATCHPAD {
        true => (&mut image.data, SCRATCHPAD),
        false => (&mut image.text, TEXT),
    };
    let at = (place - begin) as usize;
    if let Some(found) = bytes.get_mut(at..at + 4) {
        let word = u32::from_le_bytes([found[0], found[1], found[2], found[3]]);
        found.copy_from_slice(&change(word).to_le_bytes());
    }
}

fn fits(distance: u32, bits: u32) -> bool {
    let distance = distance as i32;
    distance == distance << (32 - bits) >> (32 - bits)
}

/// The upper part is rounded, since the lower one has a sign.
fn with_high(word: u32, value: u32) -> u32 {
    (word & 0xfff) | (value.wrapping_add(0x800) & 0xffff_f000)
}

fn with_low(word: u32, value: u32) -> u32 {
    (word & 0x000f_ffff) | (value << 20)
}

fn with_low_of_store(word: u32, value: u32) -> u32 {
    (word & 0x01ff_f07f) | ((value & 0x1f) << 7) | ((value & 0xfe0) << 20)
}

fn with_branch(word: u32, distance: u32) -> u32 {
    let bits = |from: u32, count: u32| (distance >> from) & ((1 << count) - 1);
    (word & 0x01ff_f07f) | bits(1, 4) << 8 | bits(5, 6) << 25 | bits(11, 1) << 7 | bits(12, 1) << 31
}

fn with_jump(word: u32, distance: u32) -> u32 {
    let bits = |from: u32, count: u32| (distance >> from) & ((1 << count) - 1);
    (word & 0xfff) | bits(12, 8) << 12 | bits(11, 1) << 20 | bits(1, 10) << 21 | bits(20, 1) << 31
}
