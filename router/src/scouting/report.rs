// SPDX-License-Identifier: MIT OR Apache-2.0

//! Report of scouting by interface, for users whose node finds no other node.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Counters and state of scouting.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScoutReport {
    /// The multicast group.
    pub group: SocketAddr,
    /// Every interface, used or not. Empty until the first list of the system.
    pub interfaces: Vec<InterfaceReport>,
}

/// Use of an interface for scouting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// The interface is used.
    Used,
    /// The interface is used for sending only: the group cannot be joined on it.
    Deaf(String),
    /// The interface is not used, for this reason.
    Skipped(String),
}

/// Counters of one interface.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterfaceReport {
    /// Its name.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Use of the interface.
    pub usage: Use,
    /// SCOUTs sent.
    pub asked: u64,
    /// HELLOs received in answer.
    pub answers: u64,
    /// SCOUTs received from other nodes.
    pub heard: u64,
    /// HELLOs sent in answer.
    pub answered: u64,
    /// Datagrams that were no scouting messages.
    pub malformed: u64,
    /// Datagrams that could not be sent.
    pub failed: u64,
    /// Reason of the last failure.
    pub last_failure: Option<String>,
}

impl InterfaceReport {
    pub(super) fn new(name: &str, addresses: Vec<IpAddr>, usage: Use) -> Self {
        InterfaceReport {
            name: name.to_owned(),
            addresses,
            usage,
            asked: 0,
            answers: 0,
            heard: 0,
            answered: 0,
            malformed: 0,
            failed: 0,
            last_failure: None,
        }
    }
}

/// Formats one line for errors: the interfaces that were used, and those that were skipped.
impl fmt::Display for ScoutReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = |i: &&InterfaceReport| !matches!(i.usage, Use::Skipped(_));
        let asked: Vec<String> = self.interfaces.iter().filter(used).map(tried).collect();
        match asked.is_empty() {
            true => write!(f, "no interface can be used for scouting")?,
            false => write!(f, "asked {} on {}", self.group, asked.join(", "))?,
        }
        let skipped = self.interfaces.iter().filter_map(|i| match &i.usage {
            Use::Skipped(why) => Some(format!("{}: {why}", i.name)),
            _ => None,
        });
        let skipped: Vec<String> = skipped.collect();
        match skipped.is_empty() {
            true => Ok(()),
            false => write!(f, " (left out {})", skipped.join(", ")),
        }
    }
}

fn tried(interface: &InterfaceReport) -> String {
    match &interface.last_failure {
        Some(why) if interface.failed >= interface.asked => format!("{} ({why})", interface.name),
        _ => interface.name.clone(),
    }
}
