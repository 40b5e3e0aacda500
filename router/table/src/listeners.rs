// SPDX-License-Identifier: MIT OR Apache-2.0

//! Listeners of the session: to tokens, to tokens that are alive, and to the matching state of a
//! publisher or querier.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use crate::{
    audience::Audience,
    face_id::{Action, FaceId, OwnRef},
    key_tree::KeyTree,
    kind::{Kind, PerKind},
    notice::Notice,
};

/// Listener of the session to changes on a key.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) face: FaceId,
    pub(super) key: Arc<str>,
    pub(super) topic: Topic,
    /// Number of the first token that was alive before and has yet to be delivered.
    pub(super) rest: Option<u32>,
}

/// Subject of a listener.
#[derive(Debug)]
pub(super) enum Topic {
    /// Tokens that are declared or undeclared.
    Tokens {
        /// Interests whose answers are tokens that were alive before, which the listener did not request.
        quiet: Vec<(FaceId, u32)>,
    },
    /// The tokens that are alive, until all are delivered.
    Alive(LivelinessQuery),
    /// The existence of a counterpart.
    Matching {
        /// The publisher or querier that it belongs to.
        owner: OwnRef,
        audience: Audience,
        /// The state it was notified of last.
        last_state: bool,
    },
}

/// Query for the tokens that are alive.
#[derive(Debug)]
pub(super) struct LivelinessQuery {
    /// Keys that were delivered already.
    pub(super) delivered: HashSet<Box<str>>,
    /// True while there is no gateway to ask.
    pub(super) held: bool,
    /// Peers that have not yet declared all they had.
    pub(super) peers: Vec<FaceId>,
    /// End of the wait for these peers; set by the next call of `expire`.
    pub(super) peers_until: Option<Instant>,
}

impl Listener {
    /// Returns true if it ends with this publisher or querier.
    pub(super) fn belongs_to(&self, sender: OwnRef) -> bool {
        matches!(self.topic, Topic::Matching { owner, .. } if owner == sender)
    }

    /// Returns the kind of entities that it is about.
    fn kind(&self) -> Kind {
        match &self.topic {
            Topic::Matching { audience, .. } => audience.what.kind(),
            Topic::Tokens { .. } | Topic::Alive(_) => Kind::Token,
        }
    }

    /// Returns true if it is notified at once of a token that was declared, by `answered` in answer
    /// to an interest, or undeclared: not with the rest of the tokens that were alive before.
    pub(super) fn hears_of(&self, entity: u32, is_alive: bool, answered: Option<FaceId>) -> bool {
        let is_past = self.rest.is_none_or(|rest| entity < rest);
        match &self.topic {
            Topic::Tokens { quiet } => {
                let is_old = |gateway| quiet.iter().any(|(face, _)| *face == gateway);
                is_past && !answered.is_some_and(is_old)
            }
            Topic::Alive(_) => is_alive,
            Topic::Matching { .. } => false,
        }
    }
}

/// The session's listeners, by their ids and keys.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    by_id: BTreeMap<u32, Listener>,
    by_key: PerKind<KeyTree<u32>>,
}

impl Listeners {
    pub(super) fn get(&self, id: u32) -> Option<&Listener> {
        self.by_id.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Listener> {
        self.by_id.get_mut(&id)
    }

    /// Returns true if there is a listener to a kind of entities.
    pub(super) fn has_any(&self, kind: Kind) -> bool {
        !self.by_key.of(kind).is_empty()
    }

    /// Inserts a listener under an unused id.
    pub(super) fn insert(&mut self, id: u32, listener: Listener) {
        let tree = self.by_key.of_mut(listener.kind());
        tree.insert(&listener.key, id);
        self.by_id.insert(id, listener);
    }

    pub(super) fn remove(&mut self, id: u32) -> Option<Listener> {
        let ended = self.by_id.remove(&id)?;
        let tree = self.by_key.of_mut(ended.kind());
        tree.remove(&ended.key, id);
        Some(ended)
    }

    /// Returns the ids of the listeners that `is` returns true for, in order.
    pub(super) fn ids(&self, is: impl Fn(&Listener) -> bool) -> Vec<u32> {
        let those = self.by_id.iter().filter(|(_, listener)| is(listener));
        those.map(|(id, _)| *id).collect()
    }

    /// Returns the ids of the listeners to a kind on keys that intersect `key` that `is` returns
    /// true for, in order.
    pub(super) fn on(&self, kind: Kind, key: &str, is: impl Fn(&Listener) -> bool) -> Vec<u32> {
        let mut ids = Vec::new();
        self.by_key.of(kind).matches(key, &mut |id| {
            if self.by_id.get(&id).is_some_and(&is) {
                ids.push(id);
            }
        });
        ids.sort_unstable();
        ids
    }

    pub(super) fn query(&self, id: u32) -> Option<&LivelinessQuery> {
        match &self.by_id.get(&id)?.topic {
            Topic::Alive(query) => Some(query),
            _ => None,
        }
    }

    pub(super) fn query_mut(&mut self, id: u32) -> Option<&mut LivelinessQuery> {
        match &mut self.by_id.get_mut(&id)?.topic {
            Topic::Alive(query) => Some(query),
            _ => None,
        }
    }

    /// Returns the ids of the listeners to tokens and of the queries for them, in order.
    pub(super) fn of_tokens(&self) -> Vec<u32> {
        let mut ids = Vec::new();
        self.by_key.of(Kind::Token).for_each(&mut |id| ids.push(id));
        ids.sort_unstable();
        ids
    }

    /// Ends the quiet phase after a gateway has answered an interest, or is gone, so that its later
    /// tokens are new.
    pub(super) fn end_quiet(&mut self, gateway: FaceId, interest: Option<u32>) {
        for id in self.of_tokens() {
            if let Some(listener) = self.by_id.get_mut(&id)
                && let Topic::Tokens { quiet } = &mut listener.topic
            {
                quiet.retain(|(face, id)| {
                    *face != gateway || interest.is_some_and(|interest| interest != *id)
                });
            }
        }
    }
}

pub(super) fn notify(listener: u32, notice: Notice, actions: &mut Vec<Action>) {
    actions.push(Action::Notify { listener, notice });
}
