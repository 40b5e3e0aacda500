// SPDX-License-Identifier: MIT OR Apache-2.0

//! The session's side of a query: converts the node's replies to [`Reply`]s, merges them, and calls
//! the handler.
//!
//! The node decides which replies come, one at a time, and when it ends; see [`ReplySink`].

use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use zonda_router::node::{IncomingReply, LostLink, Node, OpenQuery, QueryEnd, ReplySink};
use zonda_runtime::guard::caught;

use super::consolidation::Merging;
use super::end::GetEnd;
use super::options::OnEnd;
use super::reply::{Reply, ReplyError};
use crate::bytes::Encoding;
use crate::callback_group::{GroupMembership, InsideCallback};
use crate::cancellation::CancellationToken;
use crate::handlers::room::FullQueuePolicy;
use crate::handlers::{Callback, Stored};

/// Sink of the replies of one get.
pub(super) struct GetSink {
    pub callback: Callback<Reply>,
    pub merging: Merging,
    pub on_end: Option<OnEnd>,
    /// The entry in the token, removed at the end.
    pub cancellation: Option<Cancellation>,
    /// Set if replies outlive the call of the handler, or are held back.
    pub stores: bool,
    /// Time at which the get and its replies expire.
    pub deadline: Instant,
    pub replies: u64,
    pub panics: u64,
    /// Dropped after the callback.
    pub _here: GroupMembership,
}

impl ReplySink for GetSink {
    fn reply(&mut self, reply: &IncomingReply<'_>) {
        // The thread that would read the handler still sends the query, so that no thread can make
        // room in it.
        let room = match reply.is_inside_query {
            true => FullQueuePolicy::First,
            false => FullQueuePolicy::Until(self.deadline),
        };
        let reply = Reply::new(reply);
        let reply = match self.stores {
            true => reply.before_storing(),
            false => reply,
        };
        if let Some(reply) = self.merging.take(reply) {
            let _inside = InsideCallback::enter();
            room.during(|| self.callback.call(reply));
            self.replies += 1;
        }
    }

    fn panicked(&mut self) {
        self.panics += 1;
    }

    /// Calls the handler with the replies that were held back, reports the end, and drops the
    /// handler.
    fn end(self: Box<Self>, how: QueryEnd) {
        let _inside = InsideCallback::enter();
        // The callback is dropped inside of the callback's scope, too.
        let mut sink = self;
        drop(sink.cancellation.take());
        let (held, unmerged) = sink.merging.finish();
        if how != QueryEnd::Cancelled {
            for reply in held.chain(lost(how)) {
                let call = || FullQueuePolicy::Last.during(|| sink.callback.call(reply));
                match caught(call) {
                    Ok(()) => sink.replies += 1,
                    Err(_) => {
                        tracing::error!("the callback of a get panicked; this reply is lost to it");
                        sink.panics += 1;
                    }
                }
            }
        }
        let end = GetEnd {
            reason: how.into(),
            replies: sink.replies,
            unmerged,
            panics: sink.panics,
        };
        if let Some(tell) = sink.on_end
            && caught(|| tell(&end)).is_err()
        {
            tracing::error!("the function for the end of a get panicked");
        }
    }
}

/// Returns an error in place of the replies that were lost with their link.
fn lost(how: QueryEnd) -> Option<Reply> {
    let QueryEnd::LinkLost { peer } = how else {
        return None;
    };
    let text = LostLink { peer }.to_string();
    let error = ReplyError::new(text.into(), Encoding::ZENOH_STRING);
    Some(Reply::failed(error, None))
}

/// The entry of a get in a token that can end it; removed when dropped.
pub(super) struct Cancellation {
    token: CancellationToken,
    number: u64,
}

impl Cancellation {
    /// Enters a cancellation of the query that will be in `place`; `None` if the token is cancelled
    /// already.
    pub fn enter(
        token: &CancellationToken,
        node: &Node,
        place: &Arc<OnceLock<Weak<OpenQuery>>>,
    ) -> Option<Cancellation> {
        let (node, place) = (node.clone(), Arc::clone(place));
        let end = Box::new(move || {
            if let Some(query) = place.get().and_then(Weak::upgrade) {
                node.cancel(&query);
            }
        });
        let number = token.on_cancel(end)?;
        let token = token.clone();
        Some(Cancellation { token, number })
    }
}

impl Drop for Cancellation {
    fn drop(&mut self) {
        self.token.forget(self.number);
    }
}

#[cfg(test)]
mod tests;
