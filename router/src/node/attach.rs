// SPDX-License-Identifier: MIT OR Apache-2.0

//! Start and end of a session on a node that runs already.

use std::sync::Arc;

use crate::{
    flow::{key_cache::KeyCache, receiving::Sink},
    model::{CloseError, DeclareError},
    node::{handle::Node, sessions::NodeSession, state::State},
    notify::listeners::NoticeListener,
    query::{EndedQuery, Next, QueryEnd, SharedQuerySink},
    table::{Kind, SessionNumber},
};

/// Values of a session that has ended. Dropping them may run user code, so the caller must hold no
/// lock.
#[derive(Default)]
struct Ended {
    sinks: Vec<Sink>,
    queryables: Vec<SharedQuerySink>,
    listeners: Vec<Arc<NoticeListener>>,
    queries: Vec<EndedQuery>,
    routes: [KeyCache; 3],
}

impl Node {
    /// Returns the handle of one more session on this node: it declares, publishes and queries for
    /// itself, `Locality` means this session, and [`Node::close`] on it or on a clone of it ends
    /// this session and leaves the node open.
    ///
    /// # Errors
    /// The node is closed.
    pub fn add_session(&self) -> Result<Node, DeclareError> {
        let shared = &self.shared;
        shared.may_use()?;
        // Numbers of sessions and ids of declarations are of one kind: sources of messages.
        let number = SessionNumber(shared.next_id());
        shared.state.lock().attached.add(number);
        Ok(Node {
            shared: Arc::clone(shared),
            session: Arc::new(NodeSession::attached(number)),
        })
    }

    /// Returns the number of this handle's session among the sources of messages of the node; 0 for
    /// the session that opened it.
    #[must_use]
    pub fn session_number(&self) -> u32 {
        self.session.number.0
    }

    /// Ends an attached session; `None` for the session that opened the node, with which the node
    /// closes.
    pub(crate) fn detach(&self) -> Option<Result<(), CloseError>> {
        if !self.session.is_attached() {
            return None;
        }
        if self.shared.is_forked() {
            return Some(Err(CloseError::Forked));
        }
        let ended = self.shared.update(|state| {
            // Declarations look at the mark under the same lock, so none comes later.
            match self.session.set_closed() {
                true => self.end_session(state),
                false => Ended::default(),
            }
        });
        ended.listeners.iter().for_each(|listener| listener.end());
        for (query, _held) in &ended.queries {
            if let Next::Drain(turn) = query.end(QueryEnd::Closed, 0) {
                query.drain(turn);
            }
        }
        self.shared.events.end_listeners_of(self.session.number);
        Some(Ok(()))
    }

    /// Removes all that the session has declared.
    fn end_session(&self, state: &mut State) -> Ended {
        let (session, shared) = (self.session.number, &self.shared);
        let mut ended = Ended::default();
        // subscribers, queryables and tokens
        for (kind, id) in state.table.entities_of(session) {
            let State { table, actions, .. } = state;
            table.local_undeclare(shared.own(id), kind, actions);
            ended.sinks.extend(state.routes.remove_sink(id));
            ended.queryables.extend(state.queries.remove_queryable(id));
        }
        for id in state.attached.remove(session) {
            let State { table, actions, .. } = state;
            table.local_undeclare(shared.own(id), Kind::Token, actions);
        }
        // listeners, of matching and of liveliness
        for (id, listener) in state.notices.take_of(session) {
            let State { table, actions, .. } = state;
            table.undeclare_local_listener(shared.own(id), actions);
            ended.listeners.push(listener);
        }
        // queries without an end
        for (rid, query) in state.queries.take_of(session) {
            state.table.forget_query(shared.local, rid);
            ended.queries.push(query);
        }
        // routes: its publishers ask for a new one, and are refused
        ended.routes = state.routes.take_undeclared_of(session);
        state.table.outdate_routes();
        ended
    }
}
