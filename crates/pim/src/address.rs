//! Where everything stands in the address space of a core.

/// Where instructions begin.
pub const TEXT: u32 = 0x0001_0000;

/// Where the addresses of routines begin; they are 16 bytes apart.
pub const ROUTINES: u32 = 0x0f00_0000;

/// Where the scratchpad begins: constants, parameters, then a stack for each thread.
pub const SCRATCHPAD: u32 = 0x1000_0000;

/// Where the bank begins: windows of buffers, then workspaces.
pub const BANK: u32 = 0x4000_0000;

/// Bytes of a page, at whose multiples buffers begin.
pub const PAGE: u32 = 4096;
