// SPDX-License-Identifier: MIT OR Apache-2.0

//! A query of this node's session, from before it is sent until its end. This module alone decides
//! which replies the session gets, in which order, and how the query ends.
//!
//! Replies come from several links and threads, the end from the table or from a cancellation. The
//! thread that brings a reply either takes the turn and calls the sink, or, if another thread has
//! the turn, queues a copy ([`SerialQueue`]). Replies are queued under the node's lock, in the
//! order that the table decided. So calls of the [`ReplySink`] never overlap, none follows the end,
//! and a call may do anything, including what brings more replies to the same query.

use std::{
    collections::VecDeque,
    sync::Arc,
    thread::{self, ThreadId},
    time::Instant,
};

use event_listener::{Event, EventListener, Listener};
use zonda_codec::{KeyExpr, Qos};
use zonda_runtime::{
    guard::caught,
    serial::{self, Locked, SerialQueue, Waiting},
};
use zonda_transport::log_limit::LogLimit;

use crate::query::{
    copied::CopiedReply,
    outgoing::{IncomingReply, OutgoingQuery, QueryEnd, ReplySink},
};
use crate::{node::log::log_panic, table::SessionNumber};

/// Bytes of replies that may queue for a sink that is running on another thread, before their
/// source is paused.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// Number of replies that may queue.
const WAITING_MAX: usize = 1024;

/// A query of this node's session until it has ended; [`Node::query`](crate::node::Node::query) sends it, and
/// [`Node::cancel`](crate::node::Node::cancel) ends it at any time.
pub struct OpenQuery {
    key: KeyExpr<'static>,
    any_key: bool,
    qos: Qos,
    queue: SerialQueue<Backlog, Sink>,
    /// Notified when the backlog is small again.
    room: Event,
}

/// The session's side, which moves with the turn; `None` after the end.
type Sink = Option<Box<dyn ReplySink>>;

/// The right to call the sink.
pub(crate) type DrainTurn = serial::DrainTurn<Sink>;

/// The right to call the sink with the reply at hand.
pub(crate) struct Delivery {
    turn: DrainTurn,
    /// The thread is inside of [`Node::query`](crate::node::Node::query).
    is_inside_query: bool,
}

/// The events that wait for the sink, and the state of the query.
#[derive(Default)]
struct Backlog {
    news: VecDeque<News>,
    /// Size of the queued replies.
    bytes: usize,
    /// The query's number in the table, once it is sent.
    rid: Option<u32>,
    /// The session that sent it.
    session: SessionNumber,
    /// The thread that is sending the query and has not returned to the session yet.
    sender: Option<ThreadId>,
    /// The end is queued: nothing follows.
    is_over: bool,
}

/// An event for the sink.
enum News {
    Reply(Box<CopiedReply>),
    End(QueryEnd),
}

/// An event that is taken out of the backlog.
struct Due {
    news: News,
    /// The thread that takes the event out is inside of [`Node::query`](crate::node::Node::query).
    is_inside_query: bool,
    /// The backlog has become small, so waiting sources may continue.
    has_drained: bool,
}

/// The next step of the thread that brought an event, after it has released the locks.
#[must_use]
pub(crate) enum Next {
    /// The thread calls [`OpenQuery::deliver`] with the reply, which was not queued.
    Deliver(Delivery),
    /// The thread calls [`OpenQuery::drain`] for the queued events.
    Drain(DrainTurn),
    /// Another thread, or an outer call on this one, delivers.
    Nothing,
    /// Another thread delivers, as with `Nothing`, and the backlog is full: the thread should wait,
    /// if it can, before it brings more.
    Crowded,
}

impl std::fmt::Debug for OpenQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenQuery")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl OpenQuery {
    /// Creates the state of `query` before it is sent; replies go to `sink`.
    pub fn new(query: &OutgoingQuery<'_>, sink: Box<dyn ReplySink>) -> Arc<Self> {
        Arc::new(Self {
            key: query.key.clone().into_owned().into_cloneable(),
            any_key: accepts_any_key(query.parameters),
            qos: query.qos,
            queue: SerialQueue::new(Backlog::default(), Some(sink)),
            room: Event::new(),
        })
    }

    /// Returns true if the query has ended; calls of its sink may still be running.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.queue.lock().is_over
    }

    /// The key of the query.
    pub(crate) fn key(&self) -> &KeyExpr<'static> {
        &self.key
    }

    /// The QoS of the query.
    pub(crate) fn qos(&self) -> Qos {
        self.qos
    }

    /// Returns true if a reply on `key` matches this query.
    pub(crate) fn accepts(&self, key: &KeyExpr<'_>) -> bool {
        self.any_key || key == &self.key || key.intersects(&self.key)
    }

    /// Returns true if this session has sent it.
    pub(crate) fn is_of(&self, session: SessionNumber) -> bool {
        self.queue.lock().session == session
    }

    /// Notes that the current thread is about to send the query of a session as `rid`; returns
    /// false if the query has ended before.
    pub(crate) fn begin(&self, rid: u32, session: SessionNumber) -> bool {
        let mut backlog = self.queue.lock();
        if backlog.is_over {
            return false;
        }
        (backlog.rid, backlog.session) = (Some(rid), session);
        backlog.sender = Some(thread::current().id());
        true
    }

    /// Notes that the sending thread returns to the session.
    pub(crate) fn is_sent(&self) {
        self.queue.lock().sender = None;
    }

    /// Takes the turn for a reply, or queues a copy of it.
    pub(crate) fn enter(&self, reply: &IncomingReply<'_>) -> Next {
        self.enter_locked(self.queue.lock(), reply)
    }

    /// Takes the turn for a reply, or queues a copy of it, as [`OpenQuery::enter`] does; `None` if its
    /// source should wait for [room](OpenQuery::wait_room) first.
    pub(crate) fn enter_with_room(&self, reply: &IncomingReply<'_>) -> Option<Next> {
        let backlog = self.queue.lock();
        match has_no_room(&backlog) {
            true => None,
            false => Some(self.enter_locked(backlog, reply)),
        }
    }

    fn enter_locked(
        &self,
        mut backlog: Locked<'_, Backlog, Sink>,
        reply: &IncomingReply<'_>,
    ) -> Next {
        if backlog.is_over {
            return Next::Nothing;
        }
        if let Some(turn) = backlog.take_turn() {
            let is_inside_query = backlog.is_inside_query();
            return Next::Deliver(Delivery {
                turn,
                is_inside_query,
            });
        }
        backlog.push(CopiedReply::of(reply));
        match backlog.is_crowded() {
            true => Next::Crowded,
            false => Next::Nothing,
        }
    }

    /// Queues a copy of a reply.
    pub(crate) fn push(&self, reply: &IncomingReply<'_>) -> Next {
        let mut backlog = self.queue.lock();
        if backlog.is_over {
            return Next::Nothing;
        }
        backlog.push(CopiedReply::of(reply));
        backlog.take_turn().map_or(Next::Nothing, Next::Drain)
    }

    /// Queues `timeouts` error replies with the text `Timeout`, then the end.
    pub(crate) fn end(&self, how: QueryEnd, timeouts: usize) -> Next {
        let mut backlog = self.queue.lock();
        if backlog.is_over {
            return Next::Nothing;
        }
        for _ in 0..timeouts {
            backlog.push(CopiedReply::timeout(&self.key));
        }
        backlog.end(how);
        // No source has to wait for a query that has ended.
        self.room.notify(usize::MAX);
        backlog.take_turn().map_or(Next::Nothing, Next::Drain)
    }

    /// Cancels the query and discards queued replies. Returns its number in the table, if it was
    /// sent and had not ended.
    pub(crate) fn cancel(&self) -> (Next, Option<u32>) {
        let mut backlog = self.queue.lock();
        if backlog.is_over {
            return (Next::Nothing, None);
        }
        backlog.bytes = 0;
        let dropped = std::mem::take(&mut backlog.news);
        backlog.end(QueryEnd::Cancelled);
        self.room.notify(usize::MAX);
        let next = backlog.take_turn().map_or(Next::Nothing, Next::Drain);
        let rid = backlog.rid;
        drop(backlog);
        drop(dropped);
        (next, rid)
    }

    /// Calls the sink with a reply, then with those that were queued during the call.
    pub(crate) fn deliver(&self, delivery: Delivery, reply: &IncomingReply<'_>) {
        let Delivery {
            mut turn,
            is_inside_query,
        } = delivery;
        let reply = IncomingReply {
            is_inside_query,
            ..*reply
        };
        if let Some(sink) = turn.seat()
            && caught(|| sink.reply(&reply)).is_err()
        {
            self.note_panic(turn.seat());
        }
        self.drain(turn);
    }

    /// Calls the sink with the queued events.
    pub(crate) fn drain(&self, turn: DrainTurn) {
        let call = |sink: &mut Sink, due: Due| {
            if due.has_drained {
                self.room.notify(usize::MAX);
            }
            match (due.news, &mut *sink) {
                (News::Reply(copied), Some(sink)) => {
                    copied.lend(self.qos, due.is_inside_query, |reply| sink.reply(reply));
                }
                (News::End(how), sink) => {
                    if let Some(sink) = sink.take() {
                        sink.end(how);
                    }
                }
                (News::Reply(_), None) => {}
            }
        };
        self.queue
            .drain(turn, call, |sink, _| self.note_panic(sink));
        self.room.notify(usize::MAX);
    }

    /// Logs a panic of the sink, which loses only the call in which it happened.
    fn note_panic(&self, sink: &mut Sink) {
        let key = &self.key;
        static PANICKED: LogLimit = LogLimit::new();
        log_panic(
            &PANICKED,
            format_args!("the callback of a query on {key} panicked; what it was given is lost"),
        );
        if let Some(sink) = sink {
            sink.panicked();
        }
    }

    /// Blocks until the backlog is small, at most until `deadline`; returns false if it is not.
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

    /// Waits until the backlog is small, without blocking the thread or a limit of its own.
    pub(crate) async fn room(&self) {
        loop {
            let room: EventListener = self.room.listen();
            if !self.is_crowded() {
                return;
            }
            room.await;
        }
    }

    /// Returns true if a source of more replies should wait. A nested call on the delivering thread
    /// should not, because it would wait for itself.
    pub(crate) fn is_crowded(&self) -> bool {
        has_no_room(&self.queue.lock())
    }
}

/// Returns true if a source of more replies should wait, as [`OpenQuery::is_crowded`] does.
fn has_no_room(backlog: &Locked<'_, Backlog, Sink>) -> bool {
    backlog.is_crowded() && !backlog.is_over && !backlog.is_mine()
}

impl Backlog {
    fn push(&mut self, copied: CopiedReply) {
        self.bytes += copied.weight();
        self.news.push_back(News::Reply(Box::new(copied)));
    }

    fn end(&mut self, how: QueryEnd) {
        self.is_over = true;
        self.news.push_back(News::End(how));
    }

    fn is_inside_query(&self) -> bool {
        self.sender
            .is_some_and(|sender| sender == thread::current().id())
    }

    fn is_crowded(&self) -> bool {
        self.bytes > WAITING_BYTES_MAX || self.news.len() > WAITING_MAX
    }

    fn is_little(&self) -> bool {
        self.bytes <= WAITING_BYTES_MAX / 2 && self.news.len() <= WAITING_MAX / 2
    }
}

impl Waiting for Backlog {
    type Item = Due;

    fn pop(&mut self) -> Option<Due> {
        let was_little = self.is_little();
        let news = self.news.pop()?;
        if let News::Reply(copied) = &news {
            self.bytes -= copied.weight();
        }
        Some(Due {
            news,
            is_inside_query: self.is_inside_query(),
            has_drained: !was_little && self.is_little(),
        })
    }
}

/// Returns true if the selector's parameters permit replies on any key.
pub(crate) fn accepts_any_key(parameters: &str) -> bool {
    parameters.split(';').any(|parameter| {
        let name = parameter
            .split_once('=')
            .map_or(parameter, |(name, _)| name);
        name.trim() == "_anyke"
    })
}
