//! A linked program: instructions, constants and the addresses of functions, and its form as an ELF file.
//!
//! The file is an executable for 32-bit RISC-V with two segments: `.text`, which every core holds in its instruction
//! memory, and `.rodata`, which begins its scratchpad. Other sections carry what a host needs to know.

use std::collections::BTreeMap;

use object::read::elf::ElfFile32;
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _};

use crate::address::{SCRATCHPAD, TEXT};
use crate::isa::{self, Kind, Op};

/// A linked program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Instructions, from [`TEXT`] on.
    pub text: Vec<u8>,
    /// Constants, from [`SCRATCHPAD`] on.
    pub data: Vec<u8>,
    /// The addresses of functions.
    pub functions: BTreeMap<String, u32>,
    /// What else the file has: sections by name.
    pub notes: BTreeMap<String, Vec<u8>>,
}

/// Bytes of the header of a file, of a segment's and of a section's.
const HEADER: u32 = 52;
const SEGMENT: u32 = 32;
const SECTION: u32 = 40;

/// A section of the file.
struct Written<'a> {
    name: &'a str,
    kind: u32,
    flags: u32,
    address: u32,
    bytes: Vec<u8>,
    /// Its link, what it says in addition, and the size of an entry.
    details: [u32; 3],
}

impl Image {
    /// The instructions in the form that cores execute.
    pub fn decoded(&self) -> Vec<Option<Op>> {
        let words = self.text.chunks_exact(4);
        words
            .map(|word| isa::decode(u32::from_le_bytes([word[0], word[1], word[2], word[3]])))
            .collect()
    }

    /// The function that an address belongs to.
    pub fn function_at(&self, address: u32) -> Option<&str> {
        let before = self.functions.iter().filter(|(_, begin)| **begin <= address);
        before.max_by_key(|(_, begin)| **begin).map(|(name, _)| name.as_str())
    }

    /// Bytes of the functions that a core runs which starts at an address: what its instruction memory has to hold.
    pub fn bytes_from(&self, text: &[Option<Op>], start: u32) -> u64 {
        let (mut found, mut open) = (BTreeMap::new(), vec![start]);
        while let Some(address) = open.pop() {
            let Some((begin, end)) = self.around(address) else { continue };
            if found.insert(begin, end - begin).is_some() {
                continue;
            }
            let first = ((begin - TEXT) / 4) as usize;
            let ops = text.get(first..((end - TEXT) / 4) as usize).unwrap_or(&[]);
            for (at, op) in ops.iter().enumerate() {
                let (Some(op), pc) = (op, begin + 4 * at as u32) else { continue };
                let next = ops.get(at + 1).copied().flatten();
                match (op.kind, next) {
                    (Kind::Jal, _) => open.push(pc.wrapping_add(op.imm as u32)),
                    (Kind::Auipc, Some(jump)) if jump.kind == Kind::Jalr => {
                        open.push(pc.wrapping_add(op.imm as u32).wrapping_add(jump.imm as u32));
                    }
                    _ => {}
                }
            }
        }
        found.values().map(|bytes| u64::from(*bytes)).sum()
    }

    /// Where the function that an address belongs to begins, and where the next one does.
    fn around(&self, address: u32) -> Option<(u32, u32)> {
        let end = TEXT + self.text.len() as u32;
        let begins = || self.functions.values().copied();
        let begin = begins().filter(|begin| *begin <= address && address < end).max()?;
        Some((begin, begins().filter(|next| *next > begin).min().unwrap_or(end)))
    }

    /// The file.
    pub fn to_elf(&self) -> Vec<u8> {
        let (symbols, names) = self.symbols();
        let plain = |name, kind, bytes| Written {
            name,
            kind,
            flags: 0,
            address: 0,
            bytes,
            details: [0; 3],
        };
        let loaded = |name, flags, address, bytes: &[u8]| Written {
            flags,
            address,
            ..plain(name, 1, bytes.to_vec())
        };
        let mut sections = vec![
            plain("", 0, Vec::new()),
            loaded(".text", 6, TEXT, &self.text),
            loaded(".rodata", 2, SCRATCHPAD, &self.data),
            Written { details: [4, 1, 16], ..plain(".symtab", 2, symbols) },
            plain(".strtab", 3, names),
        ];
        sections.extend(self.notes.iter().map(|(name, bytes)| plain(name, 1, bytes.clone())));
        let mut all_names = Vec::new();
        let mut offsets: Vec<u32> =
            sections.iter().map(|section| named(&mut all_names, section.name)).collect();
        offsets.push(named(&mut all_names, ".shstrtab"));
        sections.push(plain(".shstrtab", 3, all_names));
        written(&sections, &offsets)
    }

    /// The table of symbols and their names.
    fn symbols(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut symbols, mut names) = (vec![0; 16], vec![0]);
        for (name, address) in &self.functions {
            let place = named(&mut names, name);
            let words = [place, *address, 0];
            symbols.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            // A global function in section 1.
            symbols.extend([0x12, 0, 1, 0]);
        }
        (symbols, names)
    }

    /// A program from a file; nothing if it is not one.
    pub fn from_elf(bytes: &[u8]) -> Option<Image> {
        let file = ElfFile32::<Endianness>::parse(bytes).ok()?;
        let mut image = Image::default();
        for section in file.sections() {
            let (Ok(name), Ok(data)) = (section.name(), section.data()) else { continue };
            match name {
                ".text" if section.address() == u64::from(TEXT) => image.text = data.to_vec(),
                ".rodata" => image.data = data.to_vec(),
                "" | ".symtab" | ".strtab" | ".shstrtab" => {}
                name => drop(image.notes.insert(name.to_owned(), data.to_vec())),
            }
        }
        for symbol in file.symbols() {
            if let (Ok(name), Ok(address)) = (symbol.name(), u32::try_from(symbol.address())) {
                image.functions.insert(name.to_owned(), address);
            }
        }
        image.functions.remove("");
        Some(image)
    }
}

/// Adds a name to a table of names: its place.
fn named(names: &mut Vec<u8>, name: &str) -> u32 {
    let place = names.len() as u32;
    names.extend(name.bytes().chain([0]));
    place
}

fn written(sections: &[Written<'_>], names: &[u32]) -> Vec<u8> {
    let segments: Vec<&Written<'_>> =
        sections.iter().filter(|section| section.flags != 0).collect();
    let mut at = HEADER + SEGMENT * segments.len() as u32;
    let (mut headers, mut program, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for (section, name) in sections.iter().zip(names) {
        let padding = at.next_multiple_of(16) - at;
        bytes.resize(bytes.len() + padding as usize, 0);
        at += padding;
        let size = section.bytes.len() as u32;
        let Written { kind, flags, address, details: [link, info, entry], .. } = section;
        let header = [*name, *kind, *flags, *address, at, size, *link, *info, 4, *entry];
        headers.extend(header.iter().flat_map(|word| word.to_le_bytes()));
        if *flags != 0 {
            let rights = if *flags & 4 == 0 { 4 } else { 5 };
            let segment = [1, at, *address, *address, size, size, rights, 16];
            program.extend(segment.iter().flat_map(|word: &u32| word.to_le_bytes()));
        }
        bytes.extend(&section.bytes);
        at += size;
    }
    let padding = at.next_multiple_of(4) - at;
    bytes.resize(bytes.len() + padding as usize, 0);
    at += padding;
    let mut file = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    // An executable for RISC-V whose floats are in float registers.
    let words = [0x00f3_0002, 1, TEXT, HEADER, at, 2];
    file.extend(words.iter().flat_map(|word: &u32| word.to_le_bytes()));
    let (count, last) = (sections.len() as u16, sections.len() as u16 - 1);
    let shorts =
        [HEADER as u16, SEGMENT as u16, segments.len() as u16, SECTION as u16, count, last];
    file.extend(shorts.iter().flat_map(|short| short.to_le_bytes()));
    [file, program, bytes, headers].concat()
}
