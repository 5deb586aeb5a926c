//! Blocks of columns for many rows of a sparse operand, whose terms read dense rows in their neighbourhood.
//!
//! A sum for each row and column, whose terms are what the row stores, reads for each term the columns of one row of a
//! dense operand. Executed row by row, all of that operand goes through the caches for each row. So a block of columns
//! is computed for a group of rows; and of each row the terms of a few of its chunks at a time, so that what these read
//! stays in the nearest cache. The sums so far are in a block of memory of their own, which stays there too.
//!
//! Lowering says where that pays, by a hint of the loop over columns ([`crate::hints::Hint::chunk`]): so many rows of
//! the dense operand are read by the terms between two neighbouring positions of the sum.
//!
//! Before -> after, of `parallel i = 0 to M { parallel x = 0 to N hint(chunk 16) { C[N * i + x] = sum(n = pos[K * i] to
//! pos[K * i + K]) A[n] * B[N * crd[n] + x] } }`:
//! ```text
//! for t = .. chunks at a time .. {
//!   parallel p = 0 to .. groups of rows * blocks of columns .. { with W of rows * columns {
//!     for i { for x { W[..] = 0.0 } }
//!     for c = 0 to (K + t - 1) / t {
//!       for i { for x { W[..] += sum(n = pos[K * i + c * t] to pos[K * i + min(c * t + t, K)]) A[n] * .. } }
//!     }
//!     for i { for x { C[N * i + x] = W[..] } }
//!   } }
//! }
//! ```
//! A row without chunks (`K` is 1) is added up at once.
//!
//! A block has as many columns as there are sums side by side that keep a core's multiply-adds busy. Half of the
//! nearest cache is for the sums of a group, the other half for what the terms of a few chunks read.

use crate::ir::*;
use crate::machine::Machine;
use crate::passes::Context;

/// So many rows are a group, at most: there should be several groups, for threads.
const ROWS: i64 = 64;
/// So many terms of a row are added up at once, on the average: the sums so far are loaded and stored for them.
const TERMS: i64 = 32;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    for at in 0..module.functions.len() {
        let mut function = module.functions[at].clone();
        let mut body = std::mem::take(&mut function.body);
        block(module, &mut function, &mut body, context.machine);
        function.body = body;
        module.functions[at] = function;
    }
}

fn block(module: &mut Module, function: &mut Function, body: &mut [Stmt], machine: &Machine) {
    for stmt in body {
        if let Stmt::For(rows) = stmt
            && let Some(sums) = Sums::of(module, function, rows)
        {
            *stmt = sums.blocks(module, function, &Sizes::of(machine, sums.bytes));
            continue;
        }
        stmt.bodies_mut().into_iter().for_each(|body| block(module, function, body, machine));
    }
}

/// The sizes of blocks.
struct Sizes {
    /// Columns of a block: a power of two.
    columns: i64,
    /// Rows of a group.
    rows: i64,
    /// What a block of columns reads for the chunks of a row that are added up at once, in bytes, if that is possible.
    near: i64,
}

impl Sizes {
    fn of(machine: &Machine, bytes: i64) -> Sizes {
        // At least those of a line of memory: blocks begin where lines do.
        let columns = (machine.chains * machine.vector_bytes).max(machine.line) / bytes;
        let columns = (columns.max(1) as u64).next_power_of_two() as i64;
        let near = machine.l1 / 2;
        Sizes { columns, rows: (near / (columns * bytes)).clamp(1, ROWS), near }
    }
}

/// A sum for each row and column.
struct Sums {
    rows: For,
    columns: For,
    store: Store,
    sum: Sum,
    /// Where the positions of a row begin, how many chunks it has, and which buffer says where they are.
    first: Index,
    chunks: Index,
    positions: BufferId,
    /// How many chunks all rows have, and how many terms.
    all: Index,
    terms: Index,
    /// How many rows of the dense operand a chunk reads, and of how many bytes its elements are.
    chunk: i64,
    bytes: i64,
    /// The columns end at a multiple of this.
    beyond: i64,
}

impl Sums {
    fn of(module: &Module, function: &Function, rows: &For) -> Option<Sums> {
        let [Stmt::For(columns)] = &rows.body[..] else { return None };
        let [Stmt::Store(store)] = &columns.body[..] else { return None };
        let hint = function.hints.get(columns.var);
        let chunk = hint.chunk?;
        let plain = |one: &For| {
            one.step == 1
                && matches!(one.mark, Mark::Parallel(_))
                && one.lower == [Index::Const(0)]
                && one.upper.len() == 1
                && !one.upper[0].has_loads()
        };
        let dependent = columns.upper[..].iter().any(|end| end.mentions(rows.var));
        if !plain(rows) || !plain(columns) || dependent || store.mode != StoreMode::Set {
            return None;
        }
        let mut sums = Vec::new();
        store.value.visit(&mut |value| {
            if let Value::Sum(sum) = value {
                sums.push((**sum).clone());
            }
        });
        let [sum] = &sums[..] else { return None };
        let ([Index::Load(positions, first)], [Index::Load(other, last)]) =
            (&sum.lower[..], &sum.upper[..])
        else {
            return None;
        };
        if positions != other || first.mentions(columns.var) || sum.condition.is_some() {
            return None;
        }
        let chunks = first.stride(rows.var)?;
        if **last != (**first).clone() + chunks.clone() {
            return None;
        }
        let mut terms = None;
        sum.body.visit(&mut |value| {
            if let Value::Load(buffer, at) = value
                && *at == Index::Var(sum.var)
            {
                terms = module.buffers.get(buffer.0 as usize).map(|one| one.size.clone());
            }
        });
        let size = |buffer: BufferId| module.buffers.get(buffer.0 as usize);
        Some(Sums {
            rows: rows.clone(),
            columns: columns.clone(),
            store: store.clone(),
            sum: sum.clone(),
            first: (**first).clone(),
            chunks,
            positions: *positions,
            all: size(*positions)?.size.clone() - 1,
            terms: terms?,
            chunk,
            bytes: size(store.buffer)?.element.bytes() as i64,
            beyond: hint.beyond.unwrap_or(1),
        })
    }

    fn blocks(&self, module: &mut Module, function: &mut Function, sizes: &Sizes) -> Stmt {
        let Sums { rows, columns, store, .. } = self;
        let (wide, high) = (sizes.columns, sizes.rows);
        let fresh = |function: &mut Function, name: &str| function.fresh_var(name);
        let name = format!("{}.block", module.buffers[store.buffer.0 as usize].name);
        let element = module.buffers[store.buffer.0 as usize].element;
        let sums = module.fresh_buffer(name, element, (wide * high).into());
        let [part, block, group] = ["part", "block", "group"].map(|name| fresh(function, name));
        let x = Index::Var(columns.var);
        let (start, first) = (Index::Var(block) * wide, Index::Var(group) * high);
        let end = columns.upper[0].clone();
        let beyond = (end.clone() + (self.beyond - 1)).floor_div(self.beyond) * self.beyond;
        let limit = |end: &Index| (start.clone() + wide).min(end.clone());
        let at = (Index::Var(rows.var) - first.clone()) * wide + (x.clone() - start.clone());
        let each = |to: Index, store: Store| {
            let (lower, upper) = (vec![start.clone()], vec![to]);
            let body = vec![Stmt::Store(store)];
            let columns = Stmt::For(For { lower, upper, body, ..columns.clone() });
            let upper = (first.clone() + high).min(rows.upper[0].clone());
            Stmt::For(For::new(rows.var, first.clone(), upper, vec![columns]))
        };
        let sum = |from: Index, to: Index, mode: StoreMode| {
            let ends = |at: Index| vec![Index::Load(self.positions, Box::new(at))];
            let sum = Sum { lower: ends(from), upper: ends(to), ..self.sum.clone() };
            let value = Value::Sum(Box::new(sum));
            let store = Store { buffer: sums, index: at.clone(), value, mode, stream: None };
            each(limit(&beyond), store)
        };
        let alone = self.chunks == Index::Const(1);
        let (chunks, together) = (fresh(function, "chunk"), fresh(function, "together"));
        let mut body = if alone {
            vec![sum(self.first.clone(), self.first.clone() + 1, StoreMode::Set)]
        } else {
            let (value, mode) = (Value::constant(0.0), StoreMode::Set);
            let zero = Store { buffer: sums, index: at.clone(), value, mode, stream: None };
            let from = Index::Var(chunks) * Index::Var(together);
            let to = (from.clone() + Index::Var(together)).min(self.chunks.clone());
            let first = self.first.clone();
            let count =
                (self.chunks.clone() + (Index::Var(together) - 1)).quotient(Index::Var(together));
            let add = sum(first.clone() + from, first + to, StoreMode::Add);
            let all = Stmt::For(For::new(chunks, 0.into(), count, vec![add]));
            vec![each(limit(&beyond), zero), all]
        };
        let load = Value::load(sums, at.clone());
        let value = store.value.map_sums(&|_| load.clone());
        body.push(each(limit(&end), Store { value, ..store.clone() }));
        let (size, zero, instead) = ((wide * high).into(), false, None);
        let body = vec![Stmt::Workspace(Workspace { buffer: sums, size, zero, instead, body })];

        // One loop over both, so that there is work for threads where there are few rows, or few columns.
        let groups = (rows.upper[0].clone() + (high - 1)).floor_div(high);
        let count = (end + (wide - 1)).floor_div(wide);
        let own = Index::Var(part) - Index::Var(block) * groups.clone();
        let body = vec![once(group, own, body)];
        let body = vec![once(block, Index::Var(part).quotient(groups.clone()), body)];
        let parts = Stmt::For(For::new(part, 0.into(), count * groups, body).parallel());
        if alone {
            return parts;
        }
        // As many as there is room for, but not so few that they have few terms.
        let width = beyond.min(wide.into()).max(1.into());
        let near = Index::Const(sizes.near).quotient(width * (self.bytes * self.chunk));
        let full = (self.all.clone() * TERMS).quotient(self.terms.clone().max(1.into()));
        once(together, near.max(full).max(1.into()), vec![parts])
    }
}

/// `for var = value to value + 1 { body }`: a name for a value.
fn once(var: VarId, value: Index, body: Vec<Stmt>) -> Stmt {
    Stmt::For(For::new(var, value.clone(), value + 1, body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interp::{Data, run};
    use crate::machine::Machine;
    use crate::parse;
    use crate::verify::verify;

    /// Rows of three chunks each, of sixteen rows of `B`; those of an operand in rows, which are one chunk.
    fn text(chunks: &str) -> String {
        format!(
            "module(M, N, S)\nbuffer C : f64[M * N]\nbuffer A : f64[S]\nbuffer pos : i64[M * {chunks} + 1]\n\
             buffer crd : i64[S]\nbuffer B : f64[48 * ((N + 15) / 16 * 16)]\n\
             func f(out C, in A, in pos, in crd, in B) {{\n\
             parallel i = 0 to M {{ parallel x = 0 to N hint(chunk 16, beyond 16) {{\n\
             C[N * i + x] = 2.0 * sum(n = pos[i * {chunks}] to pos[i * {chunks} + {chunks}]) A[n] * \
             B[(N + 15) / 16 * 16 * crd[n] + x]\n}} }} }}"
        )
    }

    #[test]
    fn blocks_compute_the_same() {
        for (text, count) in [(text("3"), 3), (text("1"), 1)] {
            let before = parse(&text).unwrap();
            let mut after = before.clone();
            // Half of the first cache for sums of 128 columns: 4 vectors of 32 numbers.
            let machine = Machine { vector_bytes: 256, chains: 4, l1: 64 << 10, ..Machine::PLAIN };
            super::run(&mut after, &Context::of(&machine));
            verify(&after).unwrap();
            assert!(after.to_string().contains("with C.block of 4096"), "{after}");
            for (rows, columns, each) in
                [(0, 5, 1), (1, 1, 0), (3, 130, 2), (66, 17, 1), (65, 300, 40), (2, 0, 1)]
            {
                let stored = rows * count * each;
                let pos: Vec<i64> = (0..=rows * count).map(|at| at * each).collect();
                let crd: Vec<i64> =
                    (0..stored).map(|at| at / each % count * 16 + at % each % 16).collect();
                let ramp = |len: i64| Data::Float((0..len).map(|at| (at % 7 - 3) as f64).collect());
                let data = [
                    ramp(rows * columns),
                    ramp(stored),
                    Data::Int(pos),
                    Data::Int(crd),
                    ramp(48 * ((columns + 15) / 16 * 16)),
                ];
                let of = |module: &Module| {
                    let mut data = data.clone();
                    run(module, "f", &[rows, columns, stored], &mut data).unwrap();
                    data[0].clone()
                };
                assert_eq!(of(&before), of(&after), "{rows} {columns} {each}");
            }
        }
    }
}
