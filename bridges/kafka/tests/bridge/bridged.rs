// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers of the tests of the bridge.

use std::time::Duration;

use zonda::bytes::Encoding;
use zonda::handlers::FifoChannelHandler;
use zonda::pubsub::Subscriber;
use zonda::qos::CongestionControl;
use zonda::sample::Sample;
use zonda::{Config, Session, Wait};
use zonda_kafka::bridge::{Bridge, BridgeConfig};
use zonda_kafka::producer::{Producer, Record};

use super::world::{Broker, LIMIT, until};

/// Time for which the simulated broker waits for a lost member of the group before the next one may
/// read.
const SOON: &str = "'session.timeout.ms': 3000, 'heartbeat.interval.ms': 500";

/// A node, a bridge that is connected to it, and a broker.
pub struct World {
    pub node: Session,
    pub bridge: Bridge,
    pub broker: Broker,
    pub config: BridgeConfig,
}

/// Waits until a bridge knows a subscriber of this key.
pub fn until_known(bridge: &Bridge, key: &'static str) {
    let publisher = bridge.session().declare_publisher(key);
    let publisher = publisher.wait().expect("a publisher");
    until("the bridge knows the subscriber", || {
        let status = publisher.matching_status().wait();
        status.expect("a status").matching()
    });
}

impl World {
    /// Creates a world with these rules, and these properties of the producer.
    pub fn new(broker: Broker, rules: &str, producer: &str) -> World {
        let node = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"]));
        let node = node.wait().expect("a node");
        let endpoint = node.info().locators().remove(0);
        let servers = broker.cluster.bootstrap_servers();
        let config = format!(
            "{{ zonda: {{ mode: 'client', connect: {{ endpoints: ['{endpoint}'] }} }},
                kafka: {{ brokers: '{servers}', producer: {{ {producer} }}, consumer: {{ {SOON} }} }},
                rules: [{rules}] }}"
        );
        let config = BridgeConfig::from_json5(&config).expect("a good configuration");
        let bridge = Bridge::start(&config).expect("a bridge");
        World {
            node,
            bridge,
            broker,
            config,
        }
    }

    /// Publishes once the bridge has subscribed to the key.
    pub fn put(&self, key: &'static str, payload: &str) {
        let publisher = self.node.declare_publisher(key);
        let publisher = publisher.congestion_control(CongestionControl::Block);
        let publisher = publisher.wait().expect("a publisher");
        until("the bridge wants the key", || {
            publisher
                .matching_status()
                .wait()
                .expect("a status")
                .matching()
        });
        let put = publisher.put(payload).encoding(Encoding::APPLICATION_JSON);
        put.attachment("beside").wait().expect("a put");
    }

    pub fn subscribe(&self, key: &'static str) -> Subscriber<FifoChannelHandler<Sample>> {
        let subscriber = self.node.declare_subscriber(key).wait();
        let subscriber = subscriber.expect("a subscriber");
        until_known(&self.bridge, key);
        subscriber
    }

    /// Queries the bridge's counters: all earlier publications have come to the bridge before the
    /// reply.
    pub fn ask(&self) -> String {
        let mut answer = None;
        until("the counters are answered", || {
            let get = self.node.get("zonda-kafka/metrics");
            let get = get.timeout(Duration::from_secs(5));
            let replies = get.wait().expect("a get");
            let reply = replies.recv().ok();
            answer = reply.and_then(|reply| reply.into_result().ok());
            answer.is_some()
        });
        text(&answer.expect("an answer"))
    }

    /// Writes a message to a topic, as another program does.
    pub fn write(&self, record: Record<'_>) {
        let producer = Producer::start(&self.broker.config(), None).expect("a producer");
        producer.send(record).expect("a place in the queue");
        assert!(producer.flush(LIMIT), "the broker takes it");
        assert_eq!(producer.deliveries().delivered, 1);
    }
}

pub fn next(subscriber: &Subscriber<FifoChannelHandler<Sample>>) -> Sample {
    let sample = subscriber.recv_timeout(LIMIT).expect("a subscriber");
    sample.expect("a sample comes")
}

pub fn text(sample: &Sample) -> String {
    let text = sample.payload().try_to_string().expect("text");
    text.into_owned()
}
