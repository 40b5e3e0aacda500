// SPDX-License-Identifier: MIT OR Apache-2.0

//! Connections of a session and their events: transports, links, configured endpoints, nodes that
//! were turned away, and listeners to all of them.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use zonda_codec::{WhatAmI, ZenohId};
use zonda_router::metrics::Sample;
use zonda_router::node::{
    ConnectionListener, DeclareError, EVENTS_MAX, LinkStatus, Node, SampleKind, Tell,
};

use crate::callback_group::{CallbackGroup, Ended, GroupMembership, InsideCallback};
use crate::handle::Session;
use crate::handlers::{
    FifoChannel, FifoChannelHandler, IntoHandler, Overflow, Stored, handler_setters,
    used_as_handler,
};
use crate::info::SessionInfo;
use crate::wait::{Done, Listed, Operation, ready_at_once};

pub use zonda_router::node::{
    ConnectionEvent, EndpointStatus, LimitStatus, LinkStatus as Link, Loss, LossKind, Refusal,
    RefusalKind, TurnedAway,
};

/// A connection to another node, over one or several links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transport {
    zid: ZenohId,
    whatami: WhatAmI,
    is_qos: bool,
    is_shm: bool,
}

impl Transport {
    fn of(link: &LinkStatus) -> Transport {
        Transport {
            zid: link.zid,
            whatami: link.whatami,
            is_qos: link.is_qos,
            is_shm: link.options.is_shm(),
        }
    }

    /// Returns the id of the other node.
    pub fn zid(&self) -> &ZenohId {
        &self.zid
    }

    /// Returns the role of the other node.
    pub fn whatami(&self) -> WhatAmI {
        self.whatami
    }

    /// Returns whether messages have priorities on it.
    pub fn is_qos(&self) -> bool {
        self.is_qos
    }

    /// Returns true if payloads go over it in shared memory.
    pub fn is_shm(&self) -> bool {
        self.is_shm
    }

    /// Returns whether it is a multicast group: never, so far.
    pub fn is_multicast(&self) -> bool {
        false
    }
}

/// Event of a connection that came or went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportEvent {
    kind: SampleKind,
    transport: Transport,
}

impl TransportEvent {
    /// Returns `Put` for a connection that came, `Delete` for one that went.
    pub fn kind(&self) -> SampleKind {
        self.kind
    }

    /// Returns the connection.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Returns the connection, to be changed by a program that passes the event on.
    pub fn transport_mut(&mut self) -> &mut Transport {
        &mut self.transport
    }
}

/// Event of a link that came or went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkEvent {
    kind: SampleKind,
    link: Link,
    reason: Option<Loss>,
}

impl LinkEvent {
    /// Returns `Put` for a link that came, `Delete` for one that went.
    pub fn kind(&self) -> SampleKind {
        self.kind
    }

    /// Returns the link.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Returns the link, to be changed by a program that passes the event on.
    pub fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    /// Returns the reason of a loss; `None` for a link that came.
    pub fn reason(&self) -> Option<&Loss> {
        self.reason.as_ref()
    }
}

/// An event for a listener to connections.
pub trait AboutConnections: Stored + Send + 'static {
    /// Set if the session's own close ends links without an event.
    const IS_SILENT_AT_CLOSE: bool = true;

    /// Returns the part of an event that the listener is for; `None` for an event of another kind.
    fn of(event: ConnectionEvent) -> Option<Self>;
}

impl Stored for ConnectionEvent {}
impl Stored for TransportEvent {}
impl Stored for LinkEvent {}

/// Returns whether this node has ended a link.
fn is_closed_here(event: &ConnectionEvent) -> bool {
    match event {
        ConnectionEvent::Lost { reason, .. } | ConnectionEvent::LinkLost { reason, .. } => {
            reason.kind == LossKind::ClosedHere
        }
        _ => false,
    }
}

/// Returns the id of the node whose link an event is about.
fn zid_of(event: &ConnectionEvent) -> Option<ZenohId> {
    match event {
        ConnectionEvent::Connected(link)
        | ConnectionEvent::LinkAdded(link)
        | ConnectionEvent::Lost { link, .. }
        | ConnectionEvent::LinkLost { link, .. } => Some(link.zid),
        _ => None,
    }
}

impl AboutConnections for ConnectionEvent {
    const IS_SILENT_AT_CLOSE: bool = false;

    fn of(event: ConnectionEvent) -> Option<Self> {
        Some(event)
    }
}

impl AboutConnections for LinkEvent {
    fn of(event: ConnectionEvent) -> Option<Self> {
        let (kind, link, reason) = match event {
            ConnectionEvent::Connected(link) | ConnectionEvent::LinkAdded(link) => {
                (SampleKind::Put, link, None)
            }
            ConnectionEvent::Lost { link, reason } | ConnectionEvent::LinkLost { link, reason } => {
                (SampleKind::Delete, link, Some(reason))
            }
            _ => return None,
        };
        Some(LinkEvent { kind, link, reason })
    }
}

impl AboutConnections for TransportEvent {
    fn of(event: ConnectionEvent) -> Option<Self> {
        let (kind, link) = match event {
            ConnectionEvent::Connected(link) => (SampleKind::Put, link),
            ConnectionEvent::Lost { link, .. } => (SampleKind::Delete, link),
            _ => return None,
        };
        let transport = Transport::of(&link);
        Some(TransportEvent { kind, transport })
    }
}

impl Listed<LinkStatus> {
    /// Restricts it to the links of this transport.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// for transport in session.info().transports().wait() {
    ///     for link in session.info().links().transport(transport.clone()).wait() {
    ///         println!("{} from {} to {}", transport.zid(), link.src(), link.dst());
    ///     }
    /// }
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn transport(mut self, transport: Transport) -> Self {
        self.retain(|link| link.zid == transport.zid);
        self
    }
}

impl<'a> SessionInfo<'a> {
    /// Returns the nodes that this session is connected to.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// for transport in session.info().transports().wait() {
    ///     println!("{} {}", transport.whatami(), transport.zid());
    /// }
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn transports(&self) -> Done<std::vec::IntoIter<Transport>> {
        let links = self.session().node().links();
        let mut transports: Vec<Transport> = links.iter().map(Transport::of).collect();
        transports.dedup_by_key(|transport| transport.zid);
        Done(transports.into_iter())
    }

    /// Returns the configured endpoints to connect to, each with its count of attempts, its last
    /// failure and the time of its next attempt.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// let config = Config::peer().listen(["tcp/127.0.0.1:0"]).connect(["tcp/127.0.0.1:9"]);
    /// let session = zonda::open(config).wait()?;
    /// for endpoint in session.info().endpoints() {
    ///     if let Some(failure) = &endpoint.last_failure {
    ///         println!("{}: {} ({failure})", endpoint.endpoint, failure.kind);
    ///     }
    /// }
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn endpoints(&self) -> Vec<EndpointStatus> {
        self.session().node().endpoints()
    }

    /// Returns the limits of this session's node, each with its configuration key, its value and
    /// its current use.
    ///
    /// ```
    /// use zonda::{Config, Wait};
    ///
    /// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let limits = session.info().limits();
    /// let sessions = limits.iter().find(|limit| limit.key == "transport/unicast/max_sessions");
    /// assert_eq!(sessions.and_then(|limit| limit.used), Some(0));
    /// # session.close().wait()?;
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn limits(&self) -> Vec<LimitStatus> {
        self.session().node().limits()
    }

    /// Returns all counts of the session's node as they are now: links and their queues, losses,
    /// refusals, limits, memory, discovery. [`openmetrics`](crate::session::openmetrics) writes it
    /// as text.
    ///
    /// # Blocking
    /// For the node's lock, several times.
    ///
    /// ```
    /// use zonda::{Config, Wait};
    ///
    /// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let metrics = session.info().metrics();
    /// let links = metrics.iter().filter(|sample| sample.metric().name == "zonda_links");
    /// assert_eq!(links.map(|sample| sample.value()).sum::<u64>(), 0);
    /// # session.close().wait()?;
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn metrics(&self) -> Vec<Sample> {
        self.session().node().metrics()
    }

    /// Returns the counts of messages that filters have dropped or denied, by direction and kind or by
    /// rule: a part of [`metrics`](Self::metrics) that takes no time for each link.
    ///
    /// # Blocking
    /// For the node's lock, once.
    ///
    /// ```
    /// use zonda::{Config, Wait};
    ///
    /// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// for sample in session.info().filter_metrics() {
    ///     println!("{} {}", sample.metric().name, sample.value());
    /// }
    /// # session.close().wait()?;
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn filter_metrics(&self) -> Vec<Sample> {
        self.session().node().filter_metrics()
    }

    /// Returns the nodes that connected to this session and were turned away: their number for each
    /// kind of reason, and the last one.
    pub fn turned_away(&self) -> Vec<TurnedAway> {
        self.session().node().turned_away()
    }

    /// Listens to everything that happens to connections, with typed reasons: links that come and go, attempts that
    /// fail, nodes that are turned away.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let listener = session.info().events_listener().wait()?;
    /// let peer = zonda::open(Config::client([&session.info().locators()[0]])).wait()?;
    /// println!("{}", listener.recv()?); // connected to client ...
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn events_listener(&self) -> EventsListenerBuilder<'a, ConnectionEvent> {
        EventsListenerBuilder::new(self.session())
    }

    /// Listens to connections that come and go. Like [`events_listener`](Self::events_listener),
    /// with less: the session's own close ends them without an event.
    pub fn transport_events_listener(&self) -> EventsListenerBuilder<'a, TransportEvent> {
        EventsListenerBuilder::new(self.session())
    }

    /// Listens to links that come and go. Like [`events_listener`](Self::events_listener), with
    /// less: the session's own close ends them without an event.
    pub fn link_events_listener(&self) -> EventsListenerBuilder<'a, LinkEvent> {
        EventsListenerBuilder::new(self.session())
    }
}

/// A listener to connections under construction; made by [`SessionInfo::events_listener`] and the like.
#[must_use = "nothing is declared before .await or .wait()"]
pub struct EventsListenerBuilder<'a, E, H = FifoChannel> {
    session: &'a Session,
    history: bool,
    only: Option<ZenohId>,
    handler: H,
    of: PhantomData<fn(E)>,
}

impl<E, H> fmt::Debug for EventsListenerBuilder<'_, E, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventsListenerBuilder")
            .field("history", &self.history)
            .finish_non_exhaustive()
    }
}

impl<'a, E: AboutConnections> EventsListenerBuilder<'a, E> {
    /// Creates a builder whose default handler is a queue of 1024 events; events beyond it are
    /// dropped and counted.
    fn new(session: &'a Session) -> Self {
        EventsListenerBuilder {
            session,
            history: false,
            only: None,
            handler: FifoChannel::new(EVENTS_MAX).overflow(Overflow::DropNewest),
            of: PhantomData,
        }
    }

    handler_setters! {
        /// Calls this function with every event, in their order and one at a time, on a separate
        /// thread. It may call anything of the session, and block.
        EventsListenerBuilder('a, E) of E keeps session, history, only, of
    }
}

impl<'a, E: AboutConnections, H: IntoHandler<E>> EventsListenerBuilder<'a, E, H> {
    /// Chooses whether the links that are open already come first. Default: no.
    pub fn history(mut self, history: bool) -> Self {
        self.history = history;
        self
    }

    /// Restricts it to events of links of this transport. Default: of all.
    pub fn transport(mut self, transport: Transport) -> Self {
        self.only = Some(transport.zid);
        self
    }

    /// Makes a listener that lives as long as its session: the program keeps no handle.
    pub fn background(self) -> BackgroundEventsListenerBuilder<'a, E, H> {
        BackgroundEventsListenerBuilder(self)
    }
}

impl<E: AboutConnections, H: IntoHandler<E>> Operation for EventsListenerBuilder<'_, E, H> {
    type Given = EventsListener<H::Handler>;
    type Refusal = DeclareError;

    /// Begins to listen; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let node = self.session.node().clone();
        if node.is_closed() {
            return Err(match node.is_forked() {
                true => DeclareError::Forked,
                false => DeclareError::Closed,
            });
        }
        let (callback, handler) = self.handler.into_handler();
        let (closing, only) = (node.clone(), self.only);
        let gone = CallbackGroup::default();
        let group = self.session.listeners().callbacks();
        // Dropped in this order.
        let called = (
            callback,
            GroupMembership::of([Some(&gone), Some(group), None]),
        );
        let tell: Tell = Box::new(move |event| {
            let (callback, _) = &called;
            if only.is_some_and(|zid| zid_of(&event) != Some(zid)) {
                return;
            }
            let is_own_end = E::IS_SILENT_AT_CLOSE && is_closed_here(&event) && closing.is_closed();
            if !is_own_end && let Some(event) = E::of(event) {
                let _inside = InsideCallback::enter();
                callback.call(event);
            }
        });
        let told = node.listen_to_connections(tell, self.history);
        let ends = Listening {
            node,
            told,
            gone: match H::STORES {
                true => Ended::upon_asking(gone),
                false => Ended::waiting(gone),
            },
            background: false,
        };
        Ok(EventsListener { ends, handler })
    }
}

ready_at_once!([E: AboutConnections, H: IntoHandler<E>] EventsListenerBuilder<'_, E, H>);

/// A listener to connections under construction that will live as long as its session.
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct BackgroundEventsListenerBuilder<'a, E, H>(EventsListenerBuilder<'a, E, H>);

impl<E: AboutConnections, H: IntoHandler<E>> Operation
    for BackgroundEventsListenerBuilder<'_, E, H>
{
    type Given = ();
    type Refusal = DeclareError;

    /// Begins to listen; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        self.0.perform()?.ends.background = true;
        Ok(())
    }
}

ready_at_once!([E: AboutConnections, H: IntoHandler<E>] BackgroundEventsListenerBuilder<'_, E, H>);

/// A receiver of connection events. Dropping it ends it, without blocking; the end of the session
/// does as well, once all events were delivered. It dereferences to its handler.
#[must_use = "it is undeclared at once: keep it in a variable, or call .background() before .await or .wait()"]
pub struct EventsListener<H = FifoChannelHandler<ConnectionEvent>> {
    ends: Listening,
    handler: H,
}

impl<H> EventsListener<H> {
    /// Returns the handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// Returns the handler, mutably.
    pub fn handler_mut(&mut self) -> &mut H {
        &mut self.handler
    }

    /// Returns the number of events that were dropped because a function or a handler that waits
    /// did not keep up; at most 1024 wait.
    pub fn missed(&self) -> u64 {
        self.ends.told.dropped()
    }

    /// Ends it, as dropping it does. A call on another thread may still be running; waiting for the
    /// returned [`Ended`] waits for it. Never fails.
    pub fn undeclare(self) -> Ended {
        let ended = match self.ends.node.is_forked() {
            true => Ended::now(),
            false => self.ends.gone.clone(),
        };
        drop(self);
        ended
    }
}

used_as_handler!(EventsListener);

impl<H> fmt::Debug for EventsListener<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventsListener")
            .field("missed", &self.missed())
            .finish_non_exhaustive()
    }
}

/// The registration of a listener; removed when dropped.
struct Listening {
    node: Node,
    told: Arc<ConnectionListener>,
    /// End of the callback, to be waited for.
    gone: Ended,
    /// Set if it outlives its [`EventsListener`].
    background: bool,
}

impl Drop for Listening {
    fn drop(&mut self) {
        if !self.background {
            self.node.unlisten(&self.told);
        }
    }
}
