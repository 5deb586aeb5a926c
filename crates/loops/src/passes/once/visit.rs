//! The loops that visit stored elements, and which roles there are where.
//!
//! All roles have the points in the middle of a range; at its ends, on a diagonal for example, only some of them do.
//! The loop around the innermost one, over rows, executes several rows at once ([`super::rows`]). The iterations of the
//! outermost loop are dealt out to the parts in turn, so that parts of triangles have about equal work.

use std::slice::from_ref;

use super::roles::Role;
use crate::ir::*;
use crate::linear::Facts;
use crate::passes::polyhedra::scan::{Range, at_most, largest, smallest};

/// What the loops are written with.
pub(super) struct Visit<'a> {
    pub(super) function: &'a mut Function,
    /// The iterators, the outermost first.
    pub(super) vars: Vec<VarId>,
    pub(super) roles: Vec<Role>,
    /// What is added to, so far behind the place that a role says.
    pub(super) target: BufferId,
    pub(super) shift: VarId,
    /// Memory for the sums of rows.
    pub(super) sums: BufferId,
    /// How many of these there are.
    pub(super) most_sums: usize,
    /// The part whose iterations of the outermost loop these are, and the number of parts.
    pub(super) part: VarId,
    pub(super) parts: i64,
    /// How many rows are visited at once.
    pub(super) rows: i64,
    /// What holds at the current place.
    pub(super) facts: Facts,
}

impl Visit<'_> {
    /// All iterations of some roles from a loop on.
    pub(super) fn level(&mut self, at: usize, roles: &[usize]) -> Vec<Stmt> {
        let classes = self.classes(at, roles);
        let common = self.common(classes.iter().map(|(range, _)| range));
        let mut stmts = Vec::new();
        for (range, class) in &classes {
            for end in self.ends(range, &common) {
                stmts.extend(self.end(at, &end, class));
            }
        }
        if self.is_empty(&common) {
            return stmts;
        }
        if at + 1 == self.vars.len() {
            let row = Index::Var(self.vars[at - 1]);
            stmts.extend(self.kernel(&[row], roles, &common));
        } else if at + 2 == self.vars.len() && self.rows > 1 {
            stmts.extend(self.blocks(at, roles, &common));
        } else {
            stmts.push(self.each(at, roles, &common));
        }
        stmts
    }

    /// Roles by their ranges of an iterator. A side without bounds of its own is that of the others: beyond, inner
    /// loops have no iterations.
    fn classes(&self, at: usize, roles: &[usize]) -> Vec<(Range, Vec<usize>)> {
        let common = self.common(roles.iter().map(|role| &self.roles[*role].nested.ranges[at]));
        let within = |one: &Index, other: &Index| at_most(one, other, &self.facts);
        let lower = |own: &[Index], weak: &[Index]| {
            let mut others = common.lower.iter();
            let wide = others.all(|low| weak.iter().any(|weak| within(low, weak)));
            let other = if wide && !common.lower.is_empty() { &common.lower } else { weak };
            if own.is_empty() { other.to_vec() } else { own.to_vec() }
        };
        let upper = |own: &[Index], weak: &[Index]| {
            let mut others = common.upper.iter();
            let wide = others.all(|high| weak.iter().any(|weak| within(weak, high)));
            let other = if wide && !common.upper.is_empty() { &common.upper } else { weak };
            if own.is_empty() { other.to_vec() } else { own.to_vec() }
        };
        let mut classes: Vec<(Range, Vec<usize>)> = Vec::new();
        for role in roles {
            let nested = &self.roles[*role].nested;
            let (own, weak) = (&nested.ranges[at], &nested.weak[at]);
            let lower = largest(lower(&own.lower, &weak.lower), &self.facts);
            let upper = smallest(upper(&own.upper, &weak.upper), &self.facts);
            let range = Range { lower, upper };
            match classes.iter_mut().find(|(known, _)| *known == range) {
                Some((_, class)) => class.push(*role),
                None => classes.push((range, vec![*role])),
            }
        }
        classes
    }

    /// What ranges have in common.
    fn common<'r>(&self, ranges: impl Iterator<Item = &'r Range>) -> Range {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for range in ranges {
            lower.extend(range.lower.iter().cloned());
            upper.extend(range.upper.iter().cloned());
        }
        Range { lower: largest(lower, &self.facts), upper: smallest(upper, &self.facts) }
    }

    /// What a range has before and after the common part.
    fn ends(&self, range: &Range, common: &Range) -> Vec<Range> {
        let (Some(first), Some(last)) = (first(common), last(common)) else { return Vec::new() };
        let mut before = range.clone();
        before.upper.push(first.clone());
        let mut after = range.clone();
        after.lower.extend([last, first]);
        let mut ends = Vec::new();
        for Range { lower, upper } in [before, after] {
            let (lower, upper) = (largest(lower, &self.facts), smallest(upper, &self.facts));
            let end = Range { lower, upper };
            if !self.is_empty(&end) {
                ends.push(end);
            }
        }
        ends
    }

    fn is_empty(&self, range: &Range) -> bool {
        let below = |high: &Index| range.lower.iter().any(|low| at_most(high, low, &self.facts));
        range.upper.iter().any(below)
    }

    /// Something that only some roles have.
    fn end(&mut self, at: usize, range: &Range, roles: &[usize]) -> Vec<Stmt> {
        if at + 1 == self.vars.len() {
            return self.plain(roles, range);
        }
        vec![self.each(at, roles, range)]
    }

    /// A loop over single values of an iterator.
    fn each(&mut self, at: usize, roles: &[usize], range: &Range) -> Stmt {
        let var = self.vars[at];
        let len = self.facts.len();
        self.facts.assume_range(var, &range.lower, &range.upper);
        let body = self.level(at + 1, roles);
        self.facts.truncate(len);
        let (mut lower, upper) = (range.lower.clone(), range.upper.clone());
        let mut step = 1;
        if at == 0 {
            step = self.parts;
            lower = first(range).map(|first| first + Index::Var(self.part)).into_iter().collect();
        }
        Stmt::For(For { var, lower, upper, step, mark: Mark::Sequential, body })
    }

    /// Loops over several rows at once, and over those that are left.
    fn blocks(&mut self, at: usize, roles: &[usize], range: &Range) -> Vec<Stmt> {
        let (Some(first), Some(last)) = (first(range), last(range)) else { return Vec::new() };
        let (var, rows) = (self.vars[at], self.rows);
        let block = self.function.fresh_like(var, "t");
        let len = self.facts.len();
        let upper: Vec<Index> = range.upper.iter().map(|high| high.clone() - (rows - 1)).collect();
        self.facts.assume_range(block, &range.lower, &upper);
        let body = self.block(at, roles, block);
        self.facts.truncate(len);
        let (mut lower, mut step) = (range.lower.clone(), rows);
        if at == 0 {
            step *= self.parts;
            lower = vec![first.clone() + Index::Var(self.part) * rows];
        }
        let mark = Mark::Sequential;
        let blocks = Stmt::For(For { var: block, lower, upper, step, mark, body });
        let whole = (last - first.clone()).floor_div(rows) * rows + first.clone();
        let mut rest = range.clone();
        rest.lower = vec![first, whole];
        self.facts.assume_range(var, &range.lower, &range.upper);
        let body = self.level(at + 1, roles);
        self.facts.truncate(len);
        let Range { lower, upper } = rest;
        let rest = Stmt::For(For { var, lower, upper, step: 1, mark, body });
        let rest = match at {
            // They are few.
            0 => Stmt::when(
                Condition::Compare(Compare::Eq, Index::Var(self.part), (self.parts - 1).into()),
                vec![rest],
            ),
            _ => rest,
        };
        vec![blocks, rest]
    }

    /// What rows have in common, all at once, and the ends of each.
    fn block(&mut self, at: usize, roles: &[usize], block: VarId) -> Vec<Stmt> {
        let (var, inner) = (self.vars[at], at + 1);
        let begin = Index::Var(block);
        // Bounds are linear: of all rows, the first or the last one has the largest and the smallest.
        let mut extreme = Vec::new();
        for (range, _) in self.classes(inner, roles) {
            for row in [begin.clone(), begin.clone() + (self.rows - 1)] {
                let of = |list: &[Index]| {
                    list.iter().map(|bound| bound.substitute(var, &row)).collect::<Vec<_>>()
                };
                extreme.push(Range { lower: of(&range.lower), upper: of(&range.upper) });
            }
        }
        let common = self.common(extreme.iter());
        let mut stmts = Vec::new();
        if !self.is_empty(&common) {
            let rows: Vec<Index> = (0..self.rows).map(|row| begin.clone() + row).collect();
            stmts.extend(self.kernel(&rows, roles, &common));
        }
        let len = self.facts.len();
        let end = begin.clone() + self.rows;
        self.facts.assume_range(var, from_ref(&begin), from_ref(&end));
        let classes = self.classes(inner, roles);
        let mut ends = Vec::new();
        for (range, class) in &classes {
            for end in self.ends(range, &common) {
                ends.extend(self.plain(class, &end));
            }
        }
        self.facts.truncate(len);
        if ends.is_empty() {
            return stmts;
        }
        match self.few_elements(&begin, &classes, &common) {
            Some(few) => stmts.extend(few),
            None => stmts.push(Stmt::for_range(var, begin, end, ends)),
        }
        stmts
    }

    /// The ends of the rows of a block as one addition to each place, if their numbers of elements are known.
    fn few_elements(
        &mut self,
        begin: &Index,
        classes: &[(Range, Vec<usize>)],
        common: &Range,
    ) -> Option<Vec<Stmt>> {
        let (var, inner) = (self.vars[self.vars.len() - 2], self.vars[self.vars.len() - 1]);
        let mut adds = Vec::new();
        for row in 0..self.rows {
            let row = begin.clone() + row;
            for (range, class) in classes {
                let of = |list: &[Index]| {
                    list.iter().map(|bound| bound.substitute(var, &row)).collect::<Vec<_>>()
                };
                let range = Range { lower: of(&range.lower), upper: of(&range.upper) };
                for end in self.ends(&range, common) {
                    let ([first], [last]) = (&end.lower[..], &end.upper[..]) else { return None };
                    let count = last.constant_difference(first)?;
                    if count > self.rows {
                        return None;
                    }
                    for at in 0..count {
                        let at = first.clone() + at;
                        self.element(class, &row, (inner, &at), &mut adds);
                    }
                }
            }
        }
        let add = |(index, value)| Stmt::add(self.target, index, value);
        Some(adds.into_iter().map(add).collect())
    }
}

/// The first value of a range.
fn first(range: &Range) -> Option<Index> {
    range.lower.iter().cloned().reduce(Index::max)
}

/// The end of a range.
fn last(range: &Range) -> Option<Index> {
    range.upper.iter().cloned().reduce(Index::min)
}
