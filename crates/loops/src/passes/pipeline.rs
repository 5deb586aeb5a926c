//! Sequences of passes, and what runs them.

use std::time::Instant;

use super::observe::{Flow, Observer};
use super::pass::{Context, Pass, PassError};
use crate::ir::Module;

#[cfg(test)]
mod machines;

/// All passes that there are: those of several crates.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    passes: Vec<&'static Pass>,
}

impl Registry {
    /// The passes of these lists, in this order.
    pub fn of(lists: &[&'static [Pass]]) -> Registry {
        Registry { passes: lists.iter().copied().flatten().collect() }
    }

    /// All passes.
    pub fn passes(&self) -> impl Iterator<Item = &'static Pass> {
        self.passes.iter().copied()
    }

    /// The pass of that name.
    ///
    /// # Errors
    /// No pass has it.
    pub fn find(&self, name: &str) -> Result<&'static Pass, UnknownPass> {
        let found = self.passes().find(|pass| pass.name == name);
        found.ok_or_else(|| UnknownPass(name.to_owned()))
    }
}

/// A name that no pass has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no pass `{0}`")]
pub struct UnknownPass(pub String);

/// Names of passes, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// What it is called.
    pub name: &'static str,
    /// The names.
    pub passes: &'static [&'static str],
}

/// Passes that run one after the other.
#[derive(Clone, Debug, Default)]
pub struct Pipeline {
    passes: Vec<&'static Pass>,
}

impl Pipeline {
    /// The passes of these sequences, one sequence after the other.
    ///
    /// # Errors
    /// A name that the registry does not know.
    pub fn of(registry: &Registry, sequences: &[Sequence]) -> Result<Pipeline, UnknownPass> {
        let names = sequences.iter().flat_map(|sequence| sequence.passes);
        let passes = names.map(|name| registry.find(name)).collect::<Result<_, _>>()?;
        Ok(Pipeline { passes })
    }

    /// Its passes.
    pub fn passes(&self) -> &[&'static Pass] {
        &self.passes
    }

    /// Runs the passes until the observer stops it, and says whether it went on to the end.
    ///
    /// # Errors
    /// What the observer finds.
    pub fn run(
        &self,
        module: &mut Module,
        context: &Context<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Flow, PassError> {
        observer.input(module)?;
        for pass in &self.passes {
            let start = Instant::now();
            (pass.run)(module, context);
            if observer.after(pass, start.elapsed(), module)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}
