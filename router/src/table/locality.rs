// SPDX-License-Identifier: MIT OR Apache-2.0

//! Locality filtering: which declarations count for something of the session that goes to the session itself, to other nodes,
//! or to both. It is looked at when a route is made or a query is sent, never for a message on a known route.

use crate::table::{
    audience::{Audience, Counterpart},
    face::Face,
    forwarding::ForwardingTable,
};

impl ForwardingTable {
    /// Whether what `face` declared as `entity` counts for something of the session that goes to `destination`.
    pub(super) fn counts(
        &self,
        face: &Face,
        entity: u32,
        Audience { what, destination }: Audience,
    ) -> bool {
        if !self.topology.is_session(face) {
            return destination.is_beyond();
        }
        if !destination.is_within() || !self.entities.session.has_remote_only() {
            return destination.is_within();
        }
        let key = self.entities(what.kind()).key(entity);
        let complete = what == Counterpart::CompleteQueryables;
        let session = &self.entities.session;
        key.is_some_and(|key| session.serves_session(what.kind(), &key, complete))
    }

    /// Whether the session has something for itself only that is a counterpart of its own on `key`.
    pub(super) fn has_private(&self, key: &str, what: Counterpart) -> bool {
        let complete_only = what == Counterpart::CompleteQueryables;
        let mut has = false;
        let session = &self.entities.session;
        session.each_private(what.kind(), key, &mut |_, complete| {
            has |= complete || !complete_only;
        });
        has
    }
}
