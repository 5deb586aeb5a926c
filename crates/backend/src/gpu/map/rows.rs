//! Sums whose terms the lanes of a row add up together.
//!
//! Before -> after: `parallel i = 0 to M { y[i] = sum(p = pos[i] to pos[i + 1]) v[p] * x[crd[p]] }` ->
//! ```text
//! parallel(blocks) b = 0 to (M + 7) / 8 { with part of 256 {
//!   parallel(lanes) t = 0 to 256 { part[t] = 0.0  (row 8 * b + t / 32) {
//!     part[t] = sum(p = pos[i] + t % 32 to pos[i + 1] step 32) v[p] * x[crd[p]] } }
//!   parallel(lanes) t = 0 to 256 { if t % 32 < 16 { part[t] += part[t + 16] } } ..
//!   parallel(lanes) t = 0 to 8 { (row 8 * b + t) { y[i] = part[32 * t] } }
//! } }
//! ```
//! and the same with all 256 lanes for a row; where rows are short, one lane has a row for itself.
//!
//! This is done where neighbouring lanes then read neighbouring elements, and would not if each had a row.

use dastac_loops::{Condition, Index, Space, Stmt, Store, Sum, Value, VarId};

use super::mapper::{LANES, Mapper};
use super::space::Points;

/// A row with at most so many terms on average is the work of one lane.
const SHORT: i64 = 8;
/// A row with at least so many terms on average is the work of a whole block.
const LONG: i64 = 1024;
/// Lanes that load at the same time: those of a warp.
const WARP: i64 = 32;
/// Loads of neighbouring lanes that are far apart take as long as so many that are neighbours.
const SCATTERED: i64 = 8;

/// A store of a sum for each point.
pub(super) struct Row<'a> {
    store: &'a Store,
    sum: &'a Sum,
}

/// The store of a sum that lanes should share, if the points are such.
pub(super) fn of<'a>(points: &Points, body: &'a [Stmt]) -> Option<Row<'a>> {
    let [Stmt::Store(store)] = body else { return None };
    let mut sums = Vec::new();
    store.value.visit(&mut |value| {
        if let Value::Sum(sum) = value {
            sums.push(&**sum);
        }
    });
    let [sum] = sums[..] else { return None };
    let innermost = points.axes.last()?.var;
    let in_rows = cost(&sum.body, sum.var) + 1;
    let stored = sum.lower.iter().any(|bound| bound.has_loads() && bound.mentions(innermost));
    let alone = match stored {
        // Rows begin anywhere.
        true => SCATTERED * loads(&sum.body).len() as i64,
        false => cost(&sum.body, innermost),
    };
    (sum.step == 1 && in_rows < alone).then_some(Row { store, sum })
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
        let alone = vec![Stmt::Store(row.store.clone())];
        let Some(terms) = self.terms(points, row) else {
            return vec![self.row_kernel(points, row, WARP)];
        };
        let rows = points.count().max(Index::Const(1));
        let at_most = |length: i64| terms.clone().at_most(rows.clone() * length);
        let choose = |condition: Condition, then: Vec<Stmt>, otherwise: Vec<Stmt>| match condition
            .as_bool()
        {
            Some(true) => then,
            Some(false) => otherwise,
            None => vec![Stmt::If(dastac_loops::If { condition, then, otherwise })],
        };
        let long = vec![self.row_kernel(points, row, LANES)];
        let usual = vec![self.row_kernel(points, row, WARP)];
        let short = vec![self.points(points, &alone)];
        let rest = choose(at_most(LONG), usual, long);
        choose(at_most(SHORT), short, rest)
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

    /// The kernel in which so many lanes share a row.
    fn row_kernel(&mut self, points: &Points, row: &Row<'_>, width: i64) -> Stmt {
        let Row { store, sum } = row;
        let element = self.module.buffers[store.buffer.0 as usize].element;
        let element = self.module.computed_in(&store.value, element);
        let part = self.module.fresh_buffer("part", element, Index::Const(LANES));
        self.module.buffers[part.0 as usize].space = Space::Shared;
        let rows = LANES / width;
        let count = (points.count() + (rows - 1)).floor_div(rows);
        self.blocks(count, |mapper, block| {
            let neutral = Value::Const(sum.kind.neutral_in(element));
            let first = mapper.lanes("t", LANES, |mapper, lane| {
                let mut own = (*sum).clone();
                let begin = own.lower.iter().cloned().reduce(Index::max).unwrap_or(Index::Const(0));
                own.lower = vec![begin + lane.clone().modulo(width)];
                own.step = width;
                let value = Value::Sum(Box::new(own));
                let number = block.clone() * rows + lane.clone().floor_div(width);
                let mut body = vec![Stmt::set(part, lane.clone(), neutral)];
                let terms = vec![Stmt::set(part, lane, value)];
                body.extend(mapper.point(points, number, terms));
                body
            });
            let mut body = vec![first];
            let mut half = width / 2;
            while half > 0 {
                body.push(mapper.lanes("t", LANES, |_, lane| {
                    let joined = Stmt::Store(Store {
                        buffer: part,
                        index: lane.clone(),
                        value: Value::load(part, lane.clone() + half),
                        mode: sum.kind.mode(),
                        stream: None,
                    });
                    vec![Stmt::when(lane.modulo(width).less(Index::Const(half)), vec![joined])]
                }));
                half /= 2;
            }
            body.push(mapper.lanes("t", rows, |mapper, lane| {
                let total = Value::load(part, lane.clone() * width);
                let value = store.value.map_sums(&|_| total.clone());
                let last = Store { value, ..(*store).clone() };
                mapper.point(points, block * rows + lane, vec![Stmt::Store(last)])
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
