//! What commands print, as values, and what they compile for: for programs that are not the command.

use dastac::build::BuildOptions;
use dastac::driver::{Analysis, Laid, Lowered};
use dastac::runtime::cache::Cache;
use dastac::stur::Diagnostic;

use super::args::Color;
use super::failure::{Failure, Message};
use super::infer::Notation;
use super::render::Renderer;
use super::source::Source;
use super::{cache, infer, layout, machine, prove};

/// Why something is not possible.
pub struct Why {
    /// What a command would show.
    pub text: String,
    /// Whose fault it is.
    pub fault: Fault,
    /// The places in the program's text, if it is the program's.
    pub diagnostics: Vec<Diagnostic>,
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The program's.
    Program,
    /// That of something else that the user can change.
    User,
    /// A defect of dastac.
    Defect,
}

/// A program's text with a name for messages.
pub fn source(name: &str, text: &str) -> Source {
    Source { path: name.into(), name: name.into(), text: text.into() }
}

fn why(failure: Failure) -> Why {
    let text = Renderer::new(Color::Never).text(&failure);
    let (fault, diagnostics) = match failure {
        Failure::Program(diagnostics, _) => (Fault::Program, diagnostics),
        Failure::User(Message { .. }) | Failure::Usage(_) => (Fault::User, Vec::new()),
        Failure::Defect(_) | Failure::NoReader => (Fault::Defect, Vec::new()),
    };
    Why { text, fault, diagnostics }
}

/// Why a stage failed.
pub fn of_error(error: dastac::Error, source: &Source) -> Why {
    why(Failure::of(error, source))
}

/// Warnings as they are shown.
pub fn warnings(warnings: &[Diagnostic], source: &Source) -> String {
    Renderer::new(Color::Never).diagnostics(warnings, source)
}

/// What code is made for on this computer, as `dastac run` does.
///
/// # Errors
/// A description of the machine that is named, but cannot be read.
pub fn options(parallel: bool) -> Result<BuildOptions, Why> {
    Ok(BuildOptions { parallel, ..machine::own().map_err(why)? })
}

/// The cache of compiled programs; `None` where none is wanted or possible.
///
/// # Errors
/// A size of the cache that means nothing.
pub fn kept() -> Result<Option<Cache>, Why> {
    cache::folder().map(|found| found.and_then(Result::ok)).map_err(why)
}

/// Counts in processes of this program, if there is one, and remembers counts in the user's cache folder.
///
/// # Errors
/// Variables of the environment that mean nothing.
pub fn configure(program: Option<std::path::PathBuf>) -> Result<(), Why> {
    super::this::set(program);
    super::configure_counting().map_err(why)
}

/// The structure of every tensor, as STUR with comments.
///
/// # Errors
/// Failures of isl.
pub fn structures(analysis: &Analysis, source: &Source) -> Result<String, Why> {
    infer::structures(&analysis.inferred, source, Notation::Stur).map_err(why)
}

/// The packed layout of every tensor.
///
/// # Errors
/// Failures of isl.
pub fn layouts(laid: &Laid, source: &Source) -> Result<String, Why> {
    layout::polynomials(laid).map_err(|error| of_error(error, source))
}

/// What is proven of the loops, as a table, and how many properties are proven, undecided and refuted.
///
/// # Errors
/// Failures of isl.
pub fn proof(lowered: &Lowered, source: &Source) -> Result<(String, [usize; 3]), Why> {
    let checks = lowered.prove().map_err(|error| of_error(error, source))?;
    Ok(prove::table_of(lowered, &checks))
}
