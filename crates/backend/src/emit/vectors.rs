//! Which functions are called for whole vectors.

use dastac_loops::MathFunction;

/// Functions that a library has for vectors: glibc's libmvec, whose names are those of the vector function ABI.
#[derive(Clone, Debug, Default)]
pub(crate) struct VectorFunctions {
    /// Which.
    pub known: Vec<MathFunction>,
    /// Bytes of a vector register.
    pub bytes: i64,
}
