// SPDX-License-Identifier: MIT OR Apache-2.0
//! Producer that the server and the bridge share: its options, and the outcome of every message.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use clap::Args;
use rdkafka::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::OwnedHeaders;
use rdkafka::producer::{
    BaseProducer, BaseRecord, DeliveryResult, Producer as _, ProducerContext, PurgeConfig,
};
use zonda_program::Failure;
use zonda_runtime::oneshot;

/// Poll interval of the thread that receives delivery reports, and thereby the bound on the time to
/// end it.
const POLL: Duration = Duration::from_millis(100);

/// Options of the producer.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Kafka")]
pub struct ProducerArgs {
    /// Brokers to begin with, HOST:PORT, separated by commas
    #[arg(long, value_name = "LIST", default_value = "127.0.0.1:19092")]
    pub brokers: String,
    /// Time that a message may wait for more messages in its request, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5)]
    pub linger_ms: u32,
    /// The most bytes of one batch
    #[arg(long, value_name = "BYTES", default_value_t = 131_072)]
    pub batch_bytes: u32,
    /// Compression of batches: none, gzip, snappy, lz4 or zstd
    #[arg(long, value_name = "NAME", default_value = "lz4", value_parser = ["none", "gzip", "snappy", "lz4", "zstd"])]
    pub compression: String,
    /// The most messages that wait for the broker; beyond it new ones are refused
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub queue_messages: u32,
    /// The most kibibytes that wait for the broker
    #[arg(long, value_name = "KIB", default_value_t = 65_536)]
    pub queue_kib: u32,
    /// Acknowledgements before a message counts as delivered: 0, 1 or all
    #[arg(long, value_name = "WHO", default_value = "all", value_parser = ["0", "1", "all"])]
    pub acks: String,
    /// Time after which an unacknowledged message counts as lost, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 30_000)]
    pub delivery_ms: u32,
    /// Any other property of the client library (repeatable)
    #[arg(long = "property", value_name = "NAME=VALUE", value_parser = property)]
    pub properties: Vec<(String, String)>,
}

/// Parses a property of the client library, `name=value`.
fn property(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("is not of the form NAME=VALUE".to_owned()),
    }
}

impl ProducerArgs {
    /// Returns the options as a configuration of the client library.
    pub fn to_config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", &self.brokers)
            .set("client.id", "zonda-kafka")
            .set("linger.ms", self.linger_ms.to_string())
            .set("batch.size", self.batch_bytes.to_string())
            .set("compression.type", &self.compression)
            .set(
                "queue.buffering.max.messages",
                self.queue_messages.to_string(),
            )
            .set("queue.buffering.max.kbytes", self.queue_kib.to_string())
            .set("acks", &self.acks)
            .set("message.timeout.ms", self.delivery_ms.to_string())
            // a broker that returns is found soon
            .set("reconnect.backoff.max.ms", "1000")
            .set("topic.metadata.refresh.fast.interval.ms", "100");
        for (name, value) in &self.properties {
            config.set(name, value);
        }
        config
    }

    /// Returns the options as arguments of a command line.
    pub fn to_arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> = [
            ("--brokers", self.brokers.clone()),
            ("--linger-ms", self.linger_ms.to_string()),
            ("--batch-bytes", self.batch_bytes.to_string()),
            ("--compression", self.compression.clone()),
            ("--queue-messages", self.queue_messages.to_string()),
            ("--queue-kib", self.queue_kib.to_string()),
            ("--acks", self.acks.clone()),
            ("--delivery-ms", self.delivery_ms.to_string()),
        ]
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value])
        .collect();
        for (name, value) in &self.properties {
            arguments.extend(["--property".to_owned(), format!("{name}={value}")]);
        }
        arguments
    }
}

/// Delivery counts so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deliveries {
    /// Messages that the broker has acknowledged.
    pub delivered: u64,
    /// Failed messages, by the client library's reason.
    pub failed: BTreeMap<String, u64>,
}

impl Deliveries {
    /// Returns the number of failed messages that [`Producer::give_up`] purged.
    pub fn given_up(&self) -> u64 {
        let reasons = ["PurgeQueue", "PurgeInflight"];
        reasons
            .iter()
            .filter_map(|reason| self.failed.get(*reason))
            .sum()
    }

    /// Writes the counters in the format of OpenMetrics, with names that begin with `prefix`.
    pub fn write(&self, prefix: &str, out: &mut String) {
        // writing to a text does not fail
        let _ = writeln!(out, "# TYPE {prefix}_delivered counter");
        let _ = writeln!(out, "{prefix}_delivered_total {}", self.delivered);
        let _ = writeln!(out, "# TYPE {prefix}_undelivered counter");
        for (reason, count) in &self.failed {
            let _ = writeln!(
                out,
                "{prefix}_undelivered_total{{reason=\"{reason}\"}} {count}"
            );
        }
    }
}

/// A message that the broker did not accept.
#[derive(Debug)]
pub struct Undelivered<'m> {
    /// Topic of the message.
    pub topic: &'m str,
    /// Payload of the message.
    pub payload: &'m [u8],
    /// Reason in the client library's words.
    pub reason: &'m str,
}

/// Callback for messages that the broker did not accept.
pub type OnFailure = Box<dyn Fn(&Undelivered<'_>) + Send + Sync>;

/// Senders for the delivery results of single messages.
#[derive(Default)]
struct Waiting {
    senders: BTreeMap<usize, oneshot::Sender<Result<(), String>>>,
    /// Last number in use. Number 0 stands for a message that has no waiter.
    last: usize,
}

/// Context that the client library reports to.
struct Reports {
    delivered: AtomicU64,
    failed: Mutex<BTreeMap<String, u64>>,
    waiting: Mutex<Waiting>,
    on_failure: Option<OnFailure>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reports {
    fn wait(&self) -> (usize, oneshot::Receiver<Result<(), String>>) {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = lock(&self.waiting);
        waiting.last = waiting.last.wrapping_add(1).max(1);
        let number = waiting.last;
        waiting.senders.insert(number, sender);
        (number, receiver)
    }

    fn give_up(&self, number: usize) {
        lock(&self.waiting).senders.remove(&number);
    }
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        match level {
            RDKafkaLogLevel::Debug | RDKafkaLogLevel::Info => {
                tracing::debug!("{facility}: {message}");
            }
            // the library reports a missing broker for each attempt, so these lines are for the log
            // only
            _ => tracing::info!("{facility}: {message}"),
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::warn!("{error}: {reason}");
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, number: usize) {
        // counters, and the callback for failed messages
        let result = match result {
            Ok(_) => {
                self.delivered.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err((error, message)) => {
                use rdkafka::Message;
                let reason = reason(error);
                *lock(&self.failed).entry(reason.clone()).or_default() += 1;
                if let Some(on_failure) = &self.on_failure {
                    on_failure(&Undelivered {
                        topic: message.topic(),
                        payload: message.payload().unwrap_or_default(),
                        reason: &reason,
                    });
                }
                Err(reason)
            }
        };
        // a future that waits for this message gets its result
        if number == 0 {
            return;
        }
        let sender = lock(&self.waiting).senders.remove(&number);
        if let Some(sender) = sender {
            sender.send(result);
        }
    }
}

/// Returns the library's reason in short, such as `MessageTimedOut`.
fn reason(error: &KafkaError) -> String {
    match error.rdkafka_error_code() {
        Some(code) => format!("{code:?}"),
        None => error.to_string(),
    }
}

/// A message for the broker.
#[derive(Debug, Default)]
pub struct Record<'m> {
    /// Topic of the message.
    pub topic: &'m str,
    /// Key that decides about the partition; `None` for any partition.
    pub key: Option<&'m [u8]>,
    /// Content; `None` marks the key as deleted.
    pub payload: Option<&'m [u8]>,
    /// Name and value of each header.
    pub headers: Vec<(&'m str, &'m [u8])>,
}

/// Reason for refusing a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The limit of messages that wait for the broker is reached.
    QueueFull,
    /// The message is larger than any broker accepts.
    TooLarge,
    /// Another reason, in the client library's words.
    Other(String),
}

/// Future of the broker's answer to a queued message; it is cancelled if the producer ends before.
pub type Delivery = oneshot::Receiver<Result<(), String>>;

/// A base producer with a thread, `kafka-reports`, that receives the delivery reports.
pub struct Producer {
    producer: Arc<BaseProducer<Reports>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Producer {
    /// Starts a producer. The broker need not be available.
    ///
    /// # Errors
    /// A property is unknown or out of range, or the system has no thread left.
    pub fn start(config: &ClientConfig, on_failure: Option<OnFailure>) -> Result<Self, Failure> {
        let reports = Reports {
            delivered: AtomicU64::new(0),
            failed: Mutex::default(),
            waiting: Mutex::default(),
            on_failure,
        };
        // the client library checks all properties here
        let producer: BaseProducer<Reports> = config
            .create_with_context(reports)
            .map_err(|error| Failure::Usage(error.to_string()))?;
        let producer = Arc::new(producer);
        let ended = Arc::new(AtomicBool::new(false));
        // reports arrive only while a thread polls the producer
        let thread = {
            let (producer, ended) = (Arc::clone(&producer), Arc::clone(&ended));
            thread::Builder::new()
                .name("kafka-reports".to_owned())
                .spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        producer.poll(POLL);
                    }
                })
                .map_err(|error: io::Error| Failure::doing("a thread for reports", error))?
        };
        Ok(Producer {
            producer,
            ended,
            thread: Some(thread),
        })
    }

    /// Queues a message. The outcome of its delivery is counted.
    ///
    /// # Errors
    /// Why it was not taken; the broker never sees it then.
    pub fn send(&self, record: Record<'_>) -> Result<(), Refused> {
        self.queue(record, 0)
    }

    /// Queues a message, and returns a future of its delivery.
    ///
    /// # Errors
    /// As [`Producer::send`].
    pub fn send_watched(&self, record: Record<'_>) -> Result<Delivery, Refused> {
        let (number, delivery) = self.reports().wait();
        let queued = self.queue(record, number);
        if queued.is_err() {
            self.reports().give_up(number);
        }
        queued.map(|()| delivery)
    }

    fn queue(&self, record: Record<'_>, number: usize) -> Result<(), Refused> {
        // the record in the library's form; the number comes back with its report
        let mut sent: BaseRecord<'_, [u8], [u8], usize> =
            BaseRecord::with_opaque_to(record.topic, number);
        if let Some(payload) = record.payload {
            sent = sent.payload(payload);
        }
        if let Some(key) = record.key {
            sent = sent.key(key);
        }
        if !record.headers.is_empty() {
            let mut headers = OwnedHeaders::new_with_capacity(record.headers.len());
            for (key, value) in record.headers {
                let value = Some(value);
                headers = headers.insert(rdkafka::message::Header { key, value });
            }
            sent = sent.headers(headers);
        }
        // errors that a caller distinguishes have variants of their own
        self.producer
            .send(sent)
            .map_err(|(error, _)| match error.rdkafka_error_code() {
                Some(RDKafkaErrorCode::QueueFull) => Refused::QueueFull,
                Some(RDKafkaErrorCode::MessageSizeTooLarge) => Refused::TooLarge,
                _ => Refused::Other(reason(&error)),
            })
    }

    fn reports(&self) -> &Reports {
        self.producer.context()
    }

    /// Returns the number of messages that the broker has not acknowledged.
    pub fn queued(&self) -> usize {
        usize::try_from(self.producer.in_flight_count()).unwrap_or(0)
    }

    /// Returns the delivery counts of all other messages.
    pub fn deliveries(&self) -> Deliveries {
        Deliveries {
            delivered: self.reports().delivered.load(Ordering::Relaxed),
            failed: lock(&self.reports().failed).clone(),
        }
    }

    /// Waits until the broker has acknowledged every message, at most `limit`; returns true if it
    /// has.
    ///
    /// # Blocking
    /// At most `limit`.
    pub fn flush(&self, limit: Duration) -> bool {
        self.producer.flush(limit).is_ok()
    }

    /// Purges unacknowledged messages: all of them are reported as failed, also messages that the
    /// broker may have stored without its answer having arrived. Waits for the reports, at most
    /// `limit`; returns true if all of them arrived.
    ///
    /// # Blocking
    /// At most `limit`, and as long as [`OnFailure`] takes for what one report is about.
    pub fn give_up(&self, limit: Duration) -> bool {
        self.producer
            .purge(PurgeConfig::default().queue().inflight());
        self.flush(limit)
    }

    /// Returns the number of brokers if one of them answers within `limit`, and the error
    /// otherwise.
    ///
    /// # Blocking
    /// At most `limit`.
    pub fn reach(&self, limit: Duration) -> Result<usize, String> {
        let metadata = self.producer.client().fetch_metadata(None, limit);
        let metadata = metadata.map_err(|error| error.to_string())?;
        Ok(metadata.brokers().len())
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // a panic of the thread has no effect that is not counted
            let _ = thread.join();
        }
    }
}
