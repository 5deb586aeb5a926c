//! All that can go wrong from text to result.

use dastac_stur::Diagnostic;
use dastac_stur::ast::Span;

/// An error of the driver or a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program is at fault; with spans into its source.
    #[error("{}", .0.first().map_or("the program has errors", |d| &d.message))]
    Program(Vec<Diagnostic>),
    /// isl or Barvinok failed.
    #[error(transparent)]
    Poly(dastac_poly::Error),
    /// A layout could not be found or does not fit.
    #[error(transparent)]
    Layout(dastac_layout::LayoutError),
    /// Loops could not be built.
    #[error(transparent)]
    Sched(dastac_sched::SchedError),
    /// Memory for a tensor could not be had.
    #[error(transparent)]
    NoMemory(#[from] dastac_elements::NoMemory),
    /// There is no code for the target.
    #[error(transparent)]
    Target(#[from] dastac_target::TargetError),
    /// A shared library could not be made.
    #[error(transparent)]
    Link(#[from] dastac_backend::link::LinkError),
    /// Code could not be loaded or called.
    #[error(transparent)]
    Runtime(dastac_runtime::Error),
    /// A pass left loops that violate the invariants of the loop IR.
    #[error(transparent)]
    Pass(#[from] dastac_loops::passes::PassError),
    /// A name that no pass has.
    #[error(transparent)]
    UnknownPass(#[from] dastac_loops::passes::UnknownPass),
    /// The reference evaluator could not run.
    #[error("the reference evaluator: {0}")]
    Reference(#[from] dastac_stur::reference::EvalError),
    /// A tensor that the program does not have.
    #[error("the program has no tensor `{0}`")]
    UnknownTensor(String),
    /// An expression of symbols without a value at these sizes.
    #[error("at these sizes, {0}")]
    Symbols(#[from] dastac_stur::affine::ValueError),
}

impl From<dastac_runtime::Error> for Error {
    fn from(error: dastac_runtime::Error) -> Self {
        match error {
            dastac_runtime::Error::Computed { span: (start, end), .. } => {
                let span = Span { start, end };
                let found =
                    Diagnostic::error("E0310", error.to_string(), span, "values beyond 64 bits");
                Error::Program(vec![found.hint("choose smaller sizes")])
            }
            error => Error::Runtime(error),
        }
    }
}

impl From<dastac_stur::infer::InferError> for Error {
    fn from(error: dastac_stur::infer::InferError) -> Self {
        match error {
            dastac_stur::infer::InferError::User(diagnostics) => Error::Program(diagnostics),
            dastac_stur::infer::InferError::Poly(error) => Error::Poly(error),
        }
    }
}

impl From<dastac_poly::Error> for Error {
    fn from(error: dastac_poly::Error) -> Self {
        Error::Poly(error)
    }
}

impl From<dastac_layout::LayoutError> for Error {
    fn from(error: dastac_layout::LayoutError) -> Self {
        match error {
            dastac_layout::LayoutError::Poly(error) => Error::Poly(error),
            dastac_layout::LayoutError::Program(diagnostics) => Error::Program(diagnostics),
            error => Error::Layout(error),
        }
    }
}

impl From<dastac_sched::SchedError> for Error {
    fn from(error: dastac_sched::SchedError) -> Self {
        match error {
            dastac_sched::SchedError::Poly(error) => Error::Poly(error),
            dastac_sched::SchedError::Layout(error) => error.into(),
            error => Error::Sched(error),
        }
    }
}
