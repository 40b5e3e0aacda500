// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections to one peer: everything between a socket and the messages of one Zenoh connection.
//!
//! * [`protocol`] is sans-IO: handshake, sequence numbers, batches, fragments, timers.
//! * [`outbox`] is the sending half of a connection, shared by all senders.
//! * [`link`] contains the kinds of connection; [`dial`] opens one, [`listen`] accepts them,
//!   [`framing`] carries their handshake.
//! * [`multicast`] is a group of nodes that receive each other's datagrams without connections.
//! * [`ledger`] counts the memory that a node's connections hold.
//! * [`log_ring`] keeps the last lines of a log.
//! * [`log_limit`] limits log lines that unauthenticated peers can cause.
//! * [`block`] is the memory that sockets are read into.
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
pub mod log_ring;
pub mod multicast;
pub mod outbox;
pub mod protocol;
pub mod sync;
pub mod text;

#[cfg(test)]
#[path = "../tests/simulation/mod.rs"]
mod simulation;
