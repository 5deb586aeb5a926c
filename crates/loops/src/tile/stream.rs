//! What is only written goes to memory past the caches.
//!
//! A store to a line that no cache holds reads the line first, and puts out what would have been read again. Where a nest writes more than a
//! cache holds, whole vectors do better without; how much it writes is known when it runs, so a store says when that holds
//! ([`Store::stream`]). What has no sums has no tiles; it is cut here into vectors that begin at lines of memory.
//!
//! Before -> after: `parallel i = 0 to N { y[i] = a[i] * x[i] }` ->
//! `parallel it = 0 to N - 31 step 32 { unroll i = it to it + 32 { y[i] = a[i] * x[i] stream if N >= 131072 } }` and what is left.

use super::choose::Choice;
use super::partial::largest;
use super::{Level, Nest, Tiler, work};
use crate::ir::*;
use crate::lanes;

/// Bytes of a line of memory.
const LINE: i64 = 64;

/// Vectors side by side.
const VECTORS: i64 = 4;

/// Functions of more statements share code between them instead.
const MOST: usize = 6;

impl Tiler<'_> {
    /// Cuts loops around stores without sums into vectors.
    pub(super) fn stream(&mut self, body: &mut Vec<Stmt>) {
        if self.statements > MOST {
            return;
        }
        let mut result = Vec::new();
        for mut stmt in std::mem::take(body) {
            if let Some(nest) = Nest::of(&stmt) {
                match self.vectors(nest) {
                    Some(choice) => result.extend(self.tiled(choice)),
                    None => result.push(stmt),
                }
                continue;
            }
            let outer = self.inside;
            self.inside |= match &stmt {
                Stmt::For(inner) => inner.mark == Mark::THREADS,
                Stmt::Share(_) | Stmt::Partial(_) => true,
                Stmt::If(_) | Stmt::Store(_) => false,
                // What they are around is never independent.
                Stmt::Team(_)
                | Stmt::Call(_)
                | Stmt::Register(_)
                | Stmt::While(_)
                | Stmt::CoIter(_)
                | Stmt::Workspace(_)
                | Stmt::Let(_) => {
                    result.push(stmt);
                    continue;
                }
            };
            stmt.bodies_mut().into_iter().for_each(|body| self.stream(body));
            self.inside = outer;
            result.push(stmt);
        }
        *body = result;
    }

    /// A nest without sums whose innermost loop can be in lanes.
    fn vectors(&self, nest: Nest) -> Option<Choice> {
        let store = &nest.store;
        let element = self.buffers.get(store.buffer.0 as usize)?.element;
        let count = self.tiling.vector_bytes / element.bytes() as i64;
        let var = nest.levels.last()?.var;
        let possible = count > 1 && !element.is_integer() && !has_sums(&store.value);
        if !possible
            || self.plans.contains_key(&store.buffer)
            || store.mode != StoreMode::Set
            || !lanes::of_elements(store, var)
        {
            return None;
        }
        let mut choice = Choice { nest, factors: vec![VECTORS * count], lanes: Some((var, count)) };
        // Else it stays in a cache, and LLVM makes vectors of it.
        self.streamed(&mut choice);
        choice.nest.store.stream.is_some().then_some(choice)
    }

    /// Has the vectors of a nest go past the caches where there are many.
    pub(super) fn streamed(&self, choice: &mut Choice) {
        let Nest { levels, store } = &mut choice.nest;
        let along = choice.lanes.and_then(|(var, _)| store.index.constant_stride(var));
        let Some(buffer) = self.buffers.get(store.buffer.0 as usize) else { return };
        if along == Some(1) && store.mode == StoreMode::Set {
            // Inside of others a nest writes a piece at a time.
            let all = match self.inside {
                true => largest(&buffer.size),
                false => Some(work::iterations(levels)),
            };
            // Three streams of half a cache each do not stay in it.
            let most = self.tiling.l2 / 2 / buffer.element.bytes() as i64;
            let stream = all.map(|all| Index::Const(most).at_most(all));
            store.stream = stream.filter(|stream| stream.as_bool() != Some(false));
        }
    }

    /// Where the elements of a line begin, at or after the beginning of a loop without sums; `None` if that is not known.
    pub(super) fn aligned(&self, level: &Level, store: &Store) -> Option<Index> {
        if has_sums(&store.value) || self.lanes.is_none_or(|(var, _)| var != level.var) {
            return None;
        }
        let element = self.buffers.get(store.buffer.0 as usize)?.element;
        let first = level.lower.iter().cloned().reduce(Index::max)?;
        let place = store.index.substitute(level.var, &first);
        let plain = !place.has_selections() && !place.has_loads();
        let line = LINE / element.bytes() as i64;
        plain.then(|| first + (Index::Const(0) - place).modulo(line))
    }
}

fn has_sums(value: &Value) -> bool {
    let mut sums = false;
    value.visit(&mut |value| sums |= matches!(value, Value::Sum(_)));
    sums
}
