//! Tables for people.

use std::io::IsTerminal;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

/// A narrower terminal shows long lines better than slender columns.
const LEAST_WIDTH: u16 = 80;

/// A table under headings; those that begin with `>` are of numbers. The last column is wrapped, on a terminal only.
pub fn table(headings: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let wrap = std::io::stdout().is_terminal() && table.width() >= Some(LEAST_WIDTH);
    table.set_content_arrangement(if wrap {
        ContentArrangement::Dynamic
    } else {
        ContentArrangement::Disabled
    });
    table.set_header(headings.iter().map(|heading| heading.trim_start_matches('>')));
    table.add_rows(rows);
    for (position, (column, heading)) in table.column_iter_mut().zip(headings).enumerate() {
        column.set_padding((0, 2));
        if position + 1 < headings.len() {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        if heading.starts_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    // Padding at the end of lines disturbs whoever copies or compares them.
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Dense bytes over packed bytes.
pub fn ratio(dense: u128, packed: u128) -> String {
    if packed == 0 || dense == 0 {
        return "-".into();
    }
    // Sizes are shown, not computed with.
    #[allow(clippy::cast_precision_loss)]
    let ratio = dense as f64 / packed as f64;
    if ratio >= 100.0 { format!("{ratio:.0}x") } else { format!("{ratio:.2}x") }
}

/// Nanoseconds for people: three digits.
pub fn duration(nanoseconds: u64) -> String {
    #[allow(clippy::cast_precision_loss)]
    let seconds = nanoseconds as f64 / 1e9;
    let (value, unit) = match nanoseconds {
        0..=999 => return format!("{nanoseconds} ns"),
        1_000..=999_999 => (seconds * 1e6, "us"),
        1_000_000..=999_999_999 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    if value >= 100.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}
