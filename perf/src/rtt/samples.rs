// SPDX-License-Identifier: MIT OR Apache-2.0
//! The asking side's samples and their statistics.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::usage::Usage;
use crate::histogram::histogram;

/// The maximum number of individual samples, 160 MB; further ones only count in the histogram.
const KEPT_MAX: usize = 10_000_000;
/// Samples left out of the statistics at either end of a run, which its start and end distort.
const EDGE: usize = 2;

/// One round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The counter in the message.
    pub sequence: u64,
    /// The round trip's time in nanoseconds.
    pub nanos: u64,
}

/// The recording of a run.
#[derive(Debug)]
pub struct Recording {
    samples: Vec<Sample>,
    beyond: Histogram<u64>,
    /// The counter of the first message of the run.
    pub first: u64,
    /// Messages sent.
    pub sent: u64,
    /// Messages without an answer in time.
    pub lost: u64,
    /// Answers after the timeout, which count as lost too.
    pub late: u64,
    start: Instant,
    /// The duration of the run.
    pub elapsed: Duration,
    before: Usage,
    /// The resources used.
    usage: Usage,
}

impl Recording {
    /// Starts a recording now, with room for the `expected` number of samples.
    pub fn start(expected: f64) -> Self {
        let room = (expected * 1.1) as usize + 1000;
        Recording {
            samples: Vec::with_capacity(room.min(KEPT_MAX)),
            beyond: histogram(),
            first: 0,
            sent: 0,
            lost: 0,
            late: 0,
            before: Usage::now(),
            usage: Usage::default(),
            elapsed: Duration::ZERO,
            start: Instant::now(),
        }
    }

    /// Adds a round trip.
    pub fn add(&mut self, sequence: u64, took: Duration) {
        let nanos = took.as_nanos() as u64;
        if self.samples.len() < KEPT_MAX {
            self.samples.push(Sample { sequence, nanos });
        } else {
            self.beyond.saturating_record(nanos);
        }
    }

    /// Ends the recording at `end`.
    pub fn finish(&mut self, end: Instant) {
        self.elapsed = end.saturating_duration_since(self.start);
        self.usage = Usage::now().since(&self.before);
    }

    /// Returns the number of round trips.
    pub fn answered(&self) -> u64 {
        self.samples.len() as u64 + self.beyond.len()
    }

    /// Returns the round trips per second.
    pub fn rate(&self) -> f64 {
        self.answered() as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Returns the CPU time for each round trip, in nanoseconds.
    pub fn cpu_nanos(&self) -> Option<f64> {
        self.usage.cpu.map(|cpu| self.each(cpu.as_nanos() as f64))
    }

    /// Returns the sleeps of threads for each round trip.
    pub fn sleeps(&self) -> Option<f64> {
        self.usage.sleeps.map(|sleeps| self.each(sleeps as f64))
    }

    fn each(&self, figure: f64) -> f64 {
        figure / self.answered().max(1) as f64
    }

    /// Returns the individual samples.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Returns the histogram of all round trips except the first and last two.
    pub fn histogram(&self) -> Histogram<u64> {
        let mut all = self.beyond.clone();
        for sample in trimmed(&self.samples) {
            all.saturating_record(sample.nanos);
        }
        all
    }
}

/// Returns the samples without the ends, unless none would be left.
pub fn trimmed<T>(samples: &[T]) -> &[T] {
    match samples.len() {
        n if n > 2 * EDGE => &samples[EDGE..n - EDGE],
        _ => samples,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_left_out_where_there_is_a_middle() {
        assert_eq!(trimmed(&[1, 2, 3, 4, 5, 6]), [3, 4]);
        assert_eq!(trimmed(&[1, 2, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(trimmed::<u8>(&[]), [0; 0]);
    }

    #[test]
    fn statistics_come_from_the_middle_and_counts_from_all() {
        let mut recording = Recording::start(10.0);
        for (sequence, micros) in [900, 800, 10, 20, 30, 700, 600].into_iter().enumerate() {
            recording.add(sequence as u64, Duration::from_micros(micros));
        }
        recording.finish(Instant::now());
        assert_eq!(recording.answered(), 7);
        assert_eq!(
            recording.samples()[2],
            Sample {
                sequence: 2,
                nanos: 10_000
            }
        );
        let histogram = recording.histogram();
        assert_eq!(histogram.len(), 3);
        assert!((19_900..20_100).contains(&histogram.value_at_quantile(0.5)));
        assert!(recording.rate() > 0.0);
    }
}
