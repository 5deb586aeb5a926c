//! Where the warps of a block need not wait for each other.
//!
//! In `parallel(lanes) t = 0 to 256 { if t % 32 < 16 { part[t] += part[t + 16] } }` each lane of a warp accesses
//! elements of lanes of its own warp: their numbers begin at a multiple of 32. Between two loops over lanes that access
//! all that is shared so, the lanes of a warp wait for each other alone.

use std::collections::BTreeSet;

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

/// How many lanes the blocks of a kernel have: as many as its longest loop over lanes has iterations.
pub(crate) fn lanes(function: &Function) -> i64 {
    let mut most = 1;
    for stmt in &function.body {
        stmt.visit(&mut |stmt| {
            if let Stmt::For(inner) = stmt {
                most = most.max(iterations(inner).unwrap_or(1));
            }
        });
    }
    most
}

/// The variables of the loops over lanes after which the lanes of a warp wait for each other alone.
pub(super) fn alone(function: &Function, module: &Module) -> BTreeSet<VarId> {
    let lanes = lanes(function);
    let mut search = Search { module, function, lanes, alone: BTreeSet::new() };
    search.around(&function.body, true);
    search.alone
}

struct Search<'a> {
    module: &'a Module,
    function: &'a Function,
    /// Lanes of a block.
    lanes: i64,
    alone: BTreeSet<VarId>,
}

/// `lane % width < below`.
type Guard = (i64, i64);

impl Search<'_> {
    /// Looks at statements around loops over lanes. `next` says that lanes of a warp are alone in what is executed
    /// after them; the result, that they are in what is executed first.
    fn around(&mut self, body: &[Stmt], next: bool) -> bool {
        body.iter().rev().fold(next, |next, stmt| match stmt {
            Stmt::For(inner) if iterations(inner).is_some() => {
                let own = self.lanes(inner);
                if own && next {
                    self.alone.insert(inner.var);
                } else {
                    self.alone.remove(&inner.var);
                }
                own
            }
            Stmt::For(inner) => {
                // The first iteration follows what is before, others the last one's end.
                let first = self.around(&inner.body, next);
                let bounds = inner.lower.iter().chain(&inner.upper);
                let known = !bounds.into_iter().any(|bound| self.reads(bound));
                let again = next && first && known;
                // What was found for the same `next` holds; else loops in loops would be looked at 2^depth times.
                let own = if again == next { first } else { self.around(&inner.body, again) };
                own && next && known
            }
            Stmt::Workspace(inner) => {
                let known = inner.instead.is_none();
                self.around(&inner.body, next && known) && known
            }
            Stmt::If(inner) => {
                let parts = [&inner.then, &inner.otherwise].map(|body| self.around(body, next));
                let mut known = true;
                inner.condition.visit(&mut |index| known &= !self.reads(index));
                parts == [true, true] && known
            }
            Stmt::Register(RegisterStmt::Integer(inner)) => next && !self.reads(&inner.index),
            stmt => {
                for body in stmt.bodies() {
                    self.around(body, false);
                }
                false
            }
        })
    }

    /// Whether an expression reads what lanes share.
    fn reads(&self, index: &Index) -> bool {
        let mut shared = false;
        index.visit(&mut |part| {
            if let Index::Load(buffer, _) = part {
                shared |= self.module.buffers[buffer.0 as usize].space == Space::Shared;
            }
        });
        shared
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
        // Each lane may have several elements, which are as far apart as there are lanes.
        let whole = self.lanes % WARP == 0;
        match index.constant_difference(&Index::Var(lane)).filter(|apart| *apart >= 0 && whole) {
            Some(apart) if apart % self.lanes == 0 => true,
            Some(apart) => {
                let apart = apart % self.lanes;
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
