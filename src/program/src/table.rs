// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables for people, in a form that can be pasted into a Markdown page.

use std::ops::RangeBounds;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

/// Formats a table of `rows` below a `header`. The columns `numbers`, counted from 0, are aligned
/// to the right.
pub fn table(
    header: impl IntoIterator<Item = impl Into<String>>,
    rows: impl IntoIterator<Item = impl IntoIterator<Item = String>>,
    numbers: impl RangeBounds<usize>,
) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(header.into_iter().map(Into::<String>::into));
    for row in rows {
        table.add_row(row);
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        if numbers.contains(&at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

#[test]
fn numbers_stand_to_the_right() {
    let rows = [["a", "1", "x"], ["b", "10", "y"]].map(|row| row.map(str::to_owned));
    let text = table(["name", "count", "more"], rows, 1..2);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "| name | count | more |");
    assert_eq!(
        lines[2..],
        ["| a    |     1 | x    |", "| b    |    10 | y    |"]
    );
}
