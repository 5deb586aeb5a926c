//! The order in which the factors of a product are multiplied and summed.
//!
//! `C(i, l) := X(j, i) * B(j, k) * X(k, l)` visits every `(i, l, j, k)`. Since multiplication distributes over
//! addition, it is also `C.1(i, k) := X(j, i) * B(j, k)` and `C(i, l) := C.1(i, k) * X(k, l)`, which visit far fewer
//! points. A [`Tree`] says which factors are multiplied in steps of their own; [`contracted`] rewrites a checked
//! program so that each step but the last one is a rule for an intermediate tensor.
//!
//! Invariant: the rewritten program computes the same tensors, up to the rounding of sums. Its first tensors are those
//! of the program as it is written, under the same handles.

mod factors;
mod given;
mod groups;
mod obstacle;
mod rewrite;
pub mod search;
mod text;
mod tree;

pub use factors::{factors, iterators_of};
pub(crate) use given::{Unfit, unfit};
pub use given::{given, possible};
pub(crate) use obstacle::element;
pub use obstacle::obstacle;
pub use rewrite::{Choice, Way, contracted};
pub use text::rule_text;
pub use tree::Tree;
