//! Products of matrices in tiles: panels of both factors in shared memory, a part of the tile in the registers of each
//! lane.
//!
//! Before -> after: `parallel i = 0 to N { parallel j = 0 to M { A[M * i + j] = sum(l = 0 to K) B[K * i + l] *
//! C[M * l + j] } }` -> for each tile
//! ```text
//! parallel(blocks) b = .. { with left, right (shared), held, next (of lanes) {
//!   parallel(lanes) t = 0 to 256 { (held[..] = 0.0) }
//!   (terms that fill no panel: one panel after the other, 0 outside)
//!   parallel(lanes) t = 0 to 256 { (next[..] = B[..], C[..] of the first panels) }
//!   parallel(lanes) t = 0 to 256 { (left[..] = next[..] and right[..] = next[..]) }
//!   for step = 0 to K / 8 * 8 step 8 {
//!     parallel(lanes) t = 0 to 256 { (next[..] = B[..], C[..] of the panels that follow)
//!       (held[..] += sum(l = 0 to 8) left[..] * right[..])
//!       (left[..] = next[..] and right[..] = next[..], to the other half of both)
//!     }
//!   }
//!   parallel(lanes) t = 0 to 256 { (A[..] = held[..] at the points that there are) }
//! } }
//! ```
//! so that what is loaded from the device's memory arrives while lanes multiply. Where both factors are elements as
//! they stand, they are fetched to shared memory past the registers ([`dastac_loops::Fetch`]), two panels ahead, of
//! which there are three then:
//! ```text
//!   parallel(lanes) t = 0 to 256 { (fetch left[..] and right[..] of the first two panels; the first one has arrived) }
//!   for step = 0 to K / 8 * 8 step 8 {
//!     parallel(lanes) t = 0 to 256 { (fetch left[..] and right[..] of the next panels but one)
//!       (held[..] += sum(l = 0 to 8) left[..] * right[..])
//!       arrive 1
//!     }
//!   }
//!   parallel(lanes) t = 0 to 256 { arrive 0 }
//! ```
//! In 64 bits a warp multiplies together ([`dastac_loops::Multiply`]); in 32 bits each lane alone, with neighbouring
//! rows and columns of its own, which it loads at once.
//!
//! Outer loops are blocks of their own, so that structured tensors have a product for each of their slices. The factors
//! are read where they stand, packed or not. Where the range of a sum depends on the row or the column (a triangle),
//! the terms that all rows and columns of the tile have are multiplied so; of the others only those that there are: a
//! term that is not there cannot be a product with 0, since the other factor may be infinite. Several sums that are
//! added (the parts of a mirrored tensor) are multiplied one after the other, for the same tile.
//!
//! Where there are few tiles for the multiprocessors of a device and sums are long, several blocks have a part of the
//! terms of a tile each, and a kernel adds up what they have.
//!
//! `held` and `next` are memory of lanes that lasts beyond barriers: element `256 * r + t` is lane `t`'s. Rows and
//! columns that a tile has too many are copies of the last ones, whose products nobody stores.

use dastac_loops::{
    BufferId, Condition, Element, Factor, Fetch, For, Index, Mark, Multiply, RegisterStmt, Space,
    Stmt, Store, Sum, Value, VarId, Workspace,
};

use super::mapper::{LANES, Mapper};
use super::rows::choose;
use super::space::{Axis, Points, bind};

/// Terms of a panel.
const DEPTH: i64 = 8;

/// Elements between the terms of a panel that is fetched: neighbouring terms are two places apart, modulo 16.
const APART: i64 = 2;
/// Panels of a factor where they are fetched: one is multiplied, the others are on their way.
const FETCHED: i64 = 3;

/// Tiles that keep all multiprocessors busy; fewer than half as many are shared where sums are long.
const BUSY: i64 = 256;
/// Terms at least of a part of a sum.
const PART: i64 = 1024;

/// Rows and columns at least where a tile is worth it.
const WORTH: i64 = 32;

/// How lanes share a tile.
#[derive(Clone, Copy)]
struct Shape {
    /// Rows and columns of a tile.
    tile: [i64; 2],
    /// Rows, and columns, of a lane: two loops, how often and by how much.
    own: [[(i64, i64); 2]; 2],
    /// Whether the lanes of a warp multiply together.
    together: bool,
}

impl Shape {
    /// Each warp has 32 rows and columns: 4 warps one below the other, 2 side by side.
    const TOGETHER: Shape =
        Shape { tile: [128, 64], own: [[(4, 8), (1, 1)], [(4, 8), (2, 1)]], together: true };
    /// Each lane has 4 neighbouring rows in both halves of a tile, and 4 neighbouring columns: with more it would have
    /// so many registers that a multiprocessor had one block at a time.
    const ALONE: Shape =
        Shape { tile: [128, 64], own: [[(2, 64), (4, 1)], [(1, 64), (4, 1)]], together: false };

    fn of(element: Element) -> Shape {
        if element == Element::F64 { Shape::TOGETHER } else { Shape::ALONE }
    }

    /// Rows and columns of a warp that multiplies together, and how many warps are side by side.
    fn of_warp(&self) -> ([i64; 2], i64) {
        let [rows, columns] = self.own.map(|loops| loops[0].0 * 8);
        ([rows, columns], self.tile[1] / columns)
    }

    /// Which lane holds the element in a row and column of the tile, and as which of its elements.
    fn holder(&self, [row, column]: [Index; 2]) -> [Index; 2] {
        let part = |index: &Index, by: i64, count: i64| index.clone().floor_div(by).modulo(count);
        let own = |index: &Index, loops: &[(i64, i64); 2]| {
            let [(outer, by), (inner, _)] = *loops;
            part(index, by, outer) * inner + index.clone().modulo(inner)
        };
        let columns: i64 = self.own[1].iter().map(|(count, _)| count).product();
        let number = own(&row, &self.own[0]) * columns + own(&column, &self.own[1]);
        let lane = match self.together {
            true => {
                let ([rows, columns], beside) = self.of_warp();
                let warp = row.clone().floor_div(rows) * beside + column.clone().floor_div(columns);
                warp * 32 + part(&row, 1, 8) * 4 + part(&column, 2, 4)
            }
            false => {
                let warp = part(&row, 16, 4) * 2 + part(&column, 32, 2);
                warp * 32 + part(&row, 4, 4) * 8 + part(&column, 4, 8)
            }
        };
        [lane, number]
    }

    /// Elements that a lane holds.
    fn held(&self) -> i64 {
        self.own.iter().flatten().map(|(count, _)| count).product()
    }

    /// The first row and column of a warp.
    fn warp(&self, lane: &Index) -> [Index; 2] {
        let warp = lane.clone().floor_div(32);
        let ([rows, columns], beside) = self.of_warp();
        [warp.clone().floor_div(beside) * rows, warp.modulo(beside) * columns]
    }

    /// The first row and column of a lane.
    fn first(&self, lane: &Index) -> [Index; 2] {
        if self.together {
            let [row, column] = self.warp(lane);
            let within = lane.clone().modulo(32).floor_div(4);
            return [row + within, column + lane.clone().modulo(4) * 2];
        }
        // 4 by 8 lanes of a warp, and 4 by 2 warps: what a warp loads together is little, and in different banks.
        let [warp, within] = [lane.clone().floor_div(32), lane.clone().modulo(32)];
        let row = warp.clone().floor_div(2) * 16 + within.floor_div(8) * 4;
        [row, warp.modulo(2) * 32 + lane.clone().modulo(8) * 4]
    }
}

/// A sum of products of a factor for rows and one for columns.
#[derive(Clone)]
struct Terms {
    var: VarId,
    lower: Vec<Index>,
    upper: Vec<Index>,
    factors: [Value; 2],
}

/// Such sums, added, at each point.
pub(super) struct Product<'a> {
    store: &'a Store,
    terms: Vec<Terms>,
}

/// The store of sums of such products, if the points are such.
pub(super) fn of<'a>(points: &Points, body: &'a [Stmt]) -> Option<Product<'a>> {
    let ([Stmt::Store(store)], [.., row, column]) = (body, &points.axes[..]) else { return None };
    let mut sums = Vec::new();
    store.value.visit(&mut |value| {
        if let Value::Sum(sum) = value {
            sums.push(&**sum);
        }
    });
    let fits = row.step == 1 && column.step == 1 && points.guards.is_empty();
    if !fits || sums.is_empty() || sums.len() > 1 && !are_added(&store.value, sums.len()) {
        return None;
    }
    let terms = sums.into_iter().map(|sum| terms(sum, row, column)).collect::<Option<_>>()?;
    Some(Product { store, terms })
}

/// Whether a value is so many sums and nothing else, added.
fn are_added(value: &Value, count: usize) -> bool {
    fn parts(value: &Value) -> Option<usize> {
        match value {
            Value::Sum(_) => Some(1),
            Value::Add(left, right) => Some(parts(left)? + parts(right)?),
            _ => None,
        }
    }
    parts(value) == Some(count)
}

fn terms(sum: &Sum, row: &Axis, column: &Axis) -> Option<Terms> {
    let plain = sum.step == 1 && sum.condition.is_none();
    if !plain || sum.kind != dastac_loops::Reduction::Sum {
        return None;
    }
    let known = sum.lower.iter().chain(&sum.upper).all(|bound| {
        let linear = |var: VarId| !bound.mentions(var) || bound.constant_stride(var).is_some();
        let both = bound.mentions(row.var) && bound.mentions(column.var);
        !bound.has_loads() && !both && linear(row.var) && linear(column.var)
    });
    if !known {
        return None;
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for factor in sum.body.clone().factors() {
        let mut loads = false;
        factor.visit_indices(&mut |index| loads |= matches!(index, Index::Load(..)));
        match (factor.mentions(row.var), factor.mentions(column.var)) {
            (true, true) => return None,
            _ if loads => return None,
            (false, true) => right.push(factor),
            (_, false) => left.push(factor),
        }
    }
    let some = |factors: &[Value], var: VarId| factors.iter().any(|one| one.mentions(var));
    let both = some(&left, sum.var) && some(&right, sum.var) && some(&left, row.var);
    both.then(|| Terms {
        var: sum.var,
        lower: sum.lower.clone(),
        upper: sum.upper.clone(),
        factors: [left, right].map(Value::product),
    })
}

/// The rows or the columns of a tile.
struct Edge<'a> {
    axis: &'a Axis,
    /// The first one, and the end of those that there are.
    first: Index,
    end: Index,
    /// How many a tile has.
    count: i64,
}

impl Edge<'_> {
    /// The last one of the tile.
    fn last(&self) -> Index {
        (self.first.clone() + self.count).min(self.end.clone()) - 1
    }

    /// The smallest or largest value of a bound on the tile's edge.
    fn extreme(&self, bound: &Index, largest: bool) -> Index {
        let grows = bound.constant_stride(self.axis.var).unwrap_or(0) > 0;
        let by = if grows == largest { self.last() } else { self.first.clone() };
        bound.substitute(self.axis.var, &by)
    }
}

/// Where the elements of a panel stand in shared memory.
struct Panel {
    buffer: BufferId,
    /// From one row or column to the next, and from one term to the next.
    own: i64,
    term: i64,
    /// Rows or columns.
    count: i64,
    /// Whether neighbouring lanes copy neighbouring terms.
    along: bool,
    /// The first of the elements of `next` that are the panel's.
    next: i64,
    /// From one of the panels of a factor to the next.
    other: i64,
}

impl Panel {
    /// Elements that a lane copies.
    fn parts(&self) -> i64 {
        self.count * DEPTH / LANES
    }

    /// The term and the row or column of an element that a lane copies.
    fn copied(&self, part: Index, lane: &Index) -> [Index; 2] {
        let number = part * LANES + lane.clone();
        match self.along {
            true => [number.clone().modulo(DEPTH), number.floor_div(DEPTH)],
            false => [number.clone().floor_div(self.count), number.modulo(self.count)],
        }
    }

    fn place(&self, [term, own]: [Index; 2]) -> Index {
        term * self.term + own * self.own
    }
}

/// Memory of a tile.
struct Memory {
    shape: Shape,
    shared: [BufferId; 2],
    held: BufferId,
    /// What lanes load of the next panels; nothing where these are fetched.
    next: Option<BufferId>,
}

impl Mapper<'_> {
    /// Kernels with and without tiles, of which the host chooses.
    pub fn product(
        &mut self,
        points: &Points,
        product: &Product<'_>,
        plain: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let element = self.module.buffers[product.store.buffer.0 as usize].element;
        let element = self.module.computed_in(&product.store.value, element);
        if element.is_integer() || element.is_complex() {
            return plain;
        }
        let [.., row, column] = &points.axes[..] else { return plain };
        let enough = [row, column].map(|axis| Index::Const(WORTH).at_most(Index::Var(axis.extent)));
        let shape = Shape::of(element);
        let then = match self.in_parts(points, product, (shape, element)) {
            Some(shared) => shared,
            None => vec![self.tiles(points, product, (shape, element), None)],
        };
        choose(Condition::all(enough), then, plain)
    }

    /// A kernel of which several blocks share the terms of a tile, where there are few tiles and sums are long, and one
    /// that adds up what they have in the end.
    fn in_parts(
        &mut self,
        points: &Points,
        product: &Product<'_>,
        (shape, element): (Shape, Element),
    ) -> Option<Vec<Stmt>> {
        let mut lengths = Vec::new();
        for terms in &product.terms {
            let low = points.extreme(&terms.lower, Index::max, false)?;
            let high = points.extreme(&terms.upper, Index::min, true)?;
            lengths.push((low.clone(), high - low));
        }
        let terms = lengths.iter().map(|(_, length)| length.clone()).reduce(Index::max)?;
        let (outer, inner) = points.axes.split_at(points.axes.len() - 2);
        let outer = Points { axes: outer.to_vec(), guards: Vec::new() };
        let [rows, columns] = tiles_of(points, shape);
        let tiles = outer.count() * rows.clone() * columns.clone();
        let names = ["tiles", "parts", "part", "chunk"];
        let [each, parts, part, chunk] = names.map(|name| self.function.fresh_var(name));
        let most = Index::Const(BUSY).quotient(Index::Var(each).max(Index::Const(1)));
        let count = terms.clone().floor_div(PART).min(most).max(Index::Const(1));
        let partial = self.module.fresh_buffer("partial", element, Index::Const(0));
        let mut own = Product { store: product.store, terms: product.terms.clone() };
        for (terms, (low, _)) in own.terms.iter_mut().zip(&lengths) {
            let first = low.clone() + Index::Var(part) * Index::Var(chunk);
            terms.upper.push(first.clone() + Index::Var(chunk));
            terms.lower.push(first);
        }
        let held = Parts { part, parts, partial, each };
        let kernel = self.tiles(points, &own, (shape, element), Some(&held));
        // The lane that holds the element of a point, of the tile that it is in.
        let place = |at: usize| {
            let from = Index::Var(inner[at].var) - ends_of(inner, at)[0].clone();
            [from.clone().floor_div(shape.tile[at]), from.modulo(shape.tile[at])]
        };
        let [[row_tile, row], [column_tile, column]] = [place(0), place(1)];
        let slice = number_of(&outer) * rows;
        let tile = (slice + row_tile) * columns + column_tile;
        let [lane, number] = shape.holder([row, column]);
        let p = self.function.fresh_var("p");
        let tile = Index::Var(p) * Index::Var(each) + tile;
        let place = (tile * shape.held() + number) * LANES + lane;
        let total = Value::sum(p, Index::Const(0), Index::Var(parts), Value::load(partial, place));
        let last = self.points(points, &[product.stored(total)]);
        let shared = Index::Const(2).at_most(Index::Var(parts));
        // Panels begin at multiples of their terms.
        let length = (terms + (Index::Var(parts) - 1)).quotient(Index::Var(parts));
        let length = (length + (DEPTH - 1)).floor_div(DEPTH) * DEPTH;
        let own = Index::Var(parts) * Index::Var(each) * (shape.held() * LANES);
        let body = vec![Stmt::Workspace(Workspace {
            buffer: partial,
            // Nothing where each tile is one block's.
            size: (Index::Var(parts).min(Index::Const(2)) - 1) * own,
            zero: false,
            instead: None,
            body: vec![kernel, Stmt::when(shared, vec![last])],
        })];
        let body = vec![bind(parts, count, vec![bind(chunk, length, body)])];
        Some(vec![bind(each, tiles, body)])
    }

    fn tiles(
        &mut self,
        points: &Points,
        product: &Product<'_>,
        (shape, element): (Shape, Element),
        parts: Option<&Parts>,
    ) -> Stmt {
        let (outer, inner) = points.axes.split_at(points.axes.len() - 2);
        let outer = Points { axes: outer.to_vec(), guards: Vec::new() };
        let counts = tiles_of(points, shape);
        let [rows, columns] = counts.clone();
        let blocks = match parts {
            Some(parts) => Index::Var(parts.each) * Index::Var(parts.parts),
            None => outer.count() * rows * columns,
        };
        self.blocks(blocks, |mapper, block| {
            let names = ["slice", "rows", "columns", "block"];
            let [slice, tile_row, tile_column, own] =
                names.map(|name| mapper.function.fresh_var(name));
            let number = if parts.is_some() { Index::Var(own) } else { block.clone() };
            let [rows, columns] = counts;
            let tiles = rows.clone() * columns.clone();
            let within = number.clone() - Index::Var(slice) * tiles.clone();
            let column =
                within.clone() - within.clone().quotient(columns.clone()) * columns.clone();
            // The tiles with the longest sums first: else they are what a device waits for in the end.
            let place = within.clone().quotient(columns.clone());
            let place = match grows(product, inner[0].var) {
                true => rows.clone() - 1 - place,
                false => place,
            };
            let held = parts.map(|parts| {
                let first = Index::Var(parts.part) * Index::Var(parts.each);
                let tile = Index::Var(slice) * rows + Index::Var(tile_row);
                let tile = tile * columns.clone() + Index::Var(tile_column);
                (parts, (first + tile) * (shape.held() * LANES))
            });
            let body = mapper.tile(inner, product, [tile_row, tile_column], (shape, element, held));
            let body = outer.at(Index::Var(slice), body, mapper.function);
            let body = vec![bind(tile_column, column, body)];
            let body = vec![bind(tile_row, place, body)];
            let body = vec![bind(slice, number.quotient(tiles), body)];
            match parts {
                None => body,
                Some(parts) => {
                    let each = Index::Var(parts.each);
                    let rest = block.clone() - Index::Var(parts.part) * each.clone();
                    let body = vec![bind(own, rest, body)];
                    vec![bind(parts.part, block.quotient(each), body)]
                }
            }
        })
    }

    /// What a block does for a tile.
    fn tile(
        &mut self,
        axes: &[Axis],
        product: &Product<'_>,
        tile: [VarId; 2],
        (shape, element, place): (Shape, Element, Option<(&Parts, Index)>),
    ) -> Vec<Stmt> {
        let [row, column] = axes else { return Vec::new() };
        let names = ["first", "end"].map(|name| [row, column].map(|axis| (name, axis)));
        let [firsts, ends] = names.map(|pair| {
            pair.map(|(name, axis)| self.function.fresh_like(axis.var, &format!(".{name}")))
        });
        let edge = |at: usize, axis| Edge {
            axis,
            first: Index::Var(firsts[at]),
            end: Index::Var(ends[at]),
            count: shape.tile[at],
        };
        let edges = [edge(0, row), edge(1, column)];
        // Two panels of each factor: lanes write to one while others still read the other. A third one where panels
        // are fetched, since these are on their way for longer.
        let fetched = product.terms.iter().all(|terms| self.is_fetched(terms, element));
        let sizes = shape.tile.map(|count| match fetched {
            true => FETCHED * fetched_size(count),
            false => 2 * panel_size(count),
        });
        let mut sizes = vec![
            (sizes[0], Space::Shared),
            (sizes[1], Space::Shared),
            (shape.held() * LANES, Space::Stack),
        ];
        if !fetched {
            let parts: i64 = shape.tile.iter().map(|count| count * DEPTH).sum();
            sizes.push((parts, Space::Stack));
        }
        let names = ["left", "right", "held", "next"];
        let buffers: Vec<BufferId> = names
            .iter()
            .zip(&sizes)
            .map(|(name, (size, space))| {
                let id = self.module.fresh_buffer(*name, element, Index::Const(*size));
                self.module.buffers[id.0 as usize].space = *space;
                id
            })
            .collect();
        let memory = Memory {
            shape,
            shared: [buffers[0], buffers[1]],
            held: buffers[2],
            next: buffers.get(3).copied(),
        };
        let mut body = vec![self.cleared(&memory)];
        for terms in &product.terms {
            body.extend(self.multiplied(terms, &edges, &memory));
        }
        body.extend(self.stored(axes, (product, place), &edges, &memory));
        let body = buffers.into_iter().zip(sizes).fold(body, |body, (buffer, (size, _))| {
            let size = Index::Const(size);
            vec![Stmt::Workspace(Workspace { buffer, size, zero: false, instead: None, body })]
        });
        let some = edges.iter().map(|edge| edge.first.clone().less(edge.end.clone()));
        let body = vec![Stmt::when(Condition::all(some.collect::<Vec<_>>()), body)];
        (0..2).rev().fold(body, |body, at| {
            let [begin, end] = ends_of(axes, at);
            let first = begin + Index::Var(tile[at]) * shape.tile[at];
            vec![bind(firsts[at], first, vec![bind(ends[at], end, body)])]
        })
    }

    fn cleared(&mut self, memory: &Memory) -> Stmt {
        self.lanes("t", LANES, |mapper, lane| {
            let r = mapper.function.fresh_var("r");
            let at = Index::Var(r) * LANES + lane;
            let zero = Stmt::set(memory.held, at, Value::Const(0.0));
            vec![unrolled(r, memory.shape.held(), vec![zero])]
        })
    }

    /// The products of a sum.
    fn multiplied(&mut self, terms: &Terms, edges: &[Edge<'_>; 2], memory: &Memory) -> Vec<Stmt> {
        // The smallest and the largest value of each bound for the rows and columns of the tile.
        let extreme = |bound: &Index, largest: bool| {
            edges.iter().fold(bound.clone(), |bound, edge| match bound.mentions(edge.axis.var) {
                true => edge.extreme(&bound, largest),
                false => bound,
            })
        };
        let ends = |bounds: &[Index], largest: bool, join: fn(Index, Index) -> Index| {
            let all = bounds.iter().map(|bound| extreme(bound, largest));
            all.reduce(join).unwrap_or(Index::Const(0))
        };
        let some = [ends(&terms.lower, false, Index::max), ends(&terms.upper, true, Index::min)];
        let all = [ends(&terms.lower, true, Index::max), ends(&terms.upper, false, Index::min)];
        let varies = some[0] != all[0];
        let [begin, end, first, last] = ["begin", "end", "first", "last"]
            .map(|name| self.function.fresh_like(terms.var, &format!(".{name}")));
        let [begins, stops, firsts, lasts] = [begin, end, first, last].map(Index::Var);
        let mut next = 0;
        let mut at = 0;
        let panels = terms.factors.each_ref().map(|value| {
            let mut along = true;
            value.visit(&mut |value| {
                if let Value::Load(_, at) = value {
                    along &= matches!(at.constant_stride(terms.var), Some(-1..=1));
                }
            });
            let count = memory.shape.tile[at];
            // What the lanes of a warp load together is in different banks.
            let fetched = memory.next.is_none();
            let (own, term) = match along && memory.shape.together {
                _ if fetched => (1, count + APART),
                true => (DEPTH + 4, 1),
                false => (1, count + 4),
            };
            let other = if fetched { fetched_size(count) } else { panel_size(count) };
            let panel = Panel { buffer: memory.shared[at], own, term, count, along, next, other };
            (next, at) = (next + panel.parts(), at + 1);
            panel
        });
        let tasks = Task { terms, edges, panels: &panels, memory };
        // Terms in front of those that all rows and columns have, and behind them.
        let step = self.function.fresh_var("step");
        let side = self.function.fresh_var("side");
        let stop = self.function.fresh_var("stop");
        let rest = self.some_terms(&tasks, step, &Index::Var(stop));
        let rest = |lower: Index, upper: Index| {
            let (lower, stops) = (vec![lower], upper);
            let upper = vec![Index::Var(stop)];
            let mark = Mark::Sequential;
            let all = For { var: step, lower, upper, step: DEPTH, mark, body: rest };
            bind(stop, stops, vec![Stmt::For(all)])
        };
        let behind = lasts.clone();
        let rest = match varies {
            false => rest(behind, stops.clone()),
            true => {
                let side_of = |front: Index, behind: Index| {
                    front.clone() + Index::Var(side) * (behind - front)
                };
                let lower = side_of(begins.clone(), behind);
                let upper = side_of(firsts.clone(), stops.clone());
                Stmt::for_range(side, Index::Const(0), Index::Const(2), vec![rest(lower, upper)])
            }
        };
        let all_terms = match memory.next {
            Some(next) => self.all_terms(&tasks, next, [&firsts, &lasts]),
            None => self.fetched_terms(&tasks, [&firsts, &lasts]),
        };
        let body = vec![rest, Stmt::when(firsts.clone().less(lasts), all_terms)];
        let [some_begin, some_end] = some;
        let [all_begin, all_end] = all;
        let full = (all_end - firsts.clone()).max(Index::Const(0)).floor_div(DEPTH) * DEPTH;
        let body = vec![bind(last, firsts + full, body)];
        let body = vec![bind(first, all_begin.min(stops.max(begins)), body)];
        vec![bind(begin, some_begin, vec![bind(end, some_end, body)])]
    }

    /// Panels of terms that all rows and columns have.
    fn all_terms(
        &mut self,
        task: &Task<'_>,
        next: BufferId,
        [first, last]: [&Index; 2],
    ) -> Vec<Stmt> {
        let step = self.function.fresh_var("step");
        let begin = self.lanes("t", LANES, |mapper, lane| mapper.loaded(task, next, first, &lane));
        let zero = Index::Const(0);
        let copied = self.lanes("t", LANES, |mapper, lane| mapper.copied(task, next, &lane, &zero));
        let multiplied = self.lanes("t", LANES, |mapper, lane| {
            let [follows, side] = ["follows", "side"].map(|name| mapper.function.fresh_var(name));
            let place = (Index::Var(step) + DEPTH).min(last.clone() - DEPTH);
            let mut body = mapper.loaded(task, next, &Index::Var(follows), &lane);
            body.push(mapper.together_or_alone(task, &lane, &Index::Var(side)));
            body.extend(mapper.copied(task, next, &lane, &(Index::Const(1) - Index::Var(side))));
            let number = (Index::Var(step) - first.clone()).floor_div(DEPTH).modulo(2);
            vec![bind(follows, place, vec![bind(side, number, body)])]
        });
        let (lower, upper) = (vec![first.clone()], vec![last.clone()]);
        let (mark, body) = (Mark::Sequential, vec![multiplied]);
        vec![begin, copied, Stmt::For(For { var: step, lower, upper, step: DEPTH, mark, body })]
    }

    /// Panels of terms that all rows and columns have, which are fetched.
    fn fetched_terms(&mut self, task: &Task<'_>, [first, last]: [&Index; 2]) -> Vec<Stmt> {
        let arrive = |left: i64| Stmt::Register(RegisterStmt::Arrive(left));
        let ahead = FETCHED - 1;
        let step = self.function.fresh_var("step");
        // Behind the last panel, it is fetched again, and nobody reads it.
        let place = |step: Index| step.min(last.clone() - DEPTH);
        let begin = self.lanes("t", LANES, |mapper, lane| {
            let mut body = Vec::new();
            for number in 0..ahead {
                let from = place(first.clone() + number * DEPTH);
                body.push(mapper.fetched(task, from, &lane, Index::Const(number)));
                body.push(arrive(ahead - 1));
            }
            body
        });
        let multiplied = self.lanes("t", LANES, |mapper, lane| {
            let number = (Index::Var(step) - first.clone()).floor_div(DEPTH);
            let side = mapper.function.fresh_var("side");
            let from = place(Index::Var(step) + ahead * DEPTH);
            let to = (number.clone() + ahead).modulo(FETCHED);
            let body = vec![
                mapper.fetched(task, from, &lane, to),
                mapper.together_or_alone(task, &lane, &Index::Var(side)),
                arrive(ahead - 1),
            ];
            vec![bind(side, number.modulo(FETCHED), body)]
        });
        // What was fetched for nothing arrives before something else is written there.
        let rest = self.lanes("t", LANES, |_, _| vec![arrive(0)]);
        let (lower, upper) = (vec![first.clone()], vec![last.clone()]);
        let (mark, body) = (Mark::Sequential, vec![multiplied]);
        vec![begin, Stmt::For(For { var: step, lower, upper, step: DEPTH, mark, body }), rest]
    }

    /// What a lane fetches of the panels of the terms from `first` on, to those of a side.
    fn fetched(&mut self, task: &Task<'_>, first: Index, lane: &Index, side: Index) -> Stmt {
        let [from, to] = ["from", "to"].map(|name| self.function.fresh_var(name));
        let body = self.each_part(task, &Index::Var(from), lane, |panel, part, load| {
            // Else they would not be fetched.
            let Value::Load(source, index) = load else { return Vec::new() };
            let at = panel.place(panel.copied(part, lane)) + Index::Var(to) * panel.other;
            let read = Fetch { buffer: panel.buffer, at, from: source, source: index };
            vec![Stmt::Register(RegisterStmt::Fetch(Box::new(read)))]
        });
        bind(from, first, vec![bind(to, side, body)])
    }

    /// Whether both factors are elements as they stand in the device's memory, of 64 bits: copies of 4 bytes each take
    /// longer than loads and stores.
    fn is_fetched(&self, terms: &Terms, element: Element) -> bool {
        let wide = element.bytes() == 8;
        wide && terms.factors.iter().all(|factor| match factor {
            Value::Load(buffer, _) => {
                let buffer = &self.module.buffers[buffer.0 as usize];
                buffer.element == element && buffer.space == Space::Main
            }
            _ => false,
        })
    }

    /// What a lane loads of the panels of the terms from `first` on.
    fn loaded(
        &mut self,
        task: &Task<'_>,
        next: BufferId,
        first: &Index,
        lane: &Index,
    ) -> Vec<Stmt> {
        self.each_part(task, first, lane, |panel, part, load| {
            vec![Stmt::set(next, (part + panel.next) * LANES + lane.clone(), load)]
        })
    }

    /// What a lane does with its elements of the panels of the terms from `first` on: their parts, by number, and the
    /// factor there.
    fn each_part(
        &mut self,
        task: &Task<'_>,
        first: &Index,
        lane: &Index,
        read: impl Fn(&Panel, Index, Value) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        for ((panel, edge), value) in task.panels.iter().zip(task.edges).zip(&task.terms.factors) {
            let part = self.function.fresh_var("part");
            let [term, own] = panel.copied(Index::Var(part), lane);
            let (load, names) = self.named(task, edge, value);
            let read = read(panel, Index::Var(part), load);
            let read = vec![bind(names[0], first.clone() + term, read)];
            let own = (edge.first.clone() + own).min(edge.end.clone() - 1);
            body.push(unrolled(part, panel.parts(), vec![bind(names[1], own, read)]));
        }
        body
    }

    /// The value of a factor with names of their own for the term and for the row or column.
    fn named(&mut self, task: &Task<'_>, edge: &Edge<'_>, value: &Value) -> (Value, [VarId; 2]) {
        let names = [task.terms.var, edge.axis.var];
        let own = names.map(|var| self.function.fresh_like(var, ""));
        let named = value.substitute(names[0], &Index::Var(own[0]));
        (named.substitute(names[1], &Index::Var(own[1])), own)
    }

    /// What a lane loaded, to the panels of a side in shared memory.
    fn copied(&mut self, task: &Task<'_>, next: BufferId, lane: &Index, side: &Index) -> Vec<Stmt> {
        let mut body = Vec::new();
        for panel in task.panels {
            let part = self.function.fresh_var("part");
            let at = (Index::Var(part) + panel.next) * LANES + lane.clone();
            let place = panel.place(panel.copied(Index::Var(part), lane));
            let place = place + side.clone() * panel.other;
            let copy = Stmt::set(panel.buffer, place, Value::load(next, at));
            body.push(unrolled(part, panel.parts(), vec![copy]));
        }
        body
    }

    /// The products of the panels of a side in shared memory.
    fn together_or_alone(&mut self, task: &Task<'_>, lane: &Index, side: &Index) -> Stmt {
        let (shape, held) = (task.memory.shape, task.memory.held);
        if shape.together {
            let warp = shape.warp(lane);
            let factor = |at: usize| Factor {
                buffer: task.panels[at].buffer,
                at: warp[at].clone() * task.panels[at].own + side.clone() * task.panels[at].other,
                count: shape.own[at][0].0,
                own: task.panels[at].own,
                term: task.panels[at].term,
            };
            return Stmt::Register(RegisterStmt::Multiply(Box::new(Multiply {
                held,
                lane: lane.clone(),
                lanes: LANES,
                left: factor(0),
                right: factor(1),
                terms: DEPTH,
            })));
        }
        let term = self.function.fresh_var("l");
        self.owned(shape, lane, |_, at, places| {
            let value = task.product(places, &Index::Var(term), side);
            let value = Value::sum(term, Index::Const(0), Index::Const(DEPTH), value);
            vec![Stmt::add(held, at, value)]
        })
    }

    /// Statements for each element of a tile that a lane holds, given its place in memory of lanes and in the tile.
    fn owned(
        &mut self,
        shape: Shape,
        lane: &Index,
        body: impl FnOnce(&mut Self, Index, &[Index; 2]) -> Vec<Stmt>,
    ) -> Stmt {
        let [r, s, c, d] = ["r", "s", "c", "d"].map(|name| self.function.fresh_var(name));
        let counts = shape.own.map(|loops| loops.map(|(count, _)| count));
        let row = Index::Var(r) * counts[0][1] + Index::Var(s);
        let column = Index::Var(c) * counts[1][1] + Index::Var(d);
        let number = row * (counts[1][0] * counts[1][1]) + column;
        let first = shape.first(lane);
        let place = |at: usize, vars: [VarId; 2]| {
            let own = shape.own[at].iter().zip(vars);
            own.fold(first[at].clone(), |place, ((_, by), var)| place + Index::Var(var) * *by)
        };
        let places = [place(0, [r, s]), place(1, [c, d])];
        let body = body(self, number * LANES + lane.clone(), &places);
        let innermost = unrolled(d, counts[1][1], body);
        let loops = [(c, counts[1][0]), (s, counts[0][1]), (r, counts[0][0])];
        loops.into_iter().fold(innermost, |inner, (var, count)| unrolled(var, count, vec![inner]))
    }

    /// A panel of terms from `step` on, of which only some are there, up to `end`.
    fn some_terms(&mut self, task: &Task<'_>, step: VarId, end: &Index) -> Vec<Stmt> {
        let copies = self.lanes("t", LANES, |mapper, lane| {
            let mut body = Vec::new();
            for ((panel, edge), value) in
                task.panels.iter().zip(task.edges).zip(&task.terms.factors)
            {
                let part = mapper.function.fresh_var("part");
                let [term, own] = panel.copied(Index::Var(part), &lane);
                let at = panel.place([term.clone(), own.clone()]);
                let (load, names) = mapper.named(task, edge, value);
                let read = vec![Stmt::set(panel.buffer, at.clone(), load)];
                // The terms of this row or column.
                let bounds = |bounds: &[Index]| -> Vec<Index> {
                    let own = bounds.iter().filter(|bound| bound.mentions(edge.axis.var));
                    own.map(|one| one.substitute(edge.axis.var, &Index::Var(names[1]))).collect()
                };
                let first = Index::Var(step) + term;
                let mut upper = vec![first.clone() + 1, end.clone()];
                upper.extend(bounds(&task.terms.upper));
                let mut lower = vec![first];
                lower.extend(bounds(&task.terms.lower));
                let (var, mark) = (names[0], Mark::Sequential);
                let read = vec![Stmt::For(For { var, lower, upper, step: 1, mark, body: read })];
                let own = (edge.first.clone() + own).min(edge.end.clone() - 1);
                let none = Stmt::set(panel.buffer, at, Value::Const(0.0));
                let parts = Index::Const(panel.parts());
                let body_of = vec![none, bind(names[1], own, read)];
                body.push(Stmt::for_range(part, Index::Const(0), parts, body_of));
            }
            body
        });
        let products = self.lanes("t", LANES, |mapper, lane| {
            let term = mapper.function.fresh_var("l");
            let held = task.memory.held;
            let shape = task.memory.shape;
            let zero = Index::Const(0);
            let inner = mapper.owned(shape, &lane, |_, at, places| {
                let product = Stmt::add(held, at, task.product(places, &Index::Var(term), &zero));
                let here = Index::Var(step) + Index::Var(term);
                let mut there = Vec::new();
                for (edge, place) in task.edges.iter().zip(places) {
                    let own = edge.first.clone() + place.clone();
                    let at = |bound: &Index| bound.substitute(edge.axis.var, &own);
                    let varies = |bound: &&Index| bound.mentions(edge.axis.var);
                    let sum = task.terms;
                    there.extend(
                        sum.lower.iter().filter(varies).map(|one| at(one).at_most(here.clone())),
                    );
                    there.extend(
                        sum.upper.iter().filter(varies).map(|one| here.clone().less(at(one))),
                    );
                }
                let there = Condition::all(there);
                match there.as_bool() {
                    Some(true) => vec![product],
                    _ => vec![Stmt::when(there, vec![product])],
                }
            });
            let upper = vec![Index::Const(DEPTH), end.clone() - Index::Var(step)];
            let (lower, mark) = (vec![Index::Const(0)], Mark::Sequential);
            vec![Stmt::For(For { var: term, lower, upper, step: 1, mark, body: vec![inner] })]
        });
        vec![copies, products]
    }

    /// Stores what lanes hold: at the points that there are, or all of it where other blocks have a part, too.
    fn stored(
        &mut self,
        axes: &[Axis],
        (product, place): (&Product<'_>, Option<(&Parts, Index)>),
        edges: &[Edge<'_>; 2],
        memory: &Memory,
    ) -> Vec<Stmt> {
        let whole = self.lanes("t", LANES, |mapper, lane| {
            vec![mapper.owned(memory.shape, &lane, |_, at, places| {
                let last = product.stored(Value::load(memory.held, at));
                let heads = axes.iter().zip(edges).zip(places);
                heads.rev().fold(vec![last], |body, ((axis, edge), place)| {
                    let value = edge.first.clone() + place.clone();
                    let ends = [value.clone() + 1, edge.end.clone()];
                    let lower = std::iter::once(value).chain(axis.lower.iter().cloned()).collect();
                    let upper = ends.into_iter().chain(axis.upper.iter().cloned()).collect();
                    let mark = Mark::Sequential;
                    vec![Stmt::For(For { var: axis.var, lower, upper, step: 1, mark, body })]
                })
            })]
        });
        let Some((parts, place)) = place else { return vec![whole] };
        let part = self.lanes("t", LANES, |mapper, lane| {
            let r = mapper.function.fresh_var("r");
            let at = Index::Var(r) * LANES + lane;
            let held = Value::load(memory.held, at.clone());
            let copy = Stmt::set(parts.partial, place + at, held);
            vec![unrolled(r, memory.shape.held(), vec![copy])]
        });
        choose(Index::Var(parts.parts).less(Index::Const(2)), vec![whole], vec![part])
    }
}

impl Product<'_> {
    /// The store, of a sum.
    fn stored(&self, total: Value) -> Stmt {
        let value = match self.terms.len() {
            1 => self.store.value.map_sums(&|_| total.clone()),
            _ => total,
        };
        Stmt::Store(Store { value, ..self.store.clone() })
    }
}

/// How blocks share the terms of a tile.
struct Parts {
    /// Which part is a block's, and how many there are.
    part: VarId,
    parts: VarId,
    /// What the lanes of each part hold of each tile.
    partial: BufferId,
    /// The number of tiles.
    each: VarId,
}

/// Whether sums have more terms in later rows.
fn grows(product: &Product<'_>, row: VarId) -> bool {
    product.terms.iter().any(|terms| {
        let later = |bound: &Index| bound.constant_stride(row).unwrap_or(0);
        terms.upper.iter().any(|bound| later(bound) > 0)
            && terms.lower.iter().all(|bound| later(bound) <= 0)
    })
}

/// How many tiles there are one below the other, and side by side.
fn tiles_of(points: &Points, shape: Shape) -> [Index; 2] {
    let (_, inner) = points.axes.split_at(points.axes.len() - 2);
    [0, 1].map(|at: usize| {
        (Index::Var(inner[at].extent) + (shape.tile[at] - 1)).floor_div(shape.tile[at])
    })
}

/// Where rows, or columns, begin and end, as far as it is known for a whole block; all other bounds are asked for at
/// each point.
fn ends_of(axes: &[Axis], at: usize) -> [Index; 2] {
    let (axis, other) = (&axes[at], &axes[1 - at]);
    let known = |bound: &&Index| !bound.mentions(other.var);
    let lower = axis.lower.iter().filter(known).cloned().reduce(Index::max);
    let upper = axis.upper.iter().filter(known).cloned().reduce(Index::min);
    let high = axis.low.clone() + Index::Var(axis.extent);
    let begin = lower.unwrap_or(axis.low.clone()).max(axis.low.clone());
    [begin, upper.unwrap_or(high.clone()).min(high)]
}

/// The number of a point in the box of all.
fn number_of(points: &Points) -> Index {
    points.axes.iter().fold(Index::Const(0), |number, axis| {
        let place = (Index::Var(axis.var) - axis.low.clone()).floor_div(axis.step);
        number * Index::Var(axis.extent) + place
    })
}

/// What the panels of a sum are multiplied for.
struct Task<'a> {
    terms: &'a Terms,
    edges: &'a [Edge<'a>; 2],
    panels: &'a [Panel; 2],
    memory: &'a Memory,
}

impl Task<'_> {
    /// The product of a term for a row and a column of the tile, of the panels of a side.
    fn product(&self, places: &[Index; 2], term: &Index, side: &Index) -> Value {
        let [left, right] = [0, 1].map(|at: usize| {
            let panel = &self.panels[at];
            let place = panel.place([term.clone(), places[at].clone()]);
            Value::load(panel.buffer, place + side.clone() * panel.other)
        });
        left * right
    }
}

/// Elements of a panel of so many rows or columns, one way or the other.
fn panel_size(count: i64) -> i64 {
    (DEPTH * (count + 4)).max((DEPTH + 4) * count)
}

/// Elements of a panel that is fetched, of so many rows or columns.
fn fetched_size(count: i64) -> i64 {
    DEPTH * (count + APART)
}

fn unrolled(var: VarId, count: i64, body: Vec<Stmt>) -> Stmt {
    Stmt::For(For::new(var, Index::Const(0), Index::Const(count), body).unrolled())
}
