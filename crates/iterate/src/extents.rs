//! How many coordinates levels have, of the extents of dimensions.

use dastac_formats::format::{Format, LevelExpr};
use dastac_loops::Index;

/// How many coordinates a level has, given the extents of dimensions.
pub(crate) fn level_extent(expr: &LevelExpr, extents: &[Index]) -> Index {
    if let Some(dimension) = expr.as_dimension() {
        return extents[dimension].clone();
    }
    let (low, high) = range(expr, extents);
    high - low + 1
}

/// The smallest and the largest value of an expression.
pub(crate) fn range(expr: &LevelExpr, extents: &[Index]) -> (Index, Index) {
    expr.range(&|dimension: usize| extents[dimension].clone() - 1)
}

/// The extents of dimensions, and how many values the functions of a format that are computed from entries may have.
pub(crate) fn with_functions(format: &Format, extents: &[Index]) -> Vec<Index> {
    let mut all = extents[..format.rank()].to_vec();
    for function in format.map().functions() {
        let largest = function.largest(&|dimension: usize| extents[dimension].clone() - 1);
        all.push(largest + 1);
    }
    all
}
