//! Rows that come together in a workspace ([`super::gather`]) and have more points than a block can sort: a block has a
//! workspace in memory, which it uses for one row after the other.
//!
//! Before -> after, of `C(i, k) := A(i, j) * B(j, k)`:
//! ```text
//! with marks of blocks * P zero { with sums of blocks * P zero { parallel(blocks) b = 0 to blocks {
//!   for base = .. step 256 { (which of a block's rows are long)  for i in those {
//!     for p in A(i) {
//!       parallel(lanes) t { (whether coordinates of B(j) ascend) }
//!       parallel(lanes) t { for q = B(j) + t step 256 { sums[k] += v  marks[k] = 1 } }    by one lane if not
//!     }
//!     parallel(lanes) t { (how many of t's coordinates are marked) }  (sums of them)
//!     parallel(lanes) t { (its coordinates in order: A[at[0] + h] = sums[k]  sums[k] = 0.0  marks[k] = 0) }
//!   } }
//! } } }
//! ```
//! Where there are few coordinates, the workspace is in shared memory and a warp's, and rows need not be so long.
//!
//! Where coordinates ascend, lanes have different ones. Loops outside of these run in order, so values are added up in
//! the order of the loops.

use dastac_loops::{BufferId, Condition, Element, For, Index, Stmt, Store, Value, VarId};

use super::drain::{Counters, some};
use super::gather::Gathered;
use super::mapper::{LANES, Mapper, WARP};
use super::space::bind;
use super::sums::{Sums, integer, read, workspaces, zero};

/// Bytes that workspaces may have.
const BYTES: i64 = 256 << 20;
/// Blocks that keep a device busy.
const BLOCKS: i64 = 256;
/// Bytes that a workspace in shared memory may have: six of them fit on a multiprocessor.
const SHARED_BYTES: i64 = 36 << 10;
/// Blocks with such a workspace that keep a device busy.
const SHARED_BLOCKS: i64 = 2048;

/// Which rows are long: those with more than so many points and at most so many, of which `many` says how many they
/// have.
#[derive(Clone, Copy)]
pub(super) struct Long<'a> {
    pub many: BufferId,
    pub more: i64,
    pub most: Option<i64>,
    /// The first row.
    pub lower: &'a Index,
    /// How many rows there are.
    pub count: VarId,
}

impl Long<'_> {
    fn is_long(&self, points: Index) -> Condition {
        let most = self.most.map(|most| points.clone().at_most(Index::Const(most)));
        Condition::all([Index::Const(self.more).less(points)].into_iter().chain(most))
    }
}

/// The memory of a block.
struct Memory {
    marks: BufferId,
    values: Option<BufferId>,
    /// Where the block's part of both begins.
    begin: Index,
    /// How many coordinates there are.
    extent: Index,
    sums: Sums,
    counters: Option<Counters>,
}

/// Bytes of a coordinate: its mark, and its value.
fn bytes(element: Option<Element>) -> i64 {
    1 + element.map_or(0, |element| element.bytes() as i64)
}

impl Mapper<'_> {
    /// Whether workspaces of rows fit in shared memory.
    pub fn is_narrow(&mut self, rows: &Gathered<'_>) -> Condition {
        let element = rows.values.map(|_| rows.element(self.module));
        rows.extent().at_most(Index::Const(SHARED_BYTES / bytes(element)))
    }

    /// The kernel of long rows of few coordinates.
    pub fn narrow_rows(&mut self, rows: &Gathered<'_>, long: &Long<'_>) -> Stmt {
        let extent = self.function.fresh_var("extent");
        let element = rows.values.map(|_| rows.element(self.module));
        let most = SHARED_BYTES / bytes(element);
        let marks = self.shared("marks", Element::U8, most);
        let values = element.map(|element| self.shared("values", element, most));
        let (sums, counters) = (self.sums(WARP), self.counters(rows));
        let begin = zero();
        let memory = Memory { marks, values, begin, extent: Index::Var(extent), sums, counters };
        let blocks = Index::Var(long.count).min(Index::Const(SHARED_BLOCKS));
        let kernel = self.blocks(blocks.clone(), |mapper, block| {
            let clear = mapper.lanes("t", WARP, |mapper, lane| {
                let at = mapper.function.fresh_var("x");
                let mut set = vec![Stmt::set(marks, Index::Var(at), integer(0))];
                if let (Some(own), Some(values)) = (rows.values, values) {
                    set.push(Stmt::set(values, Index::Var(at), Value::constant(own.neutral)));
                }
                let own = For::new(at, lane, memory.extent.clone(), set);
                vec![Stmt::For(For { step: WARP, ..own })]
            });
            let mut body = vec![clear];
            body.extend(mapper.long_rows(long, &memory.sums, (block, blocks), |mapper, row| {
                let body = mapper.long_row(rows, &memory);
                vec![bind(rows.rows.var, long.lower.clone() + row, body)]
            }));
            let all = [Some((marks, most)), values.map(|values| (values, most))];
            let body = workspaces(all.into_iter().flatten(), body);
            Counters::around(memory.counters.as_ref(), memory.sums.around(body))
        });
        bind(extent, rows.extent(), vec![kernel])
    }

    /// The kernel of long rows, with the workspaces of its blocks.
    pub fn marked_rows(&mut self, rows: &Gathered<'_>, long: &Long<'_>) -> Vec<Stmt> {
        let [extent, blocks] = ["extent", "blocks"].map(|name| self.function.fresh_var(name));
        let marks = self.module.fresh_buffer("marks", Element::U8, zero());
        let element = rows.element(self.module);
        let values = rows.values.map(|_| self.module.fresh_buffer("values", element, zero()));
        let (sums, counters) = (self.sums(LANES), self.counters(rows));
        let mut memory =
            Memory { marks, values, begin: zero(), extent: Index::Var(extent), sums, counters };
        let kernel = self.blocks(Index::Var(blocks), |mapper, block| {
            memory.begin = block.clone() * Index::Var(extent);
            let part = (block, Index::Var(blocks));
            let body = mapper.long_rows(long, &memory.sums, part, |mapper, row| {
                let body = mapper.long_row(rows, &memory);
                vec![bind(rows.rows.var, long.lower.clone() + row, body)]
            });
            Counters::around(memory.counters.as_ref(), memory.sums.around(body))
        });
        let size = Index::Var(blocks) * Index::Var(extent);
        let mut body = vec![kernel];
        let neutral = rows.values.map_or(0.0, |own| own.neutral);
        if let (Some(values), true) = (values, neutral.to_bits() != 0) {
            let at = self.function.fresh_var("x");
            let set = Stmt::set(values, Index::Var(at), Value::constant(neutral));
            let clear = For::new(at, zero(), size.clone(), vec![set]).parallel();
            let mut cleared = self.nest(&clear);
            cleared.append(&mut body);
            body = cleared;
        }
        let memory = |buffer, zero, body| {
            let (size, instead) = (size.clone(), None);
            vec![Stmt::Workspace(dastac_loops::Workspace { buffer, size, zero, instead, body })]
        };
        if let Some(values) = values {
            body = memory(values, neutral.to_bits() == 0, body);
        }
        body = memory(marks, true, body);
        let bytes = bytes(values.map(|_| element));
        let most = Index::Const(BYTES / bytes).quotient(Index::Var(extent).max(Index::Const(1)));
        let most = most.max(Index::Const(1)).min(Index::Const(BLOCKS));
        let count = most.min(Index::Var(long.count));
        vec![bind(extent, rows.extent(), vec![bind(blocks, count, body)])]
    }

    /// The rows of a block that are long, one after the other: of so many blocks, each has every so manyth row.
    pub fn long_rows(
        &mut self,
        long: &Long<'_>,
        sums: &Sums,
        (block, blocks): (Index, Index),
        row: impl FnOnce(&mut Self, Index) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let [base, own, number, any] =
            ["base", "row", "n", "any"].map(|name| self.function.fresh_var(name));
        let rows =
            (Index::Var(long.count) - block.clone() + blocks.clone() - 1).quotient(blocks.clone());
        let at = block + Index::Var(own) * blocks;
        let if_long = |body: Vec<Stmt>| {
            let is_long = long.is_long(Index::Var(number));
            vec![read(number, long.many, at.clone(), vec![Stmt::when(is_long, body)])]
        };
        let mut body = vec![self.lanes("t", sums.lanes, |_, lane| {
            let look = if_long(vec![Stmt::set(sums.counts, lane.clone(), integer(1))]);
            let first = Index::Var(base) + lane.clone();
            let upper = vec![first.clone() + 1, rows.clone()];
            let look = For { upper, ..For::new(own, first, rows.clone(), look) };
            vec![Stmt::set(sums.counts, lane, integer(0)), Stmt::For(look)]
        })];
        body.extend(self.add_up(sums));
        // How many points rows have is read again: their memory is used for each.
        let inside = if_long(row(self, at.clone()));
        let last = (Index::Var(base) + sums.lanes).min(rows.clone());
        let each = Stmt::for_range(own, Index::Var(base), last, inside);
        let some = Stmt::when(zero().less(Index::Var(any)), vec![each]);
        body.push(read(any, sums.sum, zero(), vec![some]));
        let all = For::new(base, zero(), rows, body);
        vec![Stmt::For(For { step: sums.lanes, ..all })]
    }

    fn long_row(&mut self, rows: &Gathered<'_>, memory: &Memory) -> Vec<Stmt> {
        let points: Vec<Stmt> = rows.points.iter().map(|stmt| (*stmt).clone()).collect();
        let mut body = self.come_in_order(rows, memory, &points);
        let Sums { lanes, counts, before, sum, .. } = memory.sums;
        body.push(self.lanes("t", lanes, |mapper, lane| {
            let one = Stmt::add(counts, lane.clone(), integer(1));
            let all = mapper.marked(rows, memory, &lane, |_| vec![one]);
            vec![Stmt::set(counts, lane, integer(0)), all]
        }));
        body.extend(self.add_up(&memory.sums));
        let counters = memory.counters.as_ref();
        let count = self.function.fresh_var("count");
        let mut elements = vec![self.lanes("t", lanes, |mapper, lane| {
            vec![mapper.marked(rows, memory, &lane, |mapper| {
                let head = mapper.function.fresh_var("h");
                let place = memory.begin.clone() + Index::Var(rows.key);
                let value = memory.values.map(|values| (values, &place));
                let mut body = mapper.element(rows, counters, &Index::Var(head), value);
                if let (Some(own), Some(values)) = (rows.values, memory.values) {
                    body.push(Stmt::set(values, place.clone(), Value::constant(own.neutral)));
                }
                body.push(Stmt::set(memory.marks, place, integer(0)));
                let after = integer(Index::Var(head) + 1);
                body.push(Stmt::set(before, lane.clone(), after));
                vec![read(head, before, lane.clone(), body)]
            })]
        })];
        elements.extend(self.counted(counters, &Index::Var(count)));
        let inside = self.in_row(rows, counters, elements, 0);
        body.push(read(count, sum, zero(), inside));
        body
    }

    /// Statements for those of a lane's coordinates, which are neighbours, that are marked.
    fn marked(
        &mut self,
        rows: &Gathered<'_>,
        memory: &Memory,
        lane: &Index,
        body: impl FnOnce(&mut Self) -> Vec<Stmt>,
    ) -> Stmt {
        let mark = self.function.fresh_var("m");
        let body = body(self);
        // Lanes have an odd number of words each, so that no two of them read the same bank.
        let words = memory.sums.lanes * 8;
        let own = (memory.extent.clone() + (words - 1)).floor_div(words) * 8 + 4;
        let begin = lane.clone() * own.clone();
        let end = (begin.clone() + own).min(memory.extent.clone());
        let place = memory.begin.clone() + Index::Var(rows.key);
        let body = vec![Stmt::when(zero().less(Index::Var(mark)), body)];
        let body = vec![read(mark, memory.marks, place, body)];
        Stmt::for_range(rows.key, begin, end, body)
    }

    /// Statements that come to points, as those of a block.
    fn come_in_order(&mut self, rows: &Gathered<'_>, memory: &Memory, body: &[Stmt]) -> Vec<Stmt> {
        let mut result = Vec::new();
        for stmt in body {
            match stmt {
                Stmt::Store(store) => {
                    if let Some(own) = memory.own(rows, store) {
                        result.push(self.one(|_| vec![own]));
                    }
                }
                Stmt::For(inner) if inner.body.iter().all(|one| matches!(one, Stmt::Store(_))) => {
                    result.extend(self.come_at_once(rows, memory, inner));
                }
                stmt => {
                    let mut stmt = stmt.clone();
                    for inside in stmt.bodies_mut() {
                        *inside = self.come_in_order(rows, memory, inside);
                    }
                    result.extend(some(stmt));
                }
            }
        }
        result
    }

    /// A loop that does nothing but store, by all lanes if they store to different places.
    fn come_at_once(&mut self, rows: &Gathered<'_>, memory: &Memory, inner: &For) -> Vec<Stmt> {
        let mut keys = Vec::new();
        let mut stores = Vec::new();
        for stmt in &inner.body {
            let Stmt::Store(store) = stmt else { continue };
            if let Some(own) = memory.own(rows, store) {
                keys.push(&store.index);
                stores.push(own);
            }
        }
        let Some(key) = keys.first().copied() else { return Vec::new() };
        let in_order = For { body: stores.clone(), ..inner.clone() };
        if inner.step != 1 || keys.iter().any(|other| *other != key) {
            return vec![self.one(|_| vec![Stmt::For(in_order)])];
        }
        let (begin, end) = inner.ends();
        let lanes = memory.sums.lanes;
        let shared = self.lanes("t", lanes, |_, lane| {
            let (lower, step) = (vec![begin.clone() + lane], lanes);
            vec![Stmt::For(For { lower, step, ..in_order.clone() })]
        });
        if key.constant_stride(inner.var).is_some_and(|stride| stride != 0) {
            return vec![shared];
        }
        let Sums { counts, sum, .. } = memory.sums;
        let mut body = vec![self.lanes("t", lanes, |mapper, lane| {
            let at = mapper.function.fresh_like(inner.var, "");
            let [one, other] = [0, 1].map(|by| key.substitute(inner.var, &(Index::Var(at) + by)));
            let set = Stmt::set(counts, lane.clone(), integer(1));
            let set = vec![Stmt::when(other.at_most(one), vec![set])];
            let own = For::new(at, begin.clone() + lane.clone(), end - 1, set);
            vec![Stmt::set(counts, lane, integer(0)), Stmt::For(For { step: lanes, ..own })]
        })];
        body.extend(self.add_up(&memory.sums));
        let found = self.function.fresh_var("n");
        let alone = self.one(|_| vec![Stmt::For(in_order)]);
        let choice = Stmt::If(dastac_loops::If {
            condition: Index::Var(found).at_most(zero()),
            then: vec![shared],
            otherwise: vec![alone],
        });
        body.push(read(found, sum, zero(), vec![choice]));
        body
    }
}

impl Memory {
    /// A store to the block's own memory, in place of one to a workspace that it needs.
    fn own(&self, rows: &Gathered<'_>, store: &Store) -> Option<Stmt> {
        let values = rows.values.filter(|own| own.buffer == store.buffer);
        let buffer = match values {
            Some(_) => self.values,
            None => Some(self.marks).filter(|_| store.buffer == rows.marks[0]),
        }?;
        let index = self.begin.clone() + store.index.clone();
        Some(Stmt::Store(Store { buffer, index, ..store.clone() }))
    }
}
