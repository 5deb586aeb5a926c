//! Iteration over dynamically sparse tensors.
//!
//! A [`Kernel`] (sums of products of tensors in [formats](dastac_formats::format)) becomes loops: [`compile()`] orders
//! its loops so that every tensor is walked from its first level on, and makes walks over coordinates
//! ([`dastac_loops::CoIter`]) where levels of several tensors meet, as the points of a merge lattice say.
//! [`assembly()`] makes results in formats of them. [`lower()`] makes plain loops of these, which is all that back ends
//! take.

mod absent;
mod append;
mod assemble;
mod bounds;
mod builder;
mod compile;
mod conditions;
mod conversion;
mod diagonals;
mod extents;
mod graph;
mod join_segments;
mod kernel;
mod lattice;
mod level;
mod lower;
mod over_levels;
mod positions;
mod result_mode;
mod search;
mod skewed;
mod space;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod walks;
mod window_starts;
mod workspace;

pub use assemble::{Assembly, Structure, appending, assemble, assembly, is_assembled, pattern_of};
pub use bounds::{Bound, Bounds, Term};
pub use compile::{Filled, compile, fill, obstacle};
pub use diagonals::along_diagonals;
pub use graph::order;
pub use kernel::{
    Factor, Gathers, IterateError, Kernel, Kind, Limits, Linear, MOST_CURSORS, Operand, Product,
    Walking,
};
pub use lower::{LOWER, PASSES, Renamed, lower};
pub use space::on_levels;
pub use walks::{Over, Walk, Walks, Work, Works};
