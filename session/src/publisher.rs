// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declared publishers: the route of the key is worked out once, so that each put is cheap.

mod forward;
mod put;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use zonda_codec::{
    CongestionControl, EntityGlobalId, KeyExpr, KeyExprError, Priority, Reliability,
};
use zonda_router::node::{
    DeclareError, Listen, ListenerId, Outcome, PublishError, PublisherCounts, PublisherFace,
};

use crate::bytes::{Encoding, ZBytes};
use crate::callback_group::{CallbackGroup, Ended};
use crate::handle::Session;
use crate::listening::Listeners;
use crate::matching::{Matched, MatchingListenerBuilder, MatchingStatus};
use crate::publication::{
    Given, Message, MessageQos, PlainQos, forgive_drop, patience, service_setters,
};
use crate::sample::Locality;
use crate::wait::{Done, Operation, ready_at_once};

pub use put::{PublisherDeleteBuilder, PublisherPutBuilder};

/// A publisher under construction; made by [`Session::declare_publisher`].
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct PublisherBuilder<'a, 'b> {
    pub(crate) session: &'a Session,
    pub(crate) key: Result<KeyExpr<'b>, KeyExprError>,
    pub(crate) encoding: Encoding,
    pub(crate) service: MessageQos,
    pub(crate) destination: Locality,
}

impl PublisherBuilder<'_, '_> {
    service_setters!(service);

    /// Chooses the subscribers that get its messages: of this session, of other sessions, or both; the rest is no match for it.
    /// Default: both.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// use zonda::sample::Locality;
    ///
    /// let _subscriber = session.declare_subscriber("demo/a").wait()?;
    /// let publisher = session
    ///     .declare_publisher("demo/a")
    ///     .allowed_destination(Locality::Remote)
    ///     .wait()?;
    /// assert!(!publisher.matching_status().wait()?.matching());
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn allowed_destination(mut self, destination: Locality) -> Self {
        self.destination = destination;
        self
    }

    /// Sets the encoding of the payloads, unless a put has its own. Default: plain bytes.
    pub fn encoding(mut self, encoding: impl Into<Encoding>) -> Self {
        self.encoding = encoding.into();
        self
    }
}

impl<'b> Operation for PublisherBuilder<'_, 'b> {
    type Given = Publisher<'b>;
    type Refusal = DeclareError;

    /// Declares the publisher; does not block.
    fn perform(mut self) -> Result<Self::Given, Self::Refusal> {
        let key = self.key?;
        if let Some(rule) = self.session.publication_rule(&key) {
            self.service.take_over(&rule.service);
            self.destination = rule.destination.unwrap_or(self.destination);
        }
        Ok(Publisher {
            face: self
                .session
                .node()
                .declare_publisher_to(&*self.session.outgoing(&key)?, self.destination)?,
            key,
            plain: self.service.plain(&self.encoding),
            encoding: self.encoding,
            service: self.service,
            limit: self.session.publish_limit(),
            listeners: Arc::clone(self.session.listeners()),
            callbacks: CallbackGroup::default(),
        })
    }
}

ready_at_once!(['b] PublisherBuilder<'_, 'b>);

/// A publisher on one key. Dropping it undeclares it, without blocking.
///
/// ```
/// use zonda::{Config, Wait, qos::CongestionControl};
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// let publisher = session
///     .declare_publisher("demo/temperature")
///     .congestion_control(CongestionControl::Block)
///     .wait()?;
/// publisher.put("21.5").wait()?;
/// publisher.put("21.6").attachment("sensor 3").wait()?;
/// publisher.delete().wait()?;
/// # Ok::<(), zonda::Error>(())
/// ```
pub struct Publisher<'a> {
    face: PublisherFace,
    key: KeyExpr<'a>,
    encoding: Encoding,
    service: MessageQos,
    /// Service of a put that has only a payload, if the publisher can have such puts.
    plain: Option<PlainQos>,
    limit: Duration,
    listeners: Arc<Listeners>,
    /// Callbacks of its listeners.
    callbacks: CallbackGroup,
}

impl Matched for PublisherFace {
    fn listen(&self, listener: Arc<dyn Listen>) -> Result<ListenerId, DeclareError> {
        self.declare_matching_listener(listener)
    }
}

impl<'a> Publisher<'a> {
    /// Publishes a value: `.await` waits by waker, `.wait()` blocks, [`PublisherPutBuilder::try_publish`] never waits.
    #[inline(always)]
    pub fn put(&self, payload: impl Into<ZBytes>) -> PublisherPutBuilder<'_> {
        PublisherPutBuilder {
            publisher: self,
            payload: payload.into(),
            rich: None,
        }
    }

    /// Publishes that the key has no value any more.
    #[inline]
    pub fn delete(&self) -> PublisherDeleteBuilder<'_> {
        PublisherPutBuilder {
            publisher: self,
            payload: ZBytes::new(),
            rich: Some(Box::new(self.delete_message())),
        }
    }

    /// Creates a put with the publisher's service.
    #[inline(always)]
    pub(crate) fn put_message(&self, payload: ZBytes) -> Message {
        let mut message = Message::put(payload, self.service, self.limit);
        message.encoding = self.encoding.clone();
        message
    }

    /// Creates a delete with the publisher's service.
    pub(crate) fn delete_message(&self) -> Message {
        Message::delete(self.service, self.limit)
    }

    /// Publishes a message that is complete.
    ///
    /// # Blocking
    /// Under congestion control `Block` at most the limit of the message.
    pub(crate) fn publish<T: Given>(&self, message: &Message) -> Result<T, PublishError> {
        let limit = patience(message.delivery.congestion_control, message.limit);
        forgive_drop(self.face.publish(&message.view()?, limit))
    }

    /// Disables the fast path: from now on no put of it counts as one that has only a payload.
    #[cfg(feature = "ext")]
    pub(crate) fn has_more_than_payloads(&mut self) {
        self.plain = None;
    }

    /// Publishes a value without waiting, whatever the congestion control.
    ///
    /// # Errors
    /// [`PublishError::WouldBlock`] or [`PublishError::Dropped`] with the slow peer, when a queue is full.
    #[inline]
    pub fn try_put(&self, payload: impl Into<ZBytes>) -> Result<Outcome, PublishError> {
        self.put(payload).try_publish()
    }

    /// Publishes a value; waits by waker under congestion control `Block`. Equivalent to
    /// `self.put(payload).outcome().await`.
    ///
    /// # Errors
    /// The errors of [`PublisherPutBuilder`].
    pub async fn put_async(&self, payload: impl Into<ZBytes>) -> Result<Outcome, PublishError> {
        let put = self.put(payload).outcome();
        put.await
    }

    /// Returns the id, which is also in its [`SourceInfo`](crate::sample::SourceInfo).
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// use zonda::sample::SourceInfo;
    ///
    /// let publisher = session.declare_publisher("demo/key").wait()?;
    /// let number = 1; // counted by the publisher
    /// publisher.put("value").source_info(SourceInfo::new(publisher.id(), number)).wait()?;
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn id(&self) -> EntityGlobalId {
        self.face.id()
    }

    /// Returns the key.
    pub fn key_expr(&self) -> &KeyExpr<'a> {
        &self.key
    }

    /// Returns the encoding of the payloads.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Returns the priority of its messages.
    pub fn priority(&self) -> Priority {
        self.service.priority
    }

    /// Returns the congestion control of its messages.
    pub fn congestion_control(&self) -> CongestionControl {
        self.service.congestion_control
    }

    /// Returns true if hops may lose its messages.
    pub fn reliability(&self) -> Reliability {
        self.service.reliability
    }

    /// Returns true if it has subscribers, as far as this node knows now.
    pub fn matching_status(&self) -> Done<crate::Result<MatchingStatus>> {
        let matching = self.face.has_matching_subscribers();
        Done(Ok(MatchingStatus::new(matching)))
    }

    /// Returns true if a message has a destination now: a known subscriber, or a router that has
    /// not yet reported if it knows one. A message without a route is [`Outcome::NoSubscriber`].
    pub fn has_route(&self) -> bool {
        self.face.has_route()
    }

    /// Declares a listener to the coming of the first subscriber (also if one exists already) and
    /// the going of the last one.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let publisher = session.declare_publisher("demo/a").wait()?;
    /// publisher
    ///     .matching_listener()
    ///     .callback(|status| println!("anybody there: {}", status.matching()))
    ///     .background()
    ///     .wait()?;
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn matching_listener(&self) -> MatchingListenerBuilder<'_> {
        MatchingListenerBuilder::new(&self.face, &self.listeners, &self.callbacks)
    }

    /// Returns the outcomes of its messages so far. Messages that were queued for a peer and lost
    /// with its link are counted there:
    /// [`SessionInfo::ended_links`](crate::session::SessionInfo::ended_links).
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let publisher = session.declare_publisher("demo/temperature").wait()?;
    /// publisher.put("21.5").wait()?;
    /// let counts = publisher.counters();
    /// assert_eq!((counts.offered, counts.no_subscriber, counts.bytes), (1, 1, 4));
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn counters(&self) -> PublisherCounts {
        self.face.counters()
    }

    /// Undeclares it, as dropping it does; never fails. The wait includes its matching listeners
    /// after [`wait_callbacks`](Ended::wait_callbacks).
    pub fn undeclare(self) -> Ended {
        let callbacks = self.callbacks.clone();
        drop(self);
        Ended::upon_asking(callbacks)
    }
}

impl fmt::Debug for Publisher<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher")
            .field("key", &self.key)
            .field("encoding", &self.encoding)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}
