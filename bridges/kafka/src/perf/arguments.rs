// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flags of `zonda-kafka perf`.

use std::path::PathBuf;

use clap::Args;
use zonda_perf::tools::{Record, interrupt, warn_of_surroundings};
use zonda_program::Failure;
use zonda_router::descriptors;

use super::load::Mode;
use super::{count, stalls, table};
use crate::ingest::{On, SinkKind};
use crate::producer::ProducerArgs;

/// Measure the server on every runtime, beside the two of the study.
///
/// Each server is a process of its own, started anew for each figure; all of them take turns in each round. Requests per
/// second are those of clients that ask again at once; latencies are those of requests that come on a schedule, counted from
/// when each was due. CPU time per request is that of the first.
#[derive(Args, Clone, Debug)]
pub struct PerfArgs {
    /// Use a broker that the client library simulates, instead of a real one
    #[arg(long)]
    pub mock: bool,
    /// Process of the broker, whose CPU time is shown
    #[arg(long, value_name = "PID", conflicts_with = "mock")]
    pub broker_pid: Option<u32>,
    /// Destination of the messages
    #[arg(long, value_name = "SINK", default_value = "kafka")]
    pub sink: SinkKind,
    /// Which servers [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub runtimes: Vec<On>,
    /// Numbers of clients [default: 1,8,64,256; with --minutes and --messages 64]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub connections: Vec<u16>,
    /// Use of a connection by clients
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "keep-alive,close"
    )]
    pub modes: Vec<Mode>,
    /// Number of rounds for each server
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Seconds of each figure
    #[arg(long, value_name = "S", default_value = "1", value_parser = zonda_program::some_seconds)]
    pub seconds: std::time::Duration,
    /// Requests per second while latency is measured
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    pub rate: u32,
    /// Bytes of each body
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    pub body: u16,
    /// Write the figures of each round as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the figures of each round as JSON, which `zonda perf compare` reads
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Instead: load all servers at the same time with a connection per request, so long, and count when accepting stalled
    #[arg(long, value_name = "MINUTES", conflicts_with = "messages", value_parser = minutes)]
    pub minutes: Option<std::time::Duration>,
    /// Shortest pause that counts as a stall, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1000, requires = "minutes")]
    pub stall_ms: u32,
    /// Instead: publish so many messages, end the server cleanly or kill it, and look for each of them in the topic
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub messages: Option<u64>,
    /// Options of the producer
    #[command(flatten)]
    pub producer: ProducerArgs,
}

fn minutes(text: &str) -> Result<std::time::Duration, String> {
    match text.parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes <= 1e4 => {
            Ok(std::time::Duration::from_secs_f64(minutes * 60.0))
        }
        _ => Err("is no number of minutes".to_owned()),
    }
}

impl PerfArgs {
    /// Runs the measurement.
    ///
    /// # Errors
    /// A program cannot be started or ends early, a file cannot be written, a server stalled, or a message is missing
    /// that should not be.
    ///
    /// # Blocking
    /// Until it is done, or interrupted.
    pub fn run(&self) -> Result<(), Failure> {
        for file in self.json.iter().chain(&self.csv) {
            Record::reserve(file)?;
        }
        // each client has a connection; the new limit itself is not needed
        descriptors::raise();
        let interrupt = interrupt()?;
        warn_of_surroundings();
        match (self.minutes, self.messages) {
            (Some(span), _) => stalls::run(self, span, &interrupt),
            (None, Some(messages)) => count::run(self, messages, &interrupt),
            (None, None) => table::run(self, &interrupt),
        }
    }

    /// Returns the numbers of clients of the table.
    pub(super) fn clients(&self) -> Vec<u16> {
        match self.connections.is_empty() {
            true => vec![1, 8, 64, 256],
            false => self.connections.clone(),
        }
    }

    /// Returns the number of clients for a single figure.
    pub(super) fn crowd(&self) -> usize {
        usize::from(self.connections.first().copied().unwrap_or(64))
    }

    /// Returns the requested servers.
    pub(super) fn servers(&self) -> Vec<On> {
        match self.runtimes.is_empty() {
            true => On::all(),
            false => self.runtimes.clone(),
        }
    }
}
