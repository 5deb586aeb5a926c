//! Structure inference: the unique set and redundancy map of every tensor, and the iteration domain of every product
//! (dastac paper, sections 2 and 3; STUR's program reasoning rules, decided on isl sets rather than on syntax).
//!
//! For a rule `T(x) := sum over products` the *support* of `T` is the union of the projections of the products'
//! iteration spaces, each restricted to where every operand is structurally non-zero. A redundancy map of `T` is found
//! in two ways, both checked, never assumed:
//! - `symmetry`: permutations of head positions under which the sum of products is unchanged (or negated);
//! - `inherit`: equalities that follow from operands' redundancy and from subscripts that do not tell elements apart.
//!
//! `quotient` makes one redundancy map of both.
//!
//! Invariants of the result: the unique set and the domains of the redundancy pieces are disjoint and together are the
//! support; every redundancy piece is single-valued and maps into the unique set; every statement's domain lies in the
//! head's unique set (after projection) and its reads address unique elements only.

mod agreement;
mod cases;
mod comparisons;
mod declared;
mod extents;
mod fold;
pub mod group;
mod inherit;
mod inline;
mod matching;
mod nothing;
mod parity;
mod print;
mod quotient;
mod relations;
mod statements;
mod structure;
mod symmetry;
mod transforms;

use std::collections::{BTreeMap, BTreeSet};

use dastac_poly::{Context, Set};

use crate::blame::blame;
use crate::diagnostic::Diagnostic;
use crate::expand::{Copied, Stores};
use crate::program::{Product, Program, Rule, RuleId, TensorId};
use crate::semiring::Semiring;
use crate::sets::{Affine, Extent, Sets, affine};
use dastac_formats::Format;

use agreement::{DISAGREEMENT, disagreements};
use extents::{check_in_box, dimensions, head_extents, within_a_box};
pub use fold::fold;
use group::Group;
use nothing::{NOTHING, always_zero};
pub use print::{condition_to_stur, declarations, map_to_stur, set_to_stur};
use quotient::Quotient;
pub use structure::{
    InferError, Inferred, InferredRule, Read, Redundancy, Statement, StatementAccess, Structured,
};
use structure::{MAX_OPERATIONS, as_one};
pub(crate) use structure::{Space, named, side, unbounded, witness};

/// Codes of the warnings that inference finds, beside those of the checker.
pub const INFERRED_WARNINGS: [&str; 2] = [DISAGREEMENT, NOTHING];

/// The warnings (W0108, W0113) that need structures.
///
/// # Errors
/// Failures of isl.
pub fn warnings(inferred: &Inferred) -> Result<Vec<Diagnostic>, InferError> {
    let mut all = disagreements(inferred)?;
    all.extend(always_zero(inferred)?);
    all.sort_by_key(Diagnostic::place);
    Ok(all)
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
    // Keep the rules as they were checked, for the reference evaluator.
    let (derived, divisors) = (program.derived.clone(), program.divisors.clone());
    let program = Program { derived, divisors, ..checked.clone() };
    let (copies, wholes) = (BTreeMap::new(), BTreeSet::new());
    Ok(Inferred { program, sets, tensors, rules, copies, wholes })
}

/// Infers the structure of the intermediates of a program that [`crate::contract::contracted`] made of another one,
/// whose tensors keep the structure that they have: they have the same values, so that their buffers stay the same.
///
/// # Errors
/// As [`infer`]; what is wrong is that a step cannot be a rule of its own.
pub fn infer_contracted(program: &Program, written: &Inferred) -> Result<Inferred, InferError> {
    inferred_again(program, written, &[])
}

/// Infers the statements of a program that [`crate::expand::expanded`] made of another one. Copies store all that is
/// [around](Structured::around) the elements of what they are copies of.
///
/// # Errors
/// As [`infer`].
pub fn infer_expanded(
    program: &Program,
    packed: &Inferred,
    copies: &[Copied],
) -> Result<Inferred, InferError> {
    inferred_again(program, packed, copies)
}

/// A program of which the first tensors have the structure that they have in another one.
fn inferred_again(
    program: &Program,
    written: &Inferred,
    copies: &[Copied],
) -> Result<Inferred, InferError> {
    let checked = program;
    let program = &crate::normal::normalise(checked).map_err(InferError::User)?;
    let sets = Sets::new(&written.sets.context, program);
    let mut tensors: Vec<Option<Structured>> = vec![None; program.tensors.len()];
    for (own, known) in tensors.iter_mut().zip(&written.tensors) {
        *own = Some(known.clone());
    }
    if program.derived.len() != written.program.derived.len() {
        // Products of symbols that only the new rules have are parameters of sets from here on.
        let params = sets.set(&[], &[], &[])?.params_set()?;
        for own in tensors.iter_mut().flatten() {
            *own = own.within(&params)?;
        }
    }
    for Copied { copy, of, stores, .. } in copies {
        let of = &written.tensors[of.0];
        let symmetry = Group::trivial(of.iterators.len());
        let (whole, exact) = match stores {
            Stores::Elements => {
                let whole = of.around(&sets)?;
                let exact = of.exact && whole.is_subset(&of.support)?;
                (whole, exact)
            }
            Stores::Products(rule, places) => (written.around_products(*rule, places)?, false),
        };
        let (unique, support) = (whole.clone(), whole);
        let whole =
            Structured { unique, support, exact, redundancy: Vec::new(), symmetry, ..of.clone() };
        tensors[copy.0] = Some(whole);
    }
    let uses = Uses::of(program);
    let mut rules = Vec::new();
    for (index, rule) in program.rules.iter().enumerate() {
        let result = infer_rule(program, &sets, &tensors, &uses, RuleId(index));
        let (head, inferred) = blamed(result, program, rule.head)?;
        tensors[rule.head.0] = Some(head);
        rules.push(inferred);
    }
    let (derived, divisors) = (program.derived.clone(), program.divisors.clone());
    let program = Program { derived, divisors, ..checked.clone() };
    let tensors = tensors.into_iter().flatten().collect();
    let mut all = written.copies.clone();
    let mut wholes = written.wholes.clone();
    for one in copies {
        match one.stores {
            Stores::Elements => {
                all.insert(one.copy, written.tensors[one.of.0].support.clone());
            }
            Stores::Products(..) => {
                wholes.insert(one.copy);
            }
        }
    }
    Ok(Inferred { program, sets, tensors, rules, copies: all, wholes })
}

/// At most this many redundancy pieces are made of a symmetry.
const MAX_PIECES: usize = 24;
/// The same limit for a tensor that other rules read, because each piece makes each read a statement of its own.
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

/// A structure that is too complex to find is dropped, because the result is right without it too.
fn or_lost<T>(
    result: Result<T, InferError>,
    without: impl FnOnce() -> Result<T, InferError>,
) -> Result<T, InferError> {
    match result {
        Err(InferError::Poly(dastac_poly::Error::TooComplex { .. })) => without(),
        result => result,
    }
}

/// If sets take isl more steps than the context allows, the program is the cause, and the error names their tensor.
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
    let declared = match declared {
        None => bounded(program, sets, &known, id)?,
        declared => declared.map(|declared| (declared.set, declared.extents)),
    };
    let mut spaces = Vec::new();
    for product in &rule.products {
        let head_box = declared.as_ref().map(|(set, _)| set);
        spaces.push(space(program, sets, &known, rule, product, head_box)?);
    }
    let extents = match declared {
        Some((_, extents)) => extents,
        None => head_extents(sets, &known, rule, &spaces)?,
    };

    // From here on, all elements that a product reads are structurally there.
    let (mut products, mut of) = (Vec::new(), Vec::new());
    let mut parts = Vec::new();
    for (index, (product, space)) in rule.products.iter().zip(spaces).enumerate() {
        let cases = match product.functions.is_empty() {
            true => vec![(product.clone(), space)],
            false => cases::cases(sets, &known, rule, product, &space)?,
        };
        for (product, space) in cases {
            products.push(product);
            parts.push(space);
            of.push(index);
        }
    }
    let rule = &Rule { products, ..rule.clone() };
    let spaces = parts;

    let head = rule.subscripts();
    let mut spaces = spaces;
    let structured = match known(rule.head) {
        Some(given) => {
            within(sets, rule, &mut spaces, given)?;
            given.clone()
        }
        None => computed(program, sets, &known, uses, (id, rule), (&spaces, extents))?,
    };

    let mut statements = Vec::new();
    for ((product, space), index) in rule.products.iter().zip(&spaces).zip(of) {
        let part = statements::statements(sets, &known, &head, &structured, product, space, index)?;
        statements.extend(part);
    }
    Ok((structured, InferredRule { rule: id, head: rule.head, statements }))
}

/// Restricts products to the elements that a head is known to have, where those of intermediates say less.
fn within(
    sets: &Sets,
    rule: &Rule,
    spaces: &mut [Space],
    given: &Structured,
) -> Result<(), InferError> {
    for (product, space) in rule.products.iter().zip(spaces) {
        let to_head = sets.access(&product.iterators, &rule.subscripts())?;
        if !space.domain.apply(&to_head)?.is_subset(&given.support)? {
            let there = to_head.intersect_range(&given.support)?.domain()?;
            let domain = space.domain.intersect(&there)?.simplify()?;
            space.domain = named(sets, &domain, &product.iterators)?;
        }
    }
    Ok(())
}

/// The structure of a head: of a rule whose products have these iteration spaces.
fn computed<'a>(
    program: &Program,
    sets: &Sets,
    known: &dyn Fn(TensorId) -> Option<&'a Structured>,
    uses: &Uses,
    (id, rule): (RuleId, &Rule),
    (spaces, extents): (&[Space], Vec<Extent>),
) -> Result<Structured, InferError> {
    let head = rule.subscripts();
    let mut supports = Vec::new();
    for (product, space) in rule.products.iter().zip(spaces) {
        let to_head = sets.access(&product.iterators, &head)?;
        supports.push(space.domain.apply(&to_head)?);
    }
    let support = union(supports)?.map_or_else(|| sets.empty(&rule.iterators), Ok)?;
    let mut support = support.simplify()?;
    if support.existentials()? > 0 {
        // As floors, which are the same in each set that is made of this one.
        support = support.compute_divs()?.simplify()?;
    }
    let support = named(sets, &support, &rule.iterators)?;
    check_in_box(program, sets, id, &support, &extents)?;
    let whole = sets.box_set(&rule.iterators, &extents)?;
    let support = match &program.tensor(rule.head).format {
        Some(storage) => with_blocks(sets, rule, &storage.format, support, &whole)?,
        None => support,
    };
    let support = as_one(support, &whole)?;

    // All elements that a dynamic tensor stores are computed, also the redundant ones.
    let dynamic = program.tensor(rule.head).format.is_some();
    // Coefficients, signs too, are factors, which belong to sums of products.
    let other = rule.semiring != Semiring::SumTimes;
    if other {
        without_coefficients(program, known, rule)?;
    }
    // Definitions and guards are part of a product, and how a symmetry changes them is not known.
    let affine = rule.products.iter().all(Product::is_affine);
    // An element that is zero only by cancellation is not *structurally* zero, which is what a reciprocal asks for.
    let signs = !uses.divisors.contains(&rule.head);
    let signs = signs && !other;
    let mut group = Group::trivial(rule.iterators.len());
    let mut forms = Vec::new();
    if affine && !dynamic {
        let space_of = |inner: &Rule, product: &Product| -> Result<Space, InferError> {
            let inner_box = match program.tensor(inner.head).rule() {
                Some(id) => declared::head_box(program, sets, id)?,
                None => None,
            };
            let inner_box = inner_box.as_ref().map(|declared| &declared.set);
            space(program, sets, known, inner, product, inner_box)
        };
        let inlined = sets
            .context
            .limited(MAX_OPERATIONS, || inline::inlined(program, sets, rule, spaces, &space_of));
        forms = or_lost(inlined, || Ok(Vec::new()))?;
    }
    let all_forms = || {
        let own = (affine && !dynamic).then_some((rule, spaces));
        own.into_iter().chain(forms.iter().map(|(rule, spaces)| (rule, spaces.as_slice())))
    };
    for (form, spaces) in all_forms() {
        let found = sets
            .context
            .limited(MAX_OPERATIONS, || symmetry::automorphisms(sets, known, form, spaces, signs));
        group.join(&or_lost(found, || Ok(Group::trivial(rule.iterators.len())))?);
    }
    let max_pieces = if uses.read.contains(&rule.head) { MAX_PIECES_READ } else { MAX_PIECES };
    let quotient = sets.context.limited(MAX_OPERATIONS, || {
        Quotient::symmetric(sets, &rule.iterators, &support, &group, max_pieces)
    });
    let mut quotient = or_lost(quotient, || Ok(Quotient::trivial(&support)))?;
    // Along a redundancy iterators change, and with them functions of iterators.
    let functions = rule.products.iter().flat_map(|product| &product.functions);
    let still = functions.into_iter().all(|function| !function.value.has_iterators());
    // How many elements a window has is the same in the middle, but not at edges, whatever the sizes are: telling these
    // apart costs more than computing it.
    let is_count = |product: &Product| {
        product.accesses.iter().all(|access| access.argument)
            && product.iterators.len() > rule.iterators.len()
    };
    let counts = !rule.products.is_empty() && rule.products.iter().all(is_count);
    let symmetric = quotient.clone();
    for (form, spaces) in all_forms().filter(|_| still && !counts) {
        let found = sets.context.limited(MAX_OPERATIONS, || {
            inherit::inherit(sets, known, form, spaces, &extents, &mut quotient)
        });
        or_lost(found, || Ok(()))?;
    }
    // Each piece makes statements of its own, of the rule and of each that reads it.
    if quotient.unique.basic_set_count()? > max_pieces {
        quotient = symmetric;
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
    declared::head(program, sets, id, structured)
}

/// The dimensions of a head without `:D` if some of its products leave them to others, which have them.
fn bounded<'a>(
    program: &Program,
    sets: &Sets,
    known: &dyn Fn(TensorId) -> Option<&'a Structured>,
    id: RuleId,
) -> Result<Option<(Set, Vec<Extent>)>, InferError> {
    let rule = &program.rules[id.0];
    if !rule.products.iter().any(|product| rule.is_open(product)) {
        return Ok(None);
    }
    let rule = &Rule { products: rule.bounding().cloned().collect(), ..rule.clone() };
    let mut spaces = Vec::new();
    for product in &rule.products {
        spaces.push(space(program, sets, known, rule, product, None)?);
    }
    let extents = head_extents(sets, known, rule, &spaces)?;
    Ok(Some((sets.box_set(&rule.iterators, &extents)?, extents)))
}

/// The elements that a result stores whose format ends in dense levels: whole blocks.
fn with_blocks(
    sets: &Sets,
    rule: &Rule,
    format: &Format,
    support: Set,
    whole: &Set,
) -> Result<Set, InferError> {
    let Some(outer) = format.blocks_of_results() else { return Ok(support) };
    let blocks = sets.quasi_affine(&rule.iterators, outer)?;
    let stored = match outer.is_empty() {
        true => whole.clone(),
        false => blocks.intersect_range(&support.apply(&blocks)?)?.domain()?.intersect(whole)?,
    };
    Ok(named(sets, &stored, &rule.iterators)?)
}

/// A redundant element is a number times another element, but a product with a number is not the semiring's product.
fn without_coefficients<'a>(
    program: &Program,
    known: &dyn Fn(TensorId) -> Option<&'a Structured>,
    rule: &Rule,
) -> Result<(), InferError> {
    let accesses = rule.products.iter().flat_map(|product| &product.accesses);
    for access in accesses.filter(|access| !access.argument) {
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

/// A union of more basic sets is simplified only as a whole.
const MANY: usize = 16;

/// The union of many sets, computed in halves, so that basic sets are joined while there are few of them.
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
            if access.argument {
                let boxed = head_box.is_some();
                let bounds = bounds(sets, rule, product, &affine_subscripts, structured, boxed)?;
                domain = domain.intersect(&bounds)?;
                subscripts.push(affine_subscripts);
                continue;
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
                let (head, iterators) = written(program, rule);
                return Err(match within_a_box(sets, rule, product, &domain)? {
                    // Where it ends is what is asked for.
                    true => error.hint(format!(
                        "{} would settle it",
                        dimensions(head, iterators, &|_| "..".into())
                    )),
                    false if !rule.iterators.contains(iterator) && iterator.len() > 1 => error.hint(format!(
                        "add a comparison such as `(0 <= {iterator} < N)`, or `symbols: {iterator}`; a scalar is \
                        `{iterator}()`"
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

/// The head of a rule and its iterators, for a part of a rule those of the whole: `v` for `v.1`, which no text has.
fn written<'p>(program: &'p Program, rule: &'p Rule) -> (&'p str, &'p [String]) {
    let name = program.tensor(rule.head).name.as_str();
    let whole = name.rsplit_once('.').filter(|(_, number)| number.parse::<u32>().is_ok());
    let whole = whole.and_then(|(whole, _)| {
        program.rules.iter().find(|other| program.tensor(other.head).name == whole)
    });
    whole.map_or((name, &rule.iterators), |whole| {
        (program.tensor(whole.head).name.as_str(), &whole.iterators)
    })
}

/// The points at which an argument of a function is within its dimensions, as far as these bound iterators: those that
/// are its subscripts, but for those of a head that is `boxed`, whose own dimensions bound them, and those that are
/// computed. The argument need not be there: outside of its dimensions it is zero.
fn bounds(
    sets: &Sets,
    rule: &Rule,
    product: &Product,
    subscripts: &[Affine],
    structured: &Structured,
    boxed: bool,
) -> Result<Set, InferError> {
    let mut domain = sets.universe(&product.iterators)?;
    for (k, subscript) in subscripts.iter().enumerate() {
        let Some(name) = product.iterators.iter().find(|name| subscript.as_name() == Some(name))
        else {
            continue;
        };
        let of_box = boxed && rule.iterators.contains(name);
        if !of_box && !product.defines(name) {
            let side = sets.box_set(&structured.iterators[k..=k], &structured.extents[k..=k])?;
            let map = sets.access(&product.iterators, &[Affine::name(name)])?;
            domain = domain.intersect(&map.intersect_range(&side)?.domain()?)?;
        }
    }
    Ok(domain)
}
