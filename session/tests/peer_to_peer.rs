// SPDX-License-Identifier: MIT OR Apache-2.0

//! Two sessions over loopback: publications arrive whole, in order, and only where a subscriber is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::pair::{LONG, alone, blocking, connected_to, matched, pair, until, until_matched};
use zonda::bytes::{Encoding, ZBytes};
use zonda::handlers::{FifoChannel, RingChannel};
use zonda::qos::{CongestionControl, Priority, Reliability};
use zonda::sample::{EntityGlobalId, SampleKind, SourceInfo};
use zonda::{Config, Wait};

#[test]
fn every_field_of_a_sample_crosses_the_wire() {
    let (a, b) = pair();
    let subscriber = b.declare_subscriber("demo/*/value").wait().unwrap();
    let publisher = a
        .declare_publisher("demo/1/value")
        .encoding(Encoding::APPLICATION_JSON)
        .priority(Priority::RealTime)
        .congestion_control(CongestionControl::Block)
        .express(true)
        .wait()
        .unwrap();
    until_matched(&publisher);

    let timestamp = a.new_timestamp();
    let source = SourceInfo {
        id: EntityGlobalId {
            zid: a.zid(),
            eid: 7,
        },
        sn: 9,
    };
    publisher
        .put("{}")
        .encoding(Encoding::TEXT_PLAIN.with_schema("utf-8"))
        .attachment("beside")
        .timestamp(timestamp)
        .source_info(source)
        .wait()
        .unwrap();
    publisher.put([1, 2, 3]).wait().unwrap();
    publisher.delete().attachment(b"gone").wait().unwrap();

    let sample = subscriber
        .recv_timeout(LONG)
        .unwrap()
        .expect("the put with everything");
    assert_eq!(sample.key_expr().as_str(), "demo/1/value");
    assert_eq!(sample.kind(), SampleKind::Put);
    assert_eq!(sample.payload(), &ZBytes::from("{}"));
    assert_eq!(sample.encoding().to_string(), "text/plain;utf-8");
    assert_eq!(sample.attachment(), Some(&ZBytes::from("beside")));
    assert_eq!(sample.timestamp(), Some(&timestamp));
    assert_eq!(sample.source_info(), Some(&source));
    assert_eq!(sample.priority(), Priority::RealTime);
    assert_eq!(sample.congestion_control(), CongestionControl::Block);
    assert_eq!(sample.reliability(), Reliability::Reliable);
    assert!(sample.express());

    let sample = subscriber
        .recv_timeout(LONG)
        .unwrap()
        .expect("the plain put");
    assert_eq!(sample.encoding(), &Encoding::APPLICATION_JSON);
    assert_eq!(sample.payload().to_bytes(), [1, 2, 3].as_slice());
    assert_eq!((sample.attachment(), sample.timestamp()), (None, None));

    let sample = subscriber
        .recv_timeout(LONG)
        .unwrap()
        .expect("the deletion");
    assert_eq!(sample.kind(), SampleKind::Delete);
    assert!(sample.payload().is_empty());
    assert_eq!(sample.attachment(), Some(&ZBytes::from("gone")));
}

#[test]
fn thousands_of_messages_arrive_in_order_under_block() {
    const COUNT: u32 = 10_000;
    let (a, b) = pair();
    let subscriber = b
        .declare_subscriber("demo/**")
        .with(FifoChannel::new(16))
        .wait()
        .unwrap();
    let publisher = a
        .declare_publisher("demo/count")
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until_matched(&publisher);
    let writer = std::thread::spawn(move || {
        for n in 0..COUNT {
            publisher.put(n.to_le_bytes()).timeout(LONG).wait().unwrap();
        }
        publisher
    });
    for n in 0..COUNT {
        let sample = subscriber
            .recv_timeout(LONG)
            .unwrap()
            .expect("one more message");
        assert_eq!(sample.payload().to_bytes(), n.to_le_bytes().as_slice());
    }
    assert_eq!(subscriber.dropped(), 0);
    writer.join().unwrap();
}

#[test]
fn payloads_of_any_size_arrive_whole() {
    let (a, b) = pair();
    let subscriber = b.declare_subscriber("size").wait().unwrap();
    let publisher = a
        .declare_publisher("size")
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until_matched(&publisher);
    for size in [0, 1, 1024, 1025, 65_000, 65_535, 65_536, 1 << 20, 5 << 20] {
        let payload: Vec<u8> = (0..size).map(|i| (i * 31 % 251) as u8).collect();
        publisher.put(&payload).timeout(LONG).wait().unwrap();
        let sample = subscriber.recv_timeout(LONG).unwrap().expect("the payload");
        assert!(
            sample.payload().to_bytes() == payload,
            "{size} bytes changed on the way"
        );
    }
}

#[test]
fn both_directions_and_undeclared_keys_work_between_client_and_peer() {
    let peer = alone();
    let client = connected_to(&peer, Config::client([] as [&str; 0]));
    let at_peer = peer.declare_subscriber("up/*").wait().unwrap();
    let at_client = client.declare_subscriber("down/*").wait().unwrap();
    let probe = peer.declare_publisher("down/x").wait().unwrap();
    until_matched(&probe);
    peer.put("down/1", "from the peer").wait().unwrap();
    client.put("up/1", "from the client").wait().unwrap();
    client.delete("up/2").wait().unwrap();
    let text = |s: &zonda::sample::Sample| s.payload().try_to_string().unwrap().into_owned();
    let sample = at_client
        .recv_timeout(LONG)
        .unwrap()
        .expect("a sample at the client");
    assert_eq!(
        (sample.key_expr().as_str(), text(&sample).as_str()),
        ("down/1", "from the peer")
    );
    let sample = at_peer
        .recv_timeout(LONG)
        .unwrap()
        .expect("a sample at the peer");
    assert_eq!(
        (sample.key_expr().as_str(), text(&sample).as_str()),
        ("up/1", "from the client")
    );
    let sample = at_peer
        .recv_timeout(LONG)
        .unwrap()
        .expect("a deletion at the peer");
    assert_eq!(
        (sample.key_expr().as_str(), sample.kind()),
        ("up/2", SampleKind::Delete)
    );
}

#[test]
fn only_what_matches_is_delivered_and_each_subscriber_gets_it_once() {
    let (a, b) = pair();
    let exact = b.declare_subscriber("a/b").wait().unwrap();
    let star = b.declare_subscriber("a/*").wait().unwrap();
    let other = b.declare_subscriber("x/**").wait().unwrap();
    let end = b.declare_subscriber("end").wait().unwrap();
    let last = a.declare_publisher("end").wait().unwrap();
    until_matched(&last);
    a.put("a/b", "1")
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    a.put("a/b/c", "2")
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    last.put("").wait().unwrap();
    end.recv_timeout(LONG).unwrap().expect("the last message");
    assert_eq!((exact.len(), star.len(), other.len()), (1, 1, 0));
}

#[test]
fn matching_follows_subscribers() {
    let (a, b) = pair();
    let publisher = a.declare_publisher("demo/key").wait().unwrap();
    assert!(!matched(&publisher));
    let subscriber = b.declare_subscriber("demo/*").wait().unwrap();
    until_matched(&publisher);
    subscriber.undeclare().wait().unwrap();
    until("nobody matches", || !matched(&publisher));
}

#[test]
fn callbacks_and_rings_are_served_over_the_wire() {
    let (a, b) = pair();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let called = b
        .declare_subscriber("demo")
        .callback(move |sample| {
            counter.fetch_add(sample.payload().len(), Ordering::Relaxed);
        })
        .wait()
        .unwrap();
    let latest = b
        .declare_subscriber("demo")
        .with(RingChannel::default())
        .wait()
        .unwrap();
    let publisher = blocking(&a);
    for n in 0..100u8 {
        publisher.put([n]).wait().unwrap();
    }
    until("every call was made", || {
        calls.load(Ordering::Relaxed) == 100
    });
    until("the ring saw all", || latest.dropped() == 99);
    assert_eq!(latest.recv().unwrap().payload().to_bytes(), [99].as_slice());
    assert_eq!(called.panics(), 0);
}

#[test]
fn a_subscriber_declared_before_the_link_exists_is_served_after() {
    let a = alone();
    let early = a.declare_subscriber("demo/**").wait().unwrap();
    let b = connected_to(&a, Config::peer().listen([] as [&str; 0]));
    let publisher = b.declare_publisher("demo/late").wait().unwrap();
    until_matched(&publisher);
    publisher.put("hello").wait().unwrap();
    assert!(early.recv_timeout(LONG).unwrap().is_some());
}

#[test]
fn a_third_peer_does_not_disturb_two_others() {
    let (a, b) = pair();
    let c = connected_to(&a, Config::peer().listen([] as [&str; 0]));
    let at_b = b.declare_subscriber("demo").wait().unwrap();
    let at_c = c.declare_subscriber("demo").wait().unwrap();
    let publisher = a.declare_publisher("demo").wait().unwrap();
    until("both subscribers are known", || {
        publisher.put("x").wait().unwrap();
        at_b.try_recv().unwrap().is_some() && at_c.try_recv().unwrap().is_some()
    });
    c.close().wait().unwrap();
    until("the third link is gone", || a.info().links().len() == 1);
    publisher.put("y").wait().unwrap();
    let mut last = None;
    until("the put after the close arrives", || {
        last = at_b.try_recv().unwrap().or(last.take());
        last.as_ref()
            .is_some_and(|s| s.payload() == &ZBytes::from("y"))
    });
}

type FifoSubscriber =
    zonda::pubsub::Subscriber<zonda::handlers::FifoChannelHandler<zonda::sample::Sample>>;

/// A router forwards between peers that are not linked to each other, unless that is switched off;
/// to clients always.
#[test]
fn a_router_between_two_peers() {
    for relays in ["true", "false"] {
        let router = Config::router().listen(["tcp/127.0.0.1:0"]);
        let router = router.with("routing/router/peers_failover_brokering", relays);
        let router = zonda::open(router).wait().unwrap();
        let peer = || Config::peer().listen([] as [&str; 0]);
        let [one, two] = [peer(), peer()].map(|config| connected_to(&router, config));
        let client = connected_to(&router, Config::client([] as [&str; 0]));
        let unlinked = two.declare_subscriber("between").wait().unwrap();
        let below = client.declare_subscriber("between").wait().unwrap();
        let publisher = one.declare_publisher("between").wait().unwrap();
        let gets = |subscriber: &FifoSubscriber| {
            publisher.put("x").wait().unwrap();
            let sample = subscriber.recv_timeout(std::time::Duration::from_millis(20));
            sample.unwrap().is_some()
        };
        until("a client gets it", || gets(&below));
        match relays {
            "true" => until("the other peer gets it", || gets(&unlinked)),
            _ => (0..10).for_each(|_| assert!(!gets(&unlinked), "it is kept apart")),
        }
    }
}
