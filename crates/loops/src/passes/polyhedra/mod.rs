//! Statements as products over the points of polyhedra, and polyhedra as loops.
//!
//! `products`: what a statement adds, as products of factors. `scan`: the ranges of a polyhedron's iterators.
//! `shadow`: polyhedra without some of their iterators.

pub(super) mod products;
pub(super) mod scan;
