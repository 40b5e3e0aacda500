// SPDX-License-Identifier: MIT OR Apache-2.0
//! The real broker, and a bridge next to it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rdkafka::config::ClientConfig;
use zonda::handlers::{FifoChannel, FifoChannelHandler};
use zonda::pubsub::Subscriber;
use zonda::qos::CongestionControl;
use zonda::sample::Sample;
use zonda::{Config, Session, Wait};
use zonda_kafka::bridge::{Bridge, BridgeConfig};

use super::world::until;

/// Time limit for every step, the start of a broker on a busy machine included.
pub const LONG: Duration = Duration::from_secs(180);

/// Returns the address of the broker.
pub fn servers() -> String {
    let port = std::env::var("ZONDA_KAFKA_PORT").expect("bridges/kafka/accept runs these tests");
    format!("127.0.0.1:{port}")
}

/// Runs the broker's script with this argument.
pub fn broker(what: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("broker");
    let status = Command::new(script).arg(what).status();
    assert!(status.expect("the script").success(), "broker {what}");
}

/// Returns the file with the messages of a topic that has one partition.
pub fn log_of(topic: &str) -> PathBuf {
    let port = std::env::var("ZONDA_KAFKA_PORT").expect("a port");
    let dir =
        std::env::var("ZONDA_KAFKA_DIR").expect("bridges/kafka/accept says where the data is");
    let partition = format!("data-{port}/{topic}-0/00000000000000000000.log");
    Path::new(&dir).join(partition)
}

/// Returns a name that no earlier run has used.
pub fn name(of: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("{of}-{}", now.expect("a clock").as_nanos())
}

/// Returns the settings of a client other than the bridge.
pub fn client() -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", servers())
        .set("linger.ms", "5")
        .set("message.timeout.ms", LONG.as_millis().to_string())
        .set("reconnect.backoff.max.ms", "500");
    config
}

/// A node, and a bridge that is connected to it.
pub struct World {
    pub node: Session,
    pub bridge: Bridge,
}

impl World {
    /// Creates a world with these rules, and these properties of the producer.
    pub fn new(rules: &str, producer: &str) -> World {
        let node = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"]));
        let node = node.wait().expect("a node");
        let endpoint = node.info().locators().remove(0);
        let (name, limit) = (name("bridge"), LONG.as_millis());
        let config = format!(
            "{{ name: '{name}', zonda: {{ mode: 'client', connect: {{ endpoints: ['{endpoint}'] }} }},
                kafka: {{ brokers: '{}', producer: {{ {producer} }} }},
                limits: {{ delivery_ms: {limit} }}, dead_letters: 'dead', rules: [{rules}] }}",
            servers()
        );
        let config = BridgeConfig::from_json5(&config).expect("a good configuration");
        let bridge = Bridge::start(&config).expect("a bridge");
        World { node, bridge }
    }

    /// Declares a subscriber and waits until the bridge knows it.
    pub fn subscribe(&self, key: &'static str) -> Subscriber<FifoChannelHandler<Sample>> {
        let subscriber = self.node.declare_subscriber(key);
        let subscriber = subscriber.with(FifoChannel::new(100_000)).wait();
        let session = self.bridge.session();
        let publisher = session.declare_publisher(key).wait().expect("a publisher");
        until("the bridge knows the subscriber", || {
            let status = publisher.matching_status().wait();
            status.expect("a status").matching()
        });
        subscriber.expect("a subscriber")
    }

    /// Waits until the bridge has subscribed to a key.
    pub fn await_interest(&self, key: &'static str) {
        let publisher = self.node.declare_publisher(key).wait();
        let publisher = publisher.expect("a publisher");
        until("the bridge wants the key", || {
            let status = publisher.matching_status().wait();
            status.expect("a status").matching()
        });
    }

    /// Publishes, and waits for room as long as it takes.
    pub fn put(&self, key: &str, payload: &[u8]) {
        let put = self.node.put(key, payload.to_vec());
        let put = put.congestion_control(CongestionControl::Block);
        put.timeout(LONG).wait().expect("room in the end");
    }

    /// Ends the bridge, and asserts that no message was lost or became a dead letter.
    pub fn end(self) {
        let ending = self.bridge.end(LONG);
        assert_eq!((ending.lost, ending.cut_off), (0, 0), "{}", ending.metrics);
        let none = "bridge_dead_letters_total 0\n";
        assert!(ending.metrics.contains(none), "{}", ending.metrics);
    }
}

/// Takes samples until all of `wanted` have come; returns the number of duplicates.
pub fn await_all(
    subscriber: &Subscriber<FifoChannelHandler<Sample>>,
    mut wanted: BTreeSet<Vec<u8>>,
) -> usize {
    let (end, mut twice) = (Instant::now() + LONG, 0);
    while !wanted.is_empty() {
        let left = end.saturating_duration_since(Instant::now());
        let sample = subscriber.recv_timeout(left).expect("a subscriber");
        let sample = sample.unwrap_or_else(|| panic!("{} did not come", wanted.len()));
        twice += usize::from(!wanted.remove(&*sample.payload().to_bytes()));
    }
    twice
}
