//! From iteration domains to loops (dastac paper, section 5): each statement's domain is scanned by an isl AST, the AST
//! becomes loop IR, reads and writes go through the packed layouts' polynomials.
//!
//! Invariants: the outermost loop that is not a reduction's is [`dastac_loops::Mark::Parallel`] and distinct iterations
//! of it write distinct elements; loop bounds are affine; a rule's head is complete before a later rule reads it.

mod arrange;
mod dynamic;
mod kernel;
mod movement;
mod nest;
mod phases;
pub mod trips;
pub mod validate;

pub use dynamic::{Assembled, Stored, Walked};
pub use kernel::{KERNEL, Kernel, PREPARE, kernel};
pub use movement::{Movement, movement};
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
    /// isl's AST has a form that the loop IR does not have.
    #[error("not supported yet: the loop {0}")]
    Ast(String),
    /// Loops cannot be counted.
    #[error("counting loops: {0}")]
    Trips(#[from] dastac_loops::trips::TripsError),
    /// A set could not be built.
    #[error("{0}")]
    Set(String),
}

impl SchedError {
    /// The same error as a diagnostic of the program where a tensor's structure is to blame; `what` has not been done,
    /// such as `the loops`.
    pub(crate) fn blamed(self, what: &str, inferred: &Inferred, tensor: TensorId) -> SchedError {
        let error = match self {
            SchedError::Poly(error) => LayoutError::Poly(error),
            SchedError::Layout(error) => error,
            SchedError::Ast(form) => LayoutError::Unsupported(format!("the loop {form}")),
            error @ (SchedError::Set(_) | SchedError::Trips(_)) => return error,
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
            dastac_stur::sets::SetError::User(diagnostic) => SchedError::Set(diagnostic.message),
        }
    }
}

impl From<dastac_stur::infer::InferError> for SchedError {
    fn from(error: dastac_stur::infer::InferError) -> Self {
        SchedError::Layout(error.into())
    }
}
