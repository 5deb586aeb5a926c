//! [`Property::Moved`](super::Property): proves that the functions that move tensors between dense arrays and packed
//! buffers do so.
//!
//! Each of them is a rule that assigns elements, and is proven as one: `pack` computes the packed tensor from the dense
//! array, `unpack` and `expand` compute a dense array from unique elements, through the redundancy maps. A dense array
//! is a tensor of which the whole box is stored in C order.
//!
//! Before -> after, for a symmetric `B` with `:U` on `i <= j`, `unpack` is `dense(i, j) := B(i, j)` where `i <= j`, and
//! `dense(i, j) := B(j, i)` where `i > j`.

use std::collections::{BTreeMap, BTreeSet};

use dastac_layout::{Layout, Piece, Piecewise, Polynomial, Proof};
use dastac_loops::passes::simplify;
use dastac_loops::{Function, Index, Mode, Module, Stmt, StoreMode, Value};
use dastac_poly::Set;
use dastac_stur::Coefficient;
use dastac_stur::infer::group::Group;
use dastac_stur::infer::{Inferred, InferredRule, Read, Redundancy, Statement, Structured};
use dastac_stur::program::{Element, Program, Role, Rule, RuleId, TensorId};
use dastac_stur::schedule::Schedule;
use dastac_stur::semiring::Semiring;
use dastac_stur::sets::{Affine, Extent};

use super::terms::Sums;
use super::{Check, Property, Stop, Validator, executed, naming, proof};
use crate::SchedError;
use crate::elements::buffer;
use crate::movement::{Movement, clear};

/// Checks what moves each packed tensor. `inferred` and `layouts` are those that the movement was made from.
///
/// # Errors
/// A failure of isl. What is too complex to decide is not an error, but [`Proof::Undecided`].
pub fn validate_movement(
    inferred: &Inferred,
    layouts: &[Layout],
    movement: &Movement,
) -> Result<Vec<Check>, SchedError> {
    let mut checks = Vec::new();
    for tensor in inferred.program.tensor_ids() {
        if inferred.program.tensor(tensor).format.is_some() {
            continue;
        }
        let outcome = Moved { inferred, layouts, movement, tensor }.proven();
        let proof = proof(outcome)?;
        let proof = match proof {
            // isl takes `N * N` for a parameter of its own, so that a counter-example need not be one.
            Proof::Refuted(_) if !inferred.program.derived.is_empty() => {
                Proof::Undecided("products of symbols".into())
            }
            proof => proof,
        };
        checks.push(Check { tensor, property: Property::Moved, proof });
    }
    Ok(checks)
}

/// With more orders of subscripts, the sets are so complex that a proof takes minutes.
const MAX_ORDERS: usize = 24;

/// Positions in dense arrays with more cases are not compared.
const MAX_PIECES: usize = 64;

struct Moved<'a> {
    inferred: &'a Inferred,
    layouts: &'a [Layout],
    movement: &'a Movement,
    tensor: TensorId,
}

impl Moved<'_> {
    fn proven(&self) -> Result<(), Stop> {
        let here = self.here();
        let structured = &self.inferred.tensors[self.tensor.0];
        let stored = &self.layouts[self.tensor.0].stored;
        let (pack, unpack, expand) = &self.movement.functions[self.tensor.0];
        let pack = self.function(pack)?;
        let dense = array(pack, buffer(self.tensor))?;
        let (pack, cleared) = self.without_clear(pack);
        let is_empty = self.movement.module.buffers[self.tensor.0].size == Index::Const(0);
        if !cleared && !is_empty && self.layouts[self.tensor.0].padded {
            return Err(Stop::refuted("padding is not cleared"));
        }
        let read = |from: TensorId| self.statement(stored, from, &here, &[], &Coefficient::one());
        self.function_is(&pack, self.tensor, dense, vec![read(dense)])?;

        let function = self.function(unpack)?;
        let to = array(function, buffer(self.tensor))?;
        let mut statements = vec![read(self.tensor)];
        statements.extend(self.redundant(self.tensor, Some(stored))?);
        self.function_is(function, to, to, statements)?;

        let Some(expand) = expand else { return Ok(()) };
        let function = self.function(expand)?;
        let from = array(function, buffer(self.tensor))?;
        let Some(to) = function.args.last().map(|(id, _)| TensorId(id.0 as usize)) else {
            return Err(Stop::refuted("a function without arrays"));
        };
        let unique = &structured.unique;
        let mut statements = vec![self.statement(unique, from, &here, &[], &Coefficient::one())];
        statements.extend(self.redundant(from, None)?);
        self.function_is(function, to, from, statements)
    }

    fn here(&self) -> Vec<Affine> {
        Affine::each(&self.inferred.tensors[self.tensor.0].iterators)
    }

    fn function(&self, name: &str) -> Result<&Function, Stop> {
        let mut all = self.movement.module.functions.iter();
        all.find(|function| function.name == name)
            .ok_or_else(|| Stop::refuted(format!("there is no function `{name}`")))
    }

    /// An assignment of `coefficient` times an element of `from` to the tensor's element, at each point of a set.
    fn statement(
        &self,
        domain: &Set,
        from: TensorId,
        subscripts: &[Affine],
        sorted: &[Vec<usize>],
        coefficient: &Coefficient,
    ) -> Statement {
        Statement {
            iterators: self.inferred.tensors[self.tensor.0].iterators.clone(),
            domain: domain.clone(),
            coefficient: coefficient.factor(),
            reads: vec![Read {
                tensor: from,
                reciprocal: false,
                subscripts: subscripts.to_vec(),
                sorted: sorted.to_vec(),
                position: None,
                argument: false,
            }],
            symbols: coefficient.symbol_factors().collect(),
            functions: Vec::new(),
            definitions: Vec::new(),
            guards: Vec::new(),
            product: 0,
        }
    }

    /// The assignments of redundant elements: of all, or of those whose unique element is stored.
    fn redundant(&self, from: TensorId, stored: Option<&Set>) -> Result<Vec<Statement>, Stop> {
        let structured = &self.inferred.tensors[self.tensor.0];
        let names = &self.inferred.sets.names;
        let mut statements = Vec::new();
        for piece in &structured.redundancy {
            let (map, coefficient) = match piece {
                Redundancy::Affine { map, coefficient } => (map, coefficient),
                Redundancy::Sorted { domain, classes } => {
                    let orders = classes.iter().map(|class| (1..=class.len()).product::<usize>());
                    if orders.product::<usize>() > MAX_ORDERS {
                        return Err(Stop::undecided("it is symmetric in many positions"));
                    }
                    let one = Coefficient::one();
                    statements.push(self.statement(domain, from, &self.here(), classes, &one));
                    continue;
                }
            };
            let map = match stored {
                Some(stored) => map.intersect_range(stored)?,
                None => map.clone(),
            };
            for (domain, outputs) in map.as_pieces()? {
                let mut targets = Vec::new();
                for output in &outputs {
                    let target = Affine::of_integers(&output.expr()?, &structured.iterators);
                    let target = target.ok_or_else(|| Stop::undecided("a redundancy map"))?;
                    let original = target
                        .names()
                        .into_iter()
                        .filter(|name| !structured.iterators.contains(name))
                        .map(|name| (name.clone(), names.original(&name).to_string()));
                    targets.push(target.rename(&original.collect()));
                }
                statements.push(self.statement(&domain, from, &targets, &[], coefficient));
            }
        }
        Ok(statements)
    }

    /// Proves that a function makes the assignments of statements to all of `head`, and that its other elements are
    /// those that no product reaches. `dense` is the dense array among its buffers, beside `head`.
    fn function_is(
        &self,
        function: &Function,
        head: TensorId,
        dense: TensorId,
        statements: Vec<Statement>,
    ) -> Result<(), Stop> {
        let (inferred, layouts) = self.with_arrays(head, dense)?;
        let zero = self.inferred.program.zero(self.tensor);
        let mut function = function.clone();
        with_zero(&mut function.body, zero);
        let naming = naming(&inferred, &self.movement.module);
        let validator = Validator {
            inferred: &inferred,
            layouts: &layouts,
            module: &self.movement.module,
            function: &function,
            naming: &naming,
        };
        let read =
            executed::read(&function, &naming, &|_| Sums::of(Semiring::SumTimes, Element::F64));
        if let Some(unread) = read.unread.first() {
            return Err(Stop::undecided(&unread.why));
        }
        let sites = &read.sites;
        if sites.iter().any(|site| site.buffer.0 as usize != head.0) {
            return Err(Stop::refuted("another buffer is written"));
        }
        let rule = InferredRule { rule: RuleId(0), head, statements };
        let (outcome, elements) = validator.executed(&rule, sites)?;
        outcome?;
        let elements = elements?;
        validator.parallel(&elements)?;
        validator.written(head, &read, &elements)
    }

    /// The program with dense arrays as tensors, whose numbers are those of their buffers, and with one rule, which has
    /// the iterators of the tensor.
    fn with_arrays(
        &self,
        head: TensorId,
        dense: TensorId,
    ) -> Result<(Inferred, Vec<Layout>), Stop> {
        let structured = &self.inferred.tensors[self.tensor.0];
        let sets = &self.inferred.sets;
        let span = sets.box_set(&structured.iterators, &structured.extents)?;
        let whole = Structured {
            unique: span.clone(),
            support: span.clone(),
            redundancy: Vec::new(),
            cancelled: sets.empty(&structured.iterators)?,
            symmetry: Group::trivial(structured.iterators.len()),
            ..structured.clone()
        };
        let declared = self.inferred.program.tensor(self.tensor);
        let mut program = Program { rules: Vec::new(), ..self.inferred.program.clone() };
        program.rules.push(Rule {
            head,
            iterators: structured.iterators.clone(),
            order: Vec::new(),
            schedule: Schedule::default(),
            semiring: Semiring::SumTimes,
            products: Vec::new(),
            fill: None,
            preprocess: false,
            span: declared.span,
        });
        let mut tensors = self.inferred.tensors.clone();
        let mut layouts = self.layouts.to_vec();
        let last = head.0.max(dense.0);
        let array = dastac_stur::program::Tensor {
            name: declared.name.clone(),
            role: Role::Input,
            domain: None,
            unique: None,
            redundancy: None,
            layout: None,
            format: None,
            ..declared.clone()
        };
        while program.tensors.len() <= last {
            program.tensors.push(array.clone());
            tensors.push(whole.clone());
        }
        let inferred = Inferred {
            program,
            sets: sets.clone(),
            tensors,
            rules: Vec::new(),
            copies: BTreeMap::new(),
            wholes: BTreeSet::new(),
        };
        if layouts.len() <= last {
            let layout = self.in_c_order(&span)?;
            layouts.resize(last + 1, layout);
        }
        Ok((inferred, layouts))
    }

    /// The layout of a dense array.
    fn in_c_order(&self, span: &Set) -> Result<Layout, Stop> {
        let structured = &self.inferred.tensors[self.tensor.0];
        let names = &self.inferred.sets.names;
        let mut layout = self.layouts[self.tensor.0].clone();
        layout.dims = structured.iterators.iter().map(|name| names.isl(name).into()).collect();
        layout.order = (0..layout.dims.len()).collect();
        (layout.align, layout.padded) = (1, false);
        layout.stored = span.with_dim_names(&layout.dims)?;
        let mut positions = vec![(Vec::new(), Polynomial::zero())];
        for (at, (dim, extent)) in layout.dims.iter().zip(&structured.extents).enumerate() {
            let dim = Polynomial::from_affine(&Affine::name(dim));
            let extents = if at == 0 { Vec::new() } else { self.extent(extent) };
            let mut next = Vec::new();
            for (conditions, position) in &positions {
                if at == 0 {
                    next.push((conditions.clone(), dim.clone()));
                }
                for (more, extent) in &extents {
                    let position = &(position * extent) + &dim;
                    next.push(([&conditions[..], &more[..]].concat(), position));
                }
            }
            if next.len() > MAX_PIECES {
                return Err(Stop::undecided("dimensions that are minima or maxima"));
            }
            positions = next;
        }
        let mut pieces = Vec::new();
        for (conditions, polynomial) in positions {
            let all = if conditions.is_empty() { "1 = 1".into() } else { conditions.join(" and ") };
            let params = names.parameters().join(", ");
            let text = format!("[{params}] -> {{ [{}] : {all} }}", layout.dims.join(", "));
            let domain = Set::parse(&self.inferred.sets.context, &text)?;
            let domain = layout.stored.intersect(&domain.with_tuple_name(None)?)?;
            pieces.push(Piece { domain, polynomial });
        }
        layout.index = Piecewise { dims: layout.dims.clone(), pieces };
        Ok(layout)
    }

    /// The values that an extent has where it is not 0, each with conditions in isl's notation of which one holds.
    fn extent(&self, extent: &Extent) -> Vec<(Vec<String>, Polynomial)> {
        let names = &self.inferred.sets.names;
        let isl = |bound: &Affine| {
            let rename =
                bound.names().into_iter().map(|name| (name.clone(), names.isl(&name).into()));
            bound.rename(&rename.collect())
        };
        let regions: Vec<Vec<Affine>> =
            extent.regions.iter().map(|bounds| bounds.iter().map(isl).collect()).collect();
        let mut values = Vec::new();
        for (region, bounds) in regions.iter().enumerate() {
            for (at, bound) in bounds.iter().enumerate() {
                let mut conditions = Vec::new();
                // It is the first of the least bounds of the first of the largest regions.
                for (other, value) in bounds.iter().enumerate().filter(|(other, _)| *other != at) {
                    let operator = if other < at { "<" } else { "<=" };
                    conditions.push(format!("({bound}) {operator} ({value})"));
                }
                for (other, values) in regions.iter().enumerate().filter(|(r, _)| *r != region) {
                    let operator = if other < region { "<" } else { "<=" };
                    let any = values.iter().map(|value| format!("({value}) {operator} ({bound})"));
                    conditions.push(format!("({})", any.collect::<Vec<_>>().join(" or ")));
                }
                values.push((conditions, Polynomial::from_affine(bound)));
            }
        }
        values
    }

    /// A function without the loop at its beginning that clears the packed buffer, if it has one.
    fn without_clear(&self, function: &Function) -> (Function, bool) {
        let mut rest = function.clone();
        let expected = self.clear();
        let cleared = !expected.is_empty()
            && rest.body.len() >= expected.len()
            && rest.body.iter().zip(&expected).all(|(found, wanted)| is_same(found, wanted));
        if cleared {
            rest.body.drain(..expected.len());
        }
        (rest, cleared)
    }

    /// What sets all places of the packed buffer to 0, after the passes that functions go through.
    fn clear(&self) -> Vec<Stmt> {
        let packed = buffer(self.tensor);
        let size = self.movement.module.buffers[self.tensor.0].size.clone();
        let mut function = Function::new("clear", vec![(packed, Mode::Out)]);
        function.body = clear(&mut function, packed, size);
        let mut module = Module { functions: vec![function], ..self.movement.module.clone() };
        simplify(&mut module);
        module.functions.pop().map_or_else(Vec::new, |function| function.body)
    }
}

/// Whether two statements that set places to 0 are the same but for the names of loops.
fn is_same(found: &Stmt, wanted: &Stmt) -> bool {
    let all = |found: &[Stmt], wanted: &[Stmt]| {
        found.len() == wanted.len() && found.iter().zip(wanted).all(|(f, w)| is_same(f, w))
    };
    match (found, wanted) {
        (Stmt::If(found), Stmt::If(wanted)) => {
            found.condition == wanted.condition
                && all(&found.then, &wanted.then)
                && all(&found.otherwise, &wanted.otherwise)
        }
        (Stmt::For(found), Stmt::For(wanted)) => {
            let [Stmt::Store(store)] = found.body.as_slice() else { return false };
            let [Stmt::Store(other)] = wanted.body.as_slice() else { return false };
            (&found.lower, &found.upper, found.step) == (&wanted.lower, &wanted.upper, wanted.step)
                && store.buffer == other.buffer
                && store.index == Index::Var(found.var)
                && other.index == Index::Var(wanted.var)
                && store.mode == StoreMode::Set
                && matches!(store.value, Value::Const(0.0))
        }
        (found, wanted) => found == wanted,
    }
}

/// The dense array among the arguments of a function: the first one that is not the packed buffer.
fn array(function: &Function, packed: dastac_loops::BufferId) -> Result<TensorId, Stop> {
    let mut others = function.args.iter().filter(|(id, _)| *id != packed);
    let found = others.next().map(|(id, _)| TensorId(id.0 as usize));
    found.ok_or_else(|| Stop::refuted("a function without a dense array"))
}

/// Writes 0 in place of the number that stands for elements without products.
fn with_zero(body: &mut [Stmt], zero: f64) {
    for stmt in body {
        match stmt {
            Stmt::For(inner) => with_zero(&mut inner.body, zero),
            Stmt::If(inner) => {
                with_zero(&mut inner.then, zero);
                with_zero(&mut inner.otherwise, zero);
            }
            Stmt::Store(store) if store.value == Value::Const(zero) => {
                store.value = Value::Const(0.0);
            }
            _ => {}
        }
    }
}
