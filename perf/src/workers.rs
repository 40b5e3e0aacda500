// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workers: sub-commands that the help does not list, by which a measurement starts this executable again for each part
//! that is to be a process of its own.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread;

use clap::Subcommand;
use zonda_program::{Connection, Failure, finish};
use zonda_router::daemon::{self, DaemonArgs};

use super::bare::{self, Side, crowd};
use super::round_trips::Pace;
use super::{inline, lat, thr, worker};

/// What a process that was started again does.
#[derive(Subcommand, Clone, Debug)]
pub enum Worker {
    /// Worker: forward, as `zonda router` does
    #[command(hide = true)]
    Router(DaemonArgs),
    /// Worker: count messages
    #[command(hide = true)]
    Sub {
        #[command(flatten)]
        connection: Connection,
    },
    /// Worker: publish as fast as the link takes it
    #[command(hide = true)]
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
    #[command(hide = true)]
    Pong {
        #[command(flatten)]
        connection: Connection,
    },
    /// Worker: measure round trips to pong
    #[command(hide = true)]
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
    #[command(hide = true)]
    BareSub {
        #[command(flatten)]
        side: Side,
    },
    /// Worker: send messages to bare-sub as fast as blocking sockets can
    #[command(hide = true)]
    BarePub {
        /// Payload of a message in bytes
        size: usize,
        #[command(flatten)]
        side: Side,
    },
    /// Worker: copy bytes between two connections, the yardstick of a router
    #[command(hide = true)]
    BareRelay {
        /// Where the sender connects
        address: SocketAddr,
    },
    /// Worker: send back what bare-ping sends
    #[command(hide = true)]
    BarePong {
        #[command(flatten)]
        side: Side,
    },
    /// Worker: measure round trips to bare-pong
    #[command(hide = true)]
    BarePing {
        /// Payload of a message in bytes
        size: usize,
        #[command(flatten)]
        side: Side,
        #[command(flatten)]
        pace: Pace,
    },
}

impl Worker {
    /// Does it.
    pub fn run(self) -> ExitCode {
        // those of `thr` read their input themselves
        if !matches!(self, Worker::Flow(_)) {
            end_with_parent();
        }
        let result = match self {
            Worker::Router(args) => return daemon::run(&DaemonArgs { json: true, ..args }),
            Worker::Flow(worker) => worker.run(),
            Worker::Latency(worker) => worker.run(),
            Worker::Crowd(worker) => worker.run().map_err(Failure::from),
            Worker::Sub { connection } => worker::subscribe(&connection),
            Worker::Pub {
                size,
                express,
                connection,
            } => worker::publish(&connection, size, express),
            Worker::Pong { connection } => worker::pong(&connection),
            Worker::Ping {
                size,
                inline: true,
                pace,
                connection,
            } => inline::ping(&connection, size, &pace),
            Worker::Ping {
                size,
                inline: false,
                pace,
                connection,
            } => worker::ping(&connection, size, &pace),
            Worker::BareSub { side } => bare::subscribe(&side).map_err(Failure::from),
            Worker::BarePub { size, side } => bare::publish(&side, size).map_err(Failure::from),
            Worker::BareRelay { address } => bare::relay(address).map_err(Failure::from),
            Worker::BarePong { side } => bare::pong(&side).map_err(Failure::from),
            Worker::BarePing { size, side, pace } => {
                bare::ping(&side, size, &pace).map_err(Failure::from)
            }
        };
        finish(result)
    }
}

/// A worker ends when its standard input does: then the process that started it has gone, however that
/// happened.
pub fn end_with_parent() {
    thread::spawn(|| {
        let mut nothing = [0; 64];
        let mut input = io::stdin().lock();
        while input.read(&mut nothing).is_ok_and(|n| n > 0) {}
        std::process::exit(0);
    });
}
