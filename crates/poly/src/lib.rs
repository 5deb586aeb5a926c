//! Safe isl and Barvinok: integer sets and maps, piecewise quasi-polynomials, counting, schedules
//! and ASTs (the mathematics under sections 3 to 5 of the DASTAC paper).
//!
//! Invariants:
//!
//! - Every isl object is one reference count, held by a `Handle`; handles keep their [`Context`]
//!   alive, so nothing is used after it was freed. All types are `!Send`: isl's counts are not
//!   atomic. Each thread makes its own context and exchanges text.
//! - No operation changes an object that a handle holds; all take `&self` and return a new one.
//! - Every operation is fallible, with isl's own message in the [`Error`]. isl writes nothing to
//!   stderr. Objects of two contexts in one operation are an error, not undefined behaviour.
//! - There is no `==` on isl objects: equality is a decision that can fail ([`Set::is_equal`]).
//! - Parameters are known by name and aligned by every binary operation. Dimensions of a tuple
//!   have a position, and a name for humans.
//! - Trees ([`LinearExpr`], [`Term`], [`ast`]) are plain Rust values and outlive their context.
//!
//! ```
//! # fn main() -> Result<(), dastac_poly::Error> {
//! use dastac_poly::{Context, Set};
//! let context = Context::new()?;
//! let triangle = Set::parse(&context, "[N] -> { [i, j] : 0 <= j <= i < N }")?;
//! let position = triangle.rank_polynomial()?;
//! assert_eq!(position.eval(&[("N".into(), 10)], &[3, 2])?, 8.into()); // i(i+1)/2 + j
//! # Ok(())
//! # }
//! ```
#![allow(unsafe_code)]
// Every isl call is foreign; all go through the macro `isl!` of macros.rs.
// `isl!` wraps its arguments in its `unsafe` block; they are calls of the safe `keep` and `take`.
#![allow(clippy::macro_metavars_in_unsafe)]

#[macro_use]
mod macros;
mod aff;
pub mod ast;
mod ast_build;
mod context;
mod count;
pub mod counting;
mod dims;
mod error;
mod family;
mod handle;
mod map;
mod members;
mod moduli;
mod objects;
mod points;
mod polynomial;
mod schedule;
mod set;
mod shadow;
mod space;
mod union;

pub use aff::{Floor, LinearExpr, floor_text};
pub use ast_build::{AstBuild, LoopType};
pub use context::Context;
pub use error::{Error, Result};
pub use family::{Family, families};
pub use isl_vendor::{LoadError, look_in};
pub use members::Members;
pub use moduli::{Equality, Inequality};
pub use num_rational::Ratio;
pub use objects::{Aff, Map, PwAff, PwQPolynomial, QPolynomial, Schedule, Set, UnionMap, UnionSet};
pub use points::Point;
pub use polynomial::{Atom, Term};

#[cfg(test)]
mod tests;
