//! Cuts a computation into functions, between which the host allocates memory.
//!
//! The rules of a block are one function as long as no result with `:F` has to be counted. If one has, the host can
//! allocate its arrays only when it knows how long they are, so one function counts the result and ends, and the next
//! one fills it. A function also ends behind a result that a later rule walks, because a tensor is walked only where it
//! is read and never while it is written, or in a copy that the host makes. It ends behind integers that say where a
//! later rule reads or stores, too, as the index of a load is never read from what the same function writes.
//!
//! Before -> after, for `t(i) := ..`, `C(i, j) := t(i) * A(i, j) + B(i, j)`, `u(i) := ..` and `y(i) := C(i, j) * x(j)`
//! where `C` has a `:F`: `count_C` sets `t` and counts `C`, `fill_C` fills `C` and sets `u`, and `kernel` sets `y`.
//!
//! A result that is another tensor in another format has no statements: the host makes it before it calls the function
//! that is built when its rule comes, of which no earlier rule writes that tensor.

use std::collections::{BTreeMap, BTreeSet};

use dastac_iterate::Structure;
use dastac_loops::{BufferId, Function, Index, Mode, Module, Stmt, Value};
use dastac_stur::infer::{Inferred, InferredRule};
use dastac_stur::program::{Product, TensorId};

use crate::dynamic::{Assembled, Stored};
use crate::elements::buffer;

/// The arrays of dynamic tensors that functions may take.
#[derive(Clone, Copy)]
pub(crate) struct Arrays<'a> {
    /// The arrays of each tensor in each format in which it is read or made.
    pub stored: &'a [Stored],
    /// Results in formats.
    pub results: &'a [Assembled],
}

/// A function of the computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Whether its rules are those of preprocess blocks.
    pub preprocess: bool,
    /// The result that this function counts at its end. The next function takes the arrays of that result.
    pub counts: Option<TensorId>,
    /// Whether it counts too many: if there is memory for so many, the function that counts them is left out.
    pub bounds: bool,
    /// The results that the host makes before it calls the function, in this order, since each is another tensor in
    /// another format: [`Structure::Converted`].
    pub converts: Vec<TensorId>,
}

/// How a result in a format is made.
pub(crate) struct Making {
    /// Whether its levels are made, not only its values.
    pub makes_levels: bool,
    /// What bounds the number of its positions; empty where nothing does.
    pub bound: Vec<Stmt>,
    /// What counts its positions; empty where nothing does.
    pub count: Vec<Stmt>,
    /// What fills it.
    pub fill: Vec<Stmt>,
    /// The tensor that it is in another format, if no loops make it.
    pub converted: Option<TensorId>,
}

/// The functions of a block while they are built.
pub(crate) struct Block<'a> {
    pub inferred: &'a Inferred,
    /// The name of the last function.
    pub name: &'static str,
    pub preprocess: bool,
    /// The functions that are complete.
    done: Vec<Part<'a>>,
    open: Part<'a>,
}

/// A function and the rules that it runs.
#[derive(Default)]
struct Part<'a> {
    name: String,
    counts: Option<TensorId>,
    bounds: bool,
    converts: Vec<TensorId>,
    body: Vec<Stmt>,
    rules: Vec<&'a InferredRule>,
    /// The results in formats that it fills, each with whether it fills their levels too or only their values.
    fills: BTreeMap<TensorId, bool>,
}

impl<'a> Block<'a> {
    pub(crate) fn new(inferred: &'a Inferred, name: &'static str, preprocess: bool) -> Block<'a> {
        let (done, open) = (Vec::new(), Part::default());
        Block { inferred, name, preprocess, done, open }
    }

    /// Ends the current function; later statements belong to the next one.
    fn end(&mut self, what: &str, tensor: TensorId, counts: Option<TensorId>) {
        let name = self.inferred.program.tensor(tensor).name.replace('.', "_");
        let mut part = std::mem::take(&mut self.open);
        part.name = format!("{what}_{name}");
        part.counts = counts;
        while self.done.iter().any(|other| other.name == part.name) {
            part.name.push('_'); // of `a.b` and `a_b`
        }
        self.done.push(part);
    }

    /// Adds the statements of a rule that reads copies of some tensors.
    pub(crate) fn rule(&mut self, rule: &'a InferredRule, copies: &[TensorId], body: Vec<Stmt>) {
        let products = &self.inferred.program.rules[rule.rule.0].products;
        let mut reads = products.iter().flat_map(|product| &product.accesses);
        let walked = reads.find_map(|access| {
            let levels = self.open.fills.get(&access.tensor)?;
            (*levels || copies.contains(&access.tensor)).then_some(access.tensor)
        });
        if let Some(walked) = walked {
            self.end("fill", walked, None);
        }
        let computed = |tensor: &TensorId| {
            let is_integer = self.inferred.program.tensor(*tensor).element.is_integer();
            is_integer && self.open.rules.iter().any(|rule| rule.head == *tensor)
        };
        if let Some(place) = products.iter().flat_map(Product::places).find(computed) {
            self.end("places", place, None);
        }
        self.open.rules.push(rule);
        self.open.body.extend(body);
    }

    /// Adds the statements of a rule whose head has a format: those that count the result, if there are any, and those
    /// that fill it; or has the host make it before the current function.
    pub(crate) fn result(&mut self, rule: &'a InferredRule, copies: &[TensorId], making: Making) {
        let Making { makes_levels, bound, count, fill, converted } = making;
        if let Some(source) = converted {
            if self.open.fills.contains_key(&source) {
                self.end("fill", source, None);
            }
            self.open.converts.push(rule.head);
            return;
        }
        if !bound.is_empty() {
            self.rule(rule, copies, bound);
            self.open.bounds = true;
            self.end("bound", rule.head, Some(rule.head));
        }
        if !count.is_empty() {
            self.rule(rule, copies, count);
            self.end("count", rule.head, Some(rule.head));
        }
        self.rule(rule, copies, fill);
        self.open.fills.insert(rule.head, makes_levels);
    }

    /// Adds the functions to a module. Each begins with the variables of `function`.
    pub(crate) fn functions(
        self,
        module: &mut Module,
        function: &Function,
        arrays: Arrays<'_>,
        touched_only: bool,
    ) -> Vec<Phase> {
        let Block { inferred, name, preprocess, mut done, open } = self;
        done.push(Part { name: name.into(), ..open });
        let touched_only = touched_only || done.len() > 1;
        let mut phases = Vec::new();
        for part in done {
            let args = part.arguments(inferred, arrays, touched_only);
            let Part { name, counts, bounds, converts, body, .. } = part;
            phases.push(Phase { name: name.clone(), preprocess, counts, bounds, converts });
            module.functions.push(Function { name, args, body, ..function.clone() });
        }
        phases
    }
}

impl Part<'_> {
    /// The buffers that a function takes: those of the tensors in its rules, or those of all tensors if it is the only
    /// function. For a dynamic tensor these are the arrays of each format in which it is read or made, with its values
    /// last, and then the array that counts it.
    fn arguments(
        &self,
        inferred: &Inferred,
        arrays: Arrays<'_>,
        touched_only: bool,
    ) -> Vec<(BufferId, Mode)> {
        let (read, written) = accessed(&self.body);
        let used = |id: &BufferId| read.contains(id) || written.contains(id);
        let writes = |id: TensorId| self.rules.iter().any(|rule| rule.head == id);
        let reads = |id: TensorId| {
            let rules = self.rules.iter().map(|rule| &inferred.program.rules[rule.rule.0]);
            let mut products = rules.flat_map(|rule| &rule.products);
            products.any(|product| product.accesses.iter().any(|access| access.tensor == id))
        };
        let mut args: Vec<(BufferId, Mode)> = Vec::new();
        let mut add = |id: BufferId, mode: Mode| {
            if !args.iter().any(|(known, _)| *known == id) {
                args.push((id, mode));
            }
        };
        for id in inferred.program.tensor_ids() {
            if inferred.program.tensor(id).format.is_none() {
                if !touched_only || writes(id) || reads(id) {
                    add(buffer(id), if writes(id) { Mode::Out } else { Mode::In });
                }
                continue;
            }
            let result = arrays.results.iter().find(|one| one.tensor == id);
            // Another tensor's function makes the levels that a result shares with it.
            let shares = matches!(result.map(|one| &one.structure), Some(Structure::Copied { .. }));
            if shares && !writes(id) && !reads(id) {
                continue;
            }
            for operand in
                arrays.stored.iter().filter(|one| one.tensor == id).map(|one| &one.operand)
            {
                let own = |array: BufferId| match result.map(|one| &one.structure) {
                    Some(Structure::Copied { .. }) => array == operand.values,
                    result => result.is_some(),
                };
                let fills = self.fills.contains_key(&id) && operand.values == buffer(id);
                for array in operand.buffers() {
                    match fills && own(array) {
                        true => add(array, Mode::Out),
                        false if operand.buffers().iter().any(used) => add(array, Mode::In),
                        false => {}
                    }
                }
            }
            if let Some(Structure::Counted { starts, ends }) = result.map(|one| &one.structure) {
                for array in starts.iter().chain(ends).filter(|array| used(array)) {
                    add(*array, if written.contains(array) { Mode::Out } else { Mode::In });
                }
            }
        }
        args
    }
}

/// The buffers that statements read, and the buffers that they store to. What they add to they store to.
pub(crate) fn accessed(body: &[Stmt]) -> (BTreeSet<BufferId>, BTreeSet<BufferId>) {
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    for stmt in body {
        stmt.visit_values(&mut |value| {
            if let Value::Load(buffer, _) = value {
                read.insert(*buffer);
            }
        });
        stmt.visit_indices(&mut |index| {
            if let Index::Load(buffer, _) = index {
                read.insert(*buffer);
            }
        });
        stmt.visit(&mut |stmt| match stmt {
            Stmt::Store(store) => {
                written.insert(store.buffer);
            }
            Stmt::Let(inner) => {
                read.insert(inner.buffer);
            }
            Stmt::Scan(inner) => {
                read.insert(inner.buffer);
                written.insert(inner.buffer);
            }
            Stmt::Workspace(inner) => read.extend(inner.instead.iter().map(|(buffer, _)| *buffer)),
            _ => {}
        });
    }
    (read, written)
}
