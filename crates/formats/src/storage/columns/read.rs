//! From the levels of a tensor to the coordinates of its entries: for some positions of the last level at a time, from
//! there up to the first level.

use std::borrow::Cow;
use std::ops::Range;

use super::super::index::{Index, with_indices};
use super::super::walk::{Keys, place};
use super::super::{Indices, LevelSpace, StorageError, Tensor};
use super::blocks::parts;
use super::{Columns, is_narrow, small};
use crate::format::column::{BLOCK, Lane};
use dastac_elements::{Native, with_type};
use rayon::prelude::*;

/// How coordinates and positions of the level before follow from the positions of a level.
enum Step<'a> {
    Full(u64),
    Segments(&'a Indices, &'a Indices),
    Attach(&'a Indices),
    AttachBelow(&'a Indices, u64),
    Ragged(&'a Indices),
    Keep(Cow<'a, Indices>),
}

/// The steps of the levels so far, each with its level.
struct Steps<'a> {
    level: usize,
    all: Vec<(usize, Step<'a>)>,
}

impl<'a> Keys<'a> for Steps<'a> {
    fn full(&mut self, extent: u64) -> Result<(), StorageError> {
        self.all.push((self.level, Step::Full(extent)));
        Ok(())
    }

    fn segments(
        &mut self,
        positions: &'a Indices,
        coordinates: &'a Indices,
    ) -> Result<(), StorageError> {
        self.all.push((self.level, Step::Segments(positions, coordinates)));
        Ok(())
    }

    fn attach(&mut self, coordinates: &'a Indices) {
        self.all.push((self.level, Step::Attach(coordinates)));
    }

    fn attach_below(&mut self, coordinates: &'a Indices, extent: u64) {
        self.all.push((self.level, Step::AttachBelow(coordinates, extent)));
    }

    fn ragged(&mut self, positions: &'a Indices) -> Result<(), StorageError> {
        self.all.push((self.level, Step::Ragged(positions)));
        Ok(())
    }

    fn keep(&mut self, present: Cow<'a, Indices>) {
        self.all.push((self.level, Step::Keep(present)));
    }
}

impl Columns {
    /// The entries of a tensor in the order of storage, if their coordinates have 32 bits. Elements of blocks are
    /// entries where they are not `padding`.
    pub(super) fn of(tensor: &Tensor, padding: Option<f64>) -> Option<Columns> {
        let space = &tensor.space;
        let count = tensor.values.len();
        u32::try_from(count).ok()?;
        if !(is_narrow(space) && has_small_inverse(space)) {
            return None;
        }
        let mut steps = Steps { level: 0, all: Vec::new() };
        for (level, data) in tensor.levels.iter().enumerate() {
            steps.level = level;
            data.kind().walk(tensor.arrays(level), &mut steps).ok()?;
        }
        let lowest = (0..tensor.levels.len()).map(|level| i64::try_from(space.value(level, 0)));
        let lowest: Vec<i64> = lowest.collect::<Result<_, _>>().ok()?;
        let padding = padding.filter(|_| tensor.format.has_blocks());
        let narrow = is_read_in_32_bits(space);
        let reader = Reader { tensor, steps: steps.all, lowest, narrow, padding };
        let mut all: Vec<Columns> =
            parts(count).into_par_iter().map(|part| reader.read(part)).collect();
        let mut first = all.remove(0);
        first.count += all.iter().map(|part| part.count).sum::<usize>();
        for (dimension, to) in first.dimensions.iter_mut().enumerate() {
            all.iter().for_each(|part| to.extend_from_slice(&part.dimensions[dimension]));
        }
        let mut places = first.values.take().unwrap_or_default();
        all.into_iter().for_each(|part| places.extend(part.values.unwrap_or_default()));
        first.values = (first.count < count).then_some(places);
        Some(first)
    }
}

/// Whether sums on the way from levels to dimensions have 64 bits.
fn has_small_inverse(space: &LevelSpace) -> bool {
    space.map().inverse().iter().all(|inverse| inverse.is_small(&|level| most(space, level)))
}

/// What the amounts of a level's values do not exceed.
fn most(space: &LevelSpace, level: usize) -> i128 {
    let (low, extent) = (space.value(level, 0), space.extent(level));
    low.saturating_abs().max(low.saturating_add(extent.into()).saturating_abs())
}

/// Whether the lower 32 bits of what levels say of dimensions tell which of them lie in the box, and those of what
/// dimensions say of levels are right within it.
fn is_read_in_32_bits(space: &LevelSpace) -> bool {
    let extents = space.map().inverse().iter().zip(space.shape());
    let mut inside = extents.map(|(inverse, extent)| {
        inverse.most(&|level| most(space, level)).saturating_add((*extent).into()) < 1 << 32
    });
    let largest = |dimension: usize| i128::from(space.shape()[dimension]);
    inside.all(|inside| inside) && space.map().levels().iter().all(|expr| expr.is_narrow(&largest))
}

struct Reader<'a> {
    tensor: &'a Tensor,
    steps: Vec<(usize, Step<'a>)>,
    /// Of each level, the value of its expression at coordinate 0.
    lowest: Vec<i64>,
    /// Whether dimensions, and what levels would have of them, are computed in 32 bits.
    narrow: bool,
    padding: Option<f64>,
}

impl Reader<'_> {
    /// The entries at some positions of the last level.
    fn read(&self, positions: Range<usize>) -> Columns {
        let (space, rank) = (&self.tensor.space, self.tensor.shape.len());
        // Where all levels have dimensions and each position is an entry, all of them are.
        let whole = space.is_exact()
            && self.padding.is_none()
            && !self
                .steps
                .iter()
                .any(|(_, step)| matches!(step, Step::AttachBelow(..) | Step::Keep(_)));
        let dimensions = vec![Vec::with_capacity(positions.len()); rank];
        let mut to = Columns { dimensions, values: None, count: 0 };
        let mut found = Vec::new();
        let mut levels = vec![[0u32; BLOCK]; self.lowest.len()];
        let mut places = Vec::with_capacity(BLOCK);
        let mut next = positions.start;
        while next < positions.end {
            let end = positions.end.min(next + BLOCK);
            self.present(next..end, &mut places);
            next = end;
            let mut kept = [true; BLOCK];
            self.climb(&places, &mut levels, &mut kept);
            if whole {
                let order = space.order().unwrap_or_default();
                for (dimension, level) in order.iter().zip(&levels) {
                    to.dimensions[*dimension].extend_from_slice(&level[..places.len()]);
                }
                to.count += places.len();
                continue;
            }
            match self.narrow {
                true => self.elements::<u32>(places.len(), &levels, (&mut kept, &mut to)),
                false => self.elements::<i64>(places.len(), &levels, (&mut kept, &mut to)),
            }
            let kept = kept.iter().zip(&places).filter(|(kept, _)| **kept);
            found.extend(kept.map(|(_, place)| *place));
            to.count = found.len();
        }
        Columns { values: Some(found).filter(|_| !whole), ..to }
    }

    /// Those of some positions, at most a block of them, whose value is not padding.
    fn present(&self, positions: Range<usize>, places: &mut Vec<u32>) {
        places.clear();
        let Some(padding) = self.padding else {
            places.extend(positions.map(small));
            return;
        };
        places.resize(positions.len(), 0);
        let values = &self.tensor.values;
        let mut count = 0;
        with_type!(values.element(), V => {
            for (value, at) in values.typed::<V>()[positions.clone()].iter().zip(positions) {
                places[count] = small(at);
                count += usize::from(!value.is(padding));
            }
        });
        places.truncate(count);
    }

    /// The coordinates in all levels, and which positions hold something.
    fn climb(&self, places: &[u32], levels: &mut [[u32; BLOCK]], kept: &mut [bool; BLOCK]) {
        let mut memory = [0; BLOCK];
        let at = &mut memory[..places.len()];
        at.copy_from_slice(places);
        if at.is_empty() {
            return;
        }
        let mut follow = (at[at.len() - 1] - at[0]) as usize + 1 == at.len();
        for (level, step) in self.steps.iter().rev() {
            let to = &mut levels[*level];
            match step {
                Step::Full(extent) => {
                    // Positions have 32 bits, so an extent that is larger is never divided by.
                    let extent = u32::try_from(*extent).unwrap_or(u32::MAX).max(1);
                    full(extent, at, to);
                    follow = false;
                }
                Step::Segments(positions, coordinates) => {
                    with_indices!(coordinates, all => looked_up(all, at, to, follow));
                    with_indices!(positions, all => parents(all, at, |_, _| {}));
                    follow = false;
                }
                Step::Attach(coordinates) => {
                    with_indices!(coordinates, all => looked_up(all, at, to, follow));
                }
                Step::AttachBelow(coordinates, extent) => {
                    with_indices!(coordinates, all => looked_up(all, at, to, follow));
                    let each = kept.iter_mut().zip(&to[..at.len()]);
                    each.for_each(|(kept, at)| *kept &= u64::from(*at) < *extent);
                }
                Step::Ragged(positions) => {
                    with_indices!(positions, all => parents(all, at, |entry, own| to[entry] = own));
                    follow = false;
                }
                Step::Keep(present) => {
                    let each = kept.iter_mut().zip(&*at);
                    each.for_each(|(kept, at)| *kept &= present.at(*at as usize) > 0);
                }
            }
        }
    }

    /// Adds the coordinates of so many elements, given those of levels; finds out besides which of these are an
    /// element's.
    fn elements<T: Coordinate>(
        &self,
        count: usize,
        levels: &[[u32; BLOCK]],
        (kept, to): (&mut [bool; BLOCK], &mut Columns),
    ) {
        let space = &self.tensor.space;
        let map = space.map();
        let mut own = vec![[T::default(); BLOCK]; map.inverse().len()];
        let level = |level: usize, to: &mut [T]| {
            let lowest = T::of(self.lowest[level]);
            let each = to.iter_mut().zip(&levels[level]);
            each.for_each(|(to, from)| *to = lowest.plus(T::of(1), T::of((*from).into())));
        };
        for ((inverse, extent), own) in map.inverse().iter().zip(space.shape()).zip(&mut own) {
            inverse.set(&level, &mut own[..count]);
            let extent = T::of(extent.cast_signed());
            let each = own[..count].iter().zip(&mut *kept);
            each.for_each(|(value, kept)| *kept &= value.is_below(extent));
        }
        let dimension = |dimension: usize, to: &mut [T]| {
            to.copy_from_slice(&own[dimension][..to.len()]);
        };
        for (at, expr) in map.levels().iter().enumerate() {
            if space.is_derived(at) || expr.as_dimension().is_some() {
                continue;
            }
            let mut memory = [T::of(-self.lowest[at]); BLOCK];
            let values = &mut memory[..count];
            expr.add(1, &dimension, values);
            let each = values.iter().zip(&levels[at]).zip(&mut *kept);
            each.for_each(|((value, wanted), kept)| *kept &= *value == T::of((*wanted).into()));
        }
        for (to, own) in to.dimensions.iter_mut().zip(&own) {
            let kept = own[..count].iter().zip(&*kept).filter(|(_, kept)| **kept);
            to.extend(kept.map(|(value, _)| value.narrow()));
        }
    }
}

/// What coordinates of dimensions are computed in.
trait Coordinate: Lane + PartialEq {
    /// What lies in the box, whose extents have 32 bits.
    fn narrow(self) -> u32;
    /// Whether it is not negative, and below an extent of 32 bits.
    fn is_below(self, extent: Self) -> bool;
}

impl Coordinate for i64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn narrow(self) -> u32 {
        self as u32
    }

    fn is_below(self, extent: i64) -> bool {
        self.cast_unsigned() < extent.cast_unsigned()
    }
}

impl Coordinate for u32 {
    fn narrow(self) -> u32 {
        self
    }

    fn is_below(self, extent: u32) -> bool {
        self < extent
    }
}

/// Quotients and remainders.
fn full(extent: u32, at: &mut [u32], to: &mut [u32]) {
    if extent.is_power_of_two() {
        let (shift, mask) = (extent.trailing_zeros(), extent - 1);
        at.iter_mut().zip(to).for_each(|(at, to)| (*at, *to) = (*at >> shift, *at & mask));
        return;
    }
    // Positions ascend: mostly the quotient is that of the one before.
    let (mut first, mut quotient) = (0u32, 0u32);
    for (at, to) in at.iter_mut().zip(to) {
        if *at - first >= extent {
            quotient = *at / extent;
            first = quotient * extent;
        }
        (*at, *to) = (quotient, *at - first);
    }
}

/// The coordinates at some positions, which may be known to follow each other.
fn looked_up<C: Index>(all: &[C], at: &[u32], to: &mut [u32], follow: bool) {
    // Coordinates are not larger than extents, which have 32 bits.
    #[allow(clippy::cast_possible_truncation)]
    let narrow = |coordinate: C| coordinate.widen() as u32;
    if follow {
        let own = &all[at[0] as usize..][..at.len()];
        to.iter_mut().zip(own).for_each(|(to, own)| *to = narrow(*own));
        return;
    }
    to.iter_mut().zip(at).for_each(|(to, at)| *to = narrow(all[*at as usize]));
}

/// From ascending positions to those of the level before in whose segments they are; gives which one each is in its
/// segment, by number.
fn parents<P: Index>(positions: &[P], at: &mut [u32], mut call: impl FnMut(usize, u32)) {
    let wanted = u64::from(at[0]);
    let mut parent = positions.partition_point(|begin| begin.widen() <= wanted) - 1;
    let mut begin = positions[parent].widen();
    let mut end = positions[parent + 1].widen();
    for (entry, at) in at.iter_mut().enumerate() {
        let own = u64::from(*at);
        while own >= end {
            parent += 1;
            (begin, end) = (end, positions[parent + 1].widen());
        }
        call(entry, small(place(own - begin)));
        *at = small(parent);
    }
}
