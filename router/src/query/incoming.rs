// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries that reach queryables of this node's own session, and the functions that the node calls
//! with them.

use std::{sync::Arc, time::Instant};

use zonda_codec::{
    Consolidation, Encoding, KeyExpr, Payload, Qos, Request, SourceInfo, Target, TsStack,
    TsStackBuf, ZSlice, ZenohId,
};

use crate::{
    node::shared::Shared,
    query::{
        open::accepts_any_key,
        outgoing::OutgoingQuery,
        owned::{OwnedEncoding, own, shared},
    },
    table::{FaceId, LocalBranch},
};

/// Id of a queryable in its node, until it is undeclared. Replies carry the number as their entity
/// id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryableId(pub u32);

/// The function that a node calls with the queries for a queryable: inline on the receiving task
/// (on the querying thread for a query of the same node), with no lock held. Several threads may
/// call it at once.
pub type OpenedQueryable = Arc<Box<dyn Fn(IncomingQuery) + Send + Sync>>;

/// A queryable as the node keeps it. The node asks for the user's function with every query, so
/// that the node does not keep what the function owns alive.
pub trait QuerySink: Send + Sync {
    /// Returns the function to call; `None` once the queryable has ended.
    fn open(&self) -> Option<OpenedQueryable>;
}

/// A shared [`QuerySink`].
pub type SharedQuerySink = Arc<dyn QuerySink>;

/// A query to reply to. All clones, and all queryables of this node that got it, share one query;
/// the asker gets the end of the replies when the last clone is dropped. Dropping never blocks.
#[derive(Clone)]
pub struct IncomingQuery {
    pub(crate) query: Arc<Query>,
}

pub(crate) struct Query {
    pub(crate) node: Arc<Shared>,
    /// Face of the node's session; `rid` is the query's number there.
    pub(crate) face: FaceId,
    pub(crate) rid: u32,
    pub(crate) key: KeyExpr<'static>,
    pub(crate) parameters: Box<str>,
    pub(crate) body: Option<(Payload, OwnedEncoding)>,
    pub(crate) attachment: Option<Payload>,
    pub(crate) source_info: Option<SourceInfo>,
    pub(crate) target: Target,
    pub(crate) consolidation: Consolidation,
    pub(crate) qos: Qos,
    pub(crate) any_key: bool,
    /// Time until which the asker waits.
    pub(crate) deadline: Instant,
    /// True if this node's own session asks.
    pub(crate) is_own: bool,
    /// Times collected on the way.
    pub(crate) stack: Option<TsStackBuf>,
}

impl Drop for Query {
    /// Ends the query's branch: there are no more replies.
    fn drop(&mut self) {
        if self.node.is_forked() {
            return;
        }
        let (face, rid) = (self.face, self.rid);
        self.node
            .update(|state| state.table.finish_branch(face, rid));
    }
}

impl std::fmt::Debug for IncomingQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IncomingQuery")
            .field("key", &self.query.key)
            .field("parameters", &self.query.parameters)
            .finish_non_exhaustive()
    }
}

impl IncomingQuery {
    /// Creates a query from one of this node's own session.
    pub(crate) fn of_session(
        node: Arc<Shared>,
        branch: &LocalBranch,
        question: &OutgoingQuery<'_>,
    ) -> Self {
        let query = Query {
            node,
            face: branch.face,
            rid: branch.rid,
            key: question.key.clone().into_owned().into_cloneable(),
            parameters: question.parameters.into(),
            body: question
                .body
                .map(|(value, encoding)| (shared(value), OwnedEncoding::from(encoding))),
            attachment: question.attachment.map(Payload::from),
            source_info: question.source_info,
            target: question.target,
            consolidation: question.consolidation,
            qos: question.qos,
            any_key: accepts_any_key(question.parameters),
            deadline: zonda_runtime::after(question.timeout),
            is_own: true,
            stack: question.stack.map(|stack| stack.sent.clone()),
        };
        IncomingQuery {
            query: Arc::new(query),
        }
    }

    /// Creates a query from a neighbour's REQUEST; its large parts share `block`.
    pub(crate) fn of_neighbour(
        node: Arc<Shared>,
        branch: &LocalBranch,
        key: &KeyExpr<'static>,
        request: &Request<'_>,
        block: &ZSlice,
    ) -> Self {
        let asked = &request.body;
        let timeout = request
            .timeout
            .unwrap_or_else(|| node.settings.query_timeout);
        // The query keeps shares of the received block instead of copies, where the parts are
        // large.
        let query = Query {
            node,
            face: branch.face,
            rid: branch.rid,
            key: key.clone().into_cloneable(),
            parameters: asked.parameters.into(),
            body: asked
                .body
                .map(|body| (own(block, body.payload), OwnedEncoding::from(body.encoding))),
            attachment: asked.attachment.map(|bytes| own(block, bytes)),
            source_info: asked.source_info,
            target: request.target,
            consolidation: asked.consolidation,
            qos: request.qos,
            any_key: accepts_any_key(asked.parameters),
            deadline: zonda_runtime::after(timeout),
            is_own: false,
            stack: request.ts_stack.map(TsStackBuf::of),
        };
        IncomingQuery {
            query: Arc::new(query),
        }
    }

    /// Appends the record of the point that receives. The caller holds no lock and calls this before
    /// there are clones.
    pub(crate) fn record_receive(&mut self) {
        if let Some(query) = Arc::get_mut(&mut self.query)
            && let Some(stack) = &mut query.stack
        {
            query.node.record(stack, TsStack::RECEIVE);
        }
    }

    /// Returns the times collected on the way, if the query collects any.
    #[must_use]
    pub fn ts_stack(&self) -> Option<TsStack<'_>> {
        self.query.stack.as_ref().map(TsStackBuf::view)
    }

    /// Returns the neighbour that sent the query; `None` for a query of the node's own session, and
    /// for one that has ended.
    #[must_use]
    pub fn neighbour(&self) -> Option<ZenohId> {
        let Query {
            node, face, rid, ..
        } = &*self.query;
        let state = node.state.lock();
        let asker = state.table.origin_of_query(*face, *rid)?;
        let found = state.faces.get(&asker.face)?;
        Some(found.status.zid)
    }

    /// The keys of the query.
    #[must_use]
    pub fn key(&self) -> &KeyExpr<'static> {
        &self.query.key
    }

    /// The selector's parameters.
    #[must_use]
    pub fn parameters(&self) -> &str {
        &self.query.parameters
    }

    /// The payload of the query.
    #[must_use]
    pub fn payload(&self) -> Option<&Payload> {
        self.query.body.as_ref().map(|(payload, _)| payload)
    }

    /// The encoding of the payload.
    #[must_use]
    pub fn encoding(&self) -> Option<Encoding<'_>> {
        let (_, encoding) = self.query.body.as_ref()?;
        Some(encoding.borrowed())
    }

    /// Application data in addition to the payload.
    #[must_use]
    pub fn attachment(&self) -> Option<&Payload> {
        self.query.attachment.as_ref()
    }

    /// The querying entity, and the query's number there.
    #[must_use]
    pub fn source_info(&self) -> Option<SourceInfo> {
        self.query.source_info
    }

    /// Time until which the asker waits for replies.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.query.deadline
    }

    /// The queryables that the query goes to.
    #[must_use]
    pub fn target(&self) -> Target {
        self.query.target
    }

    /// Rule by which the asker merges the replies.
    #[must_use]
    pub fn consolidation(&self) -> Consolidation {
        self.query.consolidation
    }

    /// Priority, congestion control and express flag; the replies have the same.
    #[must_use]
    pub fn qos(&self) -> Qos {
        self.query.qos
    }

    /// Returns true if replies on keys are accepted that do not intersect the query's (`_anyke`).
    #[must_use]
    pub fn accepts_any_key(&self) -> bool {
        self.query.any_key
    }
}
