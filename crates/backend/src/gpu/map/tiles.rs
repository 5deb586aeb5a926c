//! Products of matrices in tiles: panels of both factors in shared memory, a part of the tile in the registers of each
//! lane.
//!
//! Before -> after: `parallel i = 0 to N { parallel j = 0 to M { A[M * i + j] = sum(l = 0 to K) B[K * i + l] *
//! C[M * l + j] } }` -> for each tile of 64 rows and columns
//! ```text
//! parallel(blocks) b = .. { with left of 1040 { with right of 1040 { with held of 4096 {
//!   parallel(lanes) t = 0 to 256 { unroll r = 0 to 16 { held[256 * r + t] = 0.0 } }
//!   for step = 0 to K step 16 {
//!     parallel(lanes) t = 0 to 256 { (left[65 * l + i] = B[..] and right[65 * l + j] = C[..], 0 outside) }
//!     parallel(lanes) t = 0 to 256 { unroll r = 0 to 4 { unroll c = 0 to 4 {
//!       held[256 * (4 * r + c) + t] += sum(l = 0 to 16)
//!         left[65 * l + 16 * r + t / 16] * right[65 * l + 16 * c + t % 16]
//!     } } }
//!   }
//!   parallel(lanes) t = 0 to 256 { (A[..] = held[..] at the points that there are) }
//! } } } }
//! ```
//! Outer loops are blocks of their own, so that structured tensors have a product for each of their slices. The factors
//! are read where they stand, packed or not. Sums whose ranges depend on the row or column stay as they are: a term
//! that is not there cannot be a product with 0, since the other factor may be infinite.
//!
//! `held` is memory of lanes that lasts beyond barriers: element `256 * r + t` is lane `t`'s.

use dastac_loops::{
    BufferId, Condition, Element, For, If, Index, Mark, Space, Stmt, Store, StoreMode, Sum, Value,
    VarId, Workspace,
};

use super::mapper::{LANES, Mapper};
use super::space::{Axis, Points, bind};

/// Rows and columns of a tile.
const TILE: i64 = 64;
/// Terms of a panel.
const DEPTH: i64 = 16;
/// Elements from one term of a panel to the next: one more than a tile has, so that lanes that write several terms
/// write to different banks.
const PITCH: i64 = TILE + 1;
/// Lanes side by side in a tile; each has every 16th row and column.
const SIDE: i64 = 16;
/// Rows, and columns, of a lane.
const OWN: i64 = TILE / SIDE;

/// Rows and columns at least where a tile is worth it.
const WORTH: i64 = 32;

/// A product of a factor for rows and one for columns at each point.
pub(super) struct Product<'a> {
    store: &'a Store,
    sum: &'a Sum,
    left: Value,
    right: Value,
}

/// The store of a sum of such products, if the points are such.
pub(super) fn of<'a>(points: &Points, body: &'a [Stmt]) -> Option<Product<'a>> {
    let ([Stmt::Store(store)], [.., row, column]) = (body, &points.axes[..]) else { return None };
    let mut sums = Vec::new();
    store.value.visit(&mut |value| {
        if let Value::Sum(sum) = value {
            sums.push(&**sum);
        }
    });
    let [sum] = sums[..] else { return None };
    let plain = sum.step == 1 && sum.condition.is_none() && row.step == 1 && column.step == 1;
    let sums = sum.kind == dastac_loops::Reduction::Sum;
    let varies = |index: &Index| index.mentions(row.var) || index.mentions(column.var);
    let same = !sum.lower.iter().chain(&sum.upper).any(|one| varies(one) || one.has_loads());
    if !plain || !sums || !same || !points.guards.is_empty() {
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
    let (left, right) = (Value::product(left), Value::product(right));
    both.then_some(Product { store, sum, left, right })
}

/// A panel of a factor.
struct Panel<'a> {
    buffer: BufferId,
    value: &'a Value,
    /// The variable that a row of the panel stands for, where rows begin and where they end.
    var: VarId,
    first: Index,
    end: Index,
}

/// Memory of a tile.
struct Memory {
    left: BufferId,
    right: BufferId,
    held: BufferId,
    element: Element,
}

impl Mapper<'_> {
    /// Kernels with and without tiles, of which the host chooses.
    pub fn product(&mut self, points: &Points, product: &Product<'_>) -> Vec<Stmt> {
        let plain = vec![self.points(points, &[Stmt::Store(product.store.clone())])];
        let element = self.module.buffers[product.store.buffer.0 as usize].element;
        let element = self.module.computed_in(&product.store.value, element);
        if element.is_integer() {
            return plain;
        }
        let [.., row, column] = &points.axes[..] else { return plain };
        let enough = [row, column].map(|axis| Index::Const(WORTH).at_most(Index::Var(axis.extent)));
        let then = vec![self.tiles(points, product, element)];
        vec![Stmt::If(If { condition: Condition::all(enough), then, otherwise: plain })]
    }

    fn tiles(&mut self, points: &Points, product: &Product<'_>, element: Element) -> Stmt {
        let (outer, inner) = points.axes.split_at(points.axes.len() - 2);
        let outer = Points { axes: outer.to_vec(), guards: Vec::new() };
        let counts =
            [0, 1].map(|at: usize| (Index::Var(inner[at].extent) + (TILE - 1)).floor_div(TILE));
        let [rows, columns] = counts.clone();
        let blocks = outer.count() * rows * columns;
        self.blocks(blocks, |mapper, block| {
            let names = ["slice", "rows", "columns"];
            let [slice, tile_row, tile_column] = names.map(|name| mapper.function.fresh_var(name));
            let [rows, columns] = counts;
            let tiles = rows * columns.clone();
            let within = block.clone() - Index::Var(slice) * tiles.clone();
            let column = within.clone() - Index::Var(tile_row) * columns.clone();
            let body = mapper.tile(inner, product, [tile_row, tile_column], element);
            let body = outer.at(Index::Var(slice), body, mapper.function);
            let body = vec![bind(tile_column, column, body)];
            let body = vec![bind(tile_row, within.quotient(columns), body)];
            vec![bind(slice, block.quotient(tiles), body)]
        })
    }

    /// What a block does for a tile.
    fn tile(
        &mut self,
        axes: &[Axis],
        product: &Product<'_>,
        tile: [VarId; 2],
        element: Element,
    ) -> Vec<Stmt> {
        let [row, column] = axes else { return Vec::new() };
        let mut buffer = |name: &str, size: i64, space: Space| {
            let id = self.module.fresh_buffer(name, element, Index::Const(size));
            self.module.buffers[id.0 as usize].space = space;
            id
        };
        let memory = Memory {
            left: buffer("left", DEPTH * PITCH, Space::Shared),
            right: buffer("right", DEPTH * PITCH, Space::Shared),
            held: buffer("held", OWN * OWN * LANES, Space::Stack),
            element,
        };
        let edges = |axis: &Axis, tile: VarId, others: &[&Axis]| {
            // Bounds that are known for the whole block; all others are asked for at each point.
            let known = |bound: &&Index| !others.iter().any(|other| bound.mentions(other.var));
            let lower = axis.lower.iter().filter(known).cloned().reduce(Index::max);
            let upper = axis.upper.iter().filter(known).cloned().reduce(Index::min);
            let begin = lower.unwrap_or(axis.low.clone()).max(axis.low.clone());
            let high = axis.low.clone() + Index::Var(axis.extent);
            let end = upper.unwrap_or(high.clone()).min(high);
            (begin + Index::Var(tile) * TILE, end)
        };
        let (first_row, end_row) = edges(row, tile[0], &[column]);
        let (first_column, end_column) = edges(column, tile[1], &[row]);
        let panels = [
            Panel {
                buffer: memory.left,
                value: &product.left,
                var: row.var,
                first: first_row.clone(),
                end: end_row.clone(),
            },
            Panel {
                buffer: memory.right,
                value: &product.right,
                var: column.var,
                first: first_column.clone(),
                end: end_column.clone(),
            },
        ];
        let mut body = vec![self.cleared(&memory)];
        body.push(self.steps(product, &panels, &memory));
        body.push(self.stored(axes, product, &panels, &memory));
        let some = [first_row.less(end_row), first_column.less(end_column)];
        let sizes = [
            (memory.held, OWN * OWN * LANES),
            (memory.right, DEPTH * PITCH),
            (memory.left, DEPTH * PITCH),
        ];
        let body = sizes.into_iter().fold(body, |body, (buffer, size)| {
            let size = Index::Const(size);
            vec![Stmt::Workspace(Workspace { buffer, size, zero: false, instead: None, body })]
        });
        vec![Stmt::when(Condition::all(some), body)]
    }

    fn cleared(&mut self, memory: &Memory) -> Stmt {
        self.lanes("t", LANES, |mapper, lane| {
            let r = mapper.function.fresh_var("r");
            let at = Index::Var(r) * LANES + lane;
            let zero = Stmt::set(memory.held, at, Value::Const(0.0));
            vec![unrolled(r, OWN * OWN, vec![zero])]
        })
    }

    /// The products of all panels.
    fn steps(&mut self, product: &Product<'_>, panels: &[Panel<'_>; 2], memory: &Memory) -> Stmt {
        let sum = product.sum;
        let step = self.function.fresh_var("step");
        let end = sum.upper.iter().cloned().reduce(Index::min).unwrap_or(Index::Const(0));
        let copies = self.lanes("t", LANES, |mapper, lane| {
            let mut body = Vec::new();
            for panel in panels {
                body.push(mapper.copy(panel, sum.var, (Index::Var(step), &end), &lane));
            }
            body
        });
        let products = self.lanes("t", LANES, |mapper, lane| {
            let [r, c, l] = ["r", "c", "l"].map(|name| mapper.function.fresh_var(name));
            let at = (Index::Var(r) * OWN + Index::Var(c)) * LANES + lane.clone();
            let term = Index::Var(l) * PITCH;
            let row = term.clone() + Index::Var(r) * SIDE + lane.clone().floor_div(SIDE);
            let column = term + Index::Var(c) * SIDE + lane.modulo(SIDE);
            let value = Value::load(memory.left, row) * Value::load(memory.right, column);
            let value = Value::sum(l, Index::Const(0), Index::Const(DEPTH), value);
            let added = Stmt::Store(Store {
                buffer: memory.held,
                index: at,
                value,
                mode: StoreMode::Add,
                stream: None,
            });
            vec![unrolled(r, OWN, vec![unrolled(c, OWN, vec![added])])]
        });
        Stmt::For(For {
            var: step,
            lower: sum.lower.clone(),
            upper: sum.upper.clone(),
            step: DEPTH,
            mark: Mark::Sequential,
            body: vec![copies, products],
        })
    }

    /// A panel, 0 outside of the factor. Neighbouring lanes read neighbouring elements.
    fn copy(
        &mut self,
        panel: &Panel<'_>,
        term: VarId,
        (step, end): (Index, &Index),
        lane: &Index,
    ) -> Stmt {
        let part = self.function.fresh_var("part");
        let number = Index::Var(part) * LANES + lane.clone();
        let mut along = true;
        panel.value.visit(&mut |value| {
            if let Value::Load(_, at) = value {
                along &= matches!(at.constant_stride(term), Some(-1..=1));
            }
        });
        let (l, row) = match along {
            true => (number.clone().modulo(DEPTH), number.floor_div(DEPTH)),
            false => (number.clone().floor_div(TILE), number.modulo(TILE)),
        };
        let at = l.clone() * PITCH + row.clone();
        // The names of the sum and of the loop stand for the term and the row: each is bound once here.
        let [own_row, own_term] = [panel.var, term].map(|var| self.function.fresh_like(var, ""));
        let value = panel.value.substitute(panel.var, &Index::Var(own_row));
        let value = value.substitute(term, &Index::Var(own_term));
        let read = vec![Stmt::set(panel.buffer, at.clone(), value)];
        let once = |var: VarId, value: Index, end: &Index, body: Vec<Stmt>| {
            let upper = vec![value.clone() + 1, end.clone()];
            let (lower, mark) = (vec![value], Mark::Sequential);
            Stmt::For(For { var, lower, upper, step: 1, mark, body })
        };
        let read = once(own_term, step + l, end, read);
        let read = once(own_row, panel.first.clone() + row, &panel.end, vec![read]);
        let none = Stmt::set(panel.buffer, at, Value::Const(0.0));
        Stmt::for_range(part, Index::Const(0), Index::Const(TILE * DEPTH / LANES), vec![none, read])
    }

    /// Stores what lanes hold at the points that there are.
    fn stored(
        &mut self,
        axes: &[Axis],
        product: &Product<'_>,
        panels: &[Panel<'_>; 2],
        memory: &Memory,
    ) -> Stmt {
        let store = product.store;
        debug_assert!(!memory.element.is_integer(), "tiles hold floats");
        self.lanes("t", LANES, |mapper, lane| {
            let [r, c] = ["r", "c"].map(|name| mapper.function.fresh_var(name));
            let at = (Index::Var(r) * OWN + Index::Var(c)) * LANES + lane.clone();
            let total = Value::load(memory.held, at);
            let value = store.value.map_sums(&|_| total.clone());
            let last = Stmt::Store(Store { value, ..store.clone() });
            let places = [
                Index::Var(r) * SIDE + lane.clone().floor_div(SIDE),
                Index::Var(c) * SIDE + lane.modulo(SIDE),
            ];
            let heads = axes.iter().zip(panels).zip(places);
            let body = heads.rev().fold(vec![last], |body, ((axis, panel), place)| {
                let value = panel.first.clone() + place;
                let end = value.clone() + 1;
                let lower = std::iter::once(value).chain(axis.lower.iter().cloned()).collect();
                let upper = std::iter::once(end).chain(axis.upper.iter().cloned()).collect();
                let mark = Mark::Sequential;
                vec![Stmt::For(For { var: axis.var, lower, upper, step: 1, mark, body })]
            });
            let body = vec![counted(c, OWN, body)];
            vec![counted(r, OWN, body)]
        })
    }
}

fn unrolled(var: VarId, count: i64, body: Vec<Stmt>) -> Stmt {
    Stmt::For(For::new(var, Index::Const(0), Index::Const(count), body).unrolled())
}

/// A loop with few iterations, which the code generator unrolls: what it is around is not the same for all of them.
fn counted(var: VarId, count: i64, body: Vec<Stmt>) -> Stmt {
    Stmt::for_range(var, Index::Const(0), Index::Const(count), body)
}
