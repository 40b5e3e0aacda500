// SPDX-License-Identifier: MIT OR Apache-2.0

//! Scouting by multicast: the sockets, and the one thread that waits for all of them.
//!
//! What to send and which scouts to answer is decided in [`crate::table::scouting`]; here datagrams go out and come in, on
//! every interface. An interface that cannot be used is reported once and left out, and nothing here ever keeps a node from
//! being opened. The thread (`zonda-scout`) sleeps until a datagram comes or a SCOUT is due, whatever runtime the node
//! uses, and ends within milliseconds when its [`Service`] is dropped.

pub(crate) mod interfaces;
mod news;
mod port;
mod report;
mod search;
mod service;

pub use interfaces::this_host;
pub use report::{InterfaceReport, ScoutReport, Use};
pub use search::{Greeting, ScoutError, Search, search};
pub use service::{Options, Party, Service};
