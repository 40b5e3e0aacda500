// SPDX-License-Identifier: MIT OR Apache-2.0

//! Advanced publishers under construction.

use std::sync::Arc;

use parking_lot::Mutex;
use zonda_codec::{KeyExpr, KeyExprError};

use super::archive::{Archive, CachedSamples};
use super::cache_config::CacheConfig;
use super::error::AdvancedError;
use super::heartbeat::MissDetectionConfig;
use super::keys::{self, Source};
use super::ledger::Ledger;
use super::publisher::AdvancedPublisher;
use crate::bytes::Encoding;
use crate::pubsub::PublisherBuilder;
use crate::qos::{CongestionControl, Priority, Reliability};
use crate::sample::Locality;
use crate::wait::{Operation, ready_at_once};

/// Conversion of a [`PublisherBuilder`] to one of an [`AdvancedPublisher`].
pub trait AdvancedPublisherBuilderExt<'a, 'b, 'c> {
    /// Caches the newest samples for subscribers that come later or lose some.
    fn cache(self, config: CacheConfig) -> AdvancedPublisherBuilder<'a, 'b, 'c>;

    /// Numbers samples, so that subscribers see when some are lost.
    fn sample_miss_detection(
        self,
        config: MissDetectionConfig,
    ) -> AdvancedPublisherBuilder<'a, 'b, 'c>;

    /// Announces the publisher by a liveliness token; subscribers that came earlier can then query
    /// the samples that they missed.
    fn publisher_detection(self) -> AdvancedPublisherBuilder<'a, 'b, 'c>;

    /// Converts the builder without any of these features.
    fn advanced(self) -> AdvancedPublisherBuilder<'a, 'b, 'c>;
}

impl<'a, 'b, 'c> AdvancedPublisherBuilderExt<'a, 'b, 'c> for PublisherBuilder<'a, 'b> {
    fn cache(self, config: CacheConfig) -> AdvancedPublisherBuilder<'a, 'b, 'c> {
        self.advanced().cache(config)
    }

    fn sample_miss_detection(
        self,
        config: MissDetectionConfig,
    ) -> AdvancedPublisherBuilder<'a, 'b, 'c> {
        self.advanced().sample_miss_detection(config)
    }

    fn publisher_detection(self) -> AdvancedPublisherBuilder<'a, 'b, 'c> {
        self.advanced().publisher_detection()
    }

    fn advanced(self) -> AdvancedPublisherBuilder<'a, 'b, 'c> {
        AdvancedPublisherBuilder {
            builder: self,
            cache: None,
            miss_detection: None,
            is_detectable: false,
            meta: None,
        }
    }
}

/// An advanced publisher under construction; made by [`AdvancedPublisherBuilderExt`].
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct AdvancedPublisherBuilder<'a, 'b, 'c> {
    builder: PublisherBuilder<'a, 'b>,
    cache: Option<CacheConfig>,
    miss_detection: Option<MissDetectionConfig>,
    is_detectable: bool,
    meta: Option<Result<KeyExpr<'c>, KeyExprError>>,
}

impl<'c> AdvancedPublisherBuilder<'_, '_, 'c> {
    /// Caches the newest samples, as [`AdvancedPublisherBuilderExt::cache`].
    pub fn cache(mut self, config: CacheConfig) -> Self {
        self.cache = Some(config);
        self
    }

    /// Numbers the samples, as [`AdvancedPublisherBuilderExt::sample_miss_detection`].
    pub fn sample_miss_detection(mut self, config: MissDetectionConfig) -> Self {
        self.miss_detection = Some(config);
        self
    }

    /// Announces the publisher, as [`AdvancedPublisherBuilderExt::publisher_detection`].
    pub fn publisher_detection(mut self) -> Self {
        self.is_detectable = true;
        self
    }

    /// Adds a key with information about the publisher to the key of its token. Default: none.
    pub fn publisher_detection_metadata<K>(mut self, meta: K) -> Self
    where
        K: TryInto<KeyExpr<'c>>,
        K::Error: Into<KeyExprError>,
    {
        self.meta = Some(meta.try_into().map_err(Into::into));
        self
    }

    /// Chooses the subscribers it reaches, as [`PublisherBuilder::allowed_destination`].
    pub fn allowed_destination(mut self, destination: Locality) -> Self {
        self.builder = self.builder.allowed_destination(destination);
        self
    }

    /// Sets the encoding, as [`PublisherBuilder::encoding`].
    pub fn encoding(mut self, encoding: impl Into<Encoding>) -> Self {
        self.builder = self.builder.encoding(encoding);
        self
    }

    /// Sets the priority, as [`PublisherBuilder::priority`].
    pub fn priority(mut self, priority: Priority) -> Self {
        self.builder = self.builder.priority(priority);
        self
    }

    /// Sets the congestion control, as [`PublisherBuilder::congestion_control`].
    pub fn congestion_control(mut self, control: CongestionControl) -> Self {
        self.builder = self.builder.congestion_control(control);
        self
    }

    /// Sets the express flag, as [`PublisherBuilder::express`].
    pub fn express(mut self, express: bool) -> Self {
        self.builder = self.builder.express(express);
        self
    }

    /// Sets the reliability, as [`PublisherBuilder::reliability`].
    pub fn reliability(mut self, reliability: Reliability) -> Self {
        self.builder = self.builder.reliability(reliability);
        self
    }
}

impl<'b> Operation for AdvancedPublisherBuilder<'_, 'b, '_> {
    type Given = AdvancedPublisher<'b>;
    type Refusal = AdvancedError;

    /// Declares the publisher; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let (session, meta) = (self.builder.session, self.meta.transpose()?);
        let mut publisher = self.builder.perform()?;
        let (id, node) = (publisher.id(), session.node().clone());
        let (cache, stamps) = (self.cache.as_ref(), node.stamps());
        // Check the settings: a cache distinguishes its samples by numbers or timestamps.
        if cache.is_some() && self.miss_detection.is_none() && !stamps {
            let key = publisher.key_expr().clone().into_owned();
            return Err(AdvancedError::NoTimestamps { key });
        }
        if cache.is_some_and(|config| config.max_samples == 0) {
            let what = "max_samples";
            return Err(AdvancedError::Zero { what });
        }
        // The own key shows subscribers how the samples are distinguished.
        let is_numbered = self.miss_detection.is_some();
        let source = match is_numbered {
            true => Source::Numbered(id),
            false => Source::Stamped(id.zid),
        };
        let own = keys::publisher(publisher.key_expr(), source, meta.as_ref())?;
        // The ledger counts without a cache, too.
        let nothing = CacheConfig::default().max_samples(0);
        let ledger = Ledger::new(cache.unwrap_or(&nothing), publisher.encoding());
        let ledger = Arc::new(Mutex::new(ledger));
        let shelf = || CachedSamples::new(&publisher, is_numbered, &ledger, session.node());
        let archive = cache.map(|_| Archive::open(session, &own, shelf()));
        let heartbeats = match &self.miss_detection {
            Some(detection) => detection.start(session, &own, &ledger)?,
            None => None,
        };
        // With timestamps no put has only a payload.
        if stamps {
            publisher.has_more_than_payloads();
        }
        // Announced last, when the cache can answer.
        let token = self.is_detectable.then(|| {
            let token = session.liveliness().declare_token(&own);
            token.perform()
        });
        Ok(AdvancedPublisher {
            publisher,
            node,
            stamps,
            is_numbered,
            ledger,
            _archive: archive.transpose()?,
            _token: token.transpose()?,
            _heartbeats: heartbeats,
        })
    }
}

ready_at_once!(['b] AdvancedPublisherBuilder<'_, 'b, '_>);
