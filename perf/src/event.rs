// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events that a worker prints while it works: one JSON object per line on standard output.

use serde::{Deserialize, Serialize};
use zonda_program::print;

use super::workers::sequence_check::ReceivedSequence;

/// One line of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// The worker is set up; other workers may connect to these addresses.
    Ready {
        /// Bound addresses, a relay's front before its back.
        listening: Vec<String>,
    },
    /// The number of messages received since the start, with its time.
    Count(Count),
    /// The warm-up is over and round trips are being recorded.
    Measuring,
    /// A subscriber has received the greeting of this many publishers.
    Heard {
        /// Number of publishers.
        publishers: u64,
    },
    /// A publisher has stopped greeting.
    Hushed,
    /// A publisher has ended.
    Offered {
        /// Messages it put.
        offered: u64,
        /// Messages that its node dropped, once for each peer that did not get one.
        dropped: u64,
    },
    /// The number of messages that a router dropped.
    Dropped {
        /// Messages, once for each peer that did not get one.
        dropped: u64,
    },
    /// The messages that a subscriber received.
    Tally {
        /// Sequences, by publisher.
        seen: Vec<ReceivedSequence>,
        /// Messages too short for a stamp.
        unstamped: u64,
    },
}

/// A counter's reading.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// Messages since the start.
    pub messages: u64,
    /// Nanoseconds since the start.
    pub nanos: u64,
}

impl Event {
    /// Returns the line, without its end.
    pub fn to_line(&self) -> String {
        // numbers and texts always become JSON
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Prints the line.
    pub fn say(&self) {
        print(format_args!("{}", self.to_line()));
    }

    /// Reads a line; `None` for anything that is not an event.
    pub fn parse(line: &str) -> Option<Event> {
        serde_json::from_str(line).ok()
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
        ] {
            assert_eq!(Event::parse(&event.to_line()), Some(event));
        }
        for line in ["", "12 msg/s", "{}", r#"{"event":"count"}"#] {
            assert_eq!(Event::parse(line), None, "{line}");
        }
    }

    #[test]
    fn what_a_flow_comes_to_is_read() {
        let line = r#"{"event":"tally","seen":[{"next":3,"missing":1,"duplicated":0,"reordered":0}],"unstamped":0}"#;
        let seen = ReceivedSequence {
            next: 3,
            missing: 1,
            ..ReceivedSequence::default()
        };
        let tally = Event::Tally {
            seen: vec![seen],
            unstamped: 0,
        };
        assert_eq!(Event::parse(line), Some(tally));
        assert_eq!(Event::parse(&Event::Hushed.to_line()), Some(Event::Hushed));
    }
}
