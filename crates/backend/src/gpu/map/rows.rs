//! Sums whose terms the lanes of a row add up together.
//!
//! The host knows how many terms a row has on average, and chooses how many lanes a team of [`super::teams`] has: one
//! for short rows, all 256 of a block for long ones.
//!
//! This is done where neighbouring lanes then read neighbouring elements, and would not if each had a row.
//!
//! [`Mapper::columns`]: where neighbouring lanes read neighbouring elements already, but there are too few sums for a
//! device, 8 lanes that are 32 apart share a long one.

use dastac_loops::{Condition, Index, Stmt, Value, VarId};

use super::mapper::{LANES, Mapper, WARP};
use super::space::Points;
use super::sums::zero;
use super::teams::{self, Row, Rows, Team};

/// How many lanes share a row that has at most so many terms on average; more are the work of a whole block. Each lane
/// has about as many terms as it can load at the same time.
const WIDTHS: [(i64, i64); 4] = [(3, 1), (12, 4), (40, 8), (1024, WARP)];
/// Where each lane would have more terms of the longest row, those rows are the work of a whole block of which each
/// lane would have more than some.
const MANY: i64 = 64;
const SOME: i64 = 32;
/// So many lanes at least share a row where others are much longer.
const FEWEST: i64 = 4;
/// So many sums, a lane for each, keep a device busy.
const ENOUGH: i64 = 1 << 17;
/// Sums of at least so many terms are shared where there are too few.
const LONG: i64 = 64;
/// Loads of neighbouring lanes that are far apart take as long as so many that are neighbours.
const SCATTERED: i64 = 8;

/// The store of one sum, if the points are such.
pub(super) fn one<'a>(body: &'a [Stmt]) -> Option<Row<'a>> {
    let [Stmt::Store(store)] = body else { return None };
    let mut sums = Vec::new();
    store.value.visit(&mut |value| {
        if let Value::Sum(sum) = value {
            sums.push(&**sum);
        }
    });
    let [sum] = sums[..] else { return None };
    (sum.step == 1).then_some(Row { store, sum })
}

/// The store of a sum that neighbouring lanes should share, if the points are such.
pub(super) fn of<'a>(points: &Points, body: &'a [Stmt]) -> Option<Row<'a>> {
    let Row { store, sum } = one(body)?;
    let innermost = points.axes.last()?.var;
    let in_rows = cost(&sum.body, sum.var) + 1;
    let stored = sum.lower.iter().any(|bound| bound.has_loads() && bound.mentions(innermost));
    let alone = match stored {
        // Rows begin anywhere.
        true => SCATTERED * loads(&sum.body).len() as i64,
        false => cost(&sum.body, innermost),
    };
    (in_rows < alone).then_some(Row { store, sum })
}

/// Loads, with their places, of a value and of the subscripts in it.
fn loads(value: &Value) -> Vec<&Index> {
    let mut found = Vec::new();
    value.visit(&mut |value| {
        if let Value::Load(_, index) = value {
            found.push(index);
        }
    });
    value.visit_indices(&mut |index| {
        index.visit(&mut |part| {
            if let Index::Load(_, at) = part {
                found.push(at);
            }
        });
    });
    found
}

/// The cost of the loads of lanes for which a variable has neighbouring values.
fn cost(value: &Value, var: VarId) -> i64 {
    let one = |at: &Index| match at.constant_stride(var) {
        Some(-1..=1) => 1,
        _ => SCATTERED,
    };
    loads(value).into_iter().map(one).sum()
}

impl Mapper<'_> {
    /// Kernels for rows of several lengths, of which the host chooses.
    pub fn rows(&mut self, points: &Points, row: &Row<'_>) -> Vec<Stmt> {
        let Some(terms) = self.terms(points, row) else {
            return vec![self.row_kernel(points, row, WARP, None)];
        };
        let rows = points.count().max(Index::Const(1));
        self.with_longest(points, row, |mapper, longest| {
            let last = vec![mapper.row_kernel(points, row, LANES, None)];
            WIDTHS.into_iter().rev().fold(last, |longer, (length, width)| {
                let alike = match width {
                    1 => vec![mapper.points(points, &[Stmt::Store(row.store.clone())])],
                    _ => vec![mapper.row_kernel(points, row, width, None)],
                };
                let own = match &longest {
                    None => alike,
                    Some(longest) => {
                        let few = longest.clone().at_most(Index::Const(MANY * width));
                        let width = width.max(FEWEST);
                        let most = Some(SOME * width);
                        choose(few, alike, vec![mapper.row_kernel(points, row, width, most)])
                    }
                };
                choose(terms.clone().at_most(rows.clone() * length), own, longer)
            })
        })
    }

    /// Kernels of sums with a lane for each, or 8, of which the host chooses.
    pub fn columns(&mut self, points: &Points, row: &Row<'_>) -> Vec<Stmt> {
        let plain = vec![self.points(points, &[Stmt::Store(row.store.clone())])];
        let Some(terms) = self.terms(points, row) else { return plain };
        let few = points.count().less(Index::Const(ENOUGH));
        let long = (points.count() * LONG).at_most(terms);
        if few.clone().and(long.clone()).as_bool() == Some(false) {
            return plain;
        }
        let shared = vec![self.column_kernel(points, row)];
        choose(few.and(long), shared, plain)
    }

    /// The number of terms of all rows, if the host can tell.
    pub fn terms(&self, points: &Points, row: &Row<'_>) -> Option<Index> {
        let sum = row.sum;
        let low = points.extreme(&sum.lower, Index::max, false);
        let high = points.extreme(&sum.upper, Index::min, true);
        if let (Some(low), Some(high)) = (low, high)
            && !low.has_loads()
            && !high.has_loads()
        {
            return Some((high - low).max(Index::Const(0)) * points.count());
        }
        // A buffer with an element for each stored term, where terms are positions.
        if !sum.lower.iter().chain(&sum.upper).any(Index::has_loads) {
            return None;
        }
        let mut size = None;
        sum.body.visit(&mut |value| {
            if let Value::Load(buffer, at) = value
                && *at == Index::Var(sum.var)
            {
                size = self.module.buffers.get(buffer.0 as usize).map(|one| one.size.clone());
            }
        });
        size.filter(|size| !size.has_selections())
    }

    /// The kernel in which so many neighbouring lanes share a row, if it has at most so many terms.
    fn row_kernel(
        &mut self,
        points: &Points,
        row: &Row<'_>,
        share: i64,
        most: Option<i64>,
    ) -> Stmt {
        let team = Team { across: 1, share, own: 1, most };
        let count = (points.count() + (team.rows() - 1)).floor_div(team.rows());
        self.blocks(count.clone(), |mapper, block| {
            // Long rows are often neighbours: then they go to different blocks.
            let (first, apart) = match most {
                Some(_) => (block, count),
                None => (block * team.rows(), Index::Const(1)),
            };
            mapper.teams(team, row, &Flat { points, first, apart })
        })
    }

    /// The kernel in which lanes that are far apart share the sums of neighbouring points.
    fn column_kernel(&mut self, points: &Points, row: &Row<'_>) -> Stmt {
        let team = Team { across: WARP, share: LANES / WARP, own: 1, most: None };
        let count = (points.count() + (WARP - 1)).floor_div(WARP);
        self.blocks(count, |mapper, block| {
            mapper.teams(
                team,
                row,
                &Beside(Flat { points, first: block * WARP, apart: Index::Const(1) }),
            )
        })
    }
}

/// Points one after the other, as rows of one column.
struct Flat<'a> {
    points: &'a Points,
    first: Index,
    /// From one to the next.
    apart: Index,
}

impl Rows for Flat<'_> {
    fn row(&self, mapper: &mut Mapper<'_>, row: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        mapper.point(self.points, self.first.clone() + row * self.apart.clone(), body)
    }

    fn columns(&self, _: &mut Mapper<'_>, _: Index, own: VarId, body: teams::Points) -> Vec<Stmt> {
        body.stmts().into_iter().map(|stmt| stmt.substitute(own, &zero())).collect()
    }
}

/// Points one after the other, as columns of the only row of a block.
struct Beside<'a>(Flat<'a>);

impl Rows for Beside<'_> {
    fn row(&self, _: &mut Mapper<'_>, _: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        body
    }

    fn columns(
        &self,
        mapper: &mut Mapper<'_>,
        column: Index,
        own: VarId,
        body: teams::Points,
    ) -> Vec<Stmt> {
        let body = self.0.columns(mapper, column.clone(), own, body);
        self.0.row(mapper, column, body)
    }
}

/// A choice that the host makes.
pub(super) fn choose(condition: Condition, then: Vec<Stmt>, otherwise: Vec<Stmt>) -> Vec<Stmt> {
    match condition.as_bool() {
        Some(true) => then,
        Some(false) => otherwise,
        None => vec![Stmt::If(dastac_loops::If { condition, then, otherwise })],
    }
}
