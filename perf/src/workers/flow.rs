// SPDX-License-Identifier: MIT OR Apache-2.0
//! The publisher and the subscriber of `perf thr`, on the public API like any application, and its
//! router, the node of `zonda router`. The workers obey the [`Order`]s of the process that started
//! them, so that exactly the messages between `go` and `stop` are offered, and all subscribers are
//! connected when these begin.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use zonda::bytes::ZBytes;
use zonda::pubsub::Publisher;
use zonda::{Outcome, PublishError, Session, Wait};
use zonda_codec::Qos;
use zonda_program::{Connection, Failure, node};
use zonda_router::node::{LinkStatus, Node};
use zonda_runtime::block_on;
use zondad::DaemonArgs;

use super::level::{self, OpenNode, put_by_node};
use super::orders::{Order, Orders, PATIENCE};
use super::reporter::Reporter;
use super::sequence_check::{PUBLISHERS_MAX, SequenceCheck, greeting};
use super::stamper::Stamper;
use super::timing::Pacer;
use crate::event::Event;
use crate::scenario::flow::Service;

/// The key of a declared publisher; keys put to in turn are below it.
const KEY: &str = "test/thr";
/// Interval of the greetings.
const GREET: Duration = Duration::from_millis(5);
/// The polling interval of a waiting subscriber.
const LOOK: Duration = Duration::from_millis(2);

/// The workers.
#[derive(Subcommand, Clone, Debug)]
pub enum Worker {
    /// Worker: count and check messages from thr-pub
    #[command(name = "thr-sub", hide = true)]
    Sub(Subscribe),
    /// Worker: publish messages that thr-sub can check
    #[command(name = "thr-pub", hide = true)]
    Pub(Publish),
    /// Worker: forward, as `zonda router` does, and count what is dropped
    #[command(name = "thr-router", hide = true)]
    Router(DaemonArgs),
}

impl Worker {
    /// Runs the worker until its input ends.
    pub fn run(&self) -> Result<(), Failure> {
        match self {
            Worker::Sub(options) => subscribe(options),
            Worker::Pub(options) => publish(options),
            Worker::Router(args) => forward(args),
        }
    }
}

/// Flags of the subscriber.
#[derive(Args, Clone, Debug)]
pub struct Subscribe {
    /// Payload of a message in bytes
    pub size: usize,
    /// Number of programs that publish
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=i64::from(PUBLISHERS_MAX)))]
    pub publishers: u16,
    /// Subscribe to all keys below, too
    #[arg(long)]
    pub keys: bool,
    /// Use the node below the session, without one
    #[arg(long)]
    pub node: bool,
    /// Milliseconds between two counts
    #[arg(long, value_name = "MS", default_value_t = 10)]
    pub period: u64,
    #[command(flatten)]
    pub connection: Connection,
}

/// Flags of the publisher.
#[derive(Args, Clone, Debug)]
pub struct Publish {
    /// Payload of a message in bytes
    pub size: usize,
    /// Its number among the publishers, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u16).range(..i64::from(PUBLISHERS_MAX)))]
    pub number: u16,
    /// Put on so many keys in turn, without declaring a publisher
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub keys: Option<u32>,
    /// Use the node below the session, without one
    #[arg(long, conflicts_with = "keys")]
    pub node: bool,
    #[command(flatten)]
    pub service: Service,
    #[command(flatten)]
    pub connection: Connection,
}

/// Returns the key expression that matches all published keys.
pub fn key_of_all(keys: bool) -> &'static str {
    if keys { "test/thr/*" } else { KEY }
}

/// Counts and checks messages until standard input ends.
fn subscribe(options: &Subscribe) -> Result<(), Failure> {
    let orders = Orders::listen();
    let door = OpenNode::open(&options.connection, options.node)?;
    let check = Arc::new(SequenceCheck::new(options.publishers));
    // count and check messages in the callback
    let counted = Arc::clone(&check);
    let period = Duration::from_millis(options.period);
    let reporter = Reporter::start(options.size, period, move || counted.messages());
    let checked = Arc::clone(&check);
    let _subscriber = door.subscribe(key_of_all(options.keys), move |payload| {
        checked.receive(payload);
        if let Some(reporter) = &reporter {
            reporter.arrived(|| checked.messages());
        }
    })?;
    door.ready();
    let mut heard = 0;
    // report contact, and the tally when it is ordered
    loop {
        if heard < u64::from(options.publishers) && check.heard() > heard {
            heard = check.heard();
            Event::Heard { publishers: heard }.say();
        }
        if let Some(Order::Report { offered, quiet }) = orders.next_within(LOOK) {
            settle(&check, &offered, quiet);
            let (seen, unstamped) = (check.seen(), check.unstamped());
            Event::Tally { seen, unstamped }.say();
        }
    }
}

/// Waits until all messages have arrived, or until none has arrived for `quiet`.
fn settle(check: &SequenceCheck, offered: &[u64], quiet: Duration) {
    let all: u64 = offered.iter().sum();
    let (mut messages, mut since) = (check.messages(), Instant::now());
    while messages < all && since.elapsed() < quiet {
        std::thread::sleep(LOOK);
        let now = check.messages();
        if now != messages {
            (messages, since) = (now, Instant::now());
        }
    }
}

/// Publishes as fast as the node accepts messages, from the order to go to the order to stop.
fn publish(options: &Publish) -> Result<(), Failure> {
    let orders = Orders::listen();
    let door = OpenNode::open(&options.connection, options.node)?;
    let service = options.service;
    match (options.keys, door.session()) {
        // keys in turn, without a declared publisher
        (Some(keys), Some(session)) => {
            let rotating = Rotating {
                session,
                keys: (0..keys).map(|n| format!("{KEY}/{n}")).collect(),
                at: 0,
                service,
            };
            flow(options, &door, &orders, rotating)
        }
        // a declared publisher
        _ => {
            let priority = service.priority.unwrap_or_default();
            let qos = Qos::new(priority, service.congestion.into(), service.express);
            match door.publisher(KEY, qos, service.reliability.into())? {
                level::Publisher::Session(publisher) => {
                    flow(options, &door, &orders, Declared(publisher))
                }
                level::Publisher::Node(publisher) => {
                    flow(options, &door, &orders, Below(publisher))
                }
            }
        }
    }
}

/// A way to publish. The trait is not a closure, because only a function can be marked to be
/// inlined: a payload that is made in registers and passed in memory stalls the processor.
trait Outlet {
    fn put(&mut self, payload: ZBytes) -> Result<Outcome, PublishError>;
}

struct Declared<'a>(Publisher<'a>);

impl Outlet for Declared<'_> {
    #[inline(always)]
    fn put(&mut self, payload: ZBytes) -> Result<Outcome, PublishError> {
        self.0.put(payload).outcome().wait()
    }
}

struct Below(node::Publisher);

impl Outlet for Below {
    #[inline(always)]
    fn put(&mut self, payload: ZBytes) -> Result<Outcome, PublishError> {
        put_by_node(&self.0, payload)
    }
}

struct Rotating<'a> {
    session: &'a Session,
    keys: Vec<String>,
    at: usize,
    service: Service,
}

impl Outlet for Rotating<'_> {
    #[inline(always)]
    fn put(&mut self, payload: ZBytes) -> Result<Outcome, PublishError> {
        let key = self.keys.get(self.at).map_or(KEY, String::as_str);
        self.at = if self.at + 1 < self.keys.len() {
            self.at + 1
        } else {
            0
        };
        self.session
            .put(key, payload)
            .priority(self.service.priority.unwrap_or_default())
            .congestion_control(self.service.congestion.into())
            .reliability(self.service.reliability.into())
            .express(self.service.express)
            .outcome()
            .wait()
    }
}

fn flow(
    options: &Publish,
    door: &OpenNode,
    orders: &Orders,
    mut outlet: impl Outlet,
) -> Result<(), Failure> {
    door.ready();
    // greet until the order to hush
    loop {
        outlet.put(ZBytes::from(greeting(options.number)))?;
        if orders.next_within(GREET) == Some(Order::Hush) {
            break;
        }
    }
    let before = dropped(&door.links());
    Event::Hushed.say();
    orders.until(&Order::Go);
    // publish between the orders to go and to stop
    let mut stamper = Stamper::new(options.number, options.size);
    let mut pacer = Pacer::new(options.service.pace);
    while !orders.is_stopped.load(Relaxed) {
        pacer.wait();
        outlet.put(stamper.payload())?;
    }
    let offered = stamper.made();
    let dropped = dropped(&door.links()) - before;
    Event::Offered { offered, dropped }.say();
    orders.wait()
}

/// Returns the number of messages that a node did not send because a queue was full, once for each
/// peer.
fn dropped(links: &[LinkStatus]) -> u64 {
    links.iter().map(|link| link.sent.dropped).sum()
}

/// Runs a router's node until standard input ends.
fn forward(args: &DaemonArgs) -> Result<(), Failure> {
    let orders = Orders::listen();
    let node = block_on(Node::open(args.to_config()?))?;
    let listening = node.locators().iter().map(ToString::to_string).collect();
    Event::Ready { listening }.say();
    loop {
        if let Some(Order::Report { .. }) = orders.next_within(PATIENCE) {
            let dropped = dropped(&node.links());
            Event::Dropped { dropped }.say();
        }
    }
}
