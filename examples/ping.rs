// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures round trips through `pong`, one message in flight:
//!
//! ```text
//! cargo run --release --example pong -- -l tcp/127.0.0.1:7450
//! cargo run --release --example ping -- 64 -e tcp/127.0.0.1:7450
//! ```

mod arguments;
mod measure;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use arguments::{Connection, Failure, Interrupt};
use clap::Parser;
use measure::Schedule;
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
    let schedule = Schedule::start(cli.interval);
    for number in 0..cli.samples {
        schedule.wait_for(number);
        if interrupt.happened() {
            break;
        }
        samples.push(trip.go()?);
    }
    let took = schedule.elapsed();

    measure::print_samples(cli.size, &samples, cli.connection.json);
    measure::print_summary(cli.size, samples, (&schedule, took), cli.connection.json);
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
