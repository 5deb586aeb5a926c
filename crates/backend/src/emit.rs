//! Writes a loop module as MLIR.
//!
//! What becomes of what:
//! - a function: a `func.func` over memrefs of one huge static shape. Static, since the bare-pointer calling
//!   convention leaves functions over dynamic shapes unconverted without a word; huge, so that no access lies
//!   outside,
//! - a loop with affine bounds: `affine.for`; with other bounds (or around a variable of such a loop): `scf.for`,
//! - a parallel loop: OpenMP's work-sharing loop in a parallel region (`threads`),
//! - a conjunction of affine comparisons: `affine.if`; other conditions: `arith` and `scf.if`,
//! - register code: one operation each (`registers`, `numbers`, `memory`),
//! - private functions and calls: functions and calls (`call`), teams: OpenMP's parallel regions (`threads`),
//! - an asserted index: a comparison, and a call that reports it and ends the process (`checked`),
//! - a subscript: `arith` on `index`, operation for operation as the tree says, so that its producer decides
//!   (Horner form).
//!
//! Invariant: every SSA name is defined once per function; constants stand at its entry, where they are valid
//! symbols of affine maps. Repeated subexpressions are written again each time: the first pass of the
//! pipeline is `cse`.

mod call;
mod checked;
mod convert;
mod expression;
mod memory;
mod numbers;
mod registers;
mod threads;
mod workspace;

use self::convert::name_of;
use crate::Result;
use crate::affine::{self, List};
use dastac_loops::{
    BufferId, Condition, Element, For, Function, If, Index, Mark, Mode, Module, RegId, Stmt,
    SymbolId, VarId, While,
};
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
use line;

/// The attribute of functions that are not copied to where they are called.
const NOINLINE: &str = " attributes {passthrough = [\"noinline\"]}";

/// Elements of every memref: more than any memory holds, yet far from overflowing an address computation.
const HUGE: i64 = 1 << 48;

/// A module as MLIR text.
pub(crate) struct Emitted {
    /// The text.
    pub text: String,
    /// Exported functions, in the module's order, with their number of buffers.
    pub exported: Vec<(String, usize)>,
    /// Whether loops run on several threads.
    pub threads: bool,
}

/// Writes `module`, with `prefix` in front of the names of functions.
pub(crate) fn emit(module: &Module, prefix: &str) -> Result<Emitted> {
    let mut unit = Unit {
        prefix: prefix.to_owned(),
        functions: String::new(),
        parallel: false,
        reports_any: false,
        reports: BTreeSet::new(),
        allocates: BTreeMap::new(),
        asks_threads: false,
    };
    let mut exported = Vec::new();
    for function in &module.functions {
        let name = format!("{prefix}{}", function.name);
        if !is_identifier(&name) {
            return Err(TargetError::Name(name));
        }
        if function.private.is_none() {
            exported.push((name.clone(), function.args.len()));
        }
        let mut writer = Writer::new(module, function, name, &mut unit);
        match &function.private {
            Some(private) => writer.private_function(private)?,
            None => writer.function()?,
        }
    }
    if unit.reports_any {
        unit.functions.push_str(checked::DECLARATIONS);
    }
    if unit.asks_threads {
        unit.functions.push_str(&threads::declarations());
    }
    Ok(Emitted {
        text: format!("{}module {{\n{}}}\n", aliases(module), unit.functions),
        exported,
        threads: unit.parallel,
    })
}

/// Whether C accepts `name` as the name of a function (keywords aside).
pub(crate) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What the functions of a module share.
struct Unit {
    /// What stands in front of the names of functions.
    prefix: String,
    functions: String,
    /// Whether a loop runs on several threads.
    parallel: bool,
    /// Whether there is a function that reports something and ends the process.
    reports_any: bool,
    /// Functions that report an access outside of a buffer.
    reports: BTreeSet<String>,
    /// The functions that allocate workspaces, by the type of elements.
    allocates: BTreeMap<&'static str, String>,
    /// Whether OpenMP is asked for the number of threads.
    asks_threads: bool,
}

/// The name of an SSA value, with its `%`.
#[derive(Clone, Debug)]
struct Ssa(String);

impl fmt::Display for Ssa {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A variable in scope.
#[derive(Clone)]
struct Variable {
    name: Ssa,
    /// Whether MLIR accepts it as a dimension: bound by an affine loop or an argument, not by an `scf` loop.
    affine: bool,
}

/// The bounds of a loop as operands.
enum Range {
    Affine { lower: List, upper: List },
    Values { lower: Ssa, upper: Ssa, step: Ssa },
}

/// Writes one MLIR function.
struct Writer<'m, 'u> {
    module: &'m Module,
    function: &'m Function,
    name: String,
    /// Whether integer arithmetic here may overflow ([`dastac_loops::Integer::wraps`]).
    wrapping: bool,
    registers: BTreeMap<RegId, Ssa>,
    unit: &'u mut Unit,
    vars: BTreeMap<VarId, Variable>,
    buffers: BTreeMap<BufferId, Ssa>,
    symbols: BTreeMap<SymbolId, Ssa>,
    /// Constants at the entry, by `value : type`.
    constants: BTreeMap<String, Ssa>,
    /// What else stands at the entry.
    entry: String,
    body: String,
    depth: usize,
    next: usize,
}

impl<'m, 'u> Writer<'m, 'u> {
    fn new(module: &'m Module, function: &'m Function, name: String, unit: &'u mut Unit) -> Self {
        Writer {
            module,
            function,
            name,
            wrapping: false,
            registers: BTreeMap::new(),
            unit,
            vars: BTreeMap::new(),
            buffers: BTreeMap::new(),
            symbols: BTreeMap::new(),
            constants: BTreeMap::new(),
            entry: String::new(),
            body: String::new(),
            depth: 2,
            next: 0,
        }
    }

    /// The whole function, exported.
    fn function(&mut self) -> Result<()> {
        let mut arguments = vec!["%params: !i64s {llvm.noalias, llvm.readonly}".to_owned()];
        for &(buffer, mode) in &self.function.args {
            arguments.push(self.buffer_argument(buffer, mode)?);
        }
        for (at, name) in self.module.symbols.iter().enumerate() {
            let position = self.index_constant(at as i64);
            let value = self.fresh();
            line!(self, "{value} = memref.load %params[{position}] : !i64s");
            let symbol = Ssa(format!("%s{at}_{}", sanitized(name)));
            line!(self, "{symbol} = arith.index_cast {value} : i64 to index");
            self.symbols.insert(SymbolId(at as u32), symbol);
        }
        self.stmts(&self.function.body)?;
        self.finish("", &arguments, "");
        Ok(())
    }

    /// Appends the function to the unit.
    fn finish(&mut self, visibility: &str, arguments: &[String], attributes: &str) {
        let out = &mut self.unit.functions;
        let name = &self.name;
        let _ = writeln!(
            out,
            "  func.func {visibility}@{name}({}){attributes} {{",
            arguments.join(", ")
        );
        for (text, constant) in &self.constants {
            let _ = writeln!(out, "    {constant} = arith.constant {text}");
        }
        out.push_str(&self.entry);
        out.push_str(&self.body);
        out.push_str("    return\n  }\n");
    }

    /// An argument of the function that stands for a buffer.
    fn buffer_argument(&mut self, id: BufferId, mode: Mode) -> Result<String> {
        let Some(buffer) = self.module.buffers.get(id.0 as usize) else {
            return Err(self.invalid(format_args!("buffer {} does not exist", id.0)));
        };
        let name = Ssa(format!("%b{}_{}", id.0, sanitized(&buffer.name)));
        let readonly = if mode == Mode::In { ", llvm.readonly" } else { "" };
        let text = format!("{name}: {} {{llvm.noalias{readonly}}}", memref(buffer.element));
        self.buffers.insert(id, name);
        Ok(text)
    }

    fn stmts(&mut self, stmts: &[Stmt]) -> Result<()> {
        stmts.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<()> {
        match stmt {
            Stmt::For(inner) if inner.mark == Mark::Unrolled => {
                Err(self.invalid(format_args!("an unrolled loop is left")))
            }
            Stmt::Store(_) => Err(self.invalid(format_args!("a store is left"))),
            Stmt::For(inner) if inner.mark.is_parallel() => self.parallel(inner),
            Stmt::For(inner) => self.sequential(inner),
            Stmt::Partitioned(_) => Err(self.invalid(format_args!("a partitioned range is left"))),
            Stmt::Partial(_) => Err(self.invalid(format_args!("sums in parts are left"))),
            Stmt::While(inner) => self.while_loop(inner),
            Stmt::CoIter(_) => Err(self.invalid(format_args!("a walk over coordinates is left"))),
            Stmt::Team(inner) => self.team(inner),
            Stmt::Call(inner) => self.call_function(inner),
            Stmt::Register(inner) => self.register_stmt(inner),
            Stmt::Workspace(inner) => self.workspace(inner),
            Stmt::Let(inner) => self.element(inner),
            Stmt::If(inner) => self.conditional(inner),
        }
    }

    fn sequential(&mut self, inner: &For) -> Result<()> {
        let range = self.range(&inner.lower, &inner.upper, inner.step)?;
        let var = self.loop_head(inner.var, &range, inner.step, None)?;
        self.block(|writer| writer.stmts(&inner.body))?;
        self.vars.remove(&var);
        line!(self, "}}");
        Ok(())
    }

    fn while_loop(&mut self, inner: &While) -> Result<()> {
        let names =
            |writer: &mut Self| -> Vec<Ssa> { inner.vars.iter().map(|_| writer.fresh()).collect() };
        let mut starts = Vec::new();
        for (_, start) in &inner.vars {
            starts.push(self.index(start)?);
        }
        let vars: Vec<VarId> = inner.vars.iter().map(|(var, _)| *var).collect();
        let join =
            |names: &[Ssa]| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let types = vec!["index"; vars.len()].join(", ");
        let (before, inside) = (names(self), names(self));
        let pairs: Vec<String> =
            before.iter().zip(&starts).map(|(name, start)| format!("{name} = {start}")).collect();
        let result = self.fresh();
        let count = vars.len();
        let results = if count > 0 { format!("{result}:{count} = ") } else { String::new() };
        line!(self, "{results}scf.while ({}) : ({types}) -> ({types}) {{", pairs.join(", "));
        self.block(|writer| {
            writer.bind_all(&vars, &before);
            let condition = writer.in_order(&inner.condition)?;
            line!(writer, "scf.condition({condition}) {} : {types}", join(&before));
            Ok(())
        })?;
        let arguments: Vec<String> = inside.iter().map(|name| format!("{name}: index")).collect();
        line!(self, "}} do {{");
        line!(self, "^bb0({}):", arguments.join(", "));
        self.block(|writer| {
            writer.bind_all(&vars, &inside);
            writer.stmts(&inner.body)?;
            let mut next = Vec::new();
            for index in &inner.next {
                next.push(writer.index(index)?);
            }
            line!(writer, "scf.yield {} : {types}", join(&next));
            Ok(())
        })?;
        line!(self, "}}");
        let last: Vec<Ssa> = (0..count).map(|at| Ssa(format!("{result}#{at}"))).collect();
        self.bind_all(&vars, &last);
        self.stmts(&inner.after)?;
        vars.iter().for_each(|var| drop(self.vars.remove(var)));
        Ok(())
    }

    fn conditional(&mut self, inner: &If) -> Result<()> {
        let keyword = self.branch(&inner.condition)?;
        line!(self, "{keyword} {{");
        self.block(|writer| writer.stmts(&inner.then))?;
        if !inner.otherwise.is_empty() {
            line!(self, "}} else {{");
            self.block(|writer| writer.stmts(&inner.otherwise))?;
        }
        line!(self, "}}");
        Ok(())
    }

    /// The head of a conditional: `affine.if #set(operands)` or `scf.if %condition`.
    fn branch(&mut self, condition: &Condition) -> Result<String> {
        Ok(match affine::constraints(condition, &|var| self.is_dim(var)) {
            Some(list) => format!(
                "affine.if affine_set<{} : ({})>{}",
                list.signature(),
                list.expressions.join(", "),
                self.operands(&list)?
            ),
            None => format!("scf.if {}", self.condition(condition)?),
        })
    }

    /// Writes `for var = range {` and binds the variable.
    fn loop_head(
        &mut self,
        var: VarId,
        range: &Range,
        step: i64,
        carried: Option<(String, String)>,
    ) -> Result<VarId> {
        let (result, arguments) = match carried {
            Some((result, arguments)) => (format!("{result} = "), arguments),
            None => Default::default(),
        };
        match range {
            Range::Affine { lower, upper } => {
                let lower = self.bound(lower, "max ")?;
                let upper = self.bound(upper, "min ")?;
                let name = self.bind(var, true)?;
                let step = if step == 1 { String::new() } else { format!(" step {step}") };
                line!(self, "{result}affine.for {name} = {lower} to {upper}{step}{arguments} {{");
            }
            Range::Values { lower, upper, step } => {
                let name = self.bind(var, false)?;
                line!(
                    self,
                    "{result}scf.for {name} = {lower} to {upper} step {step}{arguments} {{"
                );
            }
        }
        Ok(var)
    }

    fn bound(&self, list: &List, extremum: &str) -> Result<String> {
        // MLIR's short forms of a constant and of a symbol alone.
        if let [only] = list.expressions.as_slice() {
            match (list.dims.as_slice(), list.symbols.as_slice()) {
                ([], []) if only.parse::<i64>().is_ok() => return Ok(only.clone()),
                ([], [symbol]) if only == "s0" => return Ok(self.symbol(*symbol)?.to_string()),
                _ => {}
            }
        }
        let extremum = if list.expressions.len() > 1 { extremum } else { "" };
        let expressions = list.expressions.join(", ");
        let signature = list.signature();
        let operands = self.operands(list)?;
        Ok(format!("{extremum}affine_map<{signature} -> ({expressions})>{operands}"))
    }

    /// `(%i, %j)[%n]`, what a map or set is applied to.
    fn operands(&self, list: &List) -> Result<String> {
        let dims: Vec<_> = list.dims.iter().map(|var| self.vars[var].name.to_string()).collect();
        let mut symbols = Vec::new();
        for symbol in &list.symbols {
            symbols.push(self.symbol(*symbol)?.to_string());
        }
        let symbols =
            if symbols.is_empty() { String::new() } else { format!("[{}]", symbols.join(", ")) };
        Ok(format!("({}){symbols}", dims.join(", ")))
    }

    /// The range of a loop: affine if all of its bounds are.
    fn range(&mut self, lower: &[Index], upper: &[Index], step: i64) -> Result<Range> {
        if lower.is_empty() || upper.is_empty() {
            return Err(self.invalid(format_args!("a loop has no bounds")));
        }
        let step = self.step(step)?;
        let is_dim = |var| self.is_dim(var);
        let maps = affine::bounds(&affine::maxima(lower), &is_dim)
            .zip(affine::bounds(&affine::minima(upper), &is_dim));
        Ok(match maps {
            Some((lower, upper)) => Range::Affine { lower, upper },
            None => Range::Values {
                lower: self.extremum(lower, "arith.maxsi")?,
                upper: self.extremum(upper, "arith.minsi")?,
                step: self.index_constant(step),
            },
        })
    }

    fn step(&self, step: i64) -> Result<i64> {
        if step > 0 { Ok(step) } else { Err(self.invalid(format_args!("step {step}"))) }
    }

    fn symbol(&self, symbol: SymbolId) -> Result<Ssa> {
        match self.symbols.get(&symbol) {
            Some(known) => Ok(known.clone()),
            None => Err(self.invalid(format_args!("symbol {} does not exist", symbol.0))),
        }
    }

    fn buffer(&self, id: BufferId) -> Result<(Ssa, Element)> {
        match (self.buffers.get(&id), self.module.buffers.get(id.0 as usize)) {
            (Some(name), Some(buffer)) => Ok((name.clone(), buffer.element)),
            _ => Err(self.invalid(format_args!("buffer {} is no argument", id.0))),
        }
    }

    fn is_dim(&self, var: VarId) -> bool {
        self.vars.get(&var).is_some_and(|known| known.affine)
    }

    fn bind(&mut self, var: VarId, affine: bool) -> Result<Ssa> {
        let Some(name) = self.function.vars.get(var.0 as usize) else {
            return Err(self.invalid(format_args!("variable {} does not exist", var.0)));
        };
        let name = Ssa(format!("%{}_{}", sanitized(name), self.next));
        self.next += 1;
        self.vars.insert(var, Variable { name: name.clone(), affine });
        Ok(name)
    }

    /// Gives variables values that MLIR takes for no dimensions.
    fn bind_all(&mut self, vars: &[VarId], values: &[Ssa]) {
        for (var, value) in vars.iter().zip(values) {
            self.vars.insert(*var, Variable { name: value.clone(), affine: false });
        }
    }

    fn define(&mut self, operation: fmt::Arguments<'_>) -> Ssa {
        let name = self.fresh();
        line!(self, "{name} = {operation}");
        name
    }

    fn fresh(&mut self) -> Ssa {
        self.next += 1;
        Ssa(format!("%t{}", self.next - 1))
    }

    fn block(&mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.depth += 1;
        write(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn write_line(&mut self, text: &str) {
        let _ = writeln!(self.body, "{:1$}{text}", "", 2 * self.depth);
    }

    fn invalid(&self, what: fmt::Arguments<'_>) -> TargetError {
        TargetError::Invalid(format!("{what}, in `{}`", self.function.name))
    }
}

/// Names for the types of buffers: of those that most modules have, and of the module's own.
fn aliases(module: &Module) -> String {
    let usual = [Element::F64, Element::F32, Element::I64, Element::U32, Element::Bool];
    let own = module.buffers.iter().map(|buffer| buffer.element);
    let mut names: Vec<&str> = Vec::new();
    for name in usual.into_iter().chain(own).map(name_of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.iter().map(|name| format!("!{name}s = memref<{HUGE}x{name}>\n")).collect()
}

fn memref(element: Element) -> String {
    format!("!{}s", name_of(element))
}

/// A name with everything but letters, digits and `_` replaced by `_`, a letter or `_` in front.
fn sanitized(name: &str) -> String {
    let mut text: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        text.insert(0, '_');
    }
    text
}
