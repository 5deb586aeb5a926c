//! Checks the invariants of the IR. All violations are collected.
//!
//! - Names: symbols, buffers and functions each unique; symbols and buffers a letter or `_`, then letters, digits,
//!   `_`, `.`; functions C identifiers; none of `and`, `or`, `true`, `false`.
//! - Symbols, buffers and variables that are named exist. A buffer's size mentions no variable.
//! - A function takes a buffer at most once and uses only those that it takes: `In` is not written, `Out` is
//!   written with `=` somewhere if it is read or added to (by its caller, if the function is private). Workspaces are
//!   of buffers that it does not take, each used inside the statement that makes it only.
//! - Bounds are given, steps and divisors positive. Bounds and conditions make no selections.
//! - A variable is used only inside the loop or sum that binds it, and not bound again inside. (Loops beside each
//!   other may use one variable.)
//! - No parallel loop of a level other than threads stands inside of another one at that level.
//! - The number of iterations of an unrolled loop is a constant, and not too large.
//! - What belongs to a coordinate of a level of a result stands inside of other levels only.
//! - A store to a buffer of integers stores an integer, and none is loaded from one in a floating-point expression.
//!   Integer expressions load from those that are only read.
//!
//! That iterations of parallel and unrolled loops write disjoint elements is checked by the interpreter, not here.

use crate::ir::*;
use crate::print::{Part, integers, is_name, named};
use crate::rename::Uses;
use crate::unroll::{Instance, expand};
use std::collections::BTreeSet;

mod registers;

/// A violated invariant and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{violation}",
    .function.as_ref().map(|name| format!("function `{name}`: ")).unwrap_or_default(),
    .statement.as_ref().map(|text| format!("`{text}`: ")).unwrap_or_default())]
pub struct VerifyError {
    /// The function's name, unless it concerns the whole module.
    pub function: Option<String>,
    /// The first line of the statement, unless it concerns the whole function.
    pub statement: Option<String>,
    /// What is violated.
    pub violation: Violation,
}

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Two things have one name.
    #[error("two {what} are named `{name}`")]
    Duplicate {
        /// Symbols, buffers or functions.
        what: &'static str,
        /// Their name.
        name: String,
    },
    /// Not a name.
    #[error("`{0}` is not a valid name")]
    Name(String),
    /// No such symbol.
    #[error("symbol {} does not exist", .0.0)]
    Symbol(SymbolId),
    /// No such buffer.
    #[error("buffer {} does not exist", .0.0)]
    Buffer(BufferId),
    /// No such variable.
    #[error("variable {} does not exist", .0.0)]
    Variable(VarId),
    /// A size mentions a variable.
    #[error("the size of buffer `{0}` mentions a variable")]
    Size(String),
    /// A buffer is taken twice.
    #[error("buffer `{0}` is taken twice")]
    ArgumentTwice(String),
    /// A buffer is used and not taken.
    #[error("buffer `{0}` is not an argument")]
    NotArgument(String),
    /// A buffer that is only read is written to.
    #[error("input `{0}` is written to")]
    WritesInput(String),
    /// A buffer that is only written to is read before.
    #[error("output `{0}` is read or added to but never set")]
    ReadsOutput(String),
    /// A loop or sum without lower or upper bounds.
    #[error("a range has no bounds")]
    NoBounds,
    /// A sum is unrolled by what is not positive.
    #[error("unrolling by {0} is not positive")]
    Unroll(i64),
    /// A step is not positive.
    #[error("the step {0} is not positive")]
    Step(i64),
    /// A divisor is not positive.
    #[error("the divisor {0} is not positive")]
    Divisor(i64),
    /// A bound or condition selects.
    #[error("`{0}` selects, in a bound or condition")]
    Selects(String),
    /// A variable is used outside the loop that binds it.
    #[error("variable `{0}` is not bound here")]
    Unbound(String),
    /// A variable is bound inside itself.
    #[error("variable `{0}` is bound again inside its own range")]
    Rebound(String),
    /// A product of matrices by lanes whose sizes or types of elements do not fit.
    #[error("a product of matrices has sizes or elements that do not fit")]
    Multiply,
    /// A fetched element whose buffers do not fit, or fewer groups than none to wait for.
    #[error("an element is fetched between buffers that do not fit, or waited for wrongly")]
    Fetch,
    /// An unrolled loop whose number of iterations is not known or too large.
    #[error("the number of iterations of an unrolled loop is not a small constant")]
    Unrolled,
    /// A loop inside of another one at the same level of parallelism.
    #[error("a parallel loop on {0} stands inside of another one")]
    Level(&'static str),
    /// Not one new value for each variable of a loop with a condition.
    #[error("{0} variables are carried, but {1} new values given")]
    Carried(usize, usize),
    /// What belongs to a coordinate of a level stands inside of the same level.
    #[error("level {0} of the result stands inside of itself")]
    Append(usize),
    /// A walk over coordinates that does nothing anywhere.
    #[error("a walk over coordinates has no cases")]
    NoCases,
    /// A case names a cursor that does not exist, or names them out of order.
    #[error("a case names cursor {0}, which does not exist or is out of order")]
    Case(usize),
    /// A store to an integer buffer of something else than an integer.
    #[error("a value that is not an integer is stored to integer buffer `{0}`")]
    StoresFloat(String),
    /// A function of too many or too few numbers.
    #[error("`{0}` takes {1} numbers, not {2}")]
    Arity(MathFunction, usize, usize),
    /// A function of real numbers, a comparison, a minimum, a truth value or a conversion of complex numbers.
    #[error("a function, comparison, order, truth value or conversion of complex numbers")]
    OfComplex,
    /// What stands for a workspace has elements of another type.
    #[error("what stands for workspace `{0}` has elements of another type")]
    Instead(String),
    /// A load in an integer expression from something else than a buffer of integers that is only read.
    #[error(
        "buffer `{0}` is loaded from in an integer expression, but is not one of integers that are only read"
    )]
    LoadsNumber(String),
    /// A scan of a buffer with elements of more than a byte.
    #[error("buffer `{0}` is scanned, but its elements are not bytes")]
    Scans(String),
    /// A buffer that is used while it is scanned.
    #[error("buffer `{0}` is used inside of a statement that scans it")]
    UsesScanned(String),
    /// A workspace that is an argument, or one around already.
    #[error("buffer `{0}` cannot be a workspace here: it is in use")]
    Workspace(String),
    /// A call of a function that does not exist.
    #[error("function {} does not exist", .0.0)]
    Function(FunctionId),
    /// A call of a function that is exported.
    #[error("function `{0}` is called, but not private")]
    CallsExported(String),
    /// A call with too many or too few integers or buffers.
    #[error("function `{0}` takes {1}, not {2}")]
    Arguments(String, usize, usize),
    /// A call that passes a buffer of another element type.
    #[error("buffer `{0}` is passed for one with elements of another type")]
    Passes(String),
    /// A function that calls itself, perhaps through others.
    #[error("function `{0}` calls itself")]
    Recursion(String),
    /// A function whose accesses are reported under the name of one that does not exist or is private.
    #[error("accesses are reported under the name of a function that is not exported")]
    Reported,
    /// An assertion in a function that does not say under which name it reports.
    #[error("an index is asserted to be within buffer `{0}` in a function that is not checked")]
    Unchecked(String),
    /// A workspace on the stack whose size is not known before the code runs.
    #[error("workspace `{0}` is on the stack, but its size is not a constant")]
    StackSize(String),
    /// A private function that uses a symbol which it does not list.
    #[error("symbol `{0}` is not listed by its function")]
    Unlisted(String),
    /// No such register, or not known here.
    #[error("register ${} is not defined here", .0.0)]
    Register(RegId),
    /// A register is defined twice.
    #[error("register ${} is defined twice", .0.0)]
    RegisterTwice(RegId),
    /// A register is not of the type that its place asks for.
    #[error("register ${} is not of the type that its place asks for", .0.0)]
    RegisterType(RegId),
    /// A load of an integer from a buffer of numbers.
    #[error("buffer `{0}` is not one of integers")]
    NotIntegers(String),
    /// Complex numbers are stored as others, or compared.
    #[error(
        "complex numbers are only added, multiplied and divided, and stored as such; not in `{0}`"
    )]
    Complex(String),
}

/// Checks a module.
pub fn verify(module: &Module) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    let mut report = |violation| {
        errors.push(VerifyError { function: None, statement: None, violation });
    };
    let symbols = module.symbols.iter().map(|name| ("symbols", name));
    let buffers = module.buffers.iter().map(|buffer| ("buffers", &buffer.name));
    let functions = module.functions.iter().map(|function| ("functions", &function.name));
    let mut seen = BTreeSet::new();
    for (what, name) in symbols.chain(buffers).chain(functions) {
        if !seen.insert((what, name)) {
            report(Violation::Duplicate { what, name: name.clone() });
        }
        if !is_name(name) || what == "functions" && name.contains('.') {
            report(Violation::Name(name.clone()));
        }
    }
    for buffer in &module.buffers {
        let mut mentions = false;
        buffer.size.visit(&mut |index| match index {
            Index::Var(_) => mentions = true,
            Index::Symbol(symbol) if symbol.0 as usize >= module.symbols.len() => {
                report(Violation::Symbol(*symbol));
            }
            Index::FloorDiv(_, by) | Index::Mod(_, by) | Index::ExactDiv(_, by) if *by <= 0 => {
                report(Violation::Divisor(*by));
            }
            _ => {}
        });
        if mentions {
            report(Violation::Size(buffer.name.clone()));
        }
    }
    for (at, function) in module.functions.iter().enumerate() {
        if calls_itself(module, at) {
            errors.push(VerifyError {
                function: Some(function.name.clone()),
                statement: None,
                violation: Violation::Recursion(function.name.clone()),
            });
        }
        errors.extend(verify_function(module, function).err().into_iter().flatten());
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Checks a function, which need not be one of the module's.
pub fn verify_function(module: &Module, function: &Function) -> Result<(), Vec<VerifyError>> {
    let mut verifier = Verifier {
        module,
        function,
        errors: Vec::new(),
        scope: Vec::new(),
        statement: None,
        instances: vec![Instance::new()],
        workspaces: Vec::new(),
        levels: Vec::new(),
        appended: Vec::new(),
        registers: Vec::new(),
        moment: false,
    };
    verifier.arguments();
    verifier.reported();
    let integers = function.private.iter().flat_map(|private| &private.integers);
    integers.for_each(|var| verifier.bind(*var));
    verifier.block(&function.body);
    if verifier.errors.is_empty() { Ok(()) } else { Err(verifier.errors) }
}

struct Verifier<'a> {
    module: &'a Module,
    function: &'a Function,
    errors: Vec<VerifyError>,
    scope: Vec<VarId>,
    statement: Option<&'a Stmt>,
    /// Iterations of the unrolled loops around the current place.
    instances: Vec<Instance>,
    /// Workspaces at the current place.
    workspaces: Vec<BufferId>,
    /// Levels of the parallel loops around the current place.
    levels: Vec<ParallelLevel>,
    /// Levels of the result to whose coordinates the current place belongs.
    appended: Vec<usize>,
    /// Registers that are known at the current place.
    registers: Vec<RegId>,
    /// Whether an expression is looked at that is evaluated at one moment only.
    moment: bool,
}

/// Whether a statement uses a buffer.
fn uses_buffer(stmt: &Stmt, buffer: BufferId, module: &Module) -> bool {
    let mut found =
        Uses::of(std::slice::from_ref(stmt), &module.functions).buffers.contains(&buffer);
    stmt.visit(&mut |stmt| {
        if let Stmt::Register(inner) = stmt {
            found |= inner.buffers().contains(&buffer);
        }
    });
    found
}

impl<'a> Verifier<'a> {
    fn report(&mut self, violation: Violation) {
        let head = |stmt| named(self.module, self.function, Part::Head(stmt));
        let error = VerifyError {
            function: Some(self.function.name.clone()),
            statement: self.statement.map(head),
            violation,
        };
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    fn name(&self, var: VarId) -> String {
        named(self.module, self.function, Part::Index(&Index::Var(var)))
    }

    fn arguments(&mut self) {
        let (mut seen, mut set, mut read) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for stmt in &self.function.body {
            stmt.visit(&mut |stmt| {
                if let Stmt::Let(inner) = stmt {
                    read.insert(inner.buffer);
                }
                // It also stores, but only where elements were set before.
                if let Stmt::Scan(inner) = stmt {
                    read.insert(inner.buffer);
                }
                if let Stmt::Call(call) = stmt {
                    set.extend(&call.buffers);
                    read.extend(&call.buffers);
                }
                if let Stmt::Register(inner) = stmt {
                    match inner {
                        RegisterStmt::Write(write) => drop(set.insert(write.buffer)),
                        RegisterStmt::Fetch(fetch) => {
                            set.insert(fetch.buffer);
                            read.insert(fetch.from);
                        }
                        _ => read.extend(inner.buffers()),
                    }
                }
                if let Stmt::Workspace(Workspace { instead: Some((other, _)), .. }) = stmt {
                    read.insert(*other);
                }
                if let Stmt::Store(store) = stmt {
                    if store.mode == StoreMode::Set { &mut set } else { &mut read }
                        .insert(store.buffer);
                    store.value.visit(&mut |value| {
                        if let Value::Load(buffer, _) = value {
                            read.insert(*buffer);
                        }
                    });
                }
            });
        }
        for (buffer, mode) in &self.function.args {
            let Some(known) = self.module.buffers.get(buffer.0 as usize) else {
                self.report(Violation::Buffer(*buffer));
                continue;
            };
            if !seen.insert(buffer) {
                self.report(Violation::ArgumentTwice(known.name.clone()));
            }
            // What a private function gets may have been set by its caller.
            let exported = self.function.private.is_none();
            if exported && *mode == Mode::Out && read.contains(buffer) && !set.contains(buffer) {
                self.report(Violation::ReadsOutput(known.name.clone()));
            }
        }
    }

    /// The function under whose name this one reports accesses is one that callers know.
    fn reported(&mut self) {
        let Some(reported) = self.function.checked else { return };
        let known = self.module.functions.get(reported.0 as usize);
        if known.is_none_or(|known| known.private.is_some()) {
            self.report(Violation::Reported);
        }
    }

    fn block(&mut self, body: &'a [Stmt]) {
        let known = self.registers.len();
        self.block_open(body);
        self.registers.truncate(known);
    }

    /// A block whose registers stay known.
    fn block_open(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            let outer = self.statement.replace(stmt);
            self.stmt(stmt);
            self.statement = outer;
        }
        self.scope.truncate(self.scope.len() - integers(body).count());
    }

    /// Enters a loop.
    fn level(&mut self, mark: Mark) {
        let Mark::Parallel(level) = mark else { return };
        if level != ParallelLevel::Threads && self.levels.contains(&level) {
            self.report(Violation::Level(level.name()));
        }
        self.levels.push(level);
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::For(inner) => {
                self.range(&inner.lower, &inner.upper, inner.step);
                let outer = self.instances.clone();
                if inner.mark == Mark::Unrolled {
                    match expand(inner, &outer) {
                        Some(inside) => self.instances = inside,
                        None => self.report(Violation::Unrolled),
                    }
                }
                self.bind(inner.var);
                let levels = self.levels.len();
                self.level(inner.mark);
                self.block(&inner.body);
                self.levels.truncate(levels);
                self.scope.pop();
                self.instances = outer;
            }
            Stmt::Partitioned(inner) => {
                self.range(&inner.lower, &inner.upper, inner.step);
                self.bind(inner.end);
                if let Some(work) = &inner.work {
                    self.index(work);
                    self.plain(work);
                }
                self.bind(inner.begin);
                self.block(&inner.body);
                self.scope.pop();
                self.scope.pop();
            }
            Stmt::While(inner) => {
                inner.vars.iter().for_each(|(_, start)| self.index(start));
                inner.vars.iter().for_each(|(var, _)| self.bind(*var));
                self.condition(&inner.condition);
                // Each is evaluated at the end of an iteration, and nowhere else.
                self.moment = true;
                inner.next.iter().for_each(|next| self.index(next));
                self.moment = false;
                if inner.next.len() != inner.vars.len() {
                    self.report(Violation::Carried(inner.vars.len(), inner.next.len()));
                }
                self.block(&inner.body);
                self.block(&inner.after);
                self.scope.truncate(self.scope.len() - inner.vars.len());
            }
            Stmt::CoIter(inner) => self.coiter(inner),
            Stmt::Append(inner) => self.append(inner),
            Stmt::Team(inner) => {
                self.bind(inner.part);
                self.bind(inner.parts);
                self.block(&inner.body);
                self.scope.truncate(self.scope.len() - 2);
            }
            Stmt::Call(inner) => self.call(inner),
            Stmt::Workspace(inner) => {
                self.index(&inner.size);
                if let Some((other, condition)) = &inner.instead {
                    self.condition(condition);
                    let element = self.buffer(*other, false);
                    let own = self.module.buffers.get(inner.buffer.0 as usize);
                    if let (Some(element), Some(own)) = (element, own)
                        && element != own.element
                    {
                        self.report(Violation::Instead(own.name.clone()));
                    }
                }
                self.workspace(inner.buffer);
                self.on_the_stack(inner);
                self.block(&inner.body);
                self.workspaces.pop();
            }
            Stmt::Let(inner) => {
                self.index(&inner.index);
                if self.buffer(inner.buffer, false).is_some_and(|element| !element.is_integer()) {
                    let name = self.module.buffers[inner.buffer.0 as usize].name.clone();
                    self.report(Violation::NotIntegers(name));
                }
                self.bind(inner.var);
                self.block(&inner.body);
                self.scope.pop();
            }
            Stmt::Scan(inner) => self.scan(inner),
            Stmt::Partial(inner) => {
                self.range(&inner.lower, &inner.upper, inner.step);
                if inner.parts <= 0 {
                    self.report(Violation::Step(inner.parts));
                }
                self.condition(&inner.condition);
                self.index(&inner.base);
                self.index(&inner.extent);
                self.workspace(inner.workspace);
                [inner.begin, inner.end, inner.shift].into_iter().for_each(|var| self.bind(var));
                self.block(&inner.body);
                self.scope.truncate(self.scope.len() - 3);
                self.block(&inner.finish);
                self.workspaces.pop();
            }
            Stmt::If(inner) => {
                self.condition(&inner.condition);
                self.block(&inner.then);
                self.block(&inner.otherwise);
            }
            Stmt::Store(store) => {
                let element = self.buffer(store.buffer, true);
                self.index(&store.index);
                if element.is_some_and(|element| !self.fits(&store.value, element)) {
                    let name = self.module.buffers[store.buffer.0 as usize].name.clone();
                    self.report(Violation::StoresFloat(name));
                }
                if element.is_some_and(|element| !self.has_no_order(store, element)) {
                    let name = self.module.buffers[store.buffer.0 as usize].name.clone();
                    self.report(Violation::Complex(name));
                }
                if self.module.is_complex(&store.value).is_none() {
                    self.report(Violation::OfComplex);
                }
                self.value(&store.value);
                store.stream.iter().for_each(|condition| self.condition(condition));
            }
            Stmt::Register(inner) => self.register_stmt(inner),
        }
    }

    fn scan(&mut self, scan: &'a Scan) {
        for bound in [&scan.lower, &scan.upper] {
            self.index(bound);
            self.plain(bound);
        }
        let element = self.buffer(scan.buffer, true);
        if element.is_some_and(|element| !Scan::can_scan(element)) {
            let name = self.module.buffers[scan.buffer.0 as usize].name.clone();
            self.report(Violation::Scans(name));
        }
        let uses = |stmt: &Stmt| uses_buffer(stmt, scan.buffer, self.module);
        if element.is_some() && scan.body.iter().any(uses) {
            let name = self.module.buffers[scan.buffer.0 as usize].name.clone();
            self.report(Violation::UsesScanned(name));
        }
        self.bind(scan.var);
        self.block(&scan.body);
        self.scope.pop();
    }

    fn append(&mut self, append: &'a Append) {
        self.index(&append.coordinate);
        if self.appended.contains(&append.level) {
            self.report(Violation::Append(append.level));
        }
        self.appended.push(append.level);
        self.block(&append.body);
        self.appended.pop();
    }

    fn coiter(&mut self, coiter: &'a CoIter) {
        let plain = |verifier: &mut Self, index: &'a Index| {
            verifier.index(index);
            verifier.plain(index);
        };
        plain(self, &coiter.lower);
        plain(self, &coiter.upper);
        for cursor in &coiter.cursors {
            plain(self, &cursor.start);
            plain(self, &cursor.end);
            plain(self, &cursor.width);
            if cursor.step <= 0 {
                self.report(Violation::Step(cursor.step));
            }
        }
        self.bind(coiter.var);
        for cursor in &coiter.cursors {
            self.bind(cursor.position);
            self.index(&cursor.place);
            self.scope.pop();
        }
        if coiter.cases.is_empty() {
            self.report(Violation::NoCases);
        }
        for case in &coiter.cases {
            let mut last = None;
            for cursor in &case.cursors {
                match coiter.cursors.get(*cursor) {
                    Some(known) if last < Some(*cursor) => self.bind(known.position),
                    _ => return self.report(Violation::Case(*cursor)),
                }
                last = Some(*cursor);
            }
            self.block(&case.body);
            self.scope.truncate(self.scope.len() - case.cursors.len());
        }
        self.scope.pop();
    }

    fn call(&mut self, call: &'a Call) {
        call.integers.iter().for_each(|integer| self.index(integer));
        let Some(callee) = self.module.functions.get(call.function.0 as usize) else {
            return self.report(Violation::Function(call.function));
        };
        let Some(private) = &callee.private else {
            return self.report(Violation::CallsExported(callee.name.clone()));
        };
        let takes = (private.integers.len(), callee.args.len());
        for (takes, given) in [(takes.0, call.integers.len()), (takes.1, call.buffers.len())] {
            if takes != given {
                return self.report(Violation::Arguments(callee.name.clone(), takes, given));
            }
        }
        let mut passed = BTreeSet::new();
        for ((parameter, mode), buffer) in callee.args.iter().zip(&call.buffers) {
            let Some(element) = self.buffer(*buffer, *mode != Mode::In) else { continue };
            let name = || self.module.buffers[buffer.0 as usize].name.clone();
            let expected = self.module.buffers.get(parameter.0 as usize);
            if expected.is_some_and(|expected| expected.element != element) {
                self.report(Violation::Passes(name()));
            }
            if !passed.insert(*buffer) {
                self.report(Violation::ArgumentTwice(name()));
            }
        }
    }

    /// Makes a buffer a workspace, to be popped.
    fn workspace(&mut self, buffer: BufferId) {
        let taken = self.function.args.iter().any(|(argument, _)| *argument == buffer);
        match self.module.buffers.get(buffer.0 as usize) {
            None => self.report(Violation::Buffer(buffer)),
            Some(known) if taken || self.workspaces.contains(&buffer) => {
                self.report(Violation::Workspace(known.name.clone()));
            }
            Some(_) => {}
        }
        self.workspaces.push(buffer);
    }

    /// A stack has room for as many elements each time.
    fn on_the_stack(&mut self, inner: &Workspace) {
        let known = self.module.buffers.get(inner.buffer.0 as usize);
        if let Some(known) = known.filter(|known| known.space == Space::Stack)
            && (inner.size.as_const().is_none() || inner.instead.is_some())
        {
            self.report(Violation::StackSize(known.name.clone()));
        }
    }

    fn bind(&mut self, var: VarId) {
        if var.0 as usize >= self.function.vars.len() {
            self.report(Violation::Variable(var));
        } else if self.scope.contains(&var) {
            self.report(Violation::Rebound(self.name(var)));
        }
        self.scope.push(var);
    }

    fn range(&mut self, lower: &'a [Index], upper: &'a [Index], step: i64) {
        if lower.is_empty() || upper.is_empty() {
            self.report(Violation::NoBounds);
        }
        if step <= 0 {
            self.report(Violation::Step(step));
        }
        for bound in lower.iter().chain(upper) {
            self.index(bound);
            self.plain(bound);
        }
    }

    fn condition(&mut self, condition: &'a Condition) {
        match condition {
            Condition::Compare(_, left, right) => {
                for side in [left, right] {
                    self.index(side);
                    self.plain(side);
                }
            }
            Condition::And(list) | Condition::Or(list) => {
                list.iter().for_each(|condition| self.condition(condition));
            }
        }
    }

    fn plain(&mut self, index: &Index) {
        let mut selects = false;
        index.visit(&mut |index| selects |= matches!(index, Index::Select(..)));
        if selects {
            let text = named(self.module, self.function, Part::Index(index));
            self.report(Violation::Selects(text));
        }
    }

    fn index(&mut self, index: &'a Index) {
        index.visit(&mut |index| match index {
            Index::Symbol(symbol) if symbol.0 as usize >= self.module.symbols.len() => {
                self.report(Violation::Symbol(*symbol));
            }
            Index::Symbol(symbol) if !self.lists(*symbol) => {
                let name = self.module.symbols[symbol.0 as usize].clone();
                self.report(Violation::Unlisted(name));
            }
            Index::Var(var) if var.0 as usize >= self.function.vars.len() => {
                self.report(Violation::Variable(*var));
            }
            Index::Var(var) if !self.scope.contains(var) => {
                self.report(Violation::Unbound(self.name(*var)));
            }
            Index::FloorDiv(_, by) | Index::Mod(_, by) | Index::ExactDiv(_, by) if *by <= 0 => {
                self.report(Violation::Divisor(*by));
            }
            Index::Load(buffer, _) => self.loads_integer(*buffer),
            Index::Within(inner) => self.within(inner.buffer),
            Index::Select(condition, _, _) => {
                let mut sides = Vec::new();
                comparisons(condition, &mut sides);
                sides.into_iter().for_each(|side| self.plain(side));
            }
            _ => {}
        });
    }

    fn within(&mut self, buffer: BufferId) {
        self.buffer(buffer, false);
        if let Some(known) = self.module.buffers.get(buffer.0 as usize)
            && self.function.checked.is_none()
        {
            self.report(Violation::Unchecked(known.name.clone()));
        }
    }

    /// Whether a symbol is one of the function's, which an exported function has all of.
    fn lists(&self, symbol: SymbolId) -> bool {
        let private = self.function.private.as_ref();
        private.is_none_or(|private| private.symbols.contains(&symbol))
    }

    /// An integer expression has one value wherever its variables have theirs: what it loads is not written, unless it
    /// is evaluated at one moment only.
    fn loads_integer(&mut self, buffer: BufferId) {
        let Some(element) = self.buffer(buffer, false) else { return };
        let mode = self.function.args.iter().find(|(argument, _)| *argument == buffer);
        let read_only = mode.is_none_or(|(_, mode)| *mode == Mode::In);
        let constant = read_only && !self.workspaces.contains(&buffer);
        if !element.is_integer() || !(constant || self.moment) {
            let name = self.module.buffers[buffer.0 as usize].name.clone();
            self.report(Violation::LoadsNumber(name));
        }
    }

    fn buffer(&mut self, buffer: BufferId, write: bool) -> Option<Element> {
        let Some(known) = self.module.buffers.get(buffer.0 as usize) else {
            self.report(Violation::Buffer(buffer));
            return None;
        };
        match self.function.args.iter().find(|(argument, _)| *argument == buffer) {
            None if self.workspaces.contains(&buffer) => {}
            None => self.report(Violation::NotArgument(known.name.clone())),
            Some((_, Mode::In)) if write => {
                self.report(Violation::WritesInput(known.name.clone()));
            }
            Some(_) => {}
        }
        Some(known.element)
    }

    /// Whether every value that is computed in integers is one.
    fn fits(&self, value: &Value, element: Element) -> bool {
        let computed = self.module.computed_in(value, element);
        self.fits_in(value, computed)
    }

    fn fits_in(&self, value: &Value, computed: Element) -> bool {
        let own = |values: &[&Value]| {
            let own = self.module.own_type(values);
            values.iter().all(|value| self.fits_in(value, own))
        };
        let fits = !computed.is_integer()
            || match value {
                Value::Load(id, _) => {
                    let buffer = self.module.buffers.get(id.0 as usize);
                    buffer.is_none_or(|buffer| buffer.element.is_integer())
                }
                Value::Const(value) => value.is_infinite() || value.fract() == 0.0,
                Value::Div(..) => false,
                Value::Apply(function, _) => function.of_integers(),
                Value::Cast(element, _) => element.is_integer(),
                _ => true,
            };
        fits && match value {
            Value::Cast(_, inside) => own(&[inside]),
            Value::Compare(_, left, right) => own(&[left, right]),
            Value::Select(parts) => {
                own(&[&parts[0]]) && parts[1..].iter().all(|part| self.fits_in(part, computed))
            }
            _ => value.parts().into_iter().all(|part| self.fits_in(part, computed)),
        }
    }

    /// Whether a store of complex numbers needs no order of them, nor another type of elements.
    fn has_no_order(&self, store: &Store, element: Element) -> bool {
        match element.is_complex() {
            true => matches!(store.mode, StoreMode::Set | StoreMode::Add),
            false => self.module.is_complex(&store.value) != Some(true),
        }
    }

    fn value(&mut self, value: &'a Value) {
        match value {
            Value::Const(_) => {}
            Value::Load(buffer, index) => {
                self.buffer(*buffer, false);
                self.index(index);
            }
            Value::FromIndex(index) => self.index(index),
            Value::Sum(sum) => {
                self.range(&sum.lower, &sum.upper, sum.step);
                if let Some(unroll) = sum.unroll.filter(|unroll| *unroll <= 0) {
                    self.report(Violation::Unroll(unroll));
                }
                self.bind(sum.var);
                if let Some(condition) = &sum.condition {
                    self.condition(condition);
                }
                for (buffer, index) in &sum.fetch {
                    self.buffer(*buffer, false);
                    self.index(index);
                }
                self.value(&sum.body);
                self.scope.pop();
            }
            _ => {
                if let Value::Apply(function, of) = value
                    && of.len() != function.arity()
                {
                    self.report(Violation::Arity(*function, function.arity(), of.len()));
                }
                value.parts().into_iter().for_each(|part| self.value(part));
            }
        }
    }
}

/// Appends both sides of all comparisons in `condition`.
fn comparisons<'a>(condition: &'a Condition, sides: &mut Vec<&'a Index>) {
    match condition {
        Condition::Compare(_, left, right) => sides.extend([left, right]),
        Condition::And(list) | Condition::Or(list) => {
            list.iter().for_each(|condition| comparisons(condition, sides));
        }
    }
}

/// Whether a function calls itself, directly or through others.
fn calls_itself(module: &Module, function: usize) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![function]);
    while let Some(caller) = open.pop() {
        let body = module.functions.get(caller).map_or(&[][..], |caller| &caller.body);
        let mut called = BTreeSet::new();
        body.iter().for_each(|stmt| {
            stmt.visit(&mut |stmt| {
                if let Stmt::Call(call) = stmt {
                    called.insert(call.function.0 as usize);
                }
            });
        });
        if called.contains(&function) {
            return true;
        }
        open.extend(called.into_iter().filter(|callee| seen.insert(*callee)));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use expect_test::expect;

    /// The violations of a module with this function body, one a line.
    fn body(text: &str) -> String {
        errors(&parse(&format!("{HEAD}func f(out A, in B, inout s) {{ {text} }}")).unwrap())
    }

    const HEAD: &str = "module(N, M)\nbuffer A : f64[N]\nbuffer B : f64[N]\nbuffer s : i64[2]\n\
                        buffer C : f64[1]\nbuffer t : i64[1]\n";

    fn errors(module: &Module) -> String {
        let errors = verify(module).err().into_iter().flatten();
        errors.map(|error| format!("{error}\n")).collect()
    }

    #[test]
    fn calls() {
        let private = "private func g(symbol N, index i, in A, out C) { C[0] = A[i] + A[M] }\n\
                       private func h(inout C) { call h() on C }";
        let of = |call: &str| {
            let text = format!("{HEAD}func f(out A, in B, inout s) {{ {call} }}\n{private}");
            errors(&parse(&text).unwrap())
        };
        let calls =
            ["call g() on A, B", "call f() on A, B, s", "with C of 1 { call g(i) on A, A }"];
        expect![[r#"
            function `f`: `call g() on A, B`: function `g` takes 1, not 0
            function `g`: `C[0] = A[i] + A[M]`: symbol `M` is not listed by its function
            function `h`: function `h` calls itself
            function `f`: function `f` calls itself
            function `f`: `call f() on A, B, s`: function `f` is called, but not private
            function `g`: `C[0] = A[i] + A[M]`: symbol `M` is not listed by its function
            function `h`: function `h` calls itself
            function `f`: `call g(1) on A, A`: buffer `A` is taken twice
            function `g`: `C[0] = A[i] + A[M]`: symbol `M` is not listed by its function
            function `h`: function `h` calls itself
        "#]]
        .assert_eq(&calls.map(|call| of(&call.replace("(i)", "(1)"))).concat());
        let right = "with C of 1 { call g(M) on B, C }";
        assert!(!of(right).contains("in `call g"), "{}", of(right));
    }

    #[test]
    fn scans() {
        let of = |body: &str| {
            let head = "buffer m : u8[N]\nbuffer w : u8[1]\nfunc f(out A, in B, inout s, inout m)";
            let private = "private func g(inout m) { }";
            errors(&parse(&format!("{HEAD}{head} {{ {body} }}\n{private}")).unwrap())
        };
        assert_eq!(
            of("scan k in m[N .. N + M] { A[k] = 1.0 with w of 2 { scan l in w[k .. 2] { } } }"),
            ""
        );
        let all = [
            "scan k in B[0 .. N] { }",
            "scan k in s[0 .. 2] { }",
            "scan k in w[0 .. 1] { }",
            "scan k in m[select(N < M, 0, 1) .. N] { }",
            "scan k in m[0 .. N] { scan k_1 in m[0 .. k] { } }",
            "scan k in m[0 .. N] { m[k] = 1 }",
            "scan k in m[0 .. N] { A[0] = m[N - 1] }",
            "scan k in m[0 .. N] { $0 : u8 = load m[0] }",
            "scan k in m[0 .. N] { call g() on m }",
        ];
        expect![[r#"
            function `f`: `scan k in B[0 .. N]`: input `B` is written to
            function `f`: `scan k in B[0 .. N]`: buffer `B` is scanned, but its elements are not bytes
            function `f`: `scan k in s[0 .. 2]`: buffer `s` is scanned, but its elements are not bytes
            function `f`: `scan k in w[0 .. 1]`: buffer `w` is not an argument
            function `f`: `scan k in m[select(N < M, 0, 1) .. N]`: `select(N < M, 0, 1)` selects, in a bound or condition
            function `f`: `scan k in m[0 .. N]`: buffer `m` is used inside of a statement that scans it
            function `f`: `scan k in m[0 .. N]`: buffer `m` is used inside of a statement that scans it
            function `f`: `scan k in m[0 .. N]`: buffer `m` is used inside of a statement that scans it
            function `f`: `scan k in m[0 .. N]`: buffer `m` is used inside of a statement that scans it
            function `f`: `scan k in m[0 .. N]`: buffer `m` is used inside of a statement that scans it
        "#]].assert_eq(&all.map(of).concat());
    }

    #[test]
    fn each_violation_in_text() {
        let all = [
            "A[0] = C[0]",
            "C[0] = 1.0",
            "B[0] = 1.0",
            "A[0] += 1.0",
            "A[0] = 1.0 s[0] = 1.5",
            "for i = 0 to N step 0 { }",
            "A[0] = sum(l = 0 to N step -1) 1.0",
            "A[0] = sum(l = 0 to N unroll 0) 1.0",
            "A[N / 0] = 1.0",
            "for i = select(N < M, 0, 1) to N { }",
            "parallel i = 0 to N { parallel j = i to i + 2 { unroll k = j to i { } } }",
            "partition a, b = 0 to N step 0 by b * a { }",
            "partition a, b = 0 to N step 2 by select(b < 3, 0, b) { A[b] = 0.0 }",
            "with A of N { }",
            "with C of N { with C of N + M { C[0] = 1.0 } }",
            "with C of N { } A[0] = C[0]",
            "with t of 1 { A[t[0]] = 1.0 }",
            "A[0] = 0.0 let v = A[0] { A[v] += 1.0 }",
            "parallel(cores) i = 0 to N { parallel(cores) j = i to i + 1 { A[j] = 0.0 } }",
        ]
        .map(body)
        .concat();
        expect![[r#"
            function `f`: `A[0] = C[0]`: buffer `C` is not an argument
            function `f`: `C[0] = 1.0`: buffer `C` is not an argument
            function `f`: `B[0] = 1.0`: input `B` is written to
            function `f`: output `A` is read or added to but never set
            function `f`: `s[0] = 1.5`: a value that is not an integer is stored to integer buffer `s`
            function `f`: `for i = 0 to N step 0`: the step 0 is not positive
            function `f`: `A[0] = sum(l = 0 to N step -1) 1.0`: the step -1 is not positive
            function `f`: `A[0] = sum(l = 0 to N unroll 0) 1.0`: unrolling by 0 is not positive
            function `f`: `A[N / 0] = 1.0`: the divisor 0 is not positive
            function `f`: `for i = select(N < M, 0, 1) to N`: `select(N < M, 0, 1)` selects, in a bound or condition
            function `f`: `unroll k = j to i`: the number of iterations of an unrolled loop is not a small constant
            function `f`: `partition a, b = 0 to N step 0 by b * a`: the step 0 is not positive
            function `f`: `partition a, b = 0 to N step 0 by b * a`: variable `a` is not bound here
            function `f`: `partition a, b = 0 to N step 2 by select(b < 3, 0, b)`: `select(b < 3, 0, b)` selects, in a bound or condition
            function `f`: `with A of N`: buffer `A` cannot be a workspace here: it is in use
            function `f`: `with C of N + M`: buffer `C` cannot be a workspace here: it is in use
            function `f`: `A[0] = C[0]`: buffer `C` is not an argument
            function `f`: `A[t[0]] = 1.0`: buffer `t` is loaded from in an integer expression, but is not one of integers that are only read
            function `f`: `let v = A[0]`: buffer `A` is not one of integers
            function `f`: `parallel(cores) j = i to i + 1`: a parallel loop on cores stands inside of another one
        "#]].assert_eq(&all);
    }

    #[test]
    fn variables() {
        let mut module = parse(&format!(
            "{HEAD}func f(out A) {{ for i = 0 to N {{ for j = 0 to N {{ }} }} A[0] = 1.0 }}"
        ))
        .unwrap();
        let good = module.clone();
        assert_eq!(verify(&module), Ok(()));
        let i = VarId(0);
        let mut all = String::new();
        // Used outside, bound inside itself, not in the table.
        module.functions[0].body.push(Stmt::set(BufferId(0), i.into(), 1.0.into()));
        all += &errors(&module);
        module = good.clone();
        let Stmt::For(outer) = &mut module.functions[0].body[0] else { panic!() };
        let Stmt::For(inner) = &mut outer.body[0] else { panic!() };
        inner.var = i;
        all += &errors(&module);
        inner_var(&mut module, VarId(7));
        all += &errors(&module);
        module = good.clone();
        let Stmt::For(outer) = &mut module.functions[0].body[0] else { panic!() };
        outer.upper.clear();
        all += &errors(&module);
        // A bound may not mention its own variable.
        module = good;
        let Stmt::For(outer) = &mut module.functions[0].body[0] else { panic!() };
        outer.upper = vec![i.into()];
        all += &errors(&module);
        expect![[r#"
            function `f`: `A[i] = 1.0`: variable `i` is not bound here
            function `f`: `for i = 0 to N`: variable `i` is bound again inside its own range
            function `f`: `for v7 = 0 to N`: variable 7 does not exist
            function `f`: `for i = 0 to min()`: a range has no bounds
            function `f`: `for i_1 = 0 to i`: variable `i` is not bound here
        "#]]
        .assert_eq(&all);
    }

    fn inner_var(module: &mut Module, var: VarId) {
        let Stmt::For(outer) = &mut module.functions[0].body[0] else { panic!() };
        let Stmt::For(inner) = &mut outer.body[0] else { panic!() };
        inner.var = var;
    }

    #[test]
    fn modules() {
        let symbols = ["N", "N", "or", ""].map(String::from).to_vec();
        let mut module = Module { symbols, ..Module::default() };
        let a = module.buffer("A.1", Element::F64, VarId(0).into());
        module.buffer("A.1", Element::F64, Index::Symbol(SymbolId(4)));
        module.buffer("2", Element::F64, Index::FloorDiv(Box::new(1.into()), 0));
        module.functions.push(Function::new("f.x", vec![(a, Mode::In), (a, Mode::Out)]));
        module.functions.push(Function::new("f.x", vec![(BufferId(9), Mode::In)]));
        let body = &mut module.functions[0].body;
        body.push(Stmt::set(BufferId(8), SymbolId(5).into(), Value::load(BufferId(7), 0.into())));
        expect![[r#"
            two symbols are named `N`
            `or` is not a valid name
            `` is not a valid name
            two buffers are named `A.1`
            `2` is not a valid name
            `f.x` is not a valid name
            two functions are named `f.x`
            `f.x` is not a valid name
            the size of buffer `A.1` mentions a variable
            symbol 4 does not exist
            the divisor 0 is not positive
            function `f.x`: buffer `A.1` is taken twice
            function `f.x`: `b8[p5] = b7[0]`: buffer 8 does not exist
            function `f.x`: `b8[p5] = b7[0]`: symbol 5 does not exist
            function `f.x`: `b8[p5] = b7[0]`: buffer 7 does not exist
            function `f.x`: buffer 9 does not exist
        "#]]
        .assert_eq(&errors(&module));
    }
}
