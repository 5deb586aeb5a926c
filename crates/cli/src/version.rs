//! `dastac --version`.

use super::Result;
use super::output::stdout;

/// Prints the versions of dastac, isl and LLVM.
pub fn print() -> Result<()> {
    let isl = dastac::poly::Context::version();
    let isl = isl.as_deref().map_or("isl not found", |version| version.trim());
    let counting = if dastac::poly::Context::has_barvinok() { "with" } else { "without" };
    let text = format!(
        "dastac {}\n{isl}, {counting} Barvinok\nLLVM {}\n",
        env!("CARGO_PKG_VERSION"),
        dastac::backend::llvm_version()
    );
    stdout(text.as_bytes())
}
