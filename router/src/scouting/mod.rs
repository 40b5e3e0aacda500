// SPDX-License-Identifier: MIT OR Apache-2.0

//! Scouting by multicast: the sockets, and the single thread that waits for all of them.
//!
//! [`crate::table::scouting`] decides about scouts and answers; this module sends and receives
//! datagrams on every interface. It reports an interface that cannot be used once and skips it, and
//! it never keeps a node from opening. The thread (`zonda-scout`) sleeps until a datagram arrives
//! or a SCOUT is due, on any runtime of the node, and ends within milliseconds when its [`Service`]
//! is dropped.

mod news;
mod port;
mod report;
mod search;
mod service;

pub use report::{InterfaceReport, ScoutReport, Use};
pub use search::{Greeting, ScoutError, Search, search};
pub use service::{Options, ScoutHandler, Service};
pub use zonda_config::interfaces::this_host;
