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

use dastac_loops::{Condition, For, Index, Mark, MathFunction, Stmt, Value, VarId};

use super::mapper::{LANES, Mapper, WARP};
use super::space::{Points, bind};

/// Points of a lane.
const OWN: i64 = 4;
/// Neighbouring lanes in a row, of copies and of sums.
const COPY: i64 = LANES;
const SUM: i64 = WARP;
/// So many lanes keep a device busy.
const ENOUGH: i64 = 1 << 17;

/// How many neighbouring lanes are in a row if lanes should have several points, which are side by side.
pub(super) fn of(points: &Points, body: &[Stmt]) -> Option<i64> {
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
        (true, 0) => Some(COPY),
        (true, 1) if shared > 0 => Some(SUM),
        _ => None,
    }
}

/// Whether neighbouring values of a variable stand for neighbouring elements.
fn beside(index: &Index, var: VarId) -> bool {
    index.constant_stride(var) == Some(1)
}

impl Mapper<'_> {
    /// Whether there are so many points that lanes may have several.
    pub fn many(&self, points: &Points, width: i64) -> Condition {
        let row = points.axes.last().map_or(Index::Const(0), |axis| Index::Var(axis.extent));
        let enough = Index::Const(ENOUGH * OWN).at_most(points.count());
        Index::Const(width * OWN).at_most(row * 2).and(enough)
    }

    /// Several points for each lane, in rows of so many lanes.
    pub fn wide(&mut self, points: &Points, body: &Stmt, width: i64) -> Vec<Stmt> {
        let Some((inner, outer)) = points.axes.split_last() else { return Vec::new() };
        let outer = Points { axes: outer.to_vec(), guards: Vec::new() };
        let (rows, length) = (LANES / width, width * OWN);
        let pieces = (Index::Var(inner.extent) + (length - 1)).floor_div(length);
        let groups = (outer.count() + (rows - 1)).floor_div(rows);
        let block = self.blocks(groups * pieces.clone(), |mapper, block| {
            let group = mapper.function.fresh_var("group");
            let piece = block.clone() - Index::Var(group) * pieces.clone();
            let lanes = mapper.lanes("t", LANES, |mapper, lane| {
                let [start, own] = ["start", "u"].map(|name| mapper.function.fresh_var(name));
                let first = inner.low.clone() + piece * length + lane.clone().modulo(width);
                let number = Index::Var(group) * rows + lane.floor_div(width);
                let here = Index::Var(start) + Index::Var(own) * width;
                let last = Index::Var(start) + (OWN - 1) * width;
                let low = inner.lower.iter().filter(|bound| **bound != inner.low);
                let all = low.map(|bound| bound.clone().at_most(Index::Var(start)));
                let all = all.chain(inner.upper.iter().map(|end| last.clone().less(end.clone())));
                let all = Condition::all(all.collect::<Vec<_>>());
                let together = vec![body.substitute(inner.var, &here)];
                let together = For::new(own, Index::Const(0), Index::Const(OWN), together);
                let lower = std::iter::once(here.clone()).chain(inner.lower.iter().cloned());
                let upper = std::iter::once(here.clone() + 1).chain(inner.upper.iter().cloned());
                let alone = Stmt::For(For {
                    var: inner.var,
                    lower: lower.collect(),
                    upper: upper.collect(),
                    step: 1,
                    mark: Mark::Sequential,
                    body: vec![body.clone()],
                });
                let zero = Index::Const(0);
                let alone = Stmt::for_range(own, zero, Index::Const(OWN), vec![alone]);
                let choice = Stmt::If(dastac_loops::If {
                    condition: all,
                    then: vec![Stmt::For(together.unrolled())],
                    otherwise: vec![alone],
                });
                mapper.point(&outer, number, vec![bind(start, first, vec![choice])])
            });
            vec![bind(group, block.quotient(pieces), vec![lanes])]
        });
        vec![block]
    }
}
