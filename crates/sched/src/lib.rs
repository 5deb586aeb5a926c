//! From iteration domains to loops (dastac paper, section 5). isl makes an AST that scans the domain of each statement,
//! the AST is translated to loop IR, and the positions that it reads and writes come from the polynomials of the packed
//! layouts.
//!
//! Invariants: the outermost loop that belongs to no reduction is [`dastac_loops::Mark::Parallel`], and its iterations
//! write distinct elements; loop bounds are affine; the head of a rule is complete before a later rule reads it.

mod arrange;
mod cells;
mod dynamic;
mod elements;
mod guarded;
mod kernel;
mod movement;
mod nest;
mod phases;
mod scalar;
pub mod trips;
pub mod validate;
mod visited;

pub use dynamic::{Assembled, Gathered, Stored, Walked, Why};
pub use kernel::{Computation, KERNEL, PREPARE, Reading, kernel, kernel_with};
pub use movement::{Movement, Moving, movement, some_movement};
pub use nest::{Leaf, Scan, Scope};
pub use phases::Phase;

use dastac_layout::LayoutError;
use dastac_stur::TensorId;
use dastac_stur::infer::Inferred;

/// What can go wrong between domains and loops.
#[derive(Debug, thiserror::Error)]
pub enum SchedError {
    /// isl failed.
    #[error(transparent)]
    Poly(#[from] dastac_poly::Error),
    /// A layout cannot be expressed.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The loop IR has no such loops, or this crate cannot make them yet.
    #[error("not supported yet: {0}")]
    Unsupported(#[from] Unsupported),
    /// A name that is neither an iterator's nor a symbol's.
    #[error("nothing is called `{0}` where its value is needed")]
    UnknownName(String),
    /// The module has no function named `kernel`.
    #[error("the module has no function `kernel`")]
    NoKernel,
    /// Loops cannot be counted.
    #[error("counting loops: {0}")]
    Trips(#[from] dastac_loops::trips::TripsError),
    /// More tensors than a module has buffers.
    #[error("{0} tensors are more than the loops of one program can name")]
    Tensors(usize),
}

/// Loops that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// A node of isl's AST without a counterpart in the loop IR.
    #[error("the loop {0}")]
    Node(String),
    /// A set for which isl's loops leave points out.
    #[error("the loop over the set {0}")]
    Scan(String),
    /// A redundancy map that is not a function of the redundant element.
    #[error("the loop over the redundancy map {0}")]
    RedundancyMap(String),
    /// An iterator of a rule over dynamic tensors whose bounds are not linear.
    #[error("the loop over `{0}`, whose bounds are not linear")]
    Bounds(String),
}

impl SchedError {
    /// The same error as a diagnostic of the program if the structure of a tensor is its cause. `what` names the work
    /// that could not be done, such as `the loops`.
    pub(crate) fn blamed(self, what: &str, inferred: &Inferred, tensor: TensorId) -> SchedError {
        let error = match self {
            SchedError::Poly(error) => LayoutError::Poly(error),
            SchedError::Layout(error) => error,
            SchedError::Unsupported(loops) => LayoutError::Unsupported(loops.to_string()),
            error => return error,
        };
        match error.blamed(what, &inferred.program, tensor) {
            LayoutError::Poly(error) => SchedError::Poly(error),
            error => SchedError::Layout(error),
        }
    }
}

impl From<dastac_stur::sets::SetError> for SchedError {
    fn from(error: dastac_stur::sets::SetError) -> Self {
        match error {
            dastac_stur::sets::SetError::Poly(error) => SchedError::Poly(error),
            dastac_stur::sets::SetError::User(diagnostic) => {
                SchedError::Layout(LayoutError::Program(vec![*diagnostic]))
            }
        }
    }
}

impl From<dastac_stur::infer::InferError> for SchedError {
    fn from(error: dastac_stur::infer::InferError) -> Self {
        SchedError::Layout(error.into())
    }
}
