// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events in a bridge's life: topics that are created later, restarts; and the counts of messages
//! by rule.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use zonda::handlers::FifoChannelHandler;
use zonda::pubsub::Subscriber;
use zonda::sample::Sample;
use zonda_kafka::bridge::Bridge;
use zonda_kafka::producer::Record;

use super::bridged::{World, next, text};
use super::world::{Broker, LIMIT, Reader, until};

const IN: &str = "{ from: { topic: 'commands' }, to: { key: 'commands/{key}' } }";

fn command(payload: &str) -> Record<'_> {
    Record {
        topic: "commands",
        key: Some(b"a"),
        payload: Some(payload.as_bytes()),
        ..Record::default()
    }
}

#[test]
fn a_topic_that_is_made_after_the_start_is_read() {
    let world = World::new(Broker::with_topics(&["other"]), IN, "");
    let subscriber = world.subscribe("commands/a");
    until("the broker says that there is no such topic", || {
        world
            .bridge
            .counts()
            .consumer_errors
            .load(Ordering::Relaxed)
            > 0
    });
    let made = world.broker.cluster.create_topic("commands", 1, 1);
    made.expect("a topic");
    world.write(command("go"));
    assert_eq!(text(&next(&subscriber)), "go");
    assert_eq!(world.bridge.end(LIMIT).lost, 0);
}

#[test]
fn a_topic_that_is_made_by_the_first_message_gets_it() {
    let rule = "{ from: { key: 'source' }, to: { topic: 'made' } }";
    let world = World::new(Broker::with_topics(&["other"]), rule, "");
    world.put("source", "first");
    until("the broker has it", || {
        world
            .bridge
            .metrics()
            .contains("bridge_delivered_total 1\n")
    });
    assert_eq!(world.bridge.end(LIMIT).lost, 0);
}

/// Waits until all messages of `wanted` have come; some may come twice.
fn await_all(subscriber: &Subscriber<FifoChannelHandler<Sample>>, mut wanted: BTreeSet<String>) {
    while !wanted.is_empty() {
        wanted.remove(&text(&next(subscriber)));
    }
}

#[test]
fn what_is_written_around_a_restart_arrives() {
    let mut world = World::new(Broker::with_topics(&["commands"]), IN, "");
    let subscriber = world.subscribe("commands/a");
    let names = |from: u32| (from..from + 20).map(|number| number.to_string());
    let write = |world: &World, from| {
        for name in names(from) {
            world.write(command(&name));
        }
    };
    write(&world, 0);
    next(&subscriber);
    // in the middle of its work
    let ending = world.bridge.end(LIMIT);
    assert_eq!(ending.lost, 0);
    world.bridge = Bridge::start(&world.config).expect("a bridge");
    write(&world, 20);
    let mut missing: BTreeSet<String> = names(0).chain(names(20)).collect();
    missing.remove("0");
    await_all(&subscriber, missing);
    let again = world.bridge.end(LIMIT);
    assert!(
        again.metrics.contains("bridge_dead_letters_total 0\n"),
        "{}",
        again.metrics
    );
}

#[test]
fn each_rule_has_its_counters() {
    let rules = "{ from: { key: 'a' }, to: { topic: 'a' } }, { from: { topic: 'commands' }, to: { key: 'commands/{key}' } },
        { from: { key: 'b/*' }, to: { topic: 'b{chunk:3}' } }";
    let world = World::new(Broker::with_topics(&["a", "commands"]), rules, "");
    let subscriber = world.subscribe("commands/a");
    world.put("a", "1");
    world.put("a", "2");
    world.put("b/c", "has no third chunk");
    world.write(command("go"));
    assert_eq!(text(&next(&subscriber)), "go");
    let mut reader = Reader::new(&world.broker, "a");
    assert_eq!([reader.next().payload, reader.next().payload], [b"1", b"2"]);
    let metrics = world.bridge.end(LIMIT).metrics;
    for line in [
        "taken_total{rule=\"0\"} 2",
        "carried_total{rule=\"0\"} 2",
        "refused_total{rule=\"0\"} 0",
        "taken_total{rule=\"1\"} 1",
        "carried_total{rule=\"1\"} 1",
        "taken_total{rule=\"2\"} 1",
        "carried_total{rule=\"2\"} 0",
        "refused_total{rule=\"2\"} 1",
    ] {
        let line = format!("\nzonda_kafka_bridge_rule_{line}\n");
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
}
