//! What a host does to run a function: launches of programs on the cores, one after the other.

use dastac_loops::{Buffer, BufferId, Condition, Index, Mode};
use serde::{Deserialize, Serialize};

use crate::outline::Outline;
use crate::profile::Profile;

/// A machine, and how much of it a program uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// The machine.
    pub profile: Profile,
    /// Cores that are used.
    pub cores: usize,
    /// Threads of each core.
    pub threads: usize,
}

/// All that a host does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The machine.
    pub machine: Configuration,
    /// The module's buffers, workspaces too.
    pub buffers: Vec<Buffer>,
    /// The functions.
    pub functions: Vec<Planned>,
}

/// What a host does for a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Its name.
    pub name: String,
    /// Its buffers.
    pub args: Vec<(BufferId, Mode)>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Cores run a program.
    Launch(Launch),
    /// Steps that depend on a condition.
    If {
        /// The condition.
        condition: Condition,
        /// Where it holds.
        then: Vec<Step>,
        /// Where it does not.
        otherwise: Vec<Step>,
    },
    /// Steps with a buffer of their own.
    Workspace {
        /// The buffer.
        buffer: BufferId,
        /// How many elements it has.
        size: Index,
        /// Its steps.
        steps: Vec<Step>,
    },
}

/// A program that cores run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Its name, of which `__packed` is the entry: with the symbols' values, the first and the end of a thread's
    /// iterations, and the addresses of its buffers.
    pub entry: String,
    /// Its buffers, in order.
    pub args: Vec<(BufferId, Mode)>,
    /// Whether threads share out the iterations of the loop that the outline consists of. Else one thread runs the
    /// program alone.
    pub shared: bool,
    /// The outline of all of it.
    pub outline: Vec<Outline>,
}
