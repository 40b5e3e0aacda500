// SPDX-License-Identifier: MIT OR Apache-2.0
//! Round trips: their number, their schedule and their output.

use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use zonda_program::{self as program, Failure, Interrupt};

/// The time by which a sleep may last longer than requested; the rest of a pause is spun away.
const SLEEP_SLACK: Duration = Duration::from_micros(100);
/// Time after which a first message without an answer is sent again.
const RETRY: Duration = Duration::from_millis(200);
/// Limit of the time until the other side shows up.
const CONTACT: Duration = Duration::from_secs(10);
/// Limit of the time until an answer comes, once the other side is there.
const ANSWER: Duration = Duration::from_secs(10);

/// The flags that say which round trips are made.
#[derive(Args)]
pub struct Trips {
    /// Payload of a message in bytes
    pub size: usize,
    /// Round trips to measure
    #[arg(short = 'n', long, value_name = "SAMPLES", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Go round for this long before measuring
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = program::seconds)]
    warmup: Duration,
    /// Time between the starts of two round trips [default: none, back to back]
    #[arg(long, value_name = "SECONDS", value_parser = program::seconds)]
    interval: Option<Duration>,
    /// Let messages wait for a batch instead of sending each at once
    #[arg(long)]
    pub no_express: bool,
}

/// A message that goes to the other side and back, by whatever calls.
pub trait RoundTrip {
    /// Sends the message.
    fn put(&self) -> Result<(), Failure>;

    /// Waits at most `limit`; returns true if an answer came.
    fn answered(&self, limit: Duration) -> Result<bool, Failure>;
}

impl Trips {
    /// Waits until `other` answers, warms up, measures, and prints each round trip and their
    /// summary.
    pub fn measure(
        &self,
        trip: &impl RoundTrip,
        other: &str,
        interrupt: &Interrupt,
        as_json: bool,
    ) -> Result<(), Failure> {
        // contact and warm up
        make_contact(trip, other, interrupt)?;
        let warm = Instant::now();
        while warm.elapsed() < self.warmup && !interrupt.happened() {
            go(trip)?;
        }

        // measure
        let mut samples = Vec::new();
        let schedule = Schedule::start(self.interval);
        for number in 0..self.samples {
            schedule.wait_for(number);
            if interrupt.happened() {
                break;
            }
            samples.push(go(trip)?);
        }
        let took = schedule.elapsed();

        // report
        print_samples(self.size, &samples, as_json);
        print_summary(self.size, samples, &schedule, took, as_json);
        Ok(())
    }
}

/// Repeats the first message until it comes back from `other`, then waits until no answers to its
/// repeats come any more.
fn make_contact(trip: &impl RoundTrip, other: &str, interrupt: &Interrupt) -> Result<(), Failure> {
    let start = Instant::now();
    let mut unanswered = 0;
    while !interrupt.happened() {
        trip.put()?;
        if trip.answered(RETRY)? {
            while unanswered > 0 && trip.answered(RETRY)? {
                unanswered -= 1;
            }
            return Ok(());
        }
        unanswered += 1;
        if start.elapsed() > CONTACT {
            let text = format!("no answer on test/pong within {CONTACT:?}; is {other} running?");
            return Err(Failure::Run(text));
        }
    }
    Ok(())
}

/// Sends one message and waits for its return.
fn go(trip: &impl RoundTrip) -> Result<Duration, Failure> {
    let sent = Instant::now();
    trip.put()?;
    match trip.answered(ANSWER)? {
        true => Ok(sent.elapsed()),
        false => Err(Failure::Run(format!(
            "no answer on test/pong within {ANSWER:?}"
        ))),
    }
}

/// The start times of round trips. The schedule is absolute: one late answer does not delay the
/// messages after it.
struct Schedule {
    start: Instant,
    interval: Option<Duration>,
}

impl Schedule {
    /// Starts one round trip each `interval` from now on; without one, back to back.
    fn start(interval: Option<Duration>) -> Self {
        Schedule {
            start: Instant::now(),
            interval,
        }
    }

    /// Blocks until the round trip of this number is due.
    fn wait_for(&self, number: u64) {
        if let Some(interval) = self.interval {
            let due = Duration::from_secs_f64(interval.as_secs_f64() * number as f64);
            wait_until(self.start + due);
        }
    }

    /// Returns the time since the start.
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

fn wait_until(when: Instant) {
    let left = when.saturating_duration_since(Instant::now());
    if left > SLEEP_SLACK {
        thread::sleep(left - SLEEP_SLACK);
    }
    while Instant::now() < when {
        std::hint::spin_loop();
    }
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

/// Prints each round trip of `size` bytes.
fn print_samples(size: usize, samples: &[Duration], as_json: bool) {
    for (seq, rtt) in samples.iter().enumerate() {
        let (rtt, lat) = (micros(*rtt), micros(*rtt) / 2.0);
        if as_json {
            let line = json!({"size": size, "seq": seq, "rtt_us": rtt, "lat_us": lat});
            program::print(format_args!("{line}"));
        } else {
            program::print(format_args!(
                "{size} bytes: seq={seq} rtt={rtt:.1}µs lat={lat:.1}µs"
            ));
        }
    }
}

/// Prints the percentiles of round trips of `size` bytes that were made on `schedule` and `took` that long.
fn print_summary(
    size: usize,
    mut samples: Vec<Duration>,
    schedule: &Schedule,
    took: Duration,
    as_json: bool,
) {
    // percentiles
    samples.sort();
    let [p50, p90, p99, p999, max] =
        [0.5, 0.9, 0.99, 0.999, 1.0].map(|share| micros(percentile(&samples, share)));
    let rate = samples.len() as f64 / took.as_secs_f64();
    if as_json {
        let line = json!({
            "size": size, "samples": samples.len(), "per_s": rate,
            "p50_us": p50, "p90_us": p90, "p99_us": p99, "p99.9_us": p999, "max_us": max,
        });
        return program::print(format_args!("{line}"));
    }
    // in words
    program::print(format_args!(
        "{size} bytes: p50={p50:.1}µs p90={p90:.1}µs p99={p99:.1}µs p99.9={p999:.1}µs max={max:.1}µs"
    ));
    if let Some(interval) = schedule.interval.filter(|i| !i.is_zero()) {
        let wanted = 1.0 / interval.as_secs_f64();
        program::print(format_args!(
            "wanted {wanted:.1} round trips/s, achieved {rate:.1}"
        ));
    }
}

/// Returns the smallest sample that at least `share` (0 to 1) of the sorted samples do not exceed.
fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or_default()
}
