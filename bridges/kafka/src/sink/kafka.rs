// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sink for a topic: messages are acknowledged by the producer's queue, or by the broker.

use std::fmt::Write as _;
use std::time::Duration;

use super::{Ending, Offer};
use crate::http::Answer;
use crate::producer::{Producer, Record, Refused};

/// Header of a Kafka message with its content type, by the usual name.
const CONTENT_TYPE: &str = "content-type";

/// A sink for a topic.
pub struct KafkaSink {
    producer: Producer,
    topic: String,
    /// True if a message is acknowledged only when the broker has it.
    by_broker: bool,
}

impl KafkaSink {
    /// Creates a sink for the topic, with a producer of its own. With `by_broker` an answer waits
    /// for the broker's.
    pub fn new(producer: Producer, topic: String, by_broker: bool) -> KafkaSink {
        KafkaSink {
            producer,
            topic,
            by_broker,
        }
    }

    /// Returns the producer.
    pub fn producer(&self) -> &Producer {
        &self.producer
    }

    pub(super) fn offer(&self, payload: &[u8], content_type: Option<&str>) -> Offer {
        let header = content_type.map(|text| (CONTENT_TYPE, text.as_bytes()));
        let record = Record {
            topic: &self.topic,
            payload: Some(payload),
            headers: header.into_iter().collect(),
            ..Record::default()
        };
        // the answer is immediate, or that of the broker
        let taken = match self.by_broker {
            true => self.producer.send_watched(record).map(Offer::Later),
            false => self
                .producer
                .send(record)
                .map(|()| Offer::Now(Answer::Accepted)),
        };
        // refusals become the status that shows a client if a retry makes sense
        taken.unwrap_or_else(|refused| {
            Offer::Now(match refused {
                Refused::QueueFull => Answer::Busy,
                Refused::TooLarge => Answer::TooLarge,
                Refused::Other(reason) => {
                    tracing::debug!("a message is refused: {reason}");
                    Answer::Failed
                }
            })
        })
    }

    pub(super) fn metrics(&self, out: &mut String) {
        // writing to a text does not fail
        let _ = writeln!(out, "# TYPE zonda_kafka_queued gauge");
        let _ = writeln!(out, "zonda_kafka_queued {}", self.producer.queued());
        self.producer.deliveries().write("zonda_kafka", out);
    }

    pub(super) fn end(&self, limit: Duration) -> Ending {
        let is_empty = self.producer.flush(limit);
        let deliveries = self.producer.deliveries();
        let failed: u64 = deliveries.failed.values().sum();
        let left = if is_empty { 0 } else { self.producer.queued() };
        let mut lines = vec![format!(
            "delivered {}, failed {failed}, undecided {left}",
            deliveries.delivered
        )];
        let reasons = deliveries.failed.iter();
        lines.extend(reasons.map(|(reason, count)| format!("failed {count}: {reason}")));
        let left = u64::try_from(left).unwrap_or(u64::MAX);
        Ending {
            lines,
            lost: failed.saturating_add(left),
        }
    }
}
