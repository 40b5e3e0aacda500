// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `zonda` command: the router, tools to publish and subscribe, and measurements.
#![forbid(unsafe_code)]

#[path = "../examples/arguments/mod.rs"]
mod arguments;
mod perf;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use arguments::Failure;

/// A publish/subscribe node that speaks the Zenoh protocol: router, tools and measurements.
#[derive(Parser, Debug)]
#[command(name = "zonda", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Measure this machine: throughput, latency, CPU time per message
    #[command(subcommand, arg_required_else_help = true)]
    Perf(perf::Perf),
}

fn main() -> ExitCode {
    arguments::run(run)
}

fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Perf(perf) => perf.run(),
    }
}
