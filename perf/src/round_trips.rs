// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records round trips in a worker: first a warm-up, then a span of time, back to back or on a
//! schedule that a late answer does not shift.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use hdrhistogram::Histogram;
use zonda_program::{print, seconds};

use super::event::{Event, RoundTrips};

/// The longest round trip that is distinguished, in nanoseconds.
const LONGEST: u64 = 60_000_000_000;
/// Significant digits of what is recorded.
const DIGITS: u8 = 3;
/// How long a worker stays after its result.
const LINGER: Duration = Duration::from_secs(2);
/// A sleep may last about this much longer than asked; the rest of a pause is spun away.
const SLEEP_SLACK: Duration = Duration::from_micros(100);

/// How long and how often.
#[derive(Args, Clone, Debug)]
pub struct Pace {
    /// Record for this long
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub seconds: Duration,
    /// Before that, go round without recording for this long
    #[arg(long, value_name = "SECONDS", default_value = "0.3", value_parser = seconds)]
    pub warm_up: Duration,
    /// Time between the starts of two round trips [default: none, back to back]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub interval: Option<Duration>,
}

/// An empty histogram of nanoseconds.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("the bounds are constants in order")
}

/// A histogram of pairs, (nanoseconds, how often).
pub fn histogram_of(pairs: impl IntoIterator<Item = (u64, u64)>) -> Histogram<u64> {
    let mut all = histogram();
    for (nanos, times) in pairs {
        all.saturating_record_n(nanos, times);
    }
    all
}

/// The pairs of a histogram, (nanoseconds, how often), ascending.
pub fn pairs(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    histogram
        .iter_recorded()
        .map(|v| (v.value_iterated_to(), v.count_at_value()))
        .collect()
}

/// The time at a percentile (0 to 100) of a histogram of nanoseconds, in microseconds.
pub fn micros(histogram: &Histogram<u64>, percentile: f64) -> f64 {
    histogram.value_at_quantile(percentile / 100.0) as f64 / 1e3
}

/// Calls `round_trip` as `pace` says and prints how long that took each time.
pub fn measure<E>(pace: &Pace, mut round_trip: impl FnMut() -> Result<(), E>) -> Result<(), E> {
    measure_taken(pace, || {
        let sent = Instant::now();
        round_trip()?;
        Ok(sent.elapsed())
    })
}

/// Calls `round_trip` as `pace` says and prints the times that it gives.
pub fn measure_taken<E>(
    pace: &Pace,
    mut round_trip: impl FnMut() -> Result<Duration, E>,
) -> Result<(), E> {
    let warm = Instant::now();
    while warm.elapsed() < pace.warm_up {
        round_trip()?;
    }
    Event::Measuring.say();
    let mut recorded = histogram();
    let start = Instant::now();
    let mut due = start;
    while start.elapsed() < pace.seconds {
        if let Some(interval) = pace.interval {
            wait_until(due);
            due += interval;
        }
        recorded.saturating_record(round_trip()?.as_nanos() as u64);
    }
    let result = RoundTrips::of(&recorded, start.elapsed());
    hand_over(&Event::RoundTrips(result).to_line());
    Ok(())
}

/// Prints the line of the result, and stays for a while: the process that started this worker now reads what it and the others
/// have used, which the system forgets with the process, and then ends it.
pub fn hand_over(line: &str) {
    print(format_args!("{line}"));
    thread::sleep(LINGER);
}

fn wait_until(when: Instant) {
    let left = when.saturating_duration_since(Instant::now());
    if left > SLEEP_SLACK {
        thread::sleep(left - SLEEP_SLACK);
    }
    while Instant::now() < when {
        hint::spin_loop();
    }
}
