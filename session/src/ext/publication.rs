// SPDX-License-Identifier: MIT OR Apache-2.0

//! One publication of an advanced publisher.

use std::fmt;
use std::time::Duration;

use super::publisher::AdvancedPublisher;
use crate::Outcome;
use crate::bytes::{Encoding, OptionZBytes};
use crate::error::PublishError;
use crate::publication::{Message, Publish};
use crate::pubsub::{OutcomeBuilder, PublisherPutBuilder, Publishing};
use crate::time::Timestamp;
use crate::wait::{Operation, OperationLater, awaited};

/// A put or delete of an [`AdvancedPublisher`] under construction.
#[must_use = "nothing is published before .await or .wait()"]
pub struct AdvancedPublicationBuilder<'a> {
    publisher: &'a AdvancedPublisher<'a>,
    message: Message,
}

/// A put of an [`AdvancedPublisher`] under construction; the same builder.
pub type AdvancedPublisherPutBuilder<'a> = AdvancedPublicationBuilder<'a>;

/// A delete of an [`AdvancedPublisher`] under construction; the same builder.
pub type AdvancedPublisherDeleteBuilder<'a> = AdvancedPublicationBuilder<'a>;

impl<'a> AdvancedPublicationBuilder<'a> {
    #[inline(always)]
    pub(super) fn new(publisher: &'a AdvancedPublisher<'a>, message: Message) -> Self {
        AdvancedPublicationBuilder { publisher, message }
    }

    /// How to read the payload; default: that of the publisher. Deletions have none.
    pub fn encoding(mut self, encoding: impl Into<Encoding>) -> Self {
        self.message.encoding = encoding.into();
        self
    }

    /// The application's own bytes beside the payload.
    pub fn attachment(mut self, attachment: impl Into<OptionZBytes>) -> Self {
        self.message.attachment = attachment.into().into();
        self
    }

    /// When the value was made; default: now, if the session stamps what it publishes.
    pub fn timestamp(mut self, timestamp: impl Into<Option<Timestamp>>) -> Self {
        self.message.timestamp = timestamp.into();
        self
    }

    /// How long this publication may wait for room under congestion control `Block`. Default: the
    /// configuration's `wait_before_close`, 5 s.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.message.limit = limit;
        self
    }

    /// Gives what became of the message, as
    /// [`PublisherPutBuilder::outcome`](crate::pubsub::PublisherPutBuilder::outcome). It is kept whatever that is.
    pub fn outcome(self) -> OutcomeBuilder<Self> {
        OutcomeBuilder(self)
    }

    /// What is left to do when it is kept.
    fn prepared(mut self) -> PublisherPutBuilder<'a> {
        self.publisher.prepare(&mut self.message);
        self.publisher.publisher.publication(self.message)
    }
}

impl Operation for AdvancedPublicationBuilder<'_> {
    type Given = ();
    type Refusal = PublishError;

    /// Publishes. What cannot be sent is kept all the same.
    ///
    /// # Blocking
    /// Under congestion control `Block` at most the timeout of the builder, else never.
    #[inline(always)]
    fn perform(mut self) -> Result<Self::Given, Self::Refusal> {
        self.publisher.prepare(&mut self.message);
        self.publisher.publisher.publish(&self.message)
    }
}

impl<'a> Publish for AdvancedPublicationBuilder<'a> {
    type Later = <PublisherPutBuilder<'a> as Publish>::Later;

    fn publish_now(self) -> Result<Outcome, PublishError> {
        self.prepared().publish_now()
    }

    fn publish_later(self) -> Self::Later {
        self.prepared().publish_later()
    }
}

impl<'a> OperationLater for AdvancedPublicationBuilder<'a> {
    type Later = Publishing<'a>;

    /// Publishes. Under congestion control `Block` waiting is by waker; no thread is held.
    fn perform_later(self) -> Self::Later {
        self.prepared().perform_later()
    }
}

awaited!(['a] AdvancedPublicationBuilder<'a>);

impl fmt::Debug for AdvancedPublicationBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdvancedPublicationBuilder")
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}
