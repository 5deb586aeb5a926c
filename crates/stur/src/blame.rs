//! Turns failures of isl, of the counters and of layouts into diagnostics, if the program is their cause.

use dastac_poly::Error;

use crate::ast::Span;
use crate::diagnostic::Diagnostic;

/// A hint for a structure that takes too long.
const SIMPLER: &str =
    "write it with fewer regions, symbols or remainders, or with constants instead of symbols";

/// A failure to do something with the sets of a tensor as a diagnostic. `None` if the program is not its cause.
///
/// `what` names the work that could not be done, such as ``the layout of `B` ``; `span` is where the tensor is
/// described.
pub fn blame(error: &Error, what: &str, span: Span) -> Option<Diagnostic> {
    let label = match error {
        Error::TooComplex { limit, .. } => {
            format!("an operation on its sets takes more than the limit of {limit} steps")
        }
        Error::TooManyPoints { .. } | Error::Overflow { .. } => error.to_string(),
        Error::TooSlow { .. } | Error::Uncounted { .. } | Error::Worker { .. } => {
            let message = format!("{what} cannot be computed: its elements are not counted");
            let diagnostic = Diagnostic::error("E0206", message, span, error.to_string());
            return Some(diagnostic.hint(SIMPLER));
        }
        Error::Unsupported { what: form } => {
            return Some(Diagnostic::unsupported(
                format!("{what}: {form}"),
                span,
                "because of this",
            ));
        }
        Error::Load(_)
        | Error::Isl { .. }
        | Error::Incomplete { .. }
        | Error::Parse { .. }
        | Error::Deadline { .. }
        | Error::Infinite { .. }
        | Error::Settings { .. }
        | Error::MissingParameter { .. }
        | Error::NoSuchDimension { .. }
        | Error::Shape { .. }
        | Error::DifferentContexts => return None,
    };
    Some(too_complex(what, span, label))
}

/// The error for something beyond a limit. The label says which limit.
pub fn too_complex(what: &str, span: Span, label: impl Into<String>) -> Diagnostic {
    Diagnostic::error("E0206", format!("{what} is too complex"), span, label).hint(SIMPLER)
}

/// The error for rows that `align(..)`, at `span`, cannot move to multiples.
pub fn gaps(tensor: &str, span: Span) -> Diagnostic {
    let message = format!("the rows of `{tensor}` cannot be aligned");
    let label = "the elements of a row are not next to each other";
    Diagnostic::error("E0121", message, span, label)
        .hint("a row holds what differs in the last position of `order` only: choose another order, or leave `align` \
            out")
}
