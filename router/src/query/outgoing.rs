// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries that a session sends and replies that it gets: plain data, and the trait of their
//! receiver.

use std::time::Duration;

use zonda_codec::{
    Consolidation, Encoding, EntityGlobalId, KeyExpr, PushBody, Qos, SourceInfo, Target, TsStack,
    ZSlice, ZenohId,
};

use crate::{model::Value, node::intercept::QueryStack, table::Locality};

/// A query for the queryables on its keys. Borrows everything.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingQuery<'a> {
    /// The keys of the query.
    pub key: &'a KeyExpr<'a>,
    /// The selector's parameters, `k=v;k2=v2`. With `_anyke` among them, replies on any key are accepted.
    pub parameters: &'a str,
    /// A payload for the queryables.
    pub body: Option<(Value<'a>, Encoding<'a>)>,
    /// Application data in addition to the payload.
    pub attachment: Option<&'a [u8]>,
    /// The queryables that the query goes to.
    pub target: Target,
    /// Rule for merging the replies. The node only forwards it: the querying session merges.
    pub consolidation: Consolidation,
    /// Time that replies are waited for; [`Node::query_timeout`](crate::node::Node::query_timeout)
    /// is the configured default.
    pub timeout: Duration,
    /// Priority, congestion control and express flag of the query and all its replies; usually
    /// [`Qos::REQUEST`].
    pub qos: Qos,
    /// The querying entity, and the query's number there.
    pub source_info: Option<SourceInfo>,
    /// Destination of the query: other nodes, the session's own queryables, or both.
    pub destination: Locality,
    /// Times collected on the way; [`Node::new_query_stack`](crate::node::Node::new_query_stack)
    /// begins them.
    pub stack: Option<&'a QueryStack>,
}

/// Receiver of the replies to one query and of its end.
///
/// The node calls the methods with no lock held, on the thread that brings the event: a reading
/// task, a thread that replies or cancels, or the querying thread, before
/// [`Node::query`](crate::node::Node::query) returns. Calls never overlap and keep the order in
/// which each queryable sent its replies.
pub trait ReplySink: Send {
    /// Receives one reply. Never called after [`ReplySink::end`].
    fn reply(&mut self, reply: &IncomingReply<'_>);

    /// Called after [`ReplySink::reply`] has panicked: that reply is lost, and the panic was
    /// logged.
    fn panicked(&mut self) {}

    /// Receives the end of the replies. Called exactly once, unless
    /// [`Node::query`](crate::node::Node::query) fails.
    fn end(self: Box<Self>, how: QueryEnd);
}

/// One reply to a query, borrowed for the duration of the call.
#[derive(Debug, Clone, Copy)]
pub struct IncomingReply<'a> {
    /// The key of the reply; for an error, the query's key.
    pub key: &'a KeyExpr<'a>,
    /// Node and entity id of the queryable, if the reply has them.
    pub responder: Option<EntityGlobalId>,
    /// The sample or the error.
    pub body: ReplyBody<'a>,
    /// The buffer that `body` borrows from, to share parts of it without a copy.
    pub block: &'a ZSlice,
    /// Priority, congestion control and express flag, equal to the query's.
    pub qos: Qos,
    /// True if the call comes on the querying thread before
    /// [`Node::query`](crate::node::Node::query) has returned there.
    pub is_inside_query: bool,
    /// Times collected on the way of the query and of the reply.
    pub ts_stack: Option<TsStack<'a>>,
}

/// Content of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyBody<'a> {
    /// A sample.
    Sample(&'a PushBody<'a>),
    /// The query could not be answered.
    Error {
        /// Encoding of the payload.
        encoding: Encoding<'a>,
        /// The reason, for the user; `Timeout` for a branch that did not end in time.
        payload: &'a [u8],
    },
}

/// The way in which a query ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueryEnd {
    /// Every queryable has sent all its replies, or there is none.
    Complete,
    /// The timeout expired first; the sink got one error reply with the payload `Timeout` for each
    /// branch that had not finished.
    TimedOut,
    /// [`Node::cancel`](crate::node::Node::cancel) ended the query.
    Cancelled,
    /// This node's link to at least one queried neighbour was lost before that neighbour had
    /// finished; the other branches have finished. A link lost further away is reported by an error
    /// reply, `the link to <id> was lost`.
    LinkLost {
        /// The first such neighbour.
        peer: ZenohId,
    },
    /// The node was closed.
    Closed,
}

/// Body of the error reply that stands for a branch that did not finish in time.
pub(crate) const TIMEOUT_TEXT: &[u8] = b"Timeout";

impl<'a> IncomingReply<'a> {
    /// The reply's payload.
    pub(crate) fn payload(&self) -> &'a [u8] {
        match self.body {
            ReplyBody::Sample(PushBody::Put(put)) => put.payload,
            ReplyBody::Sample(PushBody::Del(_)) => &[],
            ReplyBody::Error { payload, .. } => payload,
        }
    }
}
