// SPDX-License-Identifier: MIT OR Apache-2.0

//! The client of a request, as rules of access control name it.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use zonda::Session;
use zonda::access::{Flow, Message, MessageKind, Neighbour};
use zonda::key_expr::KeyExpr;

/// Sender of a request, an extension of it. Clones are cheap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client(Arc<Neighbour>);

/// Message of a client that access control denies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("access_control: {kind} on {key:?} is denied: {cause}")]
pub struct Denied {
    kind: &'static str,
    key: String,
    /// The rule, in words.
    cause: String,
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        let text: String = self.to_string();
        (StatusCode::FORBIDDEN, text + "\n").into_response()
    }
}

impl Client {
    /// Creates the client that has proved to be `user`, if it has, over `http` or `https`.
    pub fn new(user: Option<&str>, protocol: &str) -> Client {
        Client(Arc::new(Neighbour {
            user: user.map(str::to_owned),
            protocols: vec![protocol.to_owned()],
            ..Neighbour::default()
        }))
    }

    /// The user that it has proved to be.
    pub fn user(&self) -> Option<&str> {
        self.0.user.as_deref()
    }

    /// Checks that it may send a message to the node.
    ///
    /// # Errors
    /// A rule denies it, or no rule allows it.
    pub fn may_send(
        &self,
        session: &Session,
        kind: MessageKind,
        key: &KeyExpr<'_>,
    ) -> Result<(), Denied> {
        self.judge(session, Flow::Ingress, kind, key)
    }

    /// Checks that it may get a message of the node.
    ///
    /// # Errors
    /// A rule denies it, or no rule allows it.
    pub fn may_get(
        &self,
        session: &Session,
        kind: MessageKind,
        key: &KeyExpr<'_>,
    ) -> Result<(), Denied> {
        self.judge(session, Flow::Egress, kind, key)
    }

    /// Checks that it may ask. The node takes a query with a payload on one of its own keys as a
    /// write, and the session that asks has every right.
    ///
    /// # Errors
    /// A rule denies the query or the write, or no rule allows it.
    pub fn may_ask(
        &self,
        session: &Session,
        key: &KeyExpr<'_>,
        has_payload: bool,
    ) -> Result<(), Denied> {
        self.may_send(session, MessageKind::Query, key)?;
        match has_payload && key.as_str().split('/').next() == Some("@") {
            true => self.may_send(session, MessageKind::Put, key),
            false => Ok(()),
        }
    }

    /// Checks that it may read what the node reports on `key`, below its own keys.
    ///
    /// # Errors
    /// A rule denies the query or the reply, or no rule allows it.
    pub fn may_read(&self, session: &Session, key: &KeyExpr<'_>) -> Result<(), Denied> {
        self.may_send(session, MessageKind::Query, key)?;
        self.may_get(session, MessageKind::Reply, key)
    }

    fn judge(
        &self,
        session: &Session,
        flow: Flow,
        kind: MessageKind,
        key: &KeyExpr<'_>,
    ) -> Result<(), Denied> {
        let message = Message { flow, kind, key };
        let denied = |cause| Denied {
            kind: kind.name(),
            key: key.as_str().to_owned(),
            cause,
        };
        let refusal = session.refusal_to(&self.0, message);
        refusal.map_or(Ok(()), |cause| Err(denied(cause)))
    }
}
