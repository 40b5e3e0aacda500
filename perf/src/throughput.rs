// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures one throughput cell: messages as the receiver counts them, and what every process uses,
//! in a window that opens after the flow has begun and warmed up.

use std::time::{Duration, Instant};

use zonda_program::Interrupt;

use super::case::Case;
use super::event::{Count, Event};
use super::footprint::{Costs, costs};
use super::process::Said;
use super::stage::Stage;
use super::system::{Span, System, round_messages};
use super::trouble::Trouble;

/// How long the first message may take to arrive.
const FIRST_MESSAGE: Duration = Duration::from_secs(15);
/// How long the flow may stand still.
const NEXT_COUNT: Duration = Duration::from_secs(10);

/// What one window showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Messages per second at the receiver.
    pub rate: f64,
    /// What each program used per message.
    pub costs: Costs,
    /// The readings of the window; the rate lies between the first and the last.
    pub counts: Vec<Count>,
}

/// Runs the programs of `case` and watches them for `span`.
pub fn measure(
    system: &System,
    case: &Case,
    span: Span,
    interrupt: &Interrupt,
) -> Result<Flow, Trouble> {
    let mut stage = Stage::set(system, case, span, interrupt)?;
    let mut counter = Counter::new(round_messages(case.size));
    counter.next(&mut stage, FIRST_MESSAGE, interrupt)?;
    let warm = Instant::now() + Duration::from_secs_f64(span.warm_up);
    while Instant::now() < warm {
        counter.next(&mut stage, NEXT_COUNT, interrupt)?;
    }
    let mut counts = vec![counter.last];
    let opened = Instant::now();
    let before = stage.footprints();
    let close = opened + Duration::from_secs_f64(span.seconds);
    // a flow that stands still when the window should close is watched until it moves
    while Instant::now() < close || rate(&counts) <= 0.0 {
        if Instant::now() > close + NEXT_COUNT {
            return Err(late(&stage, NEXT_COUNT));
        }
        counts.push(counter.next(&mut stage, NEXT_COUNT, interrupt)?);
    }
    let after = stage.footprints();
    let seconds = opened.elapsed().as_secs_f64();
    stage.check()?;
    let rate = rate(&counts);
    Ok(Flow {
        rate,
        costs: costs(&before, &after, rate * seconds),
        counts,
    })
}

fn late(stage: &Stage, after: Duration) -> Trouble {
    let program = stage.receiver.name().to_owned();
    Trouble::Late {
        program,
        what: "receive another message",
        after,
    }
}

/// Messages per second between the first and the last reading.
pub fn rate(counts: &[Count]) -> f64 {
    match (counts.first(), counts.last()) {
        (Some(a), Some(b)) if b.nanos > a.nanos => {
            (b.messages - a.messages) as f64 * 1e9 / (b.nanos - a.nanos) as f64
        }
        _ => 0.0,
    }
}

/// Makes one growing count of what the receiver prints: readings of a counter, or the rates of rounds
/// that follow each other without a gap.
pub struct Counter {
    /// The count so far.
    pub last: Count,
    round: u64,
}

impl Counter {
    /// Nothing yet, of a receiver that may print a rate every `round` messages.
    pub fn new(round: u64) -> Self {
        let last = Count {
            messages: 0,
            nanos: 0,
        };
        Counter { last, round }
    }

    fn next(
        &mut self,
        stage: &mut Stage,
        patience: Duration,
        interrupt: &Interrupt,
    ) -> Result<Count, Trouble> {
        let until = Instant::now() + patience;
        loop {
            match stage.receiver.line(until, interrupt)? {
                Said::End => return Err(stage.receiver.died()),
                Said::Nothing => {
                    stage.check()?;
                    return Err(late(stage, patience));
                }
                Said::Line(line) => {
                    if let Some(count) = self.read(&line) {
                        return Ok(count);
                    }
                }
            }
        }
    }

    /// The count after `line`, if that says anything about it.
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

/// The number in front of `msg/s`.
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
