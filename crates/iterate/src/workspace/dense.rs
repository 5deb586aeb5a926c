//! A workspace with a place for every coordinate, and a mark for each that is touched.
//!
//! Before -> after, of `C(i, k) := A(i, j) * B(j, k)`, all in rows:
//! ```text
//! for i { for j in A(i) { for k in B(j) { W[k] += v  mark[k] = 1  mark64[k / 64] = 1  mark4096[k / 4096] = 1 } }
//!   scan c in mark4096 { scan b in mark64[64 * c ..] { scan k in mark[64 * b ..] {
//!     append level 1 at k { block[0] = W[k]  W[k] = 0.0 }
//! } } } }
//! ```
//! The coordinates come in order, without sorting, and looking for them costs about as much as they are many. Several
//! levels have a mark for each prefix of their coordinates.

use dastac_loops::{Append, BufferId, Element, For, Function, Index, Module, Scan, Stmt, Value};

use super::super::kernel::{Gathers, Kernel, Operand};
use super::super::walks::{Work, Works};
use super::container::{Container, workspace};

/// So many marks have one that says whether any of them is set.
const GROUP: i64 = 64;
/// How many marks of marks there are, one above the other.
const GROUPS: usize = 2;

/// The workspace.
#[derive(Clone, Debug)]
pub(crate) struct Dense {
    /// The values: a block for each key.
    pub(crate) values: BufferId,
    /// Where the elements of a block stand while they are appended.
    block: BufferId,
    /// How many these are.
    size: Index,
    /// What is nothing.
    zero: f64,
    levels: Vec<Marked>,
}

/// The marks of a level.
#[derive(Clone, Debug)]
struct Marked {
    /// The level's number.
    level: usize,
    /// How many coordinates it has.
    extent: Index,
    /// The coordinates of the levels so far as one number, `VarId(n)` standing for iterator `n`.
    key: Index,
    /// A mark for each key, for each group of keys, and for each group of groups.
    marks: Vec<BufferId>,
}

impl Dense {
    /// Adds the buffers to a module. `result` has a dimension for each level; the workspace has its levels from the
    /// first that is gathered to the last one that is not full.
    pub(crate) fn new(
        module: &mut Module,
        kernel: &Kernel,
        result: &Operand,
        (gathers, last): (&Gathers, usize),
        block: BufferId,
    ) -> Dense {
        let own = module.buffers[result.values.0 as usize].clone();
        let mut fresh = |what: String, element| {
            module.fresh_buffer(format!("{}.{what}", own.name), element, Index::Const(0))
        };
        let first = gathers.levels;
        let mut key = Index::Const(0);
        let mut levels = Vec::new();
        for level in first..=last {
            let extent = result.extents[level].clone();
            key = key * extent.clone() + gathers.coordinates[level].clone();
            let groups = if level == first { GROUPS } else { 0 };
            let marks = (0..=groups).map(|at| fresh(format!("mark{level}_{at}"), Element::U8));
            levels.push(Marked { level, extent, key: key.clone(), marks: marks.collect() });
        }
        let sum = if own.element.is_short_float() { Element::F32 } else { own.element };
        let values = fresh("sums".into(), sum);
        let behind = last + 1..result.levels.len();
        let size = behind.fold(Index::Const(1), |size, at| size * result.extents[at].clone());
        Dense { values, block, size, zero: kernel.zero, levels }
    }

    /// Where an element is among the values, of its place in its block.
    pub(crate) fn place(&self, in_block: Index) -> Index {
        let key = self.levels.last().map_or(Index::Const(0), |level| level.key.clone());
        key * self.size.clone() + in_block
    }

    /// The marks that an element sets: buffers with places, `VarId(n)` standing for iterator `n`.
    pub(crate) fn marks(&self) -> impl Iterator<Item = (BufferId, Index)> + '_ {
        self.levels.iter().flat_map(|level| {
            let places = level.marks.iter().scan(1, |group, buffer| {
                let place = level.key.clone().floor_div(*group);
                *group *= GROUP;
                Some((*buffer, place))
            });
            places.collect::<Vec<_>>()
        })
    }

    /// What loops that store to its buffers do.
    pub(crate) fn works(&self) -> Works {
        let marks = self.marks().map(|(buffer, _)| buffer);
        marks.chain([self.values, self.block]).map(|buffer| (buffer, Work::Scan)).collect()
    }

    /// Appends all that is in the workspace, which is empty then.
    pub(crate) fn drain(&self, function: &mut Function) -> Vec<Stmt> {
        self.drained(0, Index::Const(0), function)
    }

    fn drained(&self, at: usize, above: Index, function: &mut Function) -> Vec<Stmt> {
        let Some(own) = self.levels.get(at) else { return self.moved(above, function) };
        let first = above.clone() * own.extent.clone();
        let key = function.fresh_var("key");
        let coordinate = Index::Var(key) - first.clone();
        let inside = self.drained(at + 1, Index::Var(key), function);
        let append = Stmt::Append(Append { level: own.level, coordinate, body: inside });
        let mut body = vec![append];
        let mut var = key;
        for (depth, marks) in own.marks.iter().enumerate() {
            let end = first.clone() + own.extent.clone();
            let top = depth + 1 == own.marks.len();
            let groups = i64::pow(GROUP, depth as u32);
            let ((lower, upper), group) = match top {
                true => ((first.clone(), (end + (groups - 1)).floor_div(groups)), None),
                false => {
                    let group = function.fresh_var("group");
                    let lower = Index::Var(group) * GROUP;
                    ((lower.clone(), lower + GROUP), Some(group))
                }
            };
            let buffer = *marks;
            body = vec![Stmt::Scan(Scan { var, buffer, lower, upper, body })];
            var = group.unwrap_or(var);
        }
        body
    }

    /// The elements under a key, to the block.
    fn moved(&self, key: Index, function: &mut Function) -> Vec<Stmt> {
        let each = |at: Index| {
            let place = key.clone() * self.size.clone() + at.clone();
            let value = Value::load(self.values, place.clone());
            let zero = Value::constant(self.zero);
            vec![Stmt::set(self.block, at, value), Stmt::set(self.values, place, zero)]
        };
        if self.size == Index::Const(1) {
            return each(Index::Const(0));
        }
        let var = function.fresh_var("x");
        let body = each(Index::Var(var));
        vec![Stmt::For(For::new(var, Index::Const(0), self.size.clone(), body))]
    }
}

impl Container for Dense {
    fn is_used(&self, stmt: &Stmt) -> bool {
        let mut used = false;
        stmt.visit(&mut |stmt| {
            used |= matches!(stmt, Stmt::Store(store)
                if store.buffer == self.values || self.levels.iter().any(|level| level.marks.contains(&store.buffer)));
        });
        used
    }

    fn is_whole(&self) -> bool {
        self.levels.first().is_some_and(|level| level.level == 0)
    }

    fn is_value(&self, buffer: BufferId) -> bool {
        buffer == self.values
    }

    fn open(&self, function: &mut Function, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut body = body;
        let mut keys = Index::Const(1);
        for level in &self.levels {
            keys = keys * level.extent.clone().max(Index::Const(0));
            let top = i64::pow(GROUP, level.marks.len() as u32 - 1);
            for (depth, marks) in level.marks.iter().enumerate() {
                let group = i64::pow(GROUP, depth as u32);
                let groups = (keys.clone() + (top - 1)).floor_div(top);
                let size = groups * (top / group);
                body = vec![workspace(*marks, size, true, body)];
            }
        }
        let size = keys * self.size.clone();
        let zero = self.zero.to_bits() == 0;
        if !zero {
            let at = function.fresh_var("x");
            let set = Stmt::set(self.values, Index::Var(at), Value::constant(self.zero));
            let clear = For::new(at, Index::Const(0), size.clone(), vec![set]);
            body.insert(0, Stmt::For(clear));
        }
        vec![workspace(self.values, size, zero, body)]
    }
}
