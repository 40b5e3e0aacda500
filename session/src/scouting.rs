// SPDX-License-Identifier: MIT OR Apache-2.0

//! Search for nodes by multicast, without being a node.
//!
//! A session finds other nodes by itself ([`Config`], section `scouting`); this is for programs that want to see
//! them.

use std::fmt;
use std::net::SocketAddr;

use zonda_codec::{Locator, Roles, WhatAmI, ZenohId};
use zonda_router::scouting::{Greeting, Search, search};
use zonda_runtime::guard::caught;

use crate::config::Config;
use crate::handlers::{
    DefaultHandler, FifoChannelHandler, IntoHandler, Stored, handler_setters, used_as_handler,
};
use crate::wait::{Operation, ready_at_once};

pub use zonda_router::scouting::{InterfaceReport, ScoutError, ScoutReport, Use};

/// Searches for nodes of these roles: sends a scout to the multicast group on every interface at
/// once and again after 1, 2, 4, 8, 8... seconds, until the [`Scout`] is dropped. Each answer is a
/// [`Hello`]; a node may answer several times. A configuration that cannot be made of `config` is
/// an error of the search. Of the configuration the address, the interfaces and the TTL of
/// `scouting/multicast` matter.
///
/// ```
/// use std::time::Duration;
/// use zonda::config::WhatAmI;
/// use zonda::{Config, Wait};
///
/// // asks this machine only
/// let config = Config::default().with("scouting/multicast/interface", "'127.0.0.1'");
/// let scout = zonda::scout(WhatAmI::Router | WhatAmI::Peer, config).wait()?;
/// while let Some(hello) = scout.recv_timeout(Duration::from_millis(10))? {
///     println!("{hello}");
/// }
/// scout.stop();
/// # Ok::<(), zonda::Error>(())
/// ```
pub fn scout<W, C>(what: W, config: C) -> ScoutBuilder
where
    W: Into<Roles>,
    C: TryInto<Config>,
    C::Error: fmt::Debug,
{
    let config = config.try_into().map_err(|e| format!("{e:?}"));
    ScoutBuilder {
        what: what.into(),
        config: config.map_err(|reason| ScoutError::NotAConfig { reason }),
        handler: DefaultHandler::default(),
    }
}

/// A search for nodes about to begin; made by [`scout`].
#[derive(Debug)]
#[must_use = "nothing is sent before .await or .wait()"]
pub struct ScoutBuilder<H = DefaultHandler> {
    what: Roles,
    config: Result<Config, ScoutError>,
    handler: H,
}

impl ScoutBuilder<DefaultHandler> {
    handler_setters! {
        /// Calls this function with every answer, on the thread `zonda-scout`. A panic in it costs that one answer.
        ScoutBuilder() of Hello keeps what, config
    }
}

impl<H: IntoHandler<Hello>> Operation for ScoutBuilder<H> {
    type Given = Scout<H::Handler>;
    type Refusal = ScoutError;

    /// Begins to search; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let (callback, handler) = self.handler.into_handler();
        let sink = move |greeting: Greeting| {
            if caught(|| callback.call(Hello(greeting))).is_err() {
                tracing::error!("the callback of a scout panicked; this answer is lost to it");
            }
        };
        let search = search(self.what, &self.config?, sink)?;
        Ok(Scout { search, handler })
    }
}

ready_at_once!([H: IntoHandler<Hello>] ScoutBuilder<H>);

/// A search for nodes. It dereferences to its handler, so that the default one is used like a queue. Dropping it ends the
/// search, without blocking.
#[derive(Debug)]
pub struct Scout<H = FifoChannelHandler<Hello>> {
    search: Search,
    handler: H,
}

impl<H> Scout<H> {
    /// Returns the handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// Returns the counts of scouts and answers on each interface, with the reasons why further
    /// interfaces are not used.
    pub fn report(&self) -> ScoutReport {
        self.search.report()
    }

    /// Ends the search, as dropping it does.
    pub fn stop(self) {
        drop(self);
    }
}

used_as_handler!(Scout);

/// A node's answer. `Display` and `Debug` write it as the reference does: `Hello { zid: .., whatami: .., locators: [..] }`.
#[derive(Clone, PartialEq, Eq)]
pub struct Hello(Greeting);

impl Hello {
    /// Returns the node's role.
    pub fn whatami(&self) -> WhatAmI {
        self.0.whatami
    }

    /// Returns the node's id.
    pub fn zid(&self) -> ZenohId {
        self.0.zid
    }

    /// Returns the locators where the node can be reached from here, the best first as the node
    /// sees it.
    pub fn locators(&self) -> &[Locator] {
        &self.0.locators
    }

    /// Returns an iterator over the locators.
    pub fn locators_iter(&self) -> std::slice::Iter<'_, Locator> {
        self.0.locators.iter()
    }

    /// Returns the address that the answer came from: the only hint for a node that names no
    /// locator.
    pub fn source(&self) -> SocketAddr {
        self.0.source
    }
}

impl Stored for Hello {}

impl fmt::Display for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Debug for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hello")
            .field("zid", &self.zid())
            .field("whatami", &self.whatami())
            .field("locators", &self.locators())
            .finish()
    }
}
