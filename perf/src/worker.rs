// SPDX-License-Identifier: MIT OR Apache-2.0
//! This project's own part in a measurement: publisher, subscriber, the one who asks and the one who
//! answers, written as any application would be, on the public API.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use zonda::bytes::ZBytes;
use zonda::pubsub::Publisher;
use zonda::qos::CongestionControl;
use zonda::{Session, Wait};
use zonda_program::{Connection, Failure, Interrupt, pattern};

use super::event::Event;
use super::meter::Meter;
use super::round_trips::{Pace, measure};

const KEY_THROUGHPUT: &str = "test/thr";
/// Where messages go that are to be answered.
pub const KEY_PING: &str = "test/ping";
/// Where answers come.
pub const KEY_PONG: &str = "test/pong";

/// A first message without an answer is sent again after this long.
const RETRY: Duration = Duration::from_millis(50);
/// How long the other side may take to show up.
const CONTACT: Duration = Duration::from_secs(15);
/// How long an answer may take.
pub const ANSWER: Duration = Duration::from_secs(10);

/// Counts messages until the process is ended.
pub fn subscribe(connection: &Connection) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let session = connection.open()?;
    let meter = Meter::start();
    let _subscriber = session
        .declare_subscriber(KEY_THROUGHPUT)
        // there is one publisher and so one link, whose task alone calls this
        .callback(move |_sample| meter.count_one())
        .wait()?;
    ready(&session);
    interrupt.wait();
    Ok(())
}

/// Publishes messages of `size` bytes until the process is ended.
pub fn publish(connection: &Connection, size: usize, express: bool) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let session = connection.open()?;
    let publisher = session
        .declare_publisher(KEY_THROUGHPUT)
        .congestion_control(CongestionControl::Block)
        .express(express)
        .wait()?;
    let payload = ZBytes::from(pattern(size));
    ready(&session);
    while !interrupt.happened() {
        publisher.put(payload.clone()).wait()?;
    }
    Ok(())
}

/// Answers until the process is ended.
pub fn pong(connection: &Connection) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let session = connection.open()?;
    let publisher = session
        .declare_publisher(KEY_PONG)
        .congestion_control(CongestionControl::Block)
        .express(true)
        .wait()?;
    let _subscriber = session
        .declare_subscriber(KEY_PING)
        .callback(move |sample| {
            if let Err(error) = publisher.put(sample.payload().clone()).wait() {
                tracing::warn!("no answer on {KEY_PONG}: {error}");
            }
        })
        .wait()?;
    ready(&session);
    interrupt.wait();
    Ok(())
}

/// Measures round trips of `size` bytes; the answers come through a queue.
pub fn ping(connection: &Connection, size: usize, pace: &Pace) -> Result<(), Failure> {
    let session = connection.open()?;
    let answers = session.declare_subscriber(KEY_PONG).wait()?;
    let publisher = asking(&session)?;
    let message = ZBytes::from(pattern(size));
    ready(&session);

    let send = || {
        publisher.put(message.clone()).wait()?;
        Ok(())
    };
    let is_answered = |patience| Ok(answers.recv_timeout(patience)?.is_some());
    contact(send, is_answered)?;
    measure(pace, || {
        send()?;
        match is_answered(ANSWER)? {
            true => Ok(()),
            false => Err(silence(ANSWER)),
        }
    })
}

/// Repeats the first message until one comes back, and waits for the answers to the repeats. `is_answered` waits for an
/// answer so long at most.
pub fn contact(
    send: impl Fn() -> Result<(), Failure>,
    is_answered: impl Fn(Duration) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let start = Instant::now();
    let mut unanswered = 0;
    loop {
        send()?;
        if is_answered(RETRY)? {
            break;
        }
        unanswered += 1;
        if start.elapsed() > CONTACT {
            return Err(silence(CONTACT));
        }
    }
    while unanswered > 0 && is_answered(RETRY)? {
        unanswered -= 1;
    }
    Ok(())
}

/// The next word of the callback to the main thread; `None` if none comes within `patience`.
pub fn next<T>(words: &Receiver<T>, patience: Duration) -> Result<Option<T>, Failure> {
    match words.recv_timeout(patience) {
        Ok(word) => Ok(Some(word)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(Failure::Run("the session has ended".into())),
    }
}

/// No answer came in time.
pub fn silence(patience: Duration) -> Failure {
    Failure::Run(format!("no answer on {KEY_PONG} within {patience:?}"))
}

/// The publisher of the one who asks.
pub fn asking(session: &Session) -> Result<Publisher<'static>, Failure> {
    let publisher = session
        .declare_publisher(KEY_PING)
        .congestion_control(CongestionControl::Block)
        .express(true)
        .wait()?;
    Ok(publisher)
}

/// Tells the process that started this one where to connect to.
pub fn ready(session: &Session) {
    let listening = session
        .info()
        .locators()
        .iter()
        .map(ToString::to_string)
        .collect();
    Event::Ready { listening }.say();
}
