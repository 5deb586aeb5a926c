//! What every target brings.

use std::fmt;

use dastac_loops::Module;
use dastac_loops::machine::Machine;
use dastac_loops::passes::{Pass, Sequence};

use crate::{Generated, TargetError};

/// A kind of machine that loops are compiled for.
///
/// Whoever compiles runs the passes of [`Target::sequences`] on a module, with [`Target::machine`] as their machine,
/// and hands what they leave to [`Target::generate`].
pub trait Target: fmt::Debug + Send + Sync {
    /// Its name on the command line and in artifacts.
    fn name(&self) -> &str;

    /// What passes may know of the machine.
    fn machine(&self, options: &CodeOptions) -> Machine;

    /// Passes that only this target has. Sequences may name them like all others.
    fn passes(&self) -> &'static [Pass] {
        &[]
    }

    /// Which passes make loops fit the machine, in their order.
    fn sequences(&self, options: &CodeOptions) -> Vec<Sequence>;

    /// The last of [`Target::sequences`], which are about code alone: what is computed in which order is decided before
    /// them.
    fn code_sequences(&self, _: &CodeOptions) -> Vec<Sequence> {
        Vec::new()
    }

    /// Whether code may be made for given sizes: values are put in the place of symbols before
    /// [`Target::code_sequences`], and what is for other sizes is dropped.
    fn takes_sizes(&self) -> bool {
        false
    }

    /// Checks that the module says nothing that this target has no code for.
    ///
    /// # Errors
    /// Everything that it cannot take.
    fn legalize(&self, module: &Module, options: &CodeOptions) -> Result<(), TargetError>;

    /// The texts between loops and code, in their order.
    fn stages(&self) -> &'static [Stage];

    /// The text that a stage makes of a module.
    ///
    /// # Errors
    /// A stage that is not one of [`Target::stages`]; those of [`Target::generate`].
    fn text(
        &self,
        module: &Module,
        options: &CodeOptions,
        stage: &str,
    ) -> Result<String, TargetError>;

    /// Generates code.
    ///
    /// # Errors
    /// A module that violates the invariants of the loop IR or is not legal here; a failure of the code generator.
    fn generate(&self, module: &Module, options: &CodeOptions) -> Result<Generated, TargetError>;
}

/// What a user may ask of the code, whatever the target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CodeOptions {
    /// Put in front of every exported name.
    pub prefix: String,
    /// Whether parallel loops at the level of threads run on several of them.
    pub parallel: bool,
    /// Whether every access asserts that it stays within its buffer. One that does not says so and ends the process,
    /// whichever thread it is on.
    pub checked: bool,
    /// Whether loops stay as they are: no tiles for registers and caches.
    pub untiled: bool,
    /// How much the code generator optimises.
    pub opt_level: OptLevel,
}

/// How much the code generator optimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OptLevel {
    /// Not at all; for a look at the code as written.
    O0,
    /// A little.
    O1,
    /// More.
    O2,
    /// As much as it can.
    #[default]
    O3,
}

/// A text between loops and code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
}
