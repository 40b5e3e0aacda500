// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters of a router at one time, read from its OpenMetrics text.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::Value;

/// Key of the limit of neighbours.
const SESSIONS: &str = "transport/unicast/max_sessions";

/// Most links of which a router's report has counters.
const LINKS_COUNTED: usize = 256;

/// Messages of one priority that wait for a neighbour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    pub queued: u64,
    pub queued_bytes: u64,
}

/// Counters of one neighbour, over all its links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub role: String,
    /// Address of the first link.
    pub address: String,
    pub bytes: u64,
    pub sent: u64,
    pub received_bytes: u64,
    pub received: u64,
    pub dropped: u64,
    /// Attempts that found a queue full.
    pub full: u64,
    /// By the name of the priority.
    pub lanes: BTreeMap<String, Lane>,
    /// True if the report has a counter of it.
    pub is_counted: bool,
}

impl Counts {
    pub fn queued(&self) -> u64 {
        let queued = self.lanes.values().map(|lane| lane.queued);
        queued.fold(0, u64::saturating_add)
    }

    pub fn queued_bytes(&self) -> u64 {
        let bytes = self.lanes.values().map(|lane| lane.queued_bytes);
        bytes.fold(0, u64::saturating_add)
    }
}

/// Counters of a router and its neighbours.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub at: Instant,
    pub neighbours: BTreeMap<String, Counts>,
    pub memory: u64,
    pub memory_budget: u64,
    pub sessions: u64,
    pub sessions_max: u64,
    /// By the key of the limit.
    pub reached: BTreeMap<String, u64>,
    /// Number of links to all neighbours.
    pub links: usize,
}

impl Snapshot {
    /// Returns true if the counters of a neighbour are known: of few links, absent ones are 0.
    pub fn knows(&self, counts: &Counts) -> bool {
        counts.is_counted || self.links <= LINKS_COUNTED
    }

    /// Reads the text of the report `metrics`; skips lines that it does not know.
    pub fn read(text: &str, at: Instant) -> Self {
        let mut snapshot = Snapshot {
            at,
            neighbours: BTreeMap::new(),
            memory: 0,
            memory_budget: 0,
            sessions: 0,
            sessions_max: 0,
            reached: BTreeMap::new(),
            links: 0,
        };
        for (name, labels, value) in text.lines().filter_map(sample) {
            snapshot.add(name, &labels, value);
        }
        snapshot
    }

    /// Adds the neighbours of the root report, which have no counters while they are all 0.
    pub fn add_neighbours(&mut self, root: &Value) {
        for session in root["sessions"].as_array().into_iter().flatten() {
            let Some(zid) = session["peer"].as_str() else {
                continue;
            };
            self.links += session["links"].as_array().map_or(0, Vec::len);
            let counts = self.neighbours.entry(zid.to_owned()).or_default();
            if counts.address.is_empty() {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                counts.role = text(&session["whatami"]);
                counts.address = text(&session["links"][0]["dst"]);
            }
        }
    }

    fn add(&mut self, name: &str, labels: &BTreeMap<&str, String>, value: u64) {
        let label = |name: &str| labels.get(name).map(String::as_str).unwrap_or_default();
        match name {
            "zonda_memory_bytes" => self.memory = self.memory.saturating_add(value),
            "zonda_memory_budget_bytes" => self.memory_budget = value,
            "zonda_limit" if label("key") == SESSIONS => self.sessions_max = value,
            "zonda_limit_used" if label("key") == SESSIONS => self.sessions = value,
            "zonda_limit_reached_total" => {
                self.reached.insert(label("key").to_owned(), value);
            }
            _ if name.starts_with("zonda_link_") && labels.contains_key("zid") => {
                let counts = self.neighbours.entry(label("zid").to_owned()).or_default();
                counts.is_counted = true;
                if counts.address.is_empty() {
                    counts.role = label("role").to_owned();
                    counts.address = label("remote").to_owned();
                }
                let lane = |counts: &mut Counts, add: fn(&mut Lane) -> &mut u64| {
                    let lane = counts.lanes.entry(label("priority").to_owned());
                    let sum = add(lane.or_default());
                    *sum = sum.saturating_add(value);
                };
                let sum = match (name, label("result")) {
                    ("zonda_link_sent_bytes_total", _) => &mut counts.bytes,
                    ("zonda_link_received_bytes_total", _) => &mut counts.received_bytes,
                    ("zonda_link_received_messages_total", _) => &mut counts.received,
                    ("zonda_link_full_total", _) => &mut counts.full,
                    ("zonda_link_messages_total", "sent") => &mut counts.sent,
                    ("zonda_link_messages_total", "dropped") => &mut counts.dropped,
                    ("zonda_link_queued", _) => return lane(counts, |lane| &mut lane.queued),
                    ("zonda_link_queued_bytes", _) => {
                        return lane(counts, |lane| &mut lane.queued_bytes);
                    }
                    _ => return,
                };
                *sum = sum.saturating_add(value);
            }
            _ => {}
        }
    }
}

/// Parses a line of OpenMetrics text; `None` for comments and what is no sample.
fn sample(line: &str) -> Option<(&str, BTreeMap<&str, String>, u64)> {
    let (name, mut rest) = line.split_at(line.find(['{', ' '])?);
    let mut labels = BTreeMap::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (label, value) = rest.trim_start_matches(',').split_once("=\"")?;
            let (text, after) = quoted(value)?;
            labels.insert(label, text);
            rest = after;
        }
        rest = rest.strip_prefix('}')?;
    }
    let value = rest.trim().parse().ok()?;
    Some((name, labels, value))
}

/// Returns the text before the closing quote without escapes, and the rest.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut plain = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return text.get(at + 1..).map(|rest| (plain, rest)),
            '\\' => plain.push(match chars.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            c => plain.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_several_links_are_added_up() {
        let text = "# TYPE zonda_link_sent_bytes counter\n\
            zonda_link_sent_bytes_total{zid=\"a1\",role=\"client\",remote=\"tcp/1\"} 10\n\
            zonda_link_sent_bytes_total{zid=\"a1\",role=\"client\",remote=\"tcp/2\"} 5\n\
            zonda_link_received_bytes_total{zid=\"a1\",remote=\"tcp/1\"} 8\n\
            zonda_link_received_messages_total{zid=\"a1\",priority=\"Data\"} 2\n\
            zonda_link_messages_total{zid=\"a1\",priority=\"Data\",result=\"dropped\"} 3\n\
            zonda_link_queued{zid=\"a1\",priority=\"Data\"} 7\n\
            zonda_limit{key=\"transport/unicast/max_sessions\"} 100\n# EOF\n";
        let snapshot = Snapshot::read(text, Instant::now());
        let counts = &snapshot.neighbours["a1"];
        assert_eq!((counts.bytes, counts.dropped, counts.queued()), (15, 3, 7));
        assert_eq!((counts.received_bytes, counts.received), (8, 2));
        assert_eq!(counts.address, "tcp/1");
        assert_eq!(snapshot.sessions_max, 100);
    }

    #[test]
    fn of_many_links_absent_counters_are_unknown() {
        let counted = "zonda_link_queued{zid=\"a1\",priority=\"Data\"} 7\n";
        for (links, known) in [(255, true), (256, false)] {
            let mut snapshot = Snapshot::read(counted, Instant::now());
            let session = |zid: &str, links| {
                let links = vec![serde_json::json!({"dst": "tcp/1"}); links];
                serde_json::json!({"peer": zid, "whatami": "client", "links": links})
            };
            let sessions = [session("a1", links), session("b2", 1)];
            snapshot.add_neighbours(&serde_json::json!({"sessions": sessions}));
            let [counted, absent] = ["a1", "b2"].map(|zid| &snapshot.neighbours[zid]);
            assert!(snapshot.knows(counted));
            assert_eq!(snapshot.knows(absent), known, "{links}");
        }
    }

    #[test]
    fn broken_lines_are_skipped_and_escapes_are_undone() {
        for bad in [
            "",
            "x",
            "x{",
            "x{a=\"",
            "x{a=\"\\",
            "x{a=\"b\"",
            "x{a=\"b\"} y",
            "x{} -1",
        ] {
            assert_eq!(sample(bad), None, "{bad}");
        }
        let (_, labels, value) = sample(r#"x{a="q\"\\\n,}"} 4"#).expect("a sample");
        assert_eq!((labels["a"].as_str(), value), ("q\"\\\n,}", 4));
    }
}
