//! Columns that become rows: where lanes are of one variable and what is loaded are neighbours for another, a vector is
//! loaded for each lane, and the square that these are is transposed.
//!
//! Before -> after, with `j` in 2 lanes and `i` from 0 to 2: `B[N * j + i]` ->
//! `$0 = load B[0..2]  $1 = load B[N..N + 2]  $2 = shuffle $0, $1, [0, 2]  $3 = shuffle $0, $1, [1, 3]`.

use super::associate::project;
use super::values::Group;
use super::{Lowered, Lowering, RegistersError};
use crate::ir::*;
use crate::unroll::Instance;

impl Lowering<'_> {
    /// The lanes of a load at an instance, and those at all other instances of its block.
    pub(super) fn transposed<'v>(
        &mut self,
        (value, buffer, index): (&'v Value, BufferId, &'v Index),
        instance: &Instance,
        (by, blocks): (VarId, &[Vec<Instance>]),
        group: &mut Group<'v>,
    ) -> Lowered<RegId> {
        let free = value.free_vars();
        let here = |at: &Instance| project(at, &free) == *instance;
        let block = blocks.iter().find(|block| block.iter().any(here));
        let (Some(block), Some(lanes)) = (block, self.lanes.clone()) else {
            return Err(RegistersError::Places);
        };
        let ty = self.type_of(group.element, true);
        let reversed = index.constant_stride(by).is_some_and(|stride| stride < 0);
        let mut rows = Vec::new();
        for lane in 0..lanes.count as i64 {
            let index = index.substitute(lanes.var, &(Index::Var(lanes.var) + lane));
            let index = self.place(&index, &block[0]);
            let load = VectorLoad { buffer, index, reversed, mask: None };
            rows.push(self.define(ty, Operation::Load(load)));
        }
        let mut own = None;
        for (at, row) in block.iter().zip(self.square_transposed(rows, ty)) {
            let key = project(at, &free);
            if key == *instance {
                own = Some(row);
            }
            group.learn(value, key, row);
        }
        own.ok_or(RegistersError::Places)
    }

    /// The columns of a square whose rows are vectors: squares of 2, 4, .. are transposed, one inside of the other.
    fn square_transposed(&mut self, mut rows: Vec<RegId>, ty: RegisterType) -> Vec<RegId> {
        let count = ty.lanes;
        let mut half = 1;
        while half < count {
            for at in (0..count).filter(|at| at & half == 0) {
                let (upper, lower) = (rows[at], rows[at + half]);
                // Lanes of the lower one are numbered after those of the upper one.
                let from = |shift: usize| {
                    let lane = |lane: usize| match lane & half == 0 {
                        true => lane + shift,
                        false => count + lane - half + shift,
                    };
                    (0..count).map(lane).collect()
                };
                rows[at] = self.define(ty, Operation::Shuffle(upper, lower, from(0)));
                rows[at + half] = self.define(ty, Operation::Shuffle(upper, lower, from(half)));
            }
            half *= 2;
        }
        rows
    }
}
