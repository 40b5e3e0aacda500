// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries that reach queryables of this node's own session.

use std::sync::Arc;

use zonda_codec::{Consolidation, Encoding, KeyExpr, Payload, Qos, SourceInfo, Target};

use crate::node::{Outcome, Publication, Value, Wait};

use super::ReplyError;

/// Names a queryable of a node until it is undeclared. The number is also the entity id that its replies carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryableId(pub u32);

/// What a node calls with the queries for a queryable: inline on the receiving task (or on the asking thread, for a
/// question of this same node), with no lock held. May be called from several threads at once.
pub type OpenedQueryable = Arc<Box<dyn Fn(IncomingQuery) + Send + Sync>>;

/// A queryable as the node keeps it. What belongs to the user is asked for anew with every query, so that nothing the
/// node remembers keeps it alive.
pub trait Asked: Send + Sync {
    /// What to call; `None` once the queryable has ended.
    fn open(&self) -> Option<OpenedQueryable>;
}

/// A shared [`Asked`].
pub type AskedSink = Arc<dyn Asked>;

/// A query to answer. All clones, and all queryables of this node that got it, share one question; whoever asked is told
/// that there are no more answers when the last clone is dropped. Dropping never blocks.
#[derive(Clone)]
pub struct IncomingQuery {
    query: Arc<Query>,
}

struct Query {
    key: KeyExpr<'static>,
    parameters: Box<str>,
    body: Option<(Payload, u16, Option<Box<[u8]>>)>,
    attachment: Option<Payload>,
    source_info: Option<SourceInfo>,
    target: Target,
    consolidation: Consolidation,
    qos: Qos,
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
        self.query.body.as_ref().map(|(payload, _, _)| payload)
    }

    /// What the payload is.
    #[must_use]
    pub fn encoding(&self) -> Option<Encoding<'_>> {
        let (_, id, schema) = self.query.body.as_ref()?;
        Some(Encoding {
            id: *id,
            schema: schema.as_deref(),
        })
    }

    /// Application data beside the payload.
    #[must_use]
    pub fn attachment(&self) -> Option<&Payload> {
        self.query.attachment.as_ref()
    }

    /// Who asks, and the question's number there.
    #[must_use]
    pub fn source_info(&self) -> Option<SourceInfo> {
        self.query.source_info
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

    /// Priority, congestion control and express flag; the answers have the same.
    #[must_use]
    pub fn qos(&self) -> Qos {
        self.query.qos
    }

    /// Whether replies on keys are accepted that do not intersect the query's (`_anyke`).
    #[must_use]
    pub fn accepts_any_key(&self) -> bool {
        false
    }

    /// Answers with a sample. Of `sample`, the qos and the reliability are not used: answers have the query's qos and
    /// are reliable.
    ///
    /// # Errors
    /// Why the answer was not given; see [`ReplyError`].
    ///
    /// # Blocking
    /// If the query's congestion control is `Block`, at most as long as `wait` says; else never.
    pub fn reply(
        &self,
        queryable: QueryableId,
        key: &KeyExpr<'_>,
        sample: &Publication<'_>,
        wait: Wait,
    ) -> Result<Outcome, ReplyError> {
        let _ = (queryable, key, sample, wait);
        Err(ReplyError::Closed)
    }

    /// Answers that the question cannot be answered; `payload` is the reason, for the user.
    ///
    /// # Errors
    /// As [`IncomingQuery::reply`].
    ///
    /// # Blocking
    /// As [`IncomingQuery::reply`].
    pub fn reply_error(
        &self,
        queryable: QueryableId,
        (payload, encoding): (Value<'_>, Encoding<'_>),
        wait: Wait,
    ) -> Result<Outcome, ReplyError> {
        let _ = (queryable, payload, encoding, wait);
        Err(ReplyError::Closed)
    }

    /// As [`IncomingQuery::reply`], waiting by waker, at most for `limit`.
    ///
    /// # Errors
    /// As [`IncomingQuery::reply`].
    pub async fn reply_async(
        &self,
        queryable: QueryableId,
        key: &KeyExpr<'_>,
        sample: &Publication<'_>,
        limit: std::time::Duration,
    ) -> Result<Outcome, ReplyError> {
        let _ = limit;
        self.reply(queryable, key, sample, Wait::Never)
    }

    /// As [`IncomingQuery::reply_error`], waiting by waker, at most for `limit`.
    ///
    /// # Errors
    /// As [`IncomingQuery::reply`].
    pub async fn reply_error_async(
        &self,
        queryable: QueryableId,
        error: (Value<'_>, Encoding<'_>),
        limit: std::time::Duration,
    ) -> Result<Outcome, ReplyError> {
        let _ = limit;
        self.reply_error(queryable, error, Wait::Never)
    }
}
