// SPDX-License-Identifier: MIT OR Apache-2.0

//! Search for nodes without opening one.

use std::net::SocketAddr;

use zonda_codec::{Hello, Locator, Roles, Scout, WhatAmI, ZenohId};

use crate::{
    config::Config,
    scouting::{
        report::ScoutReport,
        service::{Options, ScoutHandler, Service},
    },
    table::scouting::{Host, LOCATORS_MAX},
};

/// The answer of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Greeting {
    /// The node's id.
    pub zid: ZenohId,
    /// Its role.
    pub whatami: WhatAmI,
    /// Locators of the node; without any, the source of its datagram is the only hint.
    pub locators: Vec<Locator>,
    /// The source of the answer.
    pub source: SocketAddr,
}

impl Greeting {
    fn of(hello: &Hello<'_>, source: SocketAddr) -> Self {
        let locators = hello.locators.iter();
        let locators = locators.filter_map(|text| text.parse().ok());
        Greeting {
            zid: hello.zid,
            whatami: hello.whatami,
            locators: locators.take(LOCATORS_MAX).collect(),
            source,
        }
    }
}

/// Reason why a search cannot start.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScoutError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// The given value is not a configuration.
    #[error("{reason}")]
    NotAConfig {
        /// The fault of the value.
        reason: String,
    },
    /// The system has no thread or descriptor left.
    #[error("cannot start scouting: {reason}")]
    Start {
        /// The error of the operating system.
        reason: String,
    },
}

zonda_codec::debug_as_text!(ScoutError);

/// A running search. Dropping it ends the search.
#[derive(Debug)]
pub struct Search(Service);

impl Search {
    /// Returns the report of the search so far.
    pub fn report(&self) -> ScoutReport {
        self.0.report()
    }
}

/// Searches for nodes of these roles until the result is dropped, and passes each answer to `sink`,
/// on a thread of its own and with no lock held. The search sends a SCOUT after 0, 1, 3, 7, 15...
/// seconds, and each node answers each SCOUT on each interface.
///
/// The search uses only `scouting/multicast/address`, `interface` and `ttl` of the configuration.
///
/// # Errors
/// The configuration is invalid, or the system has no thread or descriptor left. An interface that
/// cannot be used is in the [report](Search::report).
pub fn search(
    what: Roles,
    config: &Config,
    sink: impl Fn(Greeting) + Send + 'static,
) -> Result<Search, ScoutError> {
    config.validate()?;
    let scouting = config.settings().scouting();
    let options = Options {
        group: scouting.address,
        ttl: scouting.ttl,
        interfaces: scouting.interfaces,
        listen: false,
    };
    let asker = Asker { what, sink };
    let service = Service::start(options, true, asker);
    service.map(Search).map_err(|error| ScoutError::Start {
        reason: error.to_string(),
    })
}

/// A party that sends SCOUTs and never answers any.
struct Asker<F> {
    what: Roles,
    sink: F,
}

impl<F: Fn(Greeting) + Send + 'static> ScoutHandler for Asker<F> {
    fn asks(&self) -> Option<Roles> {
        Some(self.what)
    }

    fn hello(&self, hello: &Hello<'_>, source: SocketAddr) {
        (self.sink)(Greeting::of(hello, source));
    }

    fn answer(&self, _scout: &Scout, _source: SocketAddr, _host: &Host) -> Option<Vec<u8>> {
        None
    }

    fn host_changed(&self, _host: &Host) {}
}
