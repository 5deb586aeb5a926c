//! Names of the kernels in results.

/// The dense matrix product whose rate is the unit of all others.
pub(super) const UNIT: &str = "structured-gemm";

/// What names of kernels begin with.
pub(super) const PREFIX: &str = "structured-";
