//! Several points of the innermost loop for each lane.
//!
//! Before -> after: `parallel i = 0 to M { parallel j = 0 to N { A[N * i + j] = 2.0 * B[N * i + j] } }` ->
//! ```text
//! parallel(blocks) b = 0 to M * ((N + 1023) / 1024) { parallel(lanes) t = 0 to 256 {
//!   (row and start of b and t) {
//!     if start + 768 < N { unroll u = 0 to 4 { A[N * i + start + 256 * u] = 2.0 * B[N * i + start + 256 * u] } }
//!     else { for u = 0 to 4 { .. where start + 256 * u < N .. } }
//!   }
//! } }
//! ```
//! A lane then waits for several elements at once, and computes its place once for all of them; where a sum has factors
//! that are the same for all of its points (a row of a sparse matrix times rows of a dense one), they are loaded once.
//! Sums are those of teams ([`super::teams`]), whose lanes share terms where there are few points, or rows are long.

use dastac_loops::{Condition, For, Index, Mark, MathFunction, Stmt, Value, VarId};

use super::mapper::{LANES, Mapper, WARP};
use super::rows::{self, choose};
use super::space::{Axis, Points, bind};
use super::teams::{self, Row, Rows, Team};

/// Points of a lane.
const OWN: i64 = 4;
/// Neighbouring lanes in a row of sums, of long rows and of short ones.
const ACROSS: [i64; 2] = [WARP, 8];
/// Parts of the terms of a sum where there are few points, or sums are long.
const SHARE: i64 = 8;
/// So few points are few: there are fewer lanes than a device can have, if none share a sum.
const FEW: i64 = 1 << 17;
/// How many terms the longest row has, if it is no longer short, and where lanes share its sums: they wait for each
/// other, which takes as long as some 50 terms.
const SHORT: i64 = 24;
const LONG: i64 = 48;
const LONGEST: i64 = 160;
/// Rows with more terms are the work of a whole block, where they are so much longer than the average.
const MOST: i64 = 256;
const APART: i64 = 8;
/// So many lanes keep a device busy.
const ENOUGH: i64 = 1 << 17;

/// What points of several for each lane are, side by side.
pub(super) enum Kind {
    Copies,
    Sums,
}

/// Whether lanes should have several points, which are side by side.
pub(super) fn of(points: &Points, body: &[Stmt]) -> Option<Kind> {
    let ([Stmt::Store(store)], [.., inner]) = (body, &points.axes[..]) else { return None };
    let mut fits = points.guards.is_empty() && inner.step == 1 && beside(&store.index, inner.var);
    let (mut sums, mut shared) = (0, 0);
    store.value.visit(&mut |value| match value {
        Value::Sum(sum) => {
            sums += 1;
            let bounds = sum.lower.iter().chain(&sum.upper);
            fits &= !bounds.into_iter().any(|bound| bound.mentions(inner.var));
            fits &= !sum.condition.as_ref().is_some_and(|one| one.mentions(inner.var));
        }
        Value::Load(_, index) if index.mentions(inner.var) => fits &= beside(index, inner.var),
        Value::Load(..) => shared += 1,
        // Other functions are long.
        Value::Apply(function, _) => {
            fits &=
                matches!(function, MathFunction::Sqrt | MathFunction::Abs | MathFunction::Floor);
        }
        _ => {}
    });
    store.value.visit_indices(&mut |index| {
        if let Index::Load(_, at) = index {
            fits &= !at.mentions(inner.var);
        }
    });
    match (fits, sums) {
        (true, 0) => Some(Kind::Copies),
        (true, 1) if shared > 0 => Some(Kind::Sums),
        _ => None,
    }
}

/// Whether neighbouring values of a variable stand for neighbouring elements.
fn beside(index: &Index, var: VarId) -> bool {
    index.constant_stride(var) == Some(1)
}

impl Mapper<'_> {
    /// Kernels with several points for each lane, of which the host chooses, or other ones.
    pub fn wide(
        &mut self,
        kind: Kind,
        points: &Points,
        body: &[Stmt],
        narrow: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let Some((inner, outer)) = points.axes.split_last() else { return narrow };
        let columns = Columns {
            inner: inner.clone(),
            outer: Points { axes: outer.to_vec(), guards: Vec::new() },
        };
        let extent = Index::Var(inner.extent);
        let many = Index::Const(ENOUGH * OWN).at_most(points.count());
        match kind {
            Kind::Copies => {
                let fits = Index::Const(LANES * OWN).at_most(extent * 2).and(many);
                choose(fits, vec![self.copies(&columns, body)], narrow)
            }
            Kind::Sums => {
                let Some(row) = rows::one(body) else { return narrow };
                self.with_longest(&columns.outer, &row, |mapper, longest| {
                    let sums = Sums { columns: &columns, row: &row, many, longest };
                    ACROSS.into_iter().rev().fold(narrow.clone(), |shorter, across| {
                        let own = sums.kernels(mapper, across, narrow.clone());
                        let fits = Index::Const(across * OWN).at_most(extent.clone() * 2);
                        choose(fits, own, shorter)
                    })
                })
            }
        }
    }

    /// Several points for each lane, in rows of 256 lanes.
    fn copies(&mut self, columns: &Columns, body: &[Stmt]) -> Stmt {
        let length = LANES * OWN;
        self.pieces(columns, 1, length, |mapper, [row, _], start| {
            vec![mapper.lanes("t", LANES, |mapper, lane| {
                let own = mapper.function.fresh_var("u");
                let body = teams::Points::Store(body.to_vec());
                let all = columns.beside(mapper, start + lane, LANES, own, body);
                mapper.point(&columns.outer, row, all)
            })]
        })
    }

    /// Sums for each lane, in rows of so many lanes.
    fn wide_sums(&mut self, columns: &Columns, row: &Row<'_>, team: Team) -> Stmt {
        let (rows, length, across) = (team.rows(), team.across * OWN, team.across);
        self.pieces(columns, rows, length, |mapper, [group, groups], start| {
            // Long rows are often neighbours: then they go to different blocks.
            let (first, apart) = match team.most {
                Some(_) => (group, groups),
                None => (group * rows, Index::Const(1)),
            };
            mapper.teams(team, row, &Pieces { columns, first, apart, start, across })
        })
    }

    /// Blocks that have so many rows each, of which they have pieces of a length: their number among the blocks of a
    /// column and how many these are, and the column.
    fn pieces(
        &mut self,
        columns: &Columns,
        rows: i64,
        length: i64,
        body: impl FnOnce(&mut Self, [Index; 2], Index) -> Vec<Stmt>,
    ) -> Stmt {
        let pieces = (Index::Var(columns.inner.extent) + (length - 1)).floor_div(length);
        let groups = (columns.outer.count() + (rows - 1)).floor_div(rows);
        self.blocks(groups.clone() * pieces.clone(), |mapper, block| {
            let group = mapper.function.fresh_var("group");
            let piece = block.clone() - Index::Var(group) * pieces.clone();
            let start = columns.inner.low.clone() + piece * length;
            let body = body(mapper, [Index::Var(group), groups], start);
            vec![bind(group, block.quotient(pieces), body)]
        })
    }
}

/// Sums with several points for each lane.
struct Sums<'a> {
    columns: &'a Columns,
    row: &'a Row<'a>,
    /// Whether there are lanes enough if none share a sum.
    many: Condition,
    /// How many terms the longest row has.
    longest: Option<Index>,
}

impl Sums<'_> {
    /// The kernels of rows of so many lanes, of which the host chooses, or other ones.
    fn kernels(&self, mapper: &mut Mapper<'_>, across: i64, narrow: Vec<Stmt>) -> Vec<Stmt> {
        let mut kernel = |share, most| {
            let team = Team { across, share, own: OWN, most };
            vec![mapper.wide_sums(self.columns, self.row, team)]
        };
        let (alone, two, all) = (kernel(1, None), kernel(2, None), kernel(SHARE, None));
        let mixed = self.longest.as_ref().map(|_| kernel(SHARE, Some(MOST)));
        let rows = self.columns.outer.count();
        let Some(terms) = mapper.terms(&self.columns.outer, self.row) else {
            return choose(self.many.clone(), alone, narrow);
        };
        let average = |than: i64| (rows.clone() * than).at_most(terms.clone());
        let longest = |than: i64| match &self.longest {
            Some(longest) => Index::Const(than).at_most(longest.clone()),
            None => average(than),
        };
        let points = rows.clone() * Index::Var(self.columns.inner.extent);
        let few = points.clone().at_most(Index::Const(FEW));
        let some = choose(longest(SHORT).or(few.clone()), narrow, alone.clone());
        let some = choose(longest(LONG), two, some);
        let some = choose(longest(LONGEST).or(few.and(longest(LONG))), all.clone(), some);
        let many = choose(average(LONGEST), all, alone);
        let alike = choose(self.many.clone(), many, some);
        match (&self.longest, mixed) {
            (Some(longest), Some(mixed)) => {
                let long = Index::Const(MOST).less(longest.clone());
                let apart = (terms * APART).less(rows * longest.clone());
                choose(long.and(apart), mixed, alike)
            }
            _ => alike,
        }
    }
}

/// Rows of points that are side by side.
struct Columns {
    inner: Axis,
    outer: Points,
}

impl Columns {
    /// Statements of the points of a lane, which are so many columns apart, at those that there are.
    fn beside(
        &self,
        mapper: &mut Mapper<'_>,
        first: Index,
        apart: i64,
        own: VarId,
        body: teams::Points,
    ) -> Vec<Stmt> {
        let inner = &self.inner;
        let start = mapper.function.fresh_var("start");
        let here = Index::Var(start) + Index::Var(own) * apart;
        let unrolled = |here: &Index, body: &[Stmt]| {
            let body = body.iter().map(|stmt| stmt.substitute(inner.var, here)).collect();
            Stmt::For(For::new(own, Index::Const(0), Index::Const(OWN), body).unrolled())
        };
        if let (teams::Points::Load(body), Some(last)) = (&body, inner.last()) {
            return vec![bind(start, first, vec![unrolled(&here.min(last), body)])];
        }
        let body = body.stmts();
        let last = Index::Var(start) + (OWN - 1) * apart;
        let low = inner.lower.iter().filter(|bound| **bound != inner.low);
        let all = low.map(|bound| bound.clone().at_most(Index::Var(start)));
        let all = all.chain(inner.upper.iter().map(|end| last.clone().less(end.clone())));
        let all = Condition::all(all.collect::<Vec<_>>());
        let together = unrolled(&here, &body);
        let lower = std::iter::once(here.clone()).chain(inner.lower.iter().cloned());
        let upper = std::iter::once(here.clone() + 1).chain(inner.upper.iter().cloned());
        let alone = Stmt::For(For {
            var: inner.var,
            lower: lower.collect(),
            upper: upper.collect(),
            step: 1,
            mark: Mark::Sequential,
            body,
        });
        let alone = Stmt::for_range(own, Index::Const(0), Index::Const(OWN), vec![alone]);
        let choice = Stmt::If(dastac_loops::If {
            condition: all,
            then: vec![together],
            otherwise: vec![alone],
        });
        vec![bind(start, first, vec![choice])]
    }
}

/// The pieces of rows that a block has.
struct Pieces<'a> {
    columns: &'a Columns,
    first: Index,
    /// From one row to the next.
    apart: Index,
    start: Index,
    across: i64,
}

impl Rows for Pieces<'_> {
    fn row(&self, mapper: &mut Mapper<'_>, row: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        mapper.point(&self.columns.outer, self.first.clone() + row * self.apart.clone(), body)
    }

    fn columns(
        &self,
        mapper: &mut Mapper<'_>,
        column: Index,
        own: VarId,
        body: teams::Points,
    ) -> Vec<Stmt> {
        self.columns.beside(mapper, self.start.clone() + column, self.across, own, body)
    }
}
