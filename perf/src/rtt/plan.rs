// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plan of one run, checked and with its sockets open, as the backends receive it.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use zonda_program::Interrupt;

use super::tasks::Work;
use crate::scenario::raw::Pacing;

/// The plan of the asking side.
#[derive(Clone, Debug)]
pub struct Ping {
    /// Bytes of a message, at least the eight of its counter.
    pub size: usize,
    /// The pacing of messages.
    pub pacing: Pacing,
    /// Time between two messages; zero is back to back.
    pub interval: Duration,
    /// Duration of the recording.
    pub duration: Duration,
    /// Duration of the warm-up.
    pub warm_up: Duration,
    /// Background tasks on the same runtime.
    pub tasks: usize,
    /// The work of each background task.
    pub work: Work,
    /// True if messages leave on their schedule, and a separate reader takes the answers; otherwise
    /// the next message leaves after the answer to the last one.
    pub is_pipelined: bool,
    /// A message unanswered for this long is lost.
    pub timeout: Duration,
    /// True if a lost message is counted; otherwise it ends the run.
    pub may_lose: bool,
    /// True to sleep in the style of the programs of 2022, where that differs.
    #[cfg_attr(
        not(feature = "smol"),
        expect(dead_code, reason = "only smol's slept another way")
    )]
    pub quirks: bool,
    /// The user's interrupt.
    pub interrupt: Interrupt,
}

/// The asking side's socket, connected, still blocking and without a runtime.
#[derive(Debug)]
pub enum AskingSocket {
    /// A stream without Nagle's delay.
    Tcp(TcpStream),
    /// A socket connected to the other side.
    Udp(UdpSocket),
}

/// The answering side's socket, still blocking and without a runtime.
#[derive(Debug)]
pub enum AnsweringSocket {
    /// A listener for any number of connections.
    Tcp(TcpListener),
    /// A socket for any number of senders.
    Udp(UdpSocket),
}
