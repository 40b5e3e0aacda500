// SPDX-License-Identifier: MIT OR Apache-2.0

//! The session's listeners: to tokens, to those that are alive, and to whether a publisher or querier has a counterpart.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use crate::table::{
    audience::Audience,
    face_id::{Action, FaceId, OwnRef},
    key_tree::KeyTree,
    kind::{Kind, PerKind},
    notice::Notice,
};

/// Something of the session that hears of changes on a key.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) face: FaceId,
    pub(super) key: Arc<str>,
    pub(super) topic: Topic,
    /// It still has to hear of the tokens from this number on that were alive before.
    pub(super) rest: Option<u32>,
}

/// What a listener hears of.
#[derive(Debug)]
pub(super) enum Topic {
    /// Tokens that come and go.
    Tokens {
        /// Interests whose answers say what was alive before, which it did not ask for.
        quiet: Vec<(FaceId, u32)>,
    },
    /// The tokens that are alive, until all are delivered.
    Alive(LivelinessQuery),
    /// Whether there is any counterpart.
    Matching {
        /// The publisher or querier that it belongs to.
        owner: OwnRef,
        audience: Audience,
        /// What it heard last.
        last_state: bool,
    },
}

/// A query for the tokens that are alive.
#[derive(Debug)]
pub(super) struct LivelinessQuery {
    /// The keys that are delivered already.
    pub(super) delivered: HashSet<Box<str>>,
    /// There is no gateway to ask.
    pub(super) held: bool,
    /// Peers that have not declared yet all they had.
    pub(super) peers: Vec<FaceId>,
    /// When these are not waited for any more; the time begins with the next look at the clock.
    pub(super) peers_until: Option<Instant>,
}

impl Listener {
    /// Whether it ends with this publisher or querier.
    pub(super) fn belongs_to(&self, sender: OwnRef) -> bool {
        matches!(self.topic, Topic::Matching { owner, .. } if owner == sender)
    }

    /// The kind of entities that it hears of.
    fn kind(&self) -> Kind {
        match &self.topic {
            Topic::Matching { audience, .. } => audience.what.kind(),
            Topic::Tokens { .. } | Topic::Alive(_) => Kind::Token,
        }
    }

    /// Whether it hears at once that a token came, which `answered` declared in answer to an interest, or went: not with the
    /// rest of what was alive before.
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

    /// Whether any hears of a kind of entities.
    pub(super) fn has_any(&self, kind: Kind) -> bool {
        !self.by_key.of(kind).is_empty()
    }

    /// Adds one under an id that no other has.
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

    /// The ids of those that `is` holds for, in order.
    pub(super) fn ids(&self, is: impl Fn(&Listener) -> bool) -> Vec<u32> {
        let those = self.by_id.iter().filter(|(_, listener)| is(listener));
        those.map(|(id, _)| *id).collect()
    }

    /// The ids of those that hear of a kind on keys that intersect `key`, as far as `is` holds for them, in order.
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

    /// The listeners to tokens and the queries for them, in order.
    pub(super) fn of_tokens(&self) -> Vec<u32> {
        let mut ids = Vec::new();
        self.by_key.of(Kind::Token).for_each(&mut |id| ids.push(id));
        ids.sort_unstable();
        ids
    }

    /// A gateway has answered an interest, or all of them as it is gone: what comes from now on is new.
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
