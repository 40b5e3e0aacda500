// SPDX-License-Identifier: MIT OR Apache-2.0

//! Threads that send answers, so that an asker that does not read delays no storage, and no other
//! asker.
//!
//! An answer goes in slices: the storage reads a slice, a thread here sends it and asks the storage
//! for the next. An asker that does not take a reply within some milliseconds is left to the
//! threads for slow askers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use zonda::bytes::Encoding;
use zonda::key_expr::KeyExpr;
use zonda::query::Query;
use zonda::{AnswerError, Operation, Wait};
use zonda_volume::{Entry, Value};

use crate::counts::{Counts, add};
use crate::queue::Queue;
use crate::sampling::Sampling;

/// Limit of the time that a reply may take before its asker counts as slow.
const QUICK: Duration = Duration::from_millis(20);
/// Limit of the time that a reply to a slow asker may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Threads for answers, and for those to slow askers.
const THREADS: usize = 2;
/// Limit of the answers to slow askers that wait: a part of those that a storage has at once, so
/// that askers that do not read leave room for the others.
const SLOW_MAX: usize = 256;

/// A query under way; counted until it is dropped.
pub struct Active {
    pub query: Query,
    /// Choice among the values of a history; `None` if all of them are sent.
    pub sampling: Option<Sampling>,
    /// True if another replica asks.
    pub is_of_replica: bool,
    counts: Arc<Counts>,
}

impl Active {
    pub fn new(query: Query, counts: &Arc<Counts>) -> Active {
        counts.active.fetch_add(1, Ordering::Relaxed);
        Active {
            query,
            sampling: None,
            is_of_replica: false,
            counts: Arc::clone(counts),
        }
    }

    pub fn of_replica(query: Query, counts: &Arc<Counts>) -> Active {
        let mut active = Active::new(query, counts);
        active.is_of_replica = true;
        active
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        // A panic of the volume ends the storage amid this query.
        if std::thread::panicking() {
            refuse(&self.query, STOPPED);
        }
        self.counts.active.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reply to queries of a storage that does not run.
pub const STOPPED: &str = "the storage has stopped";

/// Replies to a query that is not answered, unless its asker takes no reply now.
pub fn refuse(query: &Query, reason: &str) {
    let reply = query.reply_err(reason).encoding(Encoding::ZENOH_STRING);
    let _ = reply.timeout(Duration::ZERO).wait();
}

/// The rest of an answer: the keys from a name on.
pub struct Rest {
    pub active: Active,
    pub from: String,
}

/// A part of an answer.
pub struct Slice {
    pub active: Active,
    pub replies: VecDeque<Reply>,
    /// The name of the next key, and the queue to ask for it.
    pub next: Option<(String, Arc<Queue>)>,
}

/// One reply.
pub enum Reply {
    Entry(KeyExpr<'static>, Entry),
    /// An answer to another replica, with the value of its event.
    Replica(Vec<u8>, Option<Value>),
    Error(String),
}

#[derive(Default)]
struct Lane {
    state: Mutex<(VecDeque<Slice>, bool)>,
    filled: Condvar,
}

impl Lane {
    fn push(&self, slice: Slice) {
        self.state.lock().0.push_back(slice);
        self.filled.notify_one();
    }

    /// Adds a slice if fewer than `most` wait, else ends its query.
    fn push_within(&self, slice: Slice, most: usize) {
        let has_room = self.state.lock().0.len() < most;
        match has_room {
            true => self.push(slice),
            false => give_up(slice),
        }
    }

    fn take(&self) -> Option<Slice> {
        let mut state = self.state.lock();
        loop {
            match (state.0.pop_front(), state.1) {
                (Some(slice), _) => return Some(slice),
                (None, true) => return None,
                (None, false) => self.filled.wait(&mut state),
            }
        }
    }

    fn close(&self) {
        self.state.lock().1 = true;
        self.filled.notify_all();
    }
}

/// The threads that send answers. They end when this is dropped.
pub struct Answers {
    quick: Arc<Lane>,
    slow: Arc<Lane>,
    threads: Vec<JoinHandle<()>>,
}

impl Answers {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start() -> std::io::Result<Answers> {
        let mut answers = Answers {
            quick: Arc::default(),
            slow: Arc::default(),
            threads: Vec::new(),
        };
        for _ in 0..THREADS {
            let (quick, slow) = (Arc::clone(&answers.quick), Arc::clone(&answers.slow));
            let run = move || send_all(&quick, QUICK, |slice| slow.push_within(slice, SLOW_MAX));
            answers.threads.push(thread("zonda-answers", run)?);
            let slow = Arc::clone(&answers.slow);
            let run = move || send_all(&slow, PATIENCE, give_up);
            answers.threads.push(thread("zonda-answers-s", run)?);
        }
        Ok(answers)
    }

    pub fn send(&self, slice: Slice) {
        self.quick.push(slice);
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.quick.close();
        self.slow.close();
        for thread in self.threads.drain(..) {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

fn thread(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).spawn(run)
}

/// Sends the slices of a lane until it is closed; `too_slow` gets those that the asker does not take in time.
fn send_all(lane: &Lane, limit: Duration, too_slow: impl Fn(Slice)) {
    while let Some(mut slice) = lane.take() {
        match send(&mut slice, limit) {
            Sent::All => go_on(slice),
            Sent::Slowly => too_slow(slice),
            Sent::Over => {}
        }
    }
}

/// Ends the query of an asker that does not read.
fn give_up(slice: Slice) {
    add(&slice.active.counts.unsent, slice.replies.len() as u64);
}

/// Asks the storage for the next slice.
fn go_on(slice: Slice) {
    if let Some((from, queue)) = slice.next {
        let active = slice.active;
        queue.push_rest(Rest { active, from });
    }
}

enum Sent {
    All,
    /// The asker took none in time; the rest is still in the slice.
    Slowly,
    /// The asker does not wait any more.
    Over,
}

fn send(slice: &mut Slice, limit: Duration) -> Sent {
    let Slice {
        active, replies, ..
    } = slice;
    while let Some(reply) = replies.front() {
        match send_one(&active.query, reply, limit) {
            Ok(()) => add(&active.counts.replies, 1),
            Err(AnswerError::Over) => return Sent::Over,
            Err(AnswerError::OtherKey { .. } | AnswerError::FieldTooLong) => {
                add(&active.counts.failures, 1);
            }
            Err(_) => return Sent::Slowly,
        }
        replies.pop_front();
    }
    Sent::All
}

fn send_one(query: &Query, reply: &Reply, limit: Duration) -> Result<(), AnswerError> {
    match reply {
        Reply::Error(text) => {
            let reply = query
                .reply_err(text.as_str())
                .encoding(Encoding::ZENOH_STRING);
            reply.timeout(limit).typed().wait()
        }
        Reply::Replica(answer, value) => {
            let value = value.clone().unwrap_or_default();
            let reply = query.reply(query.key_expr(), value.payload);
            let reply = reply.encoding(&*value.encoding).attachment(answer.clone());
            reply.timeout(limit).typed().wait()
        }
        Reply::Entry(key, entry) => match &entry.value {
            Some(value) => {
                let reply = query.reply(key.clone(), value.payload.clone());
                let reply = reply.encoding(&*value.encoding).timestamp(entry.at);
                reply.timeout(limit).typed().wait()
            }
            None => {
                let reply = query.reply_del(key).timestamp(entry.at);
                reply.timeout(limit).typed().wait()
            }
        },
    }
}
