// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command `zonda-kafka`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use zonda_kafka::bridge::BridgeArgs;
use zonda_kafka::ingest::IngestArgs;
use zonda_kafka::perf::{BrokerWorker, PerfArgs, ServerWorker};
use zonda_program::terminal::Verbosity;

/// Between Zonda and Kafka: a bridge both ways, and a server that takes messages by HTTP.
#[derive(Parser, Debug)]
#[command(
    name = "zonda-kafka",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Carry messages between keys and topics
    Bridge(BridgeArgs),
    /// Take messages by HTTP and publish them
    Ingest(Box<IngestArgs>),
    /// Measure the server on every runtime, beside the two of the study
    Perf(Box<PerfArgs>),
    /// The server of a measurement
    #[command(hide = true)]
    PerfServer(Box<ServerWorker>),
    /// The broker of a measurement without a real one
    #[command(hide = true)]
    PerfBroker(BrokerWorker),
}

fn main() -> ExitCode {
    let cli: Cli = zonda_program::parse();
    cli.verbosity.log("warn");
    let result = match cli.command {
        Command::Bridge(bridge) => bridge.run(),
        Command::Ingest(ingest) => ingest.run(),
        Command::Perf(perf) => perf.run(),
        Command::PerfServer(server) => server.run(),
        Command::PerfBroker(broker) => broker.run(),
    };
    zonda_program::finish(result)
}
