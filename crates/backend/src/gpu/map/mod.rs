//! Passes that map loops to a grid of threads: blocks, whose threads (lanes) share a memory.
//!
//! - `map-kernels` ([`kernels`]): what the host does stays outside, everything else becomes loops over blocks around
//!   loops over lanes. [`join`]: stores to the same elements as one. [`space`]: several parallel loops as one range.
//!   [`rows`]: sums whose terms the lanes of a row share. [`wide`]: several points for each lane. [`teams`]: what lanes
//!   add up together. [`longest`]: whether some rows are much longer than others. [`tiles`]:
//!   products of matrices. [`scan`]: prefix sums. [`sorted`], [`marked`]: rows of sparse results, of which [`gather`]
//!   knows the form and [`drain`] the end. [`sums`]: what lanes add up together in shared memory.
//! - `outline-kernels` ([`outline`]): each loop over blocks becomes a private function, a kernel.
//! - `emulate-grid` ([`emulate`]): blocks as threads of a processor, lanes one after the other.
//!
//! The end of a loop over lanes is a barrier: no lane of a block goes on before all have come to it. Statements of a
//! block outside of such loops are executed by all of its lanes, with the same values, so they write nothing.

mod drain;
mod emulate;
mod gather;
mod join;
mod kernels;
mod longest;
mod mapper;
mod marked;
mod outline;
mod rows;
mod scan;
mod sorted;
mod space;
mod sums;
mod teams;
mod tiles;
mod wide;

use dastac_loops::passes::{Example, Pass, Sequence};

pub(super) use longest::{Longest, find as longest};
pub(super) use mapper::LANES;

/// The passes.
pub(super) const PASSES: &[Pass] = &[
    Pass {
        name: "map-kernels",
        about: "map parallel loops to blocks and lanes of a grid, all else to a grid of one lane",
        example: Example {
            before: "parallel i = 0 to N { A[2 * i] = 0.0 }",
            after: "for n = max(N, 0) to max(N, 0) + 1 { parallel(blocks) b = 0 to (n + 255) / 256 { \
                    parallel(lanes) t = 0 to 256 { for g = 256 * b + t to min(256 * b + t + 1, n) { \
                    for i = g to min(g + 1, N) { A[2 * i] = 0.0 } } } } }",
        },
        run: kernels::run,
    },
    Pass {
        name: "outline-kernels",
        about: "make a private function of each loop over blocks",
        example: Example {
            before: "parallel(blocks) b = 0 to n { .. A[i] = 0.0 .. }",
            after: "call f__kernel1(n) on A",
        },
        run: outline::run,
    },
    Pass {
        name: "emulate-grid",
        about: "execute blocks on threads of a processor and lanes one after the other",
        example: Example {
            before: "parallel(blocks) b = 0 to n { parallel(lanes) t = 0 to 256 { s } }",
            after: "parallel b = 0 to n { for t = 0 to 256 { s } }",
        },
        run: emulate::run,
    },
];

/// What a grid of threads executes.
pub(super) const MAP: Sequence =
    Sequence { name: "map-grid", passes: &["map-kernels", "outline-kernels"] };

/// The same on a processor.
pub(super) const EMULATE: Sequence = Sequence { name: "emulate-grid", passes: &["emulate-grid"] };
