//! Relocations of code for x86-64, as the psABI's table 4.9 defines them: `S` is a symbol's address, `A` the addend,
//! `P` the place's address, `G` the address of a symbol's entry in the table of addresses.

use object::Object as _;
use object::elf::{
    R_X86_64_64, R_X86_64_CODE_4_GOTPCRELX, R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX, R_X86_64_NONE,
    R_X86_64_PC32, R_X86_64_PC64, R_X86_64_PLT32, R_X86_64_REX_GOTPCRELX,
};

use super::elf::Elf;
use crate::load_error::LoadError;

/// What stands between a place and its symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Through {
    /// The table of addresses.
    Table,
    /// A stub, if the symbol is another library's.
    Call,
    /// Nothing.
    Nothing,
}

/// A place and what it refers to.
pub(super) struct Place {
    /// `P`
    pub(super) address: u64,
    /// `S`, or `G`
    pub(super) target: u64,
    /// `A`
    pub(super) addend: i64,
}

/// `jmp *displacement(%rip)`, filled up with `int3`.
pub(super) const STUB: [u8; 16] =
    [0xff, 0x25, 0, 0, 0, 0, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc];

/// Fails for code of another processor.
pub(super) fn check(elf: &Elf<'_>) -> Result<(), LoadError> {
    match elf.architecture() {
        object::Architecture::X86_64 => Ok(()),
        found => Err(LoadError::Machine { found: format!("{found:?}") }),
    }
}

/// A stub at `stub` that jumps to the address that stands at `entry`, in the same mapping.
pub(super) fn stub(stub: u64, entry: u64) -> [u8; 16] {
    let mut code = STUB;
    let displacement = entry.wrapping_sub(stub + 6) as u32;
    code[2..6].copy_from_slice(&displacement.to_le_bytes());
    code
}

/// How a relocation reaches its symbol.
pub(super) fn through(kind: u32) -> Through {
    match kind {
        R_X86_64_GOTPCREL
        | R_X86_64_GOTPCRELX
        | R_X86_64_REX_GOTPCRELX
        | R_X86_64_CODE_4_GOTPCRELX => Through::Table,
        R_X86_64_PLT32 => Through::Call,
        _ => Through::Nothing,
    }
}

/// Bytes that a relocation patches.
pub(super) fn width(kind: u32) -> usize {
    match kind {
        R_X86_64_NONE => 0,
        R_X86_64_64 | R_X86_64_PC64 => 8,
        _ => 4,
    }
}

/// Patches a place and returns whether its symbol is near enough; `None` for an unknown kind of relocation.
pub(super) fn patch(kind: u32, place: &Place, bytes: &mut [u8]) -> Option<bool> {
    let target = place.target.wrapping_add_signed(place.addend);
    let distance = target.wrapping_sub(place.address).cast_signed();
    match kind {
        R_X86_64_NONE => {}
        R_X86_64_64 => bytes.copy_from_slice(&target.to_le_bytes()),
        R_X86_64_PC64 => bytes.copy_from_slice(&distance.to_le_bytes()),
        R_X86_64_PC32
        | R_X86_64_PLT32
        | R_X86_64_GOTPCREL
        | R_X86_64_GOTPCRELX
        | R_X86_64_REX_GOTPCRELX
        | R_X86_64_CODE_4_GOTPCRELX => {
            let Ok(distance) = i32::try_from(distance) else { return Some(false) };
            bytes.copy_from_slice(&distance.to_le_bytes());
        }
        _ => return None,
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_is_counted_from_the_place() {
        let mut bytes = [0; 4];
        let place = Place { address: 0x1000, target: 0x1800, addend: -4 };
        assert_eq!(patch(R_X86_64_PC32, &place, &mut bytes), Some(true));
        assert_eq!(i32::from_le_bytes(bytes), 0x7fc);
        let far = Place { target: 1 << 40, ..place };
        assert_eq!(patch(R_X86_64_PLT32, &far, &mut bytes), Some(false));
        assert_eq!(patch(10, &far, &mut bytes), None);
    }

    #[test]
    fn a_stub_jumps_through_its_entry() {
        let code = stub(0x1000, 0x3000);
        assert_eq!(code[..6], [0xff, 0x25, 0xfa, 0x1f, 0, 0]);
    }
}
