// SPDX-License-Identifier: MIT OR Apache-2.0

//! The session's listeners to liveliness tokens, and its queries for those that are alive.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use zonda_codec::KeyExpr;

use crate::table::{
    face_id::{Action, FaceId},
    key_tree::KeyTree,
    notice::Notice,
};

/// Those of the session that hear of tokens.
#[derive(Debug, Default)]
pub(super) struct TokenListeners {
    pub(super) by_id: HashMap<u32, TokenListener>,
    pub(super) tree: KeyTree<u32>,
    pub(super) queries: BTreeMap<u32, LivelinessQuery>,
}

#[derive(Debug)]
pub(super) struct TokenListener {
    pub(super) face: FaceId,
    pub(super) key: Arc<str>,
    /// What the gateways are asked on its behalf.
    pub(super) want: Option<u32>,
    /// Interests whose answers tell what was alive before, which it did not ask for.
    pub(super) quiet: Vec<(FaceId, u32)>,
    /// It still has to hear of the tokens from this place on that were alive before.
    pub(super) rest: Option<u32>,
}

impl TokenListener {
    /// Whether a change of this token is delivered by itself, rather than with the rest of what was alive before.
    pub(super) fn is_past(&self, entity: u32) -> bool {
        self.rest.is_none_or(|rest| entity < rest)
    }
}

/// A query for the tokens that are alive.
#[derive(Debug)]
pub(super) struct LivelinessQuery {
    pub(super) face: FaceId,
    pub(super) key: Arc<str>,
    /// The keys that are delivered already.
    pub(super) delivered: HashSet<Box<str>>,
    /// What this node knows itself must still be delivered from this place on.
    pub(super) rest: Option<u32>,
    /// There is no gateway to ask.
    pub(super) held: bool,
    /// Peers that have not declared yet all they had.
    pub(super) peers: Vec<FaceId>,
    /// When these are not waited for any more; the time begins with the next look at the clock.
    pub(super) peers_until: Option<Instant>,
}

impl TokenListeners {
    /// Tells those who listen to `key` and `hear` it.
    pub(super) fn notify(
        &self,
        key: &str,
        alive: bool,
        hears: impl Fn(&TokenListener) -> bool,
        actions: &mut Vec<Action>,
    ) {
        let mut ids = Vec::new();
        self.tree.matches(key, &mut |id| {
            if self.by_id.get(&id).is_some_and(&hears) {
                ids.push(id);
            }
        });
        ids.sort_unstable();
        let notice = match ids.is_empty() {
            true => None,
            false => token(key, alive),
        };
        if let Some(notice) = notice {
            for id in ids {
                notify(id, notice.clone(), actions);
            }
        }
    }
}

pub(super) fn token(key: &str, alive: bool) -> Option<Notice> {
    // The keys of tokens were looked at when they were declared.
    let key = KeyExpr::new(key.to_owned()).ok()?.into_cloneable();
    Some(Notice::Token { key, alive })
}

pub(super) fn notify(listener: u32, notice: Notice, actions: &mut Vec<Action>) {
    actions.push(Action::Notify { listener, notice });
}
