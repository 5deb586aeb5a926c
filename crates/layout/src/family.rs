//! Layouts of many sets that differ in numbers only. A layout is found once for the family, with parameters in place of
//! the numbers ([`dastac_poly::families`]), and the values of each set are then bound to it.
//!
//! A shared layout is only used if it is as simple as the layout that is found for a set of the family by itself.

use std::collections::BTreeMap;

use dastac_poly::{Family, Set, families};
use dastac_stur::sets::Affine;

use crate::coordinates::Coordinate;
use crate::fusion::{Piece, Piecewise};
use crate::part::Part;
use crate::{Layout, LayoutError};

/// A shared layout costs two searches, so at least this many sets of one kind have to use it.
const WORTH_SHARING: usize = 4;

/// Values of a family's parameters.
pub(crate) struct Binding<'a> {
    values: &'a [(String, i64)],
    images: BTreeMap<String, Affine>,
}

impl Binding<'_> {
    fn new(values: &[(String, i64)]) -> Binding<'_> {
        let images = values.iter().map(|(name, v)| (name.clone(), Affine::constant(*v)));
        Binding { values, images: images.collect() }
    }

    fn piecewise(&self, piecewise: &Piecewise) -> Result<Piecewise, LayoutError> {
        let mut pieces = Vec::new();
        for piece in &piecewise.pieces {
            let domain = piece.domain.fix_params(self.values)?;
            if piecewise.pieces.len() > 1 && domain.is_empty()? {
                continue;
            }
            let polynomial = piece.polynomial.substitute(&self.images);
            pieces.push(Piece { domain, polynomial: polynomial.ok_or(LayoutError::Beyond128)? });
        }
        Ok(Piecewise { dims: piecewise.dims.clone(), pieces })
    }

    fn coordinates(&self, coordinates: &[Coordinate]) -> Result<Vec<Coordinate>, LayoutError> {
        let bound = coordinates.iter().map(|coordinate| {
            let value = coordinate.value.substitute(&self.images);
            let value = value.ok_or(LayoutError::Beyond128)?;
            Ok(Coordinate { name: coordinate.name.clone(), value })
        });
        bound.collect()
    }

    /// The part of a member with these elements.
    fn part(&self, part: &Part, domain: &Set) -> Result<Part, LayoutError> {
        Ok(Part {
            domain: domain.clone(),
            coordinates: self.coordinates(&part.coordinates)?,
            span: part.span.fix_params(self.values)?,
            rank: self.piecewise(&part.rank)?,
            padded: part.padded,
            offset: self.piecewise(&part.offset)?,
            all: self.coordinates(&part.all)?,
            count: part.count.fix_params(self.values)?,
        })
    }
}

/// Calls `find` for each family, and for its first member. If the result for the family is as simple as the one for the
/// member, `bind` makes each member's result from it (given the member's position among the sets). Other sets get
/// `None`.
pub(crate) fn shared<T: Clone>(
    sets: &[Set],
    find: &dyn Fn(usize, &Set) -> Result<T, LayoutError>,
    is_as_simple: &dyn Fn(&T, &T) -> bool,
    bind: &dyn Fn(&T, &Binding<'_>, usize) -> Result<T, LayoutError>,
) -> Result<Vec<Option<T>>, LayoutError> {
    let mut all: Vec<Option<T>> = vec![None; sets.len()];
    for Family { set, members, .. } in families(sets, WORTH_SHARING)? {
        let Some((first, _)) = members.first() else { continue };
        // A set that is too hard with parameters may be easy with numbers.
        let Ok(family) = find(*first, &set) else { continue };
        let own = find(*first, &sets[*first])?;
        if !is_as_simple(&family, &own) {
            all[*first] = Some(own);
            continue;
        }
        for (member, values) in &members {
            all[*member] = Some(bind(&family, &Binding::new(values), *member)?);
        }
    }
    Ok(all)
}

/// The parts that `find` makes of each set.
pub(crate) fn parts(
    sets: &[Set],
    find: &dyn Fn(&Set) -> Result<Vec<Part>, LayoutError>,
) -> Result<Vec<Vec<Part>>, LayoutError> {
    let known = shared(
        sets,
        &|_, set| find(set),
        &|family, own| {
            family.len() == 1 && own.len() == 1 && is_as_simple(&family[0].rank, &own[0].rank)
        },
        &|family, binding, member| {
            family.iter().map(|part| binding.part(part, &sets[member])).collect()
        },
    )?;
    let all = known.into_iter().zip(sets);
    all.map(|(parts, set)| parts.map_or_else(|| find(set), Ok)).collect()
}

pub(crate) fn is_as_simple(family: &Piecewise, own: &Piecewise) -> bool {
    let floors = |index: &Piecewise| index.pieces.iter().map(|p| p.polynomial.floors()).sum();
    let (shared, alone): (usize, usize) = (floors(family), floors(own));
    family.pieces.len() <= own.pieces.len() && shared <= alone
}

/// The layout of the member of a family that has these elements.
pub(crate) fn bound(
    family: &Layout,
    binding: &Binding<'_>,
    stored: &Set,
) -> Result<Layout, LayoutError> {
    let mut parts = Vec::new();
    for part in &family.parts {
        parts.push(binding.part(part, stored)?);
    }
    let symbols = family.symbols.iter().filter(|name| !binding.images.contains_key(*name));
    Ok(Layout {
        dims: family.dims.clone(),
        symbols: symbols.cloned().collect(),
        order: family.order.clone(),
        stored: stored.clone(),
        size: binding.piecewise(&family.size)?,
        index: binding.piecewise(&family.index)?,
        parts,
        align: family.align,
        padded: family.padded,
        unique: stored.clone(),
        redundancy: Vec::new(),
        slices: Default::default(),
    })
}
