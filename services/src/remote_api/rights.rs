// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rights of the client of a remote session, by the rules of access control. The session itself is
//! one of the node and has every right.

use std::sync::Arc;

use zonda::Session;
use zonda::access::{ClientRights, MessageKind};
use zonda::key_expr::KeyExpr;
use zonda::query::{Query, Reply};
use zonda::sample::{Sample, SampleKind};

use crate::http::{Client, Judge};
use crate::metrics::own_key;

/// Judge of the messages of one client.
#[derive(Clone)]
pub(super) struct Rights {
    session: Session,
    client: Arc<ClientRights>,
}

impl Rights {
    pub fn new(session: Session, client: &Client) -> Rights {
        let client = Arc::new(client.rights(&session));
        Rights { session, client }
    }

    /// Checks that the client may send a message to the node.
    ///
    /// # Errors
    /// The rule that denies it, in one line.
    pub fn may_send(&self, kind: MessageKind, key: &KeyExpr<'_>) -> Result<(), String> {
        let judged = self.client.may_send(kind, key);
        judged.map_err(|denied| denied.to_string())
    }

    /// Checks that it may publish a value, or a deletion.
    ///
    /// # Errors
    /// The rule that denies it, in one line.
    pub fn may_publish(&self, is_put: bool, key: &KeyExpr<'_>) -> Result<(), String> {
        let kind = match is_put {
            true => MessageKind::Put,
            false => MessageKind::Delete,
        };
        self.may_send(kind, key)
    }

    /// Checks that it may ask.
    ///
    /// # Errors
    /// The rule that denies it, in one line.
    pub fn may_ask(&self, key: &KeyExpr<'_>, has_payload: bool) -> Result<(), String> {
        let judged = self.client.may_ask(key, has_payload);
        judged.map_err(|denied| denied.to_string())
    }

    /// Checks that it may see the neighbours of the node: that it may read what the node reports.
    ///
    /// # Errors
    /// The rule that denies it, in one line.
    pub fn may_see_neighbours(&self) -> Result<(), String> {
        let key = own_key(&self.session, "").ok_or("the node has no key of its own")?;
        let judged = self.client.may_read(&key);
        judged.map_err(|denied| denied.to_string())
    }

    /// Returns true if it may get a sample of a subscriber.
    pub fn gets_sample(&self, sample: &Sample) -> bool {
        let kind = match sample.kind() {
            SampleKind::Put => MessageKind::Put,
            SampleKind::Delete => MessageKind::Delete,
        };
        self.gets(kind, sample.key_expr())
    }

    /// Returns true if it may get a change of a liveliness token.
    pub fn gets_token(&self, sample: &Sample) -> bool {
        self.gets(MessageKind::LivelinessToken, sample.key_expr())
    }

    /// Returns true if it may get a query.
    pub fn gets_query(&self, query: &Query) -> bool {
        self.gets(MessageKind::Query, query.key_expr())
    }

    /// Returns true if it may get a reply of this kind. An error has no key, and passes.
    pub fn gets_reply(&self, kind: MessageKind, reply: &Reply) -> bool {
        let sample = reply.result();
        sample.map_or(true, |sample| self.gets(kind, sample.key_expr()))
    }

    fn gets(&self, kind: MessageKind, key: &KeyExpr<'_>) -> bool {
        self.client.may_get(kind, key).is_ok()
    }
}
