//! Workspaces: memory for the elements of a part of a result that loops come to in any order.
//!
//! The outermost loops go over the first levels of a result in order, and all others in an order of their own. What
//! these come to is kept in a workspace, under the coordinates of the other levels, and appended to the result when
//! they are done (sparse workspaces, section 3).

mod bounding;
pub(super) mod by_size;
mod container;
pub(super) mod dense;
pub(super) mod points;
pub(super) mod runs;

use std::collections::BTreeSet;

use dastac_loops::{
    BufferId, For, Function, Index, Mark, Module, PartitionedRange, Stmt, Value, VarId,
};

use super::append::{Appending, Iterations, Reserved, in_order};
use super::kernel::{Gathers, Kernel, Kind, Operand};
use super::walks::Works;
use bounding::{Bounding, Place, opened};
use container::{Container, workspace};
use dense::Dense;
use points::Points;
use points::buckets::Buckets;

/// What is known of the iterations that append.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    /// How many elements are before each of so many.
    pub(super) filled: Option<(BufferId, &'a Index)>,
    /// Those of a loop that are counted by themselves.
    pub(super) iterations: Option<&'a Iterations>,
}

/// A workspace of some kind.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// With a place for every coordinate.
    Dense(Dense),
    /// Of points.
    Points(Points),
    /// Of points in buckets.
    Buckets(Buckets),
}

impl Held {
    /// Adds the buffers of a kernel's workspace to a module. `result` has a dimension for each level; the workspace has
    /// its levels from the first that is gathered to the last one that is not full.
    pub(super) fn new(
        module: &mut Module,
        kernel: &Kernel,
        result: &Operand,
        (gathers, last): (&Gathers, usize),
        plan: &Appending,
    ) -> Held {
        let levels = (gathers, last);
        match gathers.kind {
            Kind::Dense => Held::Dense(Dense::new(module, kernel, result, levels, plan.block)),
            Kind::Bucket { .. } => {
                Held::Buckets(Buckets::new(module, kernel, result, levels, plan))
            }
            _ => Held::Points(Points::new(module, kernel, result, levels, plan)),
        }
    }

    /// What loops that store to its buffers do.
    pub(super) fn works(&self) -> Works {
        match self {
            Held::Dense(dense) => dense.works(),
            Held::Points(points) => points.works(),
            Held::Buckets(buckets) => buckets.works(),
        }
    }

    fn container(&self) -> &dyn Container {
        match self {
            Held::Dense(dense) => dense,
            Held::Points(points) => points,
            Held::Buckets(buckets) => buckets,
        }
    }

    /// The buffer that elements are stored to, at [`Held::place`].
    pub(super) fn values(&self) -> BufferId {
        match self {
            Held::Dense(dense) => dense.values,
            Held::Points(points) => points.values,
            Held::Buckets(buckets) => buckets.values(),
        }
    }

    /// Where an element is among the values, of its place in its block.
    pub(super) fn place(&self, in_block: Index) -> Index {
        match self {
            Held::Dense(dense) => dense.place(in_block),
            Held::Points(_) | Held::Buckets(_) => in_block,
        }
    }

    /// The marks that an element sets, after it is stored: buffers with places, `VarId(n)` standing for iterator `n`.
    pub(super) fn marks(&self) -> Vec<(BufferId, Index)> {
        match self {
            Held::Dense(dense) => dense.marks().collect(),
            Held::Points(points) => vec![points.mark()],
            Held::Buckets(buckets) => buckets.marks(),
        }
    }

    /// Appends all that is in the workspace, which is empty then.
    pub(super) fn drain(&self, function: &mut Function) -> Vec<Stmt> {
        match self {
            Held::Dense(dense) => dense.drain(function),
            Held::Points(points) => points.drain(function),
            Held::Buckets(buckets) => buckets.drain(function),
        }
    }

    /// Opens the workspace around the statements that use it: a range that threads share is cut into parts, each with a
    /// workspace of its own. With `reserved`, rows of a part are appended from where its first one may begin on.
    pub(super) fn around(
        &self,
        (function, module): (&mut Function, &Module),
        mut body: Vec<Stmt>,
        rows: Rows<'_>,
        reserved: Option<(Reserved, BufferId)>,
    ) -> Vec<Stmt> {
        let own = self.container();
        let begins = |begin: Index, body: Vec<Stmt>| match reserved {
            None => body,
            Some((Reserved { next, .. }, starts)) => {
                let first = Value::FromIndex(Index::Load(starts, Box::new(begin)));
                let set = Stmt::set(next, Index::Const(0), first);
                vec![workspace(next, Index::Const(1), false, [vec![set], body].concat())]
            }
        };
        // Those that share a workspace run one after the other.
        for stmt in body.iter_mut().filter(|stmt| own.is_used(stmt)) {
            stmt.bodies_mut().into_iter().for_each(in_order);
        }
        if own.is_whole() {
            let used: Vec<bool> = body.iter().map(|stmt| own.is_used(stmt)).collect();
            let Some(first) = used.iter().position(|used| *used) else { return body };
            let end = used.iter().rposition(|used| *used).map_or(first, |last| last + 1);
            let mut inside: Vec<Stmt> = body.drain(first..end).collect();
            in_order(&mut inside);
            let behind = body.split_off(first);
            let inside = match self {
                Held::Buckets(buckets) => buckets.opened(function, inside, &begins),
                _ => begins(Index::Const(0), own.open(function, inside)),
            };
            return [body, inside, behind].concat();
        }
        let mut result = Vec::new();
        for stmt in body {
            let used = own.is_used(&stmt);
            match stmt {
                Stmt::For(inner) if used && inner.mark.is_parallel() && inner.step == 1 => {
                    result.push(in_parts(own, (function, module), inner, rows, &begins));
                }
                stmt if used => {
                    let open = own.open(function, vec![stmt]);
                    result.extend(begins(Index::Const(0), open));
                }
                stmt => result.push(stmt),
            }
        }
        result
    }

    /// Statements that count elements, without finding out which of them are the same: an upper bound. `counter` is
    /// where elements are counted, `rows` where their numbers in rows go, and how many a row holds at most. None if the
    /// workspace is not of one level.
    pub(super) fn bounded(
        &self,
        body: Vec<Stmt>,
        (counters, place): (BufferId, Index),
        rows: (BufferId, &Index),
    ) -> Option<Vec<Stmt>> {
        let Held::Dense(dense) = self else { return None };
        let counter = (counters, Place::One(place));
        let mark = dense.marks().next()?.0;
        let own = opened(&body);
        let bounding = Bounding { counter, mark, rows: Some(rows), own };
        Some(bounding.bounded(body))
    }

    /// The buckets of a whole result, whose rows can be filled at the same time.
    pub(super) fn buckets(&self) -> Option<&Buckets> {
        match self {
            Held::Buckets(buckets) => Some(buckets).filter(|buckets| buckets.is_whole()),
            _ => None,
        }
    }

    /// Statements that only find out which elements there are.
    pub(super) fn without_values(&self, body: Vec<Stmt>) -> Vec<Stmt> {
        without_values(self.container(), body)
    }
}

fn without_values(own: &dyn Container, body: Vec<Stmt>) -> Vec<Stmt> {
    let mut result = Vec::new();
    for mut stmt in body {
        if matches!(&stmt, Stmt::Store(store) if own.is_value(store.buffer)) {
            continue;
        }
        for inside in stmt.bodies_mut() {
            *inside = without_values(own, std::mem::take(inside));
        }
        match stmt {
            Stmt::Workspace(inner) if own.is_value(inner.buffer) => result.extend(inner.body),
            Stmt::For(inner) if inner.body.is_empty() => {}
            Stmt::If(inner) if inner.then.is_empty() && inner.otherwise.is_empty() => {}
            stmt => result.push(stmt),
        }
    }
    result
}

fn in_parts(
    own: &dyn Container,
    (function, module): (&mut Function, &Module),
    inner: For,
    Rows { filled, iterations }: Rows<'_>,
    begins: &dyn Fn(Index, Vec<Stmt>) -> Vec<Stmt>,
) -> Stmt {
    let [begin, end] = ["begin", "end"].map(|name| function.fresh_var(name));
    let For { var, lower, upper, step, body, .. } = inner;
    let over_rows = |(_, count): &(BufferId, &Index)| upper.contains(count);
    let work = match filled.filter(over_rows) {
        Some((starts, _)) => Some(Index::Load(starts, Box::new(Index::Var(end)))),
        None => {
            // Positions of just these rows: others may be read for some of them only.
            let fits = |buffer: BufferId| match &upper[..] {
                [upper] => {
                    let own = iterations.filter(|own| own.upper == *upper);
                    let count = own.map_or(upper, |own| &own.count);
                    module.buffers[buffer.0 as usize].size == count.clone() + 1
                }
                _ => false,
            };
            stored_before(&body, var, end, &fits)
        }
    };
    let (from, to) = (vec![Index::Var(begin)], vec![Index::Var(end)]);
    let part = For { var, lower: from, upper: to, step, mark: Mark::Sequential, body };
    let body = begins(Index::Var(begin), own.open(function, vec![Stmt::For(part)]));
    Stmt::Partitioned(PartitionedRange { begin, end, lower, upper, step, work, body })
}

/// How many elements are stored before an iteration of a loop, as positions say that its statements read at it.
fn stored_before(
    body: &[Stmt],
    var: VarId,
    end: VarId,
    fits: &dyn Fn(BufferId) -> bool,
) -> Option<Index> {
    let mut read: BTreeSet<(BufferId, bool)> = BTreeSet::new();
    let (own, next) = (Index::Var(var), Index::Var(var) + 1);
    for stmt in body {
        stmt.visit_indices(&mut |index| {
            if let Index::Load(buffer, at) = index
                && (**at == own || **at == next)
            {
                read.insert((*buffer, **at == next));
            }
        });
    }
    // Positions say where a row begins and where the next one does.
    let bounds = read
        .iter()
        .filter(|(buffer, next)| *next && read.contains(&(*buffer, false)) && fits(*buffer));
    let work = |(buffer, _): &(BufferId, bool)| Index::Load(*buffer, Box::new(Index::Var(end)));
    bounds.map(work).reduce(|all, one| all + one)
}
