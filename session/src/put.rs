// SPDX-License-Identifier: MIT OR Apache-2.0

//! Publishing on a key without declaring a publisher: the builder of [`Session::put`] and [`Session::delete`].

use zonda_codec::{CongestionControl, KeyExpr, KeyExprError};
use zonda_router::node::{Outcome, PublishError, Wait as Limit};

use crate::handle::Session;
use crate::publication::{
    Given, Message, MessageQos, OutcomeBuilder, Publish, Publishing, forgive_drop, message_setters,
    patience, service_setters,
};
use crate::sample::Locality;
use crate::timestamp_stack::instrumentation_setter;
use crate::wait::{Operation, OperationLater, awaited};

/// A put or delete under construction; made by [`Session::put`] and [`Session::delete`].
///
/// `.wait()` and `.await` return `()`, as in programs for the reference; [`outcome`](Self::outcome)
/// returns more.
#[derive(Debug)]
#[must_use = "nothing is published before .await or .wait()"]
pub struct SessionPutBuilder<'a, 'b> {
    pub(crate) session: &'a Session,
    pub(crate) key: Result<KeyExpr<'b>, KeyExprError>,
    pub(crate) message: Message,
    pub(crate) destination: Locality,
}

/// A delete under construction, with the same builder as a put.
pub type SessionDeleteBuilder<'a, 'b> = SessionPutBuilder<'a, 'b>;

impl SessionPutBuilder<'_, '_> {
    message_setters!(message);
    instrumentation_setter!(message);
    service_setters!(message.delivery);

    /// Chooses the subscribers that get it: of this session, of other sessions, or both. Default: both.
    pub fn allowed_destination(mut self, destination: Locality) -> Self {
        self.destination = destination;
        self
    }

    /// Returns the outcome of the message, where the put alone returns `()`: sent, queued,
    /// (congestion control `Drop` and `BlockFirst`) dropped for a slow peer, or without a link any
    /// more.
    ///
    /// ```
    /// # use zonda::{Config, Outcome, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// assert_eq!(session.put("demo/key", "value").outcome().wait()?, Outcome::NoSubscriber);
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn outcome(self) -> OutcomeBuilder<Self> {
        OutcomeBuilder(self)
    }

    /// Publishes without waiting, whatever the congestion control.
    ///
    /// # Errors
    /// [`PublishError::WouldBlock`] or [`PublishError::Dropped`] with the slow peer, when a queue is full.
    pub fn try_publish(self) -> Result<Outcome, PublishError> {
        self.publish(Some(Limit::Never))
    }

    #[inline(always)]
    fn publish(self, limit: Option<Limit>) -> Result<Outcome, PublishError> {
        let (session, key) = (self.session, self.key?);
        let asked_for = PutOptions {
            service: self.message.delivery,
            destination: self.destination,
        };
        let carried = asked_for.on(session, &key);
        let patience = patience(carried.service.congestion_control, self.message.limit);
        let key = &*session.outgoing(&key)?;
        let (node, view) = (session.node(), self.message.view_as(carried.service)?);
        node.publish(key, carried.destination, &view, limit.unwrap_or(patience))
    }
}

/// Service and destination of a publication.
#[derive(Clone, Copy)]
struct PutOptions {
    service: MessageQos,
    destination: Locality,
}

impl PutOptions {
    /// Returns the service that the configuration sets for publications on this key, else that of
    /// the program.
    #[inline(always)]
    fn on(self, session: &Session, key: &KeyExpr<'_>) -> PutOptions {
        match session.has_publication_rules() {
            true => self.configured(session, key),
            false => self,
        }
    }

    #[cold]
    fn configured(mut self, session: &Session, key: &KeyExpr<'_>) -> PutOptions {
        if let Some(rule) = session.publication_rule(key) {
            self.service.take_over(&rule.service);
            self.destination = rule.destination.unwrap_or(self.destination);
        }
        self
    }
}

impl SessionPutBuilder<'_, '_> {
    #[inline(always)]
    fn now<T: Given>(self) -> Result<T, PublishError> {
        forgive_drop(self.publish(None))
    }
}

impl<'a> SessionPutBuilder<'a, 'a> {
    fn later<T: Given>(self) -> Publishing<'a, T> {
        let asked_for = PutOptions {
            service: self.message.delivery,
            destination: self.destination,
        };
        // The configuration may override the service.
        let carried = match &self.key {
            Ok(key) => asked_for.on(self.session, key),
            Err(_) => asked_for,
        };
        // Only `Block` can wait: every other put is done here.
        if carried.service.congestion_control != CongestionControl::Block {
            return Publishing::at_once(self.now());
        }
        // Wait for room, without a thread.
        let SessionPutBuilder {
            session,
            key,
            message,
            ..
        } = self;
        Publishing::waiting(async move {
            let key = key?;
            let key = &*session.outgoing(&key)?;
            let (node, view) = (session.node(), message.view_as(carried.service)?);
            let publishing = node.publish_async(key, carried.destination, &view, message.limit);
            forgive_drop(publishing.await)
        })
    }
}

impl<'a> Publish for SessionPutBuilder<'a, 'a> {
    type Later = Publishing<'a, Outcome>;

    fn publish_now(self) -> Result<Outcome, PublishError> {
        self.now()
    }

    fn publish_later(self) -> Self::Later {
        self.later()
    }
}

impl Operation for SessionPutBuilder<'_, '_> {
    type Given = ();
    type Refusal = PublishError;

    /// Publishes.
    ///
    /// # Blocking
    /// Under congestion control `Block` at most the timeout of the builder, else never.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        self.now()
    }
}

impl<'a> OperationLater for SessionPutBuilder<'a, 'a> {
    type Later = Publishing<'a>;

    /// Publishes; under congestion control `Block` it waits by waker.
    fn perform_later(self) -> Self::Later {
        self.later()
    }
}

awaited!(['a] SessionPutBuilder<'a, 'a>);
