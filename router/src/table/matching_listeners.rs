// SPDX-License-Identifier: MIT OR Apache-2.0

//! The session's listeners to whether a publisher or querier has a counterpart.

use std::collections::HashMap;
use std::sync::Arc;

use crate::table::{audience::Audience, face_id::OwnRef, key_tree::KeyTree};

#[derive(Debug)]
pub(super) struct MatchingListener {
    /// The publisher or querier it belongs to.
    pub(super) owner: OwnRef,
    pub(super) key: Arc<str>,
    pub(super) audience: Audience,
    /// What it heard last.
    pub(super) last_state: bool,
}

/// The session's listeners, by their ids and keys.
#[derive(Debug, Default)]
pub(super) struct MatchingListeners {
    by_id: HashMap<u32, MatchingListener>,
    tree: KeyTree<u32>,
}

impl MatchingListeners {
    /// The ids of those that `is` holds for, in order.
    pub(super) fn ids(&self, is: impl Fn(&MatchingListener) -> bool) -> Vec<u32> {
        let those = self.by_id.iter().filter(|(_, listener)| is(listener));
        let mut ids: Vec<u32> = those.map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub(super) fn get(&self, id: u32) -> Option<&MatchingListener> {
        self.by_id.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut MatchingListener> {
        self.by_id.get_mut(&id)
    }

    pub(super) fn insert(&mut self, id: u32, listener: MatchingListener) {
        self.tree.insert(&listener.key, id);
        self.by_id.insert(id, listener);
    }

    pub(super) fn remove(&mut self, id: u32) {
        if let Some(ended) = self.by_id.remove(&id) {
            self.tree.remove(&ended.key, id);
        }
    }

    /// The ids of those on keys that intersect `key` that `is` holds for, in order.
    pub(super) fn on(&self, key: &str, is: impl Fn(&MatchingListener) -> bool) -> Vec<u32> {
        let mut ids = Vec::new();
        self.tree.matches(key, &mut |id| {
            if self.by_id.get(&id).is_some_and(&is) {
                ids.push(id);
            }
        });
        ids.sort_unstable();
        ids
    }
}
