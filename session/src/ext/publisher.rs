// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`AdvancedPublisher`], which caches and numbers its samples for subscribers that come later.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use zonda_codec::{EntityGlobalId, KeyExpr};
use zonda_router::node::{Node, PublisherCounts};

use super::archive::Archive;
use super::cache::{EvictedSamples, SampleExtras};
use super::ledger::Ledger;
use super::publication::AdvancedPublicationBuilder;
use super::ticker::Ticker;
use crate::bytes::{Encoding, ZBytes};
use crate::callback_group::Ended;
use crate::liveliness::LivelinessToken;
use crate::matching::{MatchingListenerBuilder, MatchingStatus};
use crate::publication::Message;
use crate::pubsub::Publisher;
use crate::qos::{CongestionControl, Priority, Reliability};
use crate::sample::SourceInfo;
use crate::wait::Done;

/// A publisher whose samples also reach [advanced subscribers](super::AdvancedSubscriber) that come
/// later or lose some: as configured, it caches the newest ones, numbers them, and announces
/// itself. Ordinary subscribers receive its samples, too. Dropping it undeclares it, without
/// blocking, and drops its cache.
///
/// ```
/// use std::time::Duration;
/// use zonda::ext::{AdvancedPublisherBuilderExt, CacheConfig, MissDetectionConfig};
/// use zonda::{Config, Wait};
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// let publisher = session
///     .declare_publisher("demo/log")
///     .cache(CacheConfig::default().max_samples(10))
///     .sample_miss_detection(MissDetectionConfig::default().heartbeat(Duration::from_millis(500)))
///     .publisher_detection()
///     .wait()?;
/// publisher.put("a line").wait()?;
/// # Ok::<(), zonda::Error>(())
/// ```
pub struct AdvancedPublisher<'a> {
    pub(super) publisher: Publisher<'a>,
    pub(super) node: Node,
    /// Set if the node stamps the samples.
    pub(super) stamps: bool,
    /// Set if the samples carry their numbers.
    pub(super) is_numbered: bool,
    pub(super) ledger: Arc<Mutex<Ledger>>,
    pub(super) _archive: Option<Archive>,
    pub(super) _token: Option<LivelinessToken>,
    pub(super) _heartbeats: Option<Ticker>,
}

impl<'a> AdvancedPublisher<'a> {
    /// Publishes a value, and caches it.
    #[inline(always)]
    pub fn put(&self, payload: impl Into<ZBytes>) -> AdvancedPublicationBuilder<'_> {
        AdvancedPublicationBuilder::new(self, self.publisher.put(payload))
    }

    /// Publishes that the key has no value any more, and caches the deletion.
    pub fn delete(&self) -> AdvancedPublicationBuilder<'_> {
        AdvancedPublicationBuilder::new(self, self.publisher.delete())
    }

    /// Returns the id, which the samples carry if they are numbered.
    pub fn id(&self) -> EntityGlobalId {
        self.publisher.id()
    }

    /// Returns the key.
    pub fn key_expr(&self) -> &KeyExpr<'a> {
        self.publisher.key_expr()
    }

    /// Returns the encoding of the payloads.
    pub fn encoding(&self) -> &Encoding {
        self.publisher.encoding()
    }

    /// Returns the priority of its messages.
    pub fn priority(&self) -> Priority {
        self.publisher.priority()
    }

    /// Returns the congestion control of the messages.
    pub fn congestion_control(&self) -> CongestionControl {
        self.publisher.congestion_control()
    }

    /// Returns the reliability of the messages.
    pub fn reliability(&self) -> Reliability {
        self.publisher.reliability()
    }

    /// Returns the matching status, as [`Publisher::matching_status`].
    pub fn matching_status(&self) -> Done<crate::Result<MatchingStatus>> {
        self.publisher.matching_status()
    }

    /// Declares a matching listener, as [`Publisher::matching_listener`].
    pub fn matching_listener(&self) -> MatchingListenerBuilder<'_> {
        self.publisher.matching_listener()
    }

    /// Returns the counts of messages, as [`Publisher::counters`].
    pub fn counters(&self) -> PublisherCounts {
        self.publisher.counters()
    }

    /// Undeclares it, as dropping it does; never fails.
    pub fn undeclare(self) -> Ended {
        self.publisher.undeclare()
    }

    /// Stamps, numbers and caches a message, which is then sent.
    pub(super) fn prepare(&self, message: &mut Message) {
        if message.timestamp.is_none() && self.stamps {
            message.timestamp = Some(self.node.new_timestamp());
        }
        let beside = SampleExtras::of(message, self.publisher.encoding());
        let number = self.enter(&message.payload, beside);
        if let Some(sn) = number {
            let id = self.publisher.id();
            message.source_info = Some(SourceInfo { id, sn });
        }
    }

    /// Caches a sample; returns its number if the samples are numbered.
    #[inline(always)]
    pub(super) fn enter(&self, payload: &ZBytes, beside: SampleExtras) -> Option<u32> {
        let mut spilled = EvictedSamples::default();
        let number = self.ledger.lock().enter(payload, beside, &mut spilled);
        spilled.let_go();
        self.is_numbered.then_some(number)
    }
}

impl fmt::Debug for AdvancedPublisher<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdvancedPublisher")
            .field("publisher", &self.publisher)
            .finish_non_exhaustive()
    }
}
