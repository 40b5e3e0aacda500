// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Session`]: a node seen by the application.

#[cfg(feature = "probe")]
mod probe;

use std::convert::Infallible;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use zonda_codec::{KeyExpr, KeyExprError, Timestamp, WhatAmI};
use zonda_router::node::{CloseError, LinkStatus, Node, OpenError};

use crate::bytes::{Encoding, ZBytes};
use crate::calls::{Declared, Registry};
use crate::config::{Config, Locator};
use crate::handlers::DefaultHandler;
use crate::listening::Listeners;
use crate::liveliness::Liveliness;
use crate::namespace::Namespace;
use crate::publication::{Message, Service};
use crate::publisher::PublisherBuilder;
use crate::put::{SessionDeleteBuilder, SessionPutBuilder};
use crate::query::{QuerierBuilder, QueryableBuilder, Selector};
use crate::sample::Locality;
use crate::subscriber::SubscriberBuilder;
use crate::wait::{Done, Listed, Pending, Wait};

pub use crate::connections::{
    AboutConnections, BackgroundEventsListenerBuilder, ConnectionEvent, EndpointStatus,
    EventsListener, EventsListenerBuilder, LimitStatus, Link, LinkEvent, Loss, LossKind, Refusal,
    RefusalKind, Transport, TransportEvent, TurnedAway,
};
pub use crate::query::SessionGetBuilder;
pub use zonda_codec::{EntityGlobalId, ZenohId};
pub use zonda_router::metrics::{Kind, Metric, Sample, text as openmetrics};
pub use zonda_router::node::{
    DiscoveryStatus, EndedLinks, FaceCounters, LinkAddress, LinkOptions, OutboxCounts,
    PriorityCounts, Protocol, Unreached,
};

/// The reference's name of the number of a publisher, a subscriber and the like in its session.
pub type EntityId = u32;

/// Opens a session.
///
/// ```
/// use zonda::{Config, Wait};
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// assert_eq!(session.info().locators().len(), 1);
/// # Ok::<(), zonda::Error>(())
/// ```
pub fn open(config: impl Into<Config>) -> OpenBuilder {
    OpenBuilder {
        config: config.into(),
    }
}

/// A session about to be opened; made by [`open`].
#[derive(Debug)]
#[must_use = "nothing is opened before .await or .wait()"]
pub struct OpenBuilder {
    config: Config,
}

impl Wait for OpenBuilder {
    type To = Result<Session, OpenError>;

    /// Opens the session.
    ///
    /// # Blocking
    /// Until listening has begun and the first link can be used. A client without endpoints waits for one at most 3 s
    /// (`scouting/timeout`), with endpoints as `connect/timeout_ms` says; others wait at most half a second
    /// (`scouting/delay`), and only where they scout or have endpoints.
    /// On the only thread of a runtime that was handed over it would wait for itself, and is refused.
    fn wait(self) -> Self::To {
        if let Some(runtime) = self.config.runtime_handle()
            && runtime.is_driven_here_only()
        {
            return Err(OpenError::Runtime {
                runtime: runtime.name().to_owned(),
                reason: "wait() on its only thread would wait for itself: use .await".to_owned(),
            });
        }
        zonda_runtime::block_on(self.into_future())
    }
}

impl IntoFuture for OpenBuilder {
    type Output = Result<Session, OpenError>;
    type IntoFuture = Pending<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let config = self.config;
            config.validate().map_err(|e| OpenError::Config {
                reason: e.to_string(),
            })?;
            for warning in config.warnings() {
                tracing::warn!("configuration: {warning}");
            }
            let settings = config.settings();
            let publish_limit = settings.wait_before_close;
            let namespace = settings.namespace.map(|key| Arc::new(Namespace::new(key)));
            let node = Node::open(config).await?;
            Ok(Session(Arc::new(Shared {
                listeners: Listeners::new(node.clone()),
                node,
                publish_limit,
                namespace,
                declared: Arc::default(),
            })))
        })
    }
}

/// A node seen by the application: publishes, subscribes, and is connected to peers or routers.
///
/// Clones share one node. When the last clone is dropped, the node closes in the background, and its publishers and
/// subscribers end; [`Session::close`] does the same and waits for it. A closure given to a subscriber that holds a
/// clone of its own session keeps that session open until the subscriber is gone.
#[derive(Clone)]
pub struct Session(Arc<Shared>);

struct Shared {
    node: Node,
    /// How long a `Block` publication may wait, unless it says otherwise.
    publish_limit: Duration,
    namespace: Option<Arc<Namespace>>,
    /// Its subscribers and queryables.
    declared: Arc<Registry<Declared>>,
    listeners: Arc<Listeners>,
}

impl Session {
    /// Publishes a value on a key. For many puts on one key, a [declared publisher](Session::declare_publisher) is
    /// cheaper.
    ///
    /// ```
    /// # use zonda::{Config, Wait, bytes::Encoding};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// session.put("demo/key", "value").encoding(Encoding::TEXT_PLAIN).wait()?;
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn put<'a, 'b, K>(&'a self, key: K, payload: impl Into<ZBytes>) -> SessionPutBuilder<'a, 'b>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        let message = Message::put(payload.into(), Service::default(), self.publish_limit());
        SessionPutBuilder {
            session: self,
            key: key.try_into().map_err(Into::into),
            message,
            destination: Locality::default(),
        }
    }

    /// Publishes that a key has no value any more.
    pub fn delete<'a, 'b, K>(&'a self, key: K) -> SessionDeleteBuilder<'a, 'b>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        let message = Message::delete(Service::default(), self.publish_limit());
        SessionPutBuilder {
            session: self,
            key: key.try_into().map_err(Into::into),
            message,
            destination: Locality::default(),
        }
    }

    /// Declares a publisher of a key.
    pub fn declare_publisher<'a, 'b, K>(&'a self, key: K) -> PublisherBuilder<'a, 'b>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        PublisherBuilder {
            session: self,
            key: key.try_into().map_err(Into::into),
            encoding: Encoding::default(),
            service: Service::default(),
            destination: Locality::default(),
        }
    }

    /// Declares a subscriber to every key that matches `key`, where `*` stands for one chunk and `**` for any number.
    pub fn declare_subscriber<'a, 'b, K>(&'a self, key: K) -> SubscriberBuilder<'a, 'b>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        SubscriberBuilder {
            session: self,
            key: key.try_into().map_err(Into::into),
            origin: Locality::default(),
            handler: DefaultHandler::default(),
        }
    }

    /// Liveliness: to say that this session is alive, and to see who else is; see [`liveliness`](crate::liveliness).
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let token = session.liveliness().declare_token("robots/7").wait()?;
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn liveliness(&self) -> Liveliness<'_> {
        Liveliness { session: self }
    }

    /// Asks the queryables on the keys of `selector`, such as `demo/*` or `demo/*?unit=celsius`. The replies
    /// come to the handler that this gives, by default a queue. For many gets on one key, a
    /// [declared querier](Session::declare_querier) knows whether anybody answers there.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let replies = session.get("demo/**?limit=3").timeout(Duration::from_secs(1)).wait()?;
    /// while let Ok(reply) = replies.recv() {
    ///     match reply.result() {
    ///         Ok(sample) => println!("{}: {:?}", sample.key_expr(), sample.payload()),
    ///         Err(error) => println!("error: {error}"),
    ///     }
    /// }
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn get<'a, 'b, S>(&'a self, selector: S) -> SessionGetBuilder<'a, 'b>
    where
        S: TryInto<Selector<'b>>,
        S::Error: Into<KeyExprError>,
    {
        SessionGetBuilder::new(self, selector.try_into().map_err(Into::into))
    }

    /// Declares a queryable: it is given every query whose key intersects `key`, to reply.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// session
    ///     .declare_queryable("demo/time")
    ///     .callback(|query| {
    ///         let now = format!("{:?}", std::time::SystemTime::now());
    ///         if let Err(error) = query.reply("demo/time", now).wait() {
    ///             eprintln!("{query} is not answered: {error}");
    ///         }
    ///     })
    ///     .background()
    ///     .wait()?;
    /// assert!(session.get("demo/time").wait()?.recv()?.result().is_ok());
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn declare_queryable<'a, 'b, K>(&'a self, key: K) -> QueryableBuilder<'a, 'b>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        QueryableBuilder::new(self, key.try_into().map_err(Into::into))
    }

    /// Declares a querier: asks on one key, again and again.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let querier = session.declare_querier("demo/**").timeout(Duration::from_secs(1)).wait()?;
    /// assert!(!querier.matching_status().wait()?.matching(), "nobody would answer");
    /// assert_eq!(querier.get().parameters("limit=3").wait()?.iter().count(), 0);
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn declare_querier<'a, 'b, K>(&'a self, key: K) -> QuerierBuilder<'a, 'b>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        QuerierBuilder::new(self, key.try_into().map_err(Into::into))
    }

    /// Checks a key once, to use it often: the result is cheap to clone. (Nothing is sent; declared publishers take
    /// care of short keys on the wire.)
    pub fn declare_keyexpr<'b, K>(&self, key: K) -> Done<Result<KeyExpr<'static>, KeyExprError>>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        Done(key.try_into().map(KeyExpr::into_owned).map_err(Into::into))
    }

    /// Undeclares a publisher, subscriber, querier or queryable; the same as dropping it.
    pub fn undeclare<T>(&self, declared: T) -> Done<Result<(), Infallible>> {
        drop(declared);
        Done(Ok(()))
    }

    /// The id of this session's node.
    pub fn zid(&self) -> ZenohId {
        self.node().zid()
    }

    /// A timestamp of this node's hybrid logical clock: unique, and later than all it has seen.
    pub fn new_timestamp(&self) -> Timestamp {
        self.node().new_timestamp()
    }

    /// What this session is connected to.
    pub fn info(&self) -> SessionInfo<'_> {
        SessionInfo { session: self }
    }

    /// Closes the session: sends what is queued, says goodbye to every peer, ends all publishers and subscribers. What peers
    /// do not take in time is lost, and the error names each neighbour and how much it missed. Nothing is received meanwhile.
    /// Idempotent; affects all clones; legal from inside callbacks. A session that is dropped does the same in the
    /// background, for as long as the process lives, and logs what is lost.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// session.close().timeout(Duration::from_secs(1)).wait()?;
    /// assert!(session.is_closed());
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn close(&self) -> CloseBuilder<'_> {
        CloseBuilder {
            session: self,
            limit: self.node().close_timeout().unwrap_or(CLOSE_LIMIT),
        }
    }

    /// Whether the session is closed (or closing).
    pub fn is_closed(&self) -> bool {
        self.node().is_closed()
    }

    fn may_close(&self) -> Result<(), CloseError> {
        match self.node().is_forked() {
            true => Err(CloseError::Forked),
            false => Ok(()),
        }
    }

    pub(crate) fn node(&self) -> &Node {
        &self.0.node
    }

    pub(crate) fn declared(&self) -> &Arc<Registry<Declared>> {
        &self.0.declared
    }

    pub(crate) fn listeners(&self) -> &Arc<Listeners> {
        &self.0.listeners
    }

    /// Ends everything that calls back.
    fn end_all(&self) {
        self.0.declared.end_all();
        self.0.listeners.end_all();
    }

    pub(crate) fn namespace(&self) -> Option<&Arc<Namespace>> {
        self.0.namespace.as_ref()
    }

    pub(crate) fn publish_limit(&self) -> Duration {
        self.0.publish_limit
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("zid", &self.zid())
            .finish_non_exhaustive()
    }
}

impl Drop for Shared {
    /// Never blocks: a thread of its own closes the node.
    fn drop(&mut self) {
        if self.node.is_forked() {
            // What the node is made of belongs to the parent's threads: it is left alone, not even dropped.
            std::mem::forget(self.node.clone());
            return;
        }
        self.declared.end_all();
        self.listeners.end_all();
        if self.node.is_closed() {
            return;
        }
        let node = self.node.clone();
        let closing = std::thread::Builder::new().name("zonda-close".into());
        let spawned = closing.spawn(move || {
            let limit = node.close_timeout().unwrap_or(CLOSE_LIMIT);
            if let Err(error) = node.close_blocking(limit) {
                tracing::warn!("a session was dropped: {error}");
            }
        });
        if let Err(error) = spawned {
            tracing::warn!("cannot close the session in the background: {error}");
        }
    }
}

/// How long a close may take unless it or the configuration (`close_timeout_ms`) says otherwise.
const CLOSE_LIMIT: Duration = Duration::from_secs(10);

/// A session about to be closed; made by [`Session::close`].
#[derive(Debug)]
#[must_use = "nothing is closed before .await or .wait()"]
pub struct CloseBuilder<'a> {
    session: &'a Session,
    limit: Duration,
}

impl CloseBuilder<'_> {
    /// How long closing may take. Default: `close_timeout_ms` of the configuration, else 10 s.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }
}

impl Wait for CloseBuilder<'_> {
    type To = Result<(), CloseError>;

    /// Closes the session.
    ///
    /// # Blocking
    /// At most the timeout.
    fn wait(self) -> Self::To {
        let CloseBuilder { session, limit } = self;
        session.may_close()?;
        session.end_all();
        let closed = session.node().close_blocking(limit);
        // Those that were being declared meanwhile.
        session.end_all();
        closed
    }
}

impl<'a> IntoFuture for CloseBuilder<'a> {
    type Output = Result<(), CloseError>;
    type IntoFuture = Pending<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let CloseBuilder { session, limit } = self;
            session.may_close()?;
            session.end_all();
            let closed = session.node().close(limit).await;
            // Those that were being declared meanwhile.
            session.end_all();
            closed
        })
    }
}

/// What a session is connected to; made by [`Session::info`].
#[derive(Debug, Clone, Copy)]
pub struct SessionInfo<'a> {
    session: &'a Session,
}

impl<'a> SessionInfo<'a> {
    pub(crate) fn session(&self) -> &'a Session {
        self.session
    }

    /// The id of this session's node.
    pub fn zid(&self) -> Done<ZenohId> {
        Done(self.session.zid())
    }

    /// The role of this session's node.
    pub fn whatami(&self) -> WhatAmI {
        self.session.node().role()
    }

    /// The name of the runtime that its tasks run on, such as `tokio`. Another one than was asked for if that was
    /// `uring` and the system refused it.
    pub fn runtime(&self) -> &'static str {
        self.session.node().runtime()
    }

    /// The ids of the routers it is connected to.
    pub fn routers_zid(&self) -> Done<std::vec::IntoIter<ZenohId>> {
        Done(self.zids(WhatAmI::Router))
    }

    /// The ids of the peers it is connected to.
    pub fn peers_zid(&self) -> Done<std::vec::IntoIter<ZenohId>> {
        Done(self.zids(WhatAmI::Peer))
    }

    /// Every live link. Used as it is, or awaited as in programs for the reference.
    pub fn links(&self) -> Listed<LinkStatus> {
        Listed(self.session.node().links())
    }

    /// What was sent and what was lost on the links that have ended.
    pub fn ended_links(&self) -> EndedLinks {
        self.session.node().ended_links()
    }

    /// The configured endpoints that were never reached since the session was opened, and why. For a client that was
    /// connected once: none.
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

    /// Where it listens, with the ports that were chosen for port 0.
    pub fn locators(&self) -> Vec<Locator> {
        self.session.node().locators()
    }

    /// What was done to find others and to be found: interfaces and datagrams, nodes that were found, what was gossiped.
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
