//! Iterators that go over two dimensions of different extents: `A(i, j) * B(j, k)`, where `A` has `j < M` and `B` has
//! `j < N`. Such a program has a meaning, since elements outside of a tensor are zero, but most often its author forgot
//! that two names stand for the same number.
//!
//! It is taken as meant where the rule says something else about the iterator (a comparison, or a subscript of several
//! terms, as convolutions have), where one extent is a number and the other one is not, and where one is at most the
//! other for all sizes (`N - 1` beside `N`).

use std::collections::BTreeMap;

use super::{InferError, Inferred};
use crate::affine::names;
use crate::ast::{Comparison, Span};
use crate::diagnostic::Diagnostic;
use crate::program::{Product, TensorId};
use crate::sets::{Extent, Sets, affine};

/// The code of the warning.
pub(super) const DISAGREEMENT: &str = "W0108";

/// A dimension that an iterator goes over.
#[derive(Clone, Copy)]
struct Dimension {
    tensor: TensorId,
    position: usize,
    /// The access.
    span: Span,
}

/// Warnings (W0108) about iterators that go over dimensions of different extents.
///
/// # Errors
/// Failures of isl.
pub fn disagreements(inferred: &Inferred) -> Result<Vec<Diagnostic>, InferError> {
    let mut known = BTreeMap::new();
    let mut found: Vec<Diagnostic> = Vec::new();
    for rule in &inferred.program.rules {
        // Of the head's iterators in the products before: a sum of tensors is over the dimensions of all of them.
        let mut summed: Vec<(&str, Dimension)> = Vec::new();
        let is_declared = inferred.program.tensor(rule.head).domain.is_some();
        for product in &rule.products {
            let mut seen: Vec<(&str, Dimension)> = Vec::new();
            for (iterator, dimension) in dimensions(inferred, product) {
                if is_said_otherwise(product, iterator) {
                    continue;
                }
                let of = |all: &[(&str, Dimension)]| {
                    all.iter().find(|(name, _)| *name == iterator).map(|(_, first)| *first)
                };
                let beside = of(&seen);
                let first = beside.or_else(|| of(&summed));
                if beside.is_none() {
                    seen.push((iterator, dimension));
                }
                let Some(first) = first else { continue };
                let joined = if beside.is_some() { Joined::Multiplied } else { Joined::Added };
                let [one, other] = [first, dimension].map(|one| extent(inferred, one));
                if one == other {
                    continue;
                }
                let key = (one.to_string(), other.to_string());
                let differ = match known.get(&key) {
                    Some(differ) => *differ,
                    None => differ(&inferred.sets, one, other)?,
                };
                known.insert(key, differ);
                if differ {
                    let warning = warning(inferred, iterator, [first, dimension], joined);
                    let again = |one: &Diagnostic| {
                        one.labels[1..] == warning.labels[1..] && one.message == warning.message
                    };
                    if !found.iter().any(again) {
                        found.push(warning);
                    }
                }
            }
            let of_head = |one: &(&str, Dimension)| rule.iterators.iter().any(|own| own == one.0);
            if !is_declared {
                summed.extend(seen.into_iter().filter(of_head));
            }
        }
    }
    Ok(found)
}

/// The subscripts of a product that are single iterators.
fn dimensions<'a>(inferred: &Inferred, product: &'a Product) -> Vec<(&'a str, Dimension)> {
    let mut all = Vec::new();
    for access in &product.accesses {
        for (position, subscript) in access.subscripts.iter().enumerate() {
            let one = affine(subscript).ok();
            let name = one.as_ref().and_then(|one| one.as_name());
            let iterator = product.iterators.iter().find(|own| Some(own.as_str()) == name);
            let extents = inferred.tensors[access.tensor.0].extents.len();
            if let Some(iterator) = iterator.filter(|_| position < extents) {
                let dimension = Dimension { tensor: access.tensor, position, span: access.span };
                all.push((iterator.as_str(), dimension));
            }
        }
    }
    all
}

/// Whether a product says more about an iterator than which dimensions it goes over.
fn is_said_otherwise(product: &Product, iterator: &str) -> bool {
    let compared = |comparison: &Comparison| {
        comparison
            .operands
            .iter()
            .any(|operand| names(operand).iter().any(|name| *name == iterator))
    };
    let subscripts = product.accesses.iter().flat_map(|access| &access.subscripts);
    let mut sums = subscripts.filter(|subscript| {
        affine(subscript).ok().is_none_or(|subscript| subscript.as_name().is_none())
    });
    let position = |name: &Option<String>| name.as_deref() == Some(iterator);
    product.comparisons.iter().any(compared)
        || sums.any(|subscript| names(subscript).iter().any(|name| *name == iterator))
        || product.accesses.iter().any(|access| position(&access.position))
}

fn extent(inferred: &Inferred, dimension: Dimension) -> &Extent {
    &inferred.tensors[dimension.tensor.0].extents[dimension.position]
}

/// Whether two extents differ in a way that is hardly meant.
fn differ(sets: &Sets, one: &Extent, other: &Extent) -> Result<bool, InferError> {
    if is_number(one) != is_number(other) {
        return Ok(false);
    }
    let iterators = ["i".to_string()];
    let one_box = sets.box_set(&iterators, std::slice::from_ref(one))?;
    let other_box = sets.box_set(&iterators, std::slice::from_ref(other))?;
    if is_number(one) {
        return Ok(!one_box.is_equal(&other_box)?);
    }
    Ok(!one_box.is_subset(&other_box)? && !other_box.is_subset(&one_box)?)
}

/// Whether an extent is a number, not an expression of symbols.
fn is_number(extent: &Extent) -> bool {
    extent.regions.iter().flatten().all(|bound| bound.terms.is_empty())
}

/// How two tensors come together.
#[derive(Clone, Copy)]
enum Joined {
    /// They are in one product.
    Multiplied,
    /// They are in products that are added up.
    Added,
}

fn warning(
    inferred: &Inferred,
    iterator: &str,
    [first, second]: [Dimension; 2],
    joined: Joined,
) -> Diagnostic {
    let program = &inferred.program;
    let name = |one: Dimension| &program.tensor(one.tensor).name;
    let message = format!(
        "`{iterator}` goes over `{}`, which has {} there, and over `{}`, which has {}",
        name(first),
        extent(inferred, first),
        name(second),
        extent(inferred, second)
    );
    let label = match joined {
        Joined::Multiplied => "elements outside of a tensor are zero, so the smaller one counts",
        Joined::Added => "elements outside of a tensor are zero, so the larger one counts",
    };
    let declared = |one: Dimension| {
        let label =
            format!("position {} of `{}`: {}", one.position + 1, name(one), extent(inferred, one));
        (program.declared_at(one.tensor), label)
    };
    let mut warning = Diagnostic::warning(DISAGREEMENT, message, second.span, label);
    for (span, label) in [declared(first), declared(second)] {
        warning = warning.label(span, label);
    }
    warning.hint(fix(inferred, iterator, first, second))
}

/// How the second tensor is declared with the extent of the first, and how the difference is said to be meant.
fn fix(inferred: &Inferred, iterator: &str, first: Dimension, second: Dimension) -> String {
    let tensor = inferred.program.tensor(second.tensor);
    let (wanted, found) = (extent(inferred, first), extent(inferred, second));
    let meant =
        format!("a comparison such as `({iterator} < {wanted})` in the rule says that it is meant");
    let [bounds] = wanted.regions.as_slice() else { return meant };
    let ([_], Some(domain)) = (bounds.as_slice(), &tensor.domain) else { return meant };
    let iterators = domain.iterators.join(", ");
    let own = &domain.iterators[second.position];
    // Two numbers are not the same; two expressions of symbols may be.
    let same = match is_number(wanted) && is_number(found) {
        true => format!("if `{}` has {wanted} there too", tensor.name),
        false => "if the two are the same number".into(),
    };
    format!("{same}, write `{}:D({iterators}) := (0 <= {own} < {wanted}) ..`; {meant}", tensor.name)
}
