// SPDX-License-Identifier: MIT OR Apache-2.0

//! Advanced publishers.

use std::ffi::c_int;
use std::time::Duration;

use bytes::Bytes;
use zonda::bytes::ZBytes;
use zonda::ext::{
    AdvancedPublisher, AdvancedPublisherBuilderExt, CacheConfig, MissDetectionConfig, RepliesConfig,
};
use zonda::{Session, Wait};

use crate::bytes::payload_of;
use crate::code::{Code, Failure, GENERIC, OrFail, Required, answer};
use crate::keys::{Key, OwnedKeyExpr};
use crate::matching::matched;
use crate::place::{Loan, Moved, Out, fill, given, lent, mechanical, place, write};
use crate::publisher::{
    Given, PublisherDeleteOptions, PublisherOptions, PublisherPutOptions, builder,
};
use crate::qos::{self, DROP, PRIORITY_DATA};
use crate::query::ending;
use crate::values::EntityGlobalId;

place!(
    /// An advanced publisher.
    OwnedAdvancedPublisher = Box<Declared>, size 200, align 8
);

mechanical!(OwnedAdvancedPublisher:
    null ze_internal_advanced_publisher_null,
    check ze_internal_advanced_publisher_check,
    loan ze_advanced_publisher_loan,
    loan_mut ze_advanced_publisher_loan_mut,
);

/// An advanced publisher, and its key in the form that C reads.
pub struct Declared {
    publisher: AdvancedPublisher<'static>,
    key: OwnedKeyExpr,
}

/// Options of the cache of a publisher.
#[repr(C)]
pub struct CacheOptions {
    is_enabled: bool,
    max_samples: usize,
    congestion_control: c_int,
    priority: c_int,
    express: bool,
}
const _: () = assert!(size_of::<CacheOptions>() == 32);

impl CacheOptions {
    const DEFAULT: CacheOptions = CacheOptions {
        is_enabled: true,
        max_samples: 1,
        congestion_control: DROP,
        priority: PRIORITY_DATA,
        express: false,
    };

    fn config(&self) -> CacheConfig {
        let replies = RepliesConfig::default()
            .congestion_control(qos::congestion_control(self.congestion_control))
            .priority(qos::priority(self.priority))
            .express(self.express);
        CacheConfig::default()
            .max_samples(self.max_samples)
            .replies_config(replies)
    }
}

/// Writes the options of a cache of one sample.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_publisher_cache_options_default(this: Out<'_, CacheOptions>) {
    fill(this, CacheOptions::DEFAULT);
}

/// Options of the numbers by which subscribers see that samples are lost.
#[repr(C)]
pub struct MissDetectionOptions {
    is_enabled: bool,
    heartbeat_mode: c_int,
    heartbeat_period_ms: u64,
}
const _: () = assert!(size_of::<MissDetectionOptions>() == 16);

impl MissDetectionOptions {
    const DEFAULT: MissDetectionOptions = MissDetectionOptions {
        is_enabled: true,
        heartbeat_mode: 0,
        heartbeat_period_ms: 0,
    };

    fn config(&self) -> MissDetectionConfig {
        let (config, period) = (
            MissDetectionConfig::default(),
            Duration::from_millis(self.heartbeat_period_ms),
        );
        match self.heartbeat_mode {
            2 => config.sporadic_heartbeat(period),
            1 => config.heartbeat(period),
            _ if self.heartbeat_period_ms > 0 => config.heartbeat(period),
            _ => config,
        }
    }
}

/// Writes the options of numbers without heartbeats.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_publisher_sample_miss_detection_options_default(
    this: Out<'_, MissDetectionOptions>,
) {
    fill(this, MissDetectionOptions::DEFAULT);
}

/// Options of [`ze_declare_advanced_publisher`].
#[repr(C)]
pub struct AdvancedPublisherOptions<'a> {
    publisher: PublisherOptions<'a>,
    cache: CacheOptions,
    miss_detection: MissDetectionOptions,
    detection: bool,
    detection_metadata: Loan<'a, Key>,
}
const _: () = assert!(size_of::<AdvancedPublisherOptions<'_>>() == 96);

/// Writes the defaults: none of the features.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_publisher_options_default(
    this: Out<'_, AdvancedPublisherOptions<'static>>,
) {
    let defaults = AdvancedPublisherOptions {
        publisher: PublisherOptions::DEFAULT,
        cache: CacheOptions {
            is_enabled: false,
            ..CacheOptions::DEFAULT
        },
        miss_detection: MissDetectionOptions {
            is_enabled: false,
            ..MissDetectionOptions::DEFAULT
        },
        detection: false,
        detection_metadata: None,
    };
    fill(this, defaults);
}

/// Declares an advanced publisher.
#[unsafe(no_mangle)]
pub extern "C" fn ze_declare_advanced_publisher(
    session: Loan<'_, Session>,
    publisher: Out<'_, OwnedAdvancedPublisher>,
    key: Loan<'_, Key>,
    options: Option<&mut AdvancedPublisherOptions<'_>>,
) -> Code {
    answer(|| write(publisher, declare(session, key, options).map(Box::new)))
}

fn declare(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    mut options: Option<&mut AdvancedPublisherOptions<'_>>,
) -> Result<Declared, Failure> {
    let plain = options.as_mut().map(|options| &mut options.publisher);
    let mut advanced = builder(session, key, plain)?.advanced();
    if let Some(options) = options {
        if options.cache.is_enabled {
            advanced = advanced.cache(options.cache.config());
        }
        if options.miss_detection.is_enabled {
            advanced = advanced.sample_miss_detection(options.miss_detection.config());
        }
        if options.detection {
            advanced = advanced.publisher_detection();
        }
        let metadata = lent(options.detection_metadata).map(Key::owned);
        given!(advanced: publisher_detection_metadata = metadata);
    }
    let publisher = advanced.wait().or_fail(GENERIC)?;
    let key = Some(Key::from(publisher.key_expr().as_str()));
    Ok(Declared { publisher, key })
}

/// Options of [`ze_advanced_publisher_put`]; the source is the publisher itself.
#[repr(C)]
pub struct AdvancedPutOptions<'a> {
    put: PublisherPutOptions<'a>,
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_publisher_put_options_default(
    this: Out<'_, AdvancedPutOptions<'static>>,
) {
    let put = PublisherPutOptions::DEFAULT;
    fill(this, AdvancedPutOptions { put });
}

/// Publishes a value.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_publisher_put(
    this: Loan<'_, Box<Declared>>,
    payload: Moved<'_, Bytes>,
    options: Option<&mut AdvancedPutOptions<'_>>,
) -> Code {
    answer(|| {
        let payload = payload.map(payload_of);
        let given = options
            .map(|options| options.put.take())
            .unwrap_or_default();
        let publisher = publisher(this)?;
        let mut put = publisher.put(ZBytes::from(payload.required("payload")?));
        let Given {
            encoding,
            attachment,
            timestamp,
            ..
        } = given;
        given!(put: encoding = encoding, attachment = attachment, timestamp = timestamp);
        put.wait().or_fail(GENERIC)
    })
}

/// Options of [`ze_advanced_publisher_delete`].
#[repr(C)]
#[derive(Default)]
pub struct AdvancedDeleteOptions<'a> {
    delete: PublisherDeleteOptions<'a>,
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_publisher_delete_options_default(
    this: Out<'_, AdvancedDeleteOptions<'static>>,
) {
    fill(this, AdvancedDeleteOptions::default());
}

/// Publishes that the key has no value any more.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_publisher_delete(
    this: Loan<'_, Box<Declared>>,
    options: Option<&mut AdvancedDeleteOptions<'_>>,
) -> Code {
    answer(|| {
        let mut delete = publisher(this)?.delete();
        given!(delete: timestamp = options.and_then(|options| options.delete.timestamp()));
        delete.wait().or_fail(GENERIC)
    })
}

/// Lends the key.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_publisher_keyexpr(
    this: Loan<'_, Box<Declared>>,
) -> Option<&OwnedKeyExpr> {
    Some(&lent(this)?.key)
}

/// Returns the id of the publisher.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_publisher_id(this: Loan<'_, Box<Declared>>) -> EntityGlobalId {
    lent(this).map_or_else(EntityGlobalId::default, |declared| {
        declared.publisher.id().into()
    })
}

fn publisher(this: Loan<'_, Box<Declared>>) -> Result<&AdvancedPublisher<'static>, Failure> {
    Ok(&lent(this).required("publisher")?.publisher)
}

matched!(Box<Declared>: publisher,
    status ze_advanced_publisher_get_matching_status,
    listener ze_advanced_publisher_declare_matching_listener,
    background ze_advanced_publisher_declare_background_matching_listener);

ending!(OwnedAdvancedPublisher: drop ze_advanced_publisher_drop, undeclare ze_undeclare_advanced_publisher,
    |declared| declared.publisher.undeclare());
