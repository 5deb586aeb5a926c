//! The object that `dastac run --json` prints.

use std::borrow::Cow;

use dastac::contract::{self, Plan, Stepped};
use dastac::runtime::TensorFacts;
use dastac::workspaces::UsedWorkspace;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// Keys in a given order.
pub struct Ordered<T>(pub Vec<(String, T)>);

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// One run.
#[derive(Serialize)]
pub struct Report {
    /// The program's file as given.
    pub file: String,
    /// Values of the symbols, in declaration order.
    pub symbols: Ordered<i64>,
    /// The `schedule:` line that held, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The rules whose products are computed in steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Steps>,
    /// The operands that are read from copies with all of their elements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expanded: Vec<Expanded>,
    /// The results whose elements come together in workspaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<Workspace>,
    /// From text to machine code.
    pub compile_ns: u64,
    /// Its stages in order.
    pub stages_ns: Ordered<u64>,
    /// The computation, one time a repeat.
    pub run_ns: Vec<u64>,
    /// Threads that parallel loops ran on.
    pub threads: usize,
    /// All tensors, in order of first appearance.
    pub tensors: Vec<Tensor>,
    /// How often loops ran, with `--trips`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trips: Option<Vec<Function>>,
    /// What cores inside of memory took and counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pim: Option<dastac::runtime::pim::Report>,
    /// What a device took in the last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda: Option<Device>,
    /// Floating-point operations of one run; null when they could not be counted.
    pub flops: Option<u128>,
    /// Largest error relative to max(1, |reference|); null without `--verify`. An error that is no number is the
    /// largest float.
    pub max_error: Option<f64>,
    /// Why `--verify` did not compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_note: Option<String>,
    /// How `--verify` checked each result, where sizes were too large for dense arrays.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

/// Where the time of a device went.
#[derive(Serialize)]
pub struct Device {
    /// Kernels that were started.
    pub launches: u64,
    /// From before the first kernel to after the last one, as the device measures it.
    pub kernels_ns: u64,
    /// Copies of arguments to the device.
    pub to_device_ns: u64,
    /// Copies of results to the host.
    pub to_host_ns: u64,
    /// Bytes that were copied to the device.
    pub bytes_to_device: u64,
    /// Bytes that were copied to the host.
    pub bytes_to_host: u64,
}

/// How a result was checked.
#[derive(Serialize)]
pub struct Check {
    /// The tensor.
    pub tensor: String,
    /// `walk`, `functionals`, `samples` or `none`.
    pub method: &'static str,
    /// How many products, functionals or elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Why it was not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A copy of an operand that stores all elements, also those that follow from others; or of a result, with what is
/// around its elements.
#[derive(Serialize)]
pub struct Expanded {
    /// The copy.
    pub tensor: String,
    /// The operand or the result.
    pub of: String,
    /// Whether it is a result.
    pub is_result: bool,
}

impl Expanded {
    /// Of an operand or a result.
    pub fn of(copy: &contract::Expanded) -> Expanded {
        Expanded { tensor: copy.copy.clone(), of: copy.of.clone(), is_result: copy.is_result }
    }
}

/// A rule whose products are computed in steps.
#[derive(Serialize)]
pub struct Steps {
    /// The computed tensor.
    pub tensor: String,
    /// The `contract(..)` of each product in steps.
    pub contract: Vec<String>,
    /// The rules of the steps, in their order.
    pub rules: Vec<String>,
    /// Floating-point operations of all steps; null when they could not be counted.
    pub flops: Option<u128>,
    /// Floating-point operations of the rule as it is written.
    pub direct_flops: Option<u128>,
}

impl Steps {
    /// Of a rule.
    pub fn of(stepped: &Stepped) -> Steps {
        let Stepped { plan, operations, direct } = stepped.clone();
        let Plan { head: tensor, contract, rules, .. } = plan;
        Steps { tensor, contract, rules, flops: operations, direct_flops: direct }
    }
}

/// A workspace in which the elements of a result come together.
#[derive(Serialize)]
pub struct Workspace {
    /// The result.
    pub tensor: String,
    /// `dense`, `list`, `hash`, or `dense or list` where sizes of a run choose.
    pub kind: Cow<'static, str>,
    /// How many points it holds at most; not given for one that grows or has a place for everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<i64>,
    /// The iterators of the result's levels outside of it.
    pub outside: Vec<String>,
    /// The iterators of the levels in it.
    pub inside: Vec<String>,
    /// Why there is one.
    pub reason: Cow<'static, str>,
    /// Why it is of this kind; not given if the program says it, or if nothing is known of its points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
}

impl Workspace {
    /// Of a rule.
    pub fn of(used: &UsedWorkspace) -> Workspace {
        let UsedWorkspace { tensor, kind, capacity, outside, inside, reason, choice } =
            used.clone();
        Workspace { tensor, kind, capacity, outside, inside, reason, choice }
    }
}

/// One tensor.
#[derive(Serialize)]
pub struct Tensor {
    /// What is known of it at these sizes.
    #[serde(flatten)]
    pub facts: TensorFacts,
    /// Copies of a dynamic tensor for rules whose loops do not walk it in that format.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Copy>,
}

/// A copy of a dynamic tensor.
#[derive(Serialize)]
pub struct Copy {
    /// The head of the rule that reads it.
    pub rule: String,
    /// The format.
    pub format: String,
    /// Its size.
    pub bytes: u64,
    /// Whether it is a part of a tensor in a hybrid format, not a copy of all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
}

/// The loops of a function of the computation.
#[derive(Serialize)]
pub struct Function {
    /// Its name.
    pub function: String,
    /// The result that it counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<String>,
    /// Its loops, as they stand in the text.
    pub loops: Vec<Loop>,
}

/// A loop that was counted.
#[derive(Serialize)]
pub struct Loop {
    /// Its variables.
    pub name: String,
    /// How many loops are around it.
    pub depth: usize,
    /// `range`, `elements`, `subsections`, `search`, `clear`, `insertion`, `sort`,
    /// `contraction`, `scan` or `upkeep`.
    pub over: &'static str,
    /// The iterator whose values it finds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterator: Option<String>,
    /// The tensors whose stored elements say where it comes to.
    pub tensors: Vec<String>,
    /// How often its body ran.
    pub trips: u64,
    /// How often it needs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
}

/// How often a loop needs to run.
#[derive(Serialize)]
pub struct Bound {
    /// The bound: the smaller of `all` and the sum of `stored`.
    pub value: u128,
    /// Over all of its range.
    pub all: u128,
    /// Over what is stored, to be added up; empty where nothing that is stored decides.
    pub stored: Vec<Stored>,
}

/// A multiple of a tensor's stored elements.
#[derive(Serialize)]
pub struct Stored {
    /// The tensor.
    pub tensor: String,
    /// How often each may be reached.
    pub times: u128,
    /// How many there are.
    pub elements: u128,
}
