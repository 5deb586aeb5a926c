//! Structure that the program declares: boxes, unique sets and redundancy maps of inputs, and of heads, where they are
//! promises.
//!
//! Checked here: dimensions are bounded and non-negative; the redundancy map is single-valued, leads into the unique
//! set, and its domain does not meet the unique set. Of a head also: that the rule makes it true ([`head`]).

use std::collections::BTreeMap;

use dastac_poly::{Map, Set};

use super::group::{Group, Signed};
use super::relations::Relations;
use super::{InferError, Redundancy, Structured, named, side, symmetry, unbounded, witness};
use crate::coefficient::Coefficient;
use crate::diagnostic::Diagnostic;
use crate::program::{Program, RuleId, Structure, TensorId};
use crate::sets::{Affine, Extent, Sets, upper_bounds};

/// A declared box.
#[derive(Clone)]
pub(crate) struct Declared {
    /// Elements within `:D`.
    pub set: Set,
    /// Extents of the dense array.
    pub extents: Vec<Extent>,
}

/// The structures of inputs that were computed already, by their declarations.
#[derive(Default)]
pub(crate) struct Inputs {
    structures: BTreeMap<String, Structured>,
    /// The structure that follows from `:D` alone.
    boxes: BTreeMap<String, Declared>,
}

/// Structure of an input, from its `:D`, `:U` and `:R`.
pub(crate) fn input(
    program: &Program,
    sets: &Sets,
    id: TensorId,
    inputs: &mut Inputs,
) -> Result<Structured, InferError> {
    let tensor = program.tensor(id);
    let mut key = if tensor.format.is_some() { "dynamic: ".to_string() } else { String::new() };
    for structure in [&tensor.domain, &tensor.unique, &tensor.redundancy] {
        key += &structure.as_ref().map_or(Ok("none".into()), |s| sets.key(s))?;
        key += " | ";
    }
    if tensor.domain.is_some() || tensor.unique.is_some() {
        if let Some(known) = inputs.structures.get(&key) {
            return Ok(known.clone());
        }
        let structured = work_out(program, sets, id, &mut inputs.boxes)?;
        inputs.structures.insert(key, structured.clone());
        return Ok(structured);
    }
    work_out(program, sets, id, &mut inputs.boxes)
}

fn work_out(
    program: &Program,
    sets: &Sets,
    id: TensorId,
    boxes: &mut BTreeMap<String, Declared>,
) -> Result<Structured, InferError> {
    let tensor = program.tensor(id);
    let Some(shape) = tensor.domain.as_ref().or(tensor.unique.as_ref()) else {
        if tensor.rank > 0 {
            return Err(Diagnostic::error(
                "E0303",
                format!("`{}` has no dimensions", tensor.name),
                tensor.span,
                "read here, but neither computed nor declared",
            )
            .hint(format!("declare them, for example `{}:D(i) := (0 <= i < N)`", tensor.name))
            .into());
        }
        let unique = sets.universe(&[])?;
        return Ok(Structured {
            iterators: Vec::new(),
            extents: Vec::new(),
            unique: unique.clone(),
            redundancy: Vec::new(),
            cancelled: unique.empty_like()?,
            support: unique,
            symmetry: Group::trivial(0),
            exact: true,
        });
    };
    let key = sets.key(shape)?;
    let declared = match boxes.get(&key) {
        Some(known) => known.clone(),
        None => declared_box(sets, &tensor.name, shape)?,
    };
    boxes.insert(key, declared.clone());
    let Declared { set: domain, extents } = declared;
    let iterators = shape.iterators.clone();
    for structure in [&tensor.unique, &tensor.redundancy].into_iter().flatten() {
        locals_bounded(sets, structure, &domain)?;
    }
    let unique = match &tensor.unique {
        Some(unique) => sets.structure(unique)?.intersect(&domain)?,
        None => domain.clone(),
    };
    let unique = named(sets, &unique.simplify()?, &iterators)?;
    let mut structured = Structured {
        iterators,
        extents,
        support: unique.clone(),
        cancelled: unique.empty_like()?,
        unique,
        redundancy: Vec::new(),
        symmetry: Group::trivial(tensor.rank),
        // All of the box, of which a dynamic tensor has some elements.
        exact: tensor.format.is_none(),
    };
    if let Some(declared) = &tensor.redundancy {
        redundancy(sets, &tensor.name, declared, &domain, &mut structured)?;
        structured.symmetry = symmetry::of_redundancy(sets, &structured)?;
    }
    Ok(structured)
}

/// Iterators that are not in the head must be bounded if those of the head are, so that the structure can be
/// enumerated.
fn locals_bounded(sets: &Sets, structure: &Structure, domain: &Set) -> Result<(), InferError> {
    for region in &structure.regions {
        if region.locals.is_empty() {
            continue;
        }
        let all = [structure.iterators.as_slice(), &region.locals].concat();
        // The first half of a redundancy map's iterators, or all of a set's, are the element's.
        let element = Affine::each(&structure.iterators[..domain.rank()]);
        let inside = sets.access(&all, &element)?.intersect_range(domain)?.domain()?;
        let set = sets.set(&all, &[], &region.comparisons)?.intersect(&inside)?;
        for (k, local) in region.locals.iter().enumerate() {
            if !side(&set, structure.iterators.len() + k)?.is_bounded()? {
                return Err(unbounded(local, region.span).into());
            }
        }
    }
    Ok(())
}

/// The declared box of a head, if it has one.
pub(crate) fn head_box(
    program: &Program,
    sets: &Sets,
    id: RuleId,
) -> Result<Option<Declared>, InferError> {
    let tensor = program.tensor(program.rules[id.0].head);
    match &tensor.domain {
        Some(domain) => Ok(Some(declared_box(sets, &tensor.name, domain)?)),
        None => Ok(None),
    }
}

/// The structure of a head with a `:U` or `:R` of its own: the declared one, restricted to elements that may be
/// non-zero, if inference proves that it is true.
///
/// The proof shows that every element that may be non-zero is unique or redundant as declared, and that every redundant
/// element and its target are equal up to the declared coefficient (by the inferred redundancy and symmetry), or both
/// zero.
///
/// # Errors
/// E0309 with a counter-example if the declaration is not true; all errors that the declaration of an input may have.
pub(crate) fn head(
    program: &Program,
    sets: &Sets,
    id: RuleId,
    inferred: Structured,
) -> Result<Structured, InferError> {
    let rule = &program.rules[id.0];
    let tensor = program.tensor(rule.head);
    let Some(declared) = tensor.unique.as_ref().or(tensor.redundancy.as_ref()) else {
        return Ok(inferred);
    };
    let domain = match &tensor.domain {
        Some(domain) => sets.structure(domain)?,
        None => sets.box_set(&inferred.iterators, &inferred.extents)?,
    };
    for structure in [&tensor.unique, &tensor.redundancy].into_iter().flatten() {
        locals_bounded(sets, structure, &domain)?;
    }
    let unique = match &tensor.unique {
        Some(unique) => sets.structure(unique)?.intersect(&domain)?,
        None => domain.clone(),
    };
    let mut wanted =
        Structured { support: unique.clone(), unique, redundancy: Vec::new(), ..inferred.clone() };
    if let Some(declared) = &tensor.redundancy {
        redundancy(sets, &tensor.name, declared, &domain, &mut wanted)?;
    }
    let wrong = |what: String, at: &Set| -> Result<InferError, InferError> {
        let message =
            format!("the declared structure of `{}` does not follow from its rule", tensor.name);
        let example = format!("{what}, for example {}", witness(sets, at)?);
        Ok(Diagnostic::error("E0309", message, declared.span, example)
            .label(rule.span, "computed here")
            .hint("leave `:U` and `:R` out: the structure of computed tensors is inferred, and `dastac infer` shows it")
            .into())
    };
    let missing = inferred.support.subtract(&wanted.support)?;
    if !missing.is_empty()? {
        return Err(wrong("an element may be non-zero that this makes zero".into(), &missing)?);
    }
    let known = Relations::of(&inferred)?;
    for piece in &mut wanted.redundancy {
        let Redundancy::Affine { map, coefficient } = piece else { continue };
        let mut open = map.intersect_domain(&inferred.support)?;
        let zero_to_value = map.intersect_range(&inferred.support)?.subtract(&open)?;
        *map = open.intersect_range(&inferred.support)?.simplify()?;
        // Equalities that are known: an element of the symmetry group first, then the redundancy map.
        let all = [Signed::identity(inferred.iterators.len())];
        let elements = match inferred.symmetry.order() {
            0..=MAX_ELEMENTS => inferred.symmetry.elements(),
            _ => all.to_vec(),
        };
        for element in elements {
            if open.is_empty()? {
                break;
            }
            let images: Vec<Affine> =
                element.image.iter().map(|&k| Affine::name(&inferred.iterators[k])).collect();
            let moved = sets.access(&inferred.iterators, &images)?;
            for (factor, pairs) in &known.0 {
                if factor.times(&Coefficient::sign(element.negative)).as_ref() == Some(coefficient)
                {
                    open = open.subtract(&moved.apply_range(pairs)?)?;
                }
            }
        }
        let open = open.domain()?.union(&zero_to_value.domain()?)?;
        if !open.is_empty()? {
            return Err(wrong("an element may differ from what `:R` makes it".into(), &open)?);
        }
    }
    wanted.unique = wanted.unique.intersect(&inferred.support)?.simplify()?;
    wanted.unique = named(sets, &wanted.unique, &wanted.iterators)?;
    wanted.support = inferred.support;
    let mut redundancy = Vec::new();
    for piece in wanted.redundancy {
        if !piece.domain()?.is_empty()? {
            redundancy.push(piece);
        }
    }
    wanted.redundancy = redundancy;
    Ok(wanted)
}

/// At most this many permutations of a head are tried to prove its declared redundancy.
const MAX_ELEMENTS: usize = 720;

/// The elements of a `:D` (or a `:U` that stands in for it) and the extents of the box around them.
fn declared_box(sets: &Sets, name: &str, structure: &Structure) -> Result<Declared, InferError> {
    let set = sets.structure(structure)?;
    let is_symbol = |name: &str| sets.names.is_symbol(name);
    let mut extents = Vec::new();
    for (position, iterator) in structure.iterators.iter().enumerate() {
        let mut regions: Vec<Vec<Affine>> = Vec::new();
        for region in &structure.regions {
            let mut bounds = upper_bounds(&region.comparisons, iterator, &is_symbol)?;
            if bounds.is_empty() {
                let one = sets.set(&structure.iterators, &region.locals, &region.comparisons)?;
                bounds.extend(projected_bounds(sets, &one, position)?.unwrap_or_default());
            }
            if bounds.is_empty() {
                return Err(Diagnostic::error(
                    "E0304",
                    format!("position {} of `{name}` has no upper bound", position + 1),
                    region.span,
                    format!("nothing here bounds `{iterator}` from above by symbols and numbers"),
                )
                .hint(format!("write it as `(0 <= {iterator} < N)`"))
                .into());
            }
            if !regions.contains(&bounds) {
                regions.push(bounds);
            }
        }
        extents.push(Extent { regions });
    }
    let negative = set.subtract(&sets.box_set(&structure.iterators, &extents)?)?;
    if !negative.is_empty()? {
        return Err(Diagnostic::error(
            "E0305",
            format!("`{name}` has a negative index"),
            structure.span,
            format!("for example {}", witness(sets, &negative)?),
        )
        .hint("indices start at 0: bound every iterator from below, as in `(0 <= i < N)`")
        .into());
    }
    Ok(Declared { set, extents })
}

/// One more than the largest value of a dimension, if that is the least of some affine expressions over symbols: these.
pub(crate) fn projected_bounds(
    sets: &Sets,
    set: &Set,
    position: usize,
) -> Result<Option<Vec<Affine>>, InferError> {
    if set.is_empty()? || !side(set, position)?.is_bounded()? {
        return Ok(None);
    }
    let none: &[String] = &[];
    let mut pieces = Vec::new();
    for (here, value) in set.dim_max(position)?.pieces()? {
        pieces.push((here, value.expr()?));
    }
    let mut bounds = Vec::new();
    for (here, value) in &pieces {
        for (_, other) in pieces.iter().filter(|(_, other)| other != value) {
            let text = format!(
                "[{}] -> {{ : {} > {} }}",
                sets.names.parameters().join(", "),
                value.to_text(none),
                other.to_text(none)
            );
            let above = Set::parse(set.context(), &text)?;
            if !here.intersect_params(&above)?.is_empty()? {
                return Ok(None);
            }
        }
        let Some(bound) = Affine::from_linear(value, &[]) else { return Ok(None) };
        let names = bound.names().into_iter();
        let rename = names.map(|name| (name.clone(), sets.names.original(&name).to_string()));
        let bound = bound.rename(&rename.collect()).add_scaled(&Affine::constant(1), 1);
        let Some(bound) = bound else { return Ok(None) };
        if !bounds.contains(&bound) {
            bounds.push(bound);
        }
    }
    Ok(Some(bounds).filter(|bounds| !bounds.is_empty()))
}

fn redundancy(
    sets: &Sets,
    name: &str,
    declared: &Structure,
    domain: &Set,
    structured: &mut Structured,
) -> Result<(), InferError> {
    let mut seen: Option<Map> = None;
    for (map, coefficient) in sets.redundancy(declared)? {
        let map = map.intersect_domain(domain)?.simplify()?;
        if map.is_empty()? {
            continue;
        }
        let overlap = map.domain()?.intersect(&structured.unique)?;
        if !overlap.is_empty()? {
            return Err(Diagnostic::error(
                "E0306",
                format!("an element of `{name}` is both unique and redundant"),
                declared.span,
                format!("for example {}", witness(sets, &overlap)?),
            )
            .hint("the unique set `:U` and the domain of the redundancy map `:R` must not overlap; without `:U` every \
                element of `:D` is unique")
            .into());
        }
        let outside = map.range()?.subtract(&structured.unique)?;
        if !outside.is_empty()? {
            return Err(Diagnostic::error(
                "E0307",
                format!("the redundancy map of `{name}` leads outside its unique set"),
                declared.span,
                format!("for example to the element {}", witness(sets, &outside)?),
            )
            .hint("every target must be an element of `:U` within `:D`")
            .into());
        }
        let all = match &seen {
            None => map.clone(),
            Some(seen) => seen.union(&map)?,
        };
        let disjoint = match &seen {
            None => true,
            Some(seen) => seen.domain()?.is_disjoint(&map.domain()?)?,
        };
        if !map.is_single_valued()? || !disjoint {
            return Err(Diagnostic::error(
                "E0308",
                format!("the redundancy map of `{name}` gives an element more than one value"),
                declared.span,
                "not a function",
            )
            .hint("every target iterator needs an equality such as `(ip = j)`, and the regions must not overlap")
            .into());
        }
        seen = Some(all);
        structured.support = structured.support.union(&map.domain()?)?;
        structured.redundancy.push(Redundancy::Affine { map, coefficient });
    }
    structured.support = structured.support.simplify()?;
    structured.support = named(sets, &structured.support, &structured.iterators)?;
    Ok(())
}
