// SPDX-License-Identifier: MIT OR Apache-2.0
//! A bridge: started as a whole, and ended so that nothing it took is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use zonda::handlers::FifoChannel;
use zonda::sample::Locality;
use zonda::{Session, Wait};
use zonda_program::Failure;

use super::config::BridgeConfig;
use super::counts::BridgeCounts;
use super::dead::{DeadLetters, Letter};
use super::from_kafka::Reader;
use super::to_kafka::Forwarder;
use crate::producer::{OnFailure, Producer, Undelivered};

/// A bridge that runs.
pub struct Bridge {
    session: Session,
    producer: Arc<Producer>,
    counts: Arc<BridgeCounts>,
    stopping: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// How a bridge ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeEnding {
    /// The counters, in the format of OpenMetrics.
    pub metrics: String,
    /// Messages that are neither delivered nor a dead letter that was published.
    pub lost: u64,
}

impl Bridge {
    /// Opens the node, and begins to carry. No broker has to be there.
    ///
    /// # Errors
    /// The node or the client library refuses its configuration, or no thread is left.
    ///
    /// # Blocking
    /// As long as opening a session does.
    pub fn start(config: &BridgeConfig) -> Result<Bridge, Failure> {
        let session = zonda::open(config.node.clone()).wait()?;
        let counts = Arc::new(BridgeCounts::default());
        let dead = Arc::new(DeadLetters {
            session: session.clone(),
            key: config.dead_letters.clone(),
            counts: Arc::clone(&counts),
        });
        let producer = Arc::new(Producer::start(&config.producer, Some(buries(&dead)))?);
        let mut bridge = Bridge {
            session,
            producer,
            counts,
            stopping: Arc::default(),
            threads: Vec::new(),
        };
        bridge.answer_metrics(config)?;
        for rule in &config.to_kafka {
            let forwarder = Forwarder {
                rule: rule.clone(),
                name: config.name.clone(),
                producer: Arc::clone(&bridge.producer),
                dead: Arc::clone(&dead),
                counts: Arc::clone(&bridge.counts),
                stopping: Arc::clone(&bridge.stopping),
            };
            bridge.forward(forwarder, config.limits.waiting_messages)?;
        }
        if !config.to_zonda.is_empty() {
            bridge.read(config, dead)?;
        }
        Ok(bridge)
    }

    fn answer_metrics(&self, config: &BridgeConfig) -> Result<(), Failure> {
        let (producer, counts) = (Arc::clone(&self.producer), Arc::clone(&self.counts));
        let key = config.metrics.clone();
        let queryable = self.session.declare_queryable(config.metrics.clone());
        queryable
            .callback(move |query| {
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
        // what this session published itself came from a topic
        let subscriber = self
            .session
            .declare_subscriber(from)
            .allowed_origin(Locality::Remote)
            .with(FifoChannel::new(waiting))
            .wait()?;
        self.spawn("bridge-to-kafka", move || forwarder.run(&subscriber))
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
            stopping: Arc::clone(&self.stopping),
        };
        self.spawn("bridge-to-zonda", move || reader.run(&consumer))
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run);
        self.threads
            .push(thread.map_err(|error| Failure::doing(name, error))?);
        Ok(())
    }

    /// What it counts.
    pub fn counts(&self) -> &BridgeCounts {
        &self.counts
    }

    /// The node.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The counters, in the format of OpenMetrics.
    pub fn metrics(&self) -> String {
        self.counts
            .text(&self.producer.deliveries(), self.producer.queued())
    }

    /// Takes nothing more, delivers what was taken, and closes the node.
    ///
    /// # Blocking
    /// At most `limit` for the broker, and some seconds for the node.
    pub fn end(mut self, limit: Duration) -> BridgeEnding {
        self.stopping.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // a panic was logged where it happened, and what was not delivered is found in the counters
            let _ = thread.join();
        }
        let is_empty = self.producer.flush(limit);
        let undecided = if is_empty { 0 } else { self.producer.queued() };
        let undecided = u64::try_from(undecided).unwrap_or(u64::MAX);
        let metrics = self.metrics();
        if let Err(error) = self.session.close().wait() {
            tracing::warn!("the node did not close: {error}");
        }
        let dropped = self.counts.dead_dropped.load(Ordering::Relaxed);
        BridgeEnding {
            metrics,
            lost: dropped.saturating_add(undecided),
        }
    }
}

/// What the broker did not take becomes a dead letter.
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
