//! Places of keys in a hash table.

use dastac_loops::Index;

/// Where a key is looked for first, of so many places. No product overflows: keys are folded to 31 bits before.
pub(crate) fn hash(key: &Index, slots: i64) -> Index {
    let folded = key.clone().modulo((1 << 31) - 1);
    (folded * 1_103_515_245).floor_div(1 << 16).modulo(slots)
}
