// SPDX-License-Identifier: MIT OR Apache-2.0
//! The closed loop: one message at a time, first as warm-up, then recorded. Answers drive a
//! [`ClosedLoop`]; the calling thread drives [`go_round`].

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use zonda::bytes::ZBytes;

use super::recorder::{Answer, Recorder};
use super::report::Report;
use super::sequence_check::STAMP;
use super::stamper::Stamper;
use super::timing::{Timing, wait_until};
use crate::event::Event;
use crate::histogram::{histogram, pairs};

/// A loop with one message at a time.
pub struct ClosedLoop {
    stamper: Stamper,
    warm_up: Duration,
    seconds: Duration,
    begun: Instant,
    sent: Instant,
    recorder: Recorder,
    is_over: bool,
}

/// The step that follows an answer.
pub enum Step {
    /// Send the next message.
    Next(ZBytes),
    /// Send the next message, and record it and all later ones.
    First(ZBytes),
    /// The recording is finished.
    Over(Report),
    /// No step: the answer was not the expected one, or the loop is finished.
    Nothing,
}

impl ClosedLoop {
    /// Creates a loop, which [`ClosedLoop::message`] begins.
    pub fn new(stamper: Stamper, timing: &Timing) -> Self {
        let now = Instant::now();
        ClosedLoop {
            stamper,
            warm_up: timing.warm_up,
            seconds: timing.seconds,
            begun: now,
            sent: now,
            recorder: Recorder::default(),
            is_over: false,
        }
    }

    /// Returns the next message, to be sent now.
    pub fn message(&mut self) -> ZBytes {
        let payload = self.stamper.payload();
        self.sent = Instant::now();
        payload
    }

    /// Handles an answer that arrived at `now`.
    pub fn answered(&mut self, payload: &[u8], now: Instant) -> Step {
        self.recorder.answered(payload, self.sent, now);
        let awaited = Answer::To(self.stamper.made().wrapping_sub(1));
        if self.is_over || Answer::read(payload) != awaited {
            return Step::Nothing;
        }
        let elapsed = now.saturating_duration_since(self.begun);
        if !self.recorder.counts() {
            if elapsed < self.warm_up {
                return Step::Next(self.message());
            }
            self.recorder.count_from(self.stamper.made());
            self.begun = now;
            return Step::First(self.message());
        }
        if elapsed < self.seconds {
            return Step::Next(self.message());
        }
        self.is_over = true;
        let sent = self.stamper.made();
        Step::Over(self.recorder.report(sent, sent, elapsed))
    }
}

/// A message that has returned.
pub struct Trip {
    /// The time at which it was sent.
    pub sent: Instant,
    /// The time at which its answer arrived.
    pub came: Instant,
    /// The beginning of the answer.
    pub stamp: [u8; STAMP],
}

/// Makes round trips on this thread, back to back or with a pause, and records them.
pub fn go_round<E>(
    timing: &Timing,
    mut round_trip: impl FnMut(u64) -> Result<Trip, E>,
) -> Result<Report, E> {
    let mut recorder = Recorder::default();
    let mut begun = Instant::now();
    let mut number = 0;
    let mut due = begun;
    loop {
        if let (Some(interval), true) = (timing.interval, recorder.counts()) {
            wait_until(due);
            due += interval;
        }
        // one round trip
        let trip = round_trip(number)?;
        recorder.answered(&trip.stamp, trip.sent, trip.came);
        number += 1;
        let elapsed = trip.came.saturating_duration_since(begun);
        // the end of the warm-up, or of the recording
        if !recorder.counts() && elapsed >= timing.warm_up {
            Event::Measuring.say();
            recorder.count_from(number);
            begun = Instant::now();
            due = begun;
        } else if recorder.counts() && elapsed >= timing.seconds {
            return Ok(recorder.report(number, number, elapsed));
        }
    }
}

/// A message sent one way.
pub struct OneWayMessage {
    /// The time at which it was sent.
    pub sent: Instant,
    /// The time at which it arrived, if it was not lost.
    pub came: Option<Instant>,
}

/// The messages of a run one way: first the warm-up, then the recording.
pub struct OneWayMessages {
    timing: Timing,
    recorded: Histogram<u64>,
    sent: u64,
    begun: Instant,
    is_warm: bool,
}

impl OneWayMessages {
    /// Starts the warm-up.
    pub fn new(timing: &Timing) -> Self {
        OneWayMessages {
            timing: *timing,
            recorded: histogram(),
            sent: 0,
            begun: Instant::now(),
            is_warm: false,
        }
    }

    /// Adds a message; returns the report when the recording is finished.
    pub fn add(&mut self, way: OneWayMessage) -> Option<Report> {
        let now = way.came.unwrap_or_else(Instant::now);
        let elapsed = now.saturating_duration_since(self.begun);
        // the warm-up
        if !self.is_warm {
            if elapsed >= self.timing.warm_up {
                Event::Measuring.say();
                (self.is_warm, self.begun) = (true, Instant::now());
            }
            return None;
        }
        // the recording
        self.sent += 1;
        if let Some(came) = way.came {
            let took = came.saturating_duration_since(way.sent).as_nanos();
            self.recorded.saturating_record(took as u64);
        }
        (elapsed >= self.timing.seconds).then(|| Report {
            planned: self.sent,
            sent: self.sent,
            lost: self.sent - self.recorded.len(),
            ..Report::of_samples(pairs(&self.recorded), elapsed.as_secs_f64())
        })
    }
}

/// Sends one message after the other on this thread, each when the previous one has arrived, and
/// records them.
pub fn go_one_way<E>(
    timing: &Timing,
    mut way: impl FnMut() -> Result<OneWayMessage, E>,
) -> Result<Report, E> {
    let mut ways = OneWayMessages::new(timing);
    loop {
        if let Some(report) = ways.add(way()?) {
            return Ok(report);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorder::COUNTED;
    use super::super::sequence_check::stamp;
    use super::*;

    #[test]
    fn a_closed_loop_warms_up_records_and_ends() {
        let micros = Duration::from_micros;
        let timing = Timing {
            seconds: micros(100),
            warm_up: micros(50),
            rate: None,
            interval: None,
        };
        let mut closed = ClosedLoop::new(Stamper::new(COUNTED, 64), &timing);
        let start = closed.begun;
        let mut answer = |number, at| closed.answered(&stamp(COUNTED, number), start + micros(at));
        assert!(matches!(answer(0, 5), Step::Nothing), "it was not sent");
        let mut closed = ClosedLoop::new(Stamper::new(COUNTED, 64), &timing);
        let start = closed.begun;
        closed.message();
        let mut answer = |number, at| closed.answered(&stamp(COUNTED, number), start + micros(at));
        assert!(matches!(answer(0, 10), Step::Next(_)));
        assert!(matches!(answer(0, 20), Step::Nothing), "a duplicate");
        assert!(matches!(answer(1, 60), Step::First(_)));
        assert!(matches!(answer(2, 100), Step::Next(_)));
        let Step::Over(report) = answer(3, 160) else {
            panic!("the time is over");
        };
        let times: u64 = report.nanos_times.iter().map(|(_, times)| times).sum();
        assert_eq!((times, report.seconds, report.sent), (2, 1e-4, 4));
        assert_eq!((report.lost, report.duplicated), (0, 1));
        assert!(matches!(answer(4, 170), Step::Nothing));
    }
}
