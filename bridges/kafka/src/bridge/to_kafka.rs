// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forwarding from keys to topics: a thread for each rule, which waits when the broker does not
//! keep up.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::Duration;

use zonda::bytes::Encoding;
use zonda::handlers::FifoChannelHandler;
use zonda::sample::{Sample, SampleKind};

use super::config::{ToKafka, is_topic};
use super::counts::{BridgeCounts, RuleCounts, count};
use super::dead::{DeadLetters, Letter};
use super::stop::Stop;
use super::template::{Field, chunk};
use crate::producer::{Producer, Record, Refused};

/// Interval at which a thread checks whether it has to end.
const LOOK: Duration = Duration::from_millis(100);

/// Pause before a sample is offered again to a full queue.
const PAUSE: Duration = Duration::from_millis(2);

/// Header of a message with its encoding.
pub(super) const CONTENT_TYPE: &str = "content-type";
/// Header with the attachment of a message.
pub(super) const ATTACHMENT: &str = "zonda-attachment";
/// Header with the name of the bridge that wrote the message.
pub(super) const BRIDGE: &str = "zonda-bridge";

/// State of one rule's thread.
pub(super) struct Forwarder {
    pub rule: ToKafka,
    pub name: String,
    pub producer: Arc<Producer>,
    pub dead: Arc<DeadLetters>,
    pub counts: Arc<BridgeCounts>,
    pub stop: Arc<Stop>,
}

impl Forwarder {
    /// Forwards samples until the queue is empty and has no sender left: its subscriber is
    /// undeclared when the bridge ends.
    pub(super) fn run(&self, queue: &FifoChannelHandler<Sample>) {
        loop {
            match queue.recv_timeout(LOOK) {
                Ok(Some(sample)) => self.forward(&sample),
                Ok(None) if self.stop.is_over() => return,
                Ok(None) => {}
                Err(_) => return,
            }
        }
    }

    fn forward(&self, sample: &Sample) {
        // Every sample is counted once at its arrival and once by its outcome.
        count(&self.counts.samples);
        let count_rule = |which: fn(&RuleCounts) -> &AtomicU64| {
            self.counts.count_rule(self.rule.number, which);
        };
        count_rule(|rule| &rule.taken);
        let key = sample.key_expr().as_str();
        let payload = sample.payload().to_bytes();
        // An undelivered sample is counted and becomes a dead letter.
        let undelivered = |to: &str, reason: &str| {
            count_rule(|rule| &rule.refused);
            self.dead.post(&Letter {
                from: key,
                to,
                reason,
                payload: &payload,
            });
        };
        match self.fill(key) {
            Ok(filled) => match self.send(sample, &payload, &filled) {
                Ok(()) => count_rule(|rule| &rule.carried),
                Err(reason) => undelivered(&filled.topic, &reason),
            },
            Err(reason) => undelivered(&self.rule.topic.to_string(), &reason),
        }
    }

    fn fill(&self, key: &str) -> Result<Filled, String> {
        let value = |field: &Field| match field {
            Field::Key => Some(Cow::Borrowed(key)),
            Field::Chunk(number) => chunk(key, *number).map(Cow::Borrowed),
            Field::Topic | Field::Header(_) => None,
        };
        let topic = self.rule.topic.fill(value)?.replace('/', ".");
        if !is_topic(&topic) {
            return Err(format!("\"{topic}\" is no name of a topic"));
        }
        let partition_key = self.rule.partition_key.as_ref();
        let headers = self.rule.headers.iter();
        let headers = headers.map(|(name, text)| Ok((name.clone(), text.fill(value)?)));
        Ok(Filled {
            topic,
            partition_key: partition_key.map(|text| text.fill(value)).transpose()?,
            headers: headers.collect::<Result<_, String>>()?,
        })
    }

    /// Queues a sample, and waits while the queue is full: each message in it leaves within the
    /// limit for deliveries. At the end of the bridge the wait ends with the bridge's time.
    fn send(&self, sample: &Sample, payload: &[u8], filled: &Filled) -> Result<(), String> {
        // Parts of the sample that become headers.
        let encoding = sample.encoding();
        let encoding = (*encoding != Encoding::default()).then(|| encoding.to_string());
        let attachment = sample.attachment().map(|bytes| bytes.to_bytes());
        let mut waited = false;
        while !self.stop.is_over() {
            // A refused record is consumed, so each attempt builds it anew.
            let mut headers = vec![(BRIDGE, self.name.as_bytes())];
            headers.extend(encoding.iter().map(|text| (CONTENT_TYPE, text.as_bytes())));
            headers.extend(attachment.iter().map(|bytes| (ATTACHMENT, &**bytes)));
            let own = filled.headers.iter();
            headers.extend(own.map(|(name, text)| (&**name, text.as_bytes())));
            let sent = self.producer.send(Record {
                topic: &filled.topic,
                key: filled.partition_key.as_deref().map(str::as_bytes),
                payload: (sample.kind() == SampleKind::Put).then_some(payload),
                headers,
            });
            // Only a full queue is worth another attempt.
            match sent {
                Ok(()) => {
                    count(&self.counts.queued);
                    return Ok(());
                }
                Err(Refused::QueueFull) => {
                    if !std::mem::replace(&mut waited, true) {
                        count(&self.counts.waits);
                    }
                    thread::sleep(PAUSE);
                }
                Err(Refused::TooLarge) => return Err("MessageSizeTooLarge".to_owned()),
                Err(Refused::Other(reason)) => return Err(reason),
            }
        }
        count(&self.counts.unsent);
        Err("the bridge ended before there was room in the producer's queue".to_owned())
    }
}

/// A rule's templates, filled for one sample.
struct Filled {
    topic: String,
    partition_key: Option<String>,
    headers: Vec<(String, String)>,
}
