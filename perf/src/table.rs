// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of a campaign, in a form that can be pasted into a Markdown page.

use super::campaign::Entry;
use super::measure::ROLES;
use super::numbers::{short, tenths, time};
use super::record::{Cell, Spread};

/// What stands where there is no figure.
pub const NONE: &str = "-";

type Text<'a> = Box<dyn Fn(&Entry) -> String + 'a>;

/// A row for each entry, a column for each of what is said about it.
#[derive(Default)]
pub struct Table<'a> {
    heads: Vec<String>,
    texts: Vec<Text<'a>>,
    /// Columns of words, the others are of numbers.
    words: usize,
    /// Columns at the left that say the same for all that are beside each other.
    titles: usize,
}

impl<'a> Table<'a> {
    /// A column that names the scenario, before all others.
    pub fn title(mut self, head: &str, text: impl Fn(&Entry) -> String + 'a) -> Self {
        self.titles += 1;
        self.words += 1;
        self.column(head, text)
    }

    /// The column with the system's name.
    pub fn system(mut self, head: &str) -> Self {
        self.words += 1;
        self.column(head, |entry| entry.system.name.clone())
    }

    /// One column more.
    pub fn column(mut self, head: &str, text: impl Fn(&Entry) -> String + 'a) -> Self {
        self.heads.push(head.to_owned());
        self.texts.push(Box::new(text));
        self
    }

    /// The medians of a metric.
    pub fn median(self, head: &str, metric: &'a str, text: fn(f64) -> String) -> Self {
        self.column(head, move |entry| {
            or_none(entry.cell.median(metric).map(text))
        })
    }

    /// The ends of a metric.
    pub fn ends(self, metric: &'a str, text: fn(Spread) -> String) -> Self {
        self.column("min..max", move |entry| {
            or_none(entry.cell.spread(metric).map(text))
        })
    }

    /// The medians of the upper percentiles.
    pub fn upper(self) -> Self {
        ["p90", "p99", "p99.9", "max"]
            .into_iter()
            .fold(self, |table, name| table.median(name, name, tenths))
    }

    /// The payload moved.
    pub fn gigabits(self) -> Self {
        self.column("Gb/s", |entry| {
            let size = entry.scenario.flow().map(|flow| flow.size as f64 * 8.0);
            let bits = size.zip(entry.cell.median("rate"));
            or_none(bits.map(|(size, rate)| format!("{:.2}", rate * size / 1e9)))
        })
    }

    /// The CPU time of each program for a message.
    pub fn cpu(self) -> Self {
        self.column("CPU/msg", |entry| {
            by_role(&entry.cell, "cpu", |s| time(s.median))
        })
    }

    /// The ratio to each of the systems of that name that are beside, by `times` of the own and the other figure.
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

    /// A column that is there if that holds.
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

    /// The table of these entries; `None` without any.
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

/// A text, or what stands where there is none.
pub fn or_none(text: Option<String>) -> String {
    text.unwrap_or_else(|| NONE.into())
}

/// A metric of each program: sender, router, receiver.
pub fn by_role(cell: &Cell, metric: &str, text: impl Fn(Spread) -> String) -> String {
    let figures = ROLES.map(|role| cell.spread(&format!("{metric}_{role}")));
    let texts: Vec<String> = figures.into_iter().flatten().map(text).collect();
    match texts.is_empty() {
        true => NONE.into(),
        false => texts.join(" / "),
    }
}

/// How many times better one cell is than the other: messages per second, or for round trips the other's median time
/// over the own.
pub fn times_better(own: &Cell, other: &Cell) -> Option<f64> {
    match (own.median("p50"), other.median("p50")) {
        (Some(own), Some(other)) => Some(other / own),
        _ => Some(own.median("rate")? / other.median("rate")?),
    }
}

/// The middle and, where they differ from it, the ends.
pub fn spread(s: Spread, text: fn(f64) -> String) -> String {
    match (text(s.min), text(s.max)) {
        (min, max) if min == max => min,
        (min, max) => format!("{} ({min}..{max})", text(s.median)),
    }
}

/// From the smallest to the largest, or nothing if they look alike.
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

    /// The cells of the rows of a table, without its head.
    pub fn rows(text: &str) -> Vec<Vec<&str>> {
        let lines = text.lines().filter(|line| line.starts_with('|')).skip(2);
        lines.map(cells).collect()
    }
}
