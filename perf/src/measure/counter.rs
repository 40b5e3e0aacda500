// SPDX-License-Identifier: MIT OR Apache-2.0
//! The count of a receiver: readings that a worker prints, or the rates of rounds that the
//! reference's subscriber prints.

use crate::event::{Count, Event};

/// Returns messages per second between the first and the last reading.
pub fn rate(counts: &[Count]) -> f64 {
    match (counts.first(), counts.last()) {
        (Some(a), Some(b)) if b.nanos > a.nanos => {
            (b.messages - a.messages) as f64 * 1e9 / (b.nanos - a.nanos) as f64
        }
        _ => 0.0,
    }
}

/// A growing count of received messages, made from the receiver's output: readings of a counter, or
/// the rates of rounds that follow each other without a gap.
pub struct Counter {
    /// The count so far.
    pub last: Count,
    round: u64,
}

impl Counter {
    /// Creates the counter of a receiver that may print a rate every `round` messages.
    pub fn new(round: u64) -> Self {
        let last = Count {
            messages: 0,
            nanos: 0,
        };
        Counter { last, round }
    }

    /// Returns the count after `line`, if the line contains one.
    pub fn read(&mut self, line: &str) -> Option<Count> {
        let count = match Event::parse(line) {
            Some(Event::Count(count)) if count.messages >= self.last.messages => count,
            Some(_) => return None,
            None => {
                let rate = round_rate(line)?;
                Count {
                    messages: self.last.messages + self.round,
                    nanos: self.last.nanos + (self.round as f64 * 1e9 / rate) as u64,
                }
            }
        };
        self.last = count;
        Some(count)
    }
}

/// Returns the number in front of `msg/s`.
fn round_rate(line: &str) -> Option<f64> {
    let number = line
        .split("msg/s")
        .next()
        .filter(|n| n.len() < line.len())?;
    let number: f64 = number.split_whitespace().last()?.parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_and_readings_make_one_count() {
        let mut counter = Counter::new(100);
        assert_eq!(counter.read("Press CTRL-C to quit..."), None);
        assert_eq!(
            counter.read("1000 msg/s"),
            Some(Count {
                messages: 100,
                nanos: 100_000_000
            })
        );
        assert_eq!(
            counter.read("2e3msg/s"),
            Some(Count {
                messages: 200,
                nanos: 150_000_000
            })
        );
        assert_eq!(counter.read("inf msg/s"), None);
        assert_eq!(counter.read("0 msg/s"), None);
        let event = Event::Count(Count {
            messages: 300,
            nanos: 200_000_000,
        });
        assert_eq!(counter.read(&event.to_line()), Some(counter.last));
        assert_eq!(counter.last.messages, 300);
        assert_eq!(counter.read(&Event::Measuring.to_line()), None);
    }

    #[test]
    fn the_rate_is_taken_between_the_ends() {
        let at = |messages, millis: u64| Count {
            messages,
            nanos: millis * 1_000_000,
        };
        assert_eq!(rate(&[at(50, 100), at(70, 200), at(150, 300)]), 500.0);
        assert_eq!(rate(&[at(50, 100)]), 0.0);
        assert_eq!(rate(&[]), 0.0);
    }
}
