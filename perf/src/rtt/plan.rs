// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one run is to do, checked and with its sockets open: what the backends are handed.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use zonda_program::Interrupt;

use super::tasks::Work;
use crate::scenario::raw::Pacing;

/// The asking side's orders.
#[derive(Clone, Debug)]
pub struct Ping {
    /// Bytes of a message, at least the eight of its counter.
    pub size: usize,
    /// Who decides when the next message is due.
    pub pacing: Pacing,
    /// Time between two messages; zero is back to back.
    pub interval: Duration,
    /// How long to record.
    pub duration: Duration,
    /// How long to go round before that.
    pub warm_up: Duration,
    /// Tasks beside this one on the same runtime.
    pub tasks: usize,
    /// What each of them does.
    pub work: Work,
    /// Whether requests leave on their schedule, and a reader of its own takes the answers; otherwise the next request leaves
    /// after the answer to the last one.
    pub is_pipelined: bool,
    /// A message unanswered for this long is lost.
    pub timeout: Duration,
    /// A lost message is counted; otherwise it ends the run.
    pub may_lose: bool,
    /// Sleep the way the programs of 2022 did, where that differs.
    #[cfg_attr(
        not(feature = "smol"),
        expect(dead_code, reason = "only smol's slept another way")
    )]
    pub quirks: bool,
    /// The user's wish to end early.
    pub interrupt: Interrupt,
}

/// The asking side's socket, connected, still blocking and without a runtime.
#[derive(Debug)]
pub enum Ends {
    /// A stream without Nagle's delay.
    Tcp(TcpStream),
    /// A socket that only the other side can reach.
    Udp(UdpSocket),
}

/// Where the answering side waits, still blocking and without a runtime.
#[derive(Debug)]
pub enum Doors {
    /// For any number of connections.
    Tcp(TcpListener),
    /// For any number of senders.
    Udp(UdpSocket),
}
