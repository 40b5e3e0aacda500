// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of the table: the neighbours of a router, with rates from two snapshots.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;
use zonda_program::plain;

use super::snapshot::{Counts, Snapshot};

/// Columns of the table, in order.
pub const COLUMNS: [&str; 11] = [
    "id",
    "role",
    "in msg/s",
    "in B/s",
    "out msg/s",
    "out B/s",
    "queued",
    "queued B",
    "dropped",
    "dropped/s",
    "address",
];

/// Columns that hold a name; all between them hold numbers.
const TEXTS: [usize; 3] = [0, 1, 10];

/// Column by which the table is sorted at first: bytes that wait.
pub const FULLEST: usize = 7;

/// Most characters of an id in the table.
const ID_SHOWN: usize = 8;

/// One neighbour.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    pub zid: String,
    pub role: String,
    pub address: String,
    pub in_messages_per_s: u64,
    pub in_bytes_per_s: u64,
    pub out_messages_per_s: u64,
    pub out_bytes_per_s: u64,
    pub queued: u64,
    pub queued_bytes: u64,
    /// Priority that has most bytes waiting.
    pub fullest_priority: Option<String>,
    pub dropped: u64,
    pub dropped_per_s: u64,
    /// Attempts that found a queue full.
    pub full_per_s: u64,
    /// Time for which messages wait and none is sent, as far as this program saw it.
    pub stalled_s: Option<f64>,
    /// True if the router's report leaves the counters out: all numbers are 0 then.
    pub is_unknown: bool,
}

impl Row {
    /// Returns true if sources wait for the neighbour, lose messages for it, or it takes none.
    pub fn is_slow(&self) -> bool {
        self.full_per_s > 0 || self.dropped_per_s > 0 || self.stalled_s.is_some()
    }

    /// Returns the cells, in visible characters.
    pub fn cells(&self) -> [String; COLUMNS.len()] {
        let id: String = self.zid.chars().take(ID_SHOWN).collect();
        let number = |number: u64| match self.is_unknown {
            true => "?".to_owned(),
            false => number.to_string(),
        };
        [
            plain(&id).into_owned(),
            plain(&self.role).into_owned(),
            number(self.in_messages_per_s),
            number(self.in_bytes_per_s),
            number(self.out_messages_per_s),
            number(self.out_bytes_per_s),
            number(self.queued),
            number(self.queued_bytes),
            number(self.dropped),
            number(self.dropped_per_s),
            plain(&self.address).into_owned(),
        ]
    }

    fn number(&self, column: usize) -> u64 {
        match column {
            2 => self.in_messages_per_s,
            3 => self.in_bytes_per_s,
            4 => self.out_messages_per_s,
            5 => self.out_bytes_per_s,
            6 => self.queued,
            7 => self.queued_bytes,
            8 => self.dropped,
            _ => self.dropped_per_s,
        }
    }
}

/// Sorts rows by a column: names upwards, numbers downwards, or the reverse.
pub fn sort(rows: &mut [Row], column: usize, reverse: bool) {
    rows.sort_by(|a, b| {
        let order = match column {
            0 => a.zid.cmp(&b.zid),
            1 => a.role.cmp(&b.role),
            10 => a.address.cmp(&b.address),
            _ => b.number(column).cmp(&a.number(column)),
        };
        let order = if reverse { order.reverse() } else { order };
        order.then_with(|| a.zid.cmp(&b.zid))
    });
}

/// Returns true if a column is aligned to the left.
pub fn is_text(column: usize) -> bool {
    TEXTS.contains(&column)
}

/// Times since which neighbours take nothing.
#[derive(Debug, Default)]
pub struct Stalls(BTreeMap<String, Instant>);

impl Stalls {
    /// Returns the row of each neighbour.
    pub fn rows(&mut self, before: &Snapshot, now: &Snapshot) -> Vec<Row> {
        let seconds = now.at.saturating_duration_since(before.at).as_secs_f64();
        let neighbours = now.neighbours.iter();
        let rows = neighbours.map(|(zid, counts)| {
            let old = before.neighbours.get(zid).cloned().unwrap_or_default();
            let rate = |of: fn(&Counts) -> u64| per_second(of(&old), of(counts), seconds);
            let takes_nothing = old.queued() > 0 && counts.queued() > 0 && old.sent == counts.sent;
            if !takes_nothing {
                self.0.remove(zid);
            }
            let stalled = takes_nothing.then(|| *self.0.entry(zid.clone()).or_insert(before.at));
            let lanes = counts.lanes.iter().filter(|(_, lane)| lane.queued > 0);
            let fullest = lanes.max_by_key(|(_, lane)| lane.queued_bytes);
            Row {
                zid: zid.clone(),
                is_unknown: !now.knows(counts),
                role: counts.role.clone(),
                address: counts.address.clone(),
                in_messages_per_s: rate(|counts| counts.received),
                in_bytes_per_s: rate(|counts| counts.received_bytes),
                out_messages_per_s: rate(|counts| counts.sent),
                out_bytes_per_s: rate(|counts| counts.bytes),
                queued: counts.queued(),
                queued_bytes: counts.queued_bytes(),
                fullest_priority: fullest.map(|(name, _)| name.clone()),
                dropped: counts.dropped,
                dropped_per_s: rate(|counts| counts.dropped),
                full_per_s: rate(|counts| counts.full),
                stalled_s: stalled
                    .map(|since| now.at.saturating_duration_since(since).as_secs_f64()),
            }
        });
        let rows = rows.collect();
        self.0.retain(|zid, _| now.neighbours.contains_key(zid));
        rows
    }
}

/// Returns the growth of a counter per second, rounded up; a counter that is smaller than before
/// has started over.
fn per_second(before: u64, now: u64, seconds: f64) -> u64 {
    let grown = now.checked_sub(before).unwrap_or(now);
    match seconds > 0.0 {
        true => (grown as f64 / seconds).ceil() as u64,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_counter_that_starts_over_counts_from_zero() {
        assert_eq!(per_second(10, 30, 2.0), 10);
        assert_eq!(per_second(1000, 30, 1.0), 30);
        assert_eq!(per_second(1, 2, 0.0), 0);
        assert_eq!(per_second(0, 1, 10.0), 1, "one is not none");
    }

    #[test]
    fn a_neighbour_that_takes_nothing_is_stalled_since_the_first_look() {
        let text = "zonda_link_queued{zid=\"a1\",priority=\"Data\"} 7\n";
        let begin = Instant::now();
        let at = |s| Snapshot::read(text, begin + Duration::from_secs(s));
        let mut stalls = Stalls::default();
        assert_eq!(stalls.rows(&at(0), &at(1))[0].stalled_s, Some(1.0));
        let row = stalls.rows(&at(1), &at(2)).remove(0);
        assert_eq!(row.stalled_s, Some(2.0));
        assert_eq!(row.fullest_priority.as_deref(), Some("Data"));
        let moved = format!("{text}zonda_link_messages_total{{zid=\"a1\",result=\"sent\"}} 1\n");
        let moved = Snapshot::read(&moved, begin + Duration::from_secs(3));
        assert_eq!(stalls.rows(&at(2), &moved)[0].stalled_s, None);
    }

    #[test]
    fn rows_are_sorted_by_any_column() {
        let row = |zid: &str, queued_bytes| Row {
            zid: zid.to_owned(),
            queued_bytes,
            ..Row::default()
        };
        let mut rows = [row("b", 1), row("a", 1), row("c", 9)];
        let ids = |rows: &[Row]| rows.iter().map(|r| r.zid.clone()).collect::<String>();
        sort(&mut rows, FULLEST, false);
        assert_eq!(ids(&rows), "cab");
        sort(&mut rows, FULLEST, true);
        assert_eq!(ids(&rows), "abc");
        sort(&mut rows, 0, true);
        assert_eq!(ids(&rows), "cba");
    }

    #[test]
    fn text_of_a_peer_is_escaped() {
        let row = Row {
            address: "\u{1b}[2J".to_owned(),
            ..Row::default()
        };
        assert_eq!(row.cells()[10], r"\u001b[2J");
    }
}
