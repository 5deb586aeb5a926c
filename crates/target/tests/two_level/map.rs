//! The pass `map-levels`.

use dastac_loops::machine::Machine;
use dastac_loops::passes::{Context, Example, Pass};
use dastac_loops::{Buffer, BufferId, For, Mark, Module, ParallelLevel, Space, Stmt, Workspace};

/// Outermost parallel loops to cores, innermost ones to lanes, the workspaces of a core to its scratchpad.
pub const MAP_LEVELS: Pass = Pass {
    name: "map-levels",
    about: "share out parallel loops among cores and lanes, keep workspaces in scratchpads",
    example: Example {
        before: "parallel i = 0 to N { parallel j = 0 to M { A[M * i + j] = 0.0 } }",
        after: "parallel(cores) i = 0 to N { parallel(lanes) j = 0 to M { A[M * i + j] = 0.0 } }",
    },
    run,
};

/// Where a statement stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// On the processor that starts the cores.
    Outside,
    /// On a core.
    Core,
    /// In a lane of a core.
    Lane,
}

struct Mapper<'a> {
    machine: &'a Machine,
    buffers: &'a [Buffer],
    /// Bytes of the scratchpad that statements around use.
    used: i64,
    /// Which workspaces go where.
    moved: Vec<(BufferId, Space)>,
}

fn run(module: &mut Module, context: &Context<'_>) {
    let mut moved = Vec::new();
    for function in &mut module.functions {
        let (machine, buffers) = (context.machine, &module.buffers[..]);
        let mut mapper = Mapper { machine, buffers, used: 0, moved: Vec::new() };
        mapper.block(&mut function.body, Place::Outside);
        moved.append(&mut mapper.moved);
    }
    for (buffer, space) in moved {
        module.buffers[buffer.0 as usize].space = space;
    }
}

impl Mapper<'_> {
    fn block(&mut self, body: &mut [Stmt], place: Place) {
        body.iter_mut().for_each(|stmt| self.stmt(stmt, place));
    }

    fn stmt(&mut self, stmt: &mut Stmt, place: Place) {
        let used = self.used;
        let inside = match stmt {
            Stmt::For(inner) => self.level(inner, place),
            Stmt::Workspace(inner) => {
                self.workspace(inner, place);
                place
            }
            _ => place,
        };
        stmt.bodies_mut().into_iter().for_each(|body| self.block(body, inside));
        self.used = used;
    }

    /// Maps a loop; says where its iterations run.
    fn level(&mut self, inner: &mut For, place: Place) -> Place {
        if !inner.mark.is_parallel() {
            return place;
        }
        let (mark, inside) = match place {
            Place::Outside => (Mark::Parallel(ParallelLevel::Cores), Place::Core),
            Place::Core if !has_parallel(&inner.body) => {
                (Mark::Parallel(ParallelLevel::Lanes), Place::Lane)
            }
            _ => (Mark::Sequential, place),
        };
        inner.mark = mark;
        inside
    }

    fn workspace(&mut self, inner: &Workspace, place: Place) {
        let bytes = self.buffers[inner.buffer.0 as usize].element.bytes() as i64;
        let needed = inner.size.as_const().map(|size| size * bytes);
        let left = self.machine.bytes_of(Space::Scratchpad) - self.used;
        let space = match (place, needed) {
            (Place::Core, Some(needed)) if needed <= left => {
                self.used += needed;
                Space::Scratchpad
            }
            _ => Space::Main,
        };
        // A buffer that stands for several workspaces is where all of them may be.
        match self.moved.iter_mut().find(|(buffer, _)| *buffer == inner.buffer) {
            Some((_, known)) => *known = (*known).min(space),
            None => self.moved.push((inner.buffer, space)),
        }
    }
}

fn has_parallel(body: &[Stmt]) -> bool {
    let mut found = false;
    body.iter().for_each(|stmt| {
        stmt.visit(&mut |stmt| {
            found |= matches!(stmt, Stmt::For(inner) if inner.mark.is_parallel());
        });
    });
    found
}
