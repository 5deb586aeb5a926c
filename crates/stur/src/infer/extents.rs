//! Extents of tensors: those of heads without `:D`, and checks that elements are within them.

use dastac_poly::Set;

use super::declared::projected_bounds;
use super::{InferError, Space, Structured, side, unbounded, witness};
use crate::ast::{BinaryOp, CompareOp, Comparison, Expr, ExprKind, PLACE};
use crate::diagnostic::Diagnostic;
use crate::program::{Product, Program, Rule, RuleId, TensorId};
use crate::sets::{Affine, Extent, Sets, upper_bounds};

/// A bound that no extent of a program exceeds.
const LARGE: i64 = 1 << 40;

/// Whether the head's dimensions, whatever they are, bound all iterators of a product that are loops.
pub(super) fn within_a_box(
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
pub(super) fn dimensions(
    name: &str,
    iterators: &[String],
    extent: &dyn Fn(usize) -> String,
) -> String {
    let iterators = with_letters(iterators);
    let bounds: Vec<String> = iterators
        .iter()
        .enumerate()
        .map(|(k, iterator)| format!("(0 <= {iterator} < {})", extent(k)))
        .collect();
    format!("`{name}:D({}) := {}`", iterators.join(", "), bounds.join(" * "))
}

/// The iterators, with letters for those that no text has.
fn with_letters(iterators: &[String]) -> Vec<String> {
    let mut letters = ["i", "j", "k", "l", "m", "n", "p", "q"]
        .into_iter()
        .filter(|letter| iterators.iter().all(|iterator| iterator != letter));
    let mut shown = |name: &String| match name.contains(PLACE) {
        true => letters.next().map_or_else(|| name.clone(), String::from),
        false => name.clone(),
    };
    iterators.iter().map(&mut shown).collect()
}

/// At most this many regions of one product determine an extent.
const MAX_REGIONS: usize = 64;

/// Extents of a head without `:D`: for each iterator the bounds that its comparisons and the operands' extents give,
/// the largest over products.
pub(super) fn head_extents<'a>(
    sets: &Sets,
    known: &dyn Fn(TensorId) -> Option<&'a Structured>,
    rule: &Rule,
    spaces: &[Space],
) -> Result<Vec<Extent>, InferError> {
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
                // If possible, sizes do not depend on which elements of the operands are zero.
                // Nor on remainders, as for all bounds of the box.
                let plain =
                    |comparison: &&Comparison| !comparison.operands.iter().any(has_remainder);
                let plain: Vec<Comparison> =
                    product.comparisons.iter().filter(plain).cloned().collect();
                let around = within_boxes(sets, known, product, (space, &plain))?;
                let whole = within_boxes(sets, known, product, (space, &product.comparisons))?;
                for points in [&around, &whole, &space.domain] {
                    bound = match bound {
                        None => projected_bounds(sets, points, position)?,
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

fn has_remainder(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Name(_) => false,
        ExprKind::Neg(inner) => has_remainder(inner),
        ExprKind::Binary(op, left, right) => {
            *op == BinaryOp::Mod || has_remainder(left) || has_remainder(right)
        }
    }
}

/// The points at which comparisons of a product hold and all of its accesses are within the operands' dimensions.
fn within_boxes<'a>(
    sets: &Sets,
    known: &dyn Fn(TensorId) -> Option<&'a Structured>,
    product: &Product,
    (space, comparisons): (&Space, &[Comparison]),
) -> Result<Set, InferError> {
    let mut points = sets.set(&product.iterators, &[], comparisons)?;
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
pub(super) fn check_in_box(
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
        "{}give the head's dimensions, such as {}",
        match rule.iterators.iter().find(|name| !name.contains(PLACE)) {
            Some(name) => {
                format!("restrict the iterators by comparisons such as `(0 <= {name})`, or ")
            }
            None => String::new(),
        },
        dimensions(name, &rule.iterators, &|position| {
            let text = extents[position].to_string();
            if text.contains('(') { "..".into() } else { text }
        })
    ))
    .into())
}
