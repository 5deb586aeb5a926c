//! Rounded floats that are stored as integers: with `types: k = i64`, `k(n) := floor(x(n)) + 1` is `k(n) :=
//! i64(floor(x(n))) + 1`.

use dastac_elements::{Element, Function};

use super::known::Known;
use super::names::read;
use crate::ast::{Operation, Term};

/// Has what is rounded in the value of integers be an integer.
pub(super) fn rounded(term: &mut Term, known: &Known) {
    use Function::{Ceil, Floor, Round, Trunc};
    let is_rounded = matches!(
        term,
        Term::Call { operation: Operation::Function(Floor | Ceil | Round | Trunc), .. }
    );
    if is_rounded && read(term).iter().any(|tensor| known.is_fractional(tensor)) {
        let span = term.span();
        let value = std::mem::replace(term, Term::Sum(Vec::new(), span));
        let operation = Operation::Cast(Element::I64);
        *term = Term::Call { operation, arguments: vec![value], span };
        return;
    }
    match term {
        Term::Call { operation: Operation::Where, arguments, .. } => {
            arguments.iter_mut().skip(1).for_each(|part| rounded(part, known));
        }
        Term::Call { operation: Operation::Min | Operation::Max, .. }
        | Term::Sum(..)
        | Term::Product(..)
        | Term::Reduced { .. } => {
            term.parts_mut().iter_mut().for_each(|part| rounded(part, known));
        }
        _ => {}
    }
}
