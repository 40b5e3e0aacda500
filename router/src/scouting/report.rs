// SPDX-License-Identifier: MIT OR Apache-2.0

//! What scouting has done so far, interface by interface, for a user who wonders why nobody is found.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// What scouting has done so far.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScoutReport {
    /// The group that was asked.
    pub group: SocketAddr,
    /// Every interface, used or not. Empty until the system was asked.
    pub interfaces: Vec<InterfaceReport>,
}

/// Whether an interface is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// It is.
    Used,
    /// For asking only: the group cannot be heard on it.
    Deaf(String),
    /// It is not, for this reason.
    Skipped(String),
}

/// What was done on one interface.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterfaceReport {
    /// Its name.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Whether it is used.
    pub usage: Use,
    /// SCOUTs sent.
    pub asked: u64,
    /// HELLOs received in answer.
    pub answers: u64,
    /// SCOUTs of others heard.
    pub heard: u64,
    /// HELLOs sent in answer.
    pub answered: u64,
    /// Datagrams that were no scouting messages.
    pub malformed: u64,
    /// Datagrams that could not be sent.
    pub failed: u64,
    /// Why the last of these could not.
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

/// One line for errors: where was asked, and what was left out.
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
