//! Conversions between formats that store the same dimensions in the same order.
//!
//! Entries keep their order, so their values are copied. What a level of the result stores of them:
//!
//! - A level with a coordinate for each entry (`coo`, and the last level of any format) has the coordinates of the
//!   source's level, each repeated for the entries below it.
//! - A level with a coordinate for each node has one for each run of entries whose coordinates are the same so far.
//! - A dense level has no arrays, but a position for every coordinate, where entries begin.
//!
//! Positions of a level with segments say for each position of the level before how many nodes come before it.

use std::ops::Range;

use super::super::StorageError;
use super::source::{Moved, Room, Source, Starts, Stores, Task, run};
use crate::format::Format;
use dastac_elements::{Element, Storage, View, with_type};

/// An array of the result.
enum Array<'a> {
    /// As it stands in the source.
    Read(&'a [u32]),
    Made(Vec<u32>),
    /// All numbers up to and with this one.
    Numbers(usize),
    /// The coordinate in this level of each entry.
    Spread(usize),
}

impl<'a> Array<'a> {
    fn of(starts: &Starts<'a>) -> Array<'a> {
        match starts {
            Starts::Each(count) => Array::Numbers(*count),
            Starts::Read(all) => Array::Read(all),
            Starts::Made(all) => Array::Made(all.clone()),
        }
    }
}

/// How many positions a dense level may have for each entry, where they are made here.
const SPARSE: usize = 64;

/// Rows of at most so many entries are filled by one store or two.
const SHORT: usize = 16;

/// The nodes of a level: where the entries of each begin, and its coordinate.
#[derive(Default)]
struct Nodes {
    starts: Vec<u32>,
    coordinates: Vec<u32>,
}

/// The arrays of a tensor in a format of the same order, if its levels are among those that are known here.
pub(super) fn moved(
    source: &Source<'_>,
    values: View<'_>,
    format: &Format,
    room: &mut Room<'_>,
) -> Result<Option<Moved>, StorageError> {
    let Some(stores) = Stores::all(format).filter(|stores| lists(stores, format)) else {
        return Ok(None);
    };
    let Some(plan) = source.plan(&stores) else { return Ok(None) };
    let mut arrays = Vec::with_capacity(plan.len());
    for array in &plan {
        let count = match array {
            Array::Read(all) => all.len(),
            Array::Made(all) => all.len(),
            Array::Numbers(last) => last + 1,
            Array::Spread(_) => source.entries,
        };
        arrays.push(room("positions and coordinates", Element::U32, count)?);
    }
    let mut copies = room("the values", values.element(), source.entries)?;
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for (array, to) in plan.iter().zip(&mut arrays) {
        source.fill(array, to, &mut tasks);
    }
    with_type!(values.element(), V => {
        if let Some(to) = copies.as_mut_slice::<V>() {
            copied(values.typed::<V>(), to, source.threads, &mut tasks);
        }
    });
    run(tasks, source.threads);
    Ok(Some(Moved { arrays, values: copies }))
}

/// Whether levels with a coordinate for each entry have one for each of all entries: a level in the middle that is
/// unique would have one for each node.
pub(super) fn lists(stores: &[Stores], format: &Format) -> bool {
    let Some(first) = stores.iter().position(|own| *own == Stores::Entries) else { return true };
    let (last, behind) = (stores.len() - 1, &stores[first + 1..]);
    behind.iter().all(|own| *own == Stores::Follows)
        && format.levels()[first..last].iter().all(|level| !level.unique)
}

/// Copies in parts.
fn copied<'t, T: Copy + Send + Sync>(
    from: &'t [T],
    to: &'t mut [T],
    threads: usize,
    tasks: &mut Vec<Task<'t>>,
) {
    let part = from.len().div_ceil(threads).max(1);
    for (from, to) in from.chunks(part).zip(to.chunks_mut(part)) {
        tasks.push(Box::new(move || to.copy_from_slice(from)));
    }
}

impl<'a> Source<'a> {
    /// The arrays of levels that store coordinates in this way.
    fn plan(&self, stores: &[Stores]) -> Option<Vec<Array<'a>>> {
        let mut arrays = Vec::new();
        // The entries are fewer than 2^32.
        #[allow(clippy::cast_possible_truncation)]
        let mut above = Starts::Made(vec![0, self.entries as u32]);
        let mut alike = true;
        for (level, own) in stores.iter().enumerate() {
            match own {
                Stores::All => {
                    alike &= self.stores[level] == Stores::All;
                    above = match alike {
                        true => self.starts[level].clone(),
                        false => self.located(level, &above)?,
                    };
                }
                Stores::Nodes if level + 1 < stores.len() => {
                    let nodes = self.nodes(level);
                    arrays.push(Array::Made(positions(&above, &nodes.starts)));
                    let mut starts = nodes.starts;
                    #[allow(clippy::cast_possible_truncation)]
                    starts.push(self.entries as u32);
                    (above, alike) = (Starts::Made(starts), false);
                    arrays.push(Array::Made(nodes.coordinates));
                }
                Stores::Nodes | Stores::Entries => {
                    arrays.extend([Array::of(&above), Array::Spread(level)]);
                    (above, alike) = (Starts::Each(self.entries), false);
                }
                Stores::Follows => arrays.push(Array::Spread(level)),
            }
        }
        Some(arrays)
    }

    /// Where entries begin at each position of a dense level below positions at which they begin so.
    fn located(&self, level: usize, above: &Starts<'_>) -> Option<Starts<'a>> {
        let extent = usize::try_from(self.extents[level]).ok()?;
        let count = above.len().checked_mul(extent)?;
        if count > SPARSE * (self.entries + SPARSE) {
            return None;
        }
        if let (1, Starts::Each(_)) = (above.len(), &self.starts[level]) {
            return Some(Starts::Made(self.begins(level, extent)));
        }
        let Nodes { starts, coordinates } = self.nodes(level);
        let mut nodes = starts.iter().zip(&coordinates).peekable();
        let mut all = Vec::with_capacity(count + 1);
        for parent in 0..above.len() {
            let end = above.at(parent + 1);
            while let Some((start, at)) = nodes.next_if(|(start, _)| (**start as usize) < end) {
                all.resize(parent * extent + *at as usize + 1, *start);
            }
        }
        #[allow(clippy::cast_possible_truncation)]
        all.resize(count + 1, self.entries as u32);
        Some(Starts::Made(all))
    }

    /// Before which entry each coordinate of a level begins that has one coordinate for each entry; and the end. The
    /// levels above have one position.
    fn begins(&self, level: usize, extent: usize) -> Vec<u32> {
        let mut all = Vec::with_capacity(extent + 1);
        // There are fewer than 2^32 entries.
        #[allow(clippy::cast_possible_truncation)]
        for (entry, at) in self.levels[level][1].iter().enumerate() {
            if all.len() <= *at as usize {
                all.resize(*at as usize + 1, entry as u32);
            }
        }
        #[allow(clippy::cast_possible_truncation)]
        all.resize(extent + 1, self.entries as u32);
        all
    }

    /// The runs of entries whose coordinates down to a level are the same.
    fn nodes(&self, level: usize) -> Nodes {
        let of_nodes = |own: &Stores| matches!(own, Stores::All | Stores::Nodes);
        let mut nodes = Nodes::default();
        if self.stores[..=level].iter().all(of_nodes) {
            let starts = &self.starts[level];
            for position in 0..starts.len() {
                if starts.at(position) < starts.at(position + 1) {
                    // Fewer than 2^32 entries.
                    #[allow(clippy::cast_possible_truncation)]
                    nodes.starts.push(starts.at(position) as u32);
                    nodes.coordinates.push(self.coordinate(level, position));
                }
            }
            return nodes;
        }
        let above = (0..level).filter(|at| self.starts[*at].len() > 1);
        let columns: Vec<Vec<u32>> = above.map(|at| self.spread(at)).collect();
        let own = self.spread(level);
        for (entry, coordinate) in own.iter().enumerate() {
            let differs = |all: &[u32]| entry == 0 || all[entry - 1] != all[entry];
            if differs(&own) || columns.iter().any(|all| differs(all)) {
                #[allow(clippy::cast_possible_truncation)]
                nodes.starts.push(entry as u32);
                nodes.coordinates.push(*coordinate);
            }
        }
        nodes
    }

    /// The coordinate in a level of each entry.
    fn spread(&self, level: usize) -> Vec<u32> {
        let mut to = vec![0; self.entries];
        self.expand(level, 0..self.starts[level].len(), &mut to);
        to
    }

    /// What fills an array.
    fn fill<'t>(&'t self, array: &'t Array<'_>, to: &'t mut Storage, tasks: &mut Vec<Task<'t>>) {
        let Some(mut to) = to.as_mut_slice::<u32>() else { return };
        match array {
            Array::Read(all) => copied(all, to, self.threads, tasks),
            Array::Made(all) => copied(all, to, self.threads, tasks),
            Array::Numbers(_) => tasks.push(Box::new(move || {
                to.iter_mut().zip(0..).for_each(|(to, number)| *to = number);
            })),
            Array::Spread(level) => match &self.starts[*level] {
                Starts::Each(_) => copied(self.levels[*level][1], to, self.threads, tasks),
                starts => {
                    for part in self.parts(*level) {
                        let count = starts.at(part.end) - starts.at(part.start);
                        let (own, others) = to.split_at_mut(count);
                        to = others;
                        tasks.push(Box::new(move || self.expand(*level, part, own)));
                    }
                }
            },
        }
    }

    /// The coordinates of some positions of a level, each once for each entry below it.
    fn expand(&self, level: usize, positions: Range<usize>, to: &mut [u32]) {
        let starts = &self.starts[level];
        let Some(first) = (!positions.is_empty()).then(|| starts.at(positions.start)) else {
            return;
        };
        for position in positions {
            let (begin, end) = (starts.at(position) - first, starts.at(position + 1) - first);
            let coordinate = self.coordinate(level, position);
            // What is behind a short row is written again with the rows that come.
            match to.get_mut(begin..begin + SHORT) {
                Some(place) if end - begin <= SHORT => place.fill(coordinate),
                _ => to[begin..end].fill(coordinate),
            }
        }
    }
}

/// For each position above, and the end, how many nodes begin before it.
fn positions(above: &Starts<'_>, nodes: &[u32]) -> Vec<u32> {
    let mut all = Vec::with_capacity(above.len() + 1);
    let mut node = 0;
    for position in 0..=above.len() {
        let begin = above.at(position);
        while nodes.get(node).is_some_and(|start| (*start as usize) < begin) {
            node += 1;
        }
        // There are not more nodes than entries.
        #[allow(clippy::cast_possible_truncation)]
        all.push(node as u32);
    }
    all
}
