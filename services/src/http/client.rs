// SPDX-License-Identifier: MIT OR Apache-2.0

//! The client of a request, as rules of access control name it.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use zonda::Session;
use zonda::access::{ClientRights, Flow, Message, MessageKind, Neighbour};
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
        self.at_once(session).may_send(kind, key)
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
        self.at_once(session).may_get(kind, key)
    }

    /// Checks that it may ask, as [`Judge::may_ask`] does.
    ///
    /// # Errors
    /// A rule denies the query or the write, or no rule allows it.
    pub fn may_ask(
        &self,
        session: &Session,
        key: &KeyExpr<'_>,
        has_payload: bool,
    ) -> Result<(), Denied> {
        self.at_once(session).may_ask(key, has_payload)
    }

    /// Checks that it may read, as [`Judge::may_read`] does.
    ///
    /// # Errors
    /// A rule denies the query or the reply, or no rule allows it.
    pub fn may_read(&self, session: &Session, key: &KeyExpr<'_>) -> Result<(), Denied> {
        self.at_once(session).may_read(key)
    }

    /// Returns the judge of a client that sends many messages.
    pub fn rights(&self, session: &Session) -> ClientRights {
        session.rights_of((*self.0).clone())
    }

    fn at_once<'c>(&'c self, session: &'c Session) -> AtOnce<'c> {
        AtOnce {
            client: &self.0,
            session,
        }
    }
}

/// Judge of the messages between one client and the node.
pub trait Judge {
    /// Returns the reason for which a message is denied; `None` if it passes.
    fn refusal(&self, message: Message<'_>) -> Option<String>;

    /// Checks a message.
    ///
    /// # Errors
    /// A rule denies it, or no rule allows it.
    fn judge(&self, flow: Flow, kind: MessageKind, key: &KeyExpr<'_>) -> Result<(), Denied> {
        let refusal = self.refusal(Message { flow, kind, key });
        refusal.map_or(Ok(()), |cause| {
            Err(Denied {
                kind: kind.name(),
                key: key.as_str().to_owned(),
                cause,
            })
        })
    }

    /// Checks that the client may send a message to the node.
    ///
    /// # Errors
    /// A rule denies it, or no rule allows it.
    fn may_send(&self, kind: MessageKind, key: &KeyExpr<'_>) -> Result<(), Denied> {
        self.judge(Flow::Ingress, kind, key)
    }

    /// Checks that the client may get a message of the node.
    ///
    /// # Errors
    /// A rule denies it, or no rule allows it.
    fn may_get(&self, kind: MessageKind, key: &KeyExpr<'_>) -> Result<(), Denied> {
        self.judge(Flow::Egress, kind, key)
    }

    /// Checks that the client may ask. The node takes a query with a payload on one of its own keys
    /// as a write, and the session that asks has every right.
    ///
    /// # Errors
    /// A rule denies the query or the write, or no rule allows it.
    fn may_ask(&self, key: &KeyExpr<'_>, has_payload: bool) -> Result<(), Denied> {
        self.may_send(MessageKind::Query, key)?;
        match has_payload && key.as_str().split('/').next() == Some("@") {
            true => self.may_send(MessageKind::Put, key),
            false => Ok(()),
        }
    }

    /// Checks that the client may read what the node reports on `key`, below its own keys.
    ///
    /// # Errors
    /// A rule denies the query or the reply, or no rule allows it.
    fn may_read(&self, key: &KeyExpr<'_>) -> Result<(), Denied> {
        self.may_send(MessageKind::Query, key)?;
        self.may_get(MessageKind::Reply, key)
    }
}

/// Judge of one message of a client.
struct AtOnce<'c> {
    client: &'c Neighbour,
    session: &'c Session,
}

impl Judge for AtOnce<'_> {
    fn refusal(&self, message: Message<'_>) -> Option<String> {
        self.session.refusal_to(self.client, message)
    }
}

impl Judge for ClientRights {
    fn refusal(&self, message: Message<'_>) -> Option<String> {
        ClientRights::refusal(self, message)
    }
}
