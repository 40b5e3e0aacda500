// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`AdvancedSubscriber`]: gets the samples from before its declaration, and lost ones.

use std::fmt;
use std::sync::Arc;

use zonda_codec::{EntityGlobalId, KeyExpr};

use super::intake::{Declared, Intake};
use super::listeners::{PublisherDetectionBuilder, SampleMissListenerBuilder};
use crate::callback_group::Ended;
use crate::handlers::{FifoChannelHandler, used_as_handler};
use crate::pubsub::Subscriber;
use crate::sample::Sample;

/// A subscriber that queries the caches of [advanced publishers](super::AdvancedPublisher): for
/// their history when it is declared, and for samples that were lost on the way. Samples of one
/// publisher are delivered in their order, each once. Dropping it undeclares it and ends its
/// queries, without blocking.
///
/// The subscriber dereferences to its handler, as a [`Subscriber`] does.
///
/// ```
/// use zonda::ext::{AdvancedPublisherBuilderExt, AdvancedSubscriberBuilderExt};
/// use zonda::ext::{CacheConfig, HistoryConfig, MissDetectionConfig};
/// use zonda::{Config, Wait};
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// let publisher = session
///     .declare_publisher("demo/log")
///     .cache(CacheConfig::default().max_samples(2))
///     .sample_miss_detection(MissDetectionConfig::default())
///     .wait()?;
/// for line in ["one", "two", "three"] {
///     publisher.put(line).wait()?;
/// }
///
/// let late = session.declare_subscriber("demo/log").history(HistoryConfig::default()).wait()?;
/// assert_eq!(late.recv()?.payload().try_to_string()?, "two");
/// assert_eq!(late.recv()?.payload().try_to_string()?, "three");
/// # Ok::<(), zonda::Error>(())
/// ```
#[must_use = "it is undeclared at once: keep it in a variable, or call .background() before .await or .wait()"]
pub struct AdvancedSubscriber<H = FifoChannelHandler<Sample>> {
    intake: Arc<Intake>,
    /// The declarations; `None` once it lives as long as its session.
    subscriber: Option<Subscriber<()>>,
    declared: Declared,
    id: EntityGlobalId,
    handler: H,
}

impl<H> AdvancedSubscriber<H> {
    pub(super) fn new(
        intake: Arc<Intake>,
        subscriber: Subscriber<()>,
        declared: Declared,
        handler: H,
    ) -> Self {
        AdvancedSubscriber {
            intake,
            id: subscriber.id(),
            subscriber: Some(subscriber),
            declared,
            handler,
        }
    }

    /// Detaches it: it lives as long as its session.
    pub(super) fn detach(mut self) {
        *self.intake.background.lock() = std::mem::take(&mut self.declared);
        if let Some(subscriber) = self.subscriber.take() {
            subscriber.detach();
        }
    }

    /// Returns the id.
    pub fn id(&self) -> EntityGlobalId {
        self.id
    }

    /// Returns the key expression it was declared with.
    pub fn key_expr(&self) -> &KeyExpr<'static> {
        &self.intake.key
    }

    /// Returns the handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// Returns the handler, mutably.
    pub fn handler_mut(&mut self) -> &mut H {
        &mut self.handler
    }

    /// Declares a listener to the losses of samples: their number, and the publisher. It does not receive earlier
    /// losses, and ends with the subscriber.
    pub fn sample_miss_listener(&self) -> SampleMissListenerBuilder<'_> {
        SampleMissListenerBuilder::new(&self.intake.misses)
    }

    /// Declares a liveliness subscriber to the publishers on these keys that announce themselves
    /// (`publisher_detection`).
    pub fn detect_publishers(&self) -> PublisherDetectionBuilder<'_> {
        PublisherDetectionBuilder::new(&self.intake)
    }

    /// Undeclares it, as dropping it does: no call of the handler begins afterwards. Waiting for
    /// the returned [`Ended`] waits until no call runs any more and the handler is dropped; never
    /// fails.
    pub fn undeclare(self) -> Ended {
        let gone = self.intake.gone.clone();
        drop(self);
        Ended::waiting(gone)
    }
}

impl<H> Drop for AdvancedSubscriber<H> {
    fn drop(&mut self) {
        if self.subscriber.is_some() {
            self.intake.end();
        }
    }
}

used_as_handler!(AdvancedSubscriber);

impl<H> fmt::Debug for AdvancedSubscriber<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdvancedSubscriber")
            .field("key", self.key_expr())
            .finish_non_exhaustive()
    }
}
