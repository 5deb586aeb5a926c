//! Transposition in registers: nests without sums that read columns where they store rows are cut into square blocks.
//!
//! A block's columns are loaded as vectors, of which the rows are made in registers, instead of one element at a time
//! ([`crate::lanes::of_blocks`]).
//!
//! Before -> after: `parallel i = 0 to N { parallel j = 0 to N { B[N * i + j] = A[N * j + i] } }` ->
//! `parallel i = 0 to N hint(nest, tile 4) { parallel j = 0 to N hint(tile 4, lanes 4) { .. } }`.

use super::few::is_short;
use super::interchange::interchange;
use super::nest::{Level, Nest};
use super::walk::{Walk, each_nest};
use crate::ir::*;
use crate::lanes;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_nest(module, context, |walk, nest| {
        let (nest, count, rows) = blocks(walk, nest)?;
        let hints = &mut walk.function.hints;
        let [.., by, lane] = &nest.levels[..] else { return None };
        hints.update(nest.levels[0].var, |hint| hint.nest = true);
        hints.update(by.var, |hint| hint.tile = Some(rows));
        hints.update(lane.var, |hint| (hint.tile, hint.lanes) = (Some(count), Some(count)));
        Some(nest.statements())
    });
}

/// A nest with the loops of its blocks innermost, that over lanes last; the number of lanes, and of rows in a block,
/// which read whole lines of columns.
fn blocks(walk: &Walk<'_>, nest: &Nest) -> Option<(Nest, i64, i64)> {
    let hints = &walk.function.hints;
    let store = &nest.store;
    let element = walk.buffers.get(store.buffer.0 as usize)?.element.computed();
    let count = walk.machine.lanes(element.bytes() as i64);
    let cut = nest.levels.iter().any(|level| hints.get(level.var).tile.is_some());
    if count < 2 || element.is_integer() || cut || hints.compact || nest.first.is_some() {
        return None;
    }
    if nest.is_scheduled(hints) {
        return None;
    }
    let vars = || nest.levels.iter().rev().map(|level| level.var);
    let lane = vars().find(|var| store.index.constant_stride(*var) == Some(1))?;
    let by = vars().find(|by| *by != lane && lanes::of_blocks(store, lane, *by))?;
    let wide = |level: &Level| {
        let mut pairs =
            level.lower.iter().flat_map(|low| level.upper.iter().map(move |high| (low, high)));
        let known = |(low, high): (&Index, &Index)| high.constant_difference(low);
        !pairs.any(|pair| known(pair).is_some_and(|length| length < count))
    };
    let mut sides = nest.levels.iter().filter(|level| [lane, by].contains(&level.var));
    let wide = sides.all(|level| wide(level) && !is_short(level, &walk.facts));
    let ordered = interchange(nest, &[by, lane], &walk.facts).filter(|_| wide)?;
    Some((ordered, count, count.max(walk.machine.line / element.bytes() as i64)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::pieces;

    #[test]
    fn columns_are_read_in_blocks() {
        let mut all = String::new();
        for body in [
            "parallel i = 0 to N { parallel j = 0 to N { A[N * i + j] = B[N * j + i] * C[N * i + j] } }",
            "parallel i = 0 to N { parallel j = i + 1 to N { A[N * i + j] += B[exact((j + 1) * j, 2) + i] } }",
            "parallel i = 0 to N { parallel j = 0 to M { A[N * j + i] = B[M * i + j] + C[N - i] } }",
            "parallel i = 0 to N { parallel j = 0 to N { A[N * i + j] = B[M * j + 2 * i] } }",
            "parallel i = 0 to 3 { parallel j = 0 to N { A[N * i + j] = B[3 * j + i] } }",
        ] {
            all += &pieces("transpose-blocks", body);
        }
        expect_test::expect![[r#"
            parallel i = 0 to N hint(nest, tile 8) {
              parallel j = 0 to N hint(tile 4, lanes 4) {
                A[N * i + j] = B[N * j + i] * C[N * i + j]
              }
            }
            parallel i = 0 to N hint(nest, tile 8) {
              parallel j = i + 1 to N hint(tile 4, lanes 4) {
                A[N * i + j] += B[exact((j + 1) * j, 2) + i]
              }
            }
            parallel j = 0 to M hint(nest, tile 8) {
              parallel i = 0 to N hint(tile 4, lanes 4) {
                A[N * j + i] = B[M * i + j] + C[N - i]
              }
            }
            parallel i = 0 to N {
              parallel j = 0 to N {
                A[N * i + j] = B[M * j + 2 * i]
              }
            }
            parallel i = 0 to 3 {
              parallel j = 0 to N {
                A[N * i + j] = B[3 * j + i]
              }
            }
        "#]]
        .assert_eq(&all);
    }
}
