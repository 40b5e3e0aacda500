// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! Many peers: the table of declarations and routes, the configuration and the [`node`] that ties connections to it.
//! The library behind the session API and behind the daemon `zondad`.

mod admin;
pub mod config;
#[cfg(feature = "daemon")]
pub mod daemon;
pub mod descriptors;
mod flow;
pub mod hlc;
mod hooks;
pub mod metrics;
pub mod model;
pub mod node;
mod notify;
mod peers;
mod query;
pub mod scouting;
mod send_error;
pub mod table;

pub use config::Config;
