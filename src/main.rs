// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `zonda` command: the router, tools to publish, subscribe, query and reply, and measurements.
#![forbid(unsafe_code)]

mod tools;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use zonda_perf::Perf;
use zonda_program as program;
use zonda_program::terminal::Verbosity;
use zondad::DaemonArgs;

/// Examples for newcomers, below every overview of the commands.
const FIRST_STEPS: &str = "\
Examples:
  zonda sub 'demo/**' -l tcp/127.0.0.1:7450                 print what comes in
  zonda put demo/hi hello -e tcp/127.0.0.1:7450             in a second terminal
  zonda get 'demo/**' -e tcp/127.0.0.1:7450                 ask all that can answer (zonda queryable)
  zonda router -l tcp/0.0.0.0:7447                          forward between many
  zonda perf quick                                          measure this machine

-v after any command logs more of what the node does on standard error, -q less; RUST_LOG=zonda_router=debug and the like \
choose what. `zonda COMMAND --help` says what a command takes.";

/// Examples of measurements.
const PERF: &str = "\
Examples:
  zonda perf quick                                     start here: about a minute
  zonda perf thr --sizes 8,1k --json before.json       one figure, kept
  zonda perf compare before.json after.json            what a change has brought
  zonda perf plot before.json                          a page of a record";

/// Default of the log. Tools report connections themselves, so theirs leaves out attempts to
/// connect.
const LOG: &str =
    "warn,zonda_router::peers::connect=error,zonda_router::peers::connection_log=warn";

/// A publish/subscribe node that speaks the Zenoh protocol: router, tools and measurements.
#[derive(Parser, Debug)]
#[command(name = "zonda", version, propagate_version = true)]
#[command(arg_required_else_help = true, after_help = FIRST_STEPS)]
struct Cli {
    #[command(flatten)]
    verbosity: Verbosity,
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
    /// Delete the value of a key, and leave
    Delete(tools::Delete),
    /// Ask for the values of a selector, print the replies, and leave
    Get(Box<tools::Get>),
    /// Answer the queries on a key expression with a value
    Queryable(tools::Queryable),
    /// Watch liveliness tokens, or hold one
    Live(tools::Live),
    /// Record publications with the times at which they came
    Record(tools::Record),
    /// Publish a recording again, at its own times or faster
    Replay(tools::Replay),
    /// Export, import, check and compact the data of a storage whose router does not run
    #[command(subcommand, arg_required_else_help = true)]
    Storage(tools::Storage),
    /// Rehearse a network before it is built: convergence, traffic, memory, and what the loss of a link does
    Rehearse(tools::Rehearse),
    /// Look for routers and peers by multicast
    Scout(tools::Scout),
    /// Show what this program is and, with -e or -l, what its node is connected to
    Info(tools::Info),
    /// Say what the access control of a configuration decides, and why
    #[command(subcommand, arg_required_else_help = true)]
    Acl(tools::Acl),
    /// Give running routers the rules of a file
    Reload(tools::Reload),
    /// Say which way a message takes between two nodes, or which node stops it and why
    Explain(Box<tools::Explain>),
    /// Print messages as they pass the links of a router: where each comes from, and where it goes
    Trace(tools::Trace),
    /// Show the neighbours of a router, what waits for them, and what stalls
    Top(tools::Top),
    /// Make certificates for trying links that are encrypted
    #[command(subcommand, arg_required_else_help = true)]
    Tls(tools::Tls),
    /// Measure between two nodes where they run: throughput, round trips, and the path between them
    Bench(Box<tools::Bench>),
    /// Measure this machine: throughput, latency, CPU time per message
    #[command(subcommand, arg_required_else_help = true, after_help = PERF)]
    Perf(Box<Perf>),
    /// Print what makes a shell complete the command line
    Completions(tools::Completions),
    /// Show a page of the manual, or write all of them
    Man(tools::Man),
}

fn main() -> ExitCode {
    let cli: Cli = program::parse();
    cli.verbosity.log(match cli.command {
        Command::Router(_) => zonda_program::terminal::LOG_OF_DAEMON,
        _ => LOG,
    });
    // Each link takes a descriptor: raise their limit.
    zonda_router::descriptors::raise();
    // The daemon and measurements have exit codes of their own.
    let result = match cli.command {
        Command::Router(args) => return zondad::run(&args),
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
        Command::Storage(storage) => storage.run(),
        Command::Rehearse(rehearse) => rehearse.run(),
        Command::Scout(scout) => scout.run(),
        Command::Info(info) => info.run(),
        Command::Acl(acl) => acl.run(),
        Command::Reload(reload) => reload.run(),
        Command::Explain(explain) => explain.run(),
        Command::Trace(trace) => trace.run(),
        Command::Top(top) => top.run(),
        Command::Tls(tls) => tls.run(),
        Command::Bench(bench) => bench.run(),
        Command::Completions(completions) => completions.run(Cli::command()),
        Command::Man(man) => man.run(Cli::command()),
    };
    program::finish(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every indented line below every help, with the name of its command.
    fn examples(command: &clap::Command) -> Vec<(String, String)> {
        let help = command.get_after_help().map(ToString::to_string);
        let help = help.unwrap_or_default();
        let lines = help.lines().filter(|line| line.starts_with("  "));
        let name = command.get_name().to_owned();
        let mut all: Vec<_> = lines.map(|line| (name.clone(), line.to_owned())).collect();
        all.extend(command.get_subcommands().flat_map(examples));
        all
    }

    #[test]
    fn no_terminal_breaks_an_example() {
        let all = examples(&program::fitted(Cli::command()));
        assert!(all.len() > 50, "{all:?}");
        let broken = all.iter().find(|(_, line)| line.chars().count() > 79);
        assert_eq!(broken, None);
    }
}
