//! Rows that come together in a workspace ([`super::gather`]): a block sorts the points of a row in shared memory.
//!
//! Before -> after, of `C(i, k) := A(i, j) * B(j, k)`:
//! `for p in A(i) { for q in B(j) { sums[k] += v  mark[k] = 1 .. } }  scan k in mark { at[0] += 1 .. A[n] = sums[k] }`
//! ->
//! ```text
//! parallel(blocks) b = 0 to M {
//!   for base = .. step 32 { parallel(lanes) t { (how many points element base + t of A(i) has) }
//!     (sums of them)  parallel(lanes) t { for q in B(j) { keys[n] = k * 256 + n  values[n] = v  n += 1 } } }
//!   (many[i] = n)  if n <= 256 {
//!     (sorted: the keys in order)
//!     (where a coordinate differs from the one before, the next element of the result begins)
//!     parallel(lanes) t { for h = t to .. step 32 { (the sum of its values, in order)  A[at[0] + h] = .. } }
//!   }
//! }
//! ```
//! Few keys go where their ranks say, which lanes find out by comparing each with all others; more are compared and
//! exchanged in pairs, step by step (a bitonic sort, whose pairs all ascend): half as many lines as elements are
//! mirrored in the first step of a stage, and moved by half of what was before in the others.
//!
//! A key holds the place of its value, so values are added up in the order of the loops. Each element of the outermost
//! loops over points is a lane's. Rows with few points have a warp each; those with more, a block of 256 lanes. Rows
//! with more than fit, or with few coordinates, have workspaces instead ([`super::marked`]).

use dastac_loops::{
    BufferId, Compare, Element, For, If, Index, Mark, PartitionedRange, Stmt, Store, Value, VarId,
};

use super::drain::{Counters, some};
use super::gather::{self, Gathered, Point};
use super::mapper::{LANES, Mapper, WARP};
use super::marked::Long;
use super::space::bind;
use super::sums::{Sums, integer, read, workspace, workspaces, zero};

/// Rows of so many points at most are sorted by so many lanes.
#[derive(Clone, Copy)]
struct Class {
    points: i64,
    lanes: i64,
}

const SHORT: Class = Class { points: 256, lanes: WARP };
const LONG: Class = Class { points: 2048, lanes: LANES };

/// Up to so many keys are compared with each other.
const FEW: i64 = 64;
/// Larger than all keys.
const LAST: i64 = 1 << 62;

/// Blocks for longer rows that keep a device busy.
const BLOCKS: i64 = 2048;

/// The memory that the lanes of a block share.
struct Memory {
    class: Class,
    /// The keys of points, in the order of the loops.
    keys: BufferId,
    /// Their ranks; later where each coordinate's points begin.
    ranks: BufferId,
    /// One that is smaller than all others, then the keys in order: the same memory as theirs, if there are many.
    sorted: BufferId,
    /// The values of points.
    values: Option<BufferId>,
    /// How many points or coordinates lanes have.
    sums: Sums,
    /// How many points of the row have come so far.
    done: BufferId,
    /// Where a lane's next point goes.
    next: BufferId,
    counters: Option<Counters>,
}

impl Mapper<'_> {
    /// The kernels of rows that come together in workspaces, if a range has such rows.
    pub fn gathered(&mut self, inner: &PartitionedRange) -> Option<Vec<Stmt>> {
        let rows = gather::of(inner, self.function)?;
        let (lower, upper) = inner.ends();
        let count = self.function.fresh_var("rows");
        let many = self.module.fresh_buffer("many", Element::I64, zero());
        let length = (upper - lower.clone()).max(zero());
        let sizes = rows.sizes.iter().all(|(_, size)| self.is_known(size));
        if !sizes {
            return None;
        }
        let sorted =
            Long { many, more: SHORT.points, most: Some(LONG.points), lower: &lower, count };
        let marked = Long { more: LONG.points, most: None, ..sorted };
        let mut wide = vec![self.sorted_rows(&rows, &sorted)];
        wide.extend(self.marked_rows(&rows, &marked));
        let condition = self.is_narrow(&rows);
        let narrow = vec![self.narrow_rows(&rows, &Long { most: None, ..sorted })];
        let choice = Stmt::If(If { condition, then: narrow, otherwise: wide });
        let body = vec![self.short_rows(&rows, &sorted), choice];
        Some(vec![bind(count, length, vec![workspace(many, Index::Var(count), body)])])
    }

    /// The kernel of short rows, of which a warp each has one. It tells how many points each row has.
    fn short_rows(&mut self, rows: &Gathered<'_>, long: &Long<'_>) -> Stmt {
        let memory = self.memory(rows, SHORT);
        self.blocks(Index::Var(long.count), |mapper, block| {
            let body = mapper.sorted_row(rows, &memory, Some((long.many, &block)));
            let row = long.lower.clone() + block;
            vec![bind(rows.rows.var, row, memory.around(body))]
        })
    }

    /// The kernel of longer rows, of which blocks have several.
    fn sorted_rows(&mut self, rows: &Gathered<'_>, long: &Long<'_>) -> Stmt {
        let memory = self.memory(rows, LONG);
        let blocks = Index::Var(long.count).min(Index::Const(BLOCKS));
        self.blocks(blocks.clone(), |mapper, block| {
            let part = (block, blocks);
            let body = mapper.long_rows(long, &memory.sums, part, |mapper, row| {
                let body = mapper.sorted_row(rows, &memory, None);
                vec![bind(rows.rows.var, long.lower.clone() + row, body)]
            });
            memory.around(body)
        })
    }

    /// What the lanes of a block do for a row. The number of its points goes to a place, if one is given.
    fn sorted_row(
        &mut self,
        rows: &Gathered<'_>,
        memory: &Memory,
        place: Option<(BufferId, &Index)>,
    ) -> Vec<Stmt> {
        let mut body = self.expanded(rows, memory);
        let points = self.function.fresh_var("points");
        let all = Index::Var(points);
        let mut inside = Vec::new();
        if let Some((many, at)) = place {
            inside.push(self.one(|_| vec![Stmt::set(many, at.clone(), integer(all.clone()))]));
        }
        let drained = self.drained(rows, memory, &all);
        inside.push(Stmt::when(all.at_most(Index::Const(memory.class.points)), drained));
        body.push(read(points, memory.done, zero(), inside));
        body
    }

    fn memory(&mut self, rows: &Gathered<'_>, class: Class) -> Memory {
        let (points, lanes) = (class.points, class.lanes);
        let mut fresh = |name, size| self.shared(name, Element::I64, size);
        let (sorted, done, next) =
            (fresh("sorted", points + 1), fresh("done", 1), fresh("next", lanes));
        let keys = if lanes == WARP { fresh("keys", points) } else { sorted };
        let ranks = self.shared("ranks", Element::I32, points + 1);
        let element = rows.element(self.module);
        let values = rows.values.map(|_| self.shared("values", element, points));
        let (sums, counters) = (self.sums(lanes), self.counters(rows));
        Memory { class, keys, ranks, sorted, values, sums, done, next, counters }
    }

    /// The points of a row: as many as have a place, and how many there are.
    fn expanded(&mut self, rows: &Gathered<'_>, memory: &Memory) -> Vec<Stmt> {
        let Memory { done, next, class, .. } = *memory;
        let Sums { counts, before, sum, .. } = memory.sums;
        let mut body = vec![self.one(|_| vec![Stmt::set(done, zero(), integer(0))])];
        for stmt in &rows.points {
            let once = For::new(
                self.function.fresh_var("once"),
                zero(),
                Index::Const(1),
                vec![(*stmt).clone()],
            );
            let all = match stmt {
                Stmt::For(all) if all.step == 1 => all,
                _ => &once,
            };
            let base = self.function.fresh_var("base");
            let own = |lane: &Index, body: Vec<Stmt>| {
                let at = Index::Var(base) + lane.clone();
                let upper = std::iter::once(at.clone() + 1).chain(all.upper.iter().cloned());
                Stmt::For(For { lower: vec![at], upper: upper.collect(), body, ..all.clone() })
            };
            let mut chunk = vec![self.lanes("t", class.lanes, |_, lane| {
                let counted = Counting { rows, counts, lane: &lane }.statements(&all.body);
                vec![Stmt::set(counts, lane.clone(), integer(0)), own(&lane, counted)]
            })];
            chunk.extend(self.add_up(&memory.sums));
            chunk.push(self.lanes("t", class.lanes, |mapper, lane| {
                let first = Value::load(done, zero()) + Value::load(before, lane.clone());
                let come = mapper.come(rows, memory, &all.body, &lane);
                vec![Stmt::set(next, lane.clone(), first), own(&lane, come)]
            }));
            let added = Stmt::add(done, zero(), Value::load(sum, zero()));
            chunk.push(self.one(|_| vec![added]));
            let (lower, upper) = (all.lower.clone(), all.upper.clone());
            let mark = Mark::Sequential;
            let step = class.lanes;
            body.push(Stmt::For(For { var: base, lower, upper, step, mark, body: chunk }));
        }
        body
    }

    /// Statements that come to points, as those of a lane that keep them.
    fn come(
        &mut self,
        rows: &Gathered<'_>,
        memory: &Memory,
        body: &[Stmt],
        lane: &Index,
    ) -> Vec<Stmt> {
        let mut result = Vec::new();
        for stmt in body {
            let place = self.function.fresh_var("place");
            if let Some(point) = rows.point(stmt) {
                let mut kept = vec![memory.keep(&point, Index::Var(place))];
                let after = integer(Index::Var(place) + 1);
                kept.push(Stmt::set(memory.next, lane.clone(), after));
                result.push(read(place, memory.next, lane.clone(), kept));
                continue;
            }
            if let Stmt::For(inner) = stmt
                && let Some(point) = rows.only_point(inner)
            {
                let (begin, length) = range(inner);
                let at = Index::Var(place) + (Index::Var(inner.var) - begin);
                let body = vec![memory.keep(&point, at)];
                let after = integer(Index::Var(place) + length);
                let kept = vec![
                    Stmt::For(For { body, ..inner.clone() }),
                    Stmt::set(memory.next, lane.clone(), after),
                ];
                result.push(read(place, memory.next, lane.clone(), kept));
                continue;
            }
            if matches!(stmt, Stmt::Store(_)) {
                continue;
            }
            let mut stmt = stmt.clone();
            for inside in stmt.bodies_mut() {
                *inside = self.come(rows, memory, inside, lane);
            }
            result.extend(some(stmt));
        }
        result
    }

    /// The points of a row in order, and what is done for each coordinate.
    fn drained(&mut self, rows: &Gathered<'_>, memory: &Memory, all: &Index) -> Vec<Stmt> {
        let Memory { ranks, class, .. } = *memory;
        let Sums { counts, before, sum, .. } = memory.sums;
        let mut body = self.in_steps(memory, all);
        if memory.keys != memory.sorted {
            let few = self.by_ranks(memory, all);
            let condition = all.clone().at_most(Index::Const(FEW));
            body = vec![Stmt::If(If { condition, then: few, otherwise: body })];
        }
        body.push(self.lanes("t", class.lanes, |mapper, lane| {
            let one = Stmt::add(counts, lane.clone(), integer(1));
            let heads = mapper.heads(memory, all, &lane, |_, _| vec![one]);
            vec![Stmt::set(counts, lane, integer(0)), heads]
        }));
        body.extend(self.add_up(&memory.sums));
        body.push(self.lanes("t", class.lanes, |mapper, lane| {
            vec![mapper.heads(memory, all, &lane, |mapper, at| {
                let head = mapper.function.fresh_var("n");
                let number = Index::Var(head);
                let stored = Stmt::set(ranks, number.clone(), integer(at));
                let after = Stmt::set(before, lane.clone(), integer(number + 1));
                vec![read(head, before, lane.clone(), vec![stored, after])]
            })]
        }));
        let count = self.function.fresh_var("count");
        let heads = Index::Var(count);
        let last = Stmt::set(ranks, heads.clone(), integer(all.clone()));
        let mut inside = vec![self.one(|_| vec![last])];
        let elements = self.elements(rows, memory, &heads);
        inside.extend(self.in_row(rows, memory.counters.as_ref(), elements, 0));
        body.push(read(count, sum, zero(), inside));
        body
    }

    /// Keys in order, each where as many are smaller.
    fn by_ranks(&mut self, memory: &Memory, all: &Index) -> Vec<Stmt> {
        let Memory { keys, ranks, sorted, class, .. } = *memory;
        let compared = self.each(class, all, |mapper, at| {
            let other = mapper.function.fresh_var("y");
            let [left, right] =
                [Index::Var(other), at.clone()].map(|at| Box::new(Value::load(keys, at)));
            let smaller = Value::Compare(Compare::Lt, left, right);
            vec![Stmt::set(ranks, at, Value::sum(other, zero(), all.clone(), smaller))]
        });
        let moved = self.each(class, all, |mapper, at| {
            let rank = mapper.function.fresh_var("rank");
            let stored = Stmt::set(sorted, Index::Var(rank) + 1, Value::load(keys, at.clone()));
            let first = Stmt::set(sorted, zero(), integer(-1));
            let first = Stmt::when(at.clone().at_most(zero()), vec![first]);
            vec![read(rank, ranks, at, vec![stored]), first]
        });
        vec![compared, moved]
    }

    /// Keys in order, by comparisons of pairs.
    fn in_steps(&mut self, memory: &Memory, all: &Index) -> Vec<Stmt> {
        let Memory { keys, sorted, class, .. } = *memory;
        let mut body = vec![self.lanes("t", class.lanes, |mapper, lane| {
            let mut own = |begin: Index, end: Index, key: &dyn Fn(Index) -> Value| {
                let at = mapper.function.fresh_var("x");
                let set = Stmt::set(sorted, Index::Var(at) + 1, key(Index::Var(at)));
                let all = For::new(at, begin + lane.clone(), end, vec![set]);
                Stmt::For(For { step: class.lanes, ..all })
            };
            let mut body = Vec::new();
            if keys != sorted {
                body.push(own(zero(), all.clone(), &|at| Value::load(keys, at)));
            }
            body.push(own(all.clone(), Index::Const(class.points), &|_| integer(LAST)));
            let first = Stmt::set(sorted, zero(), integer(-1));
            body.push(Stmt::when(lane.at_most(zero()), vec![first]));
            body
        })];
        let mut width = 2;
        while width <= class.points {
            let mut stage = vec![self.step(memory, all, width, true)];
            let mut part = width / 2;
            while part > 1 {
                stage.push(self.step(memory, all, part, false));
                part /= 2;
            }
            // What is behind the keys is in order.
            body.push(Stmt::when(Index::Const(width / 2).less(all.clone()), stage));
            width *= 2;
        }
        body
    }

    /// Pairs of keys in lines of so many: of the first half with the second, which is mirrored or not.
    fn step(&mut self, memory: &Memory, all: &Index, width: i64, mirrored: bool) -> Stmt {
        let half = width / 2;
        let pairs = (all.clone() + (width - 1)).floor_div(width) * half;
        self.each(memory.class, &pairs, |mapper, at| {
            let (line, place) = (at.clone().floor_div(half), at.modulo(half));
            let begin = line * width + 1;
            let other = match mirrored {
                true => begin.clone() + (width - 1) - place.clone(),
                false => begin.clone() + place.clone() + half,
            };
            let one = begin + place;
            let [left, right] = ["a", "b"].map(|name| mapper.function.fresh_var(name));
            let [a, b] = [left, right].map(Index::Var);
            let sorted = memory.sorted;
            let set = vec![
                Stmt::set(sorted, one.clone(), integer(a.clone().min(b.clone()))),
                Stmt::set(sorted, other.clone(), integer(a.max(b))),
            ];
            let set = vec![read(right, sorted, other, set)];
            vec![read(left, sorted, one, set)]
        })
    }

    /// Statements for numbers up to `count`, of which neighbouring lanes have neighbouring ones.
    fn each(
        &mut self,
        class: Class,
        count: &Index,
        body: impl FnOnce(&mut Self, Index) -> Vec<Stmt>,
    ) -> Stmt {
        self.lanes("t", class.lanes, |mapper, lane| {
            let at = mapper.function.fresh_var("x");
            let body = body(mapper, Index::Var(at));
            let own = For::new(at, lane, count.clone(), body);
            vec![Stmt::For(For { step: class.lanes, ..own })]
        })
    }

    /// Statements for those of a lane's points, which are neighbours, that are the first ones of their coordinates.
    fn heads(
        &mut self,
        memory: &Memory,
        all: &Index,
        lane: &Index,
        body: impl FnOnce(&mut Self, Index) -> Vec<Stmt>,
    ) -> Stmt {
        let class = memory.class;
        let [at, one, other] = ["x", "a", "b"].map(|name| self.function.fresh_var(name));
        let body = body(self, Index::Var(at));
        let of = |key: VarId| Index::Var(key).floor_div(class.points);
        let body = vec![Stmt::when(of(one).less(of(other)), body)];
        let body = vec![read(other, memory.sorted, Index::Var(at) + 1, body)];
        let body = vec![read(one, memory.sorted, Index::Var(at), body)];
        let own = class.points / class.lanes;
        let begin = lane.clone() * own;
        let end = (begin.clone() + own).min(all.clone());
        Stmt::for_range(at, begin, end, body)
    }

    /// What is done for each coordinate, by a lane each.
    fn elements(&mut self, rows: &Gathered<'_>, memory: &Memory, heads: &Index) -> Vec<Stmt> {
        let element = rows.element(self.module);
        let sum = rows.values.map(|own| (own, self.module.fresh_buffer("sum", element, 1.into())));
        let (points, counters) = (memory.class.points, memory.counters.as_ref());
        let mut body = vec![self.each(memory.class, heads, |mapper, head| {
            let [begin, end, key] = ["x", "z", "c"].map(|name| mapper.function.fresh_var(name));
            let nowhere = zero();
            let value = sum.map(|(_, sum)| (sum, &nowhere));
            let mut body = mapper.element(rows, counters, &head, value);
            if let (Some((own, sum)), Some(values)) = (sum, memory.values) {
                let mut all = vec![Stmt::set(sum, zero(), Value::constant(own.neutral))];
                let [point, place] = ["y", "c"].map(|name| mapper.function.fresh_var(name));
                let value = Value::load(values, Index::Var(place).modulo(points));
                let (mode, stream) = (own.mode, None);
                let joined = Stmt::Store(Store { buffer: sum, index: zero(), value, mode, stream });
                let joined = read(place, memory.sorted, Index::Var(point) + 1, vec![joined]);
                all.push(Stmt::for_range(point, Index::Var(begin), Index::Var(end), vec![joined]));
                all.extend(body);
                body = vec![workspace(sum, Index::Const(1), all)];
            }
            let body = vec![bind(rows.key, Index::Var(key).floor_div(points), body)];
            let body = vec![read(key, memory.sorted, Index::Var(begin) + 1, body)];
            let body = vec![read(end, memory.ranks, head.clone() + 1, body)];
            vec![read(begin, memory.ranks, head, body)]
        })];
        body.extend(self.counted(counters, heads));
        body
    }
}

/// Statements in place of a choice between the same ones.
fn chosen(stmt: Stmt) -> Vec<Stmt> {
    match stmt {
        Stmt::If(choice) if choice.then == choice.otherwise => choice.then,
        stmt => some(stmt).into_iter().collect(),
    }
}

/// Where a loop begins and how many iterations it has.
fn range(inner: &For) -> (Index, Index) {
    let (begin, end) = inner.ends();
    (begin.clone(), (end - begin).max(zero()))
}

/// Statements that only count points.
struct Counting<'a> {
    rows: &'a Gathered<'a>,
    counts: BufferId,
    lane: &'a Index,
}

impl Counting<'_> {
    fn add(&self, count: Index) -> Stmt {
        Stmt::add(self.counts, self.lane.clone(), integer(count))
    }

    fn statements(&self, body: &[Stmt]) -> Vec<Stmt> {
        let mut result = Vec::new();
        for stmt in body {
            if self.rows.point(stmt).is_some() {
                result.push(self.add(Index::Const(1)));
                continue;
            }
            match stmt {
                Stmt::Store(_) => {}
                Stmt::For(inner) if self.rows.only_point(inner).is_some() => {
                    result.push(self.add(range(inner).1));
                }
                stmt => {
                    let mut stmt = stmt.clone();
                    for inside in stmt.bodies_mut() {
                        *inside = self.statements(inside);
                    }
                    result.extend(chosen(stmt));
                }
            }
        }
        result
    }
}

impl Memory {
    /// Keeps a point at a place, if there is one.
    fn keep(&self, point: &Point<'_>, place: Index) -> Stmt {
        let most = Index::Const(self.class.points);
        let key = point.key.clone() * self.class.points + place.clone();
        // Behind the smallest one, where keys are put in order in place.
        let first = i64::from(self.keys == self.sorted);
        let mut kept = vec![Stmt::set(self.keys, place.clone() + first, integer(key))];
        if let (Some(values), Some(value)) = (self.values, point.value) {
            kept.push(Stmt::set(values, place.clone(), value.clone()));
        }
        Stmt::when(place.less(most), kept)
    }

    /// Statements with all memory around them.
    fn around(&self, body: Vec<Stmt>) -> Vec<Stmt> {
        let Class { points, lanes } = self.class;
        let mut all = vec![
            (self.ranks, points + 1),
            (self.sorted, points + 1),
            (self.done, 1),
            (self.next, lanes),
        ];
        if self.keys != self.sorted {
            all.push((self.keys, points));
        }
        all.extend(self.values.map(|values| (values, points)));
        let body = workspaces(all, body);
        Counters::around(self.counters.as_ref(), self.sums.around(body))
    }
}
