//! Functions cut into launches: programs that cores run, one after the other.
//!
//! Before -> after: `func f(out A, in B) { parallel i = 0 to N { A[i] = B[i] } }` -> a step that launches
//! `func f__0(inout A, in B) { for i = max(0, part.begin) to min(N, part.end) { A[i] = B[i] } }` on all threads of all
//! cores, each with its own `part.begin` and `part.end`. Statements that are not parallel run on one thread.

use std::collections::BTreeSet;

use dastac_loops::rename::Uses;
use dastac_loops::{
    BufferId, For, Function, FunctionId, Index, Mark, Mode, Module, PartitionedRange, Stmt,
    SymbolId, Workspace,
};
use dastac_pim::plan::{Launch, Planned, Step};

use super::outline;

/// The programs of a module, and what a host does with them.
pub struct Launches {
    /// The programs, as exported functions with two symbols more: where a thread's iterations begin and end.
    pub programs: Module,
    /// What a host does for each exported function.
    pub functions: Vec<Planned>,
}

/// Cuts the exported functions of a module.
pub fn of(module: &Module, prefix: &str) -> Launches {
    let mut programs = module.clone();
    programs.functions.retain(|function| function.private.is_some());
    let [begin, end] = ["part.begin", "part.end"].map(|name| fresh_symbol(&mut programs, name));
    // Functions are called by their place: private ones keep their order.
    let places: Vec<usize> = module
        .functions
        .iter()
        .enumerate()
        .filter(|(_, function)| function.private.is_some())
        .map(|(at, _)| at)
        .collect();
    renumber(&mut programs.functions, &places);
    let mut functions = Vec::new();
    for function in module.functions.iter().filter(|function| function.private.is_none()) {
        let mut cutter =
            Cutter { module, function, places: &places, begin, end, made: Vec::new(), prefix };
        let steps = cutter.block(&function.body);
        programs.functions.append(&mut cutter.made);
        let (name, args) = (function.name.clone(), function.args.clone());
        functions.push(Planned { name, args, steps });
    }
    Launches { programs, functions }
}

/// A symbol of a name that none has.
fn fresh_symbol(module: &mut Module, name: &str) -> SymbolId {
    let names = (0..).map(|number: usize| match number {
        0 => name.to_owned(),
        number => format!("{name}{number}"),
    });
    let free = names.into_iter().find(|name| module.find_symbol(name).is_none());
    module.symbol(&free.unwrap_or_default())
}

/// Has calls name functions by their new places.
fn renumber(functions: &mut [Function], places: &[usize]) {
    functions.iter_mut().for_each(|function| renumber_calls(&mut function.body, places));
}

fn renumber_calls(body: &mut [Stmt], places: &[usize]) {
    for stmt in body {
        if let Stmt::Call(call) = stmt {
            let place = places.iter().position(|place| *place == call.function.0 as usize);
            call.function = FunctionId(place.unwrap_or(0) as u32);
        }
        stmt.bodies_mut().into_iter().for_each(|body| renumber_calls(body, places));
    }
}

/// Cuts one function.
struct Cutter<'a> {
    module: &'a Module,
    function: &'a Function,
    places: &'a [usize],
    begin: SymbolId,
    end: SymbolId,
    made: Vec<Function>,
    prefix: &'a str,
}

impl Cutter<'_> {
    fn block(&mut self, body: &[Stmt]) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut serial = Vec::new();
        for stmt in body {
            let Some(step) = self.step(stmt) else {
                serial.push(stmt.clone());
                continue;
            };
            steps.extend(self.launch(std::mem::take(&mut serial)));
            steps.push(step);
        }
        steps.extend(self.launch(serial));
        steps
    }

    /// The step of a statement that is not for one thread alone.
    fn step(&mut self, stmt: &Stmt) -> Option<Step> {
        match stmt {
            Stmt::For(inner) if inner.mark == Mark::THREADS => {
                Some(self.shared(stmt, vec![self.part(inner)]))
            }
            Stmt::Partitioned(inner) => Some(self.shared(stmt, self.range(inner))),
            Stmt::If(inner) if has_parallel(&inner.then) || has_parallel(&inner.otherwise) => {
                Some(Step::If {
                    condition: inner.condition.clone(),
                    then: self.block(&inner.then),
                    otherwise: self.block(&inner.otherwise),
                })
            }
            Stmt::Workspace(Workspace { buffer, size, instead: None, body, .. })
                if has_parallel(body) =>
            {
                let (buffer, size) = (*buffer, size.clone());
                Some(Step::Workspace { buffer, size, steps: self.block(body) })
            }
            _ => None,
        }
    }

    /// The iterations of a loop that are a thread's.
    fn part(&self, inner: &For) -> Stmt {
        let mut part = For { mark: Mark::Sequential, ..inner.clone() };
        part.lower.push(Index::Symbol(self.begin));
        part.upper.push(Index::Symbol(self.end));
        Stmt::For(part)
    }

    /// The part of a range that is a thread's.
    fn range(&self, inner: &PartitionedRange) -> Vec<Stmt> {
        let (begin, end) = (Index::Symbol(self.begin), Index::Symbol(self.end));
        let body = inner.body.iter();
        body.map(|stmt| stmt.substitute(inner.begin, &begin).substitute(inner.end, &end)).collect()
    }

    fn shared(&mut self, stmt: &Stmt, body: Vec<Stmt>) -> Step {
        let outline = outline::of(std::slice::from_ref(stmt));
        Step::Launch(Launch { shared: true, outline, ..self.program(body) })
    }

    /// A launch of statements for one thread, if there are any.
    fn launch(&mut self, body: Vec<Stmt>) -> Option<Step> {
        if body.is_empty() {
            return None;
        }
        let outline = outline::of(&body);
        Some(Step::Launch(Launch { outline, ..self.program(body) }))
    }

    fn program(&mut self, mut body: Vec<Stmt>) -> Launch {
        let name = format!("{}__{}", self.function.name, self.made.len());
        let uses = Uses::of(&body, &self.module.functions);
        let written = self.written(&body);
        let mode = |id: &BufferId| if written.contains(id) { Mode::InOut } else { Mode::In };
        let args: Vec<(BufferId, Mode)> = uses.buffers.iter().map(|id| (*id, mode(id))).collect();
        renumber_calls(&mut body, self.places);
        self.made.push(Function {
            name: name.clone(),
            args: args.clone(),
            checked: None,
            body,
            ..self.function.clone()
        });
        let entry = format!("{}{name}", self.prefix);
        Launch { entry, args, shared: false, outline: Vec::new() }
    }

    /// The buffers that statements write.
    fn written(&self, body: &[Stmt]) -> BTreeSet<BufferId> {
        let mut found = BTreeSet::new();
        for stmt in body {
            stmt.visit(&mut |stmt| match stmt {
                Stmt::Store(store) => drop(found.insert(store.buffer)),
                Stmt::Scan(scan) => drop(found.insert(scan.buffer)),
                Stmt::Partial(partial) => drop(found.insert(partial.buffer)),
                Stmt::Call(call) => {
                    let callee = self.module.functions.get(call.function.0 as usize);
                    let args = callee.iter().flat_map(|callee| &callee.args).zip(&call.buffers);
                    found.extend(args.filter(|(arg, _)| arg.1 != Mode::In).map(|(_, id)| *id));
                }
                _ => {}
            });
        }
        found
    }
}

fn has_parallel(body: &[Stmt]) -> bool {
    let mut found = false;
    body.iter().for_each(|stmt| {
        stmt.visit(&mut |stmt| {
            found |= match stmt {
                Stmt::For(inner) => inner.mark == Mark::THREADS,
                Stmt::Partitioned(_) => true,
                _ => false,
            }
        });
    });
    found
}
