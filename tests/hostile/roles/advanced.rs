// SPDX-License-Identifier: MIT OR Apache-2.0
//! An advanced publisher, and an advanced subscriber that queries missed samples.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use zonda::ext::{
    AdvancedPublisherBuilderExt, AdvancedSubscriberBuilderExt, CacheConfig, HistoryConfig,
    MissDetectionConfig, RecoveryConfig,
};
use zonda::qos::CongestionControl;
use zonda::{Session, Wait};

use super::honest::lock;
use super::ledger::{GREETING, Ledger, number_of, payload};
use crate::world::{ADVANCED, Flow};

/// Samples a second.
const RATE: u32 = 100;

/// Bytes of each.
const SIZE: usize = 64;

/// Bytes that the cache may hold. A neighbour's queries return half of it each second: with the
/// default of 64 MiB an unoptimised build would do nothing else.
const CACHE_BYTES: usize = 1 << 20;

/// Time between two heartbeats.
const BEAT: Duration = Duration::from_millis(500);

/// Samples of the publisher at the subscriber.
pub struct Line {
    pub ledger: Mutex<Ledger>,
    pub published: AtomicU64,
    _subscribing: Session,
}

impl Line {
    /// Declares a subscriber, before anything is published.
    pub fn open(subscribing: Session) -> Arc<Line> {
        let line = Arc::new(Line {
            ledger: Mutex::new(Ledger::of(&Flow::block(SIZE, RATE))),
            published: AtomicU64::new(0),
            _subscribing: subscribing.clone(),
        });
        let noted = Arc::clone(&line);
        let subscriber = subscribing
            .declare_subscriber(ADVANCED)
            .history(HistoryConfig::default().detect_late_publishers())
            .recovery(RecoveryConfig::default().heartbeat())
            .callback(move |sample| {
                // Any client may publish on the key: samples of attackers have no number.
                if let Some(number) = number_of(sample.payload().as_slice(), SIZE) {
                    lock(&noted.ledger).note(number, Instant::now());
                }
            });
        subscriber.background().wait().expect("open");
        line
    }

    /// Publishes until `is_over`; publishes greetings until `has_begun`.
    pub fn publish(
        &self,
        source: &Session,
        has_begun: impl Fn() -> bool,
        is_over: impl Fn() -> bool,
    ) {
        // An advanced publisher with every option.
        let cache = CacheConfig::default()
            .max_samples(RATE as usize)
            .max_bytes(CACHE_BYTES);
        let publisher = source
            .declare_publisher(ADVANCED)
            .congestion_control(CongestionControl::Block)
            .cache(cache)
            .sample_miss_detection(MissDetectionConfig::default().heartbeat(BEAT))
            .publisher_detection()
            .wait()
            .expect("open");
        // Greetings until every subscriber is known.
        while !has_begun() && !is_over() {
            publisher.put(payload(GREETING, SIZE)).wait().expect("open");
            std::thread::sleep(Duration::from_millis(20));
        }
        // Numbered messages at the rate.
        for number in 0.. {
            if is_over() || publisher.put(payload(number, SIZE)).wait().is_err() {
                break;
            }
            self.published.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_secs(1) / RATE);
        }
    }
}
