// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! `zonda perf`: measurements on the reader's own machine.
//!
//! [`Perf`] is a set of sub-commands for a program that `clap` parses. Each part of a measurement
//! that runs as a process, publisher, subscriber or router, is this executable, started again with
//! one of the hidden sub-commands; the measurement reads their output. A program that includes
//! [`Perf`] must therefore offer it as its sub-command `perf`:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use zonda_perf::Perf;
//! use zonda_program::parse;
//!
//! #[derive(clap::Parser)]
//! enum Cli {
//!     /// Measure this machine
//!     #[command(subcommand)]
//!     Perf(Box<Perf>),
//! }
//!
//! fn main() -> ExitCode {
//!     let Cli::Perf(perf) = parse();
//!     perf.run()
//! }
//! ```
//!
//! A sub-command is a preset: it names scenarios (`scenario/`) and systems (`system.rs`). A
//! campaign (`campaign.rs`) measures each system in each scenario round by round (`measure/`), by
//! fresh processes (`processes.rs`) whose command lines are in `roles.rs` and whose work is in
//! `workers/`. The result is one record (`record/`), which tables, pages and `perf compare` read.
//! `rtt/` is the raw ping-pong of the studies, without the protocol.

mod campaign;
mod compare;
mod cpu;
mod event;
mod footprint;
mod histogram;
mod link;
mod machine;
mod measure;
mod numbers;
mod page;
mod port;
mod presets;
mod process;
mod processes;
mod progress;
mod rank;
mod record;
mod reference;
mod roles;
mod rtt;
mod scenario;
mod schedule;
mod surroundings;
mod system;
mod table;
mod workers;

use std::process::ExitCode;

use clap::Subcommand;
use zonda_program::finish;

/// Tools for other measuring programs of the project, so that their figures are taken, kept and
/// shown in the same way.
pub mod tools {
    pub use crate::cpu::cpu_time;
    pub use crate::histogram::{histogram, micros, pairs};
    pub use crate::machine::{load_average, summary};
    pub use crate::numbers::{of_rounds, short, thousands, time};
    pub use crate::process::{Process, Program, ProgramOutput};
    pub use crate::record::{Better, Cell, Record, Round, Spread, X};
    pub use crate::schedule::{Schedule, WaitMethod};
    pub use crate::surroundings::{interrupt, note, warn_of_surroundings};
    pub use crate::workers::end_with_parent;
}

pub use progress::Progress;

use compare::Compare;
use page::Plot;
use presets::curves::Curves;
use presets::lat::Lat;
use presets::links::Links;
use presets::quick::Quick;
use presets::runtimes::Runtimes;
use presets::scale::Scale;
use presets::thr::Thr;
use rtt::Rtt;
use workers::{Worker, end_with_parent};

/// Measurements, and the workers that carry them out.
#[derive(Subcommand, Clone, Debug)]
pub enum Perf {
    /// Measure throughput and round trips, peer to peer and routed, beside bare sockets
    ///
    /// Starts everything it needs on loopback ports as processes of their own and prints one table.
    /// Takes about a minute.
    Quick(Quick),
    /// Measure raw round trips by each runtime's own sockets: ping, pong, or the matrix of all
    ///
    /// No Zonda protocol in between: what a runtime, a transport and a pacing cost by themselves. The
    /// answer to a message is the same bytes; TCP is without Nagle's delay. The achieved rate stands
    /// beside the wanted one, because a runtime whose timer is coarse does not reach it.
    Rtt(Box<Rtt>),
    /// Measure the whole node on every runtime, and say which to take for what
    ///
    /// Throughput, round trips, CPU time, memory, threads and context switches of each runtime that is
    /// compiled in, in interleaved rounds, beside the raw ping-pong of the same runtime and bare sockets.
    /// Takes about ten minutes.
    Runtimes(Runtimes),
    /// Measure what many clients, and many subscriptions, cost a router
    ///
    /// Idle clients: CPU time, memory, threads. Distinct subscriptions: CPU time and memory to declare them, what a
    /// routed message costs beside them, a wildcard over them, and who waits when they go.
    Scale(Scale),
    /// Measure the curves of throughput by size and of latency by rate, and draw them
    ///
    /// Peer to peer and routed, by a session and by the node below it, beside bare sockets and, if you have built its
    /// programs, the reference. Says first how long it takes; --quick is about three minutes.
    Curves(Box<Curves>),
    /// Draw the page of what any of these has measured before
    Plot(Plot),
    /// Measure throughput by size, topology, publishers, subscribers, keys and quality of service
    ///
    /// Every round starts every program anew on loopback ports, beside bare sockets and, if you have built
    /// its programs, the reference. Every message of this project is checked: a lost one fails the run.
    Thr(Box<Thr>),
    /// Measure latency by rate, size and topology: back to back, and on a schedule that hides no delay
    ///
    /// Every round starts every program anew on loopback ports, beside bare sockets and, if you have built its programs,
    /// the reference. CPU time stands beside latency. Messages lost, doubled or out of order fail the run.
    Lat(Box<Lat>),
    /// Measure what each kind of link costs: the table of message-io's study
    ///
    /// Throughput and one way of a byte over UDP, TCP, TCP with frames, WebSocket, TLS, QUIC and Unix sockets: the protocol used
    /// natively, this project, and, if you have built their programs, message-io and the reference.
    Links(Box<Links>),
    /// Say what has changed between two files of any of these, and whether by more than chance
    ///
    /// Exit code 1 if something has become worse. Refuses files that cannot be compared.
    Compare(Compare),
    /// One part of a measurement, as a process of its own
    #[command(flatten)]
    Worker(Worker),
}

impl Perf {
    /// Runs the sub-command.
    ///
    /// # Blocking
    /// Blocks until the measurement is over or interrupted; a worker, until its work is done or its
    /// standard input ends.
    pub fn run(self) -> ExitCode {
        let result = match self {
            Perf::Quick(quick) => quick.run(),
            Perf::Rtt(rtt) => {
                if rtt.ends_with_input() {
                    end_with_parent();
                }
                rtt.run()
            }
            Perf::Plot(plot) => page::plot(&plot),
            Perf::Curves(curves) => curves.run(),
            Perf::Runtimes(runtimes) => runtimes.run(),
            Perf::Scale(scale) => scale.run(),
            Perf::Thr(thr) => thr.run(),
            Perf::Lat(lat) => lat.run(),
            Perf::Links(links) => links.run(),
            Perf::Compare(compare) => compare.run(),
            Perf::Worker(worker) => return worker.run(),
        };
        finish(result)
    }
}
