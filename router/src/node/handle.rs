// SPDX-License-Identifier: MIT OR Apache-2.0

//! Handle of a node: its properties, subscribers, publishing.

use std::{sync::Arc, time::Duration};

use zonda_codec::{KeyExpr, Locator, Timestamp, WhatAmI, ZenohId};
use zonda_runtime::AnyRuntime;
use zonda_transport::protocol::shared::SharedMemory;

use super::shared::Shared;
use crate::{
    config::Config,
    flow::{publish, publisher::PublisherFace, receiving::Sink, resolve},
    model::{DeclareError, LinkStatus, Outcome, Publication, PublishError, SubscriberId, Wait},
    node::sessions::NodeSession,
    table::Locality,
};

/// Running node, as one of its sessions sees it. Clones are cheap and refer to the same session of
/// the same node; dropping them does not close it, [`Node::close`] does.
#[derive(Clone)]
pub struct Node {
    pub(crate) shared: Arc<Shared>,
    pub(crate) session: Arc<NodeSession>,
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
    /// Returns the id of this node.
    #[must_use]
    pub fn zid(&self) -> ZenohId {
        self.shared.zid
    }

    /// Returns the memory that this node shares with other nodes of its host; `None` in a build without it, where the
    /// configuration or the system refuses it.
    #[must_use]
    pub fn shared_memory(&self) -> Option<&SharedMemory> {
        self.shared.options.shared.as_ref()
    }

    /// Returns the role of this node.
    #[must_use]
    pub fn role(&self) -> WhatAmI {
        self.shared.role
    }

    /// Returns the locators of this node's listeners and multicast groups; port 0 is replaced by
    /// the system's choice.
    #[must_use]
    pub fn locators(&self) -> Vec<Locator> {
        let mut locators = self.shared.locators();
        locators.extend(self.group_locators());
        locators
    }

    /// Returns the live links, ordered by the peer's id.
    #[must_use]
    pub fn links(&self) -> Vec<LinkStatus> {
        self.shared.links()
    }

    /// Returns the values that the node runs with, if this session has opened it; `None` for other
    /// sessions, and in a forked process.
    #[must_use]
    pub fn config(&self) -> Option<Config> {
        let is_here = !self.is_forked() && !self.session.is_attached();
        is_here.then(|| self.shared.running.values())
    }

    /// Returns the name of the runtime that the node's tasks run on.
    #[must_use]
    pub fn runtime(&self) -> &'static str {
        self.shared.runtime.name()
    }

    /// Returns the runtime that the node's tasks run on.
    #[must_use]
    pub fn runtime_handle(&self) -> &AnyRuntime {
        &self.shared.runtime
    }

    /// Returns true if the node stamps the messages that it publishes: `timestamping/enabled`.
    #[must_use]
    pub fn stamps(&self) -> bool {
        self.shared.timestamps.are_given()
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

    /// Declares a subscriber like [`Node::declare_subscriber`], for messages from `origin` only. A
    /// subscriber to the node's own session is not announced to other nodes.
    ///
    /// # Errors
    /// See [`Node::declare_subscriber`].
    pub fn declare_subscriber_from(
        &self,
        key: &KeyExpr<'_>,
        origin: Locality,
        sink: Sink,
    ) -> Result<SubscriberId, DeclareError> {
        resolve::declare_subscriber(&self.shared, &self.session, key, origin, sink)
    }

    /// Ends a subscriber. A call of its sink that is under way on another thread may still finish.
    /// The last user of the sink drops it, never under a lock.
    pub fn undeclare_subscriber(&self, id: SubscriberId) {
        resolve::undeclare_subscriber(&self.shared, id);
    }

    /// Declares a publisher of `key`: the node caches its route, and sends nothing if there is no
    /// subscriber.
    ///
    /// # Errors
    /// The node is closed.
    pub fn declare_publisher(&self, key: &KeyExpr<'_>) -> Result<PublisherFace, DeclareError> {
        self.declare_publisher_to(key, Locality::Any)
    }

    /// Declares a publisher like [`Node::declare_publisher`], whose messages go to `destination`
    /// only.
    ///
    /// # Errors
    /// See [`Node::declare_publisher`].
    pub fn declare_publisher_to(
        &self,
        key: &KeyExpr<'_>,
        destination: Locality,
    ) -> Result<PublisherFace, DeclareError> {
        PublisherFace::declare(&self.shared, &self.session, key, destination)
    }

    /// Publishes to `destination` on a key without a declared publisher.
    ///
    /// # Errors
    /// The fate of the message; see [`PublishError`].
    ///
    /// # Blocking
    /// At most for the time of `wait` under congestion control `Block`, else never.
    pub fn publish(
        &self,
        key: &KeyExpr<'_>,
        destination: Locality,
        publication: &Publication<'_>,
        wait: Wait,
    ) -> Result<Outcome, PublishError> {
        let route = resolve::undeclared_route(&self.shared, &self.session, key, destination)?;
        match publication.points {
            0 => publish::dispatch(&self.shared, &route, publication, wait),
            _ => publish::dispatch_stacked(&self.shared, &route, publication, wait),
        }
    }

    /// Publishes to `destination` on a key without a declared publisher; under congestion control
    /// `Block` it waits asynchronously for room, at most `limit`.
    ///
    /// # Errors
    /// See [`Node::publish`].
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
        let route = resolve::undeclared_route(&self.shared, &self.session, key, destination)?;
        match publication.points {
            0 => publish::dispatch_async(&self.shared, &route, publication, limit).await,
            _ => publish::dispatch_async_stacked(&self.shared, &route, publication, limit).await,
        }
    }

    /// Returns a timestamp of this node's clock: unique, and later than every one it has seen.
    #[must_use]
    pub fn new_timestamp(&self) -> Timestamp {
        self.shared.timestamps.next()
    }

    /// Returns true in a process that was forked off after the node was opened. The node's threads
    /// are not in it: every call fails or returns nothing, none waits, and none of them disturbs
    /// the process that opened the node.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.shared.is_forked()
    }

    /// Returns true once [`Node::close`] was called on this session or on the one that opened the
    /// node, and where [`Node::is_forked`].
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.session.is_closed() || self.shared.is_closed()
    }
}
