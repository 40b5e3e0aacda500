// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures round trips through `z_pong`, one message in flight.

use std::fmt::Write;
use std::hint;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::handlers::FifoChannelHandler;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Priority};
use zenoh::sample::Sample;
use zenoh_peers::latency::{self, Plan};
use zenoh_peers::{Common, KEY_PING, KEY_PONG, Mode, fail, line, payload, percentile, priority};

/// Time limit for the other side to appear.
const CONTACT: Duration = Duration::from_secs(10);
/// Pause before a first message without an answer is sent again.
const RETRY: Duration = Duration::from_millis(500);
/// Time by which a sleep may overshoot; the rest of an interval is spent spinning.
const SLEEP_SLACK: Duration = Duration::from_micros(100);

/// Sends messages of SIZE bytes one after the other and prints each round trip.
#[derive(Parser)]
struct Cli {
    /// Payload of a message in bytes
    size: usize,
    /// Round trips to measure
    #[arg(short = 'n', long, default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Warm-up before measuring, in seconds
    #[arg(short, long, alias = "warm-up", default_value_t = 1.0, value_name = "SECONDS", value_parser = seconds)]
    warmup: f64,
    /// Let messages wait for a batch instead of sending each at once
    #[arg(long)]
    no_express: bool,
    /// Time between the starts of two round trips, in seconds [default: none, back to back]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    interval: Option<f64>,
    /// Record for this long, in seconds, instead of a number of round trips, and print one line of JSON; answers are
    /// taken in the callback
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with_all = ["samples", "interval"])]
    seconds: Option<f64>,
    /// Messages per second, each sent when it is due and late from then on [default: back to back]
    #[arg(long, value_name = "N", requires = "seconds", value_parser = rate)]
    rate: Option<f64>,
    /// Fill the same link with samples of this many bytes at priority 5
    #[arg(long, value_name = "BYTES", requires = "seconds")]
    load: Option<usize>,
    /// Priority of the messages, 1 (most urgent) to 7 [default: 5]
    #[arg(long, value_name = "N", requires = "seconds", value_parser = priority)]
    priority: Option<Priority>,
    #[command(flatten)]
    common: Common,
}

struct Link<'a> {
    publisher: Publisher<'a>,
    answers: Subscriber<FifoChannelHandler<Sample>>,
    data: ZBytes,
}

impl Link<'_> {
    fn send(&self) {
        if let Err(e) = self.publisher.put(self.data.clone()).wait() {
            fail("put on test/ping", e);
        }
    }

    fn answer_within(&self, time: Duration) -> bool {
        match self.answers.recv_timeout(time) {
            Ok(sample) => sample.is_some(),
            Err(e) => fail("waiting on test/pong", e),
        }
    }

    /// Waits until the first message comes back, then lets late answers to its repeats run out.
    fn contact(&self) {
        let start = Instant::now();
        let mut tries = 1;
        self.send();
        while !self.answer_within(RETRY) {
            if start.elapsed() > CONTACT {
                fail(
                    "no answer on test/pong within 10 s",
                    "is z_pong running and reachable?",
                );
            }
            tries += 1;
            self.send();
        }
        while tries > 1 && self.answer_within(RETRY) {}
    }

    /// Measures one round trip, in microseconds.
    fn round_trip(&self) -> f64 {
        let start = Instant::now();
        self.send();
        if let Err(e) = self.answers.recv() {
            fail("waiting on test/pong", e);
        }
        start.elapsed().as_nanos() as f64 / 1e3
    }
}

fn main() {
    let cli = Cli::parse();
    let session = cli.common.open(Mode::Peer, &[]);
    // With a duration the measurement runs on its own plan.
    if let Some(seconds) = cli.seconds {
        let plan = Plan {
            size: cli.size,
            seconds: Duration::from_secs_f64(seconds),
            warm_up: Duration::from_secs_f64(cli.warmup),
            rate: cli.rate,
            load: cli.load,
            express: !cli.no_express,
            priority: cli.priority.unwrap_or_default(),
        };
        latency::measure(&session, plan);
        std::process::exit(0)
    }
    // Without one it sends a number of samples, as the original example does.
    let answers = session
        .declare_subscriber(KEY_PONG)
        .wait()
        .unwrap_or_else(|e| fail("cannot subscribe to test/pong", e));
    let publisher = session
        .declare_publisher(KEY_PING)
        .congestion_control(CongestionControl::Block)
        .express(!cli.no_express)
        .wait()
        .unwrap_or_else(|e| fail("cannot declare the publisher of test/ping", e));
    let link = Link {
        publisher,
        answers,
        data: ZBytes::from(payload(cli.size)),
    };

    link.contact();
    let warm = Instant::now();
    while warm.elapsed().as_secs_f64() < cli.warmup {
        link.round_trip();
    }
    let samples = measure(&link, cli.samples, cli.interval.unwrap_or(0.0));
    report(cli.size, samples);
    std::process::exit(0)
}

/// Measures round trips on an absolute schedule: a late one does not delay those after it.
fn measure(link: &Link<'_>, count: u64, interval: f64) -> Vec<f64> {
    let mut samples = Vec::with_capacity(count.min(1 << 24) as usize);
    let start = Instant::now();
    for i in 0..count {
        if interval > 0.0 {
            wait_until(start + Duration::from_secs_f64(interval * i as f64));
        }
        samples.push(link.round_trip());
    }
    if interval > 0.0 {
        let rate = count as f64 / start.elapsed().as_secs_f64();
        eprintln!(
            "wanted {:.1} round trips/s, achieved {rate:.1}",
            1.0 / interval
        );
    }
    samples
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

fn report(size: usize, mut samples: Vec<f64>) {
    let mut text = String::new();
    for (seq, rtt) in samples.iter().enumerate() {
        let lat = rtt / 2.0;
        writeln!(
            text,
            "{size} bytes: seq={seq} rtt={rtt:.1}µs lat={lat:.1}µs"
        )
        .expect("a String takes any text");
    }
    samples.sort_by(f64::total_cmp);
    let [p50, p90, p99, p999, max] = [0.5, 0.9, 0.99, 0.999, 1.0].map(|p| percentile(&samples, p));
    line(format_args!(
        "{text}{size} bytes: p50={p50:.1}µs p90={p90:.1}µs p99={p99:.1}µs p99.9={p999:.1}µs max={max:.1}µs"
    ));
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.001..=1e8).contains(&rate) => Ok(rate),
        _ => Err("expected messages per second from 0.001 to 1e8".into()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..=86_400.0).contains(&s) => Ok(s),
        _ => Err("expected seconds between 0 and 86400".into()),
    }
}
