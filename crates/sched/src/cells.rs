//! Cells: where products without sums share elements, what is added to these elements becomes loops of their own, so
//! that later passes store each element once.
//!
//! Before -> after, of `C(i, j) := A(i, j) + B(i, j)` with a symmetric `A` that is stored where `j <= i`: loops over `j
//! <= i` for `A(i, j)`, over `i < j` for `A(j, i)`, and over all `i` and `j` for `B(i, j)` -> loops over `j <= i` for
//! `A(i, j)` and for `B(i, j)`, then loops over `i < j` for `A(j, i)` and for `B(i, j)`.
//!
//! Invariant: the statements run at the same points as before, each of which writes one element.

use dastac_poly::Set;
use dastac_stur::infer::Statement;

use crate::SchedError;

/// More cells than these are more code than they save.
const MAX_CELLS: usize = 8;

/// Elements, and the statements that write all of them.
struct Cell {
    elements: Set,
    statements: Vec<usize>,
}

/// The statements of a rule over `head`, cell by cell, or as they are where some have sums or where cells would not be
/// plain.
pub(crate) fn in_cells(
    statements: Vec<Statement>,
    head: &[String],
) -> Result<Vec<Statement>, SchedError> {
    let pointwise = |one: &Statement| one.is_exact() && one.iterators == head;
    if !(2..=MAX_CELLS).contains(&statements.len()) || !statements.iter().all(pointwise) {
        return Ok(statements);
    }
    let mut cells: Vec<Cell> = Vec::new();
    for (place, statement) in statements.iter().enumerate() {
        let mut rest = statement.domain.clone();
        let mut next = Vec::new();
        for Cell { elements, statements } in cells {
            let shared = elements.intersect(&rest)?;
            if shared.is_empty()? {
                next.push(Cell { elements, statements });
                continue;
            }
            rest = rest.subtract(&elements)?;
            let alone = elements.subtract(&statement.domain)?;
            let both = statements.iter().copied().chain([place]).collect();
            next.push(Cell { elements: shared, statements: both });
            next.push(Cell { elements: alone, statements });
        }
        next.push(Cell { elements: rest, statements: vec![place] });
        cells = Vec::new();
        for mut cell in next {
            cell.elements = cell.elements.coalesce()?;
            match cell.elements.basic_set_count()? {
                0 => {}
                1 => cells.push(cell),
                _ => return Ok(statements),
            }
        }
        if cells.len() > MAX_CELLS {
            return Ok(statements);
        }
    }
    let all = |cell: &Cell| cell.statements.len() == statements.len();
    if cells.iter().all(|cell| cell.statements.len() == 1) || cells.iter().all(all) {
        return Ok(statements);
    }
    let mut parts = Vec::new();
    for Cell { elements, statements: places } in &cells {
        for place in places {
            parts.push(Statement { domain: elements.clone(), ..statements[*place].clone() });
        }
    }
    Ok(parts)
}
