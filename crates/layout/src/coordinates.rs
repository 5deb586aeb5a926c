//! Coordinates: integer functions of the index. A part of a tensor is packed in the lexicographic order of its
//! coordinates.
//!
//! The simplest coordinates are the positions themselves. Strides and blocks are easier to count in *digits*,
//! `i = 16*i_1 + i_0` (strip-mining), and diagonals in *skewed* coordinates, `j - i` before `i`. Invariant: the
//! coordinates together are injective on the elements that they are for. Coordinates that follow from earlier ones are
//! left out ([`Coordinates::essential`]).

use std::collections::BTreeSet;

use dastac_poly::{Equality, Map, Set};
use dastac_stur::sets::{Affine, Atom};

use crate::LayoutError;

/// One coordinate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// Its name: that of a dimension if it is one, else a name that no dimension and no symbol has.
    pub name: String,
    /// Its value, over the names of the tensor's dimensions.
    pub value: Affine,
}

/// Two dimensions, by position, whose difference `second - first` numbers the diagonals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skew {
    pub(crate) first: usize,
    pub(crate) second: usize,
}

/// Coordinates in packing order, slowest first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Coordinates {
    dims: Vec<String>,
    list: Vec<Coordinate>,
}

/// With more basic sets than this, no coordinate is checked for whether it follows from others.
const MAX_BASIC_SETS: usize = 24;

/// Simpler descriptions are searched for in so many steps of isl for each operation.
const SHORT: u64 = 10_000;

/// A dimension is split into at most this many digits.
const MAX_DIGITS: usize = 4;

/// Longer steps are not counted.
const LARGEST_STEP: i64 = 4096;

/// Makes names that nothing else has.
pub(crate) struct Fresh {
    taken: BTreeSet<String>,
}

impl Fresh {
    pub(crate) fn of(stored: &Set, dims: &[String]) -> Result<Fresh, LayoutError> {
        Ok(Fresh { taken: dims.iter().cloned().chain(stored.params()?).collect() })
    }

    pub(crate) fn name(&mut self, wish: String) -> String {
        let mut name = wish;
        while !self.taken.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

impl Coordinates {
    /// The dimensions in the order `order`.
    pub(crate) fn plain(dims: &[String], order: &[usize]) -> Coordinates {
        let list = order
            .iter()
            .map(|&k| Coordinate { name: dims[k].clone(), value: Affine::name(&dims[k]) })
            .collect();
        Coordinates { dims: dims.to_vec(), list }
    }

    /// Splits the dimensions that have moduli in the description of the set into digits: `i` becomes `floor(i/16)` and
    /// `i - 16*floor(i/16)`. The digits are in the order of the dimensions or, if `blocked`, first all leading digits
    /// and then the next ones. `None` if there are no moduli.
    pub(crate) fn digits(
        stored: &Set,
        dims: &[String],
        order: &[usize],
        blocked: bool,
    ) -> Result<Option<Coordinates>, LayoutError> {
        let mut fresh = Fresh::of(stored, dims)?;
        let moduli = stored.moduli()?;
        let mut columns: Vec<Vec<Coordinate>> = Vec::new();
        for &k in order {
            // A chain of divisors, the largest first.
            let mut radices: Vec<i64> = Vec::new();
            let extent = match moduli[k].is_empty() {
                true => None,
                false => {
                    let extent = stored.context().limited(SHORT, || constant_extent(stored, k));
                    within_reach(extent)?.flatten()
                }
            };
            for &modulus in moduli[k].iter().rev() {
                if extent.is_some_and(|extent| extent <= modulus) {
                    continue; // one digit
                }
                if radices.last().is_none_or(|last| last % modulus == 0) {
                    radices.push(modulus);
                }
            }
            if radices.len() >= MAX_DIGITS {
                return Ok(None);
            }
            columns.push(digits_of(&dims[k], &radices, &mut fresh));
        }
        if columns.iter().all(|column| column.len() <= 1) {
            return Ok(None);
        }
        let list = if blocked {
            let depth = columns.iter().map(Vec::len).max().unwrap_or(0);
            (0..depth).flat_map(|d| columns.iter().filter_map(move |c| c.get(d).cloned())).collect()
        } else {
            columns.into_iter().flatten().collect()
        };
        Ok(Some(Coordinates { dims: dims.to_vec(), list }))
    }

    /// Replaces dimensions that go in steps from a place which earlier dimensions say by the number of steps: `j` by
    /// `floor((j - i)/3)` where `(j - i) % 3 = 0`; by `floor(j/3)` if `from_zero`. `None` if there are none, or if only
    /// numbers say the place.
    pub(crate) fn strided(
        stored: &Set,
        dims: &[String],
        order: &[usize],
        from_zero: bool,
    ) -> Result<Option<Coordinates>, LayoutError> {
        if stored.existentials()? == 0 || stored.basic_set_count()? != 1 {
            return Ok(None);
        }
        let mut fresh = Fresh::of(stored, dims)?;
        let mut plain = Coordinates::plain(dims, order);
        let mut depends = false;
        for Equality { dims: coefficients, params, constant, modulus } in
            stored.equalities()?.into_iter().flatten()
        {
            let Some(place) = order.iter().rposition(|k| coefficients[*k] != 0) else { continue };
            let last = order[place];
            let is_plain = plain.list[place].name == dims[last];
            let (true, true, Some(inverse)) =
                (is_plain, from_zero || params.is_empty(), inverse(coefficients[last], modulus))
            else {
                continue;
            };
            // The last dimension is this modulo the modulus.
            let others = (0..dims.len()).filter(|k| *k != last);
            let of_others =
                others.map(|k| (&dims[k], balanced(-inverse * coefficients[k], modulus)));
            let mut from =
                Affine { constant: balanced(-inverse * constant, modulus), ..Affine::default() };
            for (name, coefficient) in of_others.filter(|(_, coefficient)| *coefficient != 0) {
                from.terms.insert(Atom::Name(name.clone()), coefficient);
                depends = true;
            }
            if from_zero {
                from = Affine::default();
            }
            let Some(steps) = Affine::name(&dims[last]).add_scaled(&from, -1) else { continue };
            let name = fresh.name(format!("{}_steps", dims[last]));
            let value =
                Affine { terms: [(Atom::Floor(Box::new(steps), modulus), 1)].into(), constant: 0 };
            plain.list[place] = Coordinate { name, value };
        }
        Ok(depends.then_some(plain))
    }

    /// Replaces the earlier one of two dimensions by `second - first`, and the later one by `first`, so that one
    /// diagonal follows the other.
    pub(crate) fn skewed(
        stored: &Set,
        dims: &[String],
        order: &[usize],
        Skew { first, second }: Skew,
    ) -> Result<Option<Coordinates>, LayoutError> {
        let mut fresh = Fresh::of(stored, dims)?;
        let Some(value) = Affine::name(&dims[second]).add_scaled(&Affine::name(&dims[first]), -1)
        else {
            return Ok(None);
        };
        let skew =
            Coordinate { name: fresh.name(format!("{}_{}", dims[second], dims[first])), value };
        let mut plain = Coordinates::plain(dims, order);
        let mut places: Vec<usize> = order
            .iter()
            .enumerate()
            .filter(|(_, k)| **k == first || **k == second)
            .map(|(place, _)| place)
            .collect();
        places.sort_unstable();
        if let [early, late] = places.as_slice() {
            plain.list[*early] = skew;
            plain.list[*late] =
                Coordinate { name: dims[first].clone(), value: Affine::name(&dims[first]) };
        }
        Ok(Some(plain))
    }

    /// Coordinates from a list.
    pub(crate) fn of(dims: &[String], list: &[Coordinate]) -> Coordinates {
        Coordinates { dims: dims.to_vec(), list: list.to_vec() }
    }

    /// The coordinates.
    pub(crate) fn list(&self) -> &[Coordinate] {
        &self.list
    }

    /// Names in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.list.iter().map(|c| c.name.clone()).collect()
    }

    /// Maps elements to coordinates.
    pub(crate) fn map(&self, stored: &Set) -> Result<Map, LayoutError> {
        let values: Vec<String> = self.list.iter().map(|c| c.value.to_string()).collect();
        let text = format!("{{ [{}] -> [{}] }}", self.dims.join(", "), values.join(", "));
        Ok(Map::parse(stored.context(), &text)?.intersect_domain(stored)?)
    }

    /// Whether the coordinates tell all elements apart. Most tell all points of the set's space apart, which is quickly
    /// known; steps do where the set has them.
    pub(crate) fn are_injective(&self, stored: &Set) -> Result<bool, LayoutError> {
        Ok(self.map(&stored.universe_like()?)?.is_injective()?
            || self.map(stored)?.is_injective()?)
    }

    /// The coordinates of all elements, as a set with named dimensions.
    pub(crate) fn image(&self, stored: &Set) -> Result<Set, LayoutError> {
        let image = stored.apply(&self.map(stored)?)?.coalesce()?;
        let image = if image.existentials()? > 0 {
            let simple = image.context().limited(SHORT, || without_existentials(&image));
            within_reach(simple)?.flatten().unwrap_or(image)
        } else {
            image
        };
        Ok(image.with_dim_names(&self.names())?)
    }

    /// The coordinates without those whose values follow from earlier ones (on a diagonal, `j` follows from `i`), and
    /// the image of the elements under them.
    pub(crate) fn essential(&self, stored: &Set) -> Result<(Coordinates, Set), LayoutError> {
        let mut image = self.image(stored)?;
        let mut list = Vec::new();
        if image.basic_set_count()? > MAX_BASIC_SETS {
            return Ok((self.clone(), image));
        }
        let mut place = 0;
        for coordinate in &self.list {
            let prefix = image.project_out_at(place + 1, image.rank() - place - 1)?.coalesce()?;
            if follows(&prefix, place)? {
                image = image.project_out_at(place, 1)?;
            } else {
                list.push(coordinate.clone());
                place += 1;
            }
        }
        let essential = Coordinates { dims: self.dims.clone(), list };
        let image = image.coalesce()?;
        let image = if place == 0 { image } else { image.with_dim_names(&essential.names())? };
        Ok((essential, image))
    }
}

/// The number whose product with another one is 1 modulo `modulus`.
fn inverse(of: i64, modulus: i64) -> Option<i64> {
    if !(2..=LARGEST_STEP).contains(&modulus) {
        return None;
    }
    let of = of.rem_euclid(modulus);
    (1..modulus).find(|other| of * other % modulus == 1)
}

/// The number of least magnitude that is the same modulo `modulus`.
fn balanced(number: i64, modulus: i64) -> i64 {
    let rest = number.rem_euclid(modulus);
    if rest > modulus / 2 { rest - modulus } else { rest }
}

/// Replaces existential dimensions by floors of the other dimensions, if the set is a box in digits (blocks, butterfly
/// factors). Other sets stay as they are. isl answers questions about such a set in microseconds, which can take it
/// seconds with existential dimensions.
///
/// Before -> after: `exists r, i: 0 <= i < 16 and x = 32r + i and ..` -> `x - 32*floor(x/32) <= 15 and ..`.
///
/// # Errors
/// A failure of isl.
pub fn explicit(set: &Set) -> Result<Set, LayoutError> {
    if set.existentials()? <= 1 || set.basic_set_count()? > MAX_BASIC_SETS {
        return Ok(set.clone());
    }
    let names = set.dims()?;
    let dims = set.fresh_dims("c")?;
    let order: Vec<usize> = (0..dims.len()).collect();
    let set_named = set.with_dim_names(&dims)?;
    let Some(digits) = Coordinates::digits(&set_named, &dims, &order, false)? else {
        return Ok(set.clone());
    };
    let image = digits.image(&set_named)?;
    if image.existentials()? > 0 {
        return Ok(set.clone());
    }
    let map = digits.map(&set_named.universe_like()?)?;
    Ok(map.intersect_range(&image)?.domain()?.with_dim_names(&names)?)
}

/// Describes a set as a box on an affine subspace, if it is one.
///
/// Before -> after: `exists r, s: 0 <= x_1 < 4 and 8r + 2s <= 8*x_1 + x_0 <= 8r + 2s + 1 and ..` -> `0 <= x_1 < 4 and 0
/// <= x_0 < 8 and ..`.
fn without_existentials(set: &Set) -> Result<Option<Set>, LayoutError> {
    if !set.is_bounded()? {
        return Ok(None); // an iterator that is computed
    }
    let mut simple = set.affine_hull()?;
    let names = set.fresh_dims("c")?;
    let mut conditions = Vec::new();
    for (k, name) in names.iter().enumerate() {
        for (bound, operator) in [(set.dim_min(k)?, ">="), (set.dim_max(k)?, "<=")] {
            if let [(_, bound)] = bound.pieces()?.as_slice() {
                conditions.push(format!("{name} {operator} {}", bound.expr()?.to_text(&names)));
            }
        }
    }
    let text = format!(
        "[{}] -> {{ [{}] : {} }}",
        set.params()?.join(", "),
        names.join(", "),
        conditions.join(" and ")
    );
    simple = simple.intersect(&Set::parse(set.context(), &text)?)?;
    simple = simple.intersect_params(&set.params_set()?)?.detect_equalities()?;
    let same = simple.existentials()? < set.existentials()? && simple.is_subset(set)?;
    Ok(same.then_some(simple))
}

/// A result, or `None` if it takes more steps than the limit allows.
fn within_reach<T>(result: Result<T, LayoutError>) -> Result<Option<T>, LayoutError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(LayoutError::Poly(dastac_poly::Error::TooComplex { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the last dimension, at `place`, has one value for each value of the dimensions before it.
fn follows(prefix: &Set, place: usize) -> Result<bool, LayoutError> {
    if place == 0 {
        return Ok(prefix.is_singleton()?);
    }
    let names: Vec<String> = (0..=place).map(|k| format!("c{k}")).collect();
    let text = format!("{{ [{}] -> [{}] }}", names.join(", "), names[..place].join(", "));
    let forget = Map::parse(prefix.context(), &text)?;
    Ok(forget.intersect_domain(prefix)?.is_injective()?)
}

/// One more than the largest value of a dimension, if that is the same for all symbols and no value is negative.
fn constant_extent(stored: &Set, dim: usize) -> Result<Option<i64>, LayoutError> {
    let after = stored.rank().saturating_sub(dim + 1);
    let side = stored.project_out_at(dim + 1, after)?.project_out_at(0, dim)?;
    if !side.is_bounded()? {
        return Ok(None); // an iterator that is computed
    }
    let constant = |bound: dastac_poly::PwAff| -> Result<Option<i64>, LayoutError> {
        match bound.pieces()?.as_slice() {
            [(_, bound)] if bound.is_constant()? => Ok(Some(bound.expr()?.constant)),
            _ => Ok(None),
        }
    };
    let (low, high) = (constant(side.dim_min(0)?)?, constant(side.dim_max(0)?)?);
    Ok(high.filter(|_| low.is_some_and(|low| low >= 0)).and_then(|high| high.checked_add(1)))
}

/// The digits of a dimension for a chain of radices, which begins with the largest.
fn digits_of(dim: &str, radices: &[i64], fresh: &mut Fresh) -> Vec<Coordinate> {
    if radices.is_empty() {
        return vec![Coordinate { name: dim.into(), value: Affine::name(dim) }];
    }
    let floor = |radix: i64| Affine {
        terms: [(Atom::Floor(Box::new(Affine::name(dim)), radix), 1)].into(),
        constant: 0,
    };
    let mut digits = Vec::new();
    for place in 0..=radices.len() {
        // The digit between two radices: floor(i/low) - (high/low) * floor(i/high).
        let whole = radices.get(place).map_or_else(|| Affine::name(dim), |low| floor(*low));
        let low = radices.get(place).copied().unwrap_or(1);
        let value = match place.checked_sub(1).map(|above| radices[above]) {
            None => whole,
            Some(high) => whole.add_scaled(&floor(high), -(high / low)).unwrap_or_default(),
        };
        digits.push(Coordinate {
            name: fresh.name(format!("{dim}_{}", radices.len() - place)),
            value,
        });
    }
    digits
}
