//! Conversions by counting: to dense levels with one compressed level below them (`csr`, `csc`), or to two compressed
//! ones, from any order of dimensions in which entries come to each row in the order of its columns.

use super::super::StorageError;
use super::super::counting::{Counting, Entries, Near, Rows};
use super::super::key::Packing;
use super::source::{Moved, Room, Source, Starts, Stores};
use crate::format::Format;
use dastac_elements::{Element, View, with_type};

/// How many rows without entries may come on each entry, where rows without entries are left out afterwards.
const SPARSE: u64 = 4;

/// What the levels of a target are to this way of conversion.
struct Target {
    /// Positions of all levels but the last, as if they were dense.
    rows: u32,
    /// By level: what its coordinate adds to the row; of the last one, nothing.
    strides: Vec<u32>,
    /// Whether rows without entries are left out.
    squeezed: bool,
}

/// Whether levels that store coordinates in this way are filled by counting.
pub(super) fn is_filled(stores: &[Stores]) -> bool {
    let Some((Stores::Nodes, above)) = stores.split_last() else { return false };
    !above.is_empty() && (is_squeezed(above) || above.iter().all(|one| *one == Stores::All))
}

/// Whether rows without entries are left out of the levels above the last one.
fn is_squeezed(above: &[Stores]) -> bool {
    above == [Stores::Nodes]
}

impl Target {
    fn new(format: &Format, extents: &[u64], entries: usize) -> Option<Target> {
        let stores = Stores::all(format).filter(|stores| is_filled(stores))?;
        let (_, above) = stores.split_last()?;
        let squeezed = is_squeezed(above);
        u32::try_from(extents[above.len()].saturating_sub(1)).ok()?;
        let mut rows = 1u32;
        let mut strides = vec![0; above.len()];
        for level in (0..above.len()).rev() {
            strides[level] = rows;
            rows = rows.checked_mul(u32::try_from(extents[level]).ok()?)?;
        }
        let few = u64::from(rows) <= SPARSE * entries as u64;
        (!squeezed || few).then_some(Target { rows, strides, squeezed })
    }

    /// What a coordinate of a level of the source, which stores a dimension, adds to row and column.
    fn step(&self, order: &[usize], dimension: usize) -> [u32; 2] {
        match order.iter().position(|own| *own == dimension) {
            Some(level) if level < self.strides.len() => [self.strides[level], 0],
            _ => [0, 1],
        }
    }
}

impl Source<'_> {
    /// Row and column that the coordinates above say, by position of the last level but one.
    fn above(&self, target: &Target, order: &[usize]) -> Vec<[u32; 2]> {
        let mut all = vec![[0; 2]];
        for level in 0..self.levels.len() - 1 {
            let step = target.step(order, self.order[level]);
            let place =
                |[row, column]: [u32; 2], at: u32| [row + at * step[0], column + at * step[1]];
            let [positions, coordinates] = self.levels[level];
            let mut below = Vec::with_capacity(self.starts[level].len());
            match self.stores[level] {
                Stores::All => {
                    // The extents of both are those of dimensions, which fit.
                    #[allow(clippy::cast_possible_truncation)]
                    let extent = self.extents[level] as u32;
                    for parent in &all {
                        below.extend((0..extent).map(|at| place(*parent, at)));
                    }
                }
                Stores::Nodes | Stores::Entries => {
                    for (parent, range) in all.iter().zip(positions.windows(2)) {
                        let own = &coordinates[range[0] as usize..range[1] as usize];
                        below.extend(own.iter().map(|at| place(*parent, *at)));
                    }
                }
                Stores::Follows => {
                    let pairs = all.iter().zip(coordinates);
                    below.extend(pairs.map(|(parent, at)| place(*parent, *at)));
                }
            }
            all = below;
        }
        all
    }

    /// Whether the rows of entries follow from the last level's coordinates alone.
    fn is_flat(&self, target: &Target, order: &[usize]) -> bool {
        let (_, above) = self.order.split_last().unwrap_or((&0, &[]));
        above.iter().all(|dimension| target.step(order, *dimension)[0] == 0)
    }
}

/// The arrays of a tensor in a format, if counting makes it.
pub(super) fn moved(
    source: &Source<'_>,
    values: View<'_>,
    (format, own, packing): (&Format, &Packing, &Packing),
    near: Near,
    room: &mut Room<'_>,
) -> Result<Option<Moved>, StorageError> {
    let (space, entries) = (packing.space(), source.entries);
    let Some(target) = Target::new(format, space.extents(), entries) else { return Ok(None) };
    let Some(order) = space.order() else { return Ok(None) };
    // Entries come in an order that is one of the last level's in each row.
    if packing.lowest_unsorted(own) < packing.shift(target.strides.len() - 1) {
        return Ok(None);
    }
    let Some(last) = source.levels.len().checked_sub(1) else { return Ok(None) };
    let [positions, coordinates] = source.levels[last];
    let positions = match source.stores[last] {
        Stores::Follows => None,
        _ => Some(positions),
    };
    let all = Entries {
        above: source.above(&target, order),
        positions,
        coordinates,
        step: target.step(order, source.order[last]),
        flat: source.is_flat(&target, order),
    };
    let mut ends = room("the positions", Element::U32, target.rows as usize + 1)?;
    let mut columns = room("the coordinates", Element::U32, entries)?;
    let mut moved = room("the values", values.element(), entries)?;
    let counting = Counting { entries: &all, rows: target.rows, threads: source.threads, near };
    let indices = (ends.as_mut_slice::<u32>(), columns.as_mut_slice::<u32>());
    let (Some(ends_of), Some(coordinates)) = indices else { return Ok(None) };
    let Some((first, ends_of)) = ends_of.split_first_mut() else { return Ok(None) };
    *first = 0;
    with_type!(values.element(), V => {
        if let Some(to) = moved.as_mut_slice::<V>() {
            let to = Rows { ends: ends_of, coordinates, values: to };
            counting.fill::<V>(values.typed::<V>(), to)?;
        }
    });
    let arrays = match target.squeezed {
        false => vec![ends, columns],
        true => {
            let starts = Starts::Read(ends.typed::<u32>());
            let [first, own, ends] = squeezed(&starts, room)?;
            vec![first, own, ends, columns]
        }
    };
    Ok(Some(Moved { arrays, values: moved }))
}

/// Leaves out rows without entries: where those with some begin, which they are, and where their entries begin.
fn squeezed(
    starts: &Starts<'_>,
    room: &mut Room<'_>,
) -> Result<[dastac_elements::Storage; 3], StorageError> {
    let there = |row: &usize| starts.at(*row) < starts.at(row + 1);
    let count = (0..starts.len()).filter(there).count();
    let mut all = [2, count, count + 1].map(|length| room("the positions", Element::U32, length));
    let mut fill = |which: usize, with: &mut dyn Iterator<Item = usize>| {
        if let Ok(to) = &mut all[which]
            && let Some(to) = to.as_mut_slice::<u32>()
        {
            // Fewer than 2^32 rows and entries.
            #[allow(clippy::cast_possible_truncation)]
            to.iter_mut().zip(with).for_each(|(to, number)| *to = number as u32);
        }
    };
    fill(0, &mut [0, count].into_iter());
    fill(1, &mut (0..starts.len()).filter(there));
    let begins = (0..starts.len()).filter(there).map(|row| starts.at(row));
    fill(2, &mut begins.chain([starts.at(starts.len())]));
    let [first, rows, ends] = all;
    Ok([first?, rows?, ends?])
}
