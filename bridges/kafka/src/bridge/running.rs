// SPDX-License-Identifier: MIT OR Apache-2.0
//! Life of a bridge: started as a whole, and ended so that no accepted message is lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use zonda::handlers::{FifoChannel, IntoHandler};
use zonda::pubsub::Subscriber;
use zonda::sample::{Locality, Sample};
use zonda::{Session, Wait};
use zonda_program::Failure;

use super::config::BridgeConfig;
use super::counts::BridgeCounts;
use super::dead::{DeadLetters, Letter};
use super::from_kafka::Reader;
use super::stop::{GRACE, Stop};
use super::to_kafka::Forwarder;
use crate::producer::{OnFailure, Producer, Undelivered};

/// A running bridge. End it with [`Bridge::end`]: a dropped one accepts nothing more and gives the
/// broker no time for accepted messages (they become dead letters, as far as the neighbours accept
/// them within 3 s); its threads end in the background.
pub struct Bridge {
    session: Session,
    producer: Arc<Producer>,
    counts: Arc<BridgeCounts>,
    stop: Arc<Stop>,
    /// Subscribers of the rules from keys.
    subscribers: Vec<Subscriber<()>>,
    /// Sender whose clones the threads hold; `None` while the bridge ends.
    running: Option<mpsc::Sender<Never>>,
    /// Receiver that is closed when no thread has a sender any more.
    all_ended: mpsc::Receiver<Never>,
}

/// An uninhabited type: its channel only ends.
enum Never {}

/// Final state of a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeEnding {
    /// Counters, in the format of OpenMetrics.
    pub metrics: String,
    /// Messages that are neither delivered nor published as dead letters.
    pub lost: u64,
    /// Messages that the broker had no time for: lost, or dead letters.
    pub cut_off: u64,
}

impl Bridge {
    /// Opens the node, and begins to forward. The broker need not be available.
    ///
    /// # Errors
    /// The node or the client library refuses its configuration, or no thread is left.
    ///
    /// # Blocking
    /// As long as opening a session does.
    pub fn start(config: &BridgeConfig) -> Result<Bridge, Failure> {
        // state that the threads of all rules share
        let session = zonda::open(config.node.clone()).wait()?;
        let rules = config.to_kafka.len() + config.to_zonda.len();
        let counts = Arc::new(BridgeCounts::of(rules));
        let stop = Arc::new(Stop::default());
        let dead = Arc::new(DeadLetters {
            session: session.clone(),
            key: config.dead_letters.clone(),
            counts: Arc::clone(&counts),
            stop: Arc::clone(&stop),
        });
        let producer = Arc::new(Producer::start(&config.producer, Some(buries(&dead)))?);
        // no message is sent on this channel: its end shows that every thread has ended
        let (running, all_ended) = mpsc::channel();
        let mut bridge = Bridge {
            session,
            producer,
            counts,
            stop,
            subscribers: Vec::new(),
            running: Some(running),
            all_ended,
        };
        bridge.answer_metrics(config)?;
        // one thread for each rule from a key, and one for all topics
        for rule in &config.to_kafka {
            let forwarder = Forwarder {
                rule: rule.clone(),
                name: config.name.clone(),
                producer: Arc::clone(&bridge.producer),
                dead: Arc::clone(&dead),
                counts: Arc::clone(&bridge.counts),
                stop: Arc::clone(&bridge.stop),
            };
            bridge.forward(forwarder, config.limits.waiting_messages)?;
        }
        if !config.to_zonda.is_empty() {
            bridge.read(config, dead)?;
        }
        Ok(bridge)
    }

    fn answer_metrics(&self, config: &BridgeConfig) -> Result<(), Failure> {
        // the producer has the session, for dead letters: a callback that had the producer would keep both for ever
        let (producer, counts) = (Arc::downgrade(&self.producer), Arc::clone(&self.counts));
        let key = config.metrics.clone();
        let queryable = self.session.declare_queryable(config.metrics.clone());
        queryable
            .callback(move |query| {
                let Some(producer) = producer.upgrade() else {
                    return;
                };
                let text = counts.text(&producer.deliveries(), producer.queued());
                if let Err(error) = query.reply(&key, text).wait() {
                    tracing::debug!("a question for the counters is not answered: {error}");
                }
            })
            .background()
            .wait()?;
        Ok(())
    }

    fn forward(&mut self, forwarder: Forwarder, waiting: usize) -> Result<(), Failure> {
        let from = forwarder.rule.from.clone();
        let (fill, queue) = IntoHandler::<Sample>::into_handler(FifoChannel::new(waiting));
        // samples of this session itself came from a topic
        let subscriber = self
            .session
            .declare_subscriber(from)
            .allowed_origin(Locality::Remote)
            .with((fill, ()))
            .wait()?;
        self.subscribers.push(subscriber);
        self.spawn("bridge-to-kafka", move || forwarder.run(&queue))
    }

    fn read(&mut self, config: &BridgeConfig, dead: Arc<DeadLetters>) -> Result<(), Failure> {
        let consumer: BaseConsumer = config
            .consumer
            .create()
            .map_err(|error| Failure::Usage(error.to_string()))?;
        consumer
            .subscribe(&config.topics())
            .map_err(|error| Failure::doing("topics", error))?;
        let reader = Reader {
            rules: config.to_zonda.clone(),
            name: config.name.clone(),
            session: self.session.clone(),
            dead,
            counts: Arc::clone(&self.counts),
            stop: Arc::clone(&self.stop),
        };
        self.spawn("bridge-to-zonda", move || reader.run(&consumer))
    }

    fn spawn(&self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
        let running = self.running.clone();
        let thread = thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || {
            run();
            drop(running);
        });
        thread.map_err(|error| Failure::doing(name, error))?;
        Ok(())
    }

    /// Returns the counters of the bridge.
    pub fn counts(&self) -> &BridgeCounts {
        &self.counts
    }

    /// Returns the session of the bridge's node.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the counters, in the format of OpenMetrics.
    pub fn metrics(&self) -> String {
        self.counts
            .text(&self.producer.deliveries(), self.producer.queued())
    }

    /// Stops accepting messages, delivers the accepted ones, and closes the node. Messages that the
    /// broker has not acknowledged within `limit` become dead letters, and the log has their
    /// number.
    ///
    /// # Blocking
    /// At most `limit` for the broker, and some seconds for the node.
    pub fn end(mut self, limit: Duration) -> BridgeEnding {
        self.stop.begin(limit);
        self.subscribers.clear();
        drop(self.running.take());
        // a thread that is stuck in the client library is abandoned: its uncommitted messages come
        // again at the next start
        let left = self.stop.left_to_say().unwrap_or(limit);
        let ended = self.all_ended.recv_timeout(left);
        if matches!(ended, Err(mpsc::RecvTimeoutError::Timeout)) {
            tracing::warn!("a thread of the bridge has not ended");
        }
        let unheard = settle(&self.producer, &self.stop);
        let deliveries = self.producer.deliveries();
        let metrics = self.counts.text(&deliveries, self.producer.queued());
        if let Err(error) = self.session.close().wait() {
            tracing::warn!("the node did not close: {error}");
        }
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let cut_off = deliveries.given_up() + of(&self.counts.unsent) + unheard;
        let lost = of(&self.counts.dead_dropped) + unheard;
        if cut_off > 0 {
            tracing::warn!(
                "the broker did not take {cut_off} messages before the bridge ended; of all messages {lost} are neither \
                 delivered nor dead letters"
            );
        }
        BridgeEnding {
            metrics,
            lost,
            cut_off,
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // without `end` the broker gets no time; the threads see this stop and release everything
        self.stop.begin(Duration::ZERO);
    }
}

/// Waits for the broker within its time, then has the rest reported as failed; returns the number
/// of messages without a report.
fn settle(producer: &Producer, stop: &Stop) -> u64 {
    let zero = Duration::ZERO;
    let is_empty = producer.flush(stop.left().unwrap_or(zero));
    // reports of purged messages get a third of the grace time even if the threads have used all of
    // it
    let left = stop.left_to_say().unwrap_or(zero).max(GRACE / 3);
    match is_empty || producer.give_up(left) {
        true => 0,
        false => u64::try_from(producer.queued()).unwrap_or(u64::MAX),
    }
}

/// Turns messages that the broker did not accept into dead letters.
fn buries(dead: &Arc<DeadLetters>) -> OnFailure {
    let dead = Arc::clone(dead);
    Box::new(move |undelivered: &Undelivered<'_>| {
        dead.post(&Letter {
            from: "",
            to: undelivered.topic,
            reason: undelivered.reason,
            payload: undelivered.payload,
        });
    })
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use rdkafka::mocking::MockCluster;

    use super::*;

    /// A dropped bridge leaves nothing behind: a reference in its threads, the client library or
    /// the node would keep the counters.
    #[test]
    fn a_bridge_that_is_dropped_leaves_nothing_behind() {
        let cluster = MockCluster::new(1).expect("a mock cluster");
        cluster.create_topic("commands", 1, 1).expect("a topic");
        let servers = cluster.bootstrap_servers();
        let text = format!(
            "{{ zonda: {{ mode: 'peer', listen: {{ endpoints: [] }} }}, kafka: {{ brokers: '{servers}' }},
                rules: [{{ from: {{ key: 'source' }}, to: {{ topic: 'sink' }} }},
                    {{ from: {{ topic: 'commands' }}, to: {{ key: 'command' }} }}] }}"
        );
        let config = BridgeConfig::from_json5(&text).expect("a good configuration");
        let bridge = Bridge::start(&config).expect("a bridge");
        let (counts, producer) = (
            Arc::downgrade(&bridge.counts),
            Arc::downgrade(&bridge.producer),
        );
        drop(bridge);
        let end = Instant::now() + Duration::from_secs(60);
        while counts.strong_count() + producer.strong_count() > 0 {
            assert!(Instant::now() < end, "something is left");
            thread::sleep(Duration::from_millis(5));
        }
    }
}
