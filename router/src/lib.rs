// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! Many peers: the forwarding table, the configuration and the [`node`] that ties connections to it.
//! The library behind the session API and behind the daemon `zondad`.

pub mod config;
#[cfg(feature = "daemon")]
pub mod daemon;
pub mod descriptors;
pub mod forwarding;
pub mod hlc;
pub mod metrics;
pub mod node;
pub mod scouting;

pub use config::Config;
