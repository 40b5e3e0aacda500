// SPDX-License-Identifier: MIT OR Apache-2.0
//! A bridge ends in time, whatever its source and its broker do, and reports the outcome of every
//! message that it accepted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zonda::Wait;
use zonda::qos::CongestionControl;
use zonda_kafka::bridge::{Bridge, BridgeEnding};
use zonda_kafka::producer::Record;

use super::bridged::{World, next, text};
use super::world::{Broker, LIMIT, until};

const RULE: &str = "{ from: { key: 'source' }, to: { topic: 'sink' } }";

/// Ends a bridge, and fails if it does not end.
fn ended(bridge: Bridge, limit: Duration) -> BridgeEnding {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || send.send(bridge.end(limit)));
    receive.recv_timeout(LIMIT).expect("an end")
}

/// Returns a counter of the metrics.
fn total(metrics: &str, name: &str) -> u64 {
    let prefix = format!("zonda_kafka_bridge_{name}_total ");
    let mut lines = metrics.lines().filter_map(|l| l.strip_prefix(&prefix));
    lines.next().expect(name).parse().expect("a number")
}

#[test]
fn a_source_that_goes_on_does_not_keep_the_bridge_from_ending() {
    let few = "'queue.buffering.max.messages': 50";
    let world = World::new(Broker::with_topics(&["sink"]), RULE, few);
    let cluster = &world.broker.cluster;
    let slow = cluster.broker_round_trip_time(1, Duration::from_millis(20));
    slow.expect("a broker that takes its time");
    world.put("source", "first");
    let (node, goes_on) = (world.node.clone(), Arc::new(AtomicBool::new(true)));
    let source = {
        let goes_on = Arc::clone(&goes_on);
        std::thread::spawn(move || {
            while goes_on.load(Ordering::Relaxed) {
                let put = node.put("source", "more");
                let put = put.congestion_control(CongestionControl::Block);
                let _ = put.timeout(LIMIT).wait();
            }
        })
    };
    let counts = world.bridge.counts();
    until("the source waits for the broker", || {
        counts.waits.load(Ordering::Relaxed) > 10
    });
    let ending = ended(world.bridge, LIMIT);
    goes_on.store(false, Ordering::Relaxed);
    source.join().expect("a source");
    assert_eq!((ending.lost, ending.cut_off), (0, 0));
    let metrics = ending.metrics;
    assert_eq!(
        total(&metrics, "samples"),
        total(&metrics, "delivered"),
        "{metrics}"
    );
}

/// Ten messages wait in the producer's queue, and the other ones in the queue of the rule. All of
/// them become dead letters.
#[test]
fn what_waits_for_a_broker_that_is_away_is_a_dead_letter_at_the_end() {
    const SAMPLES: u64 = 100;
    let few = "'queue.buffering.max.messages': 10";
    let world = World::new(Broker::with_topics(&["sink"]), RULE, few);
    let dead = world.subscribe("zonda-kafka/dead");
    let cluster = &world.broker.cluster;
    cluster.broker_down(1).expect("a broker that goes");
    world.put("source", "0");
    for number in 1..SAMPLES {
        let put = world.node.put("source", number.to_string());
        let put = put.congestion_control(CongestionControl::Block);
        put.wait().expect("room in the queue of the rule");
    }
    world.ask();
    let ending = ended(world.bridge, Duration::from_millis(200));
    assert_eq!((ending.lost, ending.cut_off), (0, SAMPLES), "{ending:?}");
    let mut letters: Vec<u64> = (0..SAMPLES)
        .map(|_| text(&next(&dead)).parse().expect("a number"))
        .collect();
    letters.sort_unstable();
    assert!(letters.into_iter().eq(0..SAMPLES), "each once");
    for (name, count) in [
        ("samples", SAMPLES),
        ("unsent", SAMPLES - 10),
        ("dead_letters", SAMPLES),
        ("dead_letters_dropped", 0),
    ] {
        assert_eq!(total(&ending.metrics, name), count, "{name}");
    }
}

#[test]
fn a_bridge_that_reads_topics_ends_while_the_broker_is_away() {
    let rule = "{ from: { topic: 'commands' }, to: { key: 'command' } }";
    let world = World::new(Broker::with_topics(&["commands"]), rule, "");
    let subscriber = world.subscribe("command");
    let command = |payload| Record {
        topic: "commands",
        payload: Some(payload),
        ..Record::default()
    };
    world.write(command(b"go"));
    assert_eq!(text(&next(&subscriber)), "go");
    let cluster = &world.broker.cluster;
    cluster.broker_down(1).expect("a broker that goes");
    let ending = ended(world.bridge, Duration::from_millis(200));
    assert_eq!((ending.lost, ending.cut_off), (0, 0));
}
