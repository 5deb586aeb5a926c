//! Vectors of nests that write much go to memory past the caches.
//!
//! A store to a line that no cache holds reads the line first, and puts out what would have been read again. Where a
//! nest reads and writes much, whole vectors do better without. From which size on depends on the machine
//! ([`crate::machine::Machine::stream`]): on some, what the last cache holds is written faster than memory, on others
//! it is not. How much a nest reads and writes is known when it runs, so a store says when it is enough
//! ([`Store::stream`]).
//!
//! Before -> after: `parallel i = 0 to N hint(nest, tile 32, lanes 8) { y[i] = a[i] * x[i] }` ->
//! `parallel i = 0 to N hint(nest, tile 32, lanes 8) { y[i] = a[i] * x[i] stream if N >= 131072 }`.

use super::nest::Nest;
use super::split_reductions::largest;
use super::walk::{Walk, each_nest};
use super::work;
use crate::ir::*;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_nest(module, context, |walk, nest| {
        let hints = &walk.function.hints;
        let (var, _) = nest.lanes(hints).filter(|_| nest.begins(hints))?;
        let whole = !walk.inside || nest.is_part();
        let stream = streams(walk, nest, var, whole)?;
        let store = Store { stream: Some(stream), ..nest.store.clone() };
        Some(Nest { store, ..nest.clone() }.statements())
    });
}

/// When the vectors of a nest, along a loop, are too many for the cache; nothing if they never are. A nest that is not
/// the whole of what a thread does writes a piece at a time.
pub(super) fn streams(
    walk: &Walk<'_>,
    nest: &Nest,
    along: VarId,
    whole: bool,
) -> Option<Condition> {
    let Nest { levels, store, .. } = nest;
    let buffer = walk.buffers.get(store.buffer.0 as usize)?;
    if store.index.constant_stride(along) != Some(1) || store.mode != StoreMode::Set {
        return None;
    }
    let all = if whole { work::iterations(levels) } else { largest(&buffer.size)? };
    let most = walk.machine.stream / touched(walk, store, along, buffer.element.bytes() as i64);
    let stream = Index::Const(most).at_most(all);
    (stream.as_bool() != Some(false)).then_some(stream)
}

/// Bytes that a nest reads and writes for each element of `bytes` bytes. Operands of sums are used again, so that how
/// much of them is read says little: they count as two elements, as those of a product do.
fn touched(walk: &Walk<'_>, store: &Store, along: VarId, bytes: i64) -> i64 {
    let mut sums = false;
    let mut loads: Vec<(BufferId, &Index)> = Vec::new();
    store.value.visit(&mut |value| match value {
        Value::Sum(_) => sums = true,
        Value::Load(buffer, index)
            if index.mentions(along) && !loads.contains(&(*buffer, index)) =>
        {
            loads.push((*buffer, index));
        }
        _ => {}
    });
    let bytes_of = |(buffer, _): &(BufferId, &Index)| {
        let buffer = walk.buffers.get(buffer.0 as usize);
        buffer.map_or(bytes, |buffer| buffer.element.bytes() as i64)
    };
    bytes + if sums { 2 * bytes } else { loads.iter().map(bytes_of).sum() }
}
