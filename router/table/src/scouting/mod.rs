// SPDX-License-Identifier: MIT OR Apache-2.0

//! Scouting: when to send SCOUTs, which SCOUTs to answer and with which locators, and which nodes
//! to connect to.
//!
//! - [`Asking`] schedules the SCOUTs.
//! - [`Host`] has the interfaces of this machine, and the locators that lead here.
//! - [`HelloBudget`] limits the HELLOs that are sent.
//! - [`Candidates`] are the nodes that were found, with the next attempt at each; [`DialLimits`]
//!   bounds the attempts.
//!
//! The sockets and the links are in the node, the crate `zonda-router`.

mod answering;
mod asking;
mod candidates;
mod dials;
mod host;
mod policy;
#[cfg(test)]
mod tests;

pub use answering::{HelloBudget, ScoutCounts};
pub use asking::Asking;
pub use candidates::{
    Attempt, CandidateCounts, CandidateLimits, Candidates, Found, Link, LinkEnding,
};
pub use dials::{DialLimits, Outcome};
pub use host::{Address, Host, Interface, LOCATORS_MAX, is_loopback, socket_address};
pub use policy::{Autoconnect, Strategy};
