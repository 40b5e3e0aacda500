// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of a campaign, which can be pasted into a Markdown page.

use super::campaign::Entry;
use super::measure::ROLES;
use super::numbers::{short, tenths, time};
use super::record::{Cell, Spread};

/// The text of a missing figure.
pub const NONE: &str = "-";

type Text<'a> = Box<dyn Fn(&Entry) -> String + 'a>;

/// A table with a row for each entry.
#[derive(Default)]
pub struct Table<'a> {
    heads: Vec<String>,
    texts: Vec<Text<'a>>,
    /// Number of text columns; the rest are numbers.
    words: usize,
    /// Number of columns at the left that are equal for compared entries.
    titles: usize,
}

impl<'a> Table<'a> {
    /// Adds a column with the scenario's name, at the left of the table.
    pub fn title(mut self, head: &str, text: impl Fn(&Entry) -> String + 'a) -> Self {
        self.titles += 1;
        self.words += 1;
        self.column(head, text)
    }

    /// Adds the column with the system's name.
    pub fn system(mut self, head: &str) -> Self {
        self.words += 1;
        self.column(head, |entry| entry.system.name.clone())
    }

    /// Adds a column.
    pub fn column(mut self, head: &str, text: impl Fn(&Entry) -> String + 'a) -> Self {
        self.heads.push(head.to_owned());
        self.texts.push(Box::new(text));
        self
    }

    /// Adds the medians of a metric.
    pub fn median(self, head: &str, metric: &'a str, text: fn(f64) -> String) -> Self {
        self.column(head, move |entry| {
            or_none(entry.cell.median(metric).map(text))
        })
    }

    /// Adds the range of a metric.
    pub fn ends(self, metric: &'a str, text: fn(Spread) -> String) -> Self {
        self.column("min..max", move |entry| {
            or_none(entry.cell.spread(metric).map(text))
        })
    }

    /// Adds the medians of the upper percentiles.
    pub fn upper(self) -> Self {
        ["p90", "p99", "p99.9", "max"]
            .into_iter()
            .fold(self, |table, name| table.median(name, name, tenths))
    }

    /// Adds the payload rate.
    pub fn gigabits(self) -> Self {
        self.column("Gb/s", |entry| {
            let size = entry.scenario.flow().map(|flow| flow.size as f64 * 8.0);
            let bits = size.zip(entry.cell.median("rate"));
            or_none(bits.map(|(size, rate)| format!("{:.2}", rate * size / 1e9)))
        })
    }

    /// Adds the CPU time of each program for a message.
    pub fn cpu(self) -> Self {
        self.column("CPU/msg", |entry| {
            by_role(&entry.cell, "cpu", |s| time(s.median))
        })
    }

    /// Adds the ratio to each of the named systems in the same scenario, computed by `times` from
    /// the two cells.
    pub fn beside(
        mut self,
        entries: &'a [Entry],
        systems: &[&'a str],
        head: fn(&str) -> String,
        times: fn(&Cell, &Cell) -> Option<f64>,
    ) -> Self {
        for &system in systems {
            self = self.column(&head(system), move |entry| {
                let other = entries.iter().find(|other| {
                    other.system.name == system
                        && other.is_beside(entry)
                        && other.system != entry.system
                });
                let times = other.and_then(|other| times(&entry.cell, &other.cell));
                or_none(times.map(|times| format!("{times:.2}")))
            });
        }
        self
    }

    /// Adds a column if `is_there`.
    pub fn column_if(
        self,
        is_there: bool,
        head: &str,
        text: impl Fn(&Entry) -> String + 'a,
    ) -> Self {
        match is_there {
            true => self.column(head, text),
            false => self,
        }
    }

    /// Returns the table of these entries; `None` without any.
    pub fn of<'e>(&self, entries: impl IntoIterator<Item = &'e Entry>) -> Option<String> {
        let mut last: Option<&Entry> = None;
        let mut rows = Vec::new();
        for entry in entries {
            let is_new = last.is_none_or(|last| !last.is_beside(entry));
            last = Some(entry);
            let texts = self.texts.iter().enumerate();
            let text = |(at, text): (usize, &Text<'_>)| match at < self.titles && !is_new {
                true => String::new(),
                false => text(entry),
            };
            rows.push(texts.map(text).collect::<Vec<_>>());
        }
        (!rows.is_empty()).then(|| zonda_program::table(&self.heads, rows, self.words..))
    }
}

/// Returns the text, or the text of a missing figure.
pub fn or_none(text: Option<String>) -> String {
    text.unwrap_or_else(|| NONE.into())
}

/// Formats a metric of each program: sender, router, receiver.
pub fn by_role(cell: &Cell, metric: &str, text: impl Fn(Spread) -> String) -> String {
    let figures = ROLES.map(|role| cell.spread(&format!("{metric}_{role}")));
    let texts: Vec<String> = figures.into_iter().flatten().map(text).collect();
    match texts.is_empty() {
        true => NONE.into(),
        false => texts.join(" / "),
    }
}

/// Returns the factor by which one cell is better than the other: the ratio of messages per second,
/// or for round trips the other's median time divided by the own one.
pub fn times_better(own: &Cell, other: &Cell) -> Option<f64> {
    match (own.median("p50"), other.median("p50")) {
        (Some(own), Some(other)) => Some(other / own),
        _ => Some(own.median("rate")? / other.median("rate")?),
    }
}

/// Formats the median and, if it differs, the range.
pub fn spread(s: Spread, text: fn(f64) -> String) -> String {
    match (text(s.min), text(s.max)) {
        (min, max) if min == max => min,
        (min, max) => format!("{} ({min}..{max})", text(s.median)),
    }
}

/// Formats the range; a missing figure if both ends look alike.
pub fn range(s: Spread) -> String {
    match short(s.min) == short(s.max) {
        true => NONE.into(),
        false => format!("{}..{}", short(s.min), short(s.max)),
    }
}

#[cfg(test)]
pub mod tests {
    fn cells(line: &str) -> Vec<&str> {
        line.trim_matches('|').split('|').map(str::trim).collect()
    }

    /// Returns the cells of the rows of a table, without its head.
    pub fn rows(text: &str) -> Vec<Vec<&str>> {
        let lines = text.lines().filter(|line| line.starts_with('|')).skip(2);
        lines.map(cells).collect()
    }
}
