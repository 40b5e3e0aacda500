// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters of the bridge: every message that comes in is counted in one of them.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::producer::Deliveries;

/// Counters of the bridge.
#[derive(Debug, Default)]
pub struct BridgeCounts {
    /// Samples that came in on keys.
    pub samples: AtomicU64,
    /// Samples that the producer's queue accepted.
    pub queued: AtomicU64,
    /// Times that a sample had to wait for room in the producer's queue.
    pub waits: AtomicU64,
    /// Samples for which there was no room in the producer's queue before the bridge ended.
    pub unsent: AtomicU64,
    /// Messages that came in from topics.
    pub messages: AtomicU64,
    /// Messages that the node accepted.
    pub published: AtomicU64,
    /// Times that a message had to wait for a neighbour of the node.
    pub retries: AtomicU64,
    /// Times that a partition was held back, because a neighbour of the node had no room for its next message.
    pub pauses: AtomicU64,
    /// Messages that the bridge itself had written.
    pub own: AtomicU64,
    /// Published dead letters.
    pub dead: AtomicU64,
    /// Dead letters that were dropped, as a neighbour did not keep up.
    pub dead_dropped: AtomicU64,
    /// Errors of the consumer, such as an unavailable broker.
    pub consumer_errors: AtomicU64,
    /// Counters of each rule, in the order of the file.
    pub rules: Vec<RuleCounts>,
}

/// Counters of one rule.
#[derive(Debug, Default)]
pub struct RuleCounts {
    /// Samples or messages that came in for it.
    pub taken: AtomicU64,
    /// Messages that the other side, the producer or the node, has queued.
    pub carried: AtomicU64,
    /// Messages that could not be converted, or that the other side refused at once.
    pub refused: AtomicU64,
}

/// Increments a counter.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl BridgeCounts {
    /// Creates the counters of `rules` rules.
    pub(super) fn of(rules: usize) -> BridgeCounts {
        let rules = (0..rules).map(|_| RuleCounts::default());
        BridgeCounts {
            rules: rules.collect(),
            ..BridgeCounts::default()
        }
    }

    /// Increments a counter of a rule.
    pub(super) fn count_rule(&self, number: usize, which: impl Fn(&RuleCounts) -> &AtomicU64) {
        if let Some(rule) = self.rules.get(number) {
            count(which(rule));
        }
    }

    /// Returns the counters in the format of OpenMetrics, with the delivery counts of messages to
    /// Kafka.
    pub(super) fn text(&self, deliveries: &Deliveries, waiting: usize) -> String {
        let mut out = String::new();
        for (name, counter) in [
            ("samples", &self.samples),
            ("queued", &self.queued),
            ("waits", &self.waits),
            ("unsent", &self.unsent),
            ("messages", &self.messages),
            ("published", &self.published),
            ("retries", &self.retries),
            ("pauses", &self.pauses),
            ("own", &self.own),
            ("dead_letters", &self.dead),
            ("dead_letters_dropped", &self.dead_dropped),
            ("consumer_errors", &self.consumer_errors),
        ] {
            let value = counter.load(Ordering::Relaxed);
            // writing to a text does not fail
            let _ = writeln!(out, "# TYPE zonda_kafka_bridge_{name} counter");
            let _ = writeln!(out, "zonda_kafka_bridge_{name}_total {value}");
        }
        self.write_rules(&mut out);
        let _ = writeln!(out, "# TYPE zonda_kafka_bridge_waiting gauge");
        let _ = writeln!(out, "zonda_kafka_bridge_waiting {waiting}");
        deliveries.write("zonda_kafka_bridge", &mut out);
        out.push_str("# EOF\n");
        out
    }
    fn write_rules(&self, out: &mut String) {
        type Which = fn(&RuleCounts) -> &AtomicU64;
        let counters: [(&str, Which); 3] = [
            ("taken", |rule| &rule.taken),
            ("carried", |rule| &rule.carried),
            ("refused", |rule| &rule.refused),
        ];
        for (name, which) in counters {
            // writing to a text does not fail
            let _ = writeln!(out, "# TYPE zonda_kafka_bridge_rule_{name} counter");
            for (number, rule) in self.rules.iter().enumerate() {
                let value = which(rule).load(Ordering::Relaxed);
                let _ = writeln!(
                    out,
                    "zonda_kafka_bridge_rule_{name}_total{{rule=\"{number}\"}} {value}"
                );
            }
        }
    }
}
