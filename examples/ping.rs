// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures round trips through `pong`, one message in flight:
//!
//! ```text
//! cargo run --release --example pong -- -l tcp/127.0.0.1:7450
//! cargo run --release --example ping -- 64 -e tcp/127.0.0.1:7450
//! ```

mod arguments;

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use arguments::{Connection, Failure, Interrupt};
use clap::Parser;
use serde_json::json;
use zonda::Wait;
use zonda::bytes::ZBytes;
use zonda::handlers::FifoChannelHandler;
use zonda::pubsub::{Publisher, Subscriber};
use zonda::qos::CongestionControl;
use zonda::sample::Sample;

/// A first message without an answer is sent again after this long.
const RETRY: Duration = Duration::from_millis(200);
/// How long the other side may take to show up.
const CONTACT: Duration = Duration::from_secs(10);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);
/// A sleep may last about this much longer than asked; the rest of a pause is spun away.
const SLEEP_SLACK: Duration = Duration::from_micros(100);

/// Sends messages of SIZE bytes one after the other and prints each round trip.
#[derive(Parser)]
struct Cli {
    /// Payload of a message in bytes
    size: usize,
    /// Round trips to measure
    #[arg(short = 'n', long, value_name = "SAMPLES", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Go round for this long before measuring
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = arguments::seconds)]
    warmup: Duration,
    /// Time between the starts of two round trips [default: none, back to back]
    #[arg(long, value_name = "SECONDS", value_parser = arguments::seconds)]
    interval: Option<Duration>,
    /// Let messages wait for a batch instead of sending each at once
    #[arg(long)]
    no_express: bool,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    arguments::run(ping)
}

fn ping(cli: Cli) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let session = cli.connection.open()?;
    let trip = RoundTrip {
        answers: session.declare_subscriber("test/pong").wait()?,
        publisher: session
            .declare_publisher("test/ping")
            .congestion_control(CongestionControl::Block)
            .express(!cli.no_express)
            .wait()?,
        message: ZBytes::from(arguments::pattern(cli.size)),
    };
    trip.make_contact(&interrupt)?;

    let warm = Instant::now();
    while warm.elapsed() < cli.warmup && !interrupt.happened() {
        trip.go()?;
    }

    let mut samples = Vec::new();
    let start = Instant::now();
    for i in 0..cli.samples {
        if let Some(interval) = cli.interval {
            // the schedule is absolute: one late answer does not delay the messages after it
            wait_until(start + Duration::from_secs_f64(interval.as_secs_f64() * i as f64));
        }
        if interrupt.happened() {
            break;
        }
        samples.push(trip.go()?);
    }
    let took = start.elapsed();

    report(&cli, &samples);
    summary(&cli, samples, took);
    session.close().wait()?;
    Ok(())
}

struct RoundTrip<'a> {
    answers: Subscriber<FifoChannelHandler<Sample>>,
    publisher: Publisher<'a>,
    message: ZBytes,
}

impl RoundTrip<'_> {
    /// Sends one message and waits for its return.
    fn go(&self) -> Result<Duration, Failure> {
        let sent = Instant::now();
        self.publisher.put(self.message.clone()).wait()?;
        match self.answers.recv_timeout(ANSWER)? {
            Some(_) => Ok(sent.elapsed()),
            None => Err(Failure::Run(format!(
                "no answer on test/pong within {ANSWER:?}"
            ))),
        }
    }

    /// Repeats the first message until it comes back, then lets the answers to its repeats run out.
    fn make_contact(&self, interrupt: &Interrupt) -> Result<(), Failure> {
        let start = Instant::now();
        let mut unanswered = 0;
        while !interrupt.happened() {
            self.publisher.put(self.message.clone()).wait()?;
            if self.answers.recv_timeout(RETRY)?.is_some() {
                while unanswered > 0 && self.answers.recv_timeout(RETRY)?.is_some() {
                    unanswered -= 1;
                }
                return Ok(());
            }
            unanswered += 1;
            if start.elapsed() > CONTACT {
                let text = format!("no answer on test/pong within {CONTACT:?}; is pong running?");
                return Err(Failure::Run(text));
            }
        }
        Ok(())
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

fn report(cli: &Cli, samples: &[Duration]) {
    let size = cli.size;
    for (seq, rtt) in samples.iter().enumerate() {
        let (rtt, lat) = (micros(*rtt), micros(*rtt) / 2.0);
        if cli.connection.json {
            let line = json!({"size": size, "seq": seq, "rtt_us": rtt, "lat_us": lat});
            arguments::print(format_args!("{line}"));
        } else {
            arguments::print(format_args!(
                "{size} bytes: seq={seq} rtt={rtt:.1}µs lat={lat:.1}µs"
            ));
        }
    }
}

fn summary(cli: &Cli, mut samples: Vec<Duration>, took: Duration) {
    samples.sort();
    let [p50, p90, p99, p999, max] =
        [0.5, 0.9, 0.99, 0.999, 1.0].map(|share| micros(percentile(&samples, share)));
    let rate = samples.len() as f64 / took.as_secs_f64();
    if cli.connection.json {
        let line = json!({
            "size": cli.size, "samples": samples.len(), "per_s": rate,
            "p50_us": p50, "p90_us": p90, "p99_us": p99, "p99.9_us": p999, "max_us": max,
        });
        return arguments::print(format_args!("{line}"));
    }
    arguments::print(format_args!(
        "{} bytes: p50={p50:.1}µs p90={p90:.1}µs p99={p99:.1}µs p99.9={p999:.1}µs max={max:.1}µs",
        cli.size
    ));
    if let Some(interval) = cli.interval.filter(|i| !i.is_zero()) {
        let wanted = 1.0 / interval.as_secs_f64();
        arguments::print(format_args!(
            "wanted {wanted:.1} round trips/s, achieved {rate:.1}"
        ));
    }
}

/// The smallest sample that at least `share` (0 to 1) of the sorted samples do not exceed.
fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or_default()
}
