// SPDX-License-Identifier: MIT OR Apache-2.0

//! The message under construction that puts and deletes share, and the result of a publication.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use zonda_codec::{CongestionControl, Priority, Qos, Reliability, SourceInfo, Timestamp};
use zonda_router::config::ServiceGiven;
pub(crate) use zonda_router::node::SendResult;
use zonda_router::node::{Outcome, Publication, PublishError, SampleKind, Wait as Limit};

use crate::bytes::{Encoding, ZBytes};
use crate::error::Refusal;
use crate::timestamp_stack::TimestampInstrumentation;
use crate::turns::poll_turn;
use crate::wait::{Pending, Resolvable, Wait};

/// Everything about one publication but its key.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub kind: SampleKind,
    pub payload: ZBytes,
    pub encoding: Encoding,
    pub attachment: Option<ZBytes>,
    pub timestamp: Option<Timestamp>,
    pub source_info: Option<SourceInfo>,
    pub delivery: MessageQos,
    /// Limit of the wait of a blocking publication.
    pub limit: Duration,
    /// Points at which times are recorded.
    pub instrumentation: TimestampInstrumentation,
}

/// Service of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageQos {
    pub priority: Priority,
    pub congestion_control: CongestionControl,
    pub express: bool,
    pub reliability: Reliability,
}

impl Default for MessageQos {
    /// Creates the default service: data, drop, not express, reliable.
    fn default() -> Self {
        MessageQos {
            priority: Priority::default(),
            congestion_control: CongestionControl::default(),
            express: false,
            reliability: Reliability::default(),
        }
    }
}

/// Service of a message that has only a payload, in the node's form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainQos {
    pub encoding: u16,
    pub qos: Qos,
    pub reliability: Reliability,
}

impl MessageQos {
    /// Returns the plain form; `None` for an encoding with a schema, which takes a place of its own
    /// in each message.
    pub fn plain(&self, encoding: &Encoding) -> Option<PlainQos> {
        Some(PlainQos {
            encoding: encoding.plain_id()?,
            qos: self.qos(),
            reliability: self.reliability,
        })
    }

    /// Applies the service that a rule of the configuration sets.
    #[cold]
    pub fn take_over(&mut self, given: &ServiceGiven) {
        let take = given.congestion_control;
        self.congestion_control = take.unwrap_or(self.congestion_control);
        self.priority = given.priority.unwrap_or(self.priority);
        self.express = given.express.unwrap_or(self.express);
        self.reliability = given.reliability.unwrap_or(self.reliability);
    }

    #[inline]
    fn qos(&self) -> Qos {
        Qos::new(self.priority, self.congestion_control, self.express)
    }
}

impl Message {
    pub fn put(payload: ZBytes, delivery: MessageQos, limit: Duration) -> Message {
        Message {
            kind: SampleKind::Put,
            payload,
            encoding: Encoding::default(),
            attachment: None,
            timestamp: None,
            source_info: None,
            delivery,
            limit,
            instrumentation: TimestampInstrumentation::default(),
        }
    }

    pub fn delete(delivery: MessageQos, limit: Duration) -> Message {
        Message {
            kind: SampleKind::Delete,
            ..Message::put(ZBytes::new(), delivery, limit)
        }
    }

    /// Returns the message in the node's form.
    ///
    /// # Errors
    /// The schema is too long for the protocol.
    #[inline]
    pub fn view(&self) -> Result<Publication<'_>, PublishError> {
        self.view_as(self.delivery)
    }

    /// Returns a view of a message with another service than its own.
    ///
    /// # Errors
    /// The errors of [`Message::view`].
    // Always inlined: by a call the whole view is written to memory twice.
    #[inline(always)]
    pub fn view_as(&self, service: MessageQos) -> Result<Publication<'_>, PublishError> {
        let encoding = self.encoding.wire();
        match encoding.schema.map_or(0, <[u8]>::len) {
            len if len > Encoding::SCHEMA_BYTES_MAX => {
                return Err(PublishError::SchemaTooLong { len });
            }
            _ => {}
        }
        Ok(Publication {
            kind: self.kind,
            payload: self.payload.value(),
            encoding,
            attachment: self.attachment.as_ref().map(ZBytes::as_slice),
            timestamp: self.timestamp,
            source_info: self.source_info,
            qos: service.qos(),
            reliability: service.reliability,
            points: self.instrumentation.points(),
        })
    }
}

/// Returns the limit of a publication's wait: it waits only under `Block`.
#[inline(always)]
pub(crate) fn patience(congestion_control: CongestionControl, limit: Duration) -> Limit {
    match congestion_control {
        CongestionControl::Block => Limit::AtMost(limit),
        _ => Limit::Never,
    }
}

/// Turns the error of a dropped message into an outcome: under `Drop` and `BlockFirst` the
/// publisher has asked for that.
#[inline(always)]
pub(crate) fn forgive_drop<T: Given>(
    result: Result<Outcome, PublishError>,
) -> Result<T, PublishError> {
    match result {
        Ok(outcome) => Ok(T::of(outcome)),
        Err(PublishError::Dropped { peer }) => Ok(T::of(Outcome::Dropped { peer })),
        Err(error) => Err(error),
    }
}

/// Returns the result of a publication.
#[inline(always)]
pub(crate) fn given<T: Given>(passing: SendResult) -> Result<T, PublishError> {
    match passing.unusual {
        None => Ok(T::of(passing.passed.into())),
        Some(unusual) => forgive_drop(*unusual),
    }
}

/// Returns the result of a publication without a value, or any error.
#[inline(always)]
pub(crate) fn passed(passing: SendResult) -> crate::Result<()> {
    match passing.unusual {
        None => Ok(()),
        Some(result) => unusual(*result),
    }
}

#[cold]
fn unusual(result: Result<Outcome, PublishError>) -> crate::Result<()> {
    forgive_drop(result).map_err(Refusal::into_any)
}

/// The future of a put or delete.
///
/// Once in 128 times on a thread it is pending although it need not wait, so that a loop of puts
/// leaves timers and other tasks their turn, as tokio's own futures do.
///
/// # Cancel safety
/// Dropping it before it is ready publishes the message to all peers, to some or to none.
pub struct Publishing<'a, T = ()> {
    stage: Stage<'a>,
    gives: PhantomData<fn() -> T>,
}

type Published = Result<Outcome, PublishError>;

enum Stage<'a> {
    /// A publication that needed no waiting, and no allocation; empty once taken.
    AtOnce(Option<Published>),
    /// A publication that may wait.
    Waiting(Pending<'a, Published>),
}

impl<'a, T> Publishing<'a, T> {
    pub(crate) fn at_once(result: Published) -> Self {
        Publishing {
            stage: Stage::AtOnce(Some(result)),
            gives: PhantomData,
        }
    }

    pub(crate) fn waiting(future: impl Future<Output = Published> + Send + 'a) -> Self {
        Publishing {
            stage: Stage::Waiting(Box::pin(future)),
            gives: PhantomData,
        }
    }
}

/// Result of a publication that did not fail: nothing, or its [`Outcome`].
pub trait Given {
    /// Converts the outcome.
    fn of(outcome: Outcome) -> Self;
}

impl Given for () {
    #[inline(always)]
    fn of(_: Outcome) {}
}

impl Given for Outcome {
    #[inline(always)]
    fn of(outcome: Outcome) -> Outcome {
        outcome
    }
}

impl<T: Given> Future for Publishing<'_, T> {
    type Output = Result<T, PublishError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(poll_turn(context));
        let published = match &mut self.stage {
            Stage::AtOnce(result) => Poll::Ready(
                result
                    .take()
                    .expect("a future is not polled after it was ready"),
            ),
            Stage::Waiting(future) => future.as_mut().poll(context),
        };
        published.map_ok(T::of)
    }
}

/// Complete put or delete, which the node can publish.
pub trait Publish {
    /// Publishes, waiting by waker.
    type Later: Future<Output = Result<Outcome, PublishError>>;

    /// Publishes, on this thread.
    fn publish_now(self) -> Result<Outcome, PublishError>;

    /// Publishes, waiting by waker.
    fn publish_later(self) -> Self::Later;
}

/// Builder of a put or delete that returns its [`Outcome`]; `outcome()` of the put or delete creates
/// it.
#[derive(Debug)]
#[must_use = "nothing is published before .await or .wait()"]
pub struct OutcomeBuilder<B>(pub(crate) B);

impl<B: Publish> Resolvable for OutcomeBuilder<B> {
    type To = Result<Outcome, PublishError>;
}

impl<B: Publish> Wait for OutcomeBuilder<B> {
    /// Publishes.
    ///
    /// # Blocking
    /// Under congestion control `Block` at most the timeout of the builder, else never.
    #[inline(always)]
    fn wait(self) -> Self::To {
        self.0.publish_now()
    }
}

impl<B: Publish> IntoFuture for OutcomeBuilder<B> {
    type Output = Result<Outcome, PublishError>;
    type IntoFuture = B::Later;

    fn into_future(self) -> Self::IntoFuture {
        self.0.publish_later()
    }
}

impl<T> fmt::Debug for Publishing<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Publishing")
    }
}

/// Defines the setters that every builder with a `message` field has.
macro_rules! message_setters {
    ($($message:tt)+) => {
        /// Sets the encoding of the payload; default: that of the publisher, or plain bytes. Deletions have none.
        pub fn encoding(mut self, encoding: impl Into<$crate::bytes::Encoding>) -> Self {
            self.$($message)+.encoding = encoding.into();
            self
        }

        /// Sets the application's own bytes that accompany the payload.
        pub fn attachment(mut self, attachment: impl Into<$crate::bytes::OptionZBytes>) -> Self {
            self.$($message)+.attachment = attachment.into().into();
            self
        }

        /// Sets the time at which the value was made; default: unknown, until a router stamps it.
        pub fn timestamp(mut self, timestamp: impl Into<Option<$crate::time::Timestamp>>) -> Self {
            self.$($message)+.timestamp = timestamp.into();
            self
        }

        /// Sets the source that made the value, and its number there.
        pub fn source_info(
            mut self,
            source_info: impl Into<Option<$crate::sample::SourceInfo>>,
        ) -> Self {
            self.$($message)+.source_info = source_info.into();
            self
        }

        /// Sets the time that this publication may wait for room under congestion control `Block`. Default: the
        /// configuration's `wait_before_close`, 5 s.
        pub fn timeout(mut self, limit: std::time::Duration) -> Self {
            self.$($message)+.limit = limit;
            self
        }
    };
}

/// Defines the setters of quality of service for builders with a `MessageQos` at the given place.
macro_rules! service_setters {
    ($($field:ident).+) => {
        /// Sets the priority of the messages. Default: `Data`.
        pub fn priority(mut self, priority: $crate::qos::Priority) -> Self {
            self.$($field).+.priority = priority;
            self
        }

        /// Sets the congestion control. Default: `Drop`.
        pub fn congestion_control(mut self, control: $crate::qos::CongestionControl) -> Self {
            self.$($field).+.congestion_control = control;
            self
        }

        /// Chooses whether the message is sent at once instead of in a common batch. Default: no.
        pub fn express(mut self, express: bool) -> Self {
            self.$($field).+.express = express;
            self
        }

        /// Chooses whether hops may lose the message. Default: `Reliable`.
        pub fn reliability(mut self, reliability: $crate::qos::Reliability) -> Self {
            self.$($field).+.reliability = reliability;
            self
        }
    };
}

pub(crate) use {message_setters, service_setters};
