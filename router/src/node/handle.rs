// SPDX-License-Identifier: MIT OR Apache-2.0

//! The handle of a node: what it is, subscribers, publishing.

use std::{sync::Arc, time::Duration};

use zonda_codec::{KeyExpr, Locator, Timestamp, WhatAmI, ZenohId};
use zonda_runtime::AnyRuntime;

use super::shared::Shared;
use crate::{
    flow::{publisher::PublisherFace, receiving::Sink},
    model::{DeclareError, LinkStatus, Outcome, Publication, PublishError, SubscriberId, Wait},
    node::clock::ntp64_now,
    table::Locality,
};

/// A running node. Clones are cheap and mean the same node; dropping them does not close it, [`Node::close`] does.
#[derive(Clone)]
pub struct Node {
    pub(crate) shared: Arc<Shared>,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("zid", &self.zid())
            .field("role", &self.role())
            .finish_non_exhaustive()
    }
}

impl Node {
    /// The id of this node.
    #[must_use]
    pub fn zid(&self) -> ZenohId {
        self.shared.zid
    }

    /// The role of this node.
    #[must_use]
    pub fn role(&self) -> WhatAmI {
        self.shared.role
    }

    /// Where this node listens, and the multicast groups that it is in; port 0 is replaced by the system's choice.
    #[must_use]
    pub fn locators(&self) -> Vec<Locator> {
        let mut locators = self.shared.locators();
        locators.extend(self.group_locators());
        locators
    }

    /// The live links, ordered by the peer's id.
    #[must_use]
    pub fn links(&self) -> Vec<LinkStatus> {
        self.shared.links()
    }

    /// The name of the runtime that the node's tasks run on.
    #[must_use]
    pub fn runtime(&self) -> &'static str {
        self.shared.runtime.name()
    }

    /// The runtime that the node's tasks run on.
    #[must_use]
    pub fn runtime_handle(&self) -> &AnyRuntime {
        &self.shared.runtime
    }

    /// Whether the node stamps what it publishes: `timestamping/enabled`.
    #[must_use]
    pub fn stamps(&self) -> bool {
        self.shared.stamps
    }

    /// Calls `sink` for each message on a key that intersects `key`, from now on until it is undeclared.
    ///
    /// # Errors
    /// The node is closed.
    pub fn declare_subscriber(
        &self,
        key: &KeyExpr<'_>,
        sink: Sink,
    ) -> Result<SubscriberId, DeclareError> {
        self.declare_subscriber_from(key, Locality::Any, sink)
    }

    /// The same, for messages from there only; of one for those of the node's own session nobody else hears.
    ///
    /// # Errors
    /// As [`Node::declare_subscriber`].
    pub fn declare_subscriber_from(
        &self,
        key: &KeyExpr<'_>,
        origin: Locality,
        sink: Sink,
    ) -> Result<SubscriberId, DeclareError> {
        self.shared.declare_subscriber(key, origin, sink)
    }

    /// Ends a subscriber. A call of its sink that is under way on another thread may still finish. The sink is
    /// dropped by its last user, never under a lock.
    pub fn undeclare_subscriber(&self, id: SubscriberId) {
        self.shared.undeclare_subscriber(id);
    }

    /// Declares a publisher of `key`: its route is kept at hand, and nothing is sent where nobody listens.
    ///
    /// # Errors
    /// The node is closed.
    pub fn declare_publisher(&self, key: &KeyExpr<'_>) -> Result<PublisherFace, DeclareError> {
        self.declare_publisher_to(key, Locality::Any)
    }

    /// The same of a publisher whose messages go there only.
    ///
    /// # Errors
    /// As [`Node::declare_publisher`].
    pub fn declare_publisher_to(
        &self,
        key: &KeyExpr<'_>,
        destination: Locality,
    ) -> Result<PublisherFace, DeclareError> {
        PublisherFace::declare(&self.shared, key, destination)
    }

    /// Publishes to `destination` on a key without a declared publisher.
    ///
    /// # Errors
    /// What became of the message; see [`PublishError`].
    ///
    /// # Blocking
    /// Under congestion control `Block` at most as long as `wait` says, else never.
    pub fn publish(
        &self,
        key: &KeyExpr<'_>,
        destination: Locality,
        publication: &Publication<'_>,
        wait: Wait,
    ) -> Result<Outcome, PublishError> {
        let route = self.shared.undeclared_route(key, destination)?;
        self.shared.dispatch(&route, publication, wait)
    }

    /// Publishes to `destination` on a key without a declared publisher; under congestion control `Block` it waits for room
    /// by waker, at most `limit`.
    ///
    /// # Errors
    /// As [`Node::publish`].
    ///
    /// # Cancel safety
    /// A future that is dropped has published to some neighbours or to none.
    pub async fn publish_async(
        &self,
        key: &KeyExpr<'_>,
        destination: Locality,
        publication: &Publication<'_>,
        limit: Duration,
    ) -> Result<Outcome, PublishError> {
        let route = self.shared.undeclared_route(key, destination)?;
        self.shared.dispatch_async(&route, publication, limit).await
    }

    /// A timestamp of this node's clock: unique, and later than every one it has seen.
    #[must_use]
    pub fn new_timestamp(&self) -> Timestamp {
        self.shared.clock.new_timestamp(ntp64_now())
    }

    /// True in a process that was forked off after the node was opened. The node's threads are not in it: every call
    /// fails or gives nothing, none waits, and nothing of it disturbs the process that opened the node.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.shared.is_forked()
    }

    /// True once [`Node::close`] was called, and where [`Node::is_forked`].
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }
}
