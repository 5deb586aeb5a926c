//! The STUR language: syntax, checking, structure inference, and the dense reference evaluator.

pub mod ast;
pub mod diagnostic;
pub mod infer;
pub mod program;
pub mod sets;

pub use diagnostic::{Diagnostic, Severity};
pub use program::{Program, Role, RuleId, TensorId};
/// TEMP
pub fn load(_source: &str) -> Result<(Program, Vec<Diagnostic>), Vec<Diagnostic>> { Err(vec![]) }
