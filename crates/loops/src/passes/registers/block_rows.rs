//! Blocks of rows, each computed in the way that its rows' lengths ask for.
//!
//! A sum over stored elements has as many terms as a row has entries. A processor predicts where the loop over them
//! ends if the rows are of one length, if their lengths come again, or if it has seen all of them not long ago. Then
//! vectors that are put together of single elements are best, which a loop adds up. Elsewhere each mispredicted end
//! costs as much as tens of terms, and sums under masks, which ask nothing but whether there is another vector, take
//! less time although a gather takes longer than its loads.
//!
//! Before -> after:
//! ```text
//! for i = 0 to M { y[i] = sum(p = pos[i] to pos[i + 1]) v[p] * x[crd[p]] }
//! ```
//! ```text
//! for h = 0 to (M + 15) / 16 {
//!   if (v has more elements than are predicted, and the rows of the block are short and differ in length) {
//!     for i = 16 * h to min(16 * h + 16, M) { y[i] = sum(q = pos[i] to pos[i + 1] hint(irregular)) v[q] * x[crd[q]] }
//!   } else {
//!     for i = 16 * h to min(16 * h + 16, M) { y[i] = sum(p = pos[i] to pos[i + 1]) v[p] * x[crd[p]] }
//!   }
//! }
//! ```
//!
//! Blocks without any terms are set to zero, whatever else there is.
//!
//! Blocks are multiples of 16 of the loop's variable, and what is asked of one is asked of all of its rows, those of
//! other threads too: results do not depend on the number of threads.

use std::collections::BTreeSet;

use crate::ir::*;
use crate::lanes;
use crate::machine::Machine;
use crate::passes::Context;

/// Rows of a block.
const ROWS: i64 = 16;

/// Rows with more terms than so many vectors have cost more for their terms than for their ends.
const VECTORS: i64 = 4;

/// The pass, where both ways are open.
pub(super) fn run(module: &mut Module, context: &Context<'_>) {
    let machine = context.machine;
    if !machine.gathers || machine.packs < 2 {
        return;
    }
    let known = of_callers(module);
    let mut functions = std::mem::take(&mut module.functions);
    for function in functions.iter_mut().filter(|function| function.checked.is_none()) {
        let mut body = std::mem::take(&mut function.body);
        let mut blocks =
            Blocks { module, machine, known: &known, function, added: BTreeSet::new() };
        blocks.rewrite(&mut body);
        let added = blocks.added;
        function.body = body;
        if let Some(private) = &mut function.private {
            private.symbols = private
                .symbols
                .iter()
                .copied()
                .chain(added)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect();
        }
    }
    module.functions = functions;
    pass_symbols_on(module);
}

/// Buffers that callers of the module pass: their sizes are what they are declared to be.
fn of_callers(module: &Module) -> BTreeSet<BufferId> {
    let exported = module.functions.iter().filter(|function| function.private.is_none());
    exported.flat_map(|function| function.args.iter().map(|(buffer, _)| *buffer)).collect()
}

/// A private function passes the symbols of those that it calls on: they are its own, too.
fn pass_symbols_on(module: &mut Module) {
    loop {
        let mut grown = false;
        for at in 0..module.functions.len() {
            let mut all = BTreeSet::new();
            let add = &mut |stmt: &Stmt| {
                if let Stmt::Call(call) = stmt
                    && let Some(called) = module.functions.get(call.function.0 as usize)
                    && let Some(private) = &called.private
                {
                    all.extend(private.symbols.iter().copied());
                }
            };
            module.functions[at].body.iter().for_each(|stmt| stmt.visit(add));
            let Some(private) = &mut module.functions[at].private else { continue };
            all.extend(private.symbols.iter().copied());
            grown |= all.len() > private.symbols.len();
            private.symbols = all.into_iter().collect();
        }
        if !grown {
            return;
        }
    }
}

struct Blocks<'a> {
    module: &'a Module,
    machine: &'a Machine,
    known: &'a BTreeSet<BufferId>,
    function: &'a mut Function,
    /// Symbols that conditions use.
    added: BTreeSet<SymbolId>,
}

/// Rows whose positions follow each other.
struct Rows {
    pos: BufferId,
    /// Where a row's positions begin is at this place of `pos`, where they end behind it.
    at: Index,
    /// The variable of the sum.
    term: VarId,
    /// What it does with its terms.
    kind: Reduction,
    /// The number of all stored elements.
    count: Index,
}

impl Blocks<'_> {
    fn rewrite(&mut self, body: &mut [Stmt]) {
        for stmt in body {
            if let Stmt::For(rows) = stmt
                && let Some(blocks) = self.blocks(rows)
            {
                *stmt = blocks;
                continue;
            }
            stmt.bodies_mut().into_iter().for_each(|body| self.rewrite(body));
        }
    }

    /// The loop in blocks, if its sums can be computed in both ways.
    fn blocks(&mut self, rows: &For) -> Option<Stmt> {
        let [Stmt::Store(store)] = &rows.body[..] else { return None };
        if rows.step != 1 || rows.mark == Mark::Unrolled {
            return None;
        }
        let known = self.rows(store, rows.var)?;
        let block = self.function.fresh_like(rows.var, "h");
        let (empty, condition) = self.kinds(&known, rows.var, Index::Var(block) * ROWS)?;
        let irregular = self.function.fresh_like(known.term, "r");
        self.function.hints.update(irregular, |hint| hint.irregular = true);
        let other = self.function.fresh_like(rows.var, "r");
        let renamed = |var: VarId| match var {
            var if var == known.term => irregular,
            var if var == rows.var => other,
            var => var,
        };
        let first = Index::Var(block) * ROWS;
        let regular = For {
            lower: rows.lower.iter().cloned().chain([first.clone()]).collect(),
            upper: rows.upper.iter().cloned().chain([first + ROWS]).collect(),
            mark: Mark::Sequential,
            ..rows.clone()
        };
        let nothing =
            Store { value: store.value.map_sums(&|_| Value::Const(0.0)), ..store.clone() };
        let fill = For { body: vec![Stmt::Store(nothing)], ..regular.clone() };
        let filled = self.function.fresh_like(rows.var, "z");
        let as_filled = |var: VarId| if var == rows.var { filled } else { var };
        let fill = vec![Stmt::For(fill).rename(&as_filled)];
        let then = vec![Stmt::For(regular.clone()).rename(&renamed)];
        let otherwise = vec![Stmt::For(regular)];
        let rows_with_terms = vec![Stmt::If(If { condition, then, otherwise })];
        // What is the smallest of nothing depends on the type that is computed in.
        let body = match known.kind {
            Reduction::Sum => {
                let (condition, otherwise) = (empty, rows_with_terms);
                vec![Stmt::If(If { condition, then: fill, otherwise })]
            }
            _ => rows_with_terms,
        };
        let lower = rows.lower.iter().map(|bound| bound.clone().floor_div(ROWS)).collect();
        let upper = rows.upper.iter();
        let upper = upper.map(|bound| (bound.clone() + (ROWS - 1)).floor_div(ROWS)).collect();
        let blocks = Stmt::For(For { var: block, lower, upper, body, ..*rows });
        // Where there are no rows, there is nothing to ask about them.
        let first = rows.lower.iter().cloned().reduce(Index::max)?;
        let end = rows.upper.iter().cloned().reduce(Index::min)?;
        match first.as_const().is_some_and(|first| first % ROWS == 0) {
            true => Some(blocks),
            false => Some(Stmt::when(first.less(end), vec![blocks])),
        }
    }

    /// The rows of a store that has one sum, over the elements of a row of its own.
    fn rows(&self, store: &Store, var: VarId) -> Option<Rows> {
        let mut sums = Vec::new();
        store.value.visit(&mut |value| {
            if let Value::Sum(sum) = value {
                sums.push(sum);
            }
        });
        let [sum] = sums[..] else { return None };
        let ([Index::Load(pos, at)], [Index::Load(other, next)]) = (&sum.lower[..], &sum.upper[..])
        else {
            return None;
        };
        let follow = pos == other && next.constant_difference(at) == Some(1);
        let possible = follow
            && at.constant_stride(var) == Some(1)
            && !at.has_loads()
            && self.known.contains(pos)
            && lanes::of_packed_terms(sum)
            && lanes::of_stored_terms(sum)
            && !lanes::of_terms(sum);
        if !possible {
            return None;
        }
        let count = self.count(sum)?;
        Some(Rows { pos: *pos, at: (**at).clone(), term: sum.var, kind: sum.kind, count })
    }

    /// How many elements there are that a sum takes its terms from.
    fn count(&self, sum: &Sum) -> Option<Index> {
        let mut found = None;
        sum.body.visit(&mut |value| {
            if let Value::Load(buffer, index) = value
                && index.constant_stride(sum.var) == Some(1)
                && self.known.contains(buffer)
            {
                found = found.or(Some(*buffer));
            }
        });
        Some(self.module.buffers.get(found?.0 as usize)?.size.clone())
    }

    /// Whether the rows of the block from `first` on have no terms, and whether the processor would often be wrong
    /// about where they end. Where most of them have none, it is right about these.
    fn kinds(&mut self, rows: &Rows, var: VarId, first: Index) -> Option<(Condition, Condition)> {
        let Rows { pos, at, count, .. } = rows;
        let all = self.module.buffers.get(pos.0 as usize)?.size.clone() - 1;
        [&all, count].into_iter().for_each(|index| {
            index.visit(&mut |part| {
                if let Index::Symbol(symbol) = part {
                    self.added.insert(*symbol);
                }
            });
        });
        // Packed, a row has an iteration for each vector of terms, and about two more.
        let iterations = count.clone().floor_div(self.machine.packs) + all.clone() * 2;
        let many = Index::Const(self.machine.predicts).less(iterations);
        let begin = at.substitute(var, &first).max(0.into());
        let before = (begin.clone() - ROWS).max(0.into());
        let end = at.substitute(var, &(first + ROWS)).min(all);
        let load = |at: Index| Index::Load(*pos, Box::new(at));
        let terms = load(end.clone()) - load(begin.clone());
        let length = end.clone() - begin.clone();
        let most = VECTORS * self.machine.lanes(8);
        // Rows of one length, or of lengths that come again after as many rows as a block has.
        let again = terms.clone().equal(load(begin.clone()) - load(before));
        let one = load(begin.clone() + 1) - load(begin);
        let last = load(end.clone()) - load(end - 1);
        let alike = (one.clone() * length.clone()).equal(terms.clone()).and(one.equal(last));
        let differ = alike.negate().and(again.negate());
        let empty = terms.clone().equal(0.into());
        let enough = length.clone().at_most(terms.clone());
        Some((empty, Condition::all([many, terms.at_most(length * most), enough, differ])))
    }
}
