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
    /// Columns that a narrow terminal goes without, the last one first.
    minor: Vec<usize>,
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

    /// Lets a narrow terminal go without the last column.
    pub fn minor(mut self) -> Self {
        self.minor.extend(self.heads.len().checked_sub(1));
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
        let ends = move |entry: &Entry| or_none(entry.cell.spread(metric).map(text));
        self.column("min..max", ends).minor()
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
        let cpu = |entry: &Entry| by_role(&entry.cell, "cpu", |s| time(s.median));
        self.column("CPU/msg", cpu).minor()
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
        (!rows.is_empty()).then(|| self.fitting(&rows, zonda_program::terminal_width()))
    }

    /// Formats rows for a terminal of this width; for a page if there is none.
    fn fitting(&self, rows: &[Vec<String>], width: Option<usize>) -> String {
        let is_too_wide = |text: &str| {
            let width = width.unwrap_or(usize::MAX);
            text.lines().any(|line| line.chars().count() > width)
        };
        let mut kept = self.minor.len();
        let mut text = self.without(&[], rows);
        while kept > 0 && is_too_wide(&text) {
            kept -= 1;
            text = self.without(&self.minor[kept..], rows);
        }
        let absent: Vec<&str> = self.minor[kept..]
            .iter()
            .map(|at| self.heads[*at].as_str())
            .collect();
        match absent.is_empty() {
            true => text,
            false => format!(
                "{text}\nnot shown, as the terminal is narrow: {}",
                absent.join(", ")
            ),
        }
    }

    fn without(&self, absent: &[usize], rows: &[Vec<String>]) -> String {
        let shown = |cells: &[String]| -> Vec<String> {
            let cells = cells.iter().enumerate();
            let cells = cells.filter(|(at, _)| !absent.contains(at));
            cells.map(|(_, cell)| cell.clone()).collect()
        };
        let rows = rows.iter().map(|row| shown(row));
        zonda_program::table(shown(&self.heads), rows, self.words..)
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
    use super::Table;

    #[test]
    fn a_narrow_terminal_goes_without_minor_columns() {
        let table = Table::default()
            .title("case", |_| String::new())
            .column("p50", |_| String::new())
            .ends("p50", |_| String::new())
            .cpu();
        let row = ["a case", "1.5", "1.0..2.0", "2 µs"].map(str::to_owned);
        let heads = |width| {
            let text = table.fitting(&[row.to_vec()], width);
            let head = text.lines().next().map(cells).unwrap_or_default();
            let head: Vec<String> = head.into_iter().map(str::to_owned).collect();
            (head, text.lines().last().map(str::to_owned))
        };
        let wide = heads(None).0;
        assert_eq!(wide, ["case", "p50", "min..max", "CPU/msg"]);
        assert_eq!(heads(Some(80)).0, wide);
        let (head, note) = heads(Some(32));
        assert_eq!(head, ["case", "p50", "min..max"]);
        assert!(note.is_some_and(|note| note.ends_with(": CPU/msg")));
        let (head, note) = heads(Some(1));
        assert_eq!(head, ["case", "p50"]);
        assert!(note.is_some_and(|note| note.ends_with(": min..max, CPU/msg")));
    }

    fn cells(line: &str) -> Vec<&str> {
        line.trim_matches('|').split('|').map(str::trim).collect()
    }

    /// Returns the cells of the rows of a table, without its head.
    pub fn rows(text: &str) -> Vec<Vec<&str>> {
        let lines = text.lines().filter(|line| line.starts_with('|')).skip(2);
        lines.map(cells).collect()
    }
}
