//! Layouts of many sets that differ in numbers only: found once, with parameters in the place of the numbers
//! ([`dastac_poly::families`]), and bound to each one's values.
//!
//! A shared layout is taken only where it is as simple as the one that a set of the family has for itself.

use std::collections::BTreeMap;

use dastac_poly::{Family, Set, families};
use dastac_stur::TensorId;
use dastac_stur::infer::Inferred;
use dastac_stur::sets::Affine;

use crate::builder::Builder;
use crate::coordinates::Coordinate;
use crate::fusion::{Piece, Piecewise};
use crate::part::Part;
use crate::{Layout, LayoutError};

/// So many sets of one kind are worth the two searches that it takes to share a layout.
const WORTH_SHARING: usize = 4;

/// Values of a family's parameters.
struct Binding<'a> {
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
            offset: self.piecewise(&part.offset)?,
            all: self.coordinates(&part.all)?,
            count: part.count.fix_params(self.values)?,
        })
    }
}

/// What `find` finds for each set of a family, found for the family and for its first member only: `bind` makes of the
/// former what is a member's (at a position among the sets) where that is as simple as the latter. Nothing for other
/// sets.
fn shared<T: Clone>(
    sets: &[Set],
    find: &dyn Fn(usize, &Set) -> Result<T, LayoutError>,
    is_as_simple: &dyn Fn(&T, &T) -> bool,
    bind: &dyn Fn(&T, &Binding<'_>, usize) -> Result<T, LayoutError>,
) -> Result<Vec<Option<T>>, LayoutError> {
    let mut all: Vec<Option<T>> = vec![None; sets.len()];
    for Family { set, members, .. } in families(sets, WORTH_SHARING)? {
        let Some((first, _)) = members.first() else { continue };
        // What is too hard with parameters may be easy with numbers.
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

fn is_as_simple(family: &Piecewise, own: &Piecewise) -> bool {
    let floors = |index: &Piecewise| index.pieces.iter().map(|p| p.polynomial.floors()).sum();
    let (shared, alone): (usize, usize) = (floors(family), floors(own));
    family.pieces.len() <= own.pieces.len() && shared <= alone
}

impl Layout {
    /// The layouts of all tensors of an inferred program, as [`Layout::of`] finds them for each.
    ///
    /// # Errors
    /// As [`Layout::of`].
    pub fn all(inferred: &Inferred) -> Result<Vec<Layout>, LayoutError> {
        // Arrays of dynamic tensors are what their formats say: nothing is packed, and nothing has to be counted.
        let dynamic = |id: &TensorId| inferred.program.tensor(*id).format.is_some();
        let (boxes, tensors): (Vec<TensorId>, Vec<TensorId>) =
            inferred.program.tensor_ids().partition(dynamic);
        let mut known = Vec::new();
        for id in boxes {
            known.push((id, Layout::dense(inferred, id).or_else(|_| Layout::of(inferred, id))?));
        }
        let mut builders: Vec<Builder> = Vec::new();
        for id in &tensors {
            builders.push(Layout::asked(inferred, *id)?);
        }
        // Sets of one order of loops, without anything else that is asked of their layout.
        let mut alike: BTreeMap<&[usize], Vec<usize>> = BTreeMap::new();
        for (k, builder) in builders.iter().enumerate() {
            if let Some(order) = builder.plain_order() {
                alike.entry(order).or_default().push(k);
            }
        }
        let mut layouts: Vec<Option<Layout>> = vec![None; tensors.len()];
        for places in alike.values() {
            let sets: Vec<Set> = places.iter().map(|k| builders[*k].stored().clone()).collect();
            let found = shared(
                &sets,
                &|k, set| {
                    let blamed = |error: LayoutError| {
                        error.blamed("the layout", &inferred.program, tensors[places[k]])
                    };
                    builders[places[k]].clone().elements(set).build().map_err(blamed)
                },
                &|family: &Layout, own| {
                    family.parts.len() == 1 && is_as_simple(&family.index, &own.index)
                },
                &|family, binding, k| bound(family, binding, &sets[k]),
            )?;
            for (k, layout) in places.iter().zip(found) {
                layouts[*k] = layout;
            }
        }
        let mut all = known;
        for ((id, builder), layout) in tensors.iter().zip(builders).zip(layouts) {
            let blamed = |error: LayoutError| error.blamed("the layout", &inferred.program, *id);
            let layout = layout.map_or_else(|| builder.build(), Ok).map_err(blamed)?;
            all.push((*id, layout.with_structure(&inferred.tensors[id.0])));
        }
        all.sort_by_key(|(id, _)| *id);
        Ok(all.into_iter().map(|(_, layout)| layout).collect())
    }
}

/// The layout of a family's member with these elements.
fn bound(family: &Layout, binding: &Binding<'_>, stored: &Set) -> Result<Layout, LayoutError> {
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
        unique: stored.clone(),
        redundancy: Vec::new(),
        slices: Default::default(),
    })
}
