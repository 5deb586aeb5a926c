//! From entries that go down the levels to the arrays of a tensor.

use super::super::build::{Building, Left, describe, zeroed};
use super::super::convert::{PARALLEL, fresh};
use super::super::space::LevelSpace;
use super::super::{Build, Indices, LevelData, StorageError, Tensor};
use super::Columns;
use super::store::stored;
use super::walk::{At, Stored, Walk};
use crate::format::Format;
use crate::format::column::BLOCK;
use crate::level::{Kind, Level};
use dastac_elements::{Native, Shared, Storage, with_type};
use rayon::prelude::*;

/// The tensor of entries in a format; nothing where a position has more than 32 bits, or where positions have no
/// memory.
pub(super) fn assembled(
    walk: Walk,
    from: &Tensor,
    (space, format): (&LevelSpace, &Format),
    build: Build,
) -> Result<Option<Tensor>, StorageError> {
    let left = Left(build.memory);
    let above = (walk.positions, None);
    let mut step = Step { walk, from, space, format, level: 0, above, left, beyond: false };
    let mut levels = Vec::new();
    for (level, own) in format.levels().iter().enumerate() {
        step.level = level;
        step.above = (step.walk.positions, None);
        match own.kind.build(&mut step) {
            _ if step.beyond => return Ok(None),
            Ok(arrays) => levels.push(LevelData::new(own.kind, arrays)),
            Err(error) => return Err(error),
        }
    }
    let element = from.values.element();
    let positions = step.walk.positions;
    step.left.take("the values", positions.into(), element.bytes() as u64)?;
    let values = with_type!(element, V => step.values::<V>(build)?);
    let (shape, format, space) = (from.shape.clone(), format.clone(), space.clone());
    Ok(Some(Tensor { shape, format, space, levels, values }))
}

/// One level on the way.
struct Step<'a> {
    walk: Walk,
    from: &'a Tensor,
    space: &'a LevelSpace,
    format: &'a Format,
    level: usize,
    /// How many positions the level before has, and where what is stored below each begins, and the end.
    above: (u32, Option<Vec<u32>>),
    left: Left,
    /// Whether a position has more than 32 bits, or positions have no memory.
    beyond: bool,
}

impl Step<'_> {
    /// What a level stores.
    fn stored_in(&self, level: usize) -> Stored {
        let (lowest, extent) = (self.space.value(level, 0), self.space.extent(level));
        Stored::new(&self.space.map().levels()[level], self.space.shape(), lowest, extent)
    }

    /// Takes memory for an array of this level.
    fn take(&mut self, what: &str, count: u64, width: u64) -> Result<(), StorageError> {
        let what = format!("the {what} of {}", describe(self.level, &self.from.shape));
        self.left.take(&what, count, width)
    }

    fn array<T: Native>(&mut self, what: &str, count: u64) -> Result<Vec<T>, StorageError> {
        self.take(what, count, size_of::<T>() as u64)?;
        zeroed(&format!("the {what} of {}", describe(self.level, &self.from.shape)), count)
    }

    /// As [`Step::array`], where each position of this level has a value, if all below have one for each of their
    /// coordinates: without memory for these, there is no need for the array.
    fn array_of_places<T: Native>(&mut self, what: &str) -> Result<Vec<T>, StorageError> {
        let below = self.format.levels().iter().enumerate().skip(self.level + 1);
        let extent = |(level, own): (usize, &Level)| {
            (own.kind == Kind::DENSE).then(|| self.space.extent(level))
        };
        let values = below.map(extent).try_fold(u64::from(self.walk.positions), |count, extent| {
            Some(count.saturating_mul(extent?))
        });
        if let Some(values) = values {
            let width = self.from.values.element().bytes() as u64;
            Left(self.left.0).take("the values", values, width)?;
        }
        self.array(what, self.walk.positions.into())
    }

    /// Says that a position has more than 32 bits. What else the error says is not read.
    fn wide(&mut self) -> StorageError {
        self.beyond = true;
        StorageError::Memory { what: String::new(), bytes: 0 }
    }

    /// Sets the coordinate of this level at the position of each entry.
    fn scatter(&self, to: &mut [u32]) {
        let (stored, columns) = (self.stored_in(self.level), &self.walk.columns);
        let shared = Shared::of(to);
        self.walk.each(|first, at| {
            let mut memory = [0; BLOCK];
            let own = &mut memory[..at.len()];
            stored.block(columns, first, own);
            at.iter().zip(own).for_each(|(at, own)| shared.set(*at as usize, *own));
        });
    }

    fn values<V: Native>(&self, build: Build) -> Result<Storage, StorageError> {
        let all = self.from.values.typed::<V>();
        let Columns { values: own, count, .. } = &self.walk.columns;
        if self.walk.is_own() && own.is_none() {
            return Ok(Storage::from(all.to_vec()));
        }
        let mut storage = fresh("the values", V::ELEMENT, self.walk.positions as usize)?;
        let Some(values) = storage.as_mut_slice::<V>() else { return Ok(storage) };
        let full = values.len() == *count;
        if let Some(padding) = build.padding.filter(|padding| *padding != 0.0 && !full) {
            let padding: Vec<u128> = Storage::from(vec![padding]).cast(V::ELEMENT)?.words();
            values.fill(V::from_word(padding[0]));
        }
        let shared = Shared::of(values);
        self.walk.each(|first, at| match own {
            Some(own) => {
                let each = at.iter().zip(&own[first..]);
                each.for_each(|(at, own)| shared.set(*at as usize, all[*own as usize]));
            }
            None => {
                let each = at.iter().zip(&all[first..]);
                each.for_each(|(at, value)| shared.set(*at as usize, *value));
            }
        });
        Ok(storage)
    }
}

impl Building for Step<'_> {
    fn full(&mut self) -> Result<(), StorageError> {
        match self.walk.full(self.stored_in(self.level)) {
            true => Ok(()),
            false => Err(self.wide()),
        }
    }

    fn stored(&mut self) {
        // Where nodes begin is found together with them, in memory that there must be: else the error is that of
        // sorted records.
        if (u64::from(self.walk.positions) + 1) * 4 > self.left.0 {
            self.beyond = true;
            return;
        }
        // Levels that are not unique have nodes of their own only together with those behind them.
        let levels = self.format.levels().iter().enumerate().skip(self.level);
        let mut begins: Option<Vec<u32>> = None;
        for (number, own) in levels {
            if !self.space.is_derived(number) || begins.is_none() {
                let level = self.stored_in(number);
                let below = stored(&mut self.walk, &level);
                begins = Some(match begins {
                    None => below,
                    Some(above) => above.into_iter().map(|at| below[at as usize]).collect(),
                });
            }
            if own.unique {
                break;
            }
        }
        self.above.1 = begins;
    }

    fn same(&mut self) {}

    fn coordinates(&mut self) -> Result<Indices, StorageError> {
        let mut to: Vec<u32> = self.array("coordinates", self.walk.positions.into())?;
        self.scatter(&mut to);
        Ok(Indices::U32(to))
    }

    fn positions(&mut self) -> Result<Indices, StorageError> {
        self.take("positions", u64::from(self.above.0) + 1, 4)?;
        // Without any, each position of the level before has one.
        let begins = self.above.1.take().unwrap_or_else(|| (0..=self.above.0).collect());
        Ok(Indices::U32(begins))
    }

    fn ragged(&mut self) -> Result<Indices, StorageError> {
        let stored = self.stored_in(self.level);
        let (own, mut above) = (stored.all(&self.walk.columns), self.walk.all());
        let mut begins: Vec<u32> = self.array("positions", u64::from(self.above.0) + 1)?;
        for (at, own) in above.iter().zip(&own) {
            let most = &mut begins[*at as usize + 1];
            *most = (*most).max(own + 1);
        }
        let mut end = 0u32;
        for begin in &mut begins {
            match end.checked_add(*begin) {
                Some(next) => (end, *begin) = (next, next),
                None => return Err(self.wide()),
            }
        }
        above.par_iter_mut().zip(own).with_min_len(PARALLEL).for_each(|(at, own)| {
            *at = begins[*at as usize] + own;
        });
        self.walk.go(At::Each(above), end);
        Ok(Indices::U32(begins))
    }

    fn padded(&mut self) -> Result<Indices, StorageError> {
        let mut to: Vec<u32> = self.array_of_places("coordinates")?;
        // An extent has 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        to.fill(self.space.extent(self.level) as u32);
        self.scatter(&mut to);
        Ok(Indices::U32(to))
    }

    fn present(&mut self) -> Result<Indices, StorageError> {
        let mut present: Vec<u8> = self.array_of_places("bits")?;
        let shared = Shared::of(&mut present);
        self.walk.each(|_, at| at.iter().for_each(|at| shared.set(*at as usize, 1)));
        Ok(Indices::U8(present))
    }
}
