// SPDX-License-Identifier: MIT OR Apache-2.0

//! Aggregation: the sessions of this node declare one key for all subscribers or publishers whose
//! keys it includes.

use zonda_codec::KeyExpr;

use crate::{kind::Kind, message::WIRE_KEY_MAX};

/// Keys that this node declares in place of those that they include.
#[derive(Debug, Clone, Default)]
pub struct Aggregation {
    subscribers: Vec<KeyExpr<'static>>,
    publishers: Vec<KeyExpr<'static>>,
}

impl Aggregation {
    /// Returns the aggregation by these keys, of which the first that includes a key counts. A key
    /// that cannot be encoded is left out.
    pub fn new(
        mut subscribers: Vec<KeyExpr<'static>>,
        mut publishers: Vec<KeyExpr<'static>>,
    ) -> Aggregation {
        for keys in [&mut subscribers, &mut publishers] {
            keys.retain(|key| key.as_str().len() <= WIRE_KEY_MAX);
        }
        Aggregation {
            subscribers,
            publishers,
        }
    }

    /// Returns true if a subscriber may be declared under another key.
    pub(super) fn has_subscribers(&self) -> bool {
        !self.subscribers.is_empty()
    }

    /// Returns the key under which an entity of a session is declared.
    pub(super) fn of_entity(&self, kind: Kind, key: &KeyExpr<'_>) -> KeyExpr<'static> {
        find(kind, &self.subscribers, key)
    }

    /// Returns the key under which the sender of messages to entities of `kind` is declared.
    pub(super) fn of_sender(&self, kind: Kind, key: &KeyExpr<'_>) -> KeyExpr<'static> {
        find(kind, &self.publishers, key)
    }
}

fn find(kind: Kind, keys: &[KeyExpr<'static>], key: &KeyExpr<'_>) -> KeyExpr<'static> {
    let mut keys = keys.iter().filter(|_| kind == Kind::Subscriber);
    let found = keys.find(|one| one.includes(key)).cloned();
    found.unwrap_or_else(|| key.clone().into_owned())
}
