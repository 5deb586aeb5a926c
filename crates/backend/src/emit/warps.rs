//! Whether the warps of a block need not wait for each other.
//!
//! In `parallel(lanes) t = 0 to 256 { if t % 32 < 16 { part[t] += part[t + 16] } }` each lane of a warp accesses
//! elements of lanes of its own warp: their numbers begin at a multiple of 32. Where all that is shared is accessed so,
//! the lanes of a warp wait for each other alone.

use dastac_loops::{
    BufferId, Compare, Condition, For, Function, Index, Mark, Module, Operation, ParallelLevel,
    RegisterStmt, Space, Stmt, VarId,
};

/// Lanes of a warp.
const WARP: i64 = 32;

/// The iterations of a loop over lanes, of which there is a constant number.
pub(super) fn iterations(inner: &For) -> Option<i64> {
    let ([lower], [upper]) = (&inner.lower[..], &inner.upper[..]) else { return None };
    let lanes = inner.mark == Mark::Parallel(ParallelLevel::Lanes) && inner.step == 1;
    if lanes { upper.constant_difference(lower) } else { None }
}

/// Whether no lane accesses what lanes of other warps write. Not where something is accessed that is not understood.
pub(super) fn are_alone(function: &Function, module: &Module) -> bool {
    let [Stmt::For(blocks)] = &function.body[..] else { return false };
    blocks.mark == Mark::Parallel(ParallelLevel::Blocks)
        && Search { module, function }.around(&blocks.body)
}

struct Search<'a> {
    module: &'a Module,
    function: &'a Function,
}

/// `lane % width < below`.
type Guard = (i64, i64);

impl Search<'_> {
    /// Statements around loops over lanes.
    fn around(&self, body: &[Stmt]) -> bool {
        body.iter().all(|stmt| match stmt {
            Stmt::For(inner) if iterations(inner).is_some() => self.lanes(inner),
            Stmt::For(inner) => self.around(&inner.body),
            Stmt::Workspace(inner) => inner.instead.is_none() && self.around(&inner.body),
            Stmt::If(inner) => self.around(&inner.then) && self.around(&inner.otherwise),
            Stmt::Register(RegisterStmt::Integer(_)) => true,
            _ => false,
        })
    }

    fn lanes(&self, inner: &For) -> bool {
        inner.lower == [Index::Const(0)] && self.inside(&inner.body, inner.var, &mut Vec::new())
    }

    fn inside(&self, body: &[Stmt], lane: VarId, guards: &mut Vec<Guard>) -> bool {
        body.iter().all(|stmt| {
            let known = match stmt {
                Stmt::Register(RegisterStmt::Define(_, Operation::Load(load))) => {
                    self.is_own(load.buffer, &load.index, lane, guards, false)
                }
                Stmt::Register(RegisterStmt::Write(write)) => {
                    self.is_own(write.buffer, &write.index, lane, guards, true)
                }
                Stmt::Register(inner) => inner.buffers().is_empty(),
                Stmt::For(_) | Stmt::If(_) => true,
                _ => false,
            };
            let guarded = guards.len();
            if let Stmt::If(inner) = stmt
                && inner.otherwise.is_empty()
            {
                guards.extend(guard(&inner.condition, lane));
            }
            let bodies = stmt.bodies();
            let all = known && bodies.into_iter().all(|body| self.inside(body, lane, guards));
            guards.truncate(guarded);
            all
        })
    }

    /// Whether an element is one that no lane of another warp writes, or reads if this is a write.
    fn is_own(
        &self,
        buffer: BufferId,
        index: &Index,
        lane: VarId,
        guards: &[Guard],
        write: bool,
    ) -> bool {
        let space = self.module.buffers[buffer.0 as usize].space;
        if space == Space::Stack {
            return true;
        }
        if space != Space::Shared {
            let mode = self.function.args.iter().find(|(argument, _)| *argument == buffer);
            let read = mode.is_some_and(|(_, mode)| *mode == dastac_loops::Mode::In);
            return read || write;
        }
        match index.constant_difference(&Index::Var(lane)) {
            Some(0) => true,
            Some(apart @ 1..) => {
                guards.iter().any(|(width, below)| WARP % width == 0 && below + apart <= *width)
            }
            _ => false,
        }
    }
}

/// What a condition says of the number of a lane.
fn guard(condition: &Condition, lane: VarId) -> Option<Guard> {
    let Condition::Compare(Compare::Lt, Index::Mod(number, width), Index::Const(below)) = condition
    else {
        return None;
    };
    (**number == Index::Var(lane)).then_some((*width, *below))
}
