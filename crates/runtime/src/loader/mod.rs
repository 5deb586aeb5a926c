//! Loads a relocatable ELF object into this process: what a linker and the system's loader do for a library, without
//! either.
//!
//! The object's sections are placed into one mapping, in three groups of pages: code, constants, variables. Beside the
//! code stands a stub for each function of another library, since that may be farther away than a call reaches; beside
//! the constants stands the table of addresses (the global offset table) from which stubs and code load what they
//! cannot reach. When everything is in place, code becomes executable and constants become read-only: no page is ever
//! writable and executable at once.
//!
//! Code never unwinds, so its unwind tables (`.eh_frame`) are left out.

mod elf;
mod image;
mod layout;
mod memory;
mod symbols;
mod x86_64;

pub(crate) use image::Image;
