// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a worker tells the process that started it: one JSON object per line on standard output.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use zonda_program::print;

use super::round_trips::pairs;

/// One line of a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The worker is set up; others may connect to these addresses.
    Ready {
        /// Bound addresses, a relay's front before its back.
        listening: Vec<String>,
    },
    /// Messages received since the start, and when that was counted.
    Count(Count),
    /// The warm-up is over and round trips are being recorded.
    Measuring,
    /// The recorded round trips.
    RoundTrips(RoundTrips),
}

/// A counter's reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// Messages since the start.
    pub messages: u64,
    /// Nanoseconds since the start.
    pub nanos: u64,
}

/// The outcome of a run of round trips.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundTrips {
    /// How long recording took, in seconds.
    pub seconds: f64,
    /// (nanoseconds, how often), ascending.
    pub histogram: Vec<(u64, u64)>,
}

impl RoundTrips {
    /// What was recorded in nanoseconds, and how long that took.
    pub fn of(recorded: &Histogram<u64>, elapsed: Duration) -> Self {
        RoundTrips {
            seconds: elapsed.as_secs_f64(),
            histogram: pairs(recorded),
        }
    }
}

impl Event {
    /// The line, without its end.
    pub fn to_line(&self) -> String {
        match self {
            Event::Ready { listening } => json!({"event": "ready", "listening": listening}),
            Event::Count(c) => json!({"event": "count", "messages": c.messages, "nanos": c.nanos}),
            Event::Measuring => json!({"event": "measuring"}),
            Event::RoundTrips(r) => json!({
                "event": "round trips",
                "seconds": r.seconds,
                "histogram": r.histogram,
            }),
        }
        .to_string()
    }

    /// Prints the line.
    pub fn say(&self) {
        print(format_args!("{}", self.to_line()));
    }

    /// Reads a line; `None` for anything that is not an event.
    pub fn parse(line: &str) -> Option<Event> {
        let value: Value = serde_json::from_str(line).ok()?;
        match value.get("event")?.as_str()? {
            "ready" => {
                let listening = value.get("listening")?.as_array()?;
                let listening = listening.iter().map(|a| Some(a.as_str()?.to_owned()));
                Some(Event::Ready {
                    listening: listening.collect::<Option<_>>()?,
                })
            }
            "count" => Some(Event::Count(Count {
                messages: value.get("messages")?.as_u64()?,
                nanos: value.get("nanos")?.as_u64()?,
            })),
            "measuring" => Some(Event::Measuring),
            "round trips" => round_trips(&value, "histogram"),
            // the figures of `perf rtt` are printed with more beside them
            "outcome" => round_trips(&value, "nanos_times"),
            _ => None,
        }
    }
}

fn round_trips(value: &Value, histogram: &str) -> Option<Event> {
    Some(Event::RoundTrips(RoundTrips {
        seconds: value.get("seconds")?.as_f64()?,
        histogram: pairs_of(value.get(histogram)?)?,
    }))
}

/// The pairs of a histogram, (nanoseconds, how often).
pub fn pairs_of(value: &Value) -> Option<Vec<(u64, u64)>> {
    value.as_array()?.iter().map(pair).collect()
}

fn pair(value: &Value) -> Option<(u64, u64)> {
    match value.as_array()?.as_slice() {
        [nanos, times] => Some((nanos.as_u64()?, times.as_u64()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_survives_its_line() {
        for event in [
            Event::Ready {
                listening: vec!["tcp/127.0.0.1:1".into(), "tcp/[::1]:2".into()],
            },
            Event::Count(Count {
                messages: u64::MAX,
                nanos: 7,
            }),
            Event::Measuring,
            Event::RoundTrips(RoundTrips {
                seconds: 0.25,
                histogram: vec![(900, 2), (1100, 1)],
            }),
        ] {
            assert_eq!(Event::parse(&event.to_line()), Some(event));
        }
    }

    #[test]
    fn the_raw_ping_pong_is_understood() {
        let line = r#"{"event":"outcome","framework":"std","seconds":0.5,"nanos_times":[[900,2]]}"#;
        let trips = RoundTrips {
            seconds: 0.5,
            histogram: vec![(900, 2)],
        };
        assert_eq!(Event::parse(line), Some(Event::RoundTrips(trips)));
    }

    #[test]
    fn other_lines_are_not_events() {
        for line in [
            "",
            "12 msg/s",
            "{}",
            r#"{"event":"count"}"#,
            r#"{"event":"round trips","seconds":1,"histogram":[[1]]}"#,
        ] {
            assert_eq!(Event::parse(line), None, "{line}");
        }
    }
}
