//! Points in buckets: a list for each block of coordinates of the workspace's first level.
//!
//! Loops that come to rows of a result in any order scatter their points into the buckets of these rows. Each bucket is
//! small enough for a cache, and is sorted by itself, at the same time as others. Before -> after, of
//! `C(i, k) := A(i, j) * B(j, k)` with the loop over `j` outermost, in buckets of 64 rows:
//! ```text
//! for j { for i in A(j) { for k in B(j) { W[0] += v  row[i] = 1  insert[i * K + k] = 1 } } }
//! for c = 0 to chunks { for b in chunk c { sorted[b] = 1  for p in bucket b { append .. } } }
//! ```
//! ```text
//! parallel s { for j in part s { for i in A(j) { next[s, i / 64] += |B(j)| } } }
//! for b { for s { begin[s, b] = next[s, b] = all that was counted before } }
//! parallel s { for j in part s { for i in A(j) { for k in B(j) {
//!     p = next[s, i / 64]  if p == limit[s, i / 64] { sort, join }
//!     key[p] = i * K + k  W[p] = v  next[s, i / 64] = p + 1
//! } } } }
//! parallel c { for b in chunk c { sort and join the points of all s  for p in bucket b { append .. } } }
//! ```
//! Memory is reserved for as many points as there may be, of which a bucket touches little more than twice as much as
//! it has different ones: when it has come so far, what is there is sorted and joined. The number of parts follows from
//! sizes alone, and points stay in the order of the loops, so that results have the same bits for any number of
//! threads.

mod contract;
mod insert;
mod open;

use dastac_loops::{BufferId, Element, For, Function, Index, Module, Stmt, Value};

use super::super::super::append::Appending;
use super::super::super::kernel::{Gathers, Kernel, Operand};
use super::super::super::walks::{Work, Works};
use super::emit::Emit;
use super::{Counter, Points};

/// So many points of a bucket are never sorted before all have come.
const LEAST: i64 = if cfg!(test) { 4 } else { 1 << 12 };
/// The loops over a whole result are cut into so many parts at most.
const PARTS: i64 = if cfg!(test) { 3 } else { 16 };
/// All parts together have about so many buckets, or one part has more.
const BUCKETS: i64 = if cfg!(test) { 16 } else { 1 << 15 };
/// So many threads' work at most the buckets of a whole result are.
const CHUNKS: i64 = if cfg!(test) { 3 } else { 64 };

/// A workspace of points in buckets.
#[derive(Clone, Debug)]
pub(crate) struct Buckets {
    /// Points, of which no container but the buckets is used.
    points: Points,
    /// How many coordinates of the first level a bucket has.
    rows: i64,
    /// What stands for the row of an insertion: a store to it, at the first level's coordinate.
    row: BufferId,
    /// That coordinate, `VarId(n)` standing for iterator `n`.
    coordinate: Index,
    /// What stands for sorting and joining the points of a bucket: a store to it, at the bucket's number.
    sorted: BufferId,
    /// Of each part's buckets, where they begin, where their next point goes, where they are sorted next, and where
    /// they end.
    begins: BufferId,
    next: BufferId,
    limits: BufferId,
    ends: BufferId,
    /// See [`Total`].
    totals: BufferId,
}

/// Numbers in [`Buckets::totals`].
#[derive(Clone, Copy)]
enum Total {
    /// How many points there may be.
    Points,
    /// How many of them are in one bucket, of all parts.
    Own,
    /// The largest of these numbers.
    Most,
}

impl Total {
    const COUNT: i64 = 3;

    fn place(self) -> Index {
        Index::Const(self as i64)
    }
}

/// Which of the parts statements belong to, and how many there are.
struct Slots {
    part: Index,
    all: Index,
}

impl Buckets {
    /// Adds the buffers to a module: as [`Points::new`], with so many coordinates of the first level in a bucket.
    pub(crate) fn new(
        module: &mut Module,
        kernel: &Kernel,
        result: &Operand,
        (gathers, last): (&Gathers, usize),
        plan: &Appending,
    ) -> Buckets {
        let name = module.buffers[result.values.0 as usize].name.clone();
        let mut points = Points::new(module, kernel, result, (gathers, last), plan);
        // What is appended comes from where equal points were joined.
        points.all = points.run;
        let mut fresh = |what: &str| {
            module.fresh_buffer(format!("{name}.{what}"), Element::I64, Index::Const(0))
        };
        let [row, sorted, begins, next, limits, ends, totals] =
            ["row", "sorted", "begins", "next", "limits", "bucket_ends", "totals"].map(&mut fresh);
        let coordinate = gathers.coordinates[gathers.levels].clone();
        let rows = gathers.kind.rows();
        Buckets { points, rows, row, coordinate, sorted, begins, next, limits, ends, totals }
    }

    pub(crate) fn values(&self) -> BufferId {
        self.points.values
    }

    /// What an element sets, besides its value.
    pub(crate) fn marks(&self) -> Vec<(BufferId, Index)> {
        vec![(self.row, self.coordinate.clone()), self.points.mark()]
    }

    /// What loops that store to its buffers do.
    pub(crate) fn works(&self) -> Works {
        let mut works = self.points.works();
        works.insert(0, (self.limits, Work::Insertion));
        works.extend([self.next, self.begins].map(|buffer| (buffer, Work::Insertion)));
        works
    }

    /// Whether all of the result is in it: then its buckets can be sorted at the same time.
    pub(crate) fn is_whole(&self) -> bool {
        self.points.whole
    }

    /// How many buckets there are.
    fn count(&self) -> Index {
        let extent = self.points.levels.first().map_or(Index::Const(0), |(_, own)| own.clone());
        (extent + (self.rows - 1)).floor_div(self.rows).max(Index::Const(0))
    }

    /// How many parts the loops are cut into.
    fn parts(&self) -> Index {
        if !self.is_whole() {
            return Index::Const(1);
        }
        let wanted = Index::Const(BUCKETS).quotient(self.count().max(Index::Const(1)));
        wanted.max(Index::Const(1)).min(Index::Const(PARTS))
    }

    /// How many chunks of buckets there are.
    pub(crate) fn chunks(&self) -> Index {
        self.count().min(Index::Const(CHUNKS))
    }

    /// The first bucket of a chunk.
    fn first_of(&self, chunk: Index) -> Index {
        (self.count() * chunk).quotient(self.chunks().max(Index::Const(1)))
    }

    /// How many keys a bucket has.
    fn range(&self) -> Index {
        let inner = self.points.levels.iter().skip(1);
        inner.fold(Index::Const(self.rows), |all, (_, extent)| all * extent.clone())
    }

    /// Appends all that is in the workspace, which is empty then.
    pub(crate) fn drain(&self, function: &mut Function) -> Vec<Stmt> {
        let mut emit = Emit { function };
        let (chunk, bucket) = (emit.var("chunk"), emit.var("bucket"));
        let body = self.drained(&mut emit, &Index::Var(bucket));
        let inner = |lower, upper| Stmt::For(For::new(bucket, lower, upper, body));
        if !self.is_whole() {
            return vec![inner(Index::Const(0), self.count())];
        }
        let own = Index::Var(chunk);
        let body = vec![inner(self.first_of(own.clone()), self.first_of(own + 1))];
        vec![Stmt::For(For::new(chunk, Index::Const(0), self.chunks(), body))]
    }

    /// The points of one bucket are joined and appended.
    fn drained(&self, emit: &mut Emit<'_>, bucket: &Index) -> Vec<Stmt> {
        let one = Value::FromIndex(Index::Const(1));
        let mut all = vec![Stmt::set(self.sorted, bucket.clone(), one)];
        let count = Counter::Run.place();
        all.extend(emit.read(self.points.at, count, |emit, count| {
            self.points.level(emit, 0, (Index::Const(0), count), Index::Const(0))
        }));
        all
    }

    /// Whether a loop goes over the chunks of buckets.
    pub(crate) fn is_drain(&self, stmt: &Stmt) -> bool {
        let mut found = false;
        stmt.visit(&mut |stmt| {
            found |= matches!(stmt, Stmt::Store(store) if store.buffer == self.sorted);
        });
        found
    }

    fn is_own(&self, buffer: BufferId) -> bool {
        let own = [self.row, self.sorted, self.points.values, self.points.marker, self.points.at];
        own.contains(&buffer)
    }
}
