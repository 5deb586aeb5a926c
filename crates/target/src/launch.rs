//! What a host does for code that a grid of threads executes: memory on the device, and launches of kernels.
//!
//! A [`Grid`] is plain data beside the code of its kernels: the statements of each exported function that are left when
//! its parallel loops are kernels. Sizes and counts are expressions of the symbols, of the host's own variables and of
//! elements of arguments that are only read.

use dastac_loops::{BufferId, Condition, Element, Index, SymbolId, VarId};
use serde::{Deserialize, Serialize};

/// Blocks of a row of a grid that has several rows: block `b` is in row `b / GRID_ROW`.
pub const GRID_ROW: i64 = 1 << 30;

/// A module as code for a grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// What the host does for each exported function.
    pub functions: Vec<HostFunction>,
    /// What the device executes.
    pub kernels: Vec<Kernel>,
    /// The code of the kernels, for each generation of devices, the oldest first.
    pub codes: Vec<DeviceCode>,
}

/// Code of all kernels for devices of a generation and all later ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceCode {
    /// The oldest generation, ten times its number: 80 for 8.0.
    pub generation: u32,
    /// The text of the code.
    pub text: String,
}

/// What the host does for a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostFunction {
    /// Its name, without a prefix.
    pub name: String,
    /// How many variables its steps have.
    pub variables: usize,
    /// What is found out about arguments before the steps.
    #[serde(default)]
    pub longest: Vec<Longest>,
    /// What it does, in order.
    pub steps: Vec<Step>,
}

/// The largest difference of neighbouring elements of an argument that is only read, and at least 0: how long the
/// longest row is, of elements that say where rows begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Longest {
    /// The variable that has this value in all steps.
    pub var: VarId,
    /// The argument.
    pub buffer: BufferId,
    /// The place of the first element, of symbols alone.
    pub first: Index,
    /// How many differences there are, of symbols alone; none if negative.
    pub count: Index,
}

/// What each launch of a kernel is given: integers, then symbols, then addresses of buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// The name of its entry in the code.
    pub name: String,
    /// Threads of a block.
    pub lanes: u32,
    /// Number of integers that it takes.
    pub integers: usize,
    /// Symbols that it takes.
    pub symbols: Vec<SymbolId>,
    /// Number of buffers that it takes.
    pub buffers: usize,
    /// Whether its lanes ask for memory while they run.
    pub allocates: bool,
}

/// One thing that the host does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Starts a kernel.
    Launch(Launch),
    /// Repeats steps for each value of a variable.
    Repeat(Repeat),
    /// Chooses between steps.
    Choose {
        /// What decides.
        condition: Condition,
        /// Where it holds.
        then: Vec<Step>,
        /// Where it does not.
        otherwise: Vec<Step>,
    },
    /// Has memory on the device for steps.
    Allocate(Allocate),
}

/// A start of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Its place in [`Grid::kernels`].
    pub kernel: usize,
    /// How many blocks there are; nothing is started for none.
    pub blocks: Index,
    /// The integers that it is given.
    pub integers: Vec<Index>,
    /// The buffers that it is given.
    pub buffers: Vec<BufferId>,
}

/// A loop of the host: from the largest lower to below the smallest upper bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// The variable.
    pub var: VarId,
    /// Lower bounds.
    pub lower: Vec<Index>,
    /// Exclusive upper bounds.
    pub upper: Vec<Index>,
    /// The positive step.
    pub step: i64,
    /// What is repeated.
    pub body: Vec<Step>,
}

/// Memory on the device for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allocate {
    /// What kernels call it.
    pub buffer: BufferId,
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub element: Element,
    /// How many; none if negative.
    pub size: Index,
    /// Whether they are 0 at first.
    pub zero: bool,
    /// The buffer that takes its place, and where it does.
    pub instead: Option<(BufferId, Condition)>,
    /// What is done with it.
    pub body: Vec<Step>,
}
