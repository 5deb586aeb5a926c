//! Sums whose terms the lanes of a row add up together.
//!
//! Before -> after: `parallel i = 0 to M { y[i] = sum(p = pos[i] to pos[i + 1]) v[p] * x[crd[p]] }` ->
//! ```text
//! parallel(blocks) b = 0 to (M + 7) / 8 { with part of 256 {
//!   parallel(lanes) t = 0 to 256 { part[t] = 0.0  (row 8 * b + t / 32) {
//!     part[t] = sum(p = pos[i] + t % 32 to pos[i + 1] step 32) v[p] * x[crd[p]] } }
//!   parallel(lanes) t = 0 to 256 { if t % 32 < 16 { part[t] += part[t + 16] } } ..
//!   parallel(lanes) t = 0 to 256 { if t % 32 < 1 { (row 8 * b + t / 32) { y[i] = part[t] } } }
//! } }
//! ```
//! and the same with fewer lanes for shorter rows, down to one that has a row for itself, and with all 256 lanes for
//! long ones. The host knows how many terms a row has on average.
//!
//! This is done where neighbouring lanes then read neighbouring elements, and would not if each had a row.
//!
//! [`Mapper::columns`]: where neighbouring lanes read neighbouring elements already, but there are too few sums for a
//! device, 8 lanes that are 32 apart share a long one.

use dastac_loops::{Condition, Index, Space, Stmt, Store, Sum, Value, VarId};

use super::mapper::{LANES, Mapper, WARP};
use super::space::Points;

/// How many lanes share a row that has at most so many terms on average; more are the work of a whole block. Each lane
/// has about as many terms as it can load at the same time.
const WIDTHS: [(i64, i64); 4] = [(3, 1), (12, 4), (40, 8), (1024, WARP)];
/// So many sums, a lane for each, keep a device busy.
const ENOUGH: i64 = 1 << 17;
/// Sums of at least so many terms are shared where there are too few.
const LONG: i64 = 64;
/// Loads of neighbouring lanes that are far apart take as long as so many that are neighbours.
const SCATTERED: i64 = 8;

/// A store of a sum for each point.
pub(super) struct Row<'a> {
    store: &'a Store,
    sum: &'a Sum,
}

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
            return vec![self.row_kernel(points, row, WARP)];
        };
        let rows = points.count().max(Index::Const(1));
        let last = vec![self.row_kernel(points, row, LANES)];
        WIDTHS.into_iter().rev().fold(last, |longer, (length, width)| {
            let own = match width {
                1 => vec![self.points(points, &[Stmt::Store(row.store.clone())])],
                _ => vec![self.row_kernel(points, row, width)],
            };
            choose(terms.clone().at_most(rows.clone() * length), own, longer)
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
        let shared = vec![self.shared_sums(points, row, LANES / WARP, |lane| {
            [lane.clone().modulo(WARP), lane.floor_div(WARP)]
        })];
        choose(few.and(long), shared, plain)
    }

    /// The number of terms of all rows, if the host can tell.
    fn terms(&self, points: &Points, row: &Row<'_>) -> Option<Index> {
        let sum = row.sum;
        let low = points.extreme(&sum.lower, Index::max, false);
        let high = points.extreme(&sum.upper, Index::min, true);
        if let (Some(low), Some(high)) = (low, high)
            && !low.has_loads()
            && !high.has_loads()
        {
            return Some((high - low).max(Index::Const(0)) * points.count());
        }
        // A buffer with an element for each stored term.
        let mut size = None;
        sum.body.visit(&mut |value| {
            if let Value::Load(buffer, at) = value
                && *at == Index::Var(sum.var)
            {
                size = self.module.buffers.get(buffer.0 as usize).map(|one| one.size.clone());
            }
        });
        size
    }

    /// The kernel in which so many neighbouring lanes share a row.
    fn row_kernel(&mut self, points: &Points, row: &Row<'_>, width: i64) -> Stmt {
        self.shared_sums(points, row, width, |lane| {
            [lane.clone().floor_div(width), lane.modulo(width)]
        })
    }

    /// The kernel in which so many lanes share a sum. `place` gives which sum of the block's is a lane's, and which
    /// part of it.
    fn shared_sums(
        &mut self,
        points: &Points,
        row: &Row<'_>,
        width: i64,
        place: impl Fn(Index) -> [Index; 2],
    ) -> Stmt {
        let Row { store, sum } = row;
        let element = self.module.buffers[store.buffer.0 as usize].element;
        let element = self.module.computed_in(&store.value, element);
        let part = self.module.fresh_buffer("part", element, Index::Const(LANES));
        self.module.buffers[part.0 as usize].space = Space::Shared;
        let rows = LANES / width;
        // From a lane to the one that has the next part of its sum.
        let apart = if place(Index::Const(1))[1] == Index::Const(1) { 1 } else { LANES / width };
        let count = (points.count() + (rows - 1)).floor_div(rows);
        self.blocks(count, |mapper, block| {
            let neutral = Value::Const(sum.kind.neutral_in(element));
            let first = mapper.lanes("t", LANES, |mapper, lane| {
                let mut own = (*sum).clone();
                let [number, share] = place(lane.clone());
                let begin = own.lower.iter().cloned().reduce(Index::max).unwrap_or(Index::Const(0));
                own.lower = vec![begin + share];
                own.step = width;
                let value = Value::Sum(Box::new(own));
                let mut body = vec![Stmt::set(part, lane.clone(), neutral)];
                let terms = vec![Stmt::set(part, lane, value)];
                body.extend(mapper.point(points, block.clone() * rows + number, terms));
                body
            });
            let mut body = vec![first];
            let mut half = width / 2;
            while half > 0 {
                body.push(mapper.lanes("t", LANES, |_, lane| {
                    let joined = Stmt::Store(Store {
                        buffer: part,
                        index: lane.clone(),
                        value: Value::load(part, lane.clone() + half * apart),
                        mode: sum.kind.mode(),
                        stream: None,
                    });
                    vec![Stmt::when(place(lane)[1].clone().less(Index::Const(half)), vec![joined])]
                }));
                half /= 2;
            }
            body.push(mapper.lanes("t", LANES, |mapper, lane| {
                let total = Value::load(part, lane.clone());
                let value = store.value.map_sums(&|_| total.clone());
                let last = Store { value, ..(*store).clone() };
                let [number, share] = place(lane);
                let stored = mapper.point(points, block * rows + number, vec![Stmt::Store(last)]);
                vec![Stmt::when(share.less(Index::Const(1)), stored)]
            }));
            vec![Stmt::Workspace(dastac_loops::Workspace {
                buffer: part,
                size: Index::Const(LANES),
                zero: false,
                instead: None,
                body,
            })]
        })
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
