// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties that hold in every scene, for any publisher and any subscriber.

use zonda::qos::{CongestionControl, Priority, Reliability};

use crate::message::{Message, Pattern, Receipt, Seen, Service, hex};
use crate::party::Party;
use crate::scene::Scene;
pub use crate::scene::play;
use crate::wait::until;

/// Payload, kind, encoding, attachment, timestamp and source of publications of a declared publisher.
pub fn every_field_arrives(scene: &Scene) {
    let subscription = scene.to.subscribe("interop/fields");
    let publisher = scene.from.matched_publisher("interop/fields");
    for message in messages() {
        let receipt = publisher.publish(&message);
        let seen = subscription.next();
        assert_eq!(seen.key, "interop/fields");
        scene.check(&seen, &message, &receipt);
        assert_eq!(
            (seen.priority, seen.express, seen.block),
            (5, false, true),
            "{seen:?}"
        );
    }
    assert!(subscription.try_next().is_none(), "something came twice");
}

/// Returns one message for each field, one with all of them; puts and deletes.
fn messages() -> Vec<Message> {
    // messages with one field set each
    let put = || Message::put(Pattern::short(7));
    let encoded = |encoding| Message {
        encoding: Some(encoding),
        ..put()
    };
    // messages with all fields set
    let full = |delete| Message {
        delete,
        pattern: if delete {
            Pattern::default()
        } else {
            Pattern { len: 300, seed: 9 }
        },
        encoding: (!delete).then_some("application/cbor;v=2"),
        attachment: Some(b"beside the payload"),
        stamp_shift: Some(-3.0),
        source_sn: Some(u32::MAX),
    };
    vec![
        put(),
        Message::put(Pattern::default()),
        Message::delete(),
        encoded("text/plain"),
        encoded("text/plain;utf-8"),
        encoded("zenoh/bytes;a schema"),
        encoded("video/vp9"),
        encoded("my/own"),
        encoded("my/own;v1"),
        Message {
            attachment: Some(&[0, 255, 1]),
            ..put()
        },
        Message {
            attachment: Some(&[]),
            ..put()
        },
        Message {
            attachment: Some(&[7; 3000]),
            ..Message::delete()
        },
        Message {
            stamp_shift: Some(-3600.0),
            ..put()
        },
        Message {
            stamp_shift: Some(0.2),
            ..put()
        },
        Message {
            source_sn: Some(42),
            ..put()
        },
        Message {
            source_sn: Some(0),
            ..Message::delete()
        },
        full(false),
        full(true),
        put(),
    ]
}

impl Scene {
    /// Compares a sample with the published message.
    fn check(&self, seen: &Seen, message: &Message, receipt: &Receipt) {
        let context = format!("{seen:?} of {message:?}");
        assert_eq!(seen.delete, message.delete, "{context}");
        assert!(seen.carries(message.pattern), "{context}");
        assert_eq!(
            seen.encoding,
            message.encoding.unwrap_or("zenoh/bytes"),
            "{context}"
        );
        assert_eq!(seen.attachment, message.attachment.map(hex), "{context}");
        let source = message
            .source_sn
            .map(|sn| format!("{}:{sn}", receipt.source));
        assert_eq!(seen.source, source, "{context}");
        match (&self.router, message.stamp_shift) {
            // a router stamps puts without a timestamp, and keeps valid timestamps
            (Some(router), None) if !message.delete => {
                assert_eq!(seen.stamped_by(), Some(router.zid.as_str()), "{context}");
            }
            _ => assert_eq!(seen.timestamp, receipt.timestamp, "{context}"),
        }
    }
}

/// Priorities, express, congestion control and reliability, of publishers and of puts without one.
pub fn every_service_arrives(scene: &Scene) {
    let subscription = scene.to.subscribe("interop/service/**");
    drop(scene.from.matched_publisher("interop/service"));
    let message = Message::put(Pattern::short(1));
    for (index, service) in services().into_iter().enumerate() {
        let check = |seen: Seen, key: &str| {
            assert_eq!(seen.key, key);
            assert!(seen.carries(message.pattern), "{seen:?}");
            let block = service.congestion == CongestionControl::Block;
            let expected = (service.priority as u8, service.express, block);
            assert_eq!(
                (seen.priority, seen.express, seen.block),
                expected,
                "{seen:?}"
            );
            if let Some(reliability) = seen.reliability {
                assert_eq!(reliability, service.reliability, "{service:?} {seen:?}");
            }
        };
        let key = format!("interop/service/{index}");
        // the reference's sessions put reliably only
        if service.reliability == Reliability::Reliable || matches!(scene.from, Party::Ours(_)) {
            scene.from.publish(&key, service, &message);
            check(subscription.next(), &key);
        }
        let publisher = scene.from.publisher(&key, service);
        until("the publisher is matched", || publisher.is_matched());
        publisher.publish(&message);
        check(subscription.next(), &key);
    }
}

fn services() -> Vec<Service> {
    let of = |priority| Service {
        priority,
        ..Service::BLOCK
    };
    // all priorities, then the other options one by one and together
    let mut services: Vec<Service> = Priority::ALL.into_iter().skip(1).map(of).collect();
    services.extend([
        Service {
            congestion: CongestionControl::Drop,
            ..Service::BLOCK
        },
        Service {
            express: true,
            ..Service::BLOCK
        },
        Service {
            priority: Priority::RealTime,
            congestion: CongestionControl::Drop,
            express: true,
            reliability: Reliability::BestEffort,
        },
        Service {
            reliability: Reliability::BestEffort,
            ..Service::BLOCK
        },
    ]);
    services
}

/// Subscribers' patterns, and the keys that each must get.
const PATTERNS: &[(&str, &[&str])] = &[
    ("w/a", &["w/a"]),
    ("w/*", &["w/a", "w/ab", "w/b"]),
    ("w/**", &["w/a", "w/ab", "w/b", "w/a/x", "w/a/y/z", "w"]),
    ("w/a$*", &["w/a", "w/ab"]),
    ("w/$*b", &["w/ab", "w/b"]),
    ("w/*/x", &["w/a/x"]),
    ("w/**/z", &["w/a/y/z"]),
    ("w/a/**", &["w/a", "w/a/x", "w/a/y/z"]),
    ("w/@v/*", &["w/@v/k"]),
    ("w/@v/**", &["w/@v", "w/@v/k"]),
    ("w/*/k", &[]),
    ("*/a", &["w/a"]),
    ("**/@v/k", &["w/@v/k"]),
    ("other/**", &[]),
];

const KEYS: &[&str] = &[
    "w/a", "w/ab", "w/b", "w/a/x", "w/a/y/z", "w", "w/@v", "w/@v/k", "x/a/y",
];

/// `*`, `**`, `$*` and verbatim chunks, in subscribers' keys and in publishers'.
pub fn wildcards_match_alike(scene: &Scene) {
    let subscribed: Vec<_> = PATTERNS
        .iter()
        .map(|(pattern, _)| scene.to.subscribe(pattern))
        .collect();
    let last = scene.to.subscribe("end");
    let end = scene.from.matched_publisher("end");
    for key in KEYS {
        scene
            .from
            .publish(key, Service::BLOCK, &Message::put(Pattern::short(1)));
    }
    // a publication on many keys at once reaches subscribers of any one of them
    scene
        .from
        .publish("w/*/y/**", Service::BLOCK, &Message::delete());
    end.publish(&Message::delete());
    last.next();
    for ((pattern, keys), subscription) in PATTERNS.iter().zip(&subscribed) {
        let mut seen: Vec<String> = std::iter::from_fn(|| subscription.try_next())
            .map(|s| s.key)
            .collect();
        let many = "w/*/y/**";
        let mut expected: Vec<&str> = keys.to_vec();
        if ["w/**", "w/**/z", "w/a/**"].contains(pattern) {
            expected.push(many);
        }
        seen.sort_unstable();
        expected.sort_unstable();
        assert_eq!(seen, expected, "subscriber of {pattern}");
    }
}

/// Payload sizes, from nothing to far more than a batch and the sockets' buffers.
const SIZES: &[usize] = &[0, 1, 8, 1024, 65_000, 65_535, 65_536, 1 << 20, 20 << 20];

/// Payloads of all sizes arrive whole, from publishers and from puts without one.
pub fn payloads_of_all_sizes_arrive_whole(scene: &Scene) {
    let subscription = scene.to.subscribe("interop/size");
    let publisher = scene.from.matched_publisher("interop/size");
    for (seed, &len) in SIZES.iter().enumerate() {
        let message = Message::put(Pattern {
            len,
            seed: seed as u64,
        });
        publisher.publish(&message);
        let seen = subscription.next();
        assert!(seen.carries(message.pattern), "{len} bytes became {seen:?}");
    }
    let message = Message::put(Pattern {
        len: 200_000,
        seed: 1,
    });
    scene.from.publish("interop/size", Service::BLOCK, &message);
    assert!(subscription.next().carries(message.pattern));
    assert!(subscription.try_next().is_none(), "something came twice");
}

/// Ten thousand messages under congestion control `Block`: all of them, in order, each once.
pub fn ten_thousand_arrive_in_order(scene: &Scene) {
    const MANY: u64 = 10_000;
    let counting = scene.to.count("interop/order");
    let publisher = scene.from.matched_publisher("interop/order");
    publisher.publish_numbered(MANY, 8).done();
    counting.reaches(MANY);
}

/// Publishers learn of subscribers that come and go; late ones get what is published from then on; gone ones nothing.
pub fn subscribers_come_and_go(scene: &Scene) {
    let end = scene.to.subscribe("end");
    let marker = scene.from.matched_publisher("end");
    let publisher = scene.from.publisher("interop/late/x", Service::BLOCK);
    assert!(!publisher.is_matched());
    publisher.publish(&Message::put(Pattern::short(1)));
    // all earlier messages have been handled too
    marker.publish(&Message::delete());
    end.next();

    let first = scene.to.subscribe("interop/late/*");
    until("the late subscriber is known", || publisher.is_matched());
    let second = scene.to.subscribe("interop/**");
    drop(scene.from.matched_publisher("interop/second"));
    publisher.publish(&Message::put(Pattern::short(2)));
    assert!(
        first.next().carries(Pattern::short(2)),
        "nothing from before it came"
    );
    assert!(second.next().carries(Pattern::short(2)));

    first.undeclare();
    publisher.publish(&Message::put(Pattern::short(3)));
    assert!(second.next().carries(Pattern::short(3)), "one is left");
    assert!(publisher.is_matched());
    second.undeclare();
    until("nobody is left", || !publisher.is_matched());

    let third = scene.to.subscribe("interop/other");
    publisher.publish(&Message::put(Pattern::short(4)));
    scene.from.publish(
        "interop/late/x",
        Service::BLOCK,
        &Message::put(Pattern::short(5)),
    );
    marker.publish(&Message::put(Pattern::short(6)));
    end.next();
    assert!(third.try_next().is_none(), "it has another key");

    let again = scene.to.subscribe("interop/late/x");
    until("a new one is known", || publisher.is_matched());
    publisher.publish(&Message::put(Pattern::short(7)));
    assert!(again.next().carries(Pattern::short(7)));
    assert!(again.try_next().is_none());
}
