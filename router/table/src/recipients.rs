// SPDX-License-Identifier: MIT OR Apache-2.0

//! Nodes that wait as well while the node does not read a source.

use zonda_codec::WhatAmI;

use crate::{
    face_id::{FaceId, FaceKind},
    forwarding::ForwardingTable,
};

/// Faces that a source may have something for: messages, queries, or replies to their queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipients {
    /// No face.
    None,
    /// This one alone.
    One(FaceId),
    /// Several, or nodes that this node does not see.
    Several,
}

impl ForwardingTable {
    /// Returns the faces that a source may have something for: each face but its own that has a
    /// subscriber, a queryable or an open query, whatever the key. A router may forward for more
    /// sources, and a peer has links of its own: while this node does not read one of these, nodes
    /// wait that it cannot see, so the answer is [`Recipients::Several`].
    pub fn takers_beside(&self, source: FaceId) -> Recipients {
        let is_seen_whole = self.face(source).is_some_and(|face| match face.info.kind {
            FaceKind::Local => true,
            FaceKind::Remote => face.info.whatami == WhatAmI::Client,
            _ => false,
        });
        if !is_seen_whole {
            return Recipients::Several;
        }
        let mut only = None;
        for slot in self.entities.takers().chain(self.queries.askers()) {
            let Some(face) = self.topology.at(slot).map(|face| face.id) else {
                continue;
            };
            if face == source || self.topology.is_admin(face) {
                continue;
            }
            if only.is_some_and(|only| only != face) {
                return Recipients::Several;
            }
            only = Some(face);
        }
        only.map_or(Recipients::None, Recipients::One)
    }
}
