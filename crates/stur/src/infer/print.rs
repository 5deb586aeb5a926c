//! Sets and maps in STUR's own notation: what `dastac infer` prints can be pasted into a program.
//!
//! A set is written as a sum of regions, one for each of its basic sets after isl has joined those that fit together. A
//! region is written with and without the constraints that follow from the tensor's dimensions, and the shorter text is
//! taken. Comparisons are solved for their last iterator and joined to chains: `i >= 0`, `j - i - 1 >= 0`,
//! `N - j - 1 >= 0` -> `(0 <= i < j < N)`.

use dastac_poly::{AstBuild, Map, Set};

use super::comparisons::{Writer, flatten};
use super::{InferError, Inferred, Redundancy, named};
use crate::ast::{Item, Term};
use crate::coefficient::Coefficient;
use crate::program::TensorId;
use crate::semiring::Semiring;
use crate::sets::{Affine, Extent, Sets};

/// A set as a sum of products of comparisons over `iterators`; `(0 = 1)` when empty.
pub fn set_to_stur(sets: &Sets, set: &Set, iterators: &[String]) -> Result<String, InferError> {
    let everything = sets.universe(iterators)?;
    Ok(sum(&regions(sets, set, &everything, iterators)?))
}

/// A condition on points of `within` as a sum of products of comparisons: what holds for all of these may be left out.
pub fn condition_to_stur(
    sets: &Sets,
    set: &Set,
    within: &Set,
    iterators: &[String],
) -> Result<String, InferError> {
    let short = sum(&regions(sets, set, within, iterators)?);
    Ok(shortest(set_to_stur(sets, set, iterators)?, short))
}

fn sum(regions: &[String]) -> String {
    if regions.is_empty() { "(0 = 1)".into() } else { regions.join(" + ") }
}

/// The declarations that describe what is known of a tensor, one on each line: `T:D`, `T:U` unless it is all of `:D`,
/// and `T:R`; or `T:D` and `T:F`. `T:U` and `T:R` are comments if the redundancy map sorts many positions, or if the
/// tensor is computed by a reduction that is not a sum. A scalar has none.
pub fn declarations(inferred: &Inferred, id: TensorId) -> Result<Vec<String>, InferError> {
    let tensor = inferred.program.tensor(id);
    let structured = &inferred.tensors[id.0];
    let (name, sets, iterators) = (&tensor.name, &inferred.sets, &structured.iterators);
    if tensor.rank == 0 {
        return Ok(Vec::new());
    }
    let head = iterators.join(", ");
    let mut lines = vec![format!("{name}:D({head}) := {}", box_to_stur(sets, structured))];
    if let Some(storage) = &tensor.format {
        lines.push(format!("{name}:F({head}) := {}", storage.format.spelled(iterators)));
        return Ok(lines);
    }
    let whole = sets.box_set(iterators, &structured.extents)?;
    let unique = shortest(
        sum(&regions(sets, &structured.unique, &sets.universe(iterators)?, iterators)?),
        sum(&regions(sets, &structured.unique, &whole, iterators)?),
    );
    let sorted = structured.redundancy.iter().find_map(|piece| match piece {
        Redundancy::Sorted { classes, .. } => Some(classes),
        Redundancy::Affine { .. } => None,
    });
    if let Some(classes) = sorted {
        for class in classes {
            let names: Vec<&str> = class.iter().map(|&k| iterators[k].as_str()).collect();
            let names = names.join(", ");
            lines.push(format!(
                "# {name} is symmetric in ({names}): an element equals the one whose subscripts there are in \
                ascending order"
            ));
        }
        lines.push(format!("# {name}:U({head}) := {unique}"));
        return Ok(lines);
    }
    // They describe the result of a reduction that is not a sum, but cannot be declared for it.
    let rule = tensor.rule().map(|id| &inferred.program.rules[id.0]);
    let is_sum = rule.is_none_or(|rule| rule.semiring == Semiring::SumTimes);
    let mark = if is_sum { "" } else { "# " };
    if unique != ALL || !structured.redundancy.is_empty() {
        lines.push(format!("{mark}{name}:U({head}) := {unique}"));
    }
    let mut products = Vec::new();
    for piece in &structured.redundancy {
        let Redundancy::Affine { map, coefficient } = piece else { continue };
        let everything = sets.universe(iterators)?;
        let full = map_products(sets, map, coefficient, &everything, iterators)?;
        let within = map_products(sets, map, coefficient, &whole, iterators)?;
        products.push(shortest(sum(&full), sum(&within)));
    }
    if !products.is_empty() {
        let targets = targets(sets, iterators).join(", ");
        lines.push(format!("{mark}{name}:R({head}, {targets}) := {}", products.join(" + ")));
    }
    Ok(lines)
}

/// The shorter of two texts, the second if they are equally long.
fn shortest(full: String, within: String) -> String {
    if full.len() < within.len() { full } else { within }
}

/// The condition that always holds.
const ALL: &str = "(0 = 0)";

/// The names of the targets of a redundancy map: `ip` for `i`, unless that name has another meaning.
fn targets(sets: &Sets, iterators: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for iterator in iterators {
        let mut name = format!("{iterator}p");
        while iterators.contains(&name) || names.contains(&name) || sets.names.is_symbol(&name) {
            name.push('p');
        }
        names.push(name);
    }
    names
}

/// A redundancy piece as a sum of products of comparisons, the target of `i` called `ip`.
pub fn map_to_stur(
    sets: &Sets,
    map: &Map,
    coefficient: &Coefficient,
    iterators: &[String],
) -> Result<String, InferError> {
    Ok(sum(&map_products(sets, map, coefficient, &sets.universe(iterators)?, iterators)?))
}

fn map_products(
    sets: &Sets,
    map: &Map,
    coefficient: &Coefficient,
    within: &Set,
    iterators: &[String],
) -> Result<Vec<String>, InferError> {
    let writer = Writer { sets, iterators };
    let mut products = Vec::new();
    for (domain, outputs) in map.as_pieces()? {
        for region in regions(sets, &domain, within, iterators)? {
            let mut factors = Vec::new();
            if !coefficient.is_one() {
                factors.push(coefficient.to_stur(&|symbol| sets.names.symbol(symbol)));
            }
            if region != ALL {
                factors.push(region);
            }
            for (target, output) in targets(sets, iterators).iter().zip(&outputs) {
                let value = Affine::of_integers(&output.expr()?, iterators)
                    .map_or_else(|| output.to_string(), |value| writer.affine(&value));
                factors.push(format!("({target} = {value})"));
            }
            products.push(factors.join(" * "));
        }
    }
    Ok(products)
}

/// The dimensions: one product for each combination of regions.
fn box_to_stur(sets: &Sets, structured: &super::Structured) -> String {
    let writer = Writer { sets, iterators: &structured.iterators };
    let mut products = vec![Vec::new()];
    for (iterator, Extent { regions }) in structured.iterators.iter().zip(&structured.extents) {
        let regions: Vec<String> = regions
            .iter()
            .map(|bounds| {
                let bounds = bounds.iter().enumerate().map(|(k, bound)| match k {
                    0 => format!("(0 <= {iterator} < {})", writer.affine(bound)),
                    _ => format!("({iterator} < {})", writer.affine(bound)),
                });
                bounds.collect::<Vec<_>>().join(" * ")
            })
            .collect();
        products = products
            .iter()
            .flat_map(|product: &Vec<String>| {
                regions.iter().map(|region| product.iter().chain([region]).cloned().collect())
            })
            .collect();
    }
    products.iter().map(|product| product.join(" * ")).collect::<Vec<_>>().join(" + ")
}

/// The products whose sum is a set, for points of `within`.
fn regions(
    sets: &Sets,
    set: &Set,
    within: &Set,
    iterators: &[String],
) -> Result<Vec<String>, InferError> {
    let set = set.intersect(within)?.coalesce()?.gist(within)?.coalesce()?;
    let set = named(sets, &set, iterators)?;
    let build = AstBuild::from_context(&sets.universe(&[])?.params_set()?)?;
    let writer = Writer { sets, iterators };
    let mut regions = Vec::new();
    let text = |basic: &Set| -> Result<String, InferError> {
        let mut factors = Vec::new();
        let condition = build.expr_from_set(basic)?;
        flatten(&condition, &mut factors);
        let region = writer.region(&factors);
        Ok(if region.is_empty() { ALL.to_string() } else { region.join(" * ") })
    };
    // With all floors known, each part is one condition.
    for basic in set.compute_divs()?.basic_sets()? {
        let mut region = text(&basic)?;
        // isl may be wrong about remainders of what may be negative.
        let divides = region.contains(['%', '/']);
        if divides && !is_read_as(sets, &region, &basic, within, iterators)? {
            region = text(&named(sets, &basic.intersect(within)?, iterators)?)?;
        }
        regions.push(region);
    }
    Ok(regions)
}

/// Whether comparisons hold at the points of a set, as far as these are within another one.
fn is_read_as(
    sets: &Sets,
    text: &str,
    set: &Set,
    within: &Set,
    iterators: &[String],
) -> Result<bool, InferError> {
    let (file, _) = crate::parse(&format!("T:U({}) := {text}", iterators.join(", ")));
    let [Item::Rule(rule)] = file.items.as_slice() else { return Ok(true) };
    let factors = match &rule.body {
        Term::Product(factors, _) => factors.as_slice(),
        factor => std::slice::from_ref(factor),
    };
    let comparisons = factors.iter().map(|factor| match factor {
        Term::Comparison(comparison) => Some(comparison.clone()),
        _ => None,
    });
    let Some(comparisons) = comparisons.collect::<Option<Vec<_>>>() else { return Ok(true) };
    let Ok(read) = sets.set(iterators, &[], &comparisons) else { return Ok(true) };
    let inside = |set: &Set| set.intersect(within);
    Ok(inside(&named(sets, &read, iterators)?)?.is_equal(&inside(set)?)?)
}
