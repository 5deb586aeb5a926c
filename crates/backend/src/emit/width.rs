//! The width of integers of subscripts and bounds.

/// Bits of MLIR's `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexWidth {
    /// Where all integers are known to fit.
    Bits32,
    /// What the loop IR computes with.
    Bits64,
}

impl IndexWidth {
    /// Elements of every memref: more than any memory holds, yet far from overflowing an address computation.
    pub(crate) fn huge(self) -> i64 {
        match self {
            IndexWidth::Bits32 => 1 << 28,
            IndexWidth::Bits64 => 1 << 48,
        }
    }

    /// The number of bits.
    pub(crate) fn bits(self) -> u32 {
        match self {
            IndexWidth::Bits32 => 32,
            IndexWidth::Bits64 => 64,
        }
    }
}
