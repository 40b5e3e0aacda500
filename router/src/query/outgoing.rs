// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a session asks, and what it gets back: plain data, and the trait of the one who takes it.

use std::time::Duration;

use zonda_codec::{
    Consolidation, Encoding, EntityGlobalId, KeyExpr, PushBody, Qos, SourceInfo, Target, ZSlice,
    ZenohId,
};

use crate::{model::Value, table::Locality};

/// A query for the queryables on its keys. Borrows everything.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingQuery<'a> {
    /// The keys asked for.
    pub key: &'a KeyExpr<'a>,
    /// The selector's parameters, `k=v;k2=v2`. With `_anyke` among them, replies on any key are accepted.
    pub parameters: &'a str,
    /// A payload for the queryables.
    pub body: Option<(Value<'a>, Encoding<'a>)>,
    /// Application data beside the payload.
    pub attachment: Option<&'a [u8]>,
    /// Which queryables are asked.
    pub target: Target,
    /// How the replies are to be merged. It is only passed on: merging is up to the querying session.
    pub consolidation: Consolidation,
    /// How long the replies are waited for; [`Node::query_timeout`](crate::node::Node::query_timeout) is the configured
    /// default.
    pub timeout: Duration,
    /// Priority, congestion control and express flag of the query and all its replies; usually [`Qos::REQUEST`].
    pub qos: Qos,
    /// The entity that queries, and the query's number there.
    pub source_info: Option<SourceInfo>,
    /// Whether it goes to others, to the session's own queryables, or to both.
    pub destination: Locality,
}

/// Takes the replies to one query, and its end.
///
/// The methods are called with no lock held, on whatever thread brings the news: a reading task, a thread that replies
/// or cancels, or the one that queries, before [`Node::query`](crate::node::Node::query) returns. The calls never overlap and
/// keep the order in which each queryable sent its replies.
pub trait ReplySink: Send {
    /// One reply. Never after [`ReplySink::end`].
    fn reply(&mut self, reply: &IncomingReply<'_>);

    /// A call of [`ReplySink::reply`] panicked: that reply is lost, and it was logged.
    fn panicked(&mut self) {}

    /// There are no more replies. Called exactly once, unless [`Node::query`](crate::node::Node::query) fails.
    fn end(self: Box<Self>, how: QueryEnd);
}

/// One reply to a query. Lives only during the call.
#[derive(Debug, Clone, Copy)]
pub struct IncomingReply<'a> {
    /// The key of the reply; of an error, the query's.
    pub key: &'a KeyExpr<'a>,
    /// Which queryable of which node replies, if it says so.
    pub responder: Option<EntityGlobalId>,
    /// What it says.
    pub body: ReplyBody<'a>,
    /// The buffer that `body` borrows from, to share parts of it without a copy.
    pub block: &'a ZSlice,
    /// Priority, congestion control and express flag, as of the query.
    pub qos: Qos,
    /// The call comes on the thread that queries, before [`Node::query`](crate::node::Node::query) has returned there.
    pub is_inside_query: bool,
}

/// What a reply says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyBody<'a> {
    /// A sample.
    Sample(&'a PushBody<'a>),
    /// The query could not be answered.
    Error {
        /// What the payload is.
        encoding: Encoding<'a>,
        /// The reason, for the user; `Timeout` for a branch that did not end in time.
        payload: &'a [u8],
    },
}

/// How a query ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueryEnd {
    /// Every queryable has sent all its replies, or there is none.
    Complete,
    /// The time was over before; one error reply with the payload `Timeout` was given for each branch that had not
    /// finished.
    TimedOut,
    /// [`Node::cancel`](crate::node::Node::cancel).
    Cancelled,
    /// This node's link to at least one of those asked was lost before it had finished; the others have. What is lost
    /// further away is reported by an error reply, `the link to <id> was lost`.
    LinkLost {
        /// The first such neighbour.
        peer: ZenohId,
    },
    /// The node was closed.
    Closed,
}

/// The body of the error reply that stands for a branch that did not finish in time.
pub(crate) const TIMEOUT_TEXT: &[u8] = b"Timeout";

impl<'a> IncomingReply<'a> {
    /// Its payload.
    pub(crate) fn payload(&self) -> &'a [u8] {
        match self.body {
            ReplyBody::Sample(PushBody::Put(put)) => put.payload,
            ReplyBody::Sample(PushBody::Del(_)) => &[],
            ReplyBody::Error { payload, .. } => payload,
        }
    }
}
