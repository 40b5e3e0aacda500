// SPDX-License-Identifier: MIT OR Apache-2.0
//! A neighbour that does not read stalls its own messages, and nothing else.

use std::sync::atomic::Ordering;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::{Offset, TopicPartitionList};
use zonda::handlers::{FifoChannel, FifoChannelHandler};
use zonda::pubsub::Subscriber;
use zonda::sample::Sample;
use zonda::{Config, Session, Wait};
use zonda_kafka::bridge::{Bridge, BridgeConfig};
use zonda_kafka::producer::{Producer, Record};

use super::bridged::{next, text, until_known};
use super::world::{Broker, LIMIT, until};

/// Payload size: a few of these messages fill the buffers between two nodes, and the simulated
/// broker holds some: it has room for 5 MB of a topic.
const LARGE: usize = 400_000;

/// Number of failed attempts after which a neighbour counts as stalled, and not just as slow.
const RETRIES: u64 = 20;

const RULES: &str = "{ from: { topic: 'slow' }, to: { key: 'slow' } }, { from: { topic: 'fast' }, to: { key: 'fast' } }";

fn node() -> Session {
    let config =
        format!("{{ mode: 'peer', listen: {{ endpoints: ['tcp/127.0.0.1:0'] }}, {PATIENT} }}");
    let config = Config::from_json5(&config).expect("a good configuration");
    zonda::open(config).wait().expect("a node")
}

/// The longest limits: a neighbour that takes nothing, or whose callbacks wait, is not closed
/// during the test.
const PATIENT: &str = "isolation: { slow: 'pause' }, \
    transport: { link: { tx: { lease: 600000, queue: { congestion_control: { block: { wait_before_close: 600000000 } } } } } }";

/// Starts a bridge that is linked to both nodes.
fn between(broker: &Broker, nodes: [&Session; 2]) -> Bridge {
    let [one, other] = nodes.map(|node| node.info().locators().remove(0));
    let servers = broker.cluster.bootstrap_servers();
    let config = format!(
        "{{ zonda: {{ mode: 'peer', listen: {{ endpoints: [] }}, connect: {{ endpoints: ['{one}', '{other}'] }}, {PATIENT} }},
            kafka: {{ brokers: '{servers}', consumer: {{ 'session.timeout.ms': 3000, 'heartbeat.interval.ms': 500 }} }},
            rules: [{RULES}] }}"
    );
    let config = BridgeConfig::from_json5(&config).expect("a good configuration");
    Bridge::start(&config).expect("a bridge")
}

/// Declares a subscriber that the bridge knows, and for which its node keeps one sample.
fn subscribe(
    node: &Session,
    bridge: &Bridge,
    key: &'static str,
) -> Subscriber<FifoChannelHandler<Sample>> {
    let subscriber = node.declare_subscriber(key).with(FifoChannel::new(1));
    let subscriber = subscriber.wait().expect("a subscriber");
    until_known(bridge, key);
    subscriber
}

/// Returns how many messages of the topic count as read.
fn read(broker: &Broker, topic: &str) -> i64 {
    let mut config = broker.config();
    config.set("group.id", "zonda-kafka");
    let consumer: BaseConsumer = config.create().expect("a consumer");
    let mut asked = TopicPartitionList::new();
    asked.add_partition(topic, 0);
    let committed = consumer.committed_offsets(asked, LIMIT);
    let committed = committed.expect("an answer");
    match committed.elements()[0].offset() {
        Offset::Offset(offset) => offset,
        _ => 0,
    }
}

fn send(producer: &Producer, topic: &str, payload: &[u8]) {
    let record = Record {
        topic,
        payload: Some(payload),
        ..Record::default()
    };
    producer.send(record).expect("a place in the queue");
}

/// Returns the payload of one of the large messages.
fn large(number: u64) -> Vec<u8> {
    let mut payload = vec![b' '; LARGE];
    payload[..3].copy_from_slice(format!("{number:03}").as_bytes());
    payload
}

/// Writes large messages, one after the other, until the slow neighbour has no room for one, and
/// three more; returns their number.
fn fill(producer: &Producer, bridge: &Bridge) -> u64 {
    let mut written = 0;
    let mut write = || {
        send(producer, "slow", &large(written));
        written += 1;
        written
    };
    let counts = bridge.counts();
    let (mut last, mut retries) = (0, 0);
    until("the slow one has no room for long", || {
        let now = counts.retries.load(Ordering::Relaxed);
        if counts.published.load(Ordering::Relaxed) == last {
            (last, retries) = (write(), now);
        }
        now > retries + RETRIES
    });
    for _ in 0..3 {
        last = write();
    }
    assert!(producer.flush(LIMIT), "the broker takes them");
    last
}

#[test]
fn a_neighbour_that_does_not_read_holds_up_its_own_topic_alone() {
    let broker = Broker::with_topics(&["slow", "fast"]);
    let (slow, fast) = (node(), node());
    let bridge = between(&broker, [&slow, &fast]);
    let of_slow = subscribe(&slow, &bridge, "slow");
    let of_fast = subscribe(&fast, &bridge, "fast");
    let producer = Producer::start(&broker.config(), None).expect("a producer");
    let written = fill(&producer, &bridge);
    for number in 0..20 {
        send(&producer, "fast", number.to_string().as_bytes());
        assert_eq!(text(&next(&of_fast)), number.to_string());
    }
    let published = bridge.counts().published.load(Ordering::Relaxed);
    assert!(published < 20 + written, "the slow one is still behind");
    // the partition resumes: each message arrives, in order, and none is lost
    for number in 0..written {
        assert!(next(&of_slow).payload().to_bytes()[..] == large(number));
    }
    send(&producer, "slow", b"the last");
    assert_eq!(text(&next(&of_slow)), "the last");
    let ending = bridge.end(LIMIT);
    assert_eq!(ending.lost, 0, "{}", ending.metrics);
    assert!(ending.metrics.contains("bridge_dead_letters_total 0\n"));
    assert_eq!(read(&broker, "slow"), written.cast_signed() + 1);
    assert_eq!(read(&broker, "fast"), 20);
}

#[test]
fn what_is_held_back_at_the_end_is_read_by_the_next_bridge() {
    let broker = Broker::with_topics(&["slow", "fast"]);
    let (slow, fast) = (node(), node());
    let bridge = between(&broker, [&slow, &fast]);
    let of_slow = subscribe(&slow, &bridge, "slow");
    let producer = Producer::start(&broker.config(), None).expect("a producer");
    let written = fill(&producer, &bridge);
    let ending = bridge.end(LIMIT);
    assert_eq!(ending.lost, 0, "{}", ending.metrics);
    let taken = read(&broker, "slow").unsigned_abs();
    assert!(taken < written, "{taken} of {written}");
    // without its subscriber no message is held back
    drop(of_slow);
    let bridge = between(&broker, [&slow, &fast]);
    until("the next bridge reads the rest", || {
        bridge.counts().published.load(Ordering::Relaxed) == written - taken
    });
    assert_eq!(bridge.end(LIMIT).lost, 0);
    assert_eq!(read(&broker, "slow").unsigned_abs(), written);
}
