// SPDX-License-Identifier: MIT OR Apache-2.0
//! One peer: everything between a socket and the messages of one Zenoh connection.
//!
//! * [`protocol`] is sans-IO: handshake, sequence numbers, batches, fragments, timers.
//! * [`outbox`] is the way out to a peer, shared by all who send to it.
//! * [`link`] are the kinds of connection; [`dial`] opens one, [`listen`] accepts them, [`framing`] carries their handshake.
//! * [`multicast`] is a group of nodes that hear each other without connections.
//! * [`ledger`] counts what a node's connections hold of its memory.
//! * [`log_limit`] keeps what strangers cause from filling the log.
//! * [`block`] is what sockets are read into.
//! * [`driver`] moves bytes between a socket and the two above, on any runtime.
//! * [`sync`] is the lock of the message path, counted in debug builds.
#![forbid(unsafe_code)]

pub mod block;
mod clock;
pub mod dial;
pub mod driver;
mod ended;
mod foreign;
pub mod framing;
pub mod ledger;
pub mod link;
pub mod listen;
pub mod log_limit;
pub mod multicast;
pub mod outbox;
pub mod protocol;
pub mod sync;
pub mod text;

#[cfg(test)]
#[path = "../tests/simulation/mod.rs"]
mod simulation;
