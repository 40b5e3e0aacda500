// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answering worker, which returns each message unchanged.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use zonda::Wait;
use zonda::qos::{CongestionControl, Priority};
use zonda_program::{Connection, Failure, Interrupt, node, priority, seconds};

use super::level::OpenNode;
use super::load::KEY_LOAD;
use super::recorder::Answer;

/// The key of messages to be answered.
pub const KEY_PING: &str = "test/ping";
/// The key of answers.
pub const KEY_PONG: &str = "test/pong";
/// The measured message whose answer the stall delays.
const STALLED: u64 = 100;

/// Quality of service of the messages.
#[derive(Args, Clone, Copy, Debug)]
pub struct Quality {
    /// Let messages share batches instead of sending each at once
    #[arg(long)]
    pub no_express: bool,
    /// Priority of the messages, 1 (most urgent) to 7
    #[arg(long, value_name = "N", value_parser = priority)]
    pub priority: Option<Priority>,
}

/// Flags of the answering worker.
#[derive(Args, Clone, Debug)]
pub struct Answering {
    #[command(flatten)]
    quality: Quality,
    /// Use the node below the session, without one
    #[arg(long, conflicts_with = "stall")]
    node: bool,
    /// Stand still once, for so long, before one of the first answers
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    stall: Option<Duration>,
    #[command(flatten)]
    connection: Connection,
}

/// Answers until the process is ended.
pub fn answer(answering: &Answering) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let quality = answering.quality;
    let (priority, express) = (quality.priority.unwrap_or_default(), !quality.no_express);
    let door = OpenNode::open(&answering.connection, answering.node)?;
    // a node without a session has neither a load nor a stall
    let session = match &door {
        OpenNode::Session(session) => session,
        OpenNode::Node(node) => {
            let publisher = node::Publisher::declare(node, KEY_PONG, priority, express)?;
            let _subscriber = node::Subscriber::declare(node, KEY_PING, move |delivery| {
                if let Err(error) = publisher.put(&node::payload(delivery)) {
                    tracing::warn!("no answer on {KEY_PONG}: {error}");
                }
            })?;
            door.ready();
            interrupt.wait();
            return Ok(());
        }
    };
    let publisher = session
        .declare_publisher(KEY_PONG)
        .congestion_control(CongestionControl::Block)
        .priority(priority)
        .express(express)
        .wait()?;
    // all other messages on the link are read and dropped
    let _load = session
        .declare_subscriber(KEY_LOAD)
        .callback(|_sample| {})
        .wait()?;
    // the answers, one of them late if requested
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
    door.ready();
    interrupt.wait();
    Ok(())
}
