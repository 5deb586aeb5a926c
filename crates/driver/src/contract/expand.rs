//! The operands that products read from copies with all of their elements ([`dastac_stur::expand`]).
//!
//! A tensor whose redundant elements follow from others is copied where a product reads each of its elements many times
//! on average, and where the copies fit the memory that intermediates may have. What a copy costs is then small beside
//! what dense operands gain: one statement in place of one for each case of the redundancy map, and loads of
//! neighbours.

use dastac_stur::contract::factors;
use dastac_stur::expand::{Reads, expanded};
use dastac_stur::infer::{InferError, Inferred, Statement, infer_expanded};
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
    program.rules.iter().any(|rule| is_open(rule) && rule.products.iter().any(of))
}

/// Whether a rule leaves the choice open.
fn is_open(rule: &Rule) -> bool {
    rule.schedule.expand.is_none() && !rule.schedule.has_loops() && !rule.preprocess
}

/// The reads that schedules ask for, and those for which copies pay at each of these sizes.
pub(super) fn choose(inferred: &Inferred, sizes: &[Sizes]) -> Result<Reads, Error> {
    let program = &inferred.program;
    let mut reads = Reads::new();
    let mut counted: Vec<(Counted<'_>, f64)> = Vec::new();
    for rule in &inferred.rules {
        let source = &program.rules[rule.rule.0];
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
            if counted.is_empty() {
                for sizes in sizes {
                    let counted_at = Counted::new(inferred, sizes)?;
                    let memory = memory(inferred, &counted_at)?;
                    counted.push((counted_at, memory));
                }
            }
            let own = |statement: &&Statement| statement.product == place;
            let statements: Vec<&Statement> = rule.statements.iter().filter(own).collect();
            for tensor in tensors {
                if pays(inferred, &mut counted, &statements, tensor)? {
                    reads.insert((rule.rule, place, tensor));
                }
            }
        }
    }
    Ok(reads)
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
    reads: &Reads,
) -> Result<(Inferred, Vec<Expanded>), Error> {
    let iterators = |tensor: TensorId| inferred.tensors[tensor.0].iterators.clone();
    let (program, copies) = expanded(&inferred.program, &iterators, reads);
    let found = infer_expanded(&program, inferred, &copies)?;
    let named = |tensor: TensorId| program.tensor(tensor).name.clone();
    let copies = copies.iter().map(|one| Expanded { copy: named(one.copy), of: named(one.of) });
    Ok((found, copies.collect()))
}
