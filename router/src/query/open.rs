// SPDX-License-Identifier: MIT OR Apache-2.0

//! A query of this node's session, from before it is sent until its end: the one place that decides which replies the session
//! gets, in which order, and how the query ends.
//!
//! Replies come from several links and threads, the end from the table or from a cancellation. Each is queued in the order in
//! which the table decided, under the node's lock, or given at once by the thread that finds nobody at it
//! ([`SerialQueue`]). So the calls of the [`ReplySink`] never overlap, nothing follows the end, and a call may do anything,
//! also what brings more of the same query.

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
    serial::{self, SerialQueue, Waiting},
};
use zonda_transport::log_limit::LogLimit;

use crate::node::log::log_panic;
use crate::query::{
    copied::CopiedReply,
    outgoing::{IncomingReply, OutgoingQuery, QueryEnd, ReplySink},
};

/// Bytes of replies that may wait for a sink that is at work on another thread, before the source of more is paused.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// The number of such replies.
const WAITING_MAX: usize = 1024;

/// A query of this node's session until it has ended; [`Node::query`](crate::node::Node::query) sends it, and
/// [`Node::cancel`](crate::node::Node::cancel) ends it at any time.
pub struct OpenQuery {
    key: KeyExpr<'static>,
    any_key: bool,
    qos: Qos,
    queue: SerialQueue<Backlog, Sink>,
    /// Notified when what waits is little again.
    room: Event,
}

/// The part that moves with the turn: the session's side, until the end.
type Sink = Option<Box<dyn ReplySink>>;

/// The right to call the sink.
pub(crate) type Turn = serial::Turn<Sink>;

/// The news that wait for the sink, and the state of the query.
#[derive(Default)]
struct Backlog {
    news: VecDeque<News>,
    /// Of the replies that wait.
    bytes: usize,
    /// Its number in the table, once it is sent.
    rid: Option<u32>,
    /// The thread that is sending it just now, and has not returned to the session.
    sender: Option<ThreadId>,
    /// The end is queued: nothing follows.
    is_over: bool,
}

/// Something for the sink.
enum News {
    Reply(Box<CopiedReply>),
    End(QueryEnd),
}

/// A piece of news that is taken out of the backlog.
struct Due {
    news: News,
    /// The thread that takes it out is inside of [`Node::query`](crate::node::Node::query).
    is_inside_query: bool,
    /// So little is left that those who wait may go on.
    has_drained: bool,
}

/// The next step of the thread that brought something, when no lock is held any more.
#[must_use]
pub(crate) enum Next {
    /// [`OpenQuery::deliver`] the reply, which was not queued.
    Deliver(Turn),
    /// [`OpenQuery::drain`] what was queued.
    Drain(Turn),
    /// Nothing: another thread, or a call further out on this one, delivers.
    Nothing,
    /// The same, and what waits is more than enough: wait, if possible, before bringing more.
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
    /// `query` before it is sent. What comes back goes to `sink`.
    pub fn new(query: &OutgoingQuery<'_>, sink: Box<dyn ReplySink>) -> Arc<Self> {
        Arc::new(Self {
            key: query.key.clone().into_owned().into_cloneable(),
            any_key: accepts_any_key(query.parameters),
            qos: query.qos,
            queue: SerialQueue::new(Backlog::default(), Some(sink)),
            room: Event::new(),
        })
    }

    /// Tells if it has ended, but for calls that are under way.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.queue.lock().is_over
    }

    /// The key of the query.
    pub(crate) fn key(&self) -> &KeyExpr<'static> {
        &self.key
    }

    /// The query's treatment.
    pub(crate) fn qos(&self) -> Qos {
        self.qos
    }

    /// Tells if a reply on `key` is one to this query.
    pub(crate) fn accepts(&self, key: &KeyExpr<'_>) -> bool {
        self.any_key || key == &self.key || key.intersects(&self.key)
    }

    /// It is about to be sent, under this number, by this thread; `false` if it has ended before.
    pub(crate) fn begin(&self, rid: u32) -> bool {
        let mut backlog = self.queue.lock();
        if backlog.is_over {
            return false;
        }
        backlog.rid = Some(rid);
        backlog.sender = Some(thread::current().id());
        true
    }

    /// The thread that sent it returns to the session.
    pub(crate) fn is_sent(&self) {
        self.queue.lock().sender = None;
    }

    /// Takes the turn for a reply, or queues a copy of it.
    pub(crate) fn enter(&self, reply: &IncomingReply<'_>) -> Next {
        let mut backlog = self.queue.lock();
        if backlog.is_over {
            return Next::Nothing;
        }
        if let Some(turn) = backlog.take_turn() {
            return Next::Deliver(turn);
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

    /// Queues `timeouts` errors that say `Timeout`, and the end.
    pub(crate) fn end(&self, how: QueryEnd, timeouts: usize) -> Next {
        let mut backlog = self.queue.lock();
        if backlog.is_over {
            return Next::Nothing;
        }
        for _ in 0..timeouts {
            backlog.push(CopiedReply::timeout(&self.key));
        }
        backlog.end(how);
        // Nobody has to be held up for what comes behind the end.
        self.room.notify(usize::MAX);
        backlog.take_turn().map_or(Next::Nothing, Next::Drain)
    }

    /// Ends it; replies that wait are not given any more. With its number in the table, if it was sent and had not ended.
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

    /// Gives a reply to the sink, then what was queued meanwhile.
    pub(crate) fn deliver(&self, mut turn: Turn, reply: &IncomingReply<'_>) {
        let is_inside_query = self.queue.lock().is_inside_query();
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

    /// Gives what is queued to the sink.
    pub(crate) fn drain(&self, turn: Turn) {
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

    /// The net for the sink: a panic costs the call in which it happened.
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

    /// Tells if a source of more had better wait. Not a call further in on the thread that delivers: it would wait for
    /// itself.
    pub(crate) fn is_crowded(&self) -> bool {
        let backlog = self.queue.lock();
        backlog.is_crowded() && !backlog.is_over && !backlog.is_mine()
    }
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

/// Tells if the selector's parameters permit replies on any key.
pub(crate) fn accepts_any_key(parameters: &str) -> bool {
    parameters.split(';').any(|parameter| {
        let name = parameter
            .split_once('=')
            .map_or(parameter, |(name, _)| name);
        name.trim() == "_anyke"
    })
}
