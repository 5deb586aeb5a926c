//! Rows that are read soon, in whatever order others name them, are fetched ahead.
//!
//! Where the stored coordinates of one row say which rows of another tensor are read, as in a product of sparse
//! matrices, nothing but these coordinates tells the machine where to look next.
//!
//! Before -> after:
//! ```text
//! for i = b to e { for p = pos[i] to pos[i + 1] { for q = pos2[crd[p]] to pos2[crd[p] + 1] { .. v[q] .. } } }
//! ```
//! ```text
//! for i = b to e { for p = pos[i] to pos[i + 1] {
//!   prefetch v[pos2[crd[min(p + 8, pos[e] - 1)]]]
//!   for q = pos2[crd[p]] to pos2[crd[p] + 1] { .. v[q] .. }
//! } }
//! ```

use std::collections::BTreeSet;

use crate::ir::*;
use crate::machine::Machine;

/// So many rows are between one that is fetched and one that is read.
const AHEAD: i64 = 8;

/// The pass, on all functions that do not check their accesses.
pub(super) fn run(module: &mut Module, machine: &Machine) {
    let mut functions = std::mem::take(&mut module.functions);
    for function in functions.iter_mut().filter(|function| function.checked.is_none()) {
        fetch(module, machine, &mut function.body, None);
    }
    module.functions = functions;
}

/// Adds prefetches to loops of a block, which a loop may be around.
fn fetch(module: &Module, machine: &Machine, body: &mut [Stmt], around: Option<(VarId, Index)>) {
    for stmt in body {
        let mut inside = around.clone();
        if let Stmt::For(inner) = stmt {
            let ahead = fetched(module, machine, inner, around.as_ref());
            inner.body.splice(0..0, ahead);
            inside = match &inner.upper[..] {
                [upper] => Some((inner.var, upper.clone())),
                _ => None,
            };
        }
        for inner in stmt.bodies_mut() {
            fetch(module, machine, inner, inside.clone());
        }
    }
}

/// What the loop over the positions of a row is to fetch.
fn fetched(
    module: &Module,
    machine: &Machine,
    rows: &For,
    around: Option<&(VarId, Index)>,
) -> Vec<Stmt> {
    let ([_], [end], 1) = (&rows.lower[..], &rows.upper[..], rows.step) else { return Vec::new() };
    let mut starts: Vec<(Index, BTreeSet<BufferId>)> = Vec::new();
    rows.body.iter().for_each(|stmt| {
        stmt.visit(&mut |stmt| {
            if let Stmt::For(row) = stmt
                && let [start] = &row.lower[..]
                && is_named(start, rows.var)
                && known_outside(start, rows)
            {
                let read = read_at(row);
                match starts.iter_mut().find(|(known, _)| known == start) {
                    Some((_, all)) => all.extend(read),
                    None => starts.push((start.clone(), read)),
                }
            }
        });
    });
    // Behind this row is the next one, up to the last of the loop around.
    let behind = match (end, around) {
        (Index::Load(positions, at), Some((var, last))) if **at == Index::Var(*var) + 1 => {
            Index::Load(*positions, Box::new(last.clone()))
        }
        _ => end.clone(),
    };
    let later = (Index::Var(rows.var) + AHEAD).min(behind - 1);
    let mut result = Vec::new();
    for (start, buffers) in starts {
        let start = start.substitute(rows.var, &later);
        for buffer in buffers {
            let size = module.buffers[buffer.0 as usize].element.bytes() as i64;
            // Rows of large elements take more than a line.
            let lines = if size >= 8 { 2 } else { 1 };
            for line in 0..lines {
                let index = start.clone() + line * (machine.line / size);
                result.push(Stmt::Register(RegisterStmt::Prefetch(buffer, index)));
            }
        }
    }
    result
}

/// Whether the begin of a row is that of one which a position of another row names.
fn is_named(start: &Index, position: VarId) -> bool {
    let Index::Load(_, row) = start else { return false };
    let mut named = false;
    row.visit(&mut |index| {
        named |= matches!(index, Index::Load(_, at) if at.constant_stride(position) == Some(1));
    });
    named
}

/// Whether nothing that the body of a loop binds is in an index.
fn known_outside(index: &Index, inner: &For) -> bool {
    let mut bound = BTreeSet::new();
    inner.body.iter().for_each(|stmt| {
        stmt.visit(&mut |stmt| bound.extend(stmt.binds()));
    });
    let mut known = true;
    index.visit(&mut |index| {
        known &= !matches!(index, Index::Var(var) if bound.contains(var));
    });
    known
}

/// What a loop reads at its positions.
fn read_at(row: &For) -> BTreeSet<BufferId> {
    let own = Index::Var(row.var);
    let mut read = BTreeSet::new();
    row.body.iter().for_each(|stmt| {
        stmt.visit_indices(&mut |index| {
            if let Index::Load(buffer, at) = index
                && **at == own
            {
                read.insert(*buffer);
            }
        });
        stmt.visit(&mut |stmt| {
            if let Stmt::Register(RegisterStmt::Define(_, Operation::Load(load))) = stmt
                && load.index == own
            {
                read.insert(load.buffer);
            }
        });
    });
    read
}
