// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries that reach queryables of this node's own session.

use std::{sync::Arc, time::Duration};

use zonda_codec::{Encoding, KeyExpr, TsStack, TsStackBuf};

use crate::{
    model::{Outcome, Publication, Value, Wait},
    node::{shared::Shared, state::State},
    query::{
        after::{After, Call},
        errors::AnswerError,
        incoming::{IncomingQuery, Query, QueryableId, SharedQuerySink},
        reply::{self, OutgoingReply, ReplyBlocked},
    },
    table::LocalBranch,
};

impl IncomingQuery {
    /// Replies with a sample. The qos and the reliability of `sample` are not used: replies have
    /// the query's qos and are reliable.
    ///
    /// # Errors
    /// [`AnswerError`] is the reason why the reply was not sent.
    ///
    /// # Blocking
    /// Blocks at most as long as `wait` allows if the query's congestion control is `Block`; else
    /// never.
    pub fn reply(
        &self,
        queryable: QueryableId,
        key: &KeyExpr<'_>,
        sample: &Publication<'_>,
        wait: Wait,
    ) -> Result<Outcome, AnswerError> {
        self.checked_key(key)?;
        self.say(OutgoingReply::sample(key, queryable, sample)?, wait)
    }

    /// Replies that the query cannot be answered; `payload` is the reason, for the user.
    ///
    /// # Errors
    /// See [`IncomingQuery::reply`].
    ///
    /// # Blocking
    /// See [`IncomingQuery::reply`].
    pub fn reply_error(
        &self,
        queryable: QueryableId,
        payload: Value<'_>,
        encoding: Encoding<'_>,
        wait: Wait,
    ) -> Result<Outcome, AnswerError> {
        let unsaid = OutgoingReply::error(&self.query.key, queryable, payload, encoding)?;
        self.say(unsaid, wait)
    }

    /// Replies like [`IncomingQuery::reply`], but waits by waker, at most for `limit`.
    ///
    /// # Errors
    /// See [`IncomingQuery::reply`].
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
        self.say_async(unsaid, limit).await
    }

    /// Replies like [`IncomingQuery::reply_error`], but waits by waker, at most for `limit`.
    ///
    /// # Errors
    /// See [`IncomingQuery::reply`].
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
        self.say_async(unsaid, limit).await
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

    /// Returns the stack of a reply: that of the query, with the records of this node.
    fn reply_stack(&self) -> Option<TsStackBuf> {
        let Query { node, stack, .. } = &*self.query;
        let mut stack = stack.clone()?;
        node.record(&mut stack, TsStack::SEND);
        // a reply to the node's own session passes no routing
        let next = match self.query.is_own {
            true => TsStack::RECEIVE,
            false => TsStack::ROUTE,
        };
        node.record(&mut stack, next);
        Some(stack)
    }

    fn say(&self, mut unsaid: OutgoingReply<'_>, wait: Wait) -> Result<Outcome, AnswerError> {
        let node = &self.query.node;
        unsaid.stack = self.reply_stack();
        let mut deadline = None;
        loop {
            let busy = match reply::try_reply(node, self.query.face, self.query.rid, &mut unsaid) {
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
        mut unsaid: OutgoingReply<'_>,
        limit: Duration,
    ) -> Result<Outcome, AnswerError> {
        let node = &self.query.node;
        unsaid.stack = self.reply_stack();
        let deadline = zonda_runtime::after(limit);
        loop {
            let busy: ReplyBlocked =
                match reply::try_reply(node, self.query.face, self.query.rid, &mut unsaid) {
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

/// Branch of a query that ends at this node, and the query's key.
pub(crate) struct AskedBranch<'a> {
    pub(crate) branch: &'a LocalBranch,
    pub(crate) key: &'a KeyExpr<'a>,
    pub(crate) parameters: &'a str,
    pub(crate) payload: Option<&'a [u8]>,
}

/// Passes a query to the session's queryables, or to the admin space.
pub(crate) fn query_own(
    shared: &Shared,
    asked: &AskedBranch<'_>,
    query: impl FnOnce(Arc<Shared>) -> IncomingQuery,
    state: &mut State,
    after: &mut After,
) {
    let branch = asked.branch;
    if branch.face != shared.local {
        shared.answer_admin(asked, state, after);
        return;
    }
    let found = |id: &u32| state.queries.queryable(*id).cloned();
    let sinks: Vec<SharedQuerySink> = branch.queryables.iter().filter_map(found).collect();
    match shared.this.upgrade().filter(|_| !sinks.is_empty()) {
        Some(node) => after.calls.push(Call::Ask(query(node), sinks)),
        None => state.table.finish_branch(branch.face, branch.rid),
    }
}
