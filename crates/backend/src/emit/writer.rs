//! What is known while a function is written, and how its lines are.

use super::names::sanitized;
use super::vectors::VectorFunctions;
use super::width::IndexWidth;
use crate::Result;
use dastac_loops::{BufferId, Element, Function, Module, RegId, SymbolId, VarId};
use dastac_target::TargetError;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

/// Writes one line of the body, indented.
macro_rules! line {
    ($writer:expr, $($format:tt)*) => {{
        let text = format!($($format)*);
        $writer.write_line(&text);
    }};
}
pub(super) use line;

/// What the functions of a module share.
pub(super) struct Unit {
    /// Functions that are called for vectors.
    pub(super) vectors: VectorFunctions,
    /// Bits of integers.
    pub(super) width: IndexWidth,
    /// Lanes of a block, where the code is for a grid of them.
    pub(super) lanes: Option<i64>,
    /// The generation of the device, ten times its number.
    pub(super) generation: u32,
    /// What stands in front of the names of functions.
    pub(super) prefix: String,
    /// Their text so far.
    pub(super) functions: String,
    /// Whether a loop runs on several threads.
    pub(super) parallel: bool,
    /// Whether there is a function that reports something and ends the process.
    pub(super) reports_any: bool,
    /// Functions that report an access outside of a buffer.
    pub(super) reports: BTreeSet<String>,
    /// The functions that allocate workspaces, by the type of elements.
    pub(super) allocates: BTreeMap<&'static str, String>,
    /// Whether OpenMP is asked for the number of threads.
    pub(super) asks_threads: bool,
    /// Declarations of the functions of other libraries that are called, by name.
    pub(super) declarations: BTreeMap<String, String>,
}

impl Unit {
    pub(super) fn new(prefix: &str, vectors: &VectorFunctions, width: IndexWidth) -> Unit {
        Unit {
            vectors: vectors.clone(),
            width,
            lanes: None,
            generation: 0,
            prefix: prefix.to_owned(),
            functions: String::new(),
            parallel: false,
            reports_any: false,
            reports: BTreeSet::new(),
            allocates: BTreeMap::new(),
            asks_threads: false,
            declarations: BTreeMap::new(),
        }
    }
}

/// The name of an SSA value, with its `%`.
#[derive(Clone, Debug)]
pub(super) struct Ssa(pub(super) String);

impl fmt::Display for Ssa {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A variable in scope.
#[derive(Clone)]
pub(super) struct Variable {
    pub(super) name: Ssa,
    /// Whether MLIR accepts it as a dimension: bound by an affine loop or an argument, not by an `scf` loop.
    pub(super) affine: bool,
}

/// Writes one MLIR function.
pub(super) struct Writer<'m, 'u> {
    /// The module that the function is one of.
    pub(super) module: &'m Module,
    pub(super) function: &'m Function,
    pub(super) name: String,
    /// Whether integer arithmetic here may overflow ([`dastac_loops::Integer::wraps`]).
    pub(super) wrapping: bool,
    /// What registers, variables, buffers and symbols that are known here are called.
    pub(super) registers: BTreeMap<RegId, Ssa>,
    pub(super) unit: &'u mut Unit,
    pub(super) vars: BTreeMap<VarId, Variable>,
    pub(super) buffers: BTreeMap<BufferId, Ssa>,
    /// Whether what is written is executed by one lane of a block, and the buffers of which each lane has its own part.
    pub(super) in_lane: bool,
    pub(super) of_lanes: BTreeSet<BufferId>,
    /// Bytes of these parts.
    pub(super) held: i64,
    /// The loops over lanes after which those of a warp wait for each other alone.
    pub(super) alone: BTreeSet<VarId>,
    /// Values that are defined in loops over lanes.
    pub(super) inside: Inside,
    pub(super) symbols: BTreeMap<SymbolId, Ssa>,
    /// Constants at the entry, by `value : type`.
    pub(super) constants: BTreeMap<String, Ssa>,
    /// What else stands at the entry.
    pub(super) entry: String,
    /// The lines of the body so far.
    pub(super) body: String,
    /// How deep blocks are nested, for indents.
    pub(super) depth: usize,
    /// The number of the next name.
    pub(super) next: usize,
}

/// How many values the loops over lanes define, all together and the one with the most of them.
#[derive(Default)]
pub(super) struct Inside {
    pub(super) all: usize,
    pub(super) most: usize,
}

impl Inside {
    pub(super) fn add(&mut self, values: usize) {
        self.all += values;
        self.most = self.most.max(values);
    }
}

impl<'m, 'u> Writer<'m, 'u> {
    pub(super) fn new(
        module: &'m Module,
        function: &'m Function,
        name: String,
        unit: &'u mut Unit,
    ) -> Self {
        Writer {
            module,
            function,
            name,
            wrapping: false,
            registers: BTreeMap::new(),
            unit,
            vars: BTreeMap::new(),
            buffers: BTreeMap::new(),
            in_lane: false,
            of_lanes: BTreeSet::new(),
            held: 0,
            alone: BTreeSet::new(),
            inside: Inside::default(),
            symbols: BTreeMap::new(),
            constants: BTreeMap::new(),
            entry: String::new(),
            body: String::new(),
            depth: 2,
            next: 0,
        }
    }

    /// A step, which is positive.
    pub(super) fn step(&self, step: i64) -> Result<i64> {
        if step > 0 { Ok(step) } else { Err(self.invalid(format_args!("step {step}"))) }
    }

    pub(super) fn symbol(&self, symbol: SymbolId) -> Result<Ssa> {
        match self.symbols.get(&symbol) {
            Some(known) => Ok(known.clone()),
            None => Err(self.invalid(format_args!("symbol {} does not exist", symbol.0))),
        }
    }

    pub(super) fn buffer(&self, id: BufferId) -> Result<(Ssa, Element)> {
        match (self.buffers.get(&id), self.module.buffers.get(id.0 as usize)) {
            (Some(name), Some(buffer)) => Ok((name.clone(), buffer.element)),
            _ => Err(self.invalid(format_args!("buffer {} is no argument", id.0))),
        }
    }

    /// Whether MLIR takes a variable for a dimension.
    pub(super) fn is_dim(&self, var: VarId) -> bool {
        self.vars.get(&var).is_some_and(|known| known.affine)
    }

    /// A new name for a variable that comes into scope.
    pub(super) fn bind(&mut self, var: VarId, affine: bool) -> Result<Ssa> {
        let Some(name) = self.function.vars.get(var.0 as usize) else {
            return Err(self.invalid(format_args!("variable {} does not exist", var.0)));
        };
        let name = Ssa(format!("%{}_{}", sanitized(name), self.next));
        self.next += 1;
        self.vars.insert(var, Variable { name: name.clone(), affine });
        Ok(name)
    }

    /// Gives variables values that MLIR takes for no dimensions.
    pub(super) fn bind_all(&mut self, vars: &[VarId], values: &[Ssa]) {
        for (var, value) in vars.iter().zip(values) {
            self.vars.insert(*var, Variable { name: value.clone(), affine: false });
        }
    }

    /// The result of an operation, written on a line of its own.
    pub(super) fn define(&mut self, operation: fmt::Arguments<'_>) -> Ssa {
        let name = self.fresh();
        line!(self, "{name} = {operation}");
        name
    }

    /// A name that nothing has.
    pub(super) fn fresh(&mut self) -> Ssa {
        self.next += 1;
        Ssa(format!("%t{}", self.next - 1))
    }

    /// Writes lines one level deeper.
    pub(super) fn block(&mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.depth += 1;
        write(self)?;
        self.depth -= 1;
        Ok(())
    }

    pub(super) fn write_line(&mut self, text: &str) {
        let _ = writeln!(self.body, "{:1$}{text}", "", 2 * self.depth);
    }

    pub(super) fn invalid(&self, what: fmt::Arguments<'_>) -> TargetError {
        TargetError::Invalid(format!("{what}, in `{}`", self.function.name))
    }
}
