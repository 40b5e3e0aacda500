// SPDX-License-Identifier: MIT OR Apache-2.0

//! Advanced subscribers, and the listeners to what they miss.

use zonda::ext::{
    AdvancedSubscriber, AdvancedSubscriberBuilder, AdvancedSubscriberBuilderExt, HistoryConfig,
    RecoveryConfig, SampleMissListener,
};
use zonda::handlers::Callback;
use zonda::sample::Sample;
use zonda::{Session, Wait};

use crate::closure::closure;
use crate::code::{Code, Failure, GENERIC, OrFail, Required, answer};
use crate::get::limit;
use crate::keys::{Key, OwnedKeyExpr};
use crate::liveliness::LivelinessSubscriberOptions;
use crate::place::{Loan, Out, fill, given, lent, mechanical, place, write};
use crate::query::ending;
use crate::subscriber::{self, OwnedClosureSample, OwnedSubscriber, SubscriberOptions};
use crate::values::EntityGlobalId;

place!(
    /// An advanced subscriber.
    OwnedAdvancedSubscriber = Box<Declared>, size 152, align 8
);

mechanical!(OwnedAdvancedSubscriber:
    null ze_internal_advanced_subscriber_null,
    check ze_internal_advanced_subscriber_check,
    loan ze_advanced_subscriber_loan,
);

place!(
    /// A listener to lost samples.
    OwnedSampleMissListener = Box<SampleMissListener<()>>, size 24, align 8
);

mechanical!(OwnedSampleMissListener:
    null ze_internal_sample_miss_listener_null,
    check ze_internal_sample_miss_listener_check,
);

/// An advanced subscriber, and its key in the form that C reads.
pub struct Declared {
    subscriber: AdvancedSubscriber<()>,
    key: OwnedKeyExpr,
}

/// Options of the query for earlier samples.
#[repr(C)]
pub struct HistoryOptions {
    is_enabled: bool,
    detect_late_publishers: bool,
    max_samples: usize,
    max_age_ms: u64,
}
const _: () = assert!(size_of::<HistoryOptions>() == 24);

impl HistoryOptions {
    const DEFAULT: HistoryOptions = HistoryOptions {
        is_enabled: true,
        detect_late_publishers: false,
        max_samples: 0,
        max_age_ms: 0,
    };

    fn config(&self) -> HistoryConfig {
        let mut config = HistoryConfig::default();
        if self.detect_late_publishers {
            config = config.detect_late_publishers();
        }
        if self.max_samples > 0 {
            config = config.max_samples(self.max_samples);
        }
        if self.max_age_ms > 0 {
            config = config.max_age(self.max_age_ms as f64 / 1000.0);
        }
        config
    }
}

/// Writes the options of a history without limits.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_subscriber_history_options_default(this: Out<'_, HistoryOptions>) {
    fill(this, HistoryOptions::DEFAULT);
}

/// Options of the detection that a publisher's last sample is lost.
#[repr(C)]
pub struct LastMissOptions {
    is_enabled: bool,
    /// The period of the queries, in milliseconds; 0 for heartbeats of the publishers instead.
    periodic_queries_period_ms: u64,
}
const _: () = assert!(size_of::<LastMissOptions>() == 16);

/// Writes the options of a detection by heartbeats.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_subscriber_last_sample_miss_detection_options_default(
    this: Out<'_, LastMissOptions>,
) {
    let defaults = LastMissOptions {
        is_enabled: true,
        periodic_queries_period_ms: 0,
    };
    fill(this, defaults);
}

/// Options of the query for lost samples.
#[repr(C)]
pub struct RecoveryOptions {
    is_enabled: bool,
    last_miss: LastMissOptions,
}
const _: () = assert!(size_of::<RecoveryOptions>() == 24);

impl RecoveryOptions {
    const DEFAULT: RecoveryOptions = RecoveryOptions {
        is_enabled: true,
        last_miss: LastMissOptions {
            is_enabled: false,
            periodic_queries_period_ms: 0,
        },
    };

    fn config(&self) -> RecoveryConfig {
        let last = &self.last_miss;
        match (last.is_enabled, limit(last.periodic_queries_period_ms)) {
            (false, _) => RecoveryConfig::default(),
            (true, None) => RecoveryConfig::default().heartbeat(),
            (true, Some(period)) => RecoveryConfig::default().periodic_queries(period),
        }
    }
}

/// Writes the options of a recovery that does not look for lost last samples.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_subscriber_recovery_options_default(this: Out<'_, RecoveryOptions>) {
    fill(this, RecoveryOptions::DEFAULT);
}

/// Options of [`ze_declare_advanced_subscriber`].
#[repr(C)]
pub struct AdvancedSubscriberOptions<'a> {
    subscriber: SubscriberOptions,
    history: HistoryOptions,
    recovery: RecoveryOptions,
    query_timeout_ms: u64,
    detection: bool,
    detection_metadata: Loan<'a, Key>,
}
const _: () = assert!(size_of::<AdvancedSubscriberOptions<'_>>() == 80);

/// Writes the defaults: none of the features.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_subscriber_options_default(
    this: Out<'_, AdvancedSubscriberOptions<'static>>,
) {
    let defaults = AdvancedSubscriberOptions {
        subscriber: SubscriberOptions::DEFAULT,
        history: HistoryOptions {
            is_enabled: false,
            ..HistoryOptions::DEFAULT
        },
        recovery: RecoveryOptions {
            is_enabled: false,
            ..RecoveryOptions::DEFAULT
        },
        query_timeout_ms: 0,
        detection: false,
        detection_metadata: None,
    };
    fill(this, defaults);
}

/// Declares an advanced subscriber: the closure is called with each sample.
#[unsafe(no_mangle)]
pub extern "C" fn ze_declare_advanced_subscriber(
    session: Loan<'_, Session>,
    subscriber: Out<'_, OwnedAdvancedSubscriber>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&AdvancedSubscriberOptions<'_>>,
) -> Code {
    answer(|| {
        let declare = || {
            let builder = builder(session, key, callback, options)?;
            let subscriber = builder.wait().or_fail(GENERIC)?;
            let key = Some(Key::from(subscriber.key_expr().as_str()));
            Ok(Box::new(Declared { subscriber, key }))
        };
        write(subscriber, declare())
    })
}

/// Declares an advanced subscriber that lives as long as the session.
#[unsafe(no_mangle)]
pub extern "C" fn ze_declare_background_advanced_subscriber(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&AdvancedSubscriberOptions<'_>>,
) -> Code {
    answer(|| {
        builder(session, key, callback, options)?
            .background()
            .wait()
            .or_fail(GENERIC)
    })
}

type Builder<'a> = AdvancedSubscriberBuilder<'a, 'static, 'static, Callback<Sample>>;

fn builder<'a>(
    session: Loan<'a, Session>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&AdvancedSubscriberOptions<'_>>,
) -> Result<Builder<'a>, Failure> {
    let callback = callback.required("callback")?.take();
    let key = lent(key).required("key_expr")?;
    let mut builder = lent(session)
        .required("session")?
        .declare_subscriber(key.owned())
        .callback(move |sample| callback.give(sample.into()))
        .advanced();
    if let Some(options) = options {
        builder = builder.allowed_origin(options.subscriber.origin());
        if options.history.is_enabled {
            builder = builder.history(options.history.config());
        }
        if options.recovery.is_enabled {
            builder = builder.recovery(options.recovery.config());
        }
        if options.detection {
            builder = builder.subscriber_detection();
        }
        let metadata = lent(options.detection_metadata).map(Key::owned);
        given!(builder: query_timeout = limit(options.query_timeout_ms),
            subscriber_detection_metadata = metadata);
    }
    Ok(builder)
}

/// Lends the key.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_subscriber_keyexpr(
    this: Loan<'_, Box<Declared>>,
) -> Option<&OwnedKeyExpr> {
    Some(&lent(this)?.key)
}

/// Returns the id of the subscriber.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_subscriber_id(this: Loan<'_, Box<Declared>>) -> EntityGlobalId {
    lent(this).map_or_else(EntityGlobalId::default, |declared| {
        declared.subscriber.id().into()
    })
}

fn advanced(this: Loan<'_, Box<Declared>>) -> Result<&AdvancedSubscriber<()>, Failure> {
    Ok(&lent(this).required("subscriber")?.subscriber)
}

ending!(OwnedAdvancedSubscriber: drop ze_advanced_subscriber_drop, undeclare ze_undeclare_advanced_subscriber,
    |declared| declared.subscriber.undeclare());

/// A number of samples of one publisher that are lost.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Miss {
    source: EntityGlobalId,
    nb: u32,
}
const _: () = assert!(size_of::<Miss>() == 24);

impl From<zonda::ext::Miss> for Miss {
    fn from(miss: zonda::ext::Miss) -> Miss {
        Miss {
            source: miss.source().into(),
            nb: miss.nb(),
        }
    }
}

closure!(OwnedClosureMiss of Miss:
    new ze_closure_miss,
    null ze_internal_closure_miss_null,
    check ze_internal_closure_miss_check,
    drop ze_closure_miss_drop,
    call ze_closure_miss_call,
    loan ze_closure_miss_loan
);

/// Declares a listener to lost samples: the closure is called with each loss.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_subscriber_declare_sample_miss_listener(
    subscriber: Loan<'_, Box<Declared>>,
    listener: Out<'_, OwnedSampleMissListener>,
    callback: Option<&mut OwnedClosureMiss>,
) -> Code {
    answer(|| {
        let declare = || {
            let callback = callback.required("callback")?.take();
            let listener = advanced(subscriber)?
                .sample_miss_listener()
                .callback(move |miss| callback.call(&mut Miss::from(miss)));
            Ok(Box::new(listener.wait().or_fail(GENERIC)?))
        };
        write(listener, declare())
    })
}

/// Declares a listener to lost samples that lives as long as the subscriber.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_subscriber_declare_background_sample_miss_listener(
    subscriber: Loan<'_, Box<Declared>>,
    callback: Option<&mut OwnedClosureMiss>,
) -> Code {
    answer(|| {
        let callback = callback.required("callback")?.take();
        let listener = advanced(subscriber)?
            .sample_miss_listener()
            .callback(move |miss| callback.call(&mut Miss::from(miss)));
        listener.background().wait().or_fail(GENERIC)
    })
}

ending!(OwnedSampleMissListener: drop ze_sample_miss_listener_drop, undeclare ze_undeclare_sample_miss_listener,
    |listener| listener.undeclare());

/// Declares a subscriber to the coming and going of publishers that announce themselves.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_subscriber_detect_publishers(
    subscriber: Loan<'_, Box<Declared>>,
    detecting: Out<'_, OwnedSubscriber>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&LivelinessSubscriberOptions>,
) -> Code {
    answer(|| {
        let detected = detect(subscriber, callback, options);
        write(detecting, detected.map(Box::new))
    })
}

/// Declares a subscriber to publishers that lives as long as the session.
#[unsafe(no_mangle)]
pub extern "C" fn ze_advanced_subscriber_detect_publishers_background(
    subscriber: Loan<'_, Box<Declared>>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&LivelinessSubscriberOptions>,
) -> Code {
    answer(|| {
        detect(subscriber, callback, options)?.set_background();
        Ok(())
    })
}

fn detect(
    subscriber: Loan<'_, Box<Declared>>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&LivelinessSubscriberOptions>,
) -> Result<subscriber::Declared, Failure> {
    let callback = callback.required("callback")?.take();
    let detecting = advanced(subscriber)?
        .detect_publishers()
        .history(options.is_some_and(|options| options.history))
        .callback(move |sample| callback.give(sample.into()))
        .wait()
        .or_fail(GENERIC)?;
    Ok(subscriber::Declared::new(detecting))
}
