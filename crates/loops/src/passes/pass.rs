//! What a pass is, and what it knows.

use crate::ir::{Module, ParallelLevel};
use crate::machine::Machine;
use crate::verify::VerifyError;

/// What passes know beside the module.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The machine that code is made for.
    pub machine: &'a Machine,
}

impl<'a> Context<'a> {
    /// The context of a machine.
    pub fn of(machine: &'a Machine) -> Context<'a> {
        Context { machine }
    }

    /// Whether the machine has no processors but threads: neither blocks and lanes nor cores inside of memory.
    pub(super) fn has_threads_only(&self) -> bool {
        self.machine.levels.iter().all(|known| known.level == ParallelLevel::Threads)
    }
}

/// A rewrite of a module.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name on the command line: unique, lower case, with hyphens.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// What it makes of what: statements in the loop IR's text form, or a piece of them.
    pub example: Example,
    /// Does it.
    pub run: fn(&mut Module, &Context<'_>),
}

/// What a pass does, shown.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What there was.
    pub before: &'static str,
    /// What the pass makes of it.
    pub after: &'static str,
}

/// A pass left a module that violates the invariants.
#[derive(Clone, Debug, thiserror::Error)]
#[error("after pass `{pass}`: {}", .errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct PassError {
    /// The pass; `input` if it was so before.
    pub pass: &'static str,
    /// All violations.
    pub errors: Vec<VerifyError>,
}
