//! What tiles will need is fetched while others are computed.
//!
//! The columns of a tile stay in the second cache from one row of tiles to the next. What comes from memory is the rows: those of the next row of
//! tiles, and these rows' next block. Each tile of a row fetches a few of them, one element for each step of its sum, so that no step waits.
//!
//! Before -> after, of tiles of 6 x 4: `sum(x = b to b + 512) B[M * i + x] * ..` ->
//! `sum(.. fetch B[M * (it + jt / 4 % 6) + x + 512], B[M * (it + 6 + jt / 4 % 6) + x]) ..`.

use super::Tiler;
use crate::ir::*;

impl Tiler<'_> {
    /// A store of full tiles whose cut sum fetches the rows to come.
    pub(super) fn fetching(
        &self,
        store: &Store,
        (row, start, rows): (VarId, &Index, i64),
        (column, at, columns): (VarId, &Index, i64),
    ) -> Store {
        let Some((cut, size)) = self.blocks else { return store.clone() };
        // A step of the sum is one vector: it fetches a part of a line, or two. Beside elements in lanes it is one term, and few of them
        // fetch another line: enough for the rows to come.
        let terms = self.lanes.is_none();
        let each = if terms && self.tiling.vector_bytes >= 64 { 2 } else { 1 };
        let tile = at.clone().floor_div(columns);
        let value = store.value.map_sums(&|mut sum| {
            if sum.var != cut {
                return Value::Sum(Box::new(sum));
            }
            let loads = |with: VarId, without: VarId| {
                let mut loads: Vec<(BufferId, &Index)> = Vec::new();
                sum.body.visit(&mut |value| {
                    if let Value::Load(buffer, index) = value {
                        let fits = index.constant_stride(cut) == Some(1) && index.mentions(with);
                        if fits && !index.mentions(without) && !loads.contains(&(*buffer, index)) {
                            loads.push((*buffer, index));
                        }
                    }
                });
                loads
            };
            let later = |index: &Index| index.substitute(cut, &(Index::Var(cut) + size));
            let mut fetch = Vec::new();
            for (buffer, index) in loads(row, column) {
                for nth in 0..each {
                    let which = (tile.clone() * each + nth).modulo(rows);
                    let this = start.clone() + which;
                    if terms {
                        fetch.push((buffer, later(index).substitute(row, &this)));
                    }
                    if nth == 0 {
                        fetch.push((buffer, index.substitute(row, &(this + rows))));
                    }
                }
            }
            // A part for one of several threads has more columns than rows.
            if self.tiling.has_threads() && terms {
                for (buffer, index) in loads(column, row) {
                    let which = start.clone().floor_div(rows).modulo(columns);
                    fetch.push((buffer, later(index).substitute(column, &(at.clone() + which))));
                }
            }
            sum.fetch = fetch;
            Value::Sum(Box::new(sum))
        });
        Store { value, ..store.clone() }
    }
}
