//! Which blocks have points: ranges of one iterator where others are in given blocks.
//!
//! Before -> after, of `k` where `0 <= k <= i < N` and `it <= i < it + 8`: `0 to min(it + 8, N)`.

use crate::ir::*;
use crate::linear::Facts;
use crate::passes::polyhedra::scan::{Range, at_most, largest, not_negative, scan, smallest};

/// Expressions that are not negative where a variable is in a block: `from <= var < from + size`.
pub(super) fn within(var: VarId, from: &Index, size: i64) -> [Index; 2] {
    [Index::Var(var) - from.clone(), from.clone() + (size - 1) - Index::Var(var)]
}

/// Facts from expressions that are not negative.
pub(super) fn facts(lists: &[&[Index]]) -> Facts {
    let mut facts = Facts::default();
    lists.iter().flat_map(|list| list.iter()).for_each(|one| facts.assume(&not_negative(one)));
    facts
}

/// The range of a variable over a polyhedron whose other iterators are given: all bounds that follow.
pub(super) fn range(
    domain: &[Index],
    var: VarId,
    others: &[VarId],
    known: &Facts,
) -> Option<Range> {
    let order: Vec<VarId> = std::iter::once(var).chain(others.iter().copied()).collect();
    let nested = scan(domain, &order)?;
    let (own, weak) = (nested.ranges.first()?, nested.weak.first()?);
    let all = |own: &[Index], weak: &[Index]| [own, weak].concat();
    Some(Range {
        lower: largest(all(&own.lower, &weak.lower), known),
        upper: smallest(all(&own.upper, &weak.upper), known),
    })
}

/// The polyhedron without some of its iterators.
pub(super) fn shadow(domain: &[Index], without: &[VarId]) -> Option<Vec<Index>> {
    Some(scan(domain, without)?.around)
}

/// The first value of a range.
pub(super) fn first(range: &Range) -> Index {
    range.lower.iter().cloned().reduce(Index::max).unwrap_or(Index::Const(0))
}

/// The end of a range.
pub(super) fn last(range: &Range) -> Index {
    range.upper.iter().cloned().reduce(Index::min).unwrap_or(Index::Const(0))
}

/// A range that contains all of several.
pub(super) fn hull(ranges: Vec<Range>, known: &Facts) -> Range {
    let below = |one: &Range, other: &Range| {
        let under = |low: &Index| other.lower.iter().any(|high| at_most(low, high, known));
        one.lower.iter().all(under)
    };
    let above = |one: &Range, other: &Range| {
        let over = |high: &Index| other.upper.iter().any(|low| at_most(low, high, known));
        one.upper.iter().all(over)
    };
    let pick = |covers: &dyn Fn(&Range, &Range) -> bool| {
        ranges.iter().position(|one| ranges.iter().all(|other| covers(one, other)))
    };
    let lower = match pick(&below) {
        Some(at) => ranges[at].lower.clone(),
        None => ranges.iter().map(first).reduce(Index::min).into_iter().collect(),
    };
    let upper = match pick(&above) {
        Some(at) => ranges[at].upper.clone(),
        None => ranges.iter().map(last).reduce(Index::max).into_iter().collect(),
    };
    Range { lower, upper }
}

/// The condition that expressions which mention some variables are not negative anywhere in a box, without what is
/// known to hold. Boxes are given by the first and the last values of variables. None if one of the expressions is not
/// linear there.
pub(super) fn everywhere(
    domain: &[Index],
    mentions: &[VarId],
    corners: &[(VarId, Index, Index)],
    known: &Facts,
) -> Option<Condition> {
    let mut conditions = Vec::new();
    for one in domain.iter().filter(|one| mentions.iter().any(|var| one.mentions(*var))) {
        let mut least = one.clone();
        for (var, first, last) in corners {
            let worst = match one.constant_stride(*var)? {
                0 => continue,
                1.. => first,
                _ => last,
            };
            least = least.substitute(*var, worst);
        }
        let condition = not_negative(&least);
        if condition.as_bool() != Some(true)
            && !known.imply(&condition)
            && !conditions.contains(&condition)
        {
            conditions.push(condition);
        }
    }
    Some(Condition::all(conditions))
}
