//! Ranges of few iterations, and functions of many statements: neither is worth code of its own for each nest.

use super::nest::Level;
use crate::ir::*;
use crate::linear::Facts;

/// A range of at most so many iterations is not worth code of its own.
const SHORT: i64 = 16;

/// Functions of more statements than this share code between them, so that nests are not cut one by one.
pub(super) const MANY: usize = 32;

/// Whether a range is known to have few iterations.
pub(super) fn has_few(level: &Level, facts: &Facts) -> bool {
    let few = |low: &Index, high: &Index| {
        let condition = Condition::compare(Compare::Le, high.clone(), low.clone() + SHORT);
        condition.as_bool() == Some(true) || facts.imply(&condition)
    };
    level.lower.iter().any(|low| level.upper.iter().any(|high| few(low, high)))
}

/// Whether a range that depends on symbols only is known to have few iterations.
pub(super) fn is_short(level: &Level, facts: &Facts) -> bool {
    let bounds = || level.lower.iter().chain(&level.upper);
    let constant = bounds().all(|bound| matches!(bound, Index::Const(_)));
    !constant && bounds().all(|bound| bound.free_vars().is_empty()) && has_few(level, facts)
}

/// Whether a condition holds for small values of a symbol only.
pub(super) fn is_small(condition: &Condition) -> bool {
    match condition {
        Condition::Compare(Compare::Lt | Compare::Le, Index::Symbol(_), Index::Const(_))
        | Condition::Compare(Compare::Gt | Compare::Ge, Index::Const(_), Index::Symbol(_))
        | Condition::Compare(Compare::Eq, Index::Symbol(_), Index::Const(_))
        | Condition::Compare(Compare::Eq, Index::Const(_), Index::Symbol(_)) => true,
        Condition::Compare(..) => false,
        Condition::And(all) => all.iter().any(is_small),
        Condition::Or(some) => !some.is_empty() && some.iter().all(is_small),
    }
}
