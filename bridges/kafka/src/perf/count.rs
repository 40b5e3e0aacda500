// SPDX-License-Identifier: MIT OR Apache-2.0
//! End-to-end check: each acknowledged message is searched in the topic, after a clean end of the
//! server and after a kill.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::{Message as _, Offset, TopicPartitionList};
use zonda_perf::Progress;
use zonda_program::{Failure, Interrupt, print, print_lines};

use super::arguments::PerfArgs;
use super::client::{Client, post};
use super::system::{Broker, Order, Server};
use crate::ingest::{Ack, On};

/// Time that the broker may be silent while the topic is read.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause of a client after a failure.
const REST: Duration = Duration::from_millis(10);

/// Way in which a server is ended.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// By a signal as a user sends it, when everything is acknowledged.
    Clean,
    /// By `kill -9`, when half of the messages are acknowledged.
    Killed,
}

/// A single count.
#[derive(Clone, Copy)]
struct Trial {
    on: On,
    ack: Ack,
    end: End,
}

/// Result of a count.
struct Found {
    acknowledged: u64,
    refused: u64,
    in_topic: u64,
    twice: u64,
    missing: u64,
    /// Milliseconds before the kill at which the first missing message was acknowledged.
    oldest: f64,
    seconds: f64,
}

/// Counts for every server: after a clean end, after a kill, and after a kill with the broker's acknowledgement.
pub(super) fn run(args: &PerfArgs, messages: u64, interrupt: &Interrupt) -> Result<(), Failure> {
    // every server with every kind of end
    let broker = Broker::of(args, interrupt)?;
    let ends = [
        (Ack::Queue, End::Clean),
        (Ack::Queue, End::Killed),
        (Ack::Broker, End::Killed),
    ];
    let trials: Vec<Trial> = args
        .servers()
        .into_iter()
        .flat_map(|on| ends.map(|(ack, end)| Trial { on, ack, end }))
        .collect();
    let mut progress = Progress::new(trials.len());
    let mut found = Vec::new();
    // each trial has a topic of its own
    for (number, trial) in trials.iter().enumerate() {
        let topic = format!("count-{}-{number}", std::process::id());
        progress.begin(&trial.name());
        let one = trial.count(&topic, messages, args, (&broker, interrupt))?;
        progress.step(&trial.name(), &format!("{} missing", one.missing));
        found.push(one);
    }
    drop(progress);
    show(&trials, &found, args);
    // a kill without the broker's acknowledgement may lose messages, the other trials may not
    let lost: u64 = trials
        .iter()
        .zip(&found)
        .filter(|(trial, _)| trial.end == End::Clean || trial.ack == Ack::Broker)
        .map(|(_, found)| found.missing)
        .sum();
    match lost {
        0 => Ok(()),
        lost => Err(Failure::Run(format!(
            "{lost} acknowledged messages are missing"
        ))),
    }
}

impl Trial {
    fn name(self) -> String {
        let ack = match self.ack {
            Ack::Queue => "queue",
            Ack::Broker => "broker",
        };
        let end = match self.end {
            End::Clean => "clean end",
            End::Killed => "kill -9",
        };
        format!("{} --ack {ack}, {end}", self.on)
    }

    fn count(
        self,
        topic: &str,
        messages: u64,
        args: &PerfArgs,
        surroundings: (&Broker, &Interrupt),
    ) -> Result<Found, Failure> {
        let (broker, interrupt) = surroundings;
        // a server, and a first message that creates the topic
        let order = Order {
            on: self.on,
            ack: self.ack,
            topic,
        };
        let mut server = Some(Server::start(order, args, broker, interrupt)?);
        let address = server.as_ref().map(|server| server.address);
        let address = address.ok_or_else(|| Failure::Run("no server".to_owned()))?;
        begin(topic, broker, address)?;
        // clients send until everything is acknowledged or the server is killed
        let clients = args.crowd();
        let sending = Sending {
            each: messages.div_ceil(clients as u64),
            start: Instant::now(),
            acknowledged: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        };
        let mut killed = None;
        let times = thread::scope(|scope| {
            let sending = &sending;
            let threads: Vec<_> = (0..clients)
                .map(|number| scope.spawn(move || sending.send(address, number as u64)))
                .collect();
            while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
                let is_half = sending.acknowledged.load(Ordering::Relaxed) >= messages / 2;
                if self.end == End::Killed
                    && is_half
                    && let Some(server) = server.take()
                {
                    killed = Some(sending.start.elapsed());
                    sending.is_over.store(true, Ordering::Relaxed);
                    server.kill();
                }
                sending
                    .is_over
                    .fetch_or(interrupt.happened(), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(1));
            }
            let threads = threads.into_iter();
            let times = threads.map(|thread| thread.join().unwrap_or_default());
            times.collect::<Vec<_>>()
        });
        // the end, after which the topic is complete
        let seconds = sending.start.elapsed().as_secs_f64();
        interrupt.check()?;
        if let Some(server) = server {
            server.end()?;
        }
        // numbers in the topic against acknowledged numbers
        let seen = read(topic, broker, sending.each * clients as u64)?;
        let mut found = compare(&times, &seen, killed.unwrap_or_default());
        found.refused = sending.refused.load(Ordering::Relaxed);
        found.seconds = seconds;
        Ok(found)
    }
}

/// State shared by the clients.
struct Sending {
    /// Messages of each client.
    each: u64,
    start: Instant,
    acknowledged: AtomicU64,
    refused: AtomicU64,
    is_over: AtomicBool,
}

impl Sending {
    /// Publishes the numbers of one client, each until it is acknowledged; returns the time of each
    /// acknowledgement in microseconds from the start, or 0 for numbers without one.
    fn send(&self, address: std::net::SocketAddr, client: u64) -> Vec<u32> {
        // each number is sent until it is acknowledged, so that it may arrive twice
        let mut times = vec![0; usize::try_from(self.each).unwrap_or(0)];
        let mut connection = None;
        for (number, time) in (client * self.each..).zip(&mut times) {
            while *time == 0 {
                if self.is_over.load(Ordering::Relaxed) {
                    return times;
                }
                // a refusal or a broken connection is retried after a pause
                match publish(&mut connection, address, number) {
                    Ok(202) => {
                        let now = u32::try_from(self.start.elapsed().as_micros());
                        *time = now.unwrap_or(u32::MAX).max(1);
                        self.acknowledged.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(_) => {
                        self.refused.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(REST);
                    }
                    Err(_) => {
                        connection = None;
                        thread::sleep(REST);
                    }
                }
            }
        }
        times
    }
}

fn publish(
    connection: &mut Option<Client>,
    address: std::net::SocketAddr,
    number: u64,
) -> std::io::Result<u16> {
    let mut client = match connection.take() {
        Some(client) => client,
        None => Client::connect(address)?,
    };
    let status = client.request(&post(&number.to_le_bytes(), false))?;
    *connection = Some(client);
    Ok(status)
}

/// Publishes a message that is not counted, and waits until it is in the topic: the first message
/// creates the topic, and messages that are acknowledged during its creation wait for it in
/// addition to the linger time.
fn begin(topic: &str, broker: &Broker, address: std::net::SocketAddr) -> Result<(), Failure> {
    let wrong = wrong(topic);
    let consumer = reader(topic, broker)?;
    match publish(&mut None, address, u64::MAX) {
        Ok(202) => {}
        Ok(status) => return Err(Failure::Run(format!("the first answer is {status}"))),
        Err(error) => return Err(Failure::doing("the first request", error)),
    }
    let end = Instant::now() + PATIENCE;
    let mut failed = None;
    while Instant::now() < end {
        for partition in partitions(&consumer, topic)? {
            match consumer.fetch_watermarks(topic, partition, PATIENCE) {
                Ok((low, high)) if low < high => return Ok(()),
                Ok(_) => failed = None,
                // a partition that was just created has no leader for a moment
                Err(error) => failed = Some(error),
            }
        }
        thread::sleep(REST);
    }
    if let Some(error) = failed {
        return Err(wrong(error));
    }
    let seconds = PATIENCE.as_secs();
    Err(Failure::Run(format!(
        "the first message did not come to {topic} within {seconds} s"
    )))
}

fn wrong(topic: &str) -> impl Fn(KafkaError) -> Failure + Copy {
    move |error| Failure::Run(format!("reading {topic}: {error}"))
}

fn reader(topic: &str, broker: &Broker) -> Result<BaseConsumer, Failure> {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &broker.brokers)
        .set("group.id", topic)
        .set("enable.auto.commit", "false");
    config.create().map_err(wrong(topic))
}

/// Returns how often each number is in the topic, 255 at most.
fn read(topic: &str, broker: &Broker, numbers: u64) -> Result<Vec<u8>, Failure> {
    // every partition from its beginning to its present end
    let wrong = wrong(topic);
    let consumer = reader(topic, broker)?;
    let mut all = TopicPartitionList::new();
    let mut ends = BTreeMap::new();
    for partition in partitions(&consumer, topic)? {
        let marks = consumer.fetch_watermarks(topic, partition, PATIENCE);
        let (low, high) = marks.map_err(wrong)?;
        all.add_partition_offset(topic, partition, Offset::Beginning)
            .map_err(wrong)?;
        if low < high {
            ends.insert(partition, high);
        }
    }
    consumer.assign(&all).map_err(wrong)?;
    // counts by number; each partition ends with its last offset
    let mut seen = vec![0u8; usize::try_from(numbers).unwrap_or(0)];
    while !ends.is_empty() {
        let message = consumer.poll(PATIENCE);
        let ended = || Failure::Run(format!("{topic} ends early: {ends:?} were promised"));
        let message = message.ok_or_else(ended)?.map_err(wrong)?;
        if ends.get(&message.partition()) == Some(&(message.offset() + 1)) {
            ends.remove(&message.partition());
        }
        let number = message.payload().and_then(|bytes| bytes.try_into().ok());
        let number = number
            .map(u64::from_le_bytes)
            .and_then(|n| usize::try_from(n).ok());
        if let Some(times) = number.and_then(|number| seen.get_mut(number)) {
            *times = times.saturating_add(1);
        }
    }
    Ok(seen)
}

/// Returns the partitions of a topic, which the broker may just be creating.
fn partitions(consumer: &BaseConsumer, topic: &str) -> Result<Vec<i32>, Failure> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Ok(metadata) = consumer.fetch_metadata(Some(topic), PATIENCE) {
            let topics = metadata
                .topics()
                .iter()
                .filter(|found| found.error().is_none());
            let ids = topics.flat_map(|found| found.partitions().iter().map(|one| one.id()));
            let ids: Vec<i32> = ids.collect();
            if !ids.is_empty() {
                return Ok(ids);
            }
        }
        thread::sleep(REST);
    }
    Err(Failure::Run(format!(
        "the broker does not show the topic {topic}"
    )))
}

fn compare(times: &[Vec<u32>], seen: &[u8], killed: Duration) -> Found {
    let mut found = Found {
        acknowledged: 0,
        refused: 0,
        in_topic: 0,
        twice: 0,
        missing: 0,
        oldest: 0.0,
        seconds: 0.0,
    };
    for (time, seen) in times.iter().flatten().zip(seen) {
        found.in_topic += u64::from(*seen > 0);
        found.twice += u64::from(*seen > 1);
        found.acknowledged += u64::from(*time > 0);
        if *time > 0 && *seen == 0 {
            found.missing += 1;
            let age = killed.as_secs_f64() * 1e3 - f64::from(*time) / 1e3;
            found.oldest = found.oldest.max(age);
        }
    }
    found
}

fn show(trials: &[Trial], found: &[Found], args: &PerfArgs) {
    print(format_args!(
        "{} clients, linger {} ms; missing: acknowledged by 202 and not in the topic",
        args.crowd(),
        args.producer.linger_ms
    ));
    let rows = trials.iter().zip(found).map(|(trial, found)| {
        vec![
            trial.name(),
            found.acknowledged.to_string(),
            found.refused.to_string(),
            found.in_topic.to_string(),
            found.twice.to_string(),
            found.missing.to_string(),
            format!("{:.1}", found.oldest),
            format!("{:.1}", found.seconds),
        ]
    });
    let heads = [
        "server",
        "202",
        "503",
        "in the topic",
        "twice",
        "missing",
        "oldest missing, ms before the kill",
        "s",
    ];
    print_lines(format_args!("{}", zonda_program::table(heads, rows, 1..)));
}
