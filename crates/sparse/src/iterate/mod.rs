//! Iteration over dynamically sparse tensors.
//!
//! What is iterated is a walk over coordinates ([`dastac_loops::CoIter`]): levels of several tensors together, as the points of a merge lattice say.
//! [`lower()`] makes plain loops of it, which is all that back ends take.

mod lower;
#[cfg(test)]
mod tests;

pub use lower::lower;
