//! Structure inference: the unique set and redundancy map of every tensor, and the iteration domain of every product
//! (dastac paper, sections 2 and 3; STUR's program reasoning rules, decided on isl sets rather than on syntax).
//!
//! For a rule `T(x) := sum over products` the *support* of `T` is the union of the projections of the products'
//! iteration spaces, each restricted to where every operand is structurally non-zero. A redundancy map of `T` is found
//! in two ways, both checked, never assumed:
//! - [`symmetry`]: permutations of head positions under which the sum of products is unchanged (or negated);
//! - [`inherit`]: equalities that follow from operands' redundancy and from subscripts that do not tell elements apart.
//!
//! [`quotient`] makes one redundancy map of both.
//!
//! Invariants of the result: the unique set and the domains of the redundancy pieces are disjoint and together are the
//! support; every redundancy piece is single-valued and maps into the unique set; every statement's domain lies in the
//! head's unique set (after projection) and its reads address unique elements only.

mod declared;
pub mod group;
mod inherit;
mod overflow;
mod print;
mod quotient;
mod relations;
mod statements;
mod symmetry;

use std::collections::{BTreeMap, BTreeSet};

use dastac_poly::{Context, Map, Set};

use crate::affine::{ValueError, value};
use crate::ast::{CompareOp, Comparison, Expr, ExprKind, Span};
use crate::blame::blame;
use crate::coefficient::Coefficient;
use crate::diagnostic::Diagnostic;
use crate::program::{Definition, Guard, Product, Program, Rule, RuleId, TensorId};
use crate::semiring::Semiring;
use crate::sets::{Affine, Extent, SetError, Sets, affine, upper_bounds};
use dastac_formats::Format;

use group::Group;
pub use print::{declarations, map_to_stur, set_to_stur};
use quotient::Quotient;

/// Why inference stopped.
#[derive(Debug)]
pub enum InferError {
    /// The program is at fault.
    User(Vec<Diagnostic>),
    /// isl failed.
    Poly(dastac_poly::Error),
}

impl From<SetError> for InferError {
    fn from(error: SetError) -> Self {
        match error {
            SetError::User(diagnostic) => InferError::User(vec![*diagnostic]),
            SetError::Poly(error) => InferError::Poly(error),
        }
    }
}

impl From<Diagnostic> for InferError {
    fn from(diagnostic: Diagnostic) -> Self {
        InferError::User(vec![diagnostic])
    }
}

impl From<dastac_poly::Error> for InferError {
    fn from(error: dastac_poly::Error) -> Self {
        InferError::Poly(error)
    }
}

/// How redundant elements of a tensor follow from unique ones.
#[derive(Clone, Debug)]
pub enum Redundancy {
    /// `T(x) = coefficient * T(map(x))` on the map's domain.
    Affine {
        /// Single-valued, into the unique set.
        map: Map,
        /// A number that is not 0, times powers of symbols.
        coefficient: Coefficient,
    },
    /// `T(x) = T(sort(x))` where `sort` puts the subscripts at each class of positions in ascending order: what full
    /// symmetry of many positions means, without one piece a permutation.
    Sorted {
        /// The redundant elements.
        domain: Set,
        /// Disjoint classes of positions.
        classes: Vec<Vec<usize>>,
    },
}

impl Redundancy {
    /// The redundant elements.
    pub fn domain(&self) -> Result<Set, dastac_poly::Error> {
        match self {
            Redundancy::Affine { map, .. } => map.domain(),
            Redundancy::Sorted { domain, .. } => Ok(domain.clone()),
        }
    }
}

/// What is known about a tensor.
#[derive(Clone, Debug)]
pub struct Structured {
    /// One name a position, for printing and for sets' dimensions.
    pub iterators: Vec<String>,
    /// The box: extents of the dense array that holds the tensor.
    pub extents: Vec<Extent>,
    /// Unique, structurally non-zero elements.
    pub unique: Set,
    /// Elements that follow from unique ones; pairwise disjoint domains.
    pub redundancy: Vec<Redundancy>,
    /// Unique and redundant elements: all that may be non-zero.
    pub support: Set,
    /// Whether the support is just what is structurally non-zero; else it may hold more, because something that is not
    /// affine decides.
    pub exact: bool,
    /// Elements that are zero though products have terms there: each is its own negative.
    pub cancelled: Set,
    /// Permutations of positions under which the values are unchanged, or change sign: all that were found, also those
    /// that the redundancy map does not use.
    pub symmetry: Group,
}

/// One read of a statement: the address of a unique element.
#[derive(Clone, Debug)]
pub struct Read {
    /// The tensor read.
    pub tensor: TensorId,
    /// Divide by it.
    pub reciprocal: bool,
    /// One expression a position, over the statement's iterators and symbols.
    pub subscripts: Vec<Affine>,
    /// Classes of positions whose subscripts must be sorted ascending to reach the unique element.
    pub sorted: Vec<Vec<usize>>,
    /// The iterator that is the element's position; its value is no factor then.
    pub position: Option<String>,
}

/// One loop nest: part of a product on which every read is a plain access to unique elements.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Iterators in loop order.
    pub iterators: Vec<String>,
    /// The points at which it runs, if its definitions and guards hold there.
    pub domain: Set,
    /// Constant factor.
    pub coefficient: f64,
    /// Factors read from tensors.
    pub reads: Vec<Read>,
    /// Symbols used as factors: index and whether reciprocal.
    pub symbols: Vec<(usize, bool)>,
    /// Iterators that are computed, not loops: the loops run over the domain without them.
    pub definitions: Vec<Definition>,
    /// Must hold too at a point of the domain.
    pub guards: Vec<Guard>,
    /// Position of the product in its rule.
    pub product: usize,
}

impl Statement {
    /// Whether it runs at every point of its domain.
    pub fn is_exact(&self) -> bool {
        let positions = self.reads.iter().any(|read| read.position.is_some());
        self.definitions.is_empty() && self.guards.is_empty() && !positions
    }

    /// The iterators that are loops.
    pub fn loops(&self) -> Vec<String> {
        let computed = |name: &String| self.definitions.iter().any(|d| d.iterator == *name);
        self.iterators.iter().filter(|name| !computed(name)).cloned().collect()
    }
}

/// A rule with its statements; the head's subscripts are the rule's iterators.
#[derive(Clone, Debug)]
pub struct InferredRule {
    /// The rule.
    pub rule: RuleId,
    /// The tensor that it computes.
    pub head: TensorId,
    /// Its statements, in the order of products; their results are added.
    pub statements: Vec<Statement>,
}

/// A program with the structure of every tensor.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The program as it was checked, with its derived symbols; what inference took apart stands in the statements.
    pub program: Program,
    /// The builder of its sets.
    pub sets: Sets,
    /// Structure of each tensor, indexed by [`TensorId`].
    pub tensors: Vec<Structured>,
    /// Rules in the program's order.
    pub rules: Vec<InferredRule>,
}

/// A product with its iteration space, restricted to the structurally non-zero.
pub(crate) struct Space {
    /// Points over the product's iterators.
    domain: Set,
    /// Subscripts of each access.
    subscripts: Vec<Vec<Affine>>,
}

/// Infers the structure of every tensor.
///
/// # Errors
/// Collects what is wrong with (or not supported in) the program; isl's own failures are passed on.
pub fn infer(program: &Program, context: &Context) -> Result<Inferred, InferError> {
    let checked = program;
    let program = &crate::normal::normalise(checked).map_err(InferError::User)?;
    let sets = Sets::new(context, program);
    let mut errors = Vec::new();
    let mut tensors: Vec<Option<Structured>> = Vec::new();
    let mut inputs = declared::Inputs::default();
    for id in program.tensor_ids() {
        let result = match program.tensor(id).rule() {
            None => declared::input(program, &sets, id, &mut inputs).map(Some),
            Some(_) => Ok(None),
        };
        let result = blamed(result, program, id);
        tensors.push(collect(result, &mut errors)?.flatten());
    }
    let uses = Uses::of(program);
    let mut rules = Vec::new();
    for (index, rule) in program.rules.iter().enumerate() {
        let ready =
            rule.products.iter().flat_map(|p| &p.accesses).all(|a| tensors[a.tensor.0].is_some());
        if !ready {
            continue; // what it reads is already in error
        }
        let result = infer_rule(program, &sets, &tensors, &uses, RuleId(index));
        let result = blamed(result, program, rule.head);
        if let Some((head, inferred)) = collect(result, &mut errors)? {
            tensors[rule.head.0] = Some(head);
            rules.push(inferred);
        }
    }
    if !errors.is_empty() {
        return Err(InferError::User(errors));
    }
    let tensors: Vec<Structured> = tensors.into_iter().flatten().collect();
    debug_assert_eq!(tensors.len(), program.tensors.len());
    // Rules as they were checked: the reference evaluator reads them.
    let (derived, divisors) = (program.derived.clone(), program.divisors.clone());
    let program = Program { derived, divisors, ..checked.clone() };
    Ok(Inferred { program, sets, tensors, rules })
}

/// Steps of one isl operation in the search for symmetry and redundancy: a structure that takes more is lost.
const MAX_OPERATIONS: u64 = 500_000;

/// Redundancy pieces that a symmetry may make.
const MAX_PIECES: usize = 24;
/// The same for a tensor that other rules read: each read becomes a statement a piece.
const MAX_PIECES_READ: usize = 8;

/// How rules use tensors.
struct Uses {
    read: BTreeSet<TensorId>,
    divisors: BTreeSet<TensorId>,
}

impl Uses {
    fn of(program: &Program) -> Uses {
        let accesses = || program.rules.iter().flat_map(|r| &r.products).flat_map(|p| &p.accesses);
        Uses {
            read: accesses().map(|access| access.tensor).collect(),
            divisors: accesses().filter(|a| a.reciprocal).map(|access| access.tensor).collect(),
        }
    }
}

/// A structure that is too complex to find is lost; the result without it is right too.
fn or_lost<T>(
    result: Result<T, InferError>,
    without: impl FnOnce() -> Result<T, InferError>,
) -> Result<T, InferError> {
    match result {
        Err(InferError::Poly(dastac_poly::Error::TooComplex { .. })) => without(),
        result => result,
    }
}

/// Sets that take isl more steps than the context allows are the program's fault: says whose they are.
fn blamed<T>(
    result: Result<T, InferError>,
    program: &Program,
    tensor: TensorId,
) -> Result<T, InferError> {
    let Err(InferError::Poly(error)) = result else { return result };
    let what = format!("the structure of `{}`", program.tensor(tensor).name);
    Err(match blame(&error, &what, program.described_at(tensor)) {
        Some(diagnostic) => diagnostic.into(),
        None => error.into(),
    })
}

/// Keeps user errors for later, so that all of them are reported.
fn collect<T>(
    result: Result<T, InferError>,
    errors: &mut Vec<Diagnostic>,
) -> Result<Option<T>, InferError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(InferError::User(diagnostics)) => {
            errors.extend(diagnostics);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn infer_rule(
    program: &Program,
    sets: &Sets,
    tensors: &[Option<Structured>],
    uses: &Uses,
    id: RuleId,
) -> Result<(Structured, InferredRule), InferError> {
    let rule = &program.rules[id.0];
    let declared = declared::head_box(program, sets, id)?;
    let known = |tensor: TensorId| tensors[tensor.0].as_ref();
    let mut spaces = Vec::new();
    for product in &rule.products {
        let head_box = declared.as_ref().map(|declared| &declared.set);
        spaces.push(space(program, sets, &known, rule, product, head_box)?);
    }
    let extents = match declared {
        Some(declared) => declared.extents,
        None => head_extents(program, sets, &known, id, &spaces)?,
    };

    let head = rule.subscripts();
    let mut supports = Vec::new();
    for (product, space) in rule.products.iter().zip(&spaces) {
        let to_head = sets.access(&product.iterators, &head)?;
        supports.push(space.domain.apply(&to_head)?);
    }
    let support = union(supports)?.map_or_else(|| sets.empty(&rule.iterators), Ok)?;
    let support = named(sets, &support.simplify()?, &rule.iterators)?;
    check_in_box(program, sets, id, &support, &extents)?;
    let whole = sets.box_set(&rule.iterators, &extents)?;
    let support = match &program.tensor(rule.head).format {
        Some(storage) => with_blocks(sets, rule, &storage.format, (support, &whole))?,
        None => support,
    };
    let support = as_one(support, &whole)?;

    // What is stored of a dynamic tensor is what is computed of it: redundant elements too.
    let dynamic = program.tensor(rule.head).format.is_some();
    // Symmetries and redundancies are those of sums and products: of numbers that have negatives.
    let other = rule.semiring != Semiring::SumTimes;
    if other {
        without_coefficients(program, &known, rule)?;
    }
    // Definitions and guards are part of a product, and what they do under a symmetry is not known.
    let affine = rule.products.iter().all(Product::is_affine);
    // A zero that only cancellation makes is not *structurally* zero, which is what a reciprocal asks.
    let signs = !uses.divisors.contains(&rule.head);
    let group = match affine && !dynamic && !other {
        true => sets.context.limited(MAX_OPERATIONS, || {
            symmetry::automorphisms(sets, &known, rule, &spaces, signs)
        }),
        false => Ok(Group::trivial(rule.iterators.len())),
    };
    let group = or_lost(group, || Ok(Group::trivial(rule.iterators.len())))?;
    let max_pieces = if uses.read.contains(&rule.head) { MAX_PIECES_READ } else { MAX_PIECES };
    let quotient = sets.context.limited(MAX_OPERATIONS, || {
        Quotient::symmetric(sets, &rule.iterators, &support, &group, max_pieces)
    });
    let mut quotient = or_lost(quotient, || Ok(Quotient::trivial(&support)))?;
    if affine && !dynamic && !other {
        let found = sets.context.limited(MAX_OPERATIONS, || {
            inherit::inherit(sets, &known, rule, &spaces, &mut quotient)
        });
        or_lost(found, || Ok(()))?;
    }
    let mut reads = rule.products.iter().flat_map(|product| &product.accesses);
    let structured = Structured {
        iterators: rule.iterators.clone(),
        extents,
        unique: named(sets, &quotient.unique, &rule.iterators)?,
        redundancy: quotient.redundancy()?,
        cancelled: support.subtract(&quotient.support)?,
        support: named(sets, &quotient.support, &rule.iterators)?,
        exact: affine
            && !dynamic
            && reads.all(|access| known(access.tensor).is_none_or(|t| t.exact)),
        symmetry: group,
    };
    let structured = declared::head(program, sets, id, structured)?;

    let mut statements = Vec::new();
    for (index, (product, space)) in rule.products.iter().zip(&spaces).enumerate() {
        let part = statements::statements(sets, &known, &head, &structured, product, space, index)?;
        statements.extend(part);
    }
    Ok((structured, InferredRule { rule: id, head: rule.head, statements }))
}

/// The elements that are stored of a result whose format ends in dense levels: blocks are whole.
fn with_blocks(
    sets: &Sets,
    rule: &Rule,
    format: &Format,
    (support, whole): (Set, &Set),
) -> Result<Set, InferError> {
    if format.block_levels() == 0 {
        return Ok(support);
    }
    let outer = format.above_blocks();
    let blocks = sets.quasi_affine(&rule.iterators, outer)?;
    let stored = match outer.is_empty() {
        true => whole.clone(),
        false => blocks.intersect_range(&support.apply(&blocks)?)?.domain()?.intersect(whole)?,
    };
    Ok(named(sets, &stored, &rule.iterators)?)
}

/// An element that is a multiple of another one is a product with a number, which is not the semiring's.
fn without_coefficients<'a>(
    program: &Program,
    known: &dyn Fn(TensorId) -> Option<&'a Structured>,
    rule: &Rule,
) -> Result<(), InferError> {
    for access in rule.products.iter().flat_map(|product| &product.accesses) {
        let pieces = known(access.tensor).map(|tensor| tensor.redundancy.as_slice());
        let multiple = pieces.unwrap_or_default().iter().any(|piece| match piece {
            Redundancy::Affine { coefficient, .. } => !coefficient.is_one(),
            Redundancy::Sorted { .. } => false,
        });
        if multiple {
            let name = &program.tensor(access.tensor).name;
            let what = format!(
                "elements of `{name}` that are multiples of others, in the semiring {}",
                rule.semiring
            );
            return Err(Diagnostic::unsupported(what, access.span, "read here")
                .hint("only equal elements are redundant in all semirings: a coefficient is a factor of a product")
                .into());
        }
    }
    Ok(())
}

/// Unions of more basic sets than this are simplified as a whole only.
const MANY: usize = 16;

/// The union of many sets, in halves: what fits together is joined while there is little of it.
fn union(mut sets: Vec<Set>) -> Result<Option<Set>, dastac_poly::Error> {
    while sets.len() > 1 {
        let mut halved = Vec::new();
        for pair in sets.chunks(2) {
            halved.push(match pair {
                [a, b] => match a.union(b)? {
                    few if few.basic_set_count()? <= MANY => few.coalesce()?,
                    many => many,
                },
                _ => pair[0].clone(),
            });
        }
        sets = halved;
    }
    Ok(sets.pop())
}

/// A union that is all of the simpler set that it is within, as that set. Finding out takes a short search only.
///
/// Before -> after, within `0 <= i < N`: `0 <= i < N and i % 8 <= 3 or 0 <= i < N and i % 8 >= 4` -> `0 <= i < N`.
fn as_one(set: Set, within: &Set) -> Result<Set, dastac_poly::Error> {
    let parts = set.basic_set_count()?;
    if !(2..=MAX_JOINED).contains(&parts) || within.basic_set_count()? >= parts {
        return Ok(set);
    }
    match set.context().limited(MAX_OPERATIONS, || within.is_subset(&set)) {
        Ok(true) => Ok(within.clone()),
        Ok(false) | Err(dastac_poly::Error::TooComplex { .. }) => Ok(set),
        Err(error) => Err(error),
    }
}

/// Unions of more basic sets are not compared with what they are within.
const MAX_JOINED: usize = 64;

/// Gives a set's dimensions the (isl-safe) names of iterators.
pub(crate) fn named(
    sets: &Sets,
    set: &Set,
    iterators: &[String],
) -> Result<Set, dastac_poly::Error> {
    let names: Vec<&str> = iterators.iter().map(|name| sets.names.isl(name)).collect();
    set.with_dim_names(&names)
}

/// The iteration space of a product: its comparisons, the head's box if declared, and every operand structurally
/// non-zero.
fn space<'a>(
    program: &Program,
    sets: &Sets,
    known: &dyn Fn(TensorId) -> Option<&'a Structured>,
    rule: &crate::program::Rule,
    product: &Product,
    head_box: Option<&Set>,
) -> Result<Space, InferError> {
    let mut domain = sets.set(&product.iterators, &[], &product.comparisons)?;
    let mut subscripts = Vec::new();
    for access in &product.accesses {
        let affine_subscripts: Vec<Affine> =
            access.subscripts.iter().map(affine).collect::<Result<_, _>>()?;
        if let Some(structured) = known(access.tensor) {
            if access.reciprocal && !structured.exact {
                return Err(approximate_reciprocal(access.span).into());
            }
            let map = sets.access(&product.iterators, &affine_subscripts)?;
            let reads = map.intersect_range(&structured.support)?.domain()?;
            domain = domain.intersect(&reads)?;
        }
        subscripts.push(affine_subscripts);
    }
    if let Some(head_box) = head_box {
        let head = rule.subscripts();
        let map = sets.access(&product.iterators, &head)?;
        domain = domain.intersect(&map.intersect_range(head_box)?.domain()?)?;
    }
    let domain = named(sets, &domain.simplify()?, &product.iterators)?;
    if !domain.is_bounded()? {
        for (position, iterator) in product.iterators.iter().enumerate() {
            if !product.defines(iterator) && !side(&domain, position)?.is_bounded()? {
                let error = unbounded(iterator, product.span);
                let head = program.tensor(rule.head);
                return Err(match within_a_box(sets, rule, product, &domain)? {
                    // Where it ends is what is asked for.
                    true => error.hint(format!(
                        "{} would settle it",
                        dimensions(&head.name, &rule.iterators, &|_| "..".into())
                    )),
                    false => error.hint(format!(
                        "add a comparison such as `(0 <= {iterator} < N)`: dimensions of tensors do not bound it"
                    )),
                }
                .into());
            }
        }
    }
    Ok(Space { domain, subscripts })
}

/// An extent that no set of a program is beyond.
const LARGE: i64 = 1 << 40;

/// Whether the head's dimensions, whatever they are, bound all iterators of a product that are loops.
fn within_a_box(
    sets: &Sets,
    rule: &Rule,
    product: &Product,
    domain: &Set,
) -> Result<bool, InferError> {
    let integer = |value| Expr { kind: ExprKind::Int(value), span: product.span };
    let large = rule.iterators.iter().map(|iterator| Comparison {
        operands: vec![
            integer(0),
            Expr { kind: ExprKind::Name(iterator.clone()), span: product.span },
            integer(LARGE),
        ],
        operators: vec![CompareOp::Le, CompareOp::Lt],
        span: product.span,
    });
    let fixed = sets.set(&product.iterators, &[], &large.collect::<Vec<_>>())?.intersect(domain)?;
    for (position, iterator) in product.iterators.iter().enumerate() {
        if !product.defines(iterator) && !side(&fixed, position)?.is_bounded()? {
            return Ok(false);
        }
    }
    Ok(!rule.iterators.is_empty())
}

/// `O:D(p, q) := (0 <= p < N) * (0 <= q < M)`
fn dimensions(name: &str, iterators: &[String], extent: &dyn Fn(usize) -> String) -> String {
    let bounds: Vec<String> = iterators
        .iter()
        .enumerate()
        .map(|(k, iterator)| format!("(0 <= {iterator} < {})", extent(k)))
        .collect();
    format!("`{name}:D({}) := {}`", iterators.join(", "), bounds.join(" * "))
}

/// A set projected onto one of its dimensions.
pub(crate) fn side(set: &Set, position: usize) -> Result<Set, dastac_poly::Error> {
    let after = set.rank().saturating_sub(position + 1);
    set.project_out_at(position + 1, after)?.project_out_at(0, position)
}

/// Where a reciprocal makes a product 0 is decided by the structure, which must be known for it.
fn approximate_reciprocal(span: Span) -> Diagnostic {
    Diagnostic::error(
        "E0313",
        "the reciprocal of a tensor whose structural zeros are not known",
        span,
        "its rule reads dynamically sparse tensors, or has comparisons or subscripts that are not affine",
    )
    .hint("a reciprocal is 0 where the structure is zero: read the tensor that the values come from instead, or pass \
        this one in as an input with `:D` and `:U`")
}

pub(crate) fn unbounded(iterator: &str, span: Span) -> Diagnostic {
    Diagnostic::error(
        "E0301",
        format!("iterator `{iterator}` is unbounded"),
        span,
        format!("no comparison, dimension or structure bounds `{iterator}` here"),
    )
    .hint(format!(
        "add a comparison such as `(0 <= {iterator} < N)`, or `:D` of the tensor that it indexes"
    ))
}

/// Regions that one product may give to an extent.
const MAX_REGIONS: usize = 64;

/// Extents of a head without `:D`: for each iterator the bounds that its comparisons and the operands' extents give,
/// the largest over products.
fn head_extents<'a>(
    program: &Program,
    sets: &Sets,
    known: &dyn Fn(TensorId) -> Option<&'a Structured>,
    id: RuleId,
    spaces: &[Space],
) -> Result<Vec<Extent>, InferError> {
    let rule = &program.rules[id.0];
    let is_symbol = |name: &str| sets.names.is_symbol(name);
    let mut extents = Vec::new();
    for iterator in &rule.iterators {
        let mut regions: Vec<Vec<Affine>> = Vec::new();
        for (product, space) in rule.products.iter().zip(spaces) {
            let mut bounds = upper_bounds(&product.comparisons, iterator, &is_symbol)?;
            let mut nested: Vec<Extent> = Vec::new();
            for (access, subscripts) in product.accesses.iter().zip(&space.subscripts) {
                let Some(structured) = known(access.tensor) else { continue };
                for (subscript, extent) in subscripts.iter().zip(&structured.extents) {
                    if subscript.as_name() == Some(iterator) {
                        match extent.regions.as_slice() {
                            [only] => bounds.extend(only.iter().cloned()),
                            _ if nested.contains(extent) => {}
                            _ => nested.push(extent.clone()),
                        }
                    }
                }
            }
            let mut unique: Vec<Affine> = Vec::new();
            for bound in bounds {
                if !unique.contains(&bound) {
                    unique.push(bound);
                }
            }
            // min(a, max(b, c)) is max(min(a, b), min(a, c)).
            let mut here = vec![unique];
            for extent in nested {
                let bounded = here.iter().all(|region| !region.is_empty());
                if bounded && here.len() * extent.regions.len() > MAX_REGIONS {
                    continue; // the box may be larger than needed, never smaller
                }
                let mut next: Vec<Vec<Affine>> = Vec::new();
                for region in &here {
                    for other in &extent.regions {
                        let mut both = region.clone();
                        both.extend(other.iter().filter(|b| !region.contains(b)).cloned());
                        push_region(&mut next, both);
                    }
                }
                here = next;
            }
            if here.iter().all(|region| !region.is_empty()) {
                here.into_iter().for_each(|region| push_region(&mut regions, region));
                continue;
            }
            let mut bound = None;
            if let Some(position) = product.iterators.iter().position(|i| i == iterator) {
                // Sizes do not depend on which elements of the operands are zero, if they can be found without.
                let whole = within_boxes(sets, known, product, space)?;
                for points in [&whole, &space.domain] {
                    bound = match bound {
                        None => declared::projected_bounds(sets, points, position)?,
                        found => found,
                    };
                }
            }
            match bound {
                Some(bounds) => push_region(&mut regions, bounds),
                None if space.domain.is_empty()? => {
                    push_region(&mut regions, vec![Affine::constant(0)])
                }
                None => return Err(unbounded(iterator, product.span).into()),
            }
        }
        if regions.is_empty() {
            regions.push(vec![Affine::constant(0)]);
        }
        extents.push(Extent { regions });
    }
    Ok(extents)
}

/// The points of a product at which all of its accesses are within the operands' dimensions.
fn within_boxes<'a>(
    sets: &Sets,
    known: &dyn Fn(TensorId) -> Option<&'a Structured>,
    product: &Product,
    space: &Space,
) -> Result<Set, InferError> {
    let mut points = sets.set(&product.iterators, &[], &product.comparisons)?;
    for (access, subscripts) in product.accesses.iter().zip(&space.subscripts) {
        if let Some(structured) = known(access.tensor) {
            let whole = sets.box_set(&structured.iterators, &structured.extents)?;
            let map = sets.access(&product.iterators, subscripts)?;
            points = points.intersect(&map.intersect_range(&whole)?.domain()?)?;
        }
    }
    Ok(points.simplify()?)
}

fn push_region(regions: &mut Vec<Vec<Affine>>, region: Vec<Affine>) {
    if !regions.contains(&region) {
        regions.push(region);
    }
}

/// Every element that a rule computes must have a place in the head's dense array.
fn check_in_box(
    program: &Program,
    sets: &Sets,
    id: RuleId,
    support: &Set,
    extents: &[Extent],
) -> Result<(), InferError> {
    let rule = &program.rules[id.0];
    let inside = sets.box_set(&rule.iterators, extents)?;
    let outside = support.subtract(&inside)?;
    if outside.is_empty()? {
        return Ok(());
    }
    let name = &program.tensor(rule.head).name;
    Err(Diagnostic::error(
        "E0302",
        format!("`{name}` is computed at a negative index or outside its dimensions"),
        rule.span,
        format!("for example {}", witness(sets, &outside)?),
    )
    .hint(format!(
        "restrict the iterators by comparisons such as `(0 <= {})`, or give the head's dimensions, such as {}",
        rule.iterators[0],
        dimensions(name, &rule.iterators, &|position| {
            let text = extents[position].to_string();
            if text.contains('(') { "..".into() } else { text }
        })
    ))
    .into())
}

/// A point of a non-empty set, in words.
pub(crate) fn witness(sets: &Sets, set: &Set) -> Result<String, dastac_poly::Error> {
    let Some(point) = set.sample()? else { return Ok("nowhere".into()) };
    let coords: Vec<String> = point.coords.iter().map(i64::to_string).collect();
    let mut text = format!("at ({})", coords.join(", "));
    let params: Vec<String> = point
        .params
        .iter()
        .map(|(name, value)| format!("{} = {value}", sets.names.original(name)))
        .collect();
    if !params.is_empty() {
        text += &format!(" with {}", params.join(", "));
    }
    Ok(text)
}

/// What a statement reads or writes of a tensor.
#[derive(Clone, Debug)]
pub struct StatementAccess<'a> {
    /// The statement.
    pub statement: &'a Statement,
    /// The read; nothing for what it writes, an element of its rule's head.
    pub read: Option<&'a Read>,
    /// One expression a position, over the statement's iterators.
    pub subscripts: Vec<Affine>,
}

impl StatementAccess<'_> {
    /// Whether the subscripts are sorted before the element is read.
    pub fn is_sorted(&self) -> bool {
        self.read.is_some_and(|read| !read.sorted.is_empty())
    }

    /// The elements at the subscripts, at all points of the statement's domain.
    pub fn elements(&self, sets: &Sets) -> Result<Set, InferError> {
        let map = sets.access(&self.statement.iterators, &self.subscripts)?;
        Ok(self.statement.domain.apply(&map)?)
    }
}

impl Inferred {
    /// All accesses to a tensor, in program order; in a statement, reads come first.
    pub fn accesses(&self, tensor: TensorId) -> impl Iterator<Item = StatementAccess<'_>> {
        self.rules.iter().flat_map(move |rule| {
            let written = rule.head == tensor;
            rule.statements.iter().flat_map(move |statement| {
                let reads = statement.reads.iter().filter(move |read| read.tensor == tensor);
                let reads = reads.map(move |read| StatementAccess {
                    statement,
                    read: Some(read),
                    subscripts: read.subscripts.clone(),
                });
                let subscripts = || self.program.rules[rule.rule.0].subscripts();
                let write = written.then(|| StatementAccess {
                    statement,
                    read: None,
                    subscripts: subscripts(),
                });
                reads.chain(write)
            })
        })
    }

    /// The elements of an input that the computation reads; all unique elements of a computed tensor, and of one that
    /// is read beside dynamic tensors: which of its elements that are is known only then.
    pub fn used(&self, tensor: TensorId) -> Result<Set, InferError> {
        let structured = &self.tensors[tensor.0];
        let of_levels = |rule: &InferredRule| {
            let mut reads = rule.statements.iter().flat_map(|statement| &statement.reads);
            self.program.is_over_levels(rule.rule) && reads.any(|read| read.tensor == tensor)
        };
        if self.program.tensor(tensor).rule().is_some() || self.rules.iter().any(of_levels) {
            return Ok(structured.unique.clone());
        }
        let mut used = self.sets.empty(&structured.iterators)?;
        for access in self.accesses(tensor) {
            if access.is_sorted() {
                return Ok(structured.unique.clone());
            }
            used = used.union(&access.elements(&self.sets)?)?;
        }
        let used = as_one(used.simplify()?, &structured.unique)?;
        Ok(named(&self.sets, &used, &structured.iterators)?)
    }

    /// Values of all parameters by name, derived symbols too, from values of the symbols in declaration order.
    ///
    /// # Errors
    /// A derived symbol beyond 64 bits, a divisor that is not positive.
    pub fn parameter_values(&self, values: &[i64]) -> Result<BTreeMap<String, i64>, ValueError> {
        let symbols = self.symbol_values(values);
        let value_of = |name: &str| symbols.get(name).copied();
        for divisor in &self.program.divisors {
            match value(divisor, &value_of)? {
                1.. => {}
                found => {
                    return Err(ValueError::Divisor { text: divisor.to_string(), value: found });
                }
            }
        }
        let mut all = symbols.clone();
        for derived in &self.program.derived {
            all.insert(derived.name.clone(), value(&derived.value, &value_of)?);
        }
        Ok(all)
    }

    /// Values of symbols by name, from values in declaration order.
    pub fn symbol_values(&self, values: &[i64]) -> BTreeMap<String, i64> {
        self.program
            .symbols
            .iter()
            .map(|(name, _)| name.clone())
            .zip(values.iter().copied())
            .collect()
    }
}
