// SPDX-License-Identifier: MIT OR Apache-2.0

//! Liveliness tokens of the node's session, listeners for tokens, and queries for tokens that are
//! alive.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::KeyExpr;
use zonda_runtime::{Runtime, with_runtime};

use crate::{
    model::DeclareError,
    node::{handle::Node, shared::Shared, state::State},
    notify::listeners::{Listen, ListenerId, NoticeListener},
    table::{Kind, Own},
};

/// Id of a liveliness token in its node, until it is undeclared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(pub u32);

impl Node {
    /// Declares a liveliness token: listeners are notified of it, and of its end when it is
    /// undeclared, when this node closes, or when the link to this node is lost.
    ///
    /// # Errors
    /// The node is closed.
    pub fn declare_token(&self, key: &KeyExpr<'_>) -> Result<TokenId, DeclareError> {
        let shared = &self.shared;
        shared.may_declare(key)?;
        let id = shared.next_id();
        shared.update(|state| {
            if self.session.is_closed() {
                return Err(DeclareError::Closed);
            }
            state.attached.note_token(id, &self.session);
            let State { table, actions, .. } = state;
            table.local_declare(shared.own(id), Own::TOKEN, key, actions);
            Ok(TokenId(id))
        })
    }

    /// Ends a liveliness token.
    pub fn undeclare_token(&self, id: TokenId) {
        let shared = &self.shared;
        if shared.is_forked() {
            return;
        }
        shared.update(|state| {
            state.attached.forget_token(id.0);
            let State { table, actions, .. } = state;
            table.local_undeclare(shared.own(id.0), Kind::Token, actions);
        });
    }

    /// Notifies `listener` of each token that comes or goes on a key that intersects `key`; with
    /// `history`, also of those that are alive already.
    ///
    /// # Errors
    /// The node is closed.
    pub fn declare_token_listener(
        &self,
        key: &KeyExpr<'_>,
        history: bool,
        listener: Arc<dyn Listen>,
    ) -> Result<ListenerId, DeclareError> {
        let shared = &self.shared;
        shared.may_declare(key)?;
        let id = shared.next_id();
        let listener = NoticeListener::new(listener, self.session.number);
        shared.update(|state| {
            if self.session.is_closed() {
                return Err(DeclareError::Closed);
            }
            state.notices.add(id, Arc::clone(&listener));
            let State { table, actions, .. } = state;
            table.local_token_listener(shared.own(id), key, history, actions);
            Ok(())
        })?;
        tell_all(shared, id);
        Ok(ListenerId(id))
    }

    /// Notifies `listener` once of each key that intersects `key` and has a live token, then of the
    /// end, with whether the answer was complete within `limit`.
    ///
    /// Peers announce their tokens to each other, so this node answers for them; gateways are
    /// queried. A client that has lost its gateway waits for one.
    ///
    /// # Errors
    /// The node is closed.
    pub fn ask_tokens(
        &self,
        key: &KeyExpr<'_>,
        limit: Duration,
        listener: Arc<dyn Listen>,
    ) -> Result<ListenerId, DeclareError> {
        let shared = &self.shared;
        shared.may_declare(key)?;
        let id = shared.next_id();
        let listener = NoticeListener::new(listener, self.session.number);
        shared.update(|state| {
            if self.session.is_closed() {
                return Err(DeclareError::Closed);
            }
            state.notices.add(id, Arc::clone(&listener));
            let State { table, actions, .. } = state;
            table.local_liveliness_query(shared.own(id), key, actions);
            Ok(())
        })?;
        tell_all(shared, id);
        if shared.state.lock().notices.has(id) {
            limit_question(shared, id, &listener, limit);
        }
        Ok(ListenerId(id))
    }
}

/// Delivers the remaining tokens that were alive before, slice by slice.
fn tell_all(shared: &Shared, id: u32) {
    while shared.update(|state| state.table.deliver_on(id, &mut state.actions)) {}
}

/// Starts the task that ends a liveliness query after its limit.
fn limit_question(shared: &Arc<Shared>, id: u32, asker: &Arc<NoticeListener>, limit: Duration) {
    // A limit beyond the clock's range is no limit.
    let Some(due) = Instant::now().checked_add(limit) else {
        return;
    };
    let (node, asker) = (Arc::clone(shared), Arc::clone(asker));
    let wait = move || async move {
        let over = asker.over.listen();
        if asker.is_over() {
            return;
        }
        if node.until(due, over).await.is_none() {
            let own = node.own(id);
            node.update(|state| {
                let State { table, actions, .. } = state;
                table.undeclare_local_listener(own, actions);
            });
        }
    };
    with_runtime!(&shared.runtime, runtime => runtime.spawn_brief("zonda-answers", wait));
}
