// SPDX-License-Identifier: MIT OR Apache-2.0
//! Destinations of messages: a topic of Kafka, a key of Zonda, or none.

mod kafka;
mod zonda;

pub use self::kafka::KafkaSink;
pub use self::zonda::ZondaSink;

use std::time::Duration;

use crate::http::Answer;
use crate::producer::Delivery;

/// Result of an offer.
#[derive(Debug)]
pub enum Offer {
    /// The answer is known.
    Now(Answer),
    /// The broker decides about it.
    Later(Delivery),
}

/// Destination of messages.
pub enum Sink {
    /// A topic of Kafka.
    Kafka(KafkaSink),
    /// A key of Zonda.
    Zonda(ZondaSink),
    /// No destination: messages are counted as requests, to measure the server alone.
    Nowhere,
}

/// Final state of a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Lines to print at the end.
    pub lines: Vec<String>,
    /// Messages that were accepted and did not arrive.
    pub lost: u64,
}

impl Sink {
    /// Offers a message. Never blocks.
    pub fn offer(&self, payload: &[u8], content_type: Option<&str>) -> Offer {
        match self {
            Sink::Kafka(sink) => sink.offer(payload, content_type),
            Sink::Zonda(sink) => Offer::Now(sink.offer(payload, content_type)),
            Sink::Nowhere => Offer::Now(Answer::Accepted),
        }
    }

    /// Writes its counters, in the format of OpenMetrics.
    pub fn metrics(&self, out: &mut String) {
        match self {
            Sink::Kafka(sink) => sink.metrics(out),
            Sink::Zonda(sink) => sink.metrics(out),
            Sink::Nowhere => {}
        }
    }

    /// Flushes the queue, for at most `limit`.
    ///
    /// # Blocking
    /// At most `limit`, and some seconds to close a session.
    pub fn end(&self, limit: Duration) -> Ending {
        match self {
            Sink::Kafka(sink) => sink.end(limit),
            Sink::Zonda(sink) => sink.end(limit),
            Sink::Nowhere => Ending {
                lines: Vec::new(),
                lost: 0,
            },
        }
    }
}
