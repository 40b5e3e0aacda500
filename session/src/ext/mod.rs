// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counterpart of the reference's crate `zenoh-ext`: payloads that every implementation reads
//! alike, and publishers and subscribers without gaps. With feature `ext`.
//!
//! # Serialization
//! [`z_serialize`] makes bytes of a value, [`z_deserialize`] reads them; a type of your own implements [`Serialize`] and
//! [`Deserialize`].
//!
//! # Publishers and subscribers that miss nothing
//! An [`AdvancedPublisher`] keeps its newest samples ([`CacheConfig`]), numbers them
//! ([`MissDetectionConfig`]) and announces itself by a liveliness token. An [`AdvancedSubscriber`]
//! queries such publishers for samples from before its declaration ([`HistoryConfig`]) and for lost
//! samples ([`RecoveryConfig`]); it reports samples that cannot be recovered to its [miss
//! listeners](AdvancedSubscriber::sample_miss_listener). `docs/concepts/ext.md` explains each part and its
//! limits.
//!
//! # Deprecated parts
//! Feature `legacy` adds what the reference has deprecated in favour of these: a cache for the
//! publishers of a session, and subscribers that fetch earlier samples.

mod answering;
mod archive;
mod cache;
mod cache_config;
mod error;
mod forward;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzed;
mod heartbeat;
mod history;
mod intake;
mod keys;
mod ledger;
#[cfg(feature = "legacy")]
mod legacy;
mod listeners;
mod miss;
mod publication;
mod publisher;
mod publisher_builder;
mod serialization;
mod share;
mod sources;
mod subscriber;
mod subscriber_builder;
mod ticker;

/// The programs in the document compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/concepts/ext.md")]
struct Document;

pub use cache_config::{CacheConfig, RepliesConfig};
pub use error::AdvancedError;
pub use forward::SubscriberForward;
pub use heartbeat::MissDetectionConfig;
pub use history::{HistoryConfig, RecoveryConfig};
#[cfg(feature = "legacy")]
pub use legacy::{
    BackgroundFetchingSubscriberBuilder, BackgroundPublicationCacheBuilder,
    BackgroundQueryingSubscriberBuilder, ExtractSample, FetchBuilder, FetchError,
    FetchingSubscriber, FetchingSubscriberBuilder, KeySpace, LivelinessSpace, PublicationCache,
    PublicationCacheBuilder, QueryingSubscriberBuilder, SessionExt, SubscriberBuilderExt,
    UserSpace,
};
pub use listeners::{
    BackgroundPublisherDetectionBuilder, BackgroundSampleMissListenerBuilder,
    PublisherDetectionBuilder, SampleMissListener, SampleMissListenerBuilder,
};
pub use miss::Miss;
pub use publication::{
    AdvancedPublicationBuilder, AdvancedPublisherDeleteBuilder, AdvancedPublisherPutBuilder,
};
pub use publisher::AdvancedPublisher;
pub use publisher_builder::{AdvancedPublisherBuilder, AdvancedPublisherBuilderExt};
pub use serialization::{
    Deserialize, Serialize, VarInt, ZDeserializeError, ZDeserializer, ZReadIter, ZSerializer,
    z_deserialize, z_serialize,
};
pub use subscriber::AdvancedSubscriber;
pub use subscriber_builder::{
    AdvancedSubscriberBuilder, AdvancedSubscriberBuilderExt, BackgroundAdvancedSubscriberBuilder,
};
