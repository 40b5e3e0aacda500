// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of a message from point to point of its time-stamp stack, with the time that each took.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zonda::timestamp_stack::{
    InstrumentationTimestamp, InterceptionPoint, TimestampStack, TimestampStackRecord,
};
use zonda_program::table;

/// Limit of the ways that a summary keeps apart.
const WAYS_MAX: usize = 64;

/// Limit of the messages of one way in a summary.
const MESSAGES_MAX: usize = 10_000;

/// Width of the longest bar, in characters.
const BAR: f64 = 20.0;

/// Most characters of an id in a table.
const ID_SHOWN: usize = 8;

/// A point that a message passed.
struct Mark {
    point: InterceptionPoint,
    /// The node; `None` where the application of a node gave the time.
    node: Option<String>,
    /// Time in nanoseconds since 1970, by the node's clock.
    at: Option<u64>,
}

impl Mark {
    fn of(record: &TimestampStackRecord) -> Mark {
        let (node, at) = match record.timestamp() {
            InstrumentationTimestamp::UHLC(time) => {
                (Some(time.id().to_string()), Some(time.time().as_nanos()))
            }
            InstrumentationTimestamp::Custom(_) => (None, None),
        };
        Mark {
            point: record.point(),
            node,
            at,
        }
    }

    fn node(&self) -> &str {
        self.node.as_deref().unwrap_or("?")
    }

    /// Returns the name of the step that ends here.
    fn step_from(&self, before: &Mark) -> String {
        use InterceptionPoint::{Receive, Route, Send};
        let [from, to] = [before, self].map(|mark| {
            let id = mark.node().chars();
            id.take(ID_SHOWN).collect::<String>()
        });
        match (before.point, self.point, from == to) {
            (Send, Route, true) => format!("{to}: from the application"),
            (Send, Receive, true) => format!("{to}: within the session"),
            (Route, Receive, true) => format!("{to}: to the application"),
            (Receive, Send, true) => format!("{to}: answer of the application"),
            (Route, Route, _) => format!("{from} -> {to}"),
            (before, after, _) => {
                format!("{from} {} -> {to} {}", name(before), name(after))
            }
        }
    }
}

fn name(point: InterceptionPoint) -> &'static str {
    match point {
        InterceptionPoint::Send => "send",
        InterceptionPoint::Route => "route",
        InterceptionPoint::Receive => "receive",
    }
}

/// A step from one point to the next.
struct Step {
    name: String,
    /// Nanoseconds; `None` if one of both ends has no time of a clock.
    took: Option<i64>,
    /// Nanoseconds from the first point to the end of the step.
    at: Option<i64>,
}

/// Steps of one message.
pub struct Steps {
    marks: Vec<Mark>,
    steps: Vec<Step>,
}

impl Steps {
    /// Reads the stack of a message.
    pub fn of(stack: &TimestampStack) -> Steps {
        Steps::between(stack.records().iter().map(Mark::of).collect())
    }

    fn between(marks: Vec<Mark>) -> Steps {
        let first = marks.first().and_then(|mark| mark.at);
        let steps = marks.iter().zip(marks.iter().skip(1));
        let steps = steps.map(|(before, mark)| Step {
            name: mark.step_from(before),
            took: since(before.at, mark.at),
            at: since(first, mark.at),
        });
        let steps = steps.collect();
        Steps { marks, steps }
    }

    /// Returns the nodes on the way, in order.
    fn way(&self) -> String {
        let mut nodes: Vec<&str> = self.marks.iter().map(Mark::node).collect();
        nodes.dedup();
        nodes.join(" -> ")
    }

    /// Returns the nanoseconds from the first point to the last.
    fn total(&self) -> Option<i64> {
        self.steps.last().and_then(|step| step.at)
    }

    /// Returns true if a step took less than nothing: the clocks of its two nodes differ.
    pub fn has_odd_clocks(&self) -> bool {
        let took = self.steps.iter().filter_map(|step| step.took);
        took.min().is_some_and(|least| least < 0)
    }

    /// Formats the way and its whole time, and below a table with a line for each step.
    pub fn lines(&self, what: &str) -> String {
        let total = self.total();
        let rows = self.steps.iter().map(|step| {
            [
                step.name.clone(),
                micros(step.took),
                micros(step.at),
                share(step.took, total),
            ]
        });
        let rows: Vec<_> = rows.collect();
        let head = format!("{what}  {}  {} µs", self.way(), micros(total));
        match rows.is_empty() {
            true => head,
            false => {
                let header = ["step", "took µs", "since start", "share"];
                format!("{head}\n{}", table(header, rows, 1..3))
            }
        }
    }

    /// Formats the steps as JSON.
    pub fn json(&self) -> Value {
        let micros = |nanos: Option<i64>| nanos.map(|nanos| nanos as f64 / 1e3);
        let steps = self.steps.iter().map(|step| {
            json!({"step": step.name, "took_us": micros(step.took), "since_start_us": micros(step.at)})
        });
        let records = self
            .marks
            .iter()
            .map(|mark| json!({"point": name(mark.point), "node": mark.node, "at_ns": mark.at}));
        json!({
            "way": self.way(),
            "took_us": micros(self.total()),
            "steps": steps.collect::<Vec<_>>(),
            "records": records.collect::<Vec<_>>(),
        })
    }
}

fn since(before: Option<u64>, after: Option<u64>) -> Option<i64> {
    i64::try_from(i128::from(after?) - i128::from(before?)).ok()
}

fn micros(nanos: Option<i64>) -> String {
    nanos.map_or("?".to_owned(), |nanos| format!("{:.1}", nanos as f64 / 1e3))
}

/// Formats a part of a whole, with a bar.
fn share(took: Option<i64>, total: Option<i64>) -> String {
    match (took, total) {
        (Some(took), Some(total)) if total > 0 && (0..=total).contains(&took) => {
            let part = took as f64 / total as f64;
            let bar = "#".repeat((part * BAR).round() as usize);
            format!("{:>3.0} % {bar}", part * 100.0)
                .trim_end()
                .to_owned()
        }
        _ => String::new(),
    }
}

/// Times of all messages, by their way.
#[derive(Default)]
pub struct Summary {
    ways: BTreeMap<Vec<String>, Vec<Vec<i64>>>,
}

impl Summary {
    /// Adds a message. Messages of more ways than a summary has room for, or with times that are no
    /// times of a clock, are left out.
    pub fn add(&mut self, steps: &Steps) {
        let Some(times) = steps.steps.iter().map(|step| step.took).collect() else {
            return;
        };
        let names: Vec<_> = steps.steps.iter().map(|step| step.name.clone()).collect();
        let has_room = self.ways.len() < WAYS_MAX || self.ways.contains_key(&names);
        if names.is_empty() || !has_room {
            return;
        }
        let messages = self.ways.entry(names).or_default();
        if messages.len() < MESSAGES_MAX {
            messages.push(times);
        }
    }

    /// Formats a table for each way that several messages took.
    pub fn tables(&self) -> Vec<String> {
        let several = self.ways.iter().filter(|(_, messages)| messages.len() > 1);
        let tables = several.map(|(names, messages)| {
            let row = |name: &str, mut times: Vec<i64>| {
                times.sort_unstable();
                let at = |part: usize| times.get((times.len() - 1) * part / 100).copied();
                [
                    name.to_owned(),
                    micros(at(0)),
                    micros(at(50)),
                    micros(at(90)),
                    micros(at(100)),
                ]
            };
            let mut rows = Vec::new();
            for (number, name) in names.iter().enumerate() {
                let times = messages.iter().filter_map(|times| times.get(number));
                rows.push(row(name, times.copied().collect()));
            }
            rows.push(row(
                "all",
                messages.iter().map(|times| times.iter().sum()).collect(),
            ));
            let header = ["step (µs)", "min", "p50", "p90", "max"];
            format!("{} messages\n{}", messages.len(), table(header, rows, 1..))
        });
        tables.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use InterceptionPoint::{Receive, Route, Send};

    fn steps(marks: &[(InterceptionPoint, &str, u64)]) -> Steps {
        let marks = marks.iter().map(|(point, node, micros)| Mark {
            point: *point,
            node: Some((*node).to_owned()),
            at: Some(micros * 1000),
        });
        Steps::between(marks.collect())
    }

    #[test]
    fn a_way_over_a_router_is_a_line_for_each_step() {
        let marks = [
            (Send, "c1", 1000),
            (Route, "c1", 1010),
            (Route, "a1", 1060),
            (Route, "c2", 1090),
            (Receive, "c2", 1100),
        ];
        let text = steps(&marks).lines("PUT demo/a  5 B");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "PUT demo/a  5 B  c1 -> a1 -> c2  100.0 µs");
        let cells = |line: &&str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
        let rows: Vec<Vec<String>> = lines[3..].iter().map(cells).collect();
        let step = |name: &str, took: &str, at: &str, share: &str| {
            ["", name, took, at, share, ""].map(str::to_owned).to_vec()
        };
        assert_eq!(
            rows,
            [
                step("c1: from the application", "10.0", "10.0", "10 % ##"),
                step("c1 -> a1", "50.0", "60.0", "50 % ##########"),
                step("a1 -> c2", "30.0", "90.0", "30 % ######"),
                step("c2: to the application", "10.0", "100.0", "10 % ##"),
            ]
        );
    }

    #[test]
    fn the_way_of_a_reply_goes_there_and_back() {
        let marks = [
            (Send, "c1", 0),
            (Receive, "c1", 1),
            (Send, "c1", 5),
            (Receive, "c2", 9),
        ];
        let steps = steps(&marks);
        let names: Vec<_> = steps.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "c1: within the session",
                "c1: answer of the application",
                "c1 send -> c2 receive"
            ]
        );
        assert!(!steps.has_odd_clocks());
    }

    /// A time of an application is no time of a clock, and clocks of two nodes may differ.
    #[test]
    fn times_that_cannot_be_compared_are_not_compared() {
        let mut marks = steps(&[(Send, "c1", 7), (Route, "a1", 8), (Receive, "c2", 9)]).marks;
        marks[1].node = None;
        marks[1].at = None;
        let mixed = Steps::between(marks);
        let took: Vec<_> = mixed.steps.iter().map(|step| step.took).collect();
        assert_eq!((took, mixed.total()), (vec![None, None], Some(2000)));
        assert!(mixed.lines("PUT a").contains("| c1 send -> ? route"));
        let mut summary = Summary::default();
        summary.add(&mixed);
        assert!(summary.ways.is_empty());

        let back = steps(&[(Send, "c1", 9), (Receive, "c2", 7)]);
        assert!(back.has_odd_clocks());
        assert!(back.lines("PUT a").contains("-2.0 µs"));
        let empty = steps(&[]);
        assert_eq!(empty.lines("PUT a"), "PUT a    ? µs");
    }

    #[test]
    fn a_summary_keeps_ways_apart_and_is_bounded() {
        let mut summary = Summary::default();
        for micros in 1..=100 {
            summary.add(&steps(&[(Route, "a1", 0), (Route, "b2", micros)]));
        }
        summary.add(&steps(&[(Route, "a1", 0), (Route, "c3", 1)]));
        let tables = summary.tables();
        assert_eq!(tables.len(), 1);
        assert!(tables[0].starts_with("100 messages\n"), "{}", tables[0]);
        let row = "| a1 -> b2  | 1.0 | 50.0 | 90.0 | 100.0 |";
        assert!(tables[0].contains(row), "{}", tables[0]);
        for node in 0..2 * WAYS_MAX {
            summary.add(&steps(&[(Route, "a1", 0), (Route, &node.to_string(), 1)]));
        }
        assert_eq!(summary.ways.len(), WAYS_MAX);
    }
}
