// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf`: measurements on the reader's own machine. `quick` runs the others of these
//! subcommands, the workers, as processes of their own and reads what they print.

mod bare;
mod case;
mod compare;
mod cpu;
mod curves;
mod event;
mod footprint;
mod inline;
mod lat;
mod latency;
mod level;
mod machine;
mod meter;
mod page;
mod port;
mod process;
mod progress;
mod quick;
mod rank;
mod record;
mod reference;
mod report;
mod result;
mod round_trips;
mod rtt;
mod runtimes;
mod scale;
mod schedule;
mod stage;
mod system;
mod table;
mod thr;
mod throughput;
mod trouble;
mod worker;

use std::io::{self, Read};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread;

use clap::Subcommand;
use zonda_router::daemon::{self, DaemonArgs};

use crate::arguments::{Connection, Failure, finish};
use bare::{Side, crowd};
use compare::Compare;
use curves::Curves;
use lat::Lat;
use page::Plot;
use quick::Quick;
use round_trips::Pace;
use rtt::Rtt;
use runtimes::Runtimes;
use scale::Scale;
use thr::Thr;

/// What can be measured, and the workers that do it.
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
    /// Draw the page of what thr, lat, scale or curves have measured before
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
    /// Say what has changed between two files of thr, lat, scale or curves, and whether by more than chance
    ///
    /// Exit code 1 if something has become worse. Refuses files that cannot be compared.
    Compare(Compare),
    /// Worker: forward, as `zonda router` does
    Router(DaemonArgs),
    /// Worker: count messages
    Sub {
        #[command(flatten)]
        connection: Connection,
    },
    /// Worker: publish as fast as the link takes it
    Pub {
        /// Payload of a message in bytes
        size: usize,
        /// Send each message at once instead of batching
        #[arg(long)]
        express: bool,
        #[command(flatten)]
        connection: Connection,
    },
    /// Worker: send back what ping sends
    Pong {
        #[command(flatten)]
        connection: Connection,
    },
    /// Worker: measure round trips to pong
    Ping {
        /// Payload of a message in bytes
        size: usize,
        /// Take the answer in the subscriber's callback, and send the next message from there
        #[arg(long)]
        inline: bool,
        #[command(flatten)]
        pace: Pace,
        #[command(flatten)]
        connection: Connection,
    },
    #[command(flatten)]
    Flow(thr::Worker),
    #[command(flatten)]
    Latency(lat::Worker),
    #[command(flatten)]
    Crowd(crowd::Worker),
    /// Worker: count messages from bare-pub
    BareSub {
        #[command(flatten)]
        side: Side,
    },
    /// Worker: send messages to bare-sub as fast as blocking sockets can
    BarePub {
        /// Payload of a message in bytes
        size: usize,
        #[command(flatten)]
        side: Side,
    },
    /// Worker: copy bytes between two connections, the yardstick of a router
    BareRelay {
        /// Where the sender connects
        address: SocketAddr,
    },
    /// Worker: send back what bare-ping sends
    BarePong {
        #[command(flatten)]
        side: Side,
    },
    /// Worker: measure round trips to bare-pong
    BarePing {
        /// Payload of a message in bytes
        size: usize,
        #[command(flatten)]
        side: Side,
        #[command(flatten)]
        pace: Pace,
    },
}

impl Perf {
    /// Does it.
    pub fn run(self) -> ExitCode {
        let is_worker = match &self {
            Perf::Quick(_) | Perf::Runtimes(_) | Perf::Plot(_) | Perf::Scale(_) | Perf::Lat(_) => {
                false
            }
            // these read their input themselves
            Perf::Thr(_) | Perf::Compare(_) | Perf::Flow(_) | Perf::Curves(_) => false,
            Perf::Rtt(rtt) => rtt.ends_with_input(),
            _ => true,
        };
        if is_worker {
            end_with_parent();
        }
        let result = match self {
            Perf::Quick(options) => quick::quick(&options),
            Perf::Rtt(rtt) => rtt.run(),
            Perf::Plot(plot) => page::plot(&plot),
            Perf::Curves(curves) => curves.run(),
            Perf::Runtimes(runtimes) => runtimes.run(),
            Perf::Scale(scale) => scale.run(),
            Perf::Thr(thr) => thr.run(),
            Perf::Lat(lat) => lat.run(),
            Perf::Compare(compare) => compare.run(),
            Perf::Flow(worker) => worker.run(),
            Perf::Latency(worker) => worker.run(),
            Perf::Crowd(worker) => worker.run().map_err(Failure::from),
            Perf::Router(args) => return daemon::run(&DaemonArgs { json: true, ..args }),
            Perf::Sub { connection } => worker::subscribe(&connection),
            Perf::Pub {
                size,
                express,
                connection,
            } => worker::publish(&connection, size, express),
            Perf::Pong { connection } => worker::pong(&connection),
            Perf::Ping {
                size,
                inline: true,
                pace,
                connection,
            } => inline::ping(&connection, size, &pace),
            Perf::Ping {
                size,
                inline: false,
                pace,
                connection,
            } => worker::ping(&connection, size, &pace),
            Perf::BareSub { side } => bare::subscribe(&side).map_err(Failure::from),
            Perf::BarePub { size, side } => bare::publish(&side, size).map_err(Failure::from),
            Perf::BareRelay { address } => bare::relay(address).map_err(Failure::from),
            Perf::BarePong { side } => bare::pong(&side).map_err(Failure::from),
            Perf::BarePing { size, side, pace } => {
                bare::ping(&side, size, &pace).map_err(Failure::from)
            }
        };
        finish(result)
    }
}

/// A worker ends when its standard input does: then the process that started it has gone, however that
/// happened.
fn end_with_parent() {
    thread::spawn(|| {
        let mut nothing = [0; 64];
        let mut input = io::stdin().lock();
        while input.read(&mut nothing).is_ok_and(|n| n > 0) {}
        std::process::exit(0);
    });
}
