//! Object files as the `object` crate reads them.

use object::Endianness;
use object::read::elf::{ElfFile64, ElfSection64};

/// An object file.
pub(super) type Elf<'a> = ElfFile64<'a, Endianness>;

/// One of its sections.
pub(super) type Section<'a, 'b> = ElfSection64<'a, 'b, Endianness>;
