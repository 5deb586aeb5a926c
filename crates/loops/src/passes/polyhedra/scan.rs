//! Polyhedra as nested ranges, by Fourier and Motzkin's elimination.
//!
//! Before -> after, with `a` outside of `b`: `0 <= b`, `b < a`, `a < N` -> `a = 1 to N`, `b = 0 to a`.

use crate::ir::*;
use crate::linear::{Facts, Linear};

/// The range of an iterator; bounds depend on outer ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Range {
    /// Their maximum is the first value.
    pub(crate) lower: Vec<Index>,
    /// Exclusive; their minimum is the end.
    pub(crate) upper: Vec<Index>,
}

/// A polyhedron as ranges.
#[derive(Clone, Debug)]
pub(crate) struct Nested {
    /// One for each iterator, of the bounds that the polyhedron's inequalities are.
    pub(crate) ranges: Vec<Range>,
    /// The bounds that follow from these: inner loops have no iterations beyond them.
    pub(crate) weak: Vec<Range>,
    /// Expressions without iterators that are not negative where the polyhedron has points.
    pub(crate) around: Vec<Index>,
}

impl Nested {
    /// The ranges with all bounds of each side on which they have none of their own.
    pub(crate) fn bounded(&self) -> impl Iterator<Item = Range> {
        self.ranges.iter().zip(&self.weak).map(|(range, weak)| {
            let pick = |own: &[Index], weak: &[Index]| match own.is_empty() {
                true => weak.to_vec(),
                false => own.to_vec(),
            };
            Range { lower: pick(&range.lower, &weak.lower), upper: pick(&range.upper, &weak.upper) }
        })
    }

    /// Parallel loops over the first iterators around statements.
    pub(crate) fn loops(&self, vars: &[VarId], mut body: Vec<Stmt>) -> Vec<Stmt> {
        let ranges: Vec<Range> = self.bounded().collect();
        for (var, Range { lower, upper }) in vars.iter().zip(ranges).rev() {
            let (step, mark) = (1, Mark::THREADS);
            body = vec![Stmt::For(For { var: *var, lower, upper, step, mark, body })];
        }
        body
    }
}

/// An inequality: an expression that is not negative, and whether it follows from others.
#[derive(Clone)]
struct Inequality {
    index: Index,
    derived: bool,
}

/// The ranges of a polyhedron's iterators, of which the first is the outermost. Each has to occur with the coefficients
/// 1 and -1 only.
pub(crate) fn scan(domain: &[Index], vars: &[VarId]) -> Option<Nested> {
    let mut current: Vec<Inequality> = Vec::new();
    domain.iter().try_for_each(|one| add(&mut current, one, false))?;
    let (mut ranges, mut weak) = (Vec::new(), Vec::new());
    for var in vars.iter().rev() {
        let (mut low, mut high, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for Inequality { index, derived } in current {
            if !index.mentions(*var) {
                others.push(Inequality { index, derived });
                continue;
            }
            let (by, rest) = Linear::of(&index)?.isolate(*var)?;
            let bound = |index| Inequality { index, derived };
            let zero = Index::Const(0);
            match by {
                1 => low.push(bound(Linear::difference(&zero, &rest.to_index(), 0)?.to_index())),
                -1 => high.push(bound(rest.to_index() + 1)),
                _ => return None,
            }
        }
        for low in &low {
            for high in &high {
                add(&mut others, &(high.index.clone() - low.index.clone() - 1), true)?;
            }
        }
        current = others;
        let mut facts = Facts::default();
        let given = current.iter().filter(|one| !one.derived);
        given.for_each(|one| facts.assume(&not_negative(&one.index)));
        let part = |list: &[Inequality], derived: bool| -> Vec<Index> {
            let part = list.iter().filter(|one| one.derived == derived);
            part.map(|one| one.index.clone()).collect()
        };
        for (ranges, derived) in [(&mut ranges, false), (&mut weak, true)] {
            let (low, high) = (part(&low, derived), part(&high, derived));
            ranges.push(Range { lower: largest(low, &facts), upper: smallest(high, &facts) });
        }
    }
    ranges.reverse();
    weak.reverse();
    let around = current.into_iter().map(|one| one.index).collect();
    let nested = Nested { ranges, weak, around };
    let bounded = |range: Range| !range.lower.is_empty() && !range.upper.is_empty();
    let all = nested.bounded().all(bounded);
    all.then_some(nested)
}

/// The condition that an expression is not negative.
pub(crate) fn not_negative(index: &Index) -> Condition {
    Condition::Compare(Compare::Ge, index.clone(), Index::Const(0))
}

/// Adds an expression that is not negative, unless that says nothing new.
fn add(list: &mut Vec<Inequality>, one: &Index, derived: bool) -> Option<()> {
    let linear = Linear::of(one)?;
    if linear.as_const().is_some_and(|value| value >= 0) {
        return Some(());
    }
    let one = linear.to_index();
    let known = list.iter().any(|other| {
        let beyond = one.constant_difference(&other.index);
        beyond.is_some_and(|difference| difference >= 0) && (derived || !other.derived)
    });
    if !known {
        list.push(Inequality { index: one, derived });
    }
    Some(())
}

/// The bounds of which the largest is the first value, without those that are never larger than another.
pub(crate) fn largest(list: Vec<Index>, facts: &Facts) -> Vec<Index> {
    needed(list, &|one, other| at_most(one, other, facts))
}

/// The bounds of which the smallest is the end, without those that are never smaller than another.
pub(crate) fn smallest(list: Vec<Index>, facts: &Facts) -> Vec<Index> {
    needed(list, &|one, other| at_most(other, one, facts))
}

/// Whether `one <= other` is known.
pub(crate) fn at_most(one: &Index, other: &Index, facts: &Facts) -> bool {
    one == other || facts.imply(&Condition::Compare(Compare::Le, one.clone(), other.clone()))
}

fn needed(list: Vec<Index>, within: &dyn Fn(&Index, &Index) -> bool) -> Vec<Index> {
    let mut kept: Vec<Index> = Vec::new();
    for one in list {
        if kept.iter().any(|other| within(&one, other)) {
            continue;
        }
        kept.retain(|other| !within(other, &one));
        kept.push(one);
    }
    kept
}
