//! Packed layouts of structured tensors (dastac paper, section 4): from the set of elements that a computation uses to
//! the polynomial that gives each of them its position in one dense buffer.
//!
//! A layout is a function, index -> position; nothing is read from memory to find an element. Invariants:
//! [`Layout::index`] is a bijection from [`Layout::stored`] onto `0..size` for all values of the symbols, or injective
//! into it where the layout is [padded](Layout::padded); coefficients are exact.
//!
//! From text:
//!
//! ```
//! # fn main() -> Result<(), dastac_layout::LayoutError> {
//! use dastac_layout::Layout;
//! let layout = Layout::from_stur(
//!     "symbols: N
//!      B:D(i, j) := (0 <= i < N) * (0 <= j < N)
//!      B:U(i, j) := (i <= j)
//!      y(i) := B(i, j) * x(j)
//!      x:D(j) := (0 <= j < N)",
//!     "B",
//! )?;
//! assert_eq!(layout.index.to_string(), "N*i - 1/2*i^2 - 1/2*i + j");
//! assert_eq!(layout.size.to_string(), "1/2*N^2 + 1/2*N");
//! let at = layout.bind(&[("N", 4)])?;
//! assert_eq!(at.size(), 10);
//! assert_eq!(at.index_of(&[1, 2])?, Some(5));
//! assert_eq!(at.index_of(&[2, 1])?, None);
//! # Ok(())
//! # }
//! ```
//!
//! From an isl set, without any text:
//!
//! ```
//! # fn main() -> Result<(), dastac_layout::LayoutError> {
//! use dastac_layout::Layout;
//! use dastac_poly::{Context, Set};
//! let band = Set::parse(&Context::new()?, "{ [i, j] : 0 <= i < 100 and i - 1 <= j <= i + 1 and 0 <= j < 100 }")?;
//! let layout = Layout::from_set(&band)?;
//! assert_eq!(layout.index_of(&[3, 4])?, Some(10));
//! assert_eq!(layout.to_c()?, "2*i + j");
//! # Ok(())
//! # }
//! ```

mod align;
mod builder;
mod choice;
pub mod convert;
mod coordinates;
mod density;
mod emit;
mod family;
mod floors;
mod fusion;
mod index;
mod nested;
mod part;
mod polynomial;
mod proof;
mod relax;
mod search;
mod slices;
#[cfg(test)]
mod tests;
pub mod text;
mod whole;

pub use builder::Builder;
pub use convert::Resolve;
pub use coordinates::{Coordinate, explicit};
pub use emit::{affine_to_index, expr_to_index, to_index};
pub use fusion::{Piece, Piecewise};
pub use index::{Bound, Layout};
pub use part::Part;
pub use polynomial::{Monomial, Polynomial};
pub use proof::{Proof, vanishes};
pub use slices::partition;

use dastac_stur::blame::{blame, gaps, too_complex};
use dastac_stur::{Diagnostic, Program, TensorId};

/// What can go wrong with a layout.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// isl or Barvinok failed.
    #[error(transparent)]
    Poly(#[from] dastac_poly::Error),
    /// The program is at fault.
    #[error("{}", .0.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("; "))]
    Program(Vec<Diagnostic>),
    /// A tensor that the program does not have.
    #[error("the program has no tensor `{0}`")]
    UnknownTensor(String),
    /// A symbol has no value.
    #[error("symbol `{0}` has no value")]
    Unbound(String),
    /// Wrong number of subscripts.
    #[error("the number of subscripts is {given}, but the rank of the tensor {rank}")]
    Rank {
        /// What was given.
        given: usize,
        /// The tensor's rank.
        rank: usize,
    },
    /// Positions do not fit 64 bits for these values of the symbols.
    #[error("the packed index of `{tensor}` overflows 64 bits for these sizes")]
    Overflow {
        /// The tensor.
        tensor: String,
    },
    /// Rows that are to be aligned are not contiguous.
    #[error("rows cannot be aligned: the elements of a row are not next to each other")]
    Gaps,
    /// A coefficient does not fit 128 bits.
    #[error("a coefficient of the index does not fit 128 bits")]
    Beyond128,
    /// The loop IR has no such expression.
    #[error("not supported yet: {0}")]
    Unsupported(String),
}

impl LayoutError {
    /// The same error as a diagnostic of the program if the structure of a tensor is its cause. `what` names the work
    /// that could not be done, such as `the layout` (of that tensor).
    pub fn blamed(self, what: &str, program: &Program, tensor: TensorId) -> LayoutError {
        let name = &program.tensor(tensor).name;
        let what = format!("{what} of `{name}`");
        let span = program.described_at(tensor);
        let diagnostic = match &self {
            LayoutError::Poly(error) => blame(error, &what, span),
            LayoutError::Beyond128 => Some(too_complex(&what, span, self.to_string())),
            LayoutError::Unsupported(form) => {
                let what = format!("{what}: {form}");
                Some(Diagnostic::unsupported(what, span, "because of this"))
            }
            LayoutError::Gaps => {
                let choice = program.tensor(tensor).layout.as_ref();
                Some(gaps(name, choice.map_or(span, |choice| choice.span)))
            }
            _ => None,
        };
        diagnostic.map_or(self, |diagnostic| LayoutError::Program(vec![diagnostic]))
    }
}

impl From<dastac_stur::infer::InferError> for LayoutError {
    fn from(error: dastac_stur::infer::InferError) -> Self {
        match error {
            dastac_stur::infer::InferError::User(diagnostics) => LayoutError::Program(diagnostics),
            dastac_stur::infer::InferError::Poly(error) => LayoutError::Poly(error),
        }
    }
}

impl From<dastac_stur::sets::SetError> for LayoutError {
    fn from(error: dastac_stur::sets::SetError) -> Self {
        dastac_stur::infer::InferError::from(error).into()
    }
}
