//! Builds the computation: a function `kernel` over packed tensors that runs one rule after the other. If the program
//! has preprocess blocks, a function `prepare` runs their rules before. Results with `:F` split each of the two into
//! several functions ([`crate::phases`]).
//!
//! Each function takes the tensors that it reads and writes, in order. If there is only one function, it takes all of
//! them.
//!
//! A statement may have *computed* iterators, which are defined by an equation, and guards. Only its other iterators
//! become loops. At each point of these loops the computed iterators get their values, and the statement runs if they
//! are in its domain and all guards hold. So `s` is not a loop in `for i for j { if 0 <= N*i + j < P { y[i] += B[N*i +
//! j] * x[j] } }`.
//!
//! Each statement adds to its head. There is one exception: if the statements of a rule write disjoint parts that cover
//! the whole head, and every reduction is a sum ([`dastac_loops::reduction`]), then each element is set once, and the
//! head is not cleared before.

use std::collections::BTreeMap;

use dastac_iterate::{Assembly, Kind, Structure, Walking};
use dastac_layout::{Layout, affine_to_index, convert, explicit, expr_to_index, partition};
use dastac_loops::{
    Condition, Element, Function, Index, Module, Stmt, Store, StoreMode, Value, VarId,
};
use dastac_poly::{Map, Set, ast};
use dastac_stur::infer::{Inferred, InferredRule, Statement};
use dastac_stur::program::TensorId;
use dastac_stur::schedule::Schedule;
use dastac_stur::sets::{Affine, Sets};

use crate::SchedError;
use crate::arrange::{arranged, block_name, hint, in_lanes, tiles};
use crate::cells::in_cells;
use crate::dynamic::{Assembled, Dynamic, Gathered, Stored, Walked, declare};
use crate::elements::{Elements, buffer, comparison, reached, resolved, sort, with_lets};
use crate::nest::{Scan, Scope, module_name, symbol};
use crate::phases::{Arrays, Block, Making, Phase};
use crate::scalar::{self, Leaves};

/// A domain that would be split into more parts than this is scanned as a whole.
const MAX_PARTS: usize = 8;

/// The computation as loops.
#[derive(Clone, Debug)]
pub struct Computation {
    /// The function `kernel`, and after it `prepare` if there are preprocess rules. Functions that either of them needs
    /// to be called first come before it. Buffer `k` is the packed buffer of tensor `k`.
    pub module: Module,
    /// The functions, in the order of the module.
    pub phases: Vec<Phase>,
    /// isl's AST of every statement, with its rule's head.
    pub asts: Vec<(TensorId, ast::Node)>,
    /// The arrays of dynamic tensors: those of inputs in the formats of their `:F`, in order, then those of results,
    /// then those of copies in other formats.
    pub stored: Vec<Stored>,
    /// The dynamic tensors that rules compute.
    pub results: Vec<Assembled>,
    /// The rules with dynamic tensors, those of preprocess blocks first.
    pub walked: Vec<Walked>,
}

/// A module with the symbols of the program and one packed buffer for each tensor, in order, followed by the arrays of
/// dynamic tensors.
fn module(
    inferred: &Inferred,
    layouts: &[Layout],
    indices: Element,
) -> Result<(Module, Vec<Stored>), SchedError> {
    let mut module = Module::default();
    let count = inferred.program.tensors.len();
    if u32::try_from(count).is_err() {
        return Err(SchedError::Tensors(count));
    }
    for (name, _) in &inferred.program.symbols {
        module.symbol(&module_name(name));
    }
    for (tensor, layout) in inferred.program.tensors.iter().zip(layouts) {
        let size = layout.size_index(&|name| symbol(&module, &inferred.sets, name))?;
        module.buffer(module_name(&tensor.name), tensor.element, size);
    }
    let stored = declare(inferred, &mut module, indices)?;
    Ok((module, stored))
}

/// How a computation reads dynamic tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The type of their positions and coordinates.
    pub indices: Element,
    /// How a subscript with several iterators walks the sparse level below it.
    pub walking: Walking,
    /// Whether results may be made in memory of which only a bound is known.
    pub reserves: bool,
}

/// Builds the computation, without knowing its sizes. `layouts` is indexed by [`TensorId`].
pub fn kernel(
    inferred: &Inferred,
    layouts: &[Layout],
    reading: Reading,
) -> Result<Computation, SchedError> {
    kernel_with(inferred, layouts, reading, &|_| None)
}

/// Builds the computation, with the kinds of workspaces that a function chooses where schedules do not say them.
pub fn kernel_with(
    inferred: &Inferred,
    layouts: &[Layout],
    reading: Reading,
    choice: &dyn Fn(&Gathered<'_>) -> Option<Kind>,
) -> Result<Computation, SchedError> {
    let Reading { indices, walking, reserves } = reading;
    let (module, stored) = module(inferred, layouts, indices)?;
    let mut builder = Builder {
        inferred,
        layouts,
        dynamic: Dynamic { inferred, layouts, indices, walking, reserves, choice },
        module,
        stored,
        results: Vec::new(),
        walked: Vec::new(),
        function: Function::new(KERNEL, Vec::new()),
        asts: Vec::new(),
    };
    let in_block = |rule: &InferredRule| inferred.program.rules[rule.rule.0].preprocess;
    let has_block = inferred.rules.iter().any(in_block);
    let mut phases = Vec::new();
    let mut prepared = 0;
    for (name, preprocess) in [(PREPARE, true), (KERNEL, false)] {
        if preprocess && !has_block {
            continue;
        }
        builder.function = Function::new(name, Vec::new());
        let mut block = Block::new(inferred, name, preprocess);
        for rule in inferred.rules.iter().filter(|rule| in_block(rule) == preprocess) {
            builder
                .rule_of(&mut block, rule)
                .map_err(|e| e.blamed("the loops", inferred, rule.head))?;
        }
        let Builder { module, function, stored, results, .. } = &mut builder;
        prepared = phases.len();
        phases.extend(block.functions(module, function, Arrays { stored, results }, has_block));
    }
    // `prepare` was built first, because `kernel` reads what it computes.
    phases.rotate_left(prepared);
    builder.module.functions.rotate_left(prepared);
    let Builder { module, asts, stored, results, walked, .. } = builder;
    Ok(Computation { module, phases, asts, stored, results, walked })
}

/// The name of the computation's function.
pub const KERNEL: &str = "kernel";
/// The name of the function with the rules of preprocess blocks.
pub const PREPARE: &str = "prepare";

/// What the loops of a statement scan.
#[derive(Clone)]
struct Loops {
    iterators: Vec<String>,
    domain: Set,
    ast: ast::Node,
}

struct Builder<'a> {
    inferred: &'a Inferred,
    layouts: &'a [Layout],
    dynamic: Dynamic<'a>,
    module: Module,
    stored: Vec<Stored>,
    results: Vec<Assembled>,
    walked: Vec<Walked>,
    /// A function that only holds the variables of all functions of a block.
    function: Function,
    asts: Vec<(TensorId, ast::Node)>,
}

impl Builder<'_> {
    /// Adds the statements of a rule to its block, with hints for its loops.
    fn rule_of<'r>(
        &mut self,
        block: &mut Block<'r>,
        rule: &'r InferredRule,
    ) -> Result<(), SchedError> {
        let first = self.function.vars.len();
        self.statements_of(block, rule)?;
        let definition = &self.inferred.program.rules[rule.rule.0];
        if !definition.schedule.is_empty() {
            hint(&self.inferred.sets, definition, &mut self.function, first);
        }
        Ok(())
    }

    fn statements_of<'r>(
        &mut self,
        block: &mut Block<'r>,
        rule: &'r InferredRule,
    ) -> Result<(), SchedError> {
        let program = &self.inferred.program;
        if !program.is_over_levels(rule.rule) {
            let body = self.rule(rule)?;
            block.rule(rule, &[], body);
            return Ok(());
        }
        let mut part = Function { body: Vec::new(), ..self.function.clone() };
        let (module, stored) = (&mut self.module, &mut self.stored);
        let Some(storage) = &program.tensor(rule.head).format else {
            let (set, walked) = self.dynamic.rule(module, stored, rule, &mut part)?;
            (self.function.vars, self.function.hints) = (part.vars, part.hints);
            let mut statements = if set { Vec::new() } else { self.clear(rule.head, None)? };
            statements.extend(part.body);
            let mut copied: Vec<TensorId> = walked.iter().flat_map(Walked::copied).collect();
            copied.sort_unstable();
            copied.dedup();
            block.rule(rule, &copied, statements);
            self.walked.extend(walked);
            return Ok(());
        };
        let function = (&mut part, &storage.format);
        let (assembly, walked) = self.dynamic.result(module, stored, rule, function)?;
        self.function.vars = part.vars;
        let Assembly { structure, bound, count, fill, .. } = assembly;
        let makes_levels = matches!(structure, Structure::Counted { .. });
        let converted = match &structure {
            Structure::Converted { from, .. } => Some(TensorId(from.0 as usize)),
            _ => None,
        };
        self.results.push(Assembled { tensor: rule.head, structure });
        let making = Making { makes_levels, bound, count, fill, converted };
        block.result(rule, &walked.copied(), making);
        self.walked.push(walked);
        Ok(())
    }

    /// The loops of a rule. The loop that the schedule puts in vector lanes stays outside of the sums if their results
    /// can be computed lane by lane there; otherwise it becomes the innermost loop.
    fn rule(&mut self, rule: &InferredRule) -> Result<Vec<Stmt>, SchedError> {
        let definition = &self.inferred.program.rules[rule.rule.0];
        let lanes = definition.schedule.vectorize.as_ref();
        if let Some(lanes) = lanes.filter(|lanes| definition.iterators.contains(lanes)) {
            let before = (self.function.vars.clone(), self.asts.len());
            let body = self.arranged_rule(rule, false)?;
            if in_lanes(&self.function, &body, self.inferred.sets.names.isl(lanes)) {
                return Ok(body);
            }
            self.function.vars = before.0;
            self.asts.truncate(before.1);
        }
        self.arranged_rule(rule, true)
    }

    fn arranged_rule(
        &mut self,
        rule: &InferredRule,
        innermost: bool,
    ) -> Result<Vec<Stmt>, SchedError> {
        let mut written = Vec::new();
        let mut head_vars: Vec<VarId> = Vec::new();
        let iterators = &self.inferred.program.rules[rule.rule.0].iterators;
        let schedule = &self.inferred.program.rules[rule.rule.0].schedule;
        let statements = in_cells(self.split(rule)?, iterators)?;
        let statements: Vec<Statement> = statements
            .iter()
            .map(|statement| arranged(&self.inferred.sets, statement, schedule, innermost))
            .collect::<Result<_, _>>()?;
        let loops = self.loops(&statements, schedule)?;
        for (statement, loops) in statements.iter().zip(loops) {
            let first_var = self.function.vars.len();
            let head = self.head_points(rule, statement)?;
            let (nest, instances) = match loops {
                Some(loops) => self.statement(rule, statement, loops, &head)?,
                None => (Vec::new(), 0),
            };
            // A guard may leave elements out, and two points may compute the same subscript. Either the statement
            // stands at one place in the code, where its reduction loops may become a sum, or each of its points
            // writes an element of its own.
            let once = statement.is_exact()
                && (instances <= 1 || self.head_map(rule, statement)?.is_injective()?);
            written.push(Written { nest, head, once });
            let vars = (0..).map(VarId).zip(&self.function.vars).skip(first_var);
            for (var, name) in vars {
                let sets = &self.inferred.sets;
                let of_head =
                    |i: &String| sets.names.isl(i) == name || block_name(sets, i) == *name;
                if iterators.iter().any(of_head) {
                    head_vars.push(var);
                }
            }
        }
        for written in &mut written {
            written.once &= written.nest.iter().all(|stmt| each_once(stmt, &head_vars));
        }
        self.initialised(rule.head, written)
    }

    /// The nests of a rule one after the other, so that each stored element is set before something is added to it: by
    /// nests that store to other elements than all before them, and to zero where there is none.
    fn initialised(
        &mut self,
        head: TensorId,
        written: Vec<Written>,
    ) -> Result<Vec<Stmt>, SchedError> {
        // The parts of a layout are disjoint, and together they are all stored elements.
        let parts: Vec<Set> =
            self.layouts[head.0].parts.iter().map(|part| part.domain.clone()).collect();
        let heads: Vec<Set> = written.iter().map(|written| written.head.clone()).collect();
        if written.iter().all(|written| written.once) && partition(&heads, &parts)? {
            let mut body: Vec<Stmt> =
                written.into_iter().flat_map(|written| written.nest).collect();
            body.iter_mut().for_each(overwrite);
            return Ok(body);
        }
        let rest = self.beside(&parts, &written)?;
        let mut statements = self.clear(head, rest.as_ref().map(|(rest, _)| rest))?;
        let sets = rest.map(|(_, sets)| sets).unwrap_or_default();
        let in_order = in_order(&heads, &sets)?;
        let (mut first, mut others) = (Vec::new(), Vec::new());
        for (place, Written { mut nest, .. }) in written.into_iter().enumerate() {
            let is_set = sets.contains(&place);
            if is_set {
                nest.iter_mut().for_each(overwrite);
            }
            if is_set || in_order { &mut first } else { &mut others }.extend(nest);
        }
        statements.extend(first);
        statements.extend(others);
        Ok(statements)
    }

    /// The stored elements that are none of disjoint nests which store to each of theirs once, and which these nests
    /// are, if that is simpler than to set all elements to zero.
    fn beside(
        &self,
        parts: &[Set],
        written: &[Written],
    ) -> Result<Option<(Set, Vec<usize>)>, SchedError> {
        let ([all], true) = (parts, written.len() <= 2 * MAX_PARTS) else { return Ok(None) };
        let (mut rest, mut places) = (all.clone(), Vec::new());
        for (place, Written { head, once, .. }) in written.iter().enumerate() {
            if *once && head.basic_set_count()? == 1 && head.is_subset(&rest)? {
                rest = rest.subtract(head)?.coalesce()?;
                places.push(place);
            }
        }
        let simple = places.len() > 1 && rest.basic_set_count()? <= 1;
        Ok(simple.then_some((rest, places)))
    }

    /// A statement becomes several if its domain has several parts that write disjoint parts of the head. For example,
    /// a row and a diagonal then become two loops without conditions.
    fn split(&self, rule: &InferredRule) -> Result<Vec<Statement>, SchedError> {
        let mut statements = Vec::new();
        for statement in &rule.statements {
            let domain = explicit(&statement.domain)?;
            let statement = &Statement { domain, ..statement.clone() };
            if statement.domain.basic_set_count()? == 1 {
                statements.push(statement.clone());
                continue;
            }
            let mut parts = Vec::new();
            let basics = statement.domain.make_disjoint()?.coalesce()?.basic_sets()?;
            if (2..=MAX_PARTS).contains(&basics.len()) {
                for domain in basics {
                    parts.push(Statement { domain, ..statement.clone() });
                }
            }
            let mut heads: Vec<Set> = Vec::new();
            let mut disjoint = !parts.is_empty();
            for part in &parts {
                let head = self.head_points(rule, part)?;
                for other in &heads {
                    disjoint = disjoint && head.is_disjoint(other)?;
                }
                heads.push(head);
            }
            if disjoint {
                statements.extend(parts);
            } else {
                statements.push(statement.clone());
            }
        }
        Ok(statements)
    }

    /// Maps each point of a statement to the element of the head that it writes.
    fn head_map(&self, rule: &InferredRule, statement: &Statement) -> Result<Map, SchedError> {
        let head = self.inferred.program.rules[rule.rule.0].subscripts();
        let map = self.inferred.sets.access(&statement.iterators, &head)?;
        Ok(map.intersect_domain(&statement.domain)?)
    }

    /// The elements of the head that a statement writes.
    fn head_points(&self, rule: &InferredRule, statement: &Statement) -> Result<Set, SchedError> {
        Ok(self.head_map(rule, statement)?.range()?)
    }

    /// Sets the stored elements of a head, or some of them, to the zero of its semiring.
    fn clear(&mut self, head: TensorId, some: Option<&Set>) -> Result<Vec<Stmt>, SchedError> {
        let zero = self.inferred.program.zero(head);
        let layout = &self.layouts[head.0];
        let structured = &self.inferred.tensors[head.0];
        let stored =
            Elements { sets: &self.inferred.sets, module: &self.module, layout, structured };
        stored.nests(some, &mut self.function, &mut |_, position| {
            Ok(vec![Stmt::set(buffer(head), position, Value::constant(zero))])
        })
    }

    /// The loops of each statement. A statement without points has none.
    fn loops(
        &self,
        statements: &[Statement],
        schedule: &Schedule,
    ) -> Result<Vec<Option<Loops>>, SchedError> {
        let mut all: Vec<Option<Loops>> = vec![None; statements.len()];
        let mut alike: BTreeMap<Vec<String>, Vec<(usize, Set)>> = BTreeMap::new();
        for (k, statement) in statements.iter().enumerate() {
            let iterators = statement.loops();
            let domain = self.loop_domain(statement, &iterators)?;
            if !domain.is_empty()? {
                alike.entry(iterators).or_default().push((k, domain));
            }
        }
        for (iterators, members) in alike {
            let (places, domains): (Vec<usize>, Vec<Set>) = members.into_iter().unzip();
            let Some(domain) = domains.first() else { continue };
            let tiles = &tiles(schedule, &iterators);
            let scan = Scan {
                sets: &self.inferred.sets,
                module: &self.module,
                iterators: &iterators,
                domain,
                parallel: &[],
                tiles,
            };
            for ((k, domain), ast) in places.into_iter().zip(&domains).zip(scan.asts(&domains)?) {
                let (iterators, domain) = (iterators.clone(), domain.clone());
                all[k] = Some(Loops { iterators, domain, ast });
            }
        }
        Ok(all)
    }

    /// The loop nest of a statement, and the number of places in it at which the statement stands. `head` are the
    /// elements that it writes.
    fn statement(
        &mut self,
        rule: &InferredRule,
        statement: &Statement,
        Loops { iterators, domain, ast }: Loops,
        head: &Set,
    ) -> Result<(Vec<Stmt>, usize), SchedError> {
        let head_iterators = &self.inferred.program.rules[rule.rule.0].iterators;
        // Only loops over iterators of the head are parallel. A computed iterator of the head has no loop, and two
        // iterations of the loops that compute it may write the same element.
        let parallel: Vec<bool> =
            iterators.iter().map(|name| head_iterators.contains(name)).collect();
        let scan = Scan {
            sets: &self.inferred.sets,
            module: &self.module,
            iterators: &iterators,
            domain: &domain,
            parallel: &parallel,
            tiles: &[],
        };
        self.asts.push((rule.head, ast.clone()));
        // The constraints that hold at every point of the loops, whatever values the computed iterators have.
        let to_loops = Affine::each(&iterators);
        let to_loops = self.inferred.sets.access(&statement.iterators, &to_loops)?;
        let known_here = to_loops.intersect_range(&domain)?.domain()?;
        let layouts = self.layouts;
        let sets = &self.inferred.sets;
        let module = &self.module;
        let known_head = head.permute(&layouts[rule.head.0].order)?;
        let mut known_reads = Vec::new();
        for read in &statement.reads {
            known_reads.push(reached(sets, &layouts[read.tensor.0], statement, read)?);
        }
        let mut instances = 0;
        let nest = scan.nest_of(ast, &mut self.function, &mut |scope, function| {
            instances += 1;
            let computed = computed(statement, scope)?;
            let resolve = |name: &str| value_of(&computed, sets, scope, name);
            let symbols = |name: &str| symbol(module, sets, name);
            let mut factors = Vec::new();
            let mut divisors = Vec::new();
            if statement.coefficient != 1.0 {
                factors.push(Value::constant(statement.coefficient));
            }
            for (index, reciprocal) in &statement.symbols {
                let name = &sets.names.parameters()[*index];
                let value = symbols(name).map(Value::from_index);
                let value = value.ok_or_else(|| SchedError::UnknownName(name.clone()))?;
                if *reciprocal { &mut divisors } else { &mut factors }.push(value);
            }
            let mut elements = Vec::new();
            let mut lets: Vec<(VarId, Index)> = Vec::new();
            for (read, known) in statement.reads.iter().zip(&known_reads) {
                let mut subscripts = Vec::new();
                for subscript in &read.subscripts {
                    subscripts.push(affine_to_index(subscript, &resolve)?);
                }
                sort(&read.sorted, &mut subscripts, function, &mut lets);
                let layout = &layouts[read.tensor.0];
                let position = layout.position_within(known, &subscripts, &symbols)?;
                let value = Value::load(buffer(read.tensor), position);
                let inverse = |value| Value::constant(1.0) / value;
                match (read.argument, read.reciprocal) {
                    (true, true) => elements.push(inverse(value)),
                    (true, false) => elements.push(value),
                    (false, reciprocal) => {
                        if reciprocal { &mut divisors } else { &mut factors }.push(value.clone());
                        elements.push(value);
                    }
                }
            }
            for function in &statement.functions {
                let leaves = Leaves {
                    symbols: &sets.names.parameters(),
                    resolve: &resolve,
                    elements: &|at| elements.get(at).cloned(),
                };
                let value = scalar::value(&function.value, leaves)?;
                if function.reciprocal { &mut divisors } else { &mut factors }.push(value);
            }
            let mut value = Value::product(factors);
            for divisor in divisors {
                value = value / divisor;
            }
            let subscripts = resolved(head_iterators, &resolve)?;
            let layout = &layouts[rule.head.0];
            let position = layout.position_within(&known_head, &subscripts, &symbols)?;
            let body = with_lets(
                lets,
                vec![Stmt::add(buffer(rule.head), position, value)],
                &module.buffers,
            );
            if statement.is_exact() {
                return Ok(body);
            }
            let mut tests = vec![convert::membership(&statement.domain, &known_here, &resolve)?];
            for guard in &statement.guards {
                tests.push(Condition::compare(
                    comparison(guard.operator),
                    expr_to_index(&guard.left, &resolve)?,
                    expr_to_index(&guard.right, &resolve)?,
                ));
            }
            Ok(vec![Stmt::when(Condition::all(tests), body)])
        })?;
        Ok((nest, instances))
    }

    /// The points that the loops of a statement visit: its domain without the computed iterators.
    fn loop_domain(&self, statement: &Statement, iterators: &[String]) -> Result<Set, SchedError> {
        if statement.definitions.is_empty() {
            return Ok(statement.domain.clone());
        }
        let kept = Affine::each(iterators);
        let map = self.inferred.sets.access(&statement.iterators, &kept)?;
        let names: Vec<&str> = iterators.iter().map(|n| self.inferred.sets.names.isl(n)).collect();
        Ok(statement.domain.apply(&map)?.simplify()?.with_dim_names(&names)?)
    }
}

/// The computed iterators of a statement with their values, by their names in the program.
fn computed(statement: &Statement, scope: &Scope<'_>) -> Result<Vec<(String, Index)>, SchedError> {
    let mut values: Vec<(String, Index)> = Vec::new();
    for definition in &statement.definitions {
        let known = |name: &str| {
            let computed = values.iter().find(|(other, _)| other == name);
            computed.map(|(_, value)| value.clone()).or_else(|| scope.resolve(name))
        };
        let value = expr_to_index(&definition.value, &known)?;
        values.push((definition.iterator.clone(), value));
    }
    Ok(values)
}

/// The value of a name (that of the program, or its isl-safe form) where some iterators are computed.
fn value_of(
    computed: &[(String, Index)],
    sets: &Sets,
    scope: &Scope<'_>,
    name: &str,
) -> Option<Index> {
    let found = computed.iter().find(|(other, _)| other == name || sets.names.isl(other) == name);
    found.map(|(_, value)| value.clone()).or_else(|| scope.resolve(name))
}

/// What a statement of a rule became.
struct Written {
    nest: Vec<Stmt>,
    /// The elements of the head that it stores to.
    head: Set,
    /// Whether it stores to each of them once.
    once: bool,
}

/// Whether nests, of which some set the elements that they store to, set none that one before has added to.
fn in_order(heads: &[Set], sets: &[usize]) -> Result<bool, SchedError> {
    for (place, head) in heads.iter().enumerate().filter(|(place, _)| !sets.contains(place)) {
        for later in sets.iter().filter(|set| **set > place) {
            if !head.is_disjoint(&heads[*later])? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether all loops around stores are loops over the head, so that each element is stored to once.
fn each_once(statement: &Stmt, head_vars: &[VarId]) -> bool {
    match statement {
        Stmt::For(for_) => {
            head_vars.contains(&for_.var) && for_.body.iter().all(|s| each_once(s, head_vars))
        }
        Stmt::Partitioned(partitioned) => partitioned.body.iter().all(|s| each_once(s, head_vars)),
        Stmt::Partial(partial) => partial.finish.iter().all(|s| each_once(s, head_vars)),
        Stmt::Team(_)
        | Stmt::Call(_)
        | Stmt::Register(_)
        | Stmt::While(_)
        | Stmt::CoIter(_)
        | Stmt::Append(_)
        | Stmt::Workspace(_)
        | Stmt::Let(_)
        | Stmt::Scan(_) => false,
        Stmt::If(if_) => if_.then.iter().chain(&if_.otherwise).all(|s| each_once(s, head_vars)),
        Stmt::Store(_) => true,
    }
}

fn overwrite(statement: &mut Stmt) {
    match statement {
        Stmt::For(for_) => for_.body.iter_mut().for_each(overwrite),
        Stmt::Partitioned(partitioned) => partitioned.body.iter_mut().for_each(overwrite),
        Stmt::Partial(partial) => partial.finish.iter_mut().for_each(overwrite),
        Stmt::While(inner) => inner.body.iter_mut().for_each(overwrite),
        Stmt::CoIter(inner) => {
            inner.cases.iter_mut().flat_map(|case| &mut case.body).for_each(overwrite);
        }
        // Later passes make these from finished kernels.
        Stmt::Team(_) | Stmt::Call(_) => {}
        Stmt::Append(inner) => inner.body.iter_mut().for_each(overwrite),
        Stmt::Workspace(inner) => inner.body.iter_mut().for_each(overwrite),
        Stmt::Let(inner) => inner.body.iter_mut().for_each(overwrite),
        Stmt::Scan(inner) => inner.body.iter_mut().for_each(overwrite),
        Stmt::If(if_) => if_.then.iter_mut().chain(&mut if_.otherwise).for_each(overwrite),
        Stmt::Store(Store { mode, .. }) => *mode = StoreMode::Set,
        // A later pass makes these from stores.
        Stmt::Register(_) => {}
    }
}
