//! What holds of the arrays of every tensor.
//!
//! 1. There is an array for each level, of its kind.
//! 2. `positions` begins with 0, never falls, ends with the number of coordinates, and has one element more than the
//!    level before has positions.
//! 3. There are as many coordinates of a level without `positions` as it has positions, and as many bits of a bitmap,
//!    each 0 or 1.
//! 4. Coordinates lie in the dimension; those of padded levels may be its extent, which stands for none. A ragged level
//!    has at most as many positions below each as its dimension has coordinates.
//! 5. Below one position, the coordinates of a level and of the singletons behind it grow together as tuples, up to the
//!    first that is not ordered; and no tuple stands twice that ends with a unique level.
//! 6. There are as many values as positions of the last level.
//! 7. Arrays have the widths that their levels say.

use std::cmp::Ordering;

use rayon::prelude::*;

use super::index::with_indices;
use super::narrow::width_of;
use super::scan::{self, Numbers, Step};
use super::space::LevelSpace;
use super::walk::place;
use super::{Indices, LevelData, Tensor};
use crate::format::Format;
use crate::level::{Counts, Role, Width};

/// Arrays that are no tensor of their format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("level {level}: {what}")]
pub struct Invalid {
    /// The level, from 1; the values count as one more.
    pub level: usize,
    /// What does not hold, with the place where it does not.
    pub what: String,
}

fn invalid<T>(level: usize, what: String) -> Result<T, Invalid> {
    Err(Invalid { level: level + 1, what })
}

impl Numbers for Indices {
    fn count(&self) -> usize {
        self.len()
    }

    fn number(&self, at: usize) -> u64 {
        self.at(at)
    }

    fn are_below(&self, limit: u64) -> bool {
        with_indices!(self, all => scan::are_below(all, limit))
    }

    fn as_narrow(&self) -> Option<&[u32]> {
        match self {
            Indices::U32(all) => Some(all),
            Indices::U8(_) | Indices::U16(_) | Indices::U64(_) => None,
        }
    }

    fn steps(&self, step: Step) -> usize {
        with_indices!(self, all => scan::steps(all, step))
    }

    fn width_of_one(&self) -> u64 {
        self.width()
    }
}

/// What the invariants speak of.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a, A> {
    pub(super) format: &'a Format,
    pub(super) space: &'a LevelSpace,
    pub(super) levels: &'a [LevelData<A>],
    /// How many values there are.
    pub(super) values: usize,
}

impl Tensor {
    /// Whether the invariants hold, see the [module](self).
    pub fn check(&self) -> Result<(), Invalid> {
        let Tensor { format, space, levels, values, .. } = self;
        Parts { format, space, levels, values: values.len() }.check()
    }
}

impl<A: Numbers> Parts<'_, A> {
    /// Whether the invariants hold, see the [module](self).
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let rank = self.format.levels().len();
        if self.levels.len() != rank {
            let what = format!(
                "arrays of {}, not {rank}",
                dastac_elements::count(self.levels.len(), "level")
            );
            return invalid(self.levels.len().min(rank), what);
        }
        let mut above = 1u64;
        for (level, data) in self.levels.iter().enumerate() {
            above = self.check_level(level, data, above)?;
        }
        if self.values as u64 != above {
            let what = format!(
                "{} for {}",
                dastac_elements::count(self.values, "value"),
                dastac_elements::count(above, "position")
            );
            return invalid(rank, what);
        }
        // Everything is where it should be; what remains is the order.
        (0..rank).try_for_each(|level| self.check_order(level))
    }

    /// Whether a level's arrays are those of its kind, given how many positions the level before has; gives how many it
    /// has.
    fn check_level(&self, level: usize, data: &LevelData<A>, above: u64) -> Result<u64, Invalid> {
        let kind = self.format.levels()[level].kind;
        if data.kind() != kind || data.arrays().len() != kind.arrays().len() {
            return invalid(level, format!("its arrays are not those of a {kind} level"));
        }
        for (role, array) in kind.arrays().iter().zip(data.arrays()) {
            self.check_width(level, *role, array)?;
        }
        let coordinates = data.coordinates().map(|all| all.count() as u64);
        let end = data
            .positions()
            .and_then(|all| all.count().checked_sub(1).map(|last| all.number(last)));
        let counts = Counts { above, extent: self.space.extent(level), coordinates, end };
        let Some(count) = kind.positions(counts) else {
            return invalid(level, "more positions than 64 bits count".into());
        };
        if let Some(positions) = data.positions() {
            check_positions(level, positions, place(count), above)?;
            if data.coordinates().is_none() {
                self.check_lengths(level, positions)?;
            }
        }
        if let Some(coordinates) = data.coordinates() {
            if coordinates.count() as u64 != count {
                let found = coordinates.count();
                let what = format!(
                    "{}, but the level before has {}",
                    dastac_elements::count(found, "coordinate"),
                    dastac_elements::count(above, "position")
                );
                return invalid(level, what);
            }
            self.check_coordinates(level, coordinates)?;
        }
        if let Some(present) = data.present() {
            check_present(level, present, count)?;
        }
        Ok(count)
    }

    /// Whether an array has as many bits as its level says.
    fn check_width(&self, level: usize, role: Role, array: &A) -> Result<(), Invalid> {
        let needed = width_of(self.format.levels()[level], role).map(Width::bytes);
        let found = array.width_of_one();
        let fits = needed.map_or(found >= 4, |needed| found == needed);
        if fits {
            return Ok(());
        }
        let needed = needed.map_or("32 or 64".into(), |bytes| (8 * bytes).to_string());
        invalid(level, format!("its {} have {} bits each, not {needed}", role.word(), 8 * found))
    }

    /// Whether there are at most as many positions below each of the level before as there are coordinates.
    fn check_lengths(&self, level: usize, positions: &A) -> Result<(), Invalid> {
        let extent = self.space.extent(level);
        let long = |at: &usize| positions.number(at + 1) - positions.number(*at) > extent;
        match (0..positions.count() - 1).into_par_iter().with_min_len(1 << 14).find_first(long) {
            None => Ok(()),
            Some(at) => {
                let length = positions.number(at + 1) - positions.number(at);
                let what = format!("{length} positions below position {at}, more than {extent}");
                invalid(level, what)
            }
        }
    }

    fn check_coordinates(&self, level: usize, coordinates: &A) -> Result<(), Invalid> {
        // What is padded has the extent in place of a coordinate.
        let padded = self.format.levels()[level].kind.is_found();
        let extent = self.space.extent(level) + u64::from(padded);
        if coordinates.are_below(extent) {
            return Ok(());
        }
        let beyond = |at: &usize| coordinates.number(*at) >= extent;
        match (0..coordinates.count()).into_par_iter().with_min_len(1 << 14).find_first(beyond) {
            None => Ok(()),
            Some(at) => {
                let coordinate = coordinates.number(at);
                invalid(level, format!("coordinates[{at}] is {coordinate}, not below {extent}"))
            }
        }
    }

    /// The coordinates of a level in segments and of those right behind it that hold one for each of its entries.
    fn check_order(&self, level: usize) -> Result<(), Invalid> {
        let data = &self.levels[level];
        let (Some(positions), Some(coordinates)) = (data.positions(), data.coordinates()) else {
            return Ok(());
        };
        let formats = &self.format.levels()[level..];
        let mut chain = vec![coordinates];
        for (data, before) in self.levels[level + 1..].iter().zip(formats) {
            match data.coordinates() {
                Some(coordinates) if !before.unique => chain.push(coordinates),
                _ => break,
            }
        }
        let chain = chain.as_slice();
        let unique = formats[chain.len() - 1].unique;
        let ordered = formats.iter().take(chain.len()).take_while(|level| level.ordered).count();
        if let [coordinates] = chain
            && ordered == 1
            && scan::grow_in_segments(*coordinates, positions, unique)
        {
            return Ok(());
        }
        // One segment holds all, as that of lists of entries does.
        if positions.count() == 2 && unique && ordered == chain.len() {
            let lists: Option<Vec<&[u32]>> = chain.iter().map(|all| all.as_narrow()).collect();
            if lists.is_some_and(|lists| scan::grow_as_tuples(&lists)) {
                return Ok(());
            }
        }
        let compare = |one: usize, other: usize, levels: usize| {
            let pairs = chain[..levels].iter().map(|all| all.number(one).cmp(&all.number(other)));
            pairs.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        let tuple =
            |at: usize| super::tuple(&chain.iter().map(|all| all.number(at)).collect::<Vec<_>>());
        let falls = |parent: usize| -> Option<(usize, String)> {
            let range = place(positions.number(parent))..place(positions.number(parent + 1));
            for at in range.start + 1..range.end.max(1) {
                match compare(at - 1, at, ordered) {
                    Ordering::Greater => {
                        let what = format!(
                            "the coordinates {} at {at} stand behind {}",
                            tuple(at),
                            tuple(at - 1)
                        );
                        return Some((at, what));
                    }
                    Ordering::Equal if unique && ordered == chain.len() => {
                        let what = format!("the coordinates {} at {at} are there twice", tuple(at));
                        return Some((at, what));
                    }
                    _ => {}
                }
            }
            if unique && ordered < chain.len() {
                let mut sorted: Vec<usize> = range.collect();
                sorted
                    .sort_by(|one, other| compare(*one, *other, chain.len()).then(one.cmp(other)));
                let same = sorted
                    .windows(2)
                    .find(|pair| compare(pair[0], pair[1], chain.len()) == Ordering::Equal);
                return same.map(|pair| {
                    let what = format!(
                        "the coordinates {} at {} are there twice",
                        tuple(pair[1]),
                        pair[1]
                    );
                    (pair[1], what)
                });
            }
            None
        };
        let parents = positions.count() - 1;
        match (0..parents).into_par_iter().with_min_len(64).find_map_first(falls) {
            None => Ok(()),
            Some((_, what)) => invalid(level, what),
        }
    }
}

fn check_positions(
    level: usize,
    positions: &impl Numbers,
    coordinates: usize,
    above: u64,
) -> Result<(), Invalid> {
    let wanted = above.checked_add(1);
    if wanted != Some(positions.count() as u64) {
        let wanted = u128::from(above) + 1;
        return invalid(
            level,
            format!("{}, not {wanted}", dastac_elements::count(positions.count(), "position")),
        );
    }
    if positions.number(0) != 0 {
        return invalid(level, format!("positions[0] is {}, not 0", positions.number(0)));
    }
    let falls = |at: &usize| positions.number(*at) < positions.number(at - 1);
    if positions.steps(Step::Down) > 0
        && let Some(at) =
            (1..positions.count()).into_par_iter().with_min_len(1 << 14).find_first(falls)
    {
        let (one, other) = (positions.number(at), positions.number(at - 1));
        return invalid(level, format!("positions[{at}] is {one}, less than {other} before it"));
    }
    let last = positions.number(positions.count() - 1);
    if last != coordinates as u64 {
        return invalid(
            level,
            format!("positions end with {last}, but the number of coordinates is {coordinates}"),
        );
    }
    Ok(())
}

/// There is a 0 or a 1 for each position.
fn check_present(level: usize, present: &impl Numbers, count: u64) -> Result<(), Invalid> {
    if present.count() as u64 != count {
        return invalid(
            level,
            format!("{} bits for as many positions as {count}", present.count()),
        );
    }
    if present.are_below(2) {
        return Ok(());
    }
    match (0..present.count())
        .into_par_iter()
        .with_min_len(1 << 14)
        .find_first(|at| present.number(*at) > 1)
    {
        None => Ok(()),
        Some(at) => invalid(level, format!("bits[{at}] is {}, not 0 or 1", present.number(at))),
    }
}
