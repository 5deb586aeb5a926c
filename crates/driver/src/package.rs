//! Programs as files that are run without a compiler.

use dastac_runtime::FileError;
use dastac_runtime::package::{Origin, Package};
use dastac_stur::Program;

use crate::Error;
use crate::describe;
use crate::driver::Built;

impl Built {
    /// The program with all of its code, as it stands in a file.
    ///
    /// # Errors
    /// Code that cannot be made.
    pub fn package(&self) -> Result<Package, Error> {
        let movement = Some(self.lowered.moving(&self.options)?);
        let program = self.lowered.laid.analysis.written();
        Ok(Package {
            program: describe::program(self)?,
            origin: Origin { text: program.source.clone(), schedule: program.schedule_line() },
            kernel: self.code.clone(),
            movement,
        })
    }
}

/// The program that compiled code was made of, to compare its results with those of the reference evaluator.
///
/// # Errors
/// A text that is no program, or another one than that of the code: the file was not written by the compiler.
pub fn original(code: &dastac_runtime::Program, origin: &Origin) -> Result<Program, Error> {
    let other = || dastac_runtime::Error::File(FileError::Text);
    let (program, _) = dastac_stur::load(&origin.text).map_err(|_| other())?;
    let tensors = program.tensors.iter().map(|tensor| {
        (&tensor.name, describe::role(tensor.role), tensor.element, tensor.format.is_some())
    });
    // Steps of products come after the program's own tensors.
    let (own, steps) =
        code.sizes.tensors.split_at(program.tensors.len().min(code.sizes.tensors.len()));
    let compiled = own
        .iter()
        .map(|tensor| (&tensor.name, tensor.role, tensor.element, tensor.format.is_some()));
    let symbols = program.symbols.iter().map(|(name, _)| name);
    let hidden = steps.iter().all(|step| step.role == dastac_runtime::Role::Intermediate);
    match tensors.eq(compiled) && hidden && symbols.eq(&code.sizes.symbols) {
        true => Ok(program),
        false => Err(other().into()),
    }
}
