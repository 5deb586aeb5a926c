//! The STUR language: syntax, checking, structure inference, and the dense reference evaluator.

pub mod affine;
pub mod ast;
pub mod blame;
mod bounds;
mod check;
pub mod coefficient;
pub mod collisions;
pub mod contract;
pub mod diagnostic;
mod directives;
pub mod expand;
pub mod infer;
mod lexer;
pub mod masks;
mod normal;
mod parser;
mod printer;
pub mod program;
mod quasi_affine;
pub mod reference;
pub mod schedule;
pub mod semiring;
pub mod sets;

pub use check::{Checked, check, limits, load, read};
pub use coefficient::Coefficient;
pub use dastac_formats::hint;
pub use diagnostic::{Diagnostic, Severity};
pub use parser::parse;
pub use program::{Program, Role, RuleId, TensorId};
pub use schedule::Schedule;
