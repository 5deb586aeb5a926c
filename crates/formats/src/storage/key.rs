//! All coordinates of an entry in one integer, the first level's in the highest bits: sorting these integers sorts
//! entries as the levels of a format want them.

use super::StorageError;
use super::space::LevelSpace;
use crate::format::Format;

/// An unsigned integer that holds coordinates.
pub trait Key: Copy + Default + Ord + Send + Sync + 'static {
    /// A coordinate in its place.
    fn field(coordinate: u64, shift: u32) -> Self;
    /// Both.
    fn with(self, other: Self) -> Self;
    /// The bits from `shift` on.
    fn above(self, shift: u32) -> Self;
    /// The lowest 64 bits.
    fn low(self) -> u64;
}

macro_rules! key {
    ($type:ty) => {
        impl Key for $type {
            fn field(coordinate: u64, shift: u32) -> Self {
                // The coordinate of a dimension without bits is 0, wherever that would stand.
                <$type>::from(coordinate).checked_shl(shift).unwrap_or(0)
            }

            fn with(self, other: Self) -> Self {
                self | other
            }

            fn above(self, shift: u32) -> Self {
                self.checked_shr(shift).unwrap_or(0)
            }

            #[allow(clippy::cast_possible_truncation)]
            fn low(self) -> u64 {
                self as u64
            }
        }
    };
}

key!(u64);
key!(u128);

/// Where the coordinate of each level stands in a key.
#[derive(Clone, Debug)]
pub struct Packing {
    /// Lowest bit and number of bits, by level.
    fields: Vec<(u32, u32)>,
    space: LevelSpace,
    /// Bits of a key.
    pub bits: u32,
}

fn bits_for(extent: u64) -> u32 {
    64 - extent.saturating_sub(1).leading_zeros()
}

impl Packing {
    /// Keys for the levels of a format.
    pub(super) fn new(shape: &[u64], format: &Format) -> Result<Packing, StorageError> {
        Packing::of(LevelSpace::new(shape, format)?)
    }

    /// Keys for the levels of a tensor. Coordinates that follow from those before take no bits.
    pub(super) fn of(space: LevelSpace) -> Result<Packing, StorageError> {
        let needed = |level: usize| match space.is_derived(level) {
            true => 0,
            false => bits_for(space.extent(level)),
        };
        let widths: Vec<u32> = (0..space.extents().len()).map(needed).collect();
        let bits = widths.iter().sum();
        if bits > 128 {
            return Err(StorageError::Box { bits });
        }
        let mut lowest = bits;
        let fields = widths.into_iter().map(|bits| {
            lowest -= bits;
            (lowest, bits)
        });
        Ok(Packing { fields: fields.collect(), space, bits })
    }

    pub(super) fn space(&self) -> &LevelSpace {
        &self.space
    }

    /// The lowest bit of a level's coordinate.
    pub fn shift(&self, level: usize) -> u32 {
        self.fields[level].0
    }

    /// The lowest bit of a dimension's coordinate, where levels store dimensions.
    pub fn shift_of(&self, dimension: usize) -> u32 {
        let mut levels = self.space.order().into_iter().flatten();
        levels.position(|stored| *stored == dimension).map_or(0, |level| self.shift(level))
    }

    /// The coordinate of a level.
    pub fn coordinate<K: Key>(&self, key: K, level: usize) -> u64 {
        let (shift, bits) = self.fields[level];
        let mask = 1u64.checked_shl(bits).map_or(u64::MAX, |one| one - 1);
        key.above(shift).low() & mask
    }

    /// A key of coordinates in order of dimensions.
    pub fn pack<K: Key>(&self, element: &[u64]) -> K {
        let fields = self.fields.iter().enumerate().filter(|(_, (_, bits))| *bits > 0);
        fields.fold(K::default(), |key, (level, (shift, _))| {
            key.with(K::field(self.space.coordinate(level, element), *shift))
        })
    }

    /// Sets coordinates in order of dimensions; gives whether the key is one of an element, not of padding.
    pub fn unpack<K: Key>(&self, key: K, element: &mut [u64]) -> bool {
        if let Some(order) = self.space.order() {
            for (level, dimension) in order.iter().enumerate() {
                element[*dimension] = self.coordinate(key, level);
            }
            return true;
        }
        let levels: Vec<u64> = (0..self.fields.len()).map(|at| self.coordinate(key, at)).collect();
        self.space.element(&levels, element)
    }

    /// Coordinates in order of dimensions.
    pub fn coordinates<K: Key>(&self, key: K) -> Vec<u64> {
        let mut element = vec![0; self.space.rank()];
        self.unpack(key, &mut element);
        element
    }

    /// The lowest bit that has to be sorted by when entries come sorted by the levels of another format: a stable sort
    /// by the first levels is enough where the others follow each other as they do there.
    pub fn lowest_unsorted(&self, sorted: &Packing) -> u32 {
        let (Some(order), Some(sorted_by)) = (self.space.order(), sorted.space.order()) else {
            return 0;
        };
        let place = |dimension: &usize| sorted_by.iter().position(|sorted| sorted == dimension);
        let mut first = order.len();
        while first > 0 {
            let next = order.get(first).and_then(place);
            // Dimensions of one coordinate cannot be out of order.
            if next.is_some_and(|next| place(&order[first - 1]) > Some(next)) {
                break;
            }
            first -= 1;
        }
        match first {
            0 => self.bits,
            _ => self.shift(first - 1),
        }
    }
}
