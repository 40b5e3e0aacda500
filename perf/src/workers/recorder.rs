// SPDX-License-Identifier: MIT OR Apache-2.0
//! The record of answers on the asking side: their latency, and whether any is missing, duplicated
//! or out of order. Pure: it receives the time as an argument.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::report::Report;
use super::sequence_check::SequenceCheck;
use crate::histogram::{histogram, pairs};

/// The publisher number in stamps of measured messages.
pub const COUNTED: u16 = 0;
/// The publisher number in stamps of warm-up messages.
pub const WARM: u16 = 1;
/// Bits of a message's number in its stamp.
const NUMBER_BITS: u32 = 48;

/// The message that an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A message before the measurement.
    Warm,
    /// The measured message of this number.
    To(u64),
    /// No message that was sent.
    Strange,
}

impl Answer {
    /// Reads the stamp of a payload.
    pub fn read(payload: &[u8]) -> Answer {
        let stamp = payload
            .first_chunk()
            .map(|bytes| u64::from_le_bytes(*bytes));
        match stamp.map(|s| (s >> NUMBER_BITS, s & ((1 << NUMBER_BITS) - 1))) {
            Some((publisher, _)) if publisher == u64::from(WARM) => Answer::Warm,
            Some((publisher, number)) if publisher == u64::from(COUNTED) => Answer::To(number),
            _ => Answer::Strange,
        }
    }
}

/// The record of one run's answers.
pub struct Recorder {
    check: SequenceCheck,
    recorded: Histogram<u64>,
    /// The number of the first recorded message; earlier ones are only checked for losses.
    first: u64,
    strange: u64,
    last: Option<Instant>,
}

impl Default for Recorder {
    /// Creates an empty record that does not record yet.
    fn default() -> Self {
        Recorder {
            check: SequenceCheck::new(1),
            recorded: histogram(),
            first: u64::MAX,
            strange: 0,
            last: None,
        }
    }
}

impl Recorder {
    /// Records from the message of this number on.
    pub fn count_from(&mut self, first: u64) {
        self.first = first;
    }

    /// Returns true if it records.
    pub fn counts(&self) -> bool {
        self.first < u64::MAX
    }

    /// Adds the answer with this payload, which arrived at `now`; its message was due, or sent, at
    /// `since`.
    pub fn answered(&mut self, payload: &[u8], since: Instant, now: Instant) {
        match Answer::read(payload) {
            Answer::To(number) => {
                self.check.receive(payload);
                if number >= self.first {
                    let took = now.saturating_duration_since(since).as_nanos();
                    self.recorded.saturating_record(took as u64);
                    self.last = Some(now);
                }
            }
            Answer::Strange => self.strange += 1,
            Answer::Warm => {}
        }
    }

    /// Returns the number of measured messages that have been answered, each counted once.
    pub fn answers(&self) -> u64 {
        let seen = self.check.seen().into_iter().next().unwrap_or_default();
        seen.next - seen.missing
    }

    /// Returns the time of the last recorded answer.
    pub fn last(&self) -> Option<Instant> {
        self.last
    }

    /// Returns the report after `sent` messages of the `planned` ones, recorded for `length`.
    pub fn report(&self, planned: u64, sent: u64, length: Duration) -> Report {
        let seen = self.check.seen().into_iter().next().unwrap_or_default();
        Report {
            seconds: length.as_secs_f64(),
            planned,
            sent,
            lost: seen.missing + sent.saturating_sub(seen.next),
            duplicated: seen.duplicated + self.strange,
            reordered: seen.reordered,
            nanos_times: pairs(&self.recorded),
            load_bytes_per_second: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sequence_check::stamp;
    use super::*;

    #[test]
    fn answers_are_told_apart() {
        assert_eq!(Answer::read(&stamp(COUNTED, 7)), Answer::To(7));
        assert_eq!(Answer::read(&stamp(WARM, 7)), Answer::Warm);
        assert_eq!(Answer::read(&stamp(2, 7)), Answer::Strange);
        assert_eq!(Answer::read(&[0; 7]), Answer::Strange);
    }

    #[test]
    fn every_fault_is_counted_and_only_what_counts_is_recorded() {
        let start = Instant::now();
        let mut recorder = Recorder::default();
        let micros = |n: u64| start + Duration::from_micros(n);
        for number in [0, 1] {
            recorder.answered(&stamp(COUNTED, number), start, micros(500));
        }
        recorder.count_from(2);
        // 4 is before 3, 5 is duplicated, 6 and 9 are missing; one answer belongs to no message
        for (number, took) in [
            (2, 10),
            (4, 20),
            (3, 30),
            (5, 40),
            (5, 50),
            (7, 60),
            (8, 70),
        ] {
            recorder.answered(&stamp(COUNTED, number), start, micros(took));
        }
        recorder.answered(&stamp(9, 1), start, micros(1));
        recorder.answered(&stamp(WARM, 1), start, micros(1));
        assert_eq!(recorder.answers(), 8);
        let report = recorder.report(12, 10, Duration::from_secs(2));
        assert_eq!((report.planned, report.sent, report.lost), (12, 10, 2));
        assert_eq!((report.duplicated, report.reordered), (2, 1));
        let times: u64 = report.nanos_times.iter().map(|(_, times)| times).sum();
        assert_eq!(times, 7);
        assert_eq!(recorder.last(), Some(micros(70)));
    }
}
