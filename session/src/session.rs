// SPDX-License-Identifier: MIT OR Apache-2.0

//! Uses of a [`Session`]: an application opens it, publishes, declares, queries, closes it.

#[cfg(feature = "probe")]
mod probe;

use std::fmt;
use std::time::Duration;

use zonda_codec::{KeyExpr, KeyExprError, Timestamp};
use zonda_router::access::{Message as Judged, Neighbour};
use zonda_router::node::ClientRights;
use zonda_router::node::{CloseError, OpenError, TimestampCallback, TimestampContext};

use crate::bytes::{Encoding, ZBytes};
use crate::callback_group::{Ended, is_inside};
use crate::config::Config;
use crate::handle::CLOSE_LIMIT;
use crate::handlers::{DefaultHandler, FifoChannel, FifoChannelHandler};
use crate::liveliness::Liveliness;
use crate::publication::{Message, MessageQos};
use crate::publisher::PublisherBuilder;
use crate::query::{QuerierBuilder, QueryableBuilder, Selector};
use crate::sample::Locality;
use crate::subscriber::SubscriberBuilder;
use crate::undeclare::Declared;
use crate::wait::{Done, Operation, OperationLater, Pending, awaited};

pub use crate::connections::{
    AboutConnections, BackgroundEventsListenerBuilder, ConnectionEvent, EndpointStatus,
    EventsListener, EventsListenerBuilder, LimitStatus, Link, LinkEvent, Loss, LossKind, Refusal,
    RefusalKind, Transport, TransportEvent, TurnedAway,
};
pub use crate::error::SessionClosedError;
pub use crate::handle::Session;
pub use crate::info::SessionInfo;
pub use crate::put::{SessionDeleteBuilder, SessionPutBuilder};
pub use crate::query::SessionGetBuilder;
pub use crate::undeclare::Declared as Undeclarable;
pub use zonda_codec::{EntityGlobalId, ZenohId};
pub use zonda_router::metrics::{Kind, Metric, Sample, text as openmetrics};
pub use zonda_router::node::{
    DiscoveryStatus, EndedLinks, FaceCounters, GroupCounts, GroupStatus, LinkAddress, LinkOptions,
    Member, Node, OutboxCounts, PriorityCounts, Protocol, ServedPlugin, Unreached,
};

/// The reference's name of a listener to transports.
pub type TransportEventsListener<H = FifoChannelHandler<TransportEvent>> = EventsListener<H>;
/// The reference's name of a listener to transports under construction.
pub type TransportEventsListenerBuilder<'a, H = FifoChannel> =
    EventsListenerBuilder<'a, TransportEvent, H>;
/// The reference's name of a listener to links.
pub type LinkEventsListener<H = FifoChannelHandler<LinkEvent>> = EventsListener<H>;
/// The reference's name of a listener to links under construction.
pub type LinkEventsListenerBuilder<'a, H = FifoChannel> = EventsListenerBuilder<'a, LinkEvent, H>;

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
pub fn open<C>(config: C) -> OpenBuilder
where
    C: TryInto<Config>,
    C::Error: fmt::Debug,
{
    let config = config.try_into().map_err(|e| format!("{e:?}"));
    OpenBuilder {
        config: config.map_err(|reason| OpenError::Config { reason }),
        timestamps: None,
    }
}

/// A session about to be opened; made by [`open`].
#[must_use = "nothing is opened before .await or .wait()"]
pub struct OpenBuilder {
    config: Result<Config, OpenError>,
    timestamps: Option<TimestampCallback>,
}

impl OpenBuilder {
    /// Sets the function whose bytes this node records in [time-stamp stacks](crate::timestamp_stack),
    /// in place of the times of its clock; empty bytes are not recorded. The node calls it on the
    /// thread that publishes, queries or receives the message, so keep it short.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// let config = Config::peer().listen(["tcp/127.0.0.1:0"]);
    /// let session = zonda::open(config).with_timestamp_callback(|node| node.zid.to_string().into()).wait()?;
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn with_timestamp_callback<F>(mut self, callback: F) -> Self
    where
        F: Fn(TimestampContext) -> Vec<u8> + Send + Sync + 'static,
    {
        self.timestamps = Some(Box::new(callback));
        self
    }
}

impl fmt::Debug for OpenBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenBuilder")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Operation for OpenBuilder {
    type Given = Session;
    type Refusal = OpenError;

    /// Opens the session.
    ///
    /// # Blocking
    /// Blocks until listening has begun and the first link can be used. A client without endpoints
    /// waits for one at most 3 s (`scouting/timeout`), one with endpoints at most
    /// `connect/timeout_ms`; other sessions wait at most half a second (`scouting/delay`), and only
    /// where they scout or have endpoints. On the only thread of a runtime that was handed over it
    /// would wait for itself, and is refused.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        if let Ok(config) = &self.config
            && let Some(runtime) = config.runtime_handle()
            && runtime.is_driven_here_only()
        {
            return Err(OpenError::Runtime {
                runtime: runtime.name().to_owned(),
                reason: "wait() on its only thread would wait for itself: use .await".to_owned(),
            });
        }
        zonda_runtime::block_on(self.perform_later())
    }
}

impl OperationLater for OpenBuilder {
    type Later = Pending<'static, Result<Self::Given, Self::Refusal>>;

    fn perform_later(self) -> Self::Later {
        Box::pin(async move {
            let config = self.config?;
            config.validate().map_err(|e| OpenError::Config {
                reason: e.to_string(),
            })?;
            for warning in config.warnings() {
                tracing::warn!("configuration: {warning}");
            }
            let node = Node::open_with(config.clone(), self.timestamps).await?;
            Ok(Session::new(node, config))
        })
    }
}

awaited!([] OpenBuilder);

impl Session {
    /// Opens a session on a node that runs already, in addition to other sessions on it. They share
    /// its id, its links and its clock; each has declarations, callbacks and a
    /// [number](Self::id) of its own. Messages pass between sessions of one node without a link, and
    /// [`Locality`] is seen from each session: another session of the node is remote.
    ///
    /// Of `config`, only what concerns a session is used: `namespace`, `qos/publication` and the
    /// limit of publications that wait. The rest is the node's.
    ///
    /// The caller of [`Node::open`] closes the node, with [`Node::close`]; that ends all sessions on
    /// it. Closing such a session, or dropping its last clone, ends its declarations and queries at
    /// once, and leaves the node and its other sessions as they are: messages that it has published
    /// are still sent.
    ///
    /// ```
    /// use zonda::{Config, Session, Wait, session::Node};
    ///
    /// # let runtime = tokio::runtime::Runtime::new()?;
    /// # runtime.block_on(async {
    /// let node = Node::open(Config::peer().listen(["tcp/127.0.0.1:0"])).await?;
    /// let one = Session::from_node(&node, Config::peer())?;
    /// let other = Session::from_node(&node, Config::peer())?;
    /// let subscriber = one.declare_subscriber("demo/**").await?;
    /// other.put("demo/key", "value").await?;
    /// assert_eq!(subscriber.recv()?.payload().try_to_string()?, "value");
    /// other.close().await?;
    /// assert!(!one.is_closed());
    /// node.close(std::time::Duration::from_secs(1)).await?;
    /// assert!(one.is_closed());
    /// # Ok::<(), zonda::Error>(())
    /// # })?;
    /// # Ok::<(), zonda::Error>(())
    /// ```
    ///
    /// # Errors
    /// The configuration is refused, or the node is closed.
    pub fn from_node(node: &Node, config: Config) -> Result<Session, OpenError> {
        config.validate().map_err(|error| OpenError::Config {
            reason: error.to_string(),
        })?;
        let attached = node.add_session().map_err(OpenError::Node)?;
        Ok(Session::new(attached, config))
    }

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
        let message = Message::put(payload.into(), MessageQos::default(), self.publish_limit());
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
        let message = Message::delete(MessageQos::default(), self.publish_limit());
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
            service: MessageQos::default(),
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

    /// Returns the liveliness operations: to announce that this session is alive, and to find live
    /// ones; see [`liveliness`](crate::liveliness).
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

    /// Queries the queryables on the keys of `selector`, such as `demo/*` or `demo/*?unit=celsius`.
    /// The replies come to the returned handler, by default a queue. For many gets on one key, a
    /// [declared querier](Session::declare_querier) knows whether a queryable matches.
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

    /// Declares a queryable: it gets every query whose key intersects `key`, to reply.
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

    /// Declares a querier: it queries one key repeatedly.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let querier = session.declare_querier("demo/**").timeout(Duration::from_secs(1)).wait()?;
    /// assert!(!querier.matching_status().wait()?.matching(), "no queryable matches");
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

    /// Checks a key once, to use it often: the result is cheap to clone. (Nothing is sent; declared
    /// publishers declare their keys by themselves.) The session recognizes it, and every clone of
    /// it, as [declared](Self::undeclare) here.
    pub fn declare_keyexpr<'b, K>(&self, key: K) -> Done<crate::Result<KeyExpr<'static>>>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        let key = key.try_into().map(|key| self.remember_key(&key));
        Done(key.map_err(|error| Into::<KeyExprError>::into(error).into()))
    }

    /// Undeclares a publisher, a subscriber or any other declared entity, as its own `undeclare`
    /// does; or a key, which fails unless [this session has declared](Self::declare_keyexpr) it or
    /// the key that it is a clone of:
    ///
    /// ```
    /// # use zonda::{Config, Wait, key_expr::KeyExpr};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let key = session.declare_keyexpr("demo/key").wait()?;
    /// assert!(session.undeclare(key.clone()).wait().is_ok());
    /// assert!(session.undeclare(key).wait().is_ok(), "a clone of it");
    /// assert!(session.undeclare(KeyExpr::new("demo/key")?).wait().is_err(), "the same text");
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn undeclare<T: Declared>(&self, declared: T) -> Ended<T::Error> {
        declared.undeclare_from(self)
    }

    /// Returns the id of this session as the source of publications without a declared publisher:
    /// that of its node, and 0 for the session that opened it, or a number that no other source of
    /// the node has.
    pub fn id(&self) -> EntityGlobalId {
        EntityGlobalId {
            zid: self.zid(),
            eid: self.node().session_number(),
        }
    }

    /// Returns the id of this session's node.
    pub fn zid(&self) -> ZenohId {
        self.node().zid()
    }

    /// Creates a timestamp of this node's hybrid logical clock: unique, and later than all it has
    /// seen.
    pub fn new_timestamp(&self) -> Timestamp {
        self.node().new_timestamp()
    }

    /// Returns a copy of the configuration: the values that it was opened with, and of the keys that
    /// were written since through the admin space, or reloaded, those in force now. A session
    /// [on a running node](Self::from_node) has its own.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// assert_eq!(session.config().get_json("mode")?, r#""peer""#);
    /// # Ok::<(), zonda::Error>(())
    /// ```
    #[must_use]
    pub fn config(&self) -> Config {
        self.configuration()
    }

    /// Returns the connections of this session.
    pub fn info(&self) -> SessionInfo<'_> {
        SessionInfo { session: self }
    }

    /// Returns the reason for which the node's access control denies a message between it and a
    /// client of the service that this session belongs to; `None` if it passes. Denied messages are
    /// counted. Messages of the session itself are not judged this way.
    pub fn refusal_to(&self, client: &Neighbour, message: Judged<'_>) -> Option<String> {
        self.node().refusal_to(client, message)
    }

    /// Returns the rights of a client that sends many messages, which decide like
    /// [`refusal_to`](Self::refusal_to), once for each key.
    pub fn rights_of(&self, client: Neighbour) -> ClientRights {
        self.node().rights_of(client)
    }

    /// Closes the session, and the node that it has opened ([`from_node`](Self::from_node) opens
    /// none): sends the queued messages, sends a close to every peer, ends all
    /// publishers and subscribers. Messages that peers do not take in time are lost, and the error
    /// names each neighbour and the amount it missed. A peer that hangs up during the close is no
    /// error: the messages it has not taken are counted by
    /// [`ended_links`](SessionInfo::ended_links), and logged. Nothing is received during the close.
    /// Idempotent; affects all clones; legal from inside callbacks. A session that is dropped does
    /// the same in the background, for as long as the process lives, and logs losses.
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
            waits: false,
        }
    }

    /// Returns true if the session is closed (or closing).
    pub fn is_closed(&self) -> bool {
        self.node().is_closed()
    }
}

/// A session about to be closed; made by [`Session::close`].
#[derive(Debug)]
#[must_use = "nothing is closed before .await or .wait()"]
pub struct CloseBuilder<'a> {
    session: &'a Session,
    limit: Duration,
    waits: bool,
}

impl CloseBuilder<'_> {
    /// Sets the time that closing may take. Default: `close_timeout_ms` of the configuration, else 10 s.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Waits until no callback of the session runs any more and all are dropped, in addition, however long that takes; inside
    /// of a callback it does not.
    pub fn wait_callbacks(mut self) -> Self {
        self.waits = true;
        self
    }
}

impl Operation for CloseBuilder<'_> {
    type Given = ();
    type Refusal = CloseError;

    /// Closes the session.
    ///
    /// # Blocking
    /// At most the timeout.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let CloseBuilder {
            session,
            limit,
            waits,
        } = self;
        session.may_close()?;
        session.end_all();
        let closed = session.node().close_blocking(limit);
        // Declarations that were made while the node closed.
        session.end_all();
        if waits {
            session.listeners().callbacks().wait();
        }
        closed
    }
}

impl<'a> OperationLater for CloseBuilder<'a> {
    type Later = Pending<'a, Result<Self::Given, Self::Refusal>>;

    fn perform_later(self) -> Self::Later {
        let is_inside = is_inside();
        Box::pin(async move {
            let CloseBuilder {
                session,
                limit,
                waits,
            } = self;
            session.may_close()?;
            session.end_all();
            let closed = session.node().close(limit).await;
            // Declarations that were made while the node closed.
            session.end_all();
            if waits && !is_inside {
                session.listeners().callbacks().wait_async().await;
            }
            closed
        })
    }
}

awaited!(['a] CloseBuilder<'a>);
