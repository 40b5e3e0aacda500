// SPDX-License-Identifier: MIT OR Apache-2.0

//! One publication of an advanced publisher.

use std::fmt;
use std::time::Duration;

use super::cache::SampleExtras;
use super::publisher::AdvancedPublisher;
use crate::Outcome;
use crate::bytes::{Encoding, OptionZBytes};
use crate::error::{PublishError, Refusal};
use crate::publication::{Given, Publish, SendResult, given, passed};
use crate::pubsub::{OutcomeBuilder, PublisherPutBuilder, Publishing};
use crate::qos::CongestionControl;
use crate::time::Timestamp;
use crate::timestamp_stack::TimestampInstrumentation;
use crate::wait::{Operation, OperationLater, awaited};

/// A put or delete of an [`AdvancedPublisher`] under construction.
#[must_use = "nothing is published before .await or .wait()"]
pub struct AdvancedPublicationBuilder<'a> {
    publisher: &'a AdvancedPublisher<'a>,
    put: PublisherPutBuilder<'a>,
}

/// A put of an [`AdvancedPublisher`] under construction, with the same builder as a delete.
pub type AdvancedPublisherPutBuilder<'a> = AdvancedPublicationBuilder<'a>;

/// A delete of an [`AdvancedPublisher`] under construction, with the same builder as a put.
pub type AdvancedPublisherDeleteBuilder<'a> = AdvancedPublicationBuilder<'a>;

impl<'a> AdvancedPublicationBuilder<'a> {
    #[inline(always)]
    pub(super) fn new(publisher: &'a AdvancedPublisher<'a>, put: PublisherPutBuilder<'a>) -> Self {
        AdvancedPublicationBuilder { publisher, put }
    }

    /// Sets the encoding of the payload; default: that of the publisher. Deletions have none.
    pub fn encoding(mut self, encoding: impl Into<Encoding>) -> Self {
        self.put = self.put.encoding(encoding);
        self
    }

    /// Sets the application's own bytes that accompany the payload.
    pub fn attachment(mut self, attachment: impl Into<OptionZBytes>) -> Self {
        self.put = self.put.attachment(attachment);
        self
    }

    /// Sets the time at which the value was made; default: now, if the session stamps its
    /// publications.
    pub fn timestamp(mut self, timestamp: impl Into<Option<Timestamp>>) -> Self {
        self.put = self.put.timestamp(timestamp);
        self
    }

    /// Asks for the [times](crate::timestamp_stack) at which the message passes these points. A
    /// recovered copy of it has none. Default: none.
    pub fn timestamp_instrumentation(
        mut self,
        instrumentation: impl Into<Option<TimestampInstrumentation>>,
    ) -> Self {
        self.put = self.put.timestamp_instrumentation(instrumentation);
        self
    }

    /// Sets how long this publication may wait for room under congestion control `Block`. Default:
    /// the configuration's `wait_before_close`, 5 s.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.put = self.put.timeout(limit);
        self
    }

    /// Returns the outcome of the message, as
    /// [`PublisherPutBuilder::outcome`](crate::pubsub::PublisherPutBuilder::outcome). The message
    /// is cached in any case.
    pub fn outcome(self) -> OutcomeBuilder<Self> {
        OutcomeBuilder(self)
    }

    /// Publishes a message that has only a payload and a number; returns `None` and publishes
    /// nothing if the message has more.
    #[inline(always)]
    fn pass(&self) -> Option<SendResult> {
        let plain = self.put.plain()?;
        let number = (self.publisher).enter(self.put.payload(), SampleExtras::nothing());
        Some(self.put.pass(&plain, number))
    }

    #[inline(always)]
    fn now<T: Given>(self) -> Result<T, PublishError> {
        match self.pass() {
            Some(passing) => given(passing),
            None => self.publish_rich(),
        }
    }

    #[inline(never)]
    fn publish_rich<T: Given>(self) -> Result<T, PublishError> {
        let publisher = self.publisher;
        self.put.with_message(|message| {
            publisher.prepare(message);
            publisher.publisher.publish(message)
        })
    }

    /// Stamps, caches and numbers the message; returns the put that remains to be done.
    fn prepared(mut self) -> PublisherPutBuilder<'a> {
        self.publisher.prepare(self.put.rich_mut());
        self.put
    }

    fn later<T: Given>(self) -> Publishing<'a, T> {
        match self.publisher.congestion_control() {
            CongestionControl::Block => self.prepared().later(),
            _ => Publishing::at_once(self.now()),
        }
    }
}

impl Operation for AdvancedPublicationBuilder<'_> {
    type Given = ();
    type Refusal = PublishError;

    /// Publishes. A message that cannot be sent is cached all the same.
    ///
    /// # Blocking
    /// Under congestion control `Block` at most the timeout of the builder, else never.
    #[inline(always)]
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        self.now()
    }

    #[inline(always)]
    fn perform_any(self) -> crate::Result<()> {
        match self.pass() {
            Some(passing) => passed(passing),
            None => self.publish_rich().map_err(Refusal::into_any),
        }
    }
}

impl<'a> Publish for AdvancedPublicationBuilder<'a> {
    type Later = Publishing<'a, Outcome>;

    #[inline(always)]
    fn publish_now(self) -> Result<Outcome, PublishError> {
        self.now()
    }

    fn publish_later(self) -> Self::Later {
        self.later()
    }
}

impl<'a> OperationLater for AdvancedPublicationBuilder<'a> {
    type Later = Publishing<'a>;

    /// Publishes. Under congestion control `Block` waiting is by waker; no thread is held.
    fn perform_later(self) -> Self::Later {
        self.later()
    }
}

awaited!(['a] AdvancedPublicationBuilder<'a>);

impl fmt::Debug for AdvancedPublicationBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdvancedPublicationBuilder")
            .field("publisher", &self.publisher)
            .finish_non_exhaustive()
    }
}
