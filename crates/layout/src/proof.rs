//! Proves that an index polynomial is a bijection onto `0..size`, for all values of the symbols.
//!
//! Each part has places, one for each element and for padding. In packing order the first place must have rank 0, and
//! the successor of every place the next rank. Both are statements about polynomials on isl sets, in the part's own
//! coordinates, in which they have few floors or none. Together with the number of places, which was counted, they make
//! the rank a bijection. Then the coordinates must be injective, the parts disjoint, their union the stored elements,
//! and each part must begin where the one before it ends.
//!
//! If places have no gaps, the proof is an induction over the coordinates ([`prove_levels`]), else it uses the
//! successor relation. If rows are aligned, it goes row by row. Floors that isl does not compare are compared case by
//! case ([`crate::floors`]).

use std::collections::BTreeMap;

use dastac_poly::{Map, PwQPolynomial, Set};
use dastac_stur::sets::{Affine, Atom};

use crate::align::Rows;
use crate::coordinates::Coordinates;
use crate::floors::{FloorCase, cases};
use crate::slices::Slices;
use crate::{Layout, LayoutError, Part, Polynomial};

/// The outcome of a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The property holds for all values of the symbols.
    Proven,
    /// isl could not decide it, for this reason. This is not a refutation.
    Undecided(String),
    /// The property does not hold, as this case shows.
    Refuted(String),
}

impl Layout {
    /// Proves that the index is a bijection from the stored elements onto `0..size` or, if rows are aligned, that it is
    /// injective into that range.
    ///
    /// # Errors
    /// Failures of isl. What is too complex to decide is [`Proof::Undecided`].
    pub fn prove_bijection(&self) -> Result<Proof, LayoutError> {
        match self.bijection() {
            Err(LayoutError::Poly(dastac_poly::Error::TooComplex { .. })) => {
                Ok(Proof::Undecided("the sets are too complex to decide".into()))
            }
            result => result,
        }
    }

    fn bijection(&self) -> Result<Proof, LayoutError> {
        if let Some(failure) = self.prove_parts()? {
            return Ok(failure);
        }
        let mut before = PwQPolynomial::zero_on(&self.stored.params_set()?)?;
        for part in &self.parts {
            // All coordinates are injective, and those that were left out follow from the others.
            let all = Coordinates::of(&self.dims, &part.all);
            // Aligned rows keep the last coordinate even if it follows from the others.
            let (kept, image) = match part.coordinates == part.all {
                true => (all.clone(), all.image(&part.domain)?),
                false => all.essential(&part.domain)?,
            };
            if kept.list() != part.coordinates || !all.are_injective(&part.domain)? {
                return Ok(Proof::Refuted(format!("by the coordinates of {}", part.domain)));
            }
            if !image.is_subset(&part.span)? {
                return Ok(Proof::Refuted(format!("by the places of {}", part.domain)));
            }
            let failure = match self.align {
                1 => prove_rank(part)?,
                align => prove_rows(part, &image, align)?,
            };
            if let Some(failure) = failure {
                return Ok(failure);
            }
            let here = part.domain.params_set()?;
            for piece in &part.offset.pieces {
                let here = here.intersect(&piece.domain)?;
                let offset = piece.polynomial.on_params(&here)?;
                if !before
                    .intersect_domain(&here)?
                    .sub(&offset.intersect_domain(&here)?)?
                    .is_zero()?
                {
                    return Ok(Proof::Undecided("where a part begins".into()));
                }
            }
            before = before.add(&part.count)?;
        }
        Ok(Proof::Proven)
    }

    /// `None` if the parts are disjoint and their union is the set of stored elements, else why not.
    fn prove_parts(&self) -> Result<Option<Proof>, LayoutError> {
        let mut whole = self.stored.empty_like()?;
        let mut slices: Vec<Slices> = Vec::new();
        for (k, part) in self.parts.iter().enumerate() {
            let here = Slices::of(&part.domain)?;
            for (other, there) in self.parts[..k].iter().zip(&slices) {
                if !here.disjoint(there) && !part.domain.is_disjoint(&other.domain)? {
                    return Ok(Some(Proof::Refuted(format!(
                        "in the part {}, which others meet",
                        part.domain
                    ))));
                }
            }
            slices.push(here);
            whole = whole.union(&part.domain)?;
        }
        let same = whole.is_equal(&self.stored)?;
        Ok((!same).then(|| Proof::Refuted("by elements in no part".into())))
    }
}

/// Whether the ranks of a part's places are 0, 1, 2, .., by induction over the coordinates. This is false if places
/// have gaps, or if their ends or the rank have several pieces.
///
/// Places that begin with x fill the positions from R(x) on, W(x) of them. For all coordinates, R is the rank and W
/// is 1.
/// If, x being fixed, R(x, t + 1) = R(x, t) + W(x, t) for t from l(x) to h(x), it holds with one coordinate less: R(x)
/// = R(x, l(x)) and W(x) = R(x, h(x)) + W(x, h(x)) - R(x, l(x)). Without any left, R must be 0.
fn prove_levels(part: &Part) -> Result<bool, LayoutError> {
    let [only] = part.rank.pieces.as_slice() else { return Ok(false) };
    let (mut rank, mut width) = (only.polynomial.clone(), Polynomial::constant(1));
    let mut places = part.span.clone();
    let mut dims = part.rank.dims.as_slice();
    while let Some((last, prefix)) = dims.split_last() {
        let rows = match Rows::of(&places) {
            Err(LayoutError::Gaps) => return Ok(false),
            rows => rows?,
        };
        let Some(rows) = rows else { return Ok(false) };
        let (all, common) = (dims.join(", "), prefix.join(", "));
        let comma = if prefix.is_empty() { "" } else { ", " };
        let next = format!("{{ [{all}] -> [{common}{comma}{last} + 1] }}");
        let next = Map::parse(places.context(), &next)?;
        let inner = next.intersect_domain(&places)?.intersect_range(&places)?.domain()?;
        let more = Affine::name(last).add_scaled(&Affine::constant(1), 1);
        let Some(more) = more else { return Ok(false) };
        let Some(after) = rank.substitute(&[(last.clone(), more)].into()) else { return Ok(false) };
        let step = &(&after + &rank.scaled(-1)) + &width.scaled(-1);
        if vanishes(&step, &inner, dims)?.is_some() {
            return Ok(false);
        }
        let pieces = rows.ends.as_pieces()?;
        let [(_, ends)] = pieces.as_slice() else { return Ok(pieces.is_empty()) };
        let mut images = Vec::new();
        for end in ends {
            let Some(end) = Affine::from_linear(&end.expr()?, prefix) else { return Ok(false) };
            images.push(BTreeMap::from([(last.clone(), end)]));
        }
        let [low, high] = images.as_slice() else { return Ok(false) };
        let values = (rank.substitute(low), rank.substitute(high), width.substitute(high));
        let (Some(first), Some(end), Some(wide)) = values else { return Ok(false) };
        width = &(&end + &wide) + &first.scaled(-1);
        rank = first;
        places = places.project_out_at(prefix.len(), 1)?.coalesce()?;
        dims = prefix;
    }
    Ok(vanishes(&rank, &places, &[])?.is_none())
}

/// `None` if the rank of the first place of a part is 0.
fn prove_first(part: &Part) -> Result<Option<Proof>, LayoutError> {
    let first = part.span.lexmin()?;
    for piece in &part.rank.pieces {
        let here = first.intersect(&piece.domain)?;
        if let Some(failure) = vanishes(&piece.polynomial, &here, &part.rank.dims)? {
            return Ok(Some(failure));
        }
    }
    Ok(None)
}

/// With more coordinates than this, the successor relation has too many pieces.
const MAX_SUCCESSOR_RANK: usize = 5;

/// `None` if the ranks of a part's places are 0, 1, 2, .. in the order of its coordinates.
fn prove_rank(part: &Part) -> Result<Option<Proof>, LayoutError> {
    let dims = &part.rank.dims;
    if dims.is_empty() || prove_levels(part)? {
        return Ok(None);
    }
    if dims.len() > MAX_SUCCESSOR_RANK {
        return Ok(Some(Proof::Undecided(format!("rank above {MAX_SUCCESSOR_RANK}"))));
    }
    if let Some(failure) = prove_first(part)? {
        return Ok(Some(failure));
    }
    // The successor first differs at depth `k` if no place that differs deeper follows.
    let mut rest = part.span.clone();
    for depth in (0..dims.len()).rev() {
        let successor = after(&part.span, &rest, dims.len(), depth)?.lexmin()?;
        rest = rest.subtract(&successor.domain()?)?.coalesce()?;
        if let Some(failure) = prove_steps(part, &successor)? {
            return Ok(Some(failure));
        }
    }
    Ok(None)
}

/// `None` if each place's rank is one less than its successor's.
fn prove_steps(part: &Part, successor: &Map) -> Result<Option<Proof>, LayoutError> {
    let dims = &part.rank.dims;
    for (domain, outputs) in successor.as_pieces()? {
        let mut images = BTreeMap::new();
        for (dim, output) in dims.iter().zip(&outputs) {
            let Some(image) = Affine::of_integers(&output.expr()?, dims) else {
                return Ok(Some(Proof::Undecided(format!(
                    "the next value of {dim} is not affine"
                ))));
            };
            images.insert(dim.clone(), image);
        }
        for from in &part.rank.pieces {
            for to in &part.rank.pieces {
                let here = match part.rank.pieces.as_slice() {
                    [_] => domain.clone(),
                    _ => {
                        let reach = successor.intersect_range(&to.domain)?.domain()?;
                        domain.intersect(&from.domain)?.intersect(&reach)?
                    }
                };
                if here.is_empty()? {
                    continue;
                }
                let Some(next) = to.polynomial.substitute(&images) else {
                    return Ok(Some(Proof::Undecided("a floor in the index".into())));
                };
                let step = &(&next + &from.polynomial.scaled(-1)) + &Polynomial::constant(-1);
                if let Some(failure) = vanishes(&step, &here, dims)? {
                    return Ok(Some(failure));
                }
            }
        }
    }
    Ok(None)
}

/// `None` if the ranks of the places of rows, which take multiples of `align`, are 0, 1, 2, .. in order. `image` are
/// the elements.
///
/// The last place of a row is described by a floor, which would be in every condition of the successor relation of
/// places. So rows are treated as a whole: ranks rise by one within a row, and from the first place of a row to the
/// first place of the next one by the number of places between.
fn prove_rows(part: &Part, image: &Set, align: u32) -> Result<Option<Proof>, LayoutError> {
    let Some(rows) = Rows::of(image)? else { return prove_rank(part) };
    if !rows.places(align)?.is_equal(&part.span)? {
        return Ok(Some(Proof::Refuted(format!("by the places of rows of {}", part.domain))));
    }
    if let Some(failure) = prove_first(part)? {
        return Ok(Some(failure));
    }
    let dims = &part.rank.dims;
    let Some((last, prefix)) = dims.split_last() else { return Ok(None) };
    let (all, common) = (dims.join(", "), prefix.join(", "));
    let comma = if prefix.is_empty() { "" } else { ", " };
    let context = part.span.context();
    let next = Map::parse(context, &format!("{{ [{all}] -> [{common}{comma}{last} + 1] }}"))?;
    let next = next.intersect_domain(&part.span)?.intersect_range(&part.span)?;
    if let Some(failure) = prove_steps(part, &next)? {
        return Ok(Some(failure));
    }
    let heads = rows.starts.domain()?;
    // Maps a row to its first place, in the space of places.
    let first_place = heads.identity()?.flat_range_product(&rows.starts)?;
    let mut rest = heads.clone();
    for depth in (0..prefix.len()).rev() {
        let successor = after(&heads, &rest, prefix.len(), depth)?.lexmin()?;
        rest = rest.subtract(&successor.domain()?)?.coalesce()?;
        let to_next = successor.apply_range(&first_place)?;
        let known = to_next.flat_range_product(&rows.ends)?;
        for (domain, outputs) in known.as_pieces()? {
            let mut values = Vec::new();
            for output in &outputs {
                let Some(value) = Affine::of_integers(&output.expr()?, prefix) else {
                    return Ok(Some(Proof::Undecided("where a row ends".into())));
                };
                values.push(value);
            }
            let (to_images, row) = values.split_at(dims.len());
            let [start, end] = row else { continue };
            let to_images: BTreeMap<String, Affine> =
                dims.iter().cloned().zip(to_images.iter().cloned()).collect();
            let from_images = BTreeMap::from([(last.clone(), start.clone())]);
            let beyond = || Some(Proof::Undecided("numbers beyond 64 bits".into()));
            let Some(places) = places_of_row(start, end, align) else { return Ok(beyond()) };
            for from in &part.rank.pieces {
                for to in &part.rank.pieces {
                    let leaves = first_place.intersect_range(&from.domain)?.domain()?;
                    let arrives = to_next.intersect_range(&to.domain)?.domain()?;
                    let here = domain.intersect(&leaves)?.intersect(&arrives)?;
                    let next = to.polynomial.substitute(&to_images);
                    let here_rank = from.polynomial.substitute(&from_images);
                    let (Some(next), Some(here_rank)) = (next, here_rank) else {
                        return Ok(beyond());
                    };
                    let step = &(&next + &here_rank.scaled(-1)) + &places.scaled(-1);
                    if let Some(failure) = vanishes(&step, &here, prefix)? {
                        return Ok(Some(failure));
                    }
                }
            }
        }
    }
    Ok(None)
}

/// `align * floor((end - start + align) / align)`.
fn places_of_row(start: &Affine, end: &Affine, align: u32) -> Option<Polynomial> {
    let align = i64::from(align);
    let length = end.add_scaled(start, -1)?.add_scaled(&Affine::constant(align), 1)?;
    let rounded = Atom::Floor(Box::new(length), align);
    Some(Polynomial::from_affine(&Affine { terms: [(rounded, align)].into(), constant: 0 }))
}

/// Maps each place of `from` to all places that come after it and first differ at `depth`.
fn after(span: &Set, from: &Set, rank: usize, depth: usize) -> Result<Map, LayoutError> {
    let tuple = |letter: &str| {
        let names: Vec<String> = (0..rank).map(|k| format!("{letter}{k}")).collect();
        names.join(", ")
    };
    let mut conditions: Vec<String> = (0..depth).map(|k| format!("a{k} = b{k}")).collect();
    conditions.push(format!("a{depth} < b{depth}"));
    let text = format!("{{ [{}] -> [{}] : {} }}", tuple("a"), tuple("b"), conditions.join(" and "));
    let order = Map::parse(span.context(), &text)?;
    Ok(order.intersect_domain(from)?.intersect_range(span)?)
}

/// `None` if the polynomial, over the set's dimensions by these names and parameters, is 0 on the set.
///
/// # Errors
/// Failures of isl.
pub fn vanishes(
    polynomial: &Polynomial,
    set: &Set,
    dims: &[String],
) -> Result<Option<Proof>, LayoutError> {
    let direct = vanishes_as_it_is(polynomial, set, dims)?;
    if !matches!(direct, Some(Proof::Undecided(_))) || polynomial.floors() == 0 {
        return Ok(direct);
    }
    let Some(cases) = cases(polynomial, set, dims)? else { return Ok(direct) };
    for FloorCase { polynomial, set, dims } in cases {
        if vanishes_as_it_is(&polynomial, &set, &dims)?.is_some() {
            return Ok(direct);
        }
    }
    Ok(None)
}

fn vanishes_as_it_is(
    polynomial: &Polynomial,
    set: &Set,
    dims: &[String],
) -> Result<Option<Proof>, LayoutError> {
    if polynomial.is_zero() || set.is_empty()? {
        return Ok(None);
    }
    let params = set.params()?;
    let text =
        format!("[{}] -> {{ [{}] -> {} }}", params.join(", "), dims.join(", "), polynomial.isl());
    let value = PwQPolynomial::parse(set.context(), &text)?;
    for basic in set.make_disjoint()?.basic_sets()? {
        if basic.is_empty()? {
            continue;
        }
        let rest = value.intersect_domain(&basic)?.gist(&basic)?;
        if !rest.is_zero()? {
            // A remainder other than zero refutes the claim only if some point shows it, because equalities may be
            // hidden behind floors.
            if let Some(point) = basic.sample()? {
                let value_of = |name: &str| {
                    let dim = dims.iter().position(|dim| dim == name);
                    let param = || point.params.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
                    dim.and_then(|dim| point.coords.get(dim).copied()).or_else(param)
                };
                if polynomial.eval(&value_of).is_some_and(|at| at != 0.into()) {
                    return Ok(Some(Proof::Refuted(format!(
                        "at {:?} with {:?}",
                        point.coords, point.params
                    ))));
                }
            }
            return Ok(Some(Proof::Undecided(format!("whether {polynomial} is 0 in a region"))));
        }
    }
    Ok(None)
}

impl Polynomial {
    /// A polynomial in symbols as isl's, for values of symbols in `params`.
    pub(crate) fn on_params(&self, params: &Set) -> Result<PwQPolynomial, LayoutError> {
        let text = format!("[{}] -> {{ {} }}", params.params()?.join(", "), self.isl());
        Ok(PwQPolynomial::parse(params.context(), &text)?)
    }

    /// The polynomial with names replaced by affine expressions; `None` on overflow.
    pub fn substitute(&self, images: &BTreeMap<String, Affine>) -> Option<Polynomial> {
        self.map_atoms(&|atom| match atom {
            Atom::Name(name) => {
                Some(images.get(name).cloned().unwrap_or_else(|| Affine::name(name)))
            }
            Atom::Floor(inner, divisor) => {
                let inner = inner.substitute(images)?;
                let floor = Atom::Floor(Box::new(inner), *divisor);
                Some(Affine { terms: [(floor, 1)].into(), constant: 0 })
            }
        })
    }

    /// The polynomial with atoms replaced by affine expressions; `None` where one has none.
    pub(crate) fn map_atoms(&self, image: &dyn Fn(&Atom) -> Option<Affine>) -> Option<Polynomial> {
        let mut sum = Polynomial::zero();
        for (monomial, coefficient) in self.terms() {
            let mut product = Polynomial::rational(*coefficient);
            for (atom, exponent) in monomial {
                let image = Polynomial::from_affine(&image(atom)?);
                for _ in 0..*exponent {
                    product = &product * &image;
                }
            }
            sum = &sum + &product;
        }
        Some(sum)
    }
}
