//! Writes a loop module as MLIR.
//!
//! What becomes of what:
//! - a function: a `func.func` over memrefs of one huge static shape. Static, since the bare-pointer calling
//!   convention leaves functions over dynamic shapes unconverted without a word; huge, so that no access lies
//!   outside,
//! - a loop with affine bounds: `affine.for`, marked parallel `affine.parallel`; with other bounds (or around
//!   a variable of such a loop): the same in `scf`,
//! - a conjunction of affine comparisons: `affine.if`; other conditions: `arith` and `scf.if`,
//! - a sum: a loop that carries the partial sum,
//! - many loop nests that differ in constants and buffers only: calls of one function (`share`),
//! - a subscript: `arith` on `index`, operation for operation as the tree says, so that its producer decides
//!   (Horner form).
//!
//! Invariant: every SSA name is defined once per function; constants stand at its entry, where they are valid
//! symbols of affine maps. Repeated subexpressions are written again each time: the first pass of the
//! pipeline is `cse`.
//!
//! With threads, the body of a parallel loop becomes a function of its own. OpenMP passes what a loop body
//! uses through a structure in memory, where the promise that buffers do not overlap is lost, and with it
//! most vectorisation; as parameters of a function the buffers keep it.

mod call;
mod checked;
mod expression;
mod gather;
mod lanes;
mod partial;
mod parts;
mod share;
mod stream;
mod workspace;

use self::lanes::Lanes;
use self::parts::Inside;
use crate::affine::{self, Leaf, List};
use crate::{Error, Options, Result};
use dastac_loops::unroll::{Instance, at, expand, holds_at};
use dastac_loops::{
    BufferId, Condition, Element, For, Function, If, Index, Mark, Mode, Module, Reduction, Stmt,
    Store, StoreMode, SymbolId, Value, VarId, While,
};
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
    /// Bodies of parallel loops whose iterations differ in work.
    pub uneven: BTreeSet<String>,
    /// Whether loops run on several threads.
    pub threads: bool,
}

/// Writes `module`; parallel loops become calls of their outlined bodies if they run on threads, accesses are asserted if code is checked.
pub(crate) fn emit(module: &Module, options: &Options) -> Result<Emitted> {
    let (prefix, threads) = (&options.prefix, options.parallel);
    let mut unit = Unit {
        prefix: prefix.clone(),
        functions: String::new(),
        uneven: BTreeSet::new(),
        outlined: 0,
        parallel: false,
        reports_any: false,
        reports: BTreeSet::new(),
        allocates: BTreeMap::new(),
        asks_threads: false,
        vector_bytes: options.cpu.vector_bytes()?,
        fuses: options.cpu.fuses()?,
        gathers: options.cpu.gathers()?,
    };
    let mut exported = Vec::new();
    for function in &module.functions {
        let name = format!("{prefix}{}", function.name);
        if !is_identifier(&name) {
            return Err(Error::Name(name));
        }
        if function.private.is_none() {
            exported.push((name.clone(), function.args.len()));
        }
        let mut writer = Writer::new(module, function, name, (threads, options.checked), &mut unit);
        match &function.private {
            Some(private) => {
                writer.shared_out = true;
                writer.private_function(private)?;
            }
            None => writer.function()?,
        }
    }
    if unit.reports_any {
        unit.functions.push_str(checked::DECLARATIONS);
    }
    if unit.asks_threads {
        unit.functions.push_str(&call::declarations());
    }
    Ok(Emitted {
        text: format!("{}module {{\n{}}}\n", aliases(), unit.functions),
        exported,
        uneven: unit.uneven,
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
    uneven: BTreeSet<String>,
    /// Functions so far that no user sees.
    outlined: usize,
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
    /// Bytes of a vector register of the target.
    vector_bytes: usize,
    /// Whether the target adds a product in one instruction.
    fuses: bool,
    /// Whether it loads elements at any places into lanes.
    gathers: bool,
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

/// A function that statements became.
struct Outlined {
    name: String,
    /// What is passed, with its type.
    operands: Vec<(Operand, String)>,
}

/// What a function of the unit is passed.
enum Operand {
    Var(VarId),
    Value(Ssa),
    Buffer(BufferId),
    /// The number of elements of a workspace.
    Size(BufferId),
}

/// Writes one MLIR function.
struct Writer<'m, 'u> {
    module: &'m Module,
    function: &'m Function,
    name: String,
    threads: bool,
    checked: bool,
    /// Whether a parallel loop is around the current place: those inside run in order.
    shared_out: bool,
    /// How many loops around have iterations that follow each other.
    sequential: usize,
    /// The iterations of the unrolled loops around the current place that it is executed for, side by side.
    instances: Vec<Instance>,
    /// What is in lanes at the current place.
    lanes: Option<Lanes>,
    /// Whether the function writes past the caches.
    streams: bool,
    unit: &'u mut Unit,
    vars: BTreeMap<VarId, Variable>,
    buffers: BTreeMap<BufferId, Ssa>,
    /// Sizes of the buffers in checked code.
    sizes: BTreeMap<BufferId, Ssa>,
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
    fn new(
        module: &'m Module,
        function: &'m Function,
        name: String,
        (threads, checked): (bool, bool),
        unit: &'u mut Unit,
    ) -> Self {
        Writer {
            module,
            function,
            name,
            threads,
            checked,
            shared_out: false,
            sequential: 0,
            instances: vec![Instance::new()],
            lanes: None,
            streams: false,
            unit,
            vars: BTreeMap::new(),
            buffers: BTreeMap::new(),
            sizes: BTreeMap::new(),
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
        self.sizes()?;
        self.outermost(&self.function.body)?;
        self.finish("", &arguments, "");
        Ok(())
    }

    /// Appends the function to the unit.
    fn finish(&mut self, visibility: &str, arguments: &[String], attributes: &str) {
        self.fence();
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
        let mut rest = stmts;
        while let Some((stmt, after)) = rest.split_first() {
            rest = after;
            if let Some((first, store)) = cleared(stmt, after)
                && self.agree(stmt)
            {
                self.store(store, Some(first))?;
                rest = &after[1..];
                continue;
            }
            self.stmt(stmt)?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<()> {
        match stmt {
            Stmt::For(inner) if inner.mark == Mark::Unrolled => self.unrolled(inner),
            Stmt::Store(inner) => self.store(inner, None),
            // Where instances differ in what is executed, one after the other.
            stmt if !self.agree(stmt) => {
                let all = std::mem::take(&mut self.instances);
                for instance in &all {
                    self.instances = vec![instance.clone()];
                    self.stmt(stmt)?;
                }
                self.instances = all;
                Ok(())
            }
            Stmt::For(inner)
                if inner.mark.is_parallel() && self.can_share() && !self.is_short(inner) =>
            {
                self.parallel(inner)
            }
            Stmt::For(inner) => self.sequential(inner),
            Stmt::Share(inner) => self.parts(stmt, inner, &Inside::Body),
            Stmt::Partial(inner) => self.partial(inner),
            Stmt::While(inner) => self.while_loop(inner),
            Stmt::CoIter(_) => Err(self.invalid(format_args!("a walk over coordinates is left"))),
            Stmt::Team(inner) => self.team(inner),
            Stmt::Call(inner) => self.call_function(inner),
            Stmt::Register(_) => Err(self.invalid(format_args!("register code is not translated"))),
            Stmt::Workspace(inner) => self.workspace(inner),
            Stmt::Let(inner) => self.element(inner),
            Stmt::If(inner) => self.conditional(inner),
        }
    }

    /// Whether iterations can be shared among threads here: not those of a loop that is, nor inside of a tile.
    fn can_share(&self) -> bool {
        !self.shared_out && self.instances.iter().all(Instance::is_empty)
    }

    /// Whether a loop is one of many over some positions each: too little for several threads.
    fn is_short(&self, inner: &For) -> bool {
        self.sequential > 0 && over_positions(inner)
    }

    /// Whether all instances have the same bounds or condition.
    fn agree(&self, stmt: &Stmt) -> bool {
        let varies = |index: &Index| {
            let first = self.instances.first().map(|first| at(index, first));
            self.instances.iter().skip(1).any(|other| Some(at(index, other)) != first)
        };
        match stmt {
            Stmt::For(inner) => !inner.lower.iter().chain(&inner.upper).any(varies),
            Stmt::Share(inner) => !inner.lower.iter().chain(&inner.upper).any(varies),
            Stmt::If(inner) => {
                let first = self.instances.first().map(|first| holds_at(&inner.condition, first));
                let holds = |other| Some(holds_at(&inner.condition, other));
                self.instances.iter().skip(1).all(|other| holds(other) == first)
            }
            // Its start decides about all of it.
            Stmt::While(inner) => !inner.vars.iter().any(|(_, start)| varies(start)),
            Stmt::Let(inner) => !varies(&inner.index),
            // Each has its own.
            Stmt::Call(inner) => !inner.integers.iter().any(varies),
            Stmt::Workspace(_) | Stmt::Team(_) => self.instances.len() < 2,
            Stmt::Partial(_) | Stmt::CoIter(_) | Stmt::Store(_) | Stmt::Register(_) => true,
        }
    }

    /// An expression at the instances here, which agree about it.
    fn here(&self, index: &Index) -> Index {
        self.instances.first().map_or_else(|| index.clone(), |instance| at(index, instance))
    }

    /// A condition at the instances here, which agree about it.
    fn holds_here(&self, condition: &Condition) -> Condition {
        let first = self.instances.first();
        first.map_or_else(|| condition.clone(), |instance| holds_at(condition, instance))
    }

    fn unrolled(&mut self, inner: &For) -> Result<()> {
        let Some(inside) = expand(inner, &self.instances) else {
            return Err(self.invalid(format_args!("an unrolled loop's length is not known")));
        };
        if inside.is_empty() {
            return Ok(());
        }
        let outer = std::mem::replace(&mut self.instances, inside);
        self.stmts(&inner.body)?;
        self.instances = outer;
        Ok(())
    }

    fn sequential(&mut self, inner: &For) -> Result<()> {
        let (lower, upper): (Vec<Index>, Vec<Index>) = (
            inner.lower.iter().map(|bound| self.here(bound)).collect(),
            inner.upper.iter().map(|bound| self.here(bound)).collect(),
        );
        let range = self.range(&lower, &upper, inner.step)?;
        let var = self.loop_head(inner.var, &range, inner.step, None)?;
        self.one_by_one(over_positions(inner), |writer| writer.stmts(&inner.body))?;
        self.vars.remove(&var);
        line!(self, "}}");
        Ok(())
    }

    /// The body of a loop whose iterations follow each other; whether what one does is too little for several threads.
    fn one_by_one(
        &mut self,
        short: bool,
        body: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let shared_out = self.shared_out;
        self.shared_out |= short;
        self.sequential += 1;
        let result = self.block(body);
        self.sequential -= 1;
        self.shared_out = shared_out;
        result
    }

    fn while_loop(&mut self, inner: &While) -> Result<()> {
        let names =
            |writer: &mut Self| -> Vec<Ssa> { inner.vars.iter().map(|_| writer.fresh()).collect() };
        let mut starts = Vec::new();
        for (_, start) in &inner.vars {
            let start = self.here(start);
            starts.push(self.index(&start)?);
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
            let condition = writer.holds_here(&inner.condition);
            let condition = writer.in_order(&condition)?;
            line!(writer, "scf.condition({condition}) {} : {types}", join(&before));
            Ok(())
        })?;
        let arguments: Vec<String> = inside.iter().map(|name| format!("{name}: index")).collect();
        line!(self, "}} do {{");
        line!(self, "^bb0({}):", arguments.join(", "));
        self.one_by_one(true, |writer| {
            writer.bind_all(&vars, &inside);
            writer.stmts(&inner.body)?;
            let mut next = Vec::new();
            for index in &inner.next {
                let index = writer.here(index);
                next.push(writer.index(&index)?);
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

    fn parallel(&mut self, inner: &For) -> Result<()> {
        let leaf_name = |leaf| match leaf {
            Leaf::Var(var) => {
                self.vars.get(&var).filter(|known| known.affine).map(|known| known.name.to_string())
            }
            Leaf::Symbol(symbol) => {
                self.symbols.get(&symbol).map(|known| format!("symbol({known})"))
            }
        };
        let inline = |list: Vec<&Index>| -> Option<String> {
            let list: Option<Vec<_>> = list
                .into_iter()
                .map(|index| affine::expression(index, &mut { leaf_name }))
                .collect();
            Some(list?.join(", "))
        };
        let lower = inline(affine::maxima(&inner.lower));
        let upper = inline(affine::minima(&inner.upper));
        let step = self.step(inner.step)?;
        let end = match (lower, upper) {
            (Some(lower), Some(upper)) => {
                let var = self.bind(inner.var, true)?;
                line!(
                    self,
                    "affine.parallel ({var}) = (max({lower})) to (min({upper})) step ({step}) {{"
                );
                None
            }
            _ => {
                let lower = self.extremum(&inner.lower, "arith.maxsi")?;
                let upper = self.extremum(&inner.upper, "arith.minsi")?;
                let step = self.index_constant(step);
                let var = self.bind(inner.var, false)?;
                line!(self, "scf.parallel ({var}) = ({lower}) to ({upper}) step ({step}) {{");
                Some("scf.reduce")
            }
        };
        self.shared_out = true;
        self.block(|writer| match writer.threads {
            true => {
                writer.unit.parallel = true;
                let own = [inner.var];
                writer.outlined(&inner.body, (&own, &[]), uneven(inner), |body| {
                    body.stmts(&inner.body)
                })
            }
            false => writer.stmts(&inner.body),
        })?;
        self.shared_out = false;
        if let Some(end) = end {
            line!(self, "  {end}");
        }
        self.vars.remove(&inner.var);
        line!(self, "}}");
        Ok(())
    }

    /// Statements in a parallel loop that binds `own` as a function of its own, and its call, which passes `more` integers.
    fn outlined(
        &mut self,
        stmts: &[Stmt],
        (own, more): (&[VarId], &[&Ssa]),
        uneven: bool,
        write: impl FnOnce(&mut Writer<'m, '_>) -> Result<()>,
    ) -> Result<()> {
        let outlined = self.outline(stmts, (own, more), uneven, write)?;
        self.call_outlined(&outlined);
        Ok(())
    }

    /// Statements that use `own` variables and `more` integers as a function of its own.
    fn outline(
        &mut self,
        stmts: &[Stmt],
        (own, more): (&[VarId], &[&Ssa]),
        uneven: bool,
        write: impl FnOnce(&mut Writer<'m, '_>) -> Result<()>,
    ) -> Result<Outlined> {
        let mut vars = BTreeSet::new();
        let mut symbols = BTreeSet::new();
        let mut buffers = BTreeSet::new();
        for stmt in stmts {
            stmt.visit_indices(&mut |index| match index {
                Index::Var(var) => drop(vars.insert(*var)),
                Index::Symbol(symbol) => drop(symbols.insert(*symbol)),
                Index::Load(buffer, _) => drop(buffers.insert(*buffer)),
                _ => {}
            });
            stmt.visit(&mut |stmt| match stmt {
                Stmt::Store(store) => drop(buffers.insert(store.buffer)),
                Stmt::Partial(inner) => drop(buffers.insert(inner.buffer)),
                Stmt::Let(inner) => drop(buffers.insert(inner.buffer)),
                Stmt::Workspace(inner) => buffers.extend(inner.instead.iter().map(|(id, _)| *id)),
                _ => {}
            });
            stmt.visit_values(&mut |value| {
                if let Value::Load(buffer, _) = value {
                    buffers.insert(*buffer);
                }
            });
        }
        // Workspaces of what is inside are made there.
        buffers.retain(|buffer| self.buffers.contains_key(buffer));
        if self.checked {
            for buffer in buffers.iter().filter_map(|id| self.module.buffers.get(id.0 as usize)) {
                buffer.size.visit(&mut |index| {
                    if let Index::Symbol(symbol) = index {
                        symbols.insert(*symbol);
                    }
                });
            }
        }
        vars.extend(own);
        vars.retain(|var| self.vars.contains_key(var));

        let name = format!("{}__parallel{}", self.name, self.unit.outlined);
        self.unit.outlined += 1;
        if uneven {
            self.unit.uneven.insert(name.clone());
        }
        let mut body = Writer::new(
            self.module,
            self.function,
            name.clone(),
            (self.threads, self.checked),
            self.unit,
        );
        let (mut parameters, mut operands) = (Vec::new(), Vec::new());
        for var in vars {
            // A constant stands for a variable in some places, under a name that the function gives to its own.
            let named = self.function.vars.get(var.0 as usize).map_or("", String::as_str);
            let name = Ssa(format!("%{}_v{}", sanitized(named), var.0));
            parameters.push(format!("{name}: index"));
            operands.push((Operand::Var(var), "index".to_owned()));
            body.vars.insert(var, Variable { name, affine: true });
        }
        for &value in more {
            parameters.push(format!("{value}: index"));
            operands.push((Operand::Value(value.clone()), "index".to_owned()));
        }
        for symbol in symbols {
            let Some(outer) = self.symbols.get(&symbol) else {
                return Err(body.invalid(format_args!("symbol {} does not exist", symbol.0)));
            };
            parameters.push(format!("{outer}: index"));
            operands.push((Operand::Value(outer.clone()), "index".to_owned()));
            body.symbols.insert(symbol, outer.clone());
        }
        for buffer in buffers {
            // A workspace is no argument.
            let mode = self.function.args.iter().find(|(known, _)| *known == buffer);
            let is_argument = mode.is_some();
            let mode = mode.map_or(Mode::InOut, |(_, mode)| *mode);
            parameters.push(body.buffer_argument(buffer, mode)?);
            let ty = memref(self.module.buffers[buffer.0 as usize].element);
            operands.push((Operand::Buffer(buffer), ty));
            if self.checked && !is_argument {
                let size = Ssa(format!("%size{}", buffer.0));
                parameters.push(format!("{size}: index"));
                operands.push((Operand::Size(buffer), "index".to_owned()));
                body.sizes.insert(buffer, size);
            }
        }
        body.sizes()?;
        body.shared_out = true;
        body.next = body.next.max(self.next);
        write(&mut body)?;
        // A body with a loop is worth a call, and inlined it would be copied for every case that LLVM tells
        // apart; one without may vectorise over the parallel loop itself.
        let attributes =
            if has_loop(stmts) { " attributes {passthrough = [\"noinline\"]}" } else { "" };
        body.finish("private ", &parameters, attributes);
        Ok(Outlined { name, operands })
    }

    /// Calls a function with what its variables and buffers stand for here.
    fn call_outlined(&mut self, outlined: &Outlined) {
        let (mut operands, mut types) = (Vec::new(), Vec::new());
        for (operand, ty) in &outlined.operands {
            operands.push(match operand {
                Operand::Var(var) => self.vars[var].name.to_string(),
                Operand::Value(value) => value.to_string(),
                Operand::Buffer(buffer) => self.buffers[buffer].to_string(),
                Operand::Size(buffer) => self.sizes[buffer].to_string(),
            });
            types.push(ty.clone());
        }
        let (operands, types) = (operands.join(", "), types.join(", "));
        line!(self, "func.call @{}({operands}) : ({types}) -> ()", outlined.name);
    }

    fn conditional(&mut self, inner: &If) -> Result<()> {
        let condition = self.holds_here(&inner.condition);
        let keyword = self.branch(&condition)?;
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

    /// A store at all instances; one that adds does not where `first` holds: then it sets.
    fn store(&mut self, store: &Store, first: Option<&Condition>) -> Result<()> {
        let (_, element) = self.buffer(store.buffer)?;
        let computed = self.module.computed_in(&store.value, element);
        if let Some((var, count, bases)) = self.across(store, computed) {
            return self.store_across(store, first, ((var, count), &bases), (element, computed));
        }
        let instances = self.instances.clone();
        let values = self.values(&store.value, &instances, computed)?;
        let (buffer, _) = self.buffer(store.buffer)?;
        let ty = memref(element);
        let mut indices = Vec::new();
        for instance in &instances {
            let index = self.index(&at(&store.index, instance))?;
            self.check(store.buffer, &index);
            indices.push(index);
        }
        let Some(first) = first else {
            // One after the other: two of them may be the same element.
            for (index, value) in indices.iter().zip(values) {
                let value = match store.mode.reduction() {
                    None => value,
                    Some(kind) => {
                        let old = self.define(format_args!("memref.load {buffer}[{index}] : {ty}"));
                        self.joined(kind, (old, value), false, (element, computed))
                    }
                };
                let value = self.converted(value, false, computed, element);
                line!(self, "memref.store {value}, {buffer}[{index}] : {ty}");
            }
            return Ok(());
        };
        let first = self.branch(&self.holds_here(first))?;
        let yields = if first.starts_with("affine") { "affine" } else { "scf" };
        let old = self.fresh();
        let types = vec![name_of(element); indices.len()].join(", ");
        let arity = if indices.len() == 1 { String::new() } else { format!(":{}", indices.len()) };
        line!(self, "{old}{arity} = {first} -> ({types}) {{");
        let zero = self.number(0.0, element);
        let zeros = vec![zero.to_string(); indices.len()].join(", ");
        line!(self, "  {yields}.yield {zeros} : {types}");
        line!(self, "}} else {{");
        self.block(|writer| {
            let mut loaded = Vec::new();
            for index in &indices {
                let old = writer.define(format_args!("memref.load {buffer}[{index}] : {ty}"));
                loaded.push(old.to_string());
            }
            line!(writer, "{yields}.yield {} : {types}", loaded.join(", "));
            Ok(())
        })?;
        line!(self, "}}");
        let old = lanes::results(&old, indices.len());
        for ((index, value), old) in indices.iter().zip(values).zip(old) {
            let value = self.joined(Reduction::Sum, (old, value), false, (element, computed));
            let value = self.converted(value, false, computed, element);
            line!(self, "memref.store {value}, {buffer}[{index}] : {ty}");
        }
        Ok(())
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

    fn invalid(&self, what: fmt::Arguments<'_>) -> Error {
        Error::Invalid(format!("{what}, in `{}`", self.function.name))
    }
}

/// An element that is cleared under a condition and then added to: the condition, and the addition.
fn cleared<'s>(stmt: &'s Stmt, after: &'s [Stmt]) -> Option<(&'s Condition, &'s Store)> {
    let (Stmt::If(clear), Some(Stmt::Store(add))) = (stmt, after.first()) else { return None };
    let [Stmt::Store(zero)] = &clear.then[..] else { return None };
    let same = zero.buffer == add.buffer && zero.index == add.index;
    let clears = zero.mode == StoreMode::Set && zero.value == Value::Const(0.0);
    let adds = add.mode == StoreMode::Add && !add.value.loads(add.buffer);
    (same && clears && adds && clear.otherwise.is_empty()).then_some((&clear.condition, add))
}

/// Whether iterations differ in work: a bound or condition inside mentions the variable.
fn uneven(parallel: &For) -> bool {
    let mentions = |bound: &Index| bound.mentions(parallel.var);
    let mut found = false;
    for stmt in &parallel.body {
        stmt.visit(&mut |stmt| match stmt {
            Stmt::For(inner) => found |= inner.lower.iter().chain(&inner.upper).any(mentions),
            Stmt::If(inner) => found |= inner.condition.mentions(parallel.var),
            Stmt::While(_) | Stmt::Let(_) => found = true,
            Stmt::Workspace(inner) => found |= inner.size.mentions(parallel.var),
            Stmt::Call(_)
            | Stmt::Register(_)
            | Stmt::Team(_)
            | Stmt::Share(_)
            | Stmt::Partial(_) => {}
            Stmt::CoIter(_) | Stmt::Store(_) => {}
        });
        stmt.visit_values(&mut |value| {
            if let Value::Sum(sum) = value {
                found |= sum.lower.iter().chain(&sum.upper).any(mentions);
                found |= sum.condition.as_ref().is_some_and(|c| c.mentions(parallel.var));
            }
        });
    }
    found
}

/// Whether there is a loop or a sum inside.
fn has_loop(stmts: &[Stmt]) -> bool {
    let mut found = false;
    for stmt in stmts {
        stmt.visit(&mut |stmt| {
            found |=
                matches!(stmt, Stmt::For(_) | Stmt::Share(_) | Stmt::Partial(_) | Stmt::While(_))
        });
        stmt.visit_values(&mut |value| found |= matches!(value, Value::Sum(_)));
    }
    found
}

fn name_of(element: Element) -> &'static str {
    match element {
        Element::F64 => "f64",
        Element::F32 => "f32",
        Element::I64 => "i64",
        Element::U32 | Element::I32 => "i32",
        Element::Bool => "i8",
    }
}

/// Names for the types of buffers.
fn aliases() -> String {
    let alias = |element| format!("{} = memref<{HUGE}x{}>\n", memref(element), name_of(element));
    [Element::F64, Element::F32, Element::I64, Element::U32, Element::Bool].map(alias).concat()
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

/// Whether the range of a loop is read from memory: positions of a level.
fn over_positions(inner: &For) -> bool {
    inner.lower.iter().chain(&inner.upper).any(Index::has_loads)
}
