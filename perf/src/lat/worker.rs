// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flags of the workers, and the one that answers. `asking` and `bare` ask.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand};
use zonda::Wait;
use zonda::qos::{CongestionControl, Priority};
use zonda_program::{Connection, Failure, Interrupt, node, priority, seconds};

use super::book::Answer;
use super::load::KEY_LOAD;
use super::rates::rate;
use super::{asking, bare};
use crate::bare::Side;
use crate::level::{Door, Level};
use crate::thr::tally::STAMP;
use crate::worker::{KEY_PING, KEY_PONG, ready};

/// The workers of `perf lat`.
#[derive(Subcommand, Clone, Debug)]
pub enum Worker {
    /// Worker: ask lat-pong, back to back or on a schedule
    #[command(name = "lat-ping", hide = true)]
    Ask(Box<Asking>),
    /// Worker: answer lat-ping
    #[command(name = "lat-pong", hide = true)]
    Answer(Box<Answering>),
    /// Worker: ask bare-pong, back to back or on a schedule
    #[command(name = "lat-bare-ping", hide = true)]
    BareAsk(BareAsking),
}

impl Worker {
    /// Does it.
    pub fn run(&self) -> Result<(), Failure> {
        match self {
            Worker::Ask(asking) => asking::ask(asking),
            Worker::Answer(answering) => answer(answering),
            Worker::BareAsk(asking) => bare::ask(asking),
        }
    }
}

/// How long, and how often.
#[derive(Args, Clone, Copy, Debug)]
pub struct Pace {
    /// Record for this long
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub seconds: Duration,
    /// Before that, go round without recording for this long
    #[arg(long, value_name = "SECONDS", default_value = "0.3", value_parser = seconds)]
    pub warm_up: Duration,
    /// Messages per second, each sent when it is due [default: back to back]
    #[arg(long, value_name = "N", value_parser = rate)]
    pub rate: Option<f64>,
}

/// How messages are sent.
#[derive(Args, Clone, Copy, Debug)]
pub struct Manner {
    /// Let messages share batches instead of sending each at once
    #[arg(long)]
    pub no_express: bool,
    /// Priority of the messages, 1 (most urgent) to 7
    #[arg(long, value_name = "N", value_parser = priority)]
    pub priority: Option<Priority>,
}

impl Manner {
    /// The priority of messages and answers.
    pub fn priority(self) -> Priority {
        self.priority.unwrap_or_default()
    }
}

/// The asking worker of a node.
#[derive(Args, Clone, Debug)]
pub struct Asking {
    /// Payload of a message in bytes, 8 at least
    #[arg(value_parser = stamped_size)]
    pub size: usize,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub manner: Manner,
    /// Use the node below the session, without one
    #[arg(long, conflicts_with = "load")]
    pub node: bool,
    /// Saturate the same link with samples of this many bytes at priority 5
    #[arg(long, value_name = "BYTES")]
    pub load: Option<usize>,
    #[command(flatten)]
    pub connection: Connection,
}

/// The answering worker of a node.
#[derive(Args, Clone, Debug)]
pub struct Answering {
    #[command(flatten)]
    pub manner: Manner,
    /// Use the node below the session, without one
    #[arg(long, conflicts_with = "stall")]
    pub node: bool,
    /// Stand still once, for so long, before one of the first answers
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub stall: Option<Duration>,
    #[command(flatten)]
    pub connection: Connection,
}

/// The asking worker of bare sockets.
#[derive(Args, Clone, Debug)]
pub struct BareAsking {
    /// Payload of a message in bytes, 8 at least
    #[arg(value_parser = stamped_size)]
    pub size: usize,
    #[command(flatten)]
    pub side: Side,
    #[command(flatten)]
    pub pace: Pace,
}

/// A size that a stamp fits in.
fn stamped_size(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(size) if size >= STAMP => Ok(size),
        _ => Err(format!("expected {STAMP} bytes or more")),
    }
}

/// The measured message whose answer a stall holds up.
const STALLED: u64 = 100;

/// Answers until the process is ended.
fn answer(answering: &Answering) -> Result<(), Failure> {
    if answering.node {
        return answer_by_node(answering);
    }
    let interrupt = Interrupt::listen()?;
    let session = answering.connection.open()?;
    let publisher = session
        .declare_publisher(KEY_PONG)
        .congestion_control(CongestionControl::Block)
        .priority(answering.manner.priority())
        .express(!answering.manner.no_express)
        .wait()?;
    // whatever else comes through the link is read and dropped
    let _load = session
        .declare_subscriber(KEY_LOAD)
        .callback(|_sample| {})
        .wait()?;
    let stall = answering.stall;
    let has_stalled = AtomicBool::new(false);
    let _subscriber = session
        .declare_subscriber(KEY_PING)
        .callback(move |sample| {
            let payload = sample.payload();
            if let Some(stall) = stall
                && Answer::read(payload.as_slice()) == Answer::To(STALLED)
                && !has_stalled.swap(true, Ordering::Relaxed)
            {
                thread::sleep(stall);
            }
            if let Err(error) = publisher.put(payload.clone()).wait() {
                tracing::warn!("no answer on {KEY_PONG}: {error}");
            }
        })
        .wait()?;
    ready(&session);
    interrupt.wait();
    Ok(())
}

/// The same without a session.
fn answer_by_node(answering: &Answering) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let door = Door::open(&answering.connection, Level::Node)?;
    let Door::Node(node) = &door else {
        return Ok(());
    };
    let manner = answering.manner;
    let publisher =
        node::Publisher::declare(node, KEY_PONG, manner.priority(), !manner.no_express)?;
    let _subscriber = node::Subscriber::declare(node, KEY_PING, move |delivery| {
        if let Err(error) = publisher.put(&node::payload(delivery)) {
            tracing::warn!("no answer on {KEY_PONG}: {error}");
        }
    })?;
    door.ready();
    interrupt.wait();
    Ok(())
}
