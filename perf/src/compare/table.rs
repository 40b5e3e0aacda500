// SPDX-License-Identifier: MIT OR Apache-2.0
//! The comparison as a table that can be pasted into a Markdown page.

use super::difference::{Change, Comparison, Difference, count};
use crate::numbers::short;
use crate::record::Spread;
use crate::table::NONE;

/// Returns one row per metric and cell that has changed, or for all of them; `None` if there is no
/// row.
pub fn table(comparison: &Comparison<'_>, with_all: bool) -> Option<String> {
    let header = [
        "system", "case", "at", "metric", "A", "B", "change", "p", "verdict",
    ];
    let all = comparison.own.iter().chain(&comparison.yardsticks);
    let wanted = all.filter(|d| with_all || d.change != Change::None);
    let rows: Vec<_> = wanted.map(row).collect();
    (!rows.is_empty()).then(|| zonda_program::table(header, rows, 4..8))
}

fn row(difference: &Difference<'_>) -> [String; 9] {
    let Difference {
        cell,
        before,
        after,
        ..
    } = difference;
    let x = cell.x.as_ref();
    [
        cell.system.clone(),
        cell.case.clone(),
        x.map_or(NONE.into(), |x| format!("{} {}", x.value, x.unit)),
        format!("{} ({})", difference.metric, difference.unit),
        spread(before),
        spread(after),
        change(before.median, after.median),
        format!("{:.4}", difference.p),
        match difference.change {
            Change::None => NONE.into(),
            Change::Better => "better".into(),
            Change::Worse => "WORSE".into(),
        },
    ]
}

fn spread(spread: &Spread) -> String {
    let Spread { median, min, max } = *spread;
    match min == max {
        true => short(median),
        false => format!("{} ({}..{})", short(median), short(min), short(max)),
    }
}

fn change(before: f64, after: f64) -> String {
    if before == after {
        return "0 %".into();
    }
    if before == 0.0 {
        return "from 0".into();
    }
    format!("{:+.1} %", 100.0 * (after / before - 1.0))
}

/// Returns the numbers of better and worse figures, in words.
pub fn summary(comparison: &Comparison<'_>) -> String {
    let own = &comparison.own;
    let (better, worse) = (count(own, Change::Better), count(own, Change::Worse));
    if better + worse == 0 {
        return format!(
            "no difference: none of {} figures differs by more than chance",
            own.len()
        );
    }
    format!(
        "of {} figures {better} are better and {worse} are worse",
        own.len()
    )
}
