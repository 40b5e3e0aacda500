// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages that come in on one side arrive on the other, or become dead letters.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use zonda::Wait;
use zonda::bytes::Encoding;
use zonda::qos::CongestionControl;
use zonda::sample::SampleKind;
use zonda_kafka::producer::Record;

use super::bridged::{World, next, text};
use super::world::{Broker, LIMIT, Reader, until};

const OUT: &str = "{ from: { key: 'robots/*/pose' }, to: { topic: 'poses.{chunk:2}', partition_key: '{chunk:2}', headers: { from: '{key}' } } }";
const IN: &str =
    "{ from: { topic: 'commands' }, to: { key: 'robots/{key}/command' }, encoding: 'text/plain' }";

#[test]
fn a_sample_becomes_a_message_with_key_headers_encoding_and_attachment() {
    let world = World::new(Broker::with_topics(&["poses.r2"]), OUT, "");
    world.put("robots/r2/pose", "here");
    let message = Reader::new(&world.broker, "poses.r2").next();
    assert_eq!(message.payload, b"here");
    assert_eq!(message.key.as_deref(), Some(&b"r2"[..]));
    let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    let expected = [
        header("zonda-bridge", "zonda-kafka"),
        header("content-type", "application/json"),
        header("zonda-attachment", "beside"),
        header("from", "robots/r2/pose"),
    ];
    assert_eq!(message.headers, expected);
    let ending = world.bridge.end(LIMIT);
    assert_eq!(ending.lost, 0);
    assert!(
        ending
            .metrics
            .contains("zonda_kafka_bridge_delivered_total 1\n")
    );
}

#[test]
fn a_message_becomes_a_sample_and_one_without_payload_a_deletion() {
    let world = World::new(Broker::with_topics(&["commands"]), IN, "");
    let subscriber = world.subscribe("robots/r2/command");
    world.write(Record {
        topic: "commands",
        key: Some(b"r2"),
        payload: Some(b"go"),
        headers: vec![("content-type", b"application/json")],
    });
    let sample = next(&subscriber);
    assert_eq!(sample.key_expr().as_str(), "robots/r2/command");
    assert_eq!(
        (&text(&sample)[..], sample.encoding()),
        ("go", &Encoding::APPLICATION_JSON)
    );
    world.write(Record {
        topic: "commands",
        key: Some(b"r2"),
        payload: Some(b"stop"),
        headers: vec![],
    });
    assert_eq!(next(&subscriber).encoding(), &Encoding::TEXT_PLAIN);
    world.write(Record {
        topic: "commands",
        key: Some(b"r2"),
        ..Record::default()
    });
    assert_eq!(next(&subscriber).kind(), SampleKind::Delete);
    assert_eq!(world.bridge.end(LIMIT).lost, 0);
}

#[test]
fn what_the_bridge_wrote_is_not_carried_back() {
    let rules = "{ from: { key: 'loop/out' }, to: { topic: 'round' } }, { from: { topic: 'round' }, to: { key: 'loop/out' } }";
    let world = World::new(Broker::with_topics(&["round"]), rules, "");
    let subscriber = world.subscribe("loop/out");
    world.put("loop/out", "once");
    assert_eq!(
        text(&next(&subscriber)),
        "once",
        "what the node itself hears"
    );
    until("the bridge reads what it wrote", || {
        world.bridge.counts().own.load(Ordering::Relaxed) == 1
    });
    world.write(Record {
        topic: "round",
        payload: Some(b"from elsewhere"),
        ..Record::default()
    });
    assert_eq!(text(&next(&subscriber)), "from elsewhere");
    let ending = world.bridge.end(LIMIT);
    assert!(
        ending.metrics.contains("bridge_samples_total 1\n"),
        "{}",
        ending.metrics
    );
}

#[test]
fn a_message_without_a_key_is_a_dead_letter_that_says_why() {
    let world = World::new(Broker::with_topics(&["commands"]), IN, "");
    let dead = world.subscribe("zonda-kafka/dead");
    world.write(Record {
        topic: "commands",
        payload: Some(b"to nobody"),
        ..Record::default()
    });
    let letter = next(&dead);
    assert_eq!(text(&letter), "to nobody");
    let about = letter.attachment().expect("an attachment");
    let about = about.try_to_string().expect("text").into_owned();
    assert!(
        about.contains("the message has nothing for {key}"),
        "{about}"
    );
    until("the dead letter is counted", || {
        world.bridge.counts().dead.load(Ordering::Relaxed) == 1
    });
}

#[test]
fn what_the_broker_refuses_is_a_dead_letter_and_counted() {
    let world = World::new(Broker::with_topics(&["poses.r2"]), OUT, "");
    let dead = world.subscribe("zonda-kafka/dead");
    let refusal = RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
    world
        .broker
        .cluster
        .request_errors(RDKafkaApiKey::Produce, &[refusal]);
    world.put("robots/r2/pose", "refused");
    assert_eq!(text(&next(&dead)), "refused");
    let ending = world.bridge.end(LIMIT);
    assert_eq!(ending.lost, 0, "a dead letter is not lost");
    let counted = "undelivered_total{reason=\"MessageSizeTooLarge\"} 1\n";
    assert!(ending.metrics.contains(counted), "{}", ending.metrics);
}

/// The queue of the producer holds ten messages. While the broker is away the bridge and the
/// publisher wait; all messages arrive when the broker is back.
#[test]
fn a_broker_that_is_away_holds_the_source_up_and_gets_everything() {
    const SAMPLES: usize = 600;
    let rule = "{ from: { key: 'source' }, to: { topic: 'sink' } }";
    let few = "'queue.buffering.max.messages': 10";
    let world = World::new(Broker::with_topics(&["sink"]), rule, few);
    world.put("source", "first");
    let mut reader = Reader::new(&world.broker, "sink");
    assert_eq!(reader.next().payload, b"first");
    world
        .broker
        .cluster
        .broker_down(1)
        .expect("a broker that goes");
    let node = world.node.clone();
    let source = std::thread::spawn(move || {
        for number in 0..SAMPLES {
            let put = node.put("source", number.to_string());
            let put = put.congestion_control(CongestionControl::Block);
            put.timeout(LIMIT).wait().expect("room in the end");
        }
    });
    let counts = world.bridge.counts();
    until("the bridge waits for the broker", || {
        counts.waits.load(Ordering::Relaxed) > 0
    });
    assert!(
        counts.queued.load(Ordering::Relaxed) <= 11,
        "no more than the queue holds"
    );
    world
        .broker
        .cluster
        .broker_up(1)
        .expect("a broker that comes");
    let all: BTreeSet<_> = (0..SAMPLES).map(|n| n.to_string().into_bytes()).collect();
    reader.await_all(all);
    source.join().expect("a source that was heard out");
    assert_eq!(world.bridge.end(LIMIT).lost, 0);
}

#[test]
fn counters_are_answered_at_their_key() {
    let world = World::new(Broker::with_topics(&["poses.r2"]), OUT, "");
    let text = world.ask();
    assert!(
        text.contains("zonda_kafka_bridge_samples_total 0\n"),
        "{text}"
    );
}
