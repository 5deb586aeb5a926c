//! Names of what is simulated.

/// What names of products of sparse matrices with vectors begin with.
pub(super) const ROWS: &str = "pim-spmv-";

/// What names of kernels over structured tensors begin with.
pub(super) const STRUCTURED: &str = "pim-structured-";

/// The machine: the one that UniSparse simulated.
pub const PROFILE: &str = "blimp";
