//! Nodes of a level that stores coordinates: each different coordinate below each position gets a number, in the order
//! of positions and coordinates.

use std::ops::Range;

use rayon::prelude::*;

use super::blocks::{filled, parts};
use super::small;
use super::walk::{At, Stored, Walk};
use crate::format::column::BLOCK;
use dastac_elements::Shared;

/// Entries that have gone to a level.
pub(super) struct Numbered {
    pub(super) at: At,
    pub(super) count: u32,
    /// Where the nodes below each position begin, and the end.
    pub(super) begins: Vec<u32>,
}

/// A level that stores coordinates.
pub(super) struct Level<'a> {
    /// Entries in the level before.
    pub(super) walk: &'a Walk,
    pub(super) stored: &'a Stored,
}

/// Positions in the level before and coordinates of some entries that follow each other, and of the one before them.
struct Window {
    above: [u32; BLOCK + 1],
    own: [u32; BLOCK + 1],
    count: usize,
}

impl Window {
    fn new() -> Window {
        Window { above: [0; BLOCK + 1], own: [0; BLOCK + 1], count: 0 }
    }

    /// Whether positions and coordinates do not fall.
    fn grows(&self, first: bool) -> bool {
        let from = usize::from(first);
        let (above, own) = (&self.above[from..=self.count], &self.own[from..=self.count]);
        let key = |at: usize| u64::from(above[at]) << 32 | u64::from(own[at]);
        let falls: usize = (1..above.len()).map(|at| usize::from(key(at) < key(at - 1))).sum();
        falls == 0
    }

    /// Calls back with the number of each entry, its position, and whether it is another node than the one before.
    fn each(&self, first: bool, mut call: impl FnMut(usize, u32, bool)) {
        for at in 1..=self.count {
            let same = self.above[at] == self.above[at - 1] && self.own[at] == self.own[at - 1];
            call(at - 1, self.above[at], !same || (first && at == 1));
        }
    }
}

impl Level<'_> {
    /// Positions and coordinates of a block of entries. What is in the window before is that of the entry before.
    fn look(&self, first: usize, count: usize, window: &mut Window) {
        (window.above[0], window.own[0]) = (window.above[window.count], window.own[window.count]);
        window.count = count;
        self.walk.block(first, &mut window.above[1..=count]);
        self.stored.block(&self.walk.columns, first, &mut window.own[1..=count]);
    }

    /// Calls back with the blocks of a part, as long as it says so.
    fn windows(&self, part: Range<usize>, mut call: impl FnMut(usize, &Window) -> bool) -> bool {
        let mut window = Window::new();
        if part.start > 0 {
            self.look(part.start - 1, 1, &mut window);
        }
        let mut first = part.start;
        while first < part.end {
            let count = BLOCK.min(part.end - first);
            self.look(first, count, &mut window);
            if !call(first, &window) {
                return false;
            }
            first += count;
        }
        true
    }

    /// Without a table, if entries of each node stand side by side, and nodes in their order.
    pub(super) fn in_runs(&self) -> Option<Numbered> {
        let count = self.walk.columns.count;
        let parts = parts(count);
        let nodes = |part: &Range<usize>| {
            let mut nodes = 0;
            let all = self.windows(part.clone(), |first, window| {
                window.each(first == 0, |_, _, begins| nodes += usize::from(begins));
                window.grows(first == 0)
            });
            all.then_some(nodes)
        };
        // Entries in any order are found out soon.
        let (first, others) = parts.split_first()?;
        let soon = nodes(&(first.start..first.end.min(BLOCK)))?;
        let counts: Vec<usize> = match (others, first.len() <= BLOCK) {
            ([], true) => vec![soon],
            _ => parts.par_iter().map(nodes).collect::<Option<_>>()?,
        };
        let all: usize = counts.iter().sum();
        let mut begins = vec![small(all); self.walk.positions as usize + 1];
        let mut at = if all == count { Vec::new() } else { vec![0u32; count] };
        let (shared, begins_of) = (Shared::of(&mut at), Shared::of(&mut begins));
        let firsts = counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum - count)
        });
        let work: Vec<(&Range<usize>, usize)> = parts.iter().zip(firsts).collect();
        work.into_par_iter().for_each(|(part, before)| {
            let mut next = small(before);
            self.windows(part.clone(), |first, window| {
                let mut last = if first == 0 { 0 } else { window.above[0] + 1 };
                window.each(first == 0, |entry, above, begins| {
                    while last <= above {
                        begins_of.set(last as usize, next);
                        last += 1;
                    }
                    next += u32::from(begins);
                    if all < count {
                        shared.set(first + entry, next - 1);
                    }
                });
                true
            });
        });
        let at = if all == count { At::Own } else { At::Each(at) };
        Some(Numbered { at, count: small(all), begins })
    }

    /// Without a table, if the coordinates of each position do not fall, whatever comes between them.
    pub(super) fn in_turns(&self) -> Option<Numbered> {
        let count = self.walk.columns.count;
        let positions = self.walk.positions as usize;
        // Of each position, how many nodes there are and the coordinate of the last one, plus 1: coordinates are
        // smaller than an extent of 32 bits.
        let mut nodes = vec![[0u32; 2]; positions];
        let rises = self.windows(0..count, |first, window| {
            let mut falls = false;
            window.each(first == 0, |entry, above, _| {
                let [nodes, last] = &mut nodes[above as usize];
                let own = window.own[entry + 1] + 1;
                *nodes += u32::from(own != *last);
                falls |= own < *last;
                *last = own;
            });
            !falls
        });
        if !rises {
            return None;
        }
        let mut begins = Vec::with_capacity(positions + 1);
        let mut all = 0;
        for [count, last] in &mut nodes {
            begins.push(all);
            // The node before the first one.
            (all, *count, *last) = (all + *count, all.wrapping_sub(1), 0);
        }
        begins.push(all);
        let mut at = vec![0u32; count];
        self.windows(0..count, |first, window| {
            let to = &mut at[first..][..window.count];
            window.each(first == 0, |entry, above, _| {
                let [node, last] = &mut nodes[above as usize];
                let own = window.own[entry + 1] + 1;
                *node = node.wrapping_add(u32::from(own != *last));
                (*last, to[entry]) = (own, *node);
            });
            true
        });
        Some(Numbered { at: At::Each(at), count: all, begins })
    }

    /// With a table of all coordinates below all positions, which has `slots` elements.
    pub(super) fn in_table(&self, slots: usize) -> Numbered {
        let extent = usize::try_from(self.stored.extent).unwrap_or_default();
        let (walk, count) = (self.walk, self.walk.columns.count);
        let mut table = vec![0u32; slots];
        let marks = Shared::of(&mut table);
        let slot = |above: u32, own: u32| above as usize * extent + own as usize;
        walk.each(|first, above| {
            let mut memory = [0; BLOCK];
            let own = &mut memory[..above.len()];
            self.stored.block(&walk.columns, first, own);
            above.iter().zip(own).for_each(|(above, own)| marks.set(slot(*above, *own), 1));
        });
        let positions = walk.positions as usize;
        let mut begins = Vec::with_capacity(positions + 1);
        let mut next = 0;
        for row in table.chunks_exact_mut(extent.max(1)) {
            begins.push(next);
            for one in row {
                (*one, next) = (next, next + *one);
            }
        }
        begins.resize(positions + 1, next);
        let at = filled(count, |first, to| {
            let mut memory = [0; BLOCK];
            let above = &mut memory[..to.len()];
            walk.block(first, above);
            self.stored.block(&walk.columns, first, to);
            to.iter_mut().zip(above).for_each(|(to, above)| *to = table[slot(*above, *to)]);
        });
        Numbered { at: At::Each(at), count: next, begins }
    }

    /// With a table of the coordinates below one position, for one after the other, given the positions of entries,
    /// which ascend.
    pub(super) fn in_groups(&self, above: &[u32]) -> Numbered {
        let extent = usize::try_from(self.stored.extent).unwrap_or_default();
        let count = above.len();
        let mut own = self.stored.all(&self.walk.columns);
        // Parts end where positions do.
        let whole = |entry: usize| match above.get(entry) {
            Some(own) if entry > 0 && above[entry - 1] == *own => {
                entry + above[entry..].partition_point(|at| at == own)
            }
            _ => entry,
        };
        let parts = parts(count).into_iter().map(|part| whole(part.start)..whole(part.end));
        let mut rest = &mut own[..];
        let mut work = Vec::new();
        for part in parts {
            let (own, behind) = rest.split_at_mut(part.len());
            rest = behind;
            work.push((&above[part], own));
        }
        let found = work.par_iter_mut().map(|(above, own)| groups(above, own, extent));
        let found: Vec<(Vec<(u32, u32)>, u32)> = found.collect();
        let mut begins = vec![0; self.walk.positions as usize + 1];
        let (mut next, mut first) = (0, 0);
        let mut firsts = Vec::new();
        for (groups, nodes) in found {
            firsts.push(first);
            for (above, node) in groups {
                begins[next..=above as usize].fill(first + node);
                next = above as usize + 1;
            }
            first += nodes;
        }
        begins[next..].fill(first);
        work.par_iter_mut().zip(firsts).skip(1).for_each(|((_, at), first)| {
            at.iter_mut().for_each(|at| *at += first);
        });
        Numbered { at: At::Each(own), count: first, begins }
    }
}

/// Sorts different numbers: those that are close to each other by a bit for each number that may be there. `bits` is
/// memory for that.
fn sort(numbers: &mut Vec<u32>, bits: &mut Vec<u64>) {
    let (Some(least), Some(most)) = (numbers.iter().min(), numbers.iter().max()) else { return };
    let (least, words) = (*least, ((most - least) / 64) as usize + 1);
    if words > numbers.len() {
        numbers.sort_unstable();
        return;
    }
    bits.clear();
    bits.resize(words, 0);
    for number in numbers.drain(..) {
        bits[((number - least) / 64) as usize] |= 1 << ((number - least) % 64);
    }
    for (word, first) in bits.iter().zip((least..).step_by(64)) {
        let mut left = *word;
        while left != 0 {
            numbers.push(first + left.trailing_zeros());
            left &= left - 1;
        }
    }
}

/// Replaces coordinates by nodes, counted from 0. Gives the position and the first node of each group, and how many
/// nodes there are.
fn groups(above: &[u32], entries: &mut [u32], extent: usize) -> (Vec<(u32, u32)>, u32) {
    // Of each coordinate, its node in the group that had it last, plus 1.
    let mut table = vec![0u32; extent];
    let mut groups = Vec::new();
    let (mut begin, mut before) = (0, 0);
    let mut own: Vec<u32> = Vec::new();
    let mut bits = Vec::new();
    while let Some(position) = above.get(begin) {
        let length = above[begin..].iter().take_while(|at| *at == position).count();
        let entries = &mut entries[begin..begin + length];
        own.clear();
        let mut sorted = true;
        for coordinate in &*entries {
            let slot = &mut table[*coordinate as usize];
            if *slot <= before {
                *slot = before + 1;
                sorted &= own.last().is_none_or(|last| last < coordinate);
                own.push(*coordinate);
            }
        }
        if !sorted {
            sort(&mut own, &mut bits);
        }
        for (coordinate, node) in own.iter().zip(before + 1..) {
            table[*coordinate as usize] = node;
        }
        entries.iter_mut().for_each(|entry| *entry = table[*entry as usize] - 1);
        groups.push((*position, before));
        before += small(own.len());
        begin += length;
    }
    (groups, before)
}
