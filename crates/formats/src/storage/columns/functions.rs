//! The values of functions that are computed from entries.

use super::super::indirect::{Rows, rows_fit};
use super::super::{StorageError, Tensor};
use super::store;
use super::tables::Tables;
use super::walk::{At, Stored, Walk};
use super::{Columns, collected};
use crate::format::{Indirect, LevelExpr};
use dastac_elements::Number;

/// The values of one function, by entry. The entries may get another order.
///
/// # Errors
/// Rows that do not fit into `memory`.
pub(super) fn values(
    function: &Indirect,
    columns: &mut Columns,
    tensor: &Tensor,
    (tables, memory): (Tables, u64),
) -> Result<Vec<u32>, StorageError> {
    Ok(match function {
        Indirect::Enumerate { group, along } => {
            let mut walk = Walk::new(std::mem::take(columns), tables);
            let found = enumerated(group, along, &mut walk, tensor);
            *columns = walk.columns;
            found
        }
        Indirect::Balance { rows, buckets, order } => {
            let rows = rows_of(rows, columns, tensor, memory)?;
            let buckets = rows.scheduled(buckets.unsigned_abs(), *order);
            each(&rows, &buckets)
        }
        Indirect::Reorder { rows, by, direction, window } => {
            let rows = rows_of(rows, columns, tensor, memory)?;
            let number = |entry: usize| {
                let at = columns.values.as_ref().map_or(entry, |all| all[entry] as usize);
                tensor.values.get(at).map_or(Number::Integer(0), |value| value.number())
            };
            each(&rows, &rows.sorted(&number, *by, *direction, *window))
        }
    })
}

/// The number of each row, at its entries.
fn each(rows: &Rows<u32>, numbers: &[u64]) -> Vec<u32> {
    // Functions have fewer than 2^32 values here.
    #[allow(clippy::cast_possible_truncation)]
    collected(rows.of.len(), |entry| numbers[rows.of[entry] as usize] as u32)
}

/// The values of an expression in the tensor's box.
fn stored(expr: &LevelExpr, tensor: &Tensor) -> Stored {
    let (low, high) = expr.range(&|dimension: usize| i128::from(tensor.shape[dimension]) - 1);
    let extent = u64::try_from(high - low + 1).unwrap_or_default();
    Stored::new(expr, &tensor.shape, low, extent)
}

fn rows_of(
    expr: &LevelExpr,
    columns: &Columns,
    tensor: &Tensor,
    memory: u64,
) -> Result<Rows<u32>, StorageError> {
    let rows = stored(expr, tensor);
    rows_fit(rows.extent, memory)?;
    Ok(Rows { count: usize::try_from(rows.extent).unwrap_or_default(), of: rows.all(columns) })
}

/// The number of each entry's value among the different ones of its group, in ascending order.
fn enumerated(
    group: &[LevelExpr],
    along: &LevelExpr,
    walk: &mut Walk,
    tensor: &Tensor,
) -> Vec<u32> {
    for expr in group {
        let level = stored(expr, tensor);
        let positions = u64::from(walk.positions).saturating_mul(level.extent);
        let few = positions <= walk.tables.of_all(walk.columns.count);
        if !(few && walk.full(level.clone())) {
            store::stored(walk, &level);
        }
    }
    let begins = store::stored(walk, &stored(along, tensor));
    // The number of each node within its group.
    let mut numbers = vec![0; walk.positions as usize];
    for ends in begins.windows(2) {
        let own = &mut numbers[ends[0] as usize..ends[1] as usize];
        own.iter_mut().zip(0..).for_each(|(number, at)| *number = at);
    }
    match &walk.at {
        At::Each(at) => collected(at.len(), |entry| numbers[at[entry] as usize]),
        _ => numbers,
    }
}
