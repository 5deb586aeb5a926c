//! Blocks of entries, by one thread or by several.

use rayon::prelude::*;

use super::super::convert::PARALLEL;
use crate::format::column::BLOCK;

/// Calls back with the first entry of each block and how many it has.
pub(super) fn each(count: usize, call: impl Fn(usize, usize) + Sync) {
    let block = |number: usize| {
        let first = number * BLOCK;
        call(first, BLOCK.min(count - first));
    };
    let blocks = count.div_ceil(BLOCK);
    match is_shared(count) {
        false => (0..blocks).for_each(block),
        true => (0..blocks).into_par_iter().with_min_len(PARALLEL / BLOCK / 4).for_each(block),
    }
}

/// An array of as many numbers as there are entries: sets those of each block, given its first entry.
pub(super) fn filled(count: usize, fill: impl Fn(usize, &mut [u32]) + Sync + Send) -> Vec<u32> {
    let mut all = vec![0; count];
    let block = |(number, to): (usize, &mut [u32])| fill(number * BLOCK, to);
    match is_shared(count) {
        false => all.chunks_mut(BLOCK).enumerate().for_each(block),
        true => {
            let blocks = all.par_chunks_mut(BLOCK).enumerate();
            blocks.with_min_len(PARALLEL / BLOCK / 4).for_each(block);
        }
    }
    all
}

/// Whether several threads share the work on so many entries.
fn is_shared(count: usize) -> bool {
    count >= PARALLEL && rayon::current_num_threads() > 1
}

/// As many ranges of neighbours as there are threads that are worth it, of about the same lengths, in whole blocks.
pub(super) fn parts(count: usize) -> Vec<std::ops::Range<usize>> {
    let parts = if is_shared(count) { rayon::current_num_threads() } else { 1 };
    let blocks = count.div_ceil(BLOCK);
    let cut = |part: usize| (part * blocks / parts * BLOCK).min(count);
    (0..parts).map(|part| cut(part)..cut(part + 1)).collect()
}

/// The values of a function of numbers from 0 on.
pub(super) fn collected(count: usize, value: impl Fn(usize) -> u32 + Sync + Send) -> Vec<u32> {
    match is_shared(count) {
        false => (0..count).map(value).collect(),
        true => (0..count).into_par_iter().with_min_len(PARALLEL / 4).map(value).collect(),
    }
}
