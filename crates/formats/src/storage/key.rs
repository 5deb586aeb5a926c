//! All coordinates of an entry in one integer, the first level's in the highest bits: sorting these integers sorts entries as the levels
//! of a format want them.

use super::StorageError;
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
    /// Dimension of each level.
    order: Vec<usize>,
    /// Bits of a key.
    pub bits: u32,
}

fn bits_for(extent: u64) -> u32 {
    64 - extent.saturating_sub(1).leading_zeros()
}

impl Packing {
    /// Keys for the levels of a format.
    pub fn new(shape: &[u64], format: &Format) -> Result<Packing, StorageError> {
        if shape.len() != format.rank() {
            return Err(StorageError::Rank { tensor: shape.len(), format: format.rank() });
        }
        let bits = shape.iter().map(|extent| bits_for(*extent)).sum();
        if bits > 128 {
            return Err(StorageError::Box { bits });
        }
        let mut lowest = bits;
        let fields = format.order().iter().map(|dimension| {
            let bits = bits_for(shape[*dimension]);
            lowest -= bits;
            (lowest, bits)
        });
        Ok(Packing { fields: fields.collect(), order: format.order().to_vec(), bits })
    }

    /// The lowest bit of a level's coordinate.
    pub fn shift(&self, level: usize) -> u32 {
        self.fields[level].0
    }

    /// The lowest bit of a dimension's coordinate.
    pub fn shift_of(&self, dimension: usize) -> u32 {
        let level = self.order.iter().position(|stored| *stored == dimension);
        level.map_or(0, |level| self.shift(level))
    }

    /// The coordinate of a level.
    pub fn coordinate<K: Key>(&self, key: K, level: usize) -> u64 {
        let (shift, bits) = self.fields[level];
        let mask = 1u64.checked_shl(bits).map_or(u64::MAX, |one| one - 1);
        key.above(shift).low() & mask
    }

    /// A key of coordinates in order of dimensions.
    pub fn pack<K: Key>(&self, coordinates: &[u64]) -> K {
        self.fields.iter().zip(&self.order).fold(K::default(), |key, ((shift, _), dimension)| {
            key.with(K::field(coordinates[*dimension], *shift))
        })
    }

    /// Coordinates in order of dimensions.
    pub fn unpack<K: Key>(&self, key: K, coordinates: &mut [u64]) {
        for (level, dimension) in self.order.iter().enumerate() {
            coordinates[*dimension] = self.coordinate(key, level);
        }
    }

    /// Coordinates in order of dimensions.
    pub fn coordinates<K: Key>(&self, key: K) -> Vec<u64> {
        let mut coordinates = vec![0; self.order.len()];
        self.unpack(key, &mut coordinates);
        coordinates
    }

    /// The lowest bit that has to be sorted by when entries come sorted by the dimensions in `sorted_by`: a stable sort by the first levels is
    /// enough where the others follow each other as they do there.
    pub fn lowest_unsorted(&self, sorted_by: &[usize]) -> u32 {
        let place = |dimension: &usize| sorted_by.iter().position(|sorted| sorted == dimension);
        let mut first = self.order.len();
        while first > 0 {
            let next = self.order.get(first).and_then(place);
            // Dimensions of one coordinate cannot be out of order.
            if next.is_some_and(|next| place(&self.order[first - 1]) > Some(next)) {
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
