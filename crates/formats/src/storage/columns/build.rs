//! From entries that go down the levels to the arrays of a tensor.

use super::super::build::{Building, Left, zeroed};
use super::super::space::LevelSpace;
use super::super::{Build, Indices, LevelData, StorageError, Tensor};
use super::store::stored;
use super::walk::{At, Stored, Walk};
use super::{Columns, PARALLEL};
use crate::format::Format;
use crate::format::column::BLOCK;
use dastac_elements::{Native, Shared, Storage, with_type};
use rayon::prelude::*;

/// The tensor of entries in a format; nothing where a position has more than 32 bits.
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
            Ok(arrays) => levels.push(LevelData::new(own.kind, arrays)),
            Err(_) if step.beyond => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    let element = from.values.element();
    let positions = step.walk.positions;
    step.left.take("the values", positions.into(), element.bytes() as u64)?;
    let values = with_type!(element, V => Storage::from(step.values::<V>(build)?));
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
    /// Whether a position has more than 32 bits.
    beyond: bool,
}

impl Step<'_> {
    /// What a level stores.
    fn stored_in(&self, level: usize) -> Stored {
        let (lowest, extent) = (self.space.value(level, 0), self.space.extent(level));
        Stored::new(&self.space.map().levels()[level], lowest, extent)
    }

    fn array(&mut self, what: &str, count: u64) -> Result<Vec<u32>, StorageError> {
        let level = self.level + 1;
        let shape = super::super::product(&self.from.shape);
        let what = format!("the {what} of level {level} of a tensor of shape {shape}");
        self.left.take(&what, count, 4)?;
        zeroed(&what, count)
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

    fn values<V: Native>(&self, build: Build) -> Result<Vec<V>, StorageError> {
        let all = self.from.values.typed::<V>();
        let Columns { values: own, count, .. } = &self.walk.columns;
        if self.walk.is_own() && own.is_none() {
            return Ok(all.to_vec());
        }
        let mut values: Vec<V> = zeroed("the values", self.walk.positions.into())?;
        let full = values.len() == *count;
        if let Some(padding) = build.padding.filter(|padding| *padding != 0.0 && !full) {
            let padding: Vec<u128> = Storage::from(vec![padding]).cast(V::ELEMENT)?.words();
            values.fill(V::from_word(padding[0]));
        }
        let shared = Shared::of(&mut values);
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
        Ok(values)
    }

    /// Sets where the positions of this level are: numbers that say so are below 2^32.
    fn begins(&mut self) -> Vec<u32> {
        match self.above.1.take() {
            Some(begins) => begins,
            // Each position of the level before has one.
            None => (0..=self.above.0).collect(),
        }
    }
}

impl Building for Step<'_> {
    fn full(&mut self) -> Result<(), StorageError> {
        if self.walk.full(self.stored_in(self.level)) {
            return Ok(());
        }
        self.beyond = true;
        Err(StorageError::Memory { what: String::new(), bytes: 0 })
    }

    fn stored(&mut self) {
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
        let mut to = self.array("coordinates", self.walk.positions.into())?;
        self.scatter(&mut to);
        Ok(Indices::U32(to))
    }

    fn positions(&mut self) -> Result<Indices, StorageError> {
        self.array("positions", u64::from(self.above.0) + 1)?;
        Ok(Indices::U32(self.begins()))
    }

    fn ragged(&mut self) -> Result<Indices, StorageError> {
        let stored = self.stored_in(self.level);
        let count = self.walk.columns.count;
        let own = stored.all(&self.walk.columns);
        let mut above = vec![0u32; count];
        let shared = Shared::of(&mut above);
        self.walk.each(|first, at| {
            at.iter().enumerate().for_each(|(entry, at)| shared.set(first + entry, *at));
        });
        let mut begins = self.array("positions", u64::from(self.above.0) + 1)?;
        for (at, own) in above.iter().zip(&own) {
            let most = &mut begins[*at as usize + 1];
            *most = (*most).max(own + 1);
        }
        let mut end = 0u32;
        for begin in &mut begins {
            match end.checked_add(*begin) {
                Some(next) => (end, *begin) = (next, next),
                None => {
                    self.beyond = true;
                    return Err(StorageError::Memory { what: String::new(), bytes: 0 });
                }
            }
        }
        above.par_iter_mut().zip(own).with_min_len(PARALLEL).for_each(|(at, own)| {
            *at = begins[*at as usize] + own;
        });
        self.walk.go(At::Each(above), end);
        Ok(Indices::U32(begins))
    }

    fn padded(&mut self) -> Result<Indices, StorageError> {
        let mut to = self.array("coordinates", self.walk.positions.into())?;
        // An extent has 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        to.fill(self.space.extent(self.level) as u32);
        self.scatter(&mut to);
        Ok(Indices::U32(to))
    }

    fn present(&mut self) -> Result<Indices, StorageError> {
        let mut present = self.array("bits", self.walk.positions.into())?;
        let shared = Shared::of(&mut present);
        self.walk.each(|_, at| at.iter().for_each(|at| shared.set(*at as usize, 1)));
        Ok(Indices::U32(present))
    }
}
