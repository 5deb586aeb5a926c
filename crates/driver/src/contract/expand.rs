//! The operands that products read from copies with all of their elements ([`dastac_stur::expand`]).
//!
//! A tensor whose redundant elements follow from others is copied where a product reads each of its elements many times
//! on average, and where the copies fit the memory that intermediates may have. What a copy costs is then small beside
//! what dense operands gain: one statement in place of one for each case of the redundancy map, and loads of
//! neighbours.
//!
//! A product whose mask divides iterators is computed with all that is around the elements it is added to, where this
//! is not many times as much, and where each element is a long sum.

use dastac_stur::contract::factors;
use dastac_stur::expand::{Stores, Wanted, expanded};
use dastac_stur::infer::{InferError, Inferred, InferredRule, Statement, infer_expanded};
use dastac_stur::masks::{alike, mask};
use dastac_stur::program::{Product, Rule};
use dastac_stur::schedule::Expand;
use dastac_stur::{Program, TensorId};

use super::choose::memory;
use super::cost::Counted;
use super::steps::{Expanded, Sizes};
use crate::Error;

/// A product must read each element so many times.
const READS: f64 = 24.0;
/// A copy may have so many places for each element.
const PLACES: f64 = 1.5;
/// A result may be computed with so many elements around each that it stores.
const AROUND: f64 = 4.0;
/// Statements of products with more of them than this are counted as the box around all.
const MAX_COUNTED: usize = 8;

/// Whether some product might read a tensor from a copy at some sizes.
pub(super) fn may_choose(program: &Program) -> bool {
    let redundant = |tensor: TensorId| {
        let tensor = program.tensor(tensor);
        tensor.format.is_none() && (tensor.redundancy.is_some() || tensor.rule().is_some())
    };
    let of = |product: &Product| {
        let factors = factors(product);
        factors.len() > 1 && factors.iter().any(|at| redundant(product.accesses[*at].tensor))
    };
    program.rules.iter().any(|rule| {
        is_open(rule) && (rule.products.iter().any(of) || !can_be_whole(program, rule).is_empty())
    })
}

/// The products of a rule that may be computed with all that is around the elements they are added to: long sums whose
/// masks divide iterators, which what is computed is read with instead.
fn can_be_whole(program: &Program, rule: &Rule) -> Vec<usize> {
    let plain = rule.fill.is_none()
        && !rule.semiring.is_of_values()
        && program.tensor(rule.head).format.is_none();
    let fits = |product: &Product| {
        let mut tensors = product.accesses.iter().map(|access| access.tensor);
        product.iterators.len() > rule.iterators.len()
            && product.is_affine()
            && tensors.all(|tensor| program.tensor(tensor).format.is_none())
            && !mask(rule, product).is_empty()
    };
    let places = (0..rule.products.len()).filter(|place| fits(&rule.products[*place]));
    if plain { places.collect() } else { Vec::new() }
}

/// Whether a rule leaves the choice open.
fn is_open(rule: &Rule) -> bool {
    rule.schedule.expand.is_none() && !rule.schedule.has_loops() && !rule.preprocess
}

/// The copies that schedules ask for, and those that pay at each of these sizes.
pub(super) fn choose(inferred: &Inferred, sizes: &[Sizes]) -> Result<Wanted, Error> {
    let program = &inferred.program;
    let mut wanted = Wanted::default();
    let reads = &mut wanted.reads;
    let mut counted: Vec<(Counted<'_>, f64)> = Vec::new();
    for rule in &inferred.rules {
        let source = &program.rules[rule.rule.0];
        for group in alike(source, can_be_whole(program, source)) {
            let pays = match &source.schedule.expand {
                Some(Expand::Never) => false,
                Some(Expand::Tensors(names)) => names.contains(&program.tensor(rule.head).name),
                None if sizes.is_empty() || !is_open(source) => false,
                None => {
                    count(&mut counted, inferred, sizes)?;
                    whole_pays(inferred, &mut counted, rule, &group)?
                }
            };
            if pays {
                wanted.results.extend(group.into_iter().map(|place| (rule.rule, place)));
            }
        }
        for (place, product) in source.products.iter().enumerate() {
            let mut tensors: Vec<TensorId> = Vec::new();
            for at in factors(product) {
                let tensor = product.accesses[at].tensor;
                if !tensors.contains(&tensor) && is_redundant(inferred, tensor) {
                    tensors.push(tensor);
                }
            }
            match &source.schedule.expand {
                Some(Expand::Never) => continue,
                Some(Expand::Tensors(names)) => {
                    tensors.retain(|tensor| names.contains(&program.tensor(*tensor).name));
                    reads.extend(tensors.iter().map(|tensor| (rule.rule, place, *tensor)));
                    continue;
                }
                None if sizes.is_empty() || tensors.is_empty() || !is_open(source) => continue,
                None => {}
            }
            count(&mut counted, inferred, sizes)?;
            let own = |statement: &&Statement| statement.product == place;
            let statements: Vec<&Statement> = rule.statements.iter().filter(own).collect();
            for tensor in tensors {
                if pays(inferred, &mut counted, &statements, tensor)? {
                    reads.insert((rule.rule, place, tensor));
                }
            }
        }
    }
    Ok(wanted)
}

/// Makes ready for counting, once; with the bytes that copies may have.
fn count<'a>(
    counted: &mut Vec<(Counted<'a>, f64)>,
    inferred: &'a Inferred,
    sizes: &'a [Sizes],
) -> Result<(), Error> {
    if counted.is_empty() {
        for sizes in sizes {
            let counted_at = Counted::new(inferred, sizes)?;
            let memory = memory(inferred, &counted_at)?;
            counted.push((counted_at, memory));
        }
    }
    Ok(())
}

/// Whether it pays at all sizes to compute all that is around the elements that products are added to; takes the bytes
/// from the memory that is left then.
fn whole_pays(
    inferred: &Inferred,
    counted: &mut [(Counted<'_>, f64)],
    rule: &InferredRule,
    places: &[usize],
) -> Result<bool, Error> {
    let bytes = inferred.program.tensor(rule.head).element.bytes();
    let around = inferred.around_products(rule.rule, places)?;
    if around.existentials().map_err(InferError::from)? > 0 {
        return Ok(false);
    }
    let added = inferred.products_elements(&inferred.program.rules[rule.rule.0], places)?;
    let own = |statement: &&Statement| places.contains(&statement.product);
    let statements: Vec<&Statement> = rule.statements.iter().filter(own).collect();
    let mut taken = Vec::new();
    for (counted, left) in counted.iter() {
        let (elements, stored) = (counted.points(&around)?, counted.points(&added)?);
        #[allow(clippy::cast_precision_loss)]
        let memory = elements * bytes as f64;
        if elements > stored * AROUND
            || memory > *left
            || points(counted, &statements)? < stored * READS
        {
            return Ok(false);
        }
        taken.push(memory);
    }
    for ((_, left), memory) in counted.iter_mut().zip(taken) {
        *left -= memory;
    }
    Ok(true)
}

/// Whether some elements of a packed tensor follow from others, and a copy can store all of them.
fn is_redundant(inferred: &Inferred, tensor: TensorId) -> bool {
    let structured = &inferred.tensors[tensor.0];
    let packed = inferred.program.tensor(tensor).format.is_none();
    packed && !structured.redundancy.is_empty() && inferred.program.fill(tensor) == 0.0
}

/// Whether a copy pays at all sizes; takes its bytes from the memory that is left then.
fn pays(
    inferred: &Inferred,
    counted: &mut [(Counted<'_>, f64)],
    statements: &[&Statement],
    tensor: TensorId,
) -> Result<bool, Error> {
    let bytes = inferred.program.tensor(tensor).element.bytes();
    let structured = &inferred.tensors[tensor.0];
    let around = structured.around(&inferred.sets).map_err(InferError::from)?;
    let mut taken = Vec::new();
    for (counted, left) in counted.iter() {
        let elements = counted.points(&around)?;
        if elements > counted.points(&structured.support)? * PLACES {
            return Ok(false);
        }
        #[allow(clippy::cast_precision_loss)]
        let memory = elements * bytes as f64;
        let points = points(counted, statements)?;
        if points == 0.0 {
            // The product is computed in another way at these sizes.
            taken.push(0.0);
            continue;
        }
        if memory > *left || points < elements * READS {
            return Ok(false);
        }
        taken.push(memory);
    }
    if taken.iter().all(|memory| *memory == 0.0) {
        return Ok(false);
    }
    for ((_, left), memory) in counted.iter_mut().zip(taken) {
        *left -= memory;
    }
    Ok(true)
}

/// The points of a product, at most.
fn points(counted: &Counted<'_>, statements: &[&Statement]) -> Result<f64, Error> {
    let mut points = 0.0;
    if statements.len() <= MAX_COUNTED {
        for statement in statements {
            points += counted.statement(statement)?;
        }
        return Ok(points);
    }
    let mut iterators: Vec<&String> = Vec::new();
    for iterator in statements.iter().flat_map(|statement| &statement.iterators) {
        if !iterators.contains(&iterator) {
            iterators.push(iterator);
        }
    }
    points = 1.0;
    for iterator in iterators {
        points *= counted.extent(statements, iterator)?;
    }
    Ok(points)
}

/// The program with these copies.
pub(super) fn with_copies(
    inferred: &Inferred,
    wanted: &Wanted,
) -> Result<(Inferred, Vec<Expanded>), Error> {
    let iterators = |tensor: TensorId| inferred.tensors[tensor.0].iterators.clone();
    let (program, copies) = expanded(&inferred.program, &iterators, wanted);
    let found = infer_expanded(&program, inferred, &copies)?;
    let named = |tensor: TensorId| program.tensor(tensor).name.clone();
    let copies = copies.iter().map(|one| Expanded {
        copy: named(one.copy),
        of: named(one.of),
        is_result: one.stores != Stores::Elements,
    });
    Ok((found, copies.collect()))
}
