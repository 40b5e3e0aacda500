// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flags of `perf rtt`, named as in the study of 2025, with the short ones of 2022.

use std::time::Duration;

use clap::{Args, ValueEnum};
use zonda_program::{Failure, Interrupt, seconds};

use super::backend::Backend;
use super::csv::Format;
use super::ping::COUNTER;
use super::place::Cpus;
use super::plan::Ping;
use super::tasks::{Load, Work};
use crate::scenario::raw::{Pacing, Transport};

/// The largest payload of a datagram.
const DATAGRAM_MAX: usize = 65_507;
/// The largest message of a stream.
const MESSAGE_MAX: usize = 64 << 20;
/// The maximum number of tasks in addition to the ping.
const TASKS_MAX: i64 = 100_000;

/// Side of this program.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Send, wait for the answer, measure
    Ping,
    /// Send back whatever comes
    Pong,
}

/// Options of one side.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Side of this program
    #[arg(long, value_enum)]
    pub mode: Option<Mode>,
    /// Transport of the messages
    #[arg(long, value_enum, default_value = "tcp")]
    pub protocol: Transport,
    /// Backend: std, tokio, tokio-current, smol, async-std, uring [default: tokio, or what
    /// there is]
    #[arg(long, value_name = "NAME")]
    pub backend: Option<Backend>,
    /// Address on which pong listens and to which ping connects; pong chooses a free port for 0 and prints it
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7461")]
    pub address: String,
    /// Bytes of a message; its first eight are a counter
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    pub size: usize,
    /// Seconds from one message to the next, with decimals; 0 is back to back
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    pub interval: Duration,
    /// Duration of ping [default: 60]; pong answers without an end if this is not given
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,
    /// Tasks beside the ping on the same runtime, each with a timer of a millisecond
    #[arg(
        short = 's',
        long,
        visible_alias = "spawn",
        value_name = "N",
        default_value_t = 0
    )]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=TASKS_MAX))]
    pub tasks: u32,
    /// The tasks compute: all together use this share of one processor, such as 0.5; without this,
    /// each multiplies once a millisecond
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub cpu_work: Option<f64>,
    /// Pacing of the messages
    #[arg(long, value_enum, default_value = "exact")]
    pub pacing: Pacing,
    /// Wait for each answer before the next message (the default)
    #[arg(short, long, conflicts_with = "pipelined")]
    pub wait: bool,
    /// Send on schedule whether or not answers are missing; a reader of its own takes them
    #[arg(long)]
    pub pipelined: bool,
    /// Go round for this long before measuring
    #[arg(long, value_name = "SECONDS", default_value = "0.1", value_parser = seconds)]
    pub warm_up: Duration,
    /// An answer that takes longer is lost: counted with udp and icmp, the end with tcp
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub timeout: Duration,
    /// Sleep as the programs of 2022 did where that differs: smol on a thread of its own
    #[arg(long)]
    pub quirks: bool,
    /// Run on these processors only, such as 0 or 0,2-3
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<Cpus>,
    /// Priority of the process, -20 (highest) to 19
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: Option<i32>,
    /// TCP's congestion control, such as cubic or reno [default: the system's]
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Print every round trip as framework,transport,test,count,rate,payload,tasks,value,unit
    #[arg(short, long, conflicts_with = "json")]
    pub csv: bool,
    /// Print every round trip in these rows, as --csv does in its own
    #[arg(long, value_enum, conflicts_with = "json")]
    pub format: Option<Format>,
    /// Print one JSON object instead of text: pong's address, ping's figures
    #[arg(long)]
    pub json: bool,
    /// End with standard input, as a program does that another one started
    #[arg(long, hide = true)]
    pub end_with_input: bool,
}

impl Options {
    /// Returns the format in which each round trip is printed, if any.
    pub fn rows(&self) -> Option<Format> {
        self.format.or(self.csv.then_some(Format::Zonda))
    }

    /// Returns the requested backend, or the first available one.
    pub fn backend(&self) -> Backend {
        self.backend.unwrap_or_else(Backend::first)
    }

    /// Returns the framework's name in reports.
    pub fn framework(&self) -> &'static str {
        match self.protocol {
            Transport::Icmp => "icmp",
            _ => self.backend().name(),
        }
    }

    /// Returns the wanted messages per second; `None` for back to back.
    pub fn wanted(&self) -> Option<f64> {
        let interval = self.interval.as_secs_f64();
        (interval > 0.0).then(|| 1.0 / interval)
    }

    /// Returns the duration of the measurement.
    pub fn measured_for(&self) -> Duration {
        self.duration.unwrap_or(Duration::from_secs(60))
    }

    /// Returns the plan of the ping.
    pub fn ping(&self, interrupt: Interrupt) -> Result<Ping, Failure> {
        // a message must fit its protocol
        let most = match self.protocol {
            Transport::Tcp => MESSAGE_MAX,
            Transport::Udp | Transport::Icmp => DATAGRAM_MAX,
        };
        if !(COUNTER..=most).contains(&self.size) {
            return Err(Failure::Usage(format!(
                "--size {}: expected {COUNTER} to {most} bytes with --protocol {}",
                self.size, self.protocol
            )));
        }
        let tasks = self.tasks as usize;
        Ok(Ping {
            size: self.size,
            pacing: self.pacing,
            interval: self.interval,
            duration: self.measured_for(),
            warm_up: self.warm_up,
            tasks,
            work: self.cpu_work.map_or(Work::Multiply, |share| {
                Work::Compute(Load::calibrated(share, tasks))
            }),
            is_pipelined: self.pipelined,
            timeout: self.timeout,
            may_lose: self.protocol != Transport::Tcp,
            quirks: self.quirks,
            interrupt,
        })
    }
}

/// Parses a share of a processor.
pub fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 64.0 => Ok(share),
        _ => Err("expected a share of one processor, such as 0.5".into()),
    }
}
