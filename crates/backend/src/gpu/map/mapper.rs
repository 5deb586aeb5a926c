//! What the parts of the pass `map-kernels` share: loops over blocks and lanes, and a lane for each point of a nest.

use dastac_loops::{For, Function, Index, Mark, Module, ParallelLevel, Stmt};

use super::space::{Points, bind};

/// Lanes of a block.
pub(crate) const LANES: i64 = 256;

/// Lanes that load at the same time: those of a warp.
pub(super) const WARP: i64 = 32;

/// What is being mapped.
pub(super) struct Mapper<'a> {
    pub module: &'a mut Module,
    /// Where variables come from; its body is not looked at.
    pub function: &'a mut Function,
}

impl Mapper<'_> {
    /// `parallel(blocks) b = 0 to count { .. }`.
    pub fn blocks(
        &mut self,
        count: Index,
        body: impl FnOnce(&mut Self, Index) -> Vec<Stmt>,
    ) -> Stmt {
        self.shared_out("b", ParallelLevel::Blocks, count, body)
    }

    /// `parallel(lanes) t = 0 to count { .. }`.
    pub fn lanes(
        &mut self,
        name: &str,
        count: i64,
        body: impl FnOnce(&mut Self, Index) -> Vec<Stmt>,
    ) -> Stmt {
        self.shared_out(name, ParallelLevel::Lanes, Index::Const(count), body)
    }

    /// A loop over lanes of which only the first does something.
    pub fn one(&mut self, body: impl FnOnce(&mut Self) -> Vec<Stmt>) -> Stmt {
        self.lanes("t", 1, |mapper, _| body(mapper))
    }

    fn shared_out(
        &mut self,
        name: &str,
        level: ParallelLevel,
        count: Index,
        body: impl FnOnce(&mut Self, Index) -> Vec<Stmt>,
    ) -> Stmt {
        let var = self.function.fresh_var(name);
        let body = body(self, Index::Var(var));
        let (lower, upper, mark) = (vec![Index::Const(0)], vec![count], Mark::Parallel(level));
        Stmt::For(For { var, lower, upper, step: 1, mark, body })
    }

    /// A lane for each point.
    pub fn points(&mut self, points: &Points, body: &[Stmt]) -> Stmt {
        let blocks = (points.count() + (LANES - 1)).floor_div(LANES);
        self.blocks(blocks, |mapper, block| {
            vec![mapper.lanes("t", LANES, |mapper, lane| {
                mapper.point(points, block * LANES + lane, body.to_vec())
            })]
        })
    }

    /// A warp for each point, whose lanes share the iterations of a loop.
    pub fn strips(&mut self, points: &Points, inner: &For) -> Stmt {
        let rows = LANES / WARP;
        let groups = (points.count() + (rows - 1)).floor_div(rows);
        self.blocks(groups, |mapper, block| {
            vec![mapper.lanes("t", LANES, |mapper, lane| {
                let number = block * rows + lane.clone().floor_div(WARP);
                let (lower, mark) = (vec![inner.ends().0 + lane.modulo(WARP)], Mark::Sequential);
                let own = For { lower, step: WARP, mark, ..inner.clone() };
                mapper.point(points, number, vec![Stmt::For(own)])
            })]
        })
    }

    /// The statements of the point of a number, if there are as many points.
    pub fn point(&mut self, points: &Points, number: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        let var = self.function.fresh_var("g");
        let body = points.at(Index::Var(var), body, self.function);
        let Stmt::For(mut inner) = bind(var, number, body) else { return Vec::new() };
        inner.upper.push(points.count());
        vec![Stmt::For(inner)]
    }
}
