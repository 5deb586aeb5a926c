//! Prefix sums, which a loop in order adds up one element after the other.
//!
//! Before -> after: `for x = 0 to N { let n = a[x] { a[x + 1] += n } }` ->
//! ```text
//! with total of (N + 2047) / 2048 + 1 {
//!   parallel(blocks) b { (lanes add up the 2048 elements of a block) total[b + 1] = .. }
//!   parallel(blocks) b = 0 to 1 { (prefix sums of the totals, 2048 after 2048) }
//!   parallel(blocks) b { with own of 2048 {
//!     parallel(lanes) t { own[256 * u + t] = a[1 + 2048 * b + 256 * u + t] .. }
//!     parallel(lanes) t { own[8 * t + u] += own[8 * t + u - 1] .. }
//!     parallel(lanes) t { (what is before these 8 elements) }
//!     parallel(lanes) t { a[1 + 2048 * b + 256 * u + t] = own[256 * u + t] + before[..] + a[0] + total[b] .. }
//!   } }
//! }
//! ```
//! Nothing writes the first element, so all blocks read it. Sums of integers have the same bits in any order.

use dastac_loops::{BufferId, Element, For, Index, Mark, Module, Stmt, StoreMode, Value};

use super::mapper::{LANES, Mapper};
use super::rows::choose;
use super::space::bind;
use super::sums::{integer, workspace, zero};

/// Neighbouring elements that a lane adds up.
const OWN: i64 = 8;
/// Elements of a block.
const CHUNK: i64 = LANES * OWN;

/// `for x = lower to upper { buffer[x + first] += buffer[x + first - 1] }`.
pub(super) struct Prefix {
    buffer: BufferId,
    lower: Index,
    upper: Index,
    /// The place of the first element that is written.
    first: Index,
}

/// The prefix sum that a loop is, if it is one.
pub(super) fn of(inner: &For, module: &Module) -> Option<Prefix> {
    let (lower, upper) = inner.ends();
    if inner.mark != Mark::Sequential || inner.step != 1 {
        return None;
    }
    // The element before, as it is read.
    let (store, before) = match &inner.body[..] {
        [Stmt::Let(before)] => match &before.body[..] {
            [Stmt::Store(store)] => {
                let value = Value::FromIndex(Index::Var(before.var));
                let own = store.value == value && !store.index.mentions(before.var);
                (store, own.then_some((before.buffer, &before.index))?)
            }
            _ => return None,
        },
        [Stmt::Store(store)] => match &store.value {
            Value::Load(buffer, index) => (store, (*buffer, index)),
            _ => return None,
        },
        _ => return None,
    };
    let element = module.buffers.get(store.buffer.0 as usize)?.element;
    let neighbours = before.0 == store.buffer
        && store.mode == StoreMode::Add
        && store.index.constant_difference(before.1) == Some(1)
        && store.index.constant_stride(inner.var) == Some(1)
        && !store.index.has_loads();
    let fits = matches!(element, Element::I64 | Element::U32 | Element::I32);
    (neighbours && fits).then(|| Prefix {
        buffer: store.buffer,
        first: store.index.substitute(inner.var, &lower),
        lower,
        upper,
    })
}

fn blocks_of(length: &Index) -> Index {
    (length.clone() + (CHUNK - 1)).floor_div(CHUNK)
}

/// Elements `first..first + length` of a buffer, to each of which all before it are added.
struct Elements<'a> {
    buffer: BufferId,
    first: &'a Index,
    length: &'a Index,
}

impl Mapper<'_> {
    /// The prefix sum that a statement is, if the host can start kernels for it.
    pub fn prefix_of(&self, stmt: &Stmt) -> Option<Prefix> {
        let Stmt::For(inner) = stmt else { return None };
        let prefix = of(inner, self.module)?;
        let known = |index: &Index| self.is_known(index);
        let all = known(&prefix.lower) && known(&prefix.upper) && known(&prefix.first);
        all.then_some(prefix)
    }

    /// The kernels of a prefix sum.
    pub fn prefix(&mut self, prefix: &Prefix) -> Vec<Stmt> {
        let count = self.function.fresh_var("n");
        let length = Index::Var(count);
        let own = Elements { buffer: prefix.buffer, first: &prefix.first, length: &length };
        let base = Value::load(prefix.buffer, prefix.first.clone() - 1);
        let blocks = blocks_of(&length);
        let one =
            self.blocks(blocks.clone(), |mapper, _| mapper.chunk(&own, &zero(), base.clone()));
        let total = self.module.fresh_buffer("total", Element::I64, zero());
        let after = Index::Const(1);
        let totals = Elements { buffer: total, first: &after, length: &blocks };
        let sums = self.totals(&own, total);
        let round = self.function.fresh_var("round");
        let of_totals = self.blocks(Index::Const(1), |mapper, _| {
            let number = Index::Var(round);
            let before = Value::load(total, number.clone() * CHUNK);
            let body = mapper.chunk(&totals, &number, before);
            vec![Stmt::for_range(round, zero(), blocks_of(&blocks), body)]
        });
        let added = self.blocks(blocks.clone(), |mapper, block| {
            let before = base.clone() + Value::load(total, block.clone());
            mapper.chunk(&own, &block, before)
        });
        let several = workspace(total, blocks + 1, vec![sums, of_totals, added]);
        let kernels = choose(length.at_most(Index::Const(CHUNK)), vec![one], vec![several]);
        let extent = (prefix.upper.clone() - prefix.lower.clone()).max(zero());
        vec![bind(count, extent, kernels)]
    }

    /// The sums of the chunks of blocks: `total[b + 1]` is that of block `b`, `total[0]` is 0.
    fn totals(&mut self, own: &Elements<'_>, total: BufferId) -> Stmt {
        let parts = self.sums(LANES);
        self.blocks(blocks_of(own.length), |mapper, block| {
            let mut body = vec![mapper.lanes("t", LANES, |mapper, lane| {
                let x = mapper.function.fresh_var("x");
                let begin = block.clone() * CHUNK;
                let end = (begin.clone() + CHUNK).min(own.length.clone());
                let element = Value::load(own.buffer, own.first.clone() + Index::Var(x));
                let mut sum = Value::sum(x, begin + lane.clone(), end, element);
                if let Value::Sum(sum) = &mut sum {
                    sum.step = LANES;
                }
                vec![Stmt::set(parts.counts, lane, sum)]
            })];
            body.extend(mapper.add_up(&parts));
            body.push(mapper.one(|_| {
                let none = Stmt::set(total, zero(), integer(0));
                let is_first = block.clone().less(Index::Const(1));
                let sum = Stmt::set(total, block + 1, Value::load(parts.sum, zero()));
                vec![Stmt::when(is_first, vec![none]), sum]
            }));
            parts.around(body)
        })
    }

    /// What the lanes of a block do to add to each element of a chunk all before it in the chunk, and a number.
    fn chunk(&mut self, all: &Elements<'_>, number: &Index, before_all: Value) -> Vec<Stmt> {
        let own = self.shared("own", Element::I64, CHUNK);
        let sums = self.sums(LANES);
        let there =
            |place: &Index| (number.clone() * CHUNK + place.clone()).less(all.length.clone());
        let at = |place: &Index| all.first.clone() + number.clone() * CHUNK + place.clone();
        let load = self.each_place(|place| {
            let element = Value::load(all.buffer, at(&place));
            vec![
                Stmt::set(own, place.clone(), integer(0)),
                Stmt::when(there(&place), vec![Stmt::set(own, place, element)]),
            ]
        });
        let of_lanes = self.lanes("t", LANES, |mapper, lane| {
            let x = mapper.function.fresh_var("x");
            let place = lane.clone() * OWN + Index::Var(x);
            let add = Stmt::add(own, place.clone(), Value::load(own, place - 1));
            let last = Value::load(own, lane.clone() * OWN + (OWN - 1));
            vec![
                Stmt::for_range(x, Index::Const(1), Index::Const(OWN), vec![add]),
                Stmt::set(sums.counts, lane, last),
            ]
        });
        let earlier = self.add_up(&sums);
        let store = self.each_place(|place| {
            let earlier = Value::load(sums.before, place.clone().floor_div(OWN));
            let value = Value::load(own, place.clone()) + earlier + before_all.clone();
            vec![Stmt::when(there(&place), vec![Stmt::set(all.buffer, at(&place), value)])]
        });
        let body = [vec![load, of_lanes], earlier, vec![store]].concat();
        sums.around(vec![workspace(own, CHUNK, body)])
    }

    /// Statements for all places of a chunk, of which neighbouring lanes have neighbouring ones.
    fn each_place(&mut self, body: impl Fn(Index) -> Vec<Stmt>) -> Stmt {
        self.lanes("t", LANES, |mapper, lane| {
            let round = mapper.function.fresh_var("u");
            let place = Index::Var(round) * LANES + lane;
            vec![Stmt::for_range(round, zero(), Index::Const(OWN), body(place))]
        })
    }
}
