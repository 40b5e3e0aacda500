// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `zonda` command: the router, tools to publish, subscribe, ask and answer, and measurements.
#![forbid(unsafe_code)]

mod tools;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use zonda_perf::Perf;
use zonda_program as program;
use zonda_router::daemon::{self, DaemonArgs};

/// What a newcomer tries first, below every overview of the commands.
const FIRST_STEPS: &str = "\
Examples:
  zonda sub 'demo/**' -l tcp/127.0.0.1:7450                 print what comes in
  zonda put demo/hi hello -e tcp/127.0.0.1:7450             in a second terminal
  zonda get 'demo/**' -e tcp/127.0.0.1:7450                 ask all that can answer (zonda queryable)
  zonda router -l tcp/0.0.0.0:7447                          forward between many
  zonda perf quick                                          measure this machine

RUST_LOG=info has more said on standard error, RUST_LOG=off nothing. `zonda COMMAND --help` says what a command takes.";

/// A publish/subscribe node that speaks the Zenoh protocol: router, tools and measurements.
#[derive(Parser, Debug)]
#[command(name = "zonda", version, arg_required_else_help = true, after_help = FIRST_STEPS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Forward between the clients, peers and routers that connect (the same as zondad)
    Router(Box<DaemonArgs>),
    /// Print what is published on a key expression
    Sub(tools::Subscribe),
    /// Publish a value again and again, or every line of standard input
    Pub(tools::Publish),
    /// Put one value and leave
    Put(tools::Put),
    /// Tell subscribers that a key has no value any more, and leave
    Delete(tools::Delete),
    /// Ask for the values of a selector, print the replies, and leave
    Get(Box<tools::Get>),
    /// Answer the queries on a key expression with a value
    Queryable(tools::Queryable),
    /// Show which liveliness tokens come and go, or be alive
    Live(tools::Live),
    /// Write down what is published, with the times at which it came
    Record(tools::Record),
    /// Publish a recording again, at its own times or faster
    Replay(tools::Replay),
    /// Look for routers and peers by multicast
    Scout(tools::Scout),
    /// Show what this program is and, with -e or -l, what its node is connected to
    Info(tools::Info),
    /// Make certificates for trying links that are encrypted
    #[command(subcommand, arg_required_else_help = true)]
    Tls(tools::Tls),
    /// Measure this machine: throughput, latency, CPU time per message
    #[command(subcommand, arg_required_else_help = true)]
    Perf(Box<Perf>),
    /// Print what makes a shell complete the command line
    Completions(tools::Completions),
    /// Write the manual, a page for each sub-command
    Man(tools::Man),
}

fn main() -> ExitCode {
    let cli: Cli = program::parse();
    zonda_router::descriptors::raise();
    let result = match cli.command {
        Command::Router(args) => return daemon::run(&args),
        Command::Perf(perf) => return perf.run(),
        Command::Sub(sub) => sub.run(),
        Command::Pub(publish) => publish.run(),
        Command::Put(put) => put.run(),
        Command::Delete(delete) => delete.run(),
        Command::Get(get) => get.run(),
        Command::Queryable(queryable) => queryable.run(),
        Command::Live(live) => live.run(),
        Command::Record(record) => record.run(),
        Command::Replay(replay) => replay.run(),
        Command::Scout(scout) => scout.run(),
        Command::Info(info) => info.run(),
        Command::Tls(tls) => tls.run(),
        Command::Completions(completions) => completions.run(Cli::command()),
        Command::Man(man) => man.run(Cli::command()),
    };
    program::finish(result)
}
