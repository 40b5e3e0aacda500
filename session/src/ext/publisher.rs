// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`AdvancedPublisher`]: keeps what it publishes for those who come later, and counts it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zonda_codec::{EntityGlobalId, KeyExpr};
use zonda_router::node::{Node, PublisherCounts};

use super::archive::Archive;
use super::cache::Cached;
use super::publication::AdvancedPublicationBuilder;
use super::ticker::Ticker;
use crate::bytes::{Encoding, ZBytes};
use crate::gone::Ended;
use crate::liveliness::LivelinessToken;
use crate::matching::{MatchingListenerBuilder, MatchingStatus};
use crate::pubsub::{Publisher, PublisherPutBuilder};
use crate::qos::{CongestionControl, Priority, Reliability};
use crate::sample::{SampleKind, SourceInfo};
use crate::wait::Done;

/// A publisher whose samples [advanced subscribers](super::AdvancedSubscriber) get although they come later, or lose some:
/// it keeps the newest ones, counts them, and says that it is there, as it was configured. Ordinary subscribers get what
/// it publishes, too. Dropping it undeclares it, without blocking; its cache goes with it.
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
    /// How many samples it has published, if it counts them.
    pub(super) published: Option<Arc<AtomicU64>>,
    pub(super) archive: Option<Archive>,
    pub(super) _token: Option<LivelinessToken>,
    pub(super) _heartbeats: Option<Ticker>,
}

impl<'a> AdvancedPublisher<'a> {
    /// Publishes a value, and keeps it.
    pub fn put(&self, payload: impl Into<ZBytes>) -> AdvancedPublicationBuilder<'_> {
        AdvancedPublicationBuilder::new(self, SampleKind::Put, payload.into())
    }

    /// Publishes that the key has no value any more, and keeps that.
    pub fn delete(&self) -> AdvancedPublicationBuilder<'_> {
        AdvancedPublicationBuilder::new(self, SampleKind::Delete, ZBytes::new())
    }

    /// Its id, which its samples carry if it counts them.
    pub fn id(&self) -> EntityGlobalId {
        self.publisher.id()
    }

    /// The key.
    pub fn key_expr(&self) -> &KeyExpr<'a> {
        self.publisher.key_expr()
    }

    /// How to read the payloads.
    pub fn encoding(&self) -> &Encoding {
        self.publisher.encoding()
    }

    /// The priority of its messages.
    pub fn priority(&self) -> Priority {
        self.publisher.priority()
    }

    /// What happens to its messages when a peer is slow.
    pub fn congestion_control(&self) -> CongestionControl {
        self.publisher.congestion_control()
    }

    /// Whether hops may lose its messages.
    pub fn reliability(&self) -> Reliability {
        self.publisher.reliability()
    }

    /// As [`Publisher::matching_status`].
    pub fn matching_status(&self) -> Done<crate::Result<MatchingStatus>> {
        self.publisher.matching_status()
    }

    /// As [`Publisher::matching_listener`].
    pub fn matching_listener(&self) -> MatchingListenerBuilder<'_> {
        self.publisher.matching_listener()
    }

    /// As [`Publisher::counters`].
    pub fn counters(&self) -> PublisherCounts {
        self.publisher.counters()
    }

    /// Undeclares it. The same as dropping it; never fails.
    pub fn undeclare(self) -> Ended {
        self.publisher.undeclare()
    }

    /// Stamps, numbers and keeps a sample; what is left is to send it. Samples are kept in the order of their numbers.
    pub(super) fn prepare(&self, mut sample: Cached) -> PublisherPutBuilder<'_> {
        if sample.timestamp.is_none() && self.node.stamps() {
            sample.timestamp = Some(self.node.new_timestamp());
        }
        let mut cache = self.archive.as_ref().map(|archive| archive.cache.lock());
        if let Some(published) = &self.published {
            sample.number = Some(published.fetch_add(1, Ordering::Relaxed) as u32);
        }
        let put = self.publication(&sample);
        if let Some(cache) = &mut cache {
            cache.keep(sample);
        }
        put
    }

    fn publication(&self, sample: &Cached) -> PublisherPutBuilder<'_> {
        let put = match sample.kind {
            SampleKind::Put => {
                let put = self.publisher.put(sample.payload.clone());
                put.encoding(sample.encoding.clone())
            }
            SampleKind::Delete => self.publisher.delete(),
        };
        let id = self.publisher.id();
        let put = put
            .attachment(sample.attachment.clone())
            .timestamp(sample.timestamp);
        put.source_info(sample.number.map(|sn| SourceInfo { id, sn }))
    }
}

impl fmt::Debug for AdvancedPublisher<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdvancedPublisher")
            .field("publisher", &self.publisher)
            .finish_non_exhaustive()
    }
}
