// SPDX-License-Identifier: MIT OR Apache-2.0

//! A get under way: takes the answers from the node, merges them, and calls the handler, until the end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ThreadId};
use std::time::Instant;

use parking_lot::Mutex;
use zonda_codec::ZenohId;
use zonda_router::node::{Answer, Answers, Node, QuestionEnd, QuestionId};

use super::consolidation::{ConsolidationMode, Merging};
use super::manner::OnEnd;
use super::reply::{Reply, ReplyError};
use crate::bytes::Encoding;
use crate::cancellation::CancellationToken;
use crate::handlers::room::Room;
use crate::handlers::{Callback, Stored};

/// Why a get ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndReason {
    /// Everybody who was asked has answered, or there was nobody to ask.
    Complete,
    /// The time was over before everybody had answered.
    Timeout,
    /// Its token was cancelled.
    Cancelled,
    /// The link to at least one of those who were asked was lost before all its answers had come.
    LinkLost {
        /// The first such neighbour.
        peer: ZenohId,
    },
    /// The session was closed.
    Closed,
}

/// How a get ended; see [`SessionGetBuilder::on_end`](super::SessionGetBuilder::on_end).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetEnd {
    reason: EndReason,
    replies: u64,
    unmerged: u64,
    panics: u64,
}

impl GetEnd {
    /// Why it ended.
    pub fn reason(&self) -> EndReason {
        self.reason
    }

    /// How many replies the handler was given, errors included.
    pub fn replies(&self) -> u64 {
        self.replies
    }

    /// How many replies were delivered without being merged, as there were more than
    /// [can be held back](super::QueryConsolidation).
    pub fn unmerged(&self) -> u64 {
        self.unmerged
    }

    /// How many replies were lost because the callback panicked on them.
    pub fn panics(&self) -> u64 {
        self.panics
    }
}

/// A get under way.
pub(super) struct Asking {
    state: Mutex<State>,
    /// Replies outlive the call of the handler.
    stores: bool,
    /// Replies are held back.
    holds: bool,
    /// Until when anybody wants replies.
    deadline: Instant,
    replies: AtomicU64,
    panics: AtomicU64,
}

struct State {
    /// `None` after the end.
    live: Option<Live>,
    /// Calls of the handler that are under way.
    running: usize,
    /// It has ended, but for calls under way.
    ended: Option<QuestionEnd>,
    /// The thread that asks just now; nobody has the handler yet.
    asker: Option<ThreadId>,
    /// Its number at the node, once it is asked.
    id: Option<QuestionId>,
}

/// What there is until the end.
struct Live {
    callback: Callback<Reply>,
    merging: Merging,
    on_end: Option<OnEnd>,
    /// Takes itself back when it is dropped.
    listening: Option<Listening>,
}

/// A token that can end a get, until this is dropped.
struct Listening {
    token: CancellationToken,
    number: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.token.forget(self.number);
    }
}

/// What a get is made of.
pub(super) struct Terms {
    pub callback: Callback<Reply>,
    pub stores: bool,
    pub consolidation: ConsolidationMode,
    pub deadline: Instant,
    pub on_end: Option<OnEnd>,
}

impl Asking {
    pub fn new(terms: Terms) -> Asking {
        let live = Live {
            callback: terms.callback,
            merging: Merging::new(terms.consolidation),
            on_end: terms.on_end,
            listening: None,
        };
        Asking {
            state: Mutex::new(State {
                live: Some(live),
                running: 0,
                ended: None,
                asker: None,
                id: None,
            }),
            stores: terms.stores,
            holds: terms.consolidation == ConsolidationMode::Latest,
            deadline: terms.deadline,
            replies: AtomicU64::new(0),
            panics: AtomicU64::new(0),
        }
    }

    /// Runs `ask` on this thread. Replies that come on it meanwhile find nobody who could make room for them.
    pub fn while_asking<T>(&self, ask: impl FnOnce() -> T) -> T {
        self.state.lock().asker = Some(thread::current().id());
        let asked = ask();
        self.state.lock().asker = None;
        asked
    }

    /// From now on the token can end it; at once if it is cancelled.
    pub fn ends_with(self: &Arc<Self>, token: CancellationToken, node: &Node) {
        let (own, node) = (Arc::downgrade(self), node.clone());
        let number = token.on_cancel(Box::new(move || {
            if let Some(asking) = own.upgrade() {
                asking.cancel(&node);
            }
        }));
        let Some(number) = number else { return };
        let listening = Listening { token, number };
        let mut state = self.state.lock();
        match &mut state.live {
            Some(live) => live.listening = Some(listening),
            None => {
                drop(state);
                drop(listening);
            }
        }
    }

    fn cancel(&self, node: &Node) {
        self.end(QuestionEnd::Cancelled);
        let id = self.state.lock().id;
        if let Some(id) = id {
            node.cancel(id);
        }
    }

    /// The node knows it by this number. It may be cancelled already.
    pub fn is_asked(&self, node: &Node, id: QuestionId) {
        let mut state = self.state.lock();
        state.id = Some(id);
        let is_cancelled = state.ended == Some(QuestionEnd::Cancelled);
        drop(state);
        if is_cancelled {
            node.cancel(id);
        }
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.state.lock().ended.is_some()
    }

    /// The node has seen to it that its key was asked for.
    fn read(&self, answer: &Answer<'_>) -> Reply {
        let reply = Reply::new(answer);
        match self.stores || self.holds {
            true => reply.before_storing(),
            false => reply,
        }
    }

    /// Gives the handler a reply. No lock is held; a panic costs this reply only.
    fn call(&self, callback: &Callback<Reply>, reply: Reply, room: Room) {
        let call = || room.during(|| callback.call(reply));
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(()) => self.replies.fetch_add(1, Ordering::Relaxed),
            Err(_) => {
                tracing::error!("the callback of a get panicked; this reply is lost to it");
                self.panics.fetch_add(1, Ordering::Relaxed)
            }
        };
    }

    /// Gives the handler what is left, and says goodbye to it.
    fn finish(&self, live: Live, how: QuestionEnd) {
        let Live {
            callback,
            merging,
            on_end,
            listening,
        } = live;
        drop(listening);
        let (held, unmerged) = merging.finish();
        if how != QuestionEnd::Cancelled {
            for reply in held.chain(lost(how)) {
                self.call(&callback, reply, Room::Last);
            }
        }
        let end = GetEnd {
            reason: reason(how),
            replies: self.replies.load(Ordering::Relaxed),
            unmerged,
            panics: self.panics.load(Ordering::Relaxed),
        };
        if let Some(tell) = on_end
            && catch_unwind(AssertUnwindSafe(|| tell(&end))).is_err()
        {
            tracing::error!("the function that was to be told how a get ended panicked");
        }
        drop(callback);
    }
}

impl Answers for Asking {
    fn reply(&self, answer: &Answer<'_>) {
        let reply = self.read(answer);
        let mut state = self.state.lock();
        if state.ended.is_some() {
            return;
        }
        let room = match state.asker == Some(thread::current().id()) {
            true => Room::First,
            false => Room::Until(self.deadline),
        };
        let Some(live) = &mut state.live else { return };
        let Some(reply) = live.merging.take(reply) else {
            return;
        };
        let callback = live.callback.clone();
        state.running += 1;
        drop(state);
        self.call(&callback, reply, room);
        drop(callback);
        let mut state = self.state.lock();
        state.running -= 1;
        if state.running > 0 {
            return;
        }
        // It ended meanwhile: from inside of the handler, or by somebody who does not wait for it.
        let Some(how) = state.ended else { return };
        let Some(live) = state.live.take() else {
            return;
        };
        drop(state);
        self.finish(live, how);
    }

    fn end(&self, how: QuestionEnd) {
        let mut state = self.state.lock();
        if state.ended.is_some() {
            return;
        }
        state.ended = Some(how);
        if state.running > 0 {
            return;
        }
        let live = state.live.take();
        drop(state);
        if let Some(live) = live {
            self.finish(live, how);
        }
    }
}

fn reason(how: QuestionEnd) -> EndReason {
    match how {
        QuestionEnd::TimedOut => EndReason::Timeout,
        QuestionEnd::Cancelled => EndReason::Cancelled,
        QuestionEnd::LinkLost { peer } => EndReason::LinkLost { peer },
        QuestionEnd::Closed => EndReason::Closed,
        _ => EndReason::Complete,
    }
}

/// What stands for answers that were on a link that is gone.
fn lost(how: QuestionEnd) -> Option<Reply> {
    let QuestionEnd::LinkLost { peer } = how else {
        return None;
    };
    let text = format!("the link to {peer} was lost");
    let error = ReplyError::new(text.into(), Encoding::ZENOH_STRING);
    Some(Reply::failed(error, None))
}

#[cfg(test)]
mod tests;
