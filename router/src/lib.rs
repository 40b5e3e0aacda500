// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! The node: the forwarding table, the configuration, and the [`node`] that connects them to
//! transports. The session API and the daemon `zondad` are built on this library.

pub mod access {
    //! Decisions of access control, explained for people who write rules.

    pub use crate::filter::{DecidingRule, Explanation, Message, Neighbour, Rules};
}
mod admin;
pub mod descriptors;
mod filter;
mod flow;
pub mod metrics;
pub mod model;
pub mod node;
mod notify;
mod peers;
mod query;
pub mod scouting;
mod send_error;

pub use zonda_config as config;
pub use zonda_config::Config;
pub use zonda_table as table;
pub use zonda_table::hlc;
