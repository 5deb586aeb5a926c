//! Workspaces that hold points: a container of some capacity, and all points that it held before.
//!
//! *Acc*, the container, is a coordinate list or a hash table. A point is a key, the coordinates of the workspace's
//! levels as one number, and a block of elements. When there is no room for another point, those of Acc are sorted,
//! those with equal keys joined, and all of them merged into *All*, which is in the result's order; then Acc is empty
//! (sparse workspaces, section 3). In the end what is in Acc is merged too, and All is appended to the result.
//!
//! Before -> after, of `C(i, k) := A(i, j) * B(j, k)`, all in rows, in a list of 8 points:
//! ```text
//! for i { for j in A(i) { for k in B(j) { W[0] += v  insert[k] = 1 } }  .. }
//! ```
//! ```text
//! for i { for j in A(i) { for k in B(j) {
//!     if last != k { if n == 8 { sort, join, merge into All  n = 0 }  keys[n] = k  W[n] = 0.0  n += 1 }
//!     W[n - 1] += v
//!   } }
//!   sort, join, merge into All
//!   for p in All { append level 1 at key[p] { block[0] = value[p] } }
//! }
//! ```
//! All has as much memory as there may be points, of which it touches what it uses: how many points there may be is
//! counted before, by loops that do nothing else.

pub(crate) mod buckets;
mod drain;
mod emit;
pub(crate) mod hash;
mod insert;
mod merge;
mod sort;

use dastac_loops::{BufferId, Element, Function, Index, Module, Reduction, Stmt, Value};

use super::super::append::{Appending, in_order};
use super::super::kernel::{Gathers, Kernel, Kind, Operand};
use super::super::walks::{Work, Works};
use super::bounding::{Bounding, Place, opened};
use super::container::{Container, workspace};
use emit::Emit;

/// A workspace of points.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    kind: Kind,
    /// How many points Acc holds, at first or always.
    capacity: i64,
    /// The elements of Acc's points: a block for each place.
    pub(crate) values: BufferId,
    /// What stands for an insertion until it is written out: a store to it, at the key.
    marker: BufferId,
    /// Counters: see [`Counter`].
    at: BufferId,
    /// The keys of Acc: in a list one place behind their point, with a key that is none in front.
    keys: BufferId,
    /// The places of a hash table that are taken, in the order of insertions.
    taken: BufferId,
    /// What sorting has to do with: keys and places, twice, and how many keys have a digit.
    sort: [BufferId; 4],
    digits: BufferId,
    /// Keys and blocks of Acc, sorted and joined; keys are one place behind their block.
    run: [BufferId; 2],
    /// Keys and blocks of All.
    all: [BufferId; 2],
    /// Where the elements of a block stand while they are appended.
    block: BufferId,
    /// How many these are.
    size: Index,
    /// The counters of the result's levels.
    counters: BufferId,
    /// What is nothing.
    zero: f64,
    reduction: Reduction,
    /// The workspace's levels, with their extents.
    levels: Vec<(usize, Index)>,
    /// The coordinates as one number, `VarId(n)` standing for iterator `n`.
    key: Index,
    /// Whether no level of the result is outside.
    whole: bool,
}

/// Numbers in [`Points::at`].
#[derive(Clone, Copy)]
enum Counter {
    /// How many points Acc has.
    Acc,
    /// How many of them are left when equal ones are joined.
    Run,
    /// How many All has.
    All,
    /// A place in Acc.
    Place,
    /// How many points there may be.
    Bound,
    /// Acc's capacity.
    Capacity,
    /// The first of those of levels: where the points under a coordinate end.
    Ends,
}

impl Counter {
    fn place(self) -> Index {
        Index::Const(self as i64)
    }
}

/// How many values a digit of a key has.
const DIGITS: i64 = 256;
/// A key that no point has.
const NONE: i64 = -1;

impl Points {
    /// Adds the buffers to a module. `result` has a dimension for each level; the workspace has its levels from the
    /// first that is gathered to the last one that is not full.
    pub(crate) fn new(
        module: &mut Module,
        kernel: &Kernel,
        result: &Operand,
        (gathers, last): (&Gathers, usize),
        plan: &Appending,
    ) -> Points {
        let own = module.buffers[result.values.0 as usize].clone();
        let sum = if own.element.is_short_float() { Element::F32 } else { own.element };
        let mut fresh = |what: &str, element| {
            module.fresh_buffer(format!("{}.{what}", own.name), element, Index::Const(0))
        };
        let values = fresh("sums", sum);
        let [marker, at, keys, taken] =
            ["insert", "state", "keys", "taken"].map(|what| fresh(what, Element::I64));
        let sort = ["left0", "place0", "left1", "place1"].map(|what| fresh(what, Element::I64));
        let digits = fresh("digits", Element::I64);
        let [run, all] = [("run_keys", "run"), ("all_keys", "all")]
            .map(|(keys, values)| [fresh(keys, Element::I64), fresh(values, sum)]);
        let first = gathers.levels;
        let (mut key, mut levels) = (Index::Const(0), Vec::new());
        for level in first..=last {
            let extent = result.extents[level].clone();
            key = key * extent.clone() + gathers.coordinates[level].clone();
            levels.push((level, extent));
        }
        let behind = last + 1..result.levels.len();
        let size = behind.fold(Index::Const(1), |size, at| size * result.extents[at].clone());
        let kind = gathers.kind;
        Points {
            kind,
            capacity: kind.capacity(),
            values,
            marker,
            at,
            keys,
            taken,
            sort,
            digits,
            run,
            all,
            block: plan.block,
            counters: plan.at,
            size,
            zero: kernel.zero,
            reduction: kernel.reduction(),
            levels,
            key,
            whole: first == 0,
        }
    }

    /// What an element sets, besides its value.
    pub(crate) fn mark(&self) -> (BufferId, Index) {
        (self.marker, self.key.clone())
    }

    /// What loops that store to its buffers do.
    pub(crate) fn works(&self) -> Works {
        let joined = self.run.into_iter().chain(self.all).map(|one| (one, Work::Contraction));
        let sorted = self.sort.into_iter().chain([self.digits]).map(|one| (one, Work::Sort));
        let mut works = vec![(self.taken, Work::Insertion)];
        works.extend(joined.chain(sorted));
        works.push((self.block, Work::Scan));
        works
    }

    /// How many places a hash table has: a power of two, at least twice as many as points.
    fn slots(&self) -> i64 {
        (2 * self.capacity).unsigned_abs().next_power_of_two() as i64
    }

    /// More than the largest key.
    fn range(&self) -> Index {
        self.levels.iter().fold(Index::Const(1), |all, (_, extent)| all * extent.clone())
    }

    fn set(&self, counter: Counter, value: Index) -> Stmt {
        Stmt::set(self.at, counter.place(), Value::FromIndex(value))
    }

    /// Statements that add the number of insertions of others to the bound.
    fn counted(&self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut own = opened(&body);
        own.remove(&self.block);
        own.remove(&self.counters);
        let counter = (self.at, Place::One(Counter::Bound.place()));
        let mut result = Bounding { counter, mark: self.marker, rows: None, own }.bounded(body);
        in_order(&mut result);
        result
    }

    /// Buffers with elements, which nothing but filling needs.
    fn has_values(&self, buffer: BufferId) -> bool {
        [self.values, self.run[1], self.all[1]].contains(&buffer)
    }
}

impl Container for Points {
    fn is_used(&self, stmt: &Stmt) -> bool {
        let mut used = false;
        stmt.visit(&mut |stmt| {
            used |= matches!(stmt, Stmt::Store(store)
                if [self.values, self.marker, self.at].contains(&store.buffer));
        });
        used
    }

    fn is_whole(&self) -> bool {
        self.whole
    }

    fn open(&self, function: &mut Function, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut emit = Emit { function };
        let counted = self.counted(body.clone());
        let body = self.expanded(&mut emit, body);
        let bounded = emit.read(self.at, Counter::Bound.place(), |emit, points| {
            self.with_memory(emit, &points, body)
        });
        let zero = |counter| self.set(counter, Index::Const(0));
        let mut all = vec![
            zero(Counter::Acc),
            zero(Counter::All),
            zero(Counter::Bound),
            self.set(Counter::Capacity, Index::Const(self.capacity)),
        ];
        all.extend(counted);
        all.extend(bounded);
        let size = Index::Const(Counter::Ends as i64 + self.levels.len() as i64);
        vec![workspace(self.at, size, false, all)]
    }

    fn is_value(&self, buffer: BufferId) -> bool {
        self.has_values(buffer)
    }
}

impl Points {
    /// Statements with memory for so many points, of which some may be equal.
    fn with_memory(&self, emit: &mut Emit<'_>, points: &Index, body: Vec<Stmt>) -> Vec<Stmt> {
        let acc = match self.kind {
            Kind::Growing => points.clone() + self.capacity,
            _ => points.clone().min(Index::Const(self.capacity)),
        };
        let different = match &self.levels[..] {
            [(_, extent)] => points.clone().min(extent.clone()),
            _ => points.clone(),
        };
        let places = match self.kind {
            Kind::Hash { .. } => Index::Const(self.slots()),
            _ => acc.clone(),
        };
        let mut body = [self.empty(emit), body].concat();
        let padded = |size: &Index| size.clone() + 2;
        let blocks = |size: &Index| size.clone() * self.size.clone();
        let mut memory = vec![
            (self.keys, padded(&places)),
            (self.values, blocks(&places)),
            (self.digits, Index::Const(DIGITS + 1)),
            (self.run[0], padded(&acc)),
            (self.run[1], blocks(&acc)),
            (self.all[0], padded(&different)),
            (self.all[1], blocks(&different)),
        ];
        if matches!(self.kind, Kind::Hash { .. }) {
            memory.push((self.taken, acc.clone()));
        }
        memory.extend(self.sort.map(|buffer| (buffer, acc.clone())));
        for (buffer, size) in memory {
            body = vec![workspace(buffer, size, false, body)];
        }
        body
    }

    /// What makes Acc's memory that of no points.
    fn empty(&self, emit: &mut Emit<'_>) -> Vec<Stmt> {
        let none = |at| Stmt::set(self.keys, at, Value::FromIndex(Index::Const(NONE)));
        match self.kind {
            Kind::Hash { .. } => {
                vec![emit.each(Index::Const(self.slots()), |_, at| vec![none(at)])]
            }
            _ => vec![none(Index::Const(0))],
        }
    }
}
