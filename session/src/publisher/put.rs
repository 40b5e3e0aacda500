// SPDX-License-Identifier: MIT OR Apache-2.0

//! One publication of a declared publisher.

use zonda_codec::CongestionControl;
use zonda_router::node::{Outcome, Plain, PublishError, Wait as Limit};

use super::Publisher;
use crate::bytes::ZBytes;
use crate::error::Refusal;
use crate::publication::{
    Given, Message, OutcomeBuilder, Publish, Publishing, SendResult, forgive_drop, given,
    message_setters, passed, patience,
};
use crate::timestamp_stack::instrumentation_setter;
use crate::wait::{Operation, OperationLater, awaited};

/// A put or delete of a publisher under construction.
///
/// `.wait()` and `.await` return `()`, as in programs for the reference; [`outcome`](Self::outcome)
/// returns more.
///
/// A put that takes everything but its payload from the publisher is a few words; the first setter makes it a whole
/// message, on the heap.
#[must_use = "nothing is published before .await or .wait()"]
pub struct PublisherPutBuilder<'a> {
    pub(super) publisher: &'a Publisher<'a>,
    /// The payload; empty once there is a whole message.
    pub(super) payload: ZBytes,
    pub(super) rich: Option<Box<Message>>,
}

/// A delete of a publisher under construction, with the same builder as a put.
pub type PublisherDeleteBuilder<'a> = PublisherPutBuilder<'a>;

impl PublisherPutBuilder<'_> {
    message_setters!(rich_mut());
    instrumentation_setter!(rich_mut());

    /// Returns the outcome of the message, where the put alone returns `()`: sent, queued,
    /// (congestion control `Drop` and `BlockFirst`) dropped for a slow peer, or without a link any
    /// more.
    ///
    /// ```
    /// # use zonda::{Config, Outcome, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let publisher = session.declare_publisher("demo/key").wait()?;
    /// assert_eq!(publisher.put("value").outcome().wait()?, Outcome::NoSubscriber);
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn outcome(self) -> OutcomeBuilder<Self> {
        OutcomeBuilder(self)
    }

    /// Publishes without waiting, whatever the congestion control.
    ///
    /// # Errors
    /// [`PublishError::WouldBlock`] or [`PublishError::Dropped`] with the slow peer, when a queue is full.
    #[inline(always)]
    pub fn try_publish(self) -> Result<Outcome, PublishError> {
        match self.plain() {
            Some(plain) => {
                let passing = self
                    .publisher
                    .face
                    .publish_plain(&plain, None, Limit::Never);
                passing.into_result()
            }
            None => self.try_publish_rich(),
        }
    }

    /// Returns the message, if it has only a payload.
    #[inline(always)]
    pub(crate) fn plain(&self) -> Option<Plain<'_>> {
        if self.rich.is_some() {
            return None;
        }
        let service = self.publisher.plain?;
        Some(Plain {
            payload: self.payload.value(),
            encoding: service.encoding,
            qos: service.qos,
            reliability: service.reliability,
        })
    }

    /// Returns the whole message, which is created from the payload.
    pub(crate) fn rich_mut(&mut self) -> &mut Message {
        let publisher = self.publisher;
        let payload = &mut self.payload;
        self.rich
            .get_or_insert_with(|| Box::new(publisher.put_message(std::mem::take(payload))))
    }

    /// Returns the payload of a message that is not [whole](Self::rich_mut).
    #[cfg(feature = "ext")]
    pub(crate) fn payload(&self) -> &ZBytes {
        &self.payload
    }

    /// Calls `publish` with the whole message.
    #[cfg(feature = "ext")]
    pub(crate) fn with_message<T>(self, publish: impl FnOnce(&mut Message) -> T) -> T {
        match self.rich {
            Some(mut message) => publish(&mut message),
            None => publish(&mut self.publisher.put_message(self.payload)),
        }
    }

    #[cold]
    fn try_publish_rich(mut self) -> Result<Outcome, PublishError> {
        let face = &self.publisher.face;
        face.publish(&self.rich_mut().view()?, Limit::Never)
    }

    #[inline(never)]
    fn publish_rich<T: Given>(mut self) -> Result<T, PublishError> {
        let publisher = self.publisher;
        publisher.publish(self.rich_mut())
    }
}

impl<'a> PublisherPutBuilder<'a> {
    /// Publishes a message that has only a payload and this number.
    #[inline(always)]
    pub(crate) fn pass(&self, plain: &Plain<'_>, number: Option<u32>) -> SendResult {
        let Publisher {
            face,
            service,
            limit,
            ..
        } = self.publisher;
        let limit = patience(service.congestion_control, *limit);
        face.publish_plain(plain, number, limit)
    }

    #[inline(always)]
    fn now<T: Given>(self) -> Result<T, PublishError> {
        let Some(plain) = self.plain() else {
            return self.publish_rich();
        };
        given(self.pass(&plain, None))
    }

    pub(crate) fn later<T: Given>(mut self) -> Publishing<'a, T> {
        let (service, rich) = (&self.publisher.service, &self.rich);
        let delivery = rich.as_ref().map_or(service, |message| &message.delivery);
        if delivery.congestion_control != CongestionControl::Block {
            return Publishing::at_once(self.now());
        }
        let face = &self.publisher.face;
        let at_once = self
            .plain()
            .and_then(|plain| face.try_publish_plain(&plain));
        if let Some(outcome) = at_once {
            return Publishing::at_once(Ok(outcome));
        }
        Publishing::waiting(async move {
            let face = &self.publisher.face;
            let message = self.rich_mut();
            let limit = message.limit;
            forgive_drop(face.publish_async(&message.view()?, limit).await)
        })
    }
}

impl<'a> Publish for PublisherPutBuilder<'a> {
    type Later = Publishing<'a, Outcome>;

    #[inline(always)]
    fn publish_now(self) -> Result<Outcome, PublishError> {
        self.now()
    }

    fn publish_later(self) -> Self::Later {
        self.later()
    }
}

impl Operation for PublisherPutBuilder<'_> {
    type Given = ();
    type Refusal = PublishError;

    /// Publishes.
    ///
    /// # Blocking
    /// Under congestion control `Block` at most the timeout of the builder, else never.
    #[inline(always)]
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        self.now()
    }

    #[inline(always)]
    fn perform_any(self) -> crate::Result<()> {
        let Some(plain) = self.plain() else {
            return self.publish_rich().map_err(Refusal::into_any);
        };
        passed(self.pass(&plain, None))
    }
}

impl<'a> OperationLater for PublisherPutBuilder<'a> {
    type Later = Publishing<'a>;

    /// Publishes. Under congestion control `Block` waiting is by waker; no thread is held.
    fn perform_later(self) -> Self::Later {
        self.later()
    }
}

awaited!(['a] PublisherPutBuilder<'a>);
