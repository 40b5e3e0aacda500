// SPDX-License-Identifier: MIT OR Apache-2.0

//! An open question of this node's session: its answers and its end, one after the other, to the user's code.
//!
//! A thread that brings something books it in the order in which the table decided, under the node's lock; one that finds nobody
//! at it delivers, with no lock held, and goes on until nothing is left. So calls never overlap, and a call may do
//! anything, also what brings more of the same question.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::{self, ThreadId},
    time::Instant,
};

use event_listener::{Event, EventListener, Listener};
use zonda_codec::{KeyExpr, Qos};
use zonda_transport::sync::Mutex;

use crate::query::{Answer, AnswerBody, Answers, QuestionEnd, copied::Copied};

/// Bytes of answers that may wait for a callback that is at work on another thread, before the source of more is paused.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// How many such answers.
const WAITING_MAX: usize = 1024;

/// A question that has not ended.
pub(crate) struct OpenQuestion {
    key: KeyExpr<'static>,
    any_key: bool,
    qos: Qos,
    answers: Arc<dyn Answers>,
    turn: Mutex<Turn>,
    /// Notified when what waited is delivered.
    room: Event,
}

#[derive(Default)]
struct Turn {
    queue: VecDeque<News>,
    bytes: usize,
    /// The thread that delivers.
    deliverer: Option<ThreadId>,
    /// The end is booked: nothing comes behind it.
    over: bool,
}

/// A notice to the asker.
enum News {
    Answer(Box<Copied>),
    End(QuestionEnd),
}

/// What the thread that brought something has to do next, when no lock is held any more.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Next {
    /// [`OpenQuestion::deliver`] the answer, which was not booked.
    Deliver,
    /// [`OpenQuestion::drain`] what was booked.
    Drain,
    /// Nothing: another thread, or a call further out on this one, is at it.
    Nothing,
    /// The same, and what waits is more than enough: wait, if possible, before bringing more.
    Crowded,
}

impl OpenQuestion {
    pub(crate) fn new(
        key: KeyExpr<'static>,
        any_key: bool,
        qos: Qos,
        answers: Arc<dyn Answers>,
    ) -> Arc<Self> {
        Arc::new(Self {
            key,
            any_key,
            qos,
            answers,
            turn: Mutex::default(),
            room: Event::new(),
        })
    }

    /// The key of the question.
    pub(crate) fn key(&self) -> &KeyExpr<'static> {
        &self.key
    }

    /// The question's treatment.
    pub(crate) fn qos(&self) -> Qos {
        self.qos
    }

    /// Whether an answer on `key` is one to this question.
    pub(crate) fn accepts(&self, key: &KeyExpr<'_>) -> bool {
        self.any_key || key == &self.key || key.intersects(&self.key)
    }

    /// Takes the turn for an answer, or books a copy of it.
    pub(crate) fn enter(&self, answer: &Answer<'_>) -> Next {
        let mut turn = self.turn.lock();
        if turn.over {
            return Next::Nothing;
        }
        if turn.deliverer.is_none() {
            turn.deliverer = Some(thread::current().id());
            return Next::Deliver;
        }
        turn.push(Copied::of(answer));
        match turn.is_crowded() {
            true => Next::Crowded,
            false => Next::Nothing,
        }
    }

    /// Books a copy of an answer.
    pub(crate) fn book(&self, answer: &Answer<'_>) -> Next {
        let mut turn = self.turn.lock();
        if turn.over {
            return Next::Nothing;
        }
        turn.push(Copied::of(answer));
        turn.take()
    }

    /// Books `count` errors that say `Timeout`, and the end.
    pub(crate) fn end(&self, how: QuestionEnd, timeouts: usize) -> Next {
        let mut turn = self.turn.lock();
        if turn.over {
            return Next::Nothing;
        }
        turn.over = true;
        for _ in 0..timeouts {
            turn.push(Copied::timeout(self));
        }
        turn.queue.push_back(News::End(how));
        // Nobody has to be held up for what comes behind the end.
        self.room.notify(usize::MAX);
        turn.take()
    }

    /// Gives an answer to the user's code, then what was booked meanwhile. For the thread that has got the turn.
    pub(crate) fn deliver(&self, answer: &Answer<'_>) {
        self.call(|| self.answers.reply(answer));
        self.drain();
    }

    /// Gives what is booked to the user's code. For the thread that has got the turn.
    pub(crate) fn drain(&self) {
        loop {
            let mut turn = self.turn.lock();
            let Some(news) = turn.queue.pop_front() else {
                turn.deliverer = None;
                turn.queue = VecDeque::new();
                drop(turn);
                self.room.notify(usize::MAX);
                return;
            };
            let had_drained = turn.has_drained();
            if let News::Answer(copied) = &news {
                turn.bytes -= copied.weight();
            }
            let drained = !had_drained && turn.has_drained();
            drop(turn);
            if drained {
                self.room.notify(usize::MAX);
            }
            match news {
                News::Answer(copied) => {
                    copied.lend(self.qos, |answer| self.call(|| self.answers.reply(answer)));
                }
                News::End(how) => self.call(|| self.answers.end(how)),
            }
        }
    }

    /// Waits, at most until `deadline`, until what waits is little. False if it is not.
    pub(crate) fn wait_room(&self, deadline: Instant) -> bool {
        loop {
            let room = self.room.listen();
            if !self.is_crowded() {
                return true;
            }
            if room.wait_deadline(deadline).is_none() {
                return !self.is_crowded();
            }
        }
    }

    /// The same without holding the thread; the caller bounds it.
    pub(crate) async fn room(&self) {
        loop {
            let room: EventListener = self.room.listen();
            if !self.is_crowded() {
                return;
            }
            room.await;
        }
    }

    /// Whether a source of more had better wait. Not a call further in on the thread that delivers: it would wait for
    /// itself.
    pub(crate) fn is_crowded(&self) -> bool {
        let turn = self.turn.lock();
        turn.is_crowded() && !turn.over && turn.deliverer != Some(thread::current().id())
    }

    /// A callback that panics costs this one call.
    fn call(&self, callback: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(callback)).is_err() {
            tracing::error!(
                "the callback of a query on {} panicked; what it was given is lost",
                self.key
            );
        }
    }
}

impl Turn {
    fn push(&mut self, copied: Copied) {
        self.bytes += copied.weight();
        self.queue.push_back(News::Answer(Box::new(copied)));
    }

    /// Somebody has to deliver: this thread, if nobody is at it.
    fn take(&mut self) -> Next {
        if self.deliverer.is_some() {
            return Next::Nothing;
        }
        self.deliverer = Some(thread::current().id());
        Next::Drain
    }

    fn is_crowded(&self) -> bool {
        self.bytes > WAITING_BYTES_MAX || self.queue.len() > WAITING_MAX
    }

    /// So little is left that those who wait may go on.
    fn has_drained(&self) -> bool {
        self.bytes <= WAITING_BYTES_MAX / 2 && self.queue.len() <= WAITING_MAX / 2
    }
}

/// The body of the error that a branch without an answer in time stands for.
pub(crate) const TIMEOUT_TEXT: &[u8] = b"Timeout";

impl<'a> Answer<'a> {
    /// How many bytes of payload it has.
    pub(crate) fn payload(&self) -> &'a [u8] {
        match self.body {
            AnswerBody::Sample(zonda_codec::PushBody::Put(put)) => put.payload,
            AnswerBody::Sample(zonda_codec::PushBody::Del(_)) => &[],
            AnswerBody::Error { payload, .. } => payload,
        }
    }
}
