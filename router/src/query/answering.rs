// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries that reach queryables of this node's own session.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::{
    Consolidation, Encoding, KeyExpr, Payload, Qos, Request, SourceInfo, Target, ZSlice,
};

use crate::{
    model::{Outcome, Publication, Value, Wait},
    node::{shared::Shared, state::State},
    query::{
        errors::AnswerError,
        open::accepts_any_key,
        outgoing::OutgoingQuery,
        owned::{OwnedEncoding, own, shared},
        reply::{Busy, OutgoingReply},
        settle::{After, Call},
    },
    table::{FaceId, LocalBranch},
};

/// Names a queryable of a node until it is undeclared. The number is also the entity id that its replies carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryableId(pub u32);

/// What a node calls with the queries for a queryable: inline on the receiving task (or on the asking thread, for a
/// query of this same node), with no lock held. May be called from several threads at once.
pub type OpenedQueryable = Arc<Box<dyn Fn(IncomingQuery) + Send + Sync>>;

/// A queryable as the node keeps it. What belongs to the user is asked for anew with every query, so that nothing the
/// node remembers keeps it alive.
pub trait QuerySink: Send + Sync {
    /// What to call; `None` once the queryable has ended.
    fn open(&self) -> Option<OpenedQueryable>;
}

/// A shared [`QuerySink`].
pub type SharedQuerySink = Arc<dyn QuerySink>;

/// A query to reply to. All clones, and all queryables of this node that got it, share one query; the asker hears
/// that there are no more replies when the last clone is dropped. Dropping never blocks.
#[derive(Clone)]
pub struct IncomingQuery {
    query: Arc<Query>,
}

struct Query {
    node: Arc<Shared>,
    /// The node's session, and the query's number there.
    face: FaceId,
    rid: u32,
    key: KeyExpr<'static>,
    parameters: Box<str>,
    body: Option<(Payload, OwnedEncoding)>,
    attachment: Option<Payload>,
    source_info: Option<SourceInfo>,
    target: Target,
    consolidation: Consolidation,
    qos: Qos,
    any_key: bool,
    /// Until when the asker waits.
    deadline: Instant,
}

impl Drop for Query {
    /// There are no more replies.
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
    /// A query of this node's own session.
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
        };
        IncomingQuery {
            query: Arc::new(query),
        }
    }

    /// A query of a neighbour; its parts borrow from `block`.
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
        };
        IncomingQuery {
            query: Arc::new(query),
        }
    }

    /// The keys asked for.
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

    /// What the payload is.
    #[must_use]
    pub fn encoding(&self) -> Option<Encoding<'_>> {
        let (_, encoding) = self.query.body.as_ref()?;
        Some(encoding.borrowed())
    }

    /// Application data beside the payload.
    #[must_use]
    pub fn attachment(&self) -> Option<&Payload> {
        self.query.attachment.as_ref()
    }

    /// Who asks, and the query's number there.
    #[must_use]
    pub fn source_info(&self) -> Option<SourceInfo> {
        self.query.source_info
    }

    /// Until when the asker waits for replies.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.query.deadline
    }

    /// Which queryables are asked.
    #[must_use]
    pub fn target(&self) -> Target {
        self.query.target
    }

    /// How the asker merges the replies.
    #[must_use]
    pub fn consolidation(&self) -> Consolidation {
        self.query.consolidation
    }

    /// Priority, congestion control and express flag; the replies have the same.
    #[must_use]
    pub fn qos(&self) -> Qos {
        self.query.qos
    }

    /// Whether replies on keys are accepted that do not intersect the query's (`_anyke`).
    #[must_use]
    pub fn accepts_any_key(&self) -> bool {
        self.query.any_key
    }

    /// Replies with a sample. Of `sample`, the qos and the reliability are not used: replies have the query's qos and
    /// are reliable.
    ///
    /// # Errors
    /// Why the reply was not given; see [`AnswerError`].
    ///
    /// # Blocking
    /// If the query's congestion control is `Block`, at most as long as `wait` says; else never.
    pub fn reply(
        &self,
        queryable: QueryableId,
        key: &KeyExpr<'_>,
        sample: &Publication<'_>,
        wait: Wait,
    ) -> Result<Outcome, AnswerError> {
        self.checked_key(key)?;
        self.say(&OutgoingReply::sample(key, queryable, sample)?, wait)
    }

    /// Replies that the query cannot be answered; `payload` is the reason, for the user.
    ///
    /// # Errors
    /// As [`IncomingQuery::reply`].
    ///
    /// # Blocking
    /// As [`IncomingQuery::reply`].
    pub fn reply_error(
        &self,
        queryable: QueryableId,
        payload: Value<'_>,
        encoding: Encoding<'_>,
        wait: Wait,
    ) -> Result<Outcome, AnswerError> {
        let unsaid = OutgoingReply::error(&self.query.key, queryable, payload, encoding)?;
        self.say(&unsaid, wait)
    }

    /// As [`IncomingQuery::reply`], waiting by waker, at most for `limit`.
    ///
    /// # Errors
    /// As [`IncomingQuery::reply`].
    ///
    /// # Cancel safety
    /// A future that is dropped has replied or not.
    pub async fn reply_async(
        &self,
        queryable: QueryableId,
        key: &KeyExpr<'_>,
        sample: &Publication<'_>,
        limit: Duration,
    ) -> Result<Outcome, AnswerError> {
        self.checked_key(key)?;
        let unsaid = OutgoingReply::sample(key, queryable, sample)?;
        self.say_async(&unsaid, limit).await
    }

    /// As [`IncomingQuery::reply_error`], waiting by waker, at most for `limit`.
    ///
    /// # Errors
    /// As [`IncomingQuery::reply`].
    ///
    /// # Cancel safety
    /// A future that is dropped has replied or not.
    pub async fn reply_error_async(
        &self,
        queryable: QueryableId,
        payload: Value<'_>,
        encoding: Encoding<'_>,
        limit: Duration,
    ) -> Result<Outcome, AnswerError> {
        let unsaid = OutgoingReply::error(&self.query.key, queryable, payload, encoding)?;
        self.say_async(&unsaid, limit).await
    }

    fn checked_key(&self, key: &KeyExpr<'_>) -> Result<(), AnswerError> {
        let query = &self.query;
        if query.any_key || *key == query.key || key.intersects(&query.key) {
            return Ok(());
        }
        Err(AnswerError::OtherKey {
            key: key.to_string(),
            query: query.key.to_string(),
        })
    }

    fn say(&self, unsaid: &OutgoingReply<'_>, wait: Wait) -> Result<Outcome, AnswerError> {
        let node = &self.query.node;
        let mut deadline = None;
        loop {
            let busy = match node.try_reply(self.query.face, self.query.rid, unsaid) {
                Ok(outcome) => return Ok(outcome),
                Err(busy) => busy,
            };
            let (Wait::AtMost(limit), false) = (wait, busy.is_final()) else {
                return Err(busy.error);
            };
            let deadline = *deadline.get_or_insert_with(|| zonda_runtime::after(limit));
            if !busy.wait_room(node, self.query.qos.priority(), deadline) {
                return Err(busy.after(limit));
            }
        }
    }

    async fn say_async(
        &self,
        unsaid: &OutgoingReply<'_>,
        limit: Duration,
    ) -> Result<Outcome, AnswerError> {
        let node = &self.query.node;
        let deadline = zonda_runtime::after(limit);
        loop {
            let busy: Busy = match node.try_reply(self.query.face, self.query.rid, unsaid) {
                Ok(outcome) => return Ok(outcome),
                Err(busy) => busy,
            };
            if busy.is_final() {
                return Err(busy.error);
            }
            let priority = self.query.qos.priority();
            if !busy.room_by(node, priority, deadline).await {
                return Err(busy.after(limit));
            }
        }
    }
}

impl Shared {
    /// Asks the node's own: its session's queryables, or its admin space.
    pub(crate) fn query_own(
        &self,
        branch: &LocalBranch,
        key: &KeyExpr<'_>,
        query: impl FnOnce(Arc<Shared>) -> IncomingQuery,
        state: &mut State,
        after: &mut After,
    ) {
        if branch.face != self.local {
            self.answer_admin(branch, key, state, after);
            return;
        }
        let found = |id: &u32| state.queries.queryables.get(id).cloned();
        let sinks: Vec<SharedQuerySink> = branch.queryables.iter().filter_map(found).collect();
        match self.this.upgrade().filter(|_| !sinks.is_empty()) {
            Some(node) => after.calls.push(Call::Ask(query(node), sinks)),
            None => state.table.finish_branch(branch.face, branch.rid),
        }
    }
}
