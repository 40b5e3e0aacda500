// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`SessionInfo`]: the connections of a session.

use zonda_codec::{WhatAmI, ZenohId};
use zonda_router::node::{DiscoveryStatus, EndedLinks, GroupStatus, LinkStatus, Unreached};

use crate::handle::Session;
use crate::wait::{Done, Listed, Locators};

/// The state of a session's connections; made by [`Session::info`](crate::Session::info).
#[derive(Debug, Clone, Copy)]
pub struct SessionInfo<'a> {
    pub(crate) session: &'a Session,
}

impl<'a> SessionInfo<'a> {
    pub(crate) fn session(&self) -> &'a Session {
        self.session
    }

    /// Returns the id of this session's node.
    pub fn zid(&self) -> Done<ZenohId> {
        Done(self.session.zid())
    }

    /// Returns the role of this session's node.
    pub fn whatami(&self) -> WhatAmI {
        self.session.node().role()
    }

    /// Returns the name of the runtime that its tasks run on, such as `tokio`. It differs from the
    /// configured one if that was `uring` and the system refused it.
    pub fn runtime(&self) -> &'static str {
        self.session.node().runtime()
    }

    /// Returns the ids of the routers it is connected to.
    pub fn routers_zid(&self) -> Done<std::vec::IntoIter<ZenohId>> {
        Done(self.zids(WhatAmI::Router))
    }

    /// Returns the ids of the peers it is connected to.
    pub fn peers_zid(&self) -> Done<std::vec::IntoIter<ZenohId>> {
        Done(self.zids(WhatAmI::Peer))
    }

    /// Returns every live link. Used as it is, or awaited as in programs for the reference.
    pub fn links(&self) -> Listed<LinkStatus> {
        Listed(self.session.node().links())
    }

    /// Returns the multicast groups that the session is in, with their other members. The members
    /// are among the [links](Self::links) as well; messages to them are counted here.
    pub fn groups(&self) -> Vec<GroupStatus> {
        self.session.node().groups()
    }

    /// Returns the counts of sent and lost messages of the links that have ended.
    pub fn ended_links(&self) -> EndedLinks {
        self.session.node().ended_links()
    }

    /// Returns the configured endpoints that were never reached since the session was opened, with
    /// the reason. For a client that was connected once: none.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// let config = Config::peer().listen(["tcp/127.0.0.1:0"]).connect(["tcp/127.0.0.1:9"]);
    /// let session = zonda::open(config).wait()?;
    /// assert_eq!(session.info().unreached()[0].endpoint.address(), "127.0.0.1:9");
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn unreached(&self) -> Vec<Unreached> {
        self.session.node().unreached()
    }

    /// Returns the locators of the listeners, with the ports that were chosen for port 0. Used as
    /// it is, or awaited as in programs for the reference.
    pub fn locators(&self) -> Locators {
        Locators(self.session.node().locators())
    }

    /// Returns the state of discovery: interfaces and datagrams, found nodes, gossip.
    pub fn discovery(&self) -> DiscoveryStatus {
        self.session.node().discovery()
    }

    fn zids(&self, role: WhatAmI) -> std::vec::IntoIter<ZenohId> {
        let mut zids: Vec<ZenohId> = self
            .links()
            .iter()
            .filter(|l| l.whatami == role)
            .map(|l| l.zid)
            .collect();
        zids.sort_unstable();
        zids.dedup();
        zids.into_iter()
    }
}
