// SPDX-License-Identifier: MIT OR Apache-2.0

//! Looking for nodes without being one.

use std::net::SocketAddr;

use zonda_codec::{Hello, Locator, Roles, Scout, WhatAmI, ZenohId};

use crate::{
    config::Config,
    scouting::{
        report::ScoutReport,
        service::{Options, Party, Service},
    },
    table::scouting::{Host, LOCATORS_MAX},
};

/// Somebody's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Greeting {
    /// The node's id.
    pub zid: ZenohId,
    /// Its role.
    pub whatami: WhatAmI,
    /// The places at which it can be reached; its datagram's source is the only hint if there is none.
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

/// Why nobody can be looked for.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScoutError {
    /// The configuration asks for something impossible.
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
        /// The answer of the operating system.
        reason: String,
    },
}

zonda_codec::debug_as_text!(ScoutError);

/// A search under way. Dropping it ends it.
#[derive(Debug)]
pub struct Search(Service);

impl Search {
    /// Reports the work done so far.
    pub fn report(&self) -> ScoutReport {
        self.0.report()
    }
}

/// Looks for nodes of these roles until the result is dropped, and gives each answer to `sink`, on a thread of its own
/// and with no lock held. A node answers on each interface and each time it is asked: after 0, 1, 3, 7, 15... seconds.
///
/// Of the configuration only `scouting/multicast/address`, `interface` and `ttl` matter.
///
/// # Errors
/// The configuration is impossible, or the system has no thread or descriptor left. An interface that cannot be used is in
/// the [report](Search::report).
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

/// Asks, and is nobody that could answer.
struct Asker<F> {
    what: Roles,
    sink: F,
}

impl<F: Fn(Greeting) + Send + 'static> Party for Asker<F> {
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
