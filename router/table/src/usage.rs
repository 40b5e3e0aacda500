// SPDX-License-Identifier: MIT OR Apache-2.0

//! Usage of the limits by the neighbour that uses most, and numbers of declarations.

use crate::{face::Face, face_id::FaceKind, forwarding::ForwardingTable, kind::Kind};

/// Largest use of each limit by any one neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Most {
    /// Ids of keys that it declared.
    pub key_ids: usize,
    /// Ids of keys that were declared to it.
    pub own_key_ids: usize,
    /// Its subscribers.
    pub subscribers: usize,
    /// Its queryables.
    pub queryables: usize,
    /// Its liveliness tokens.
    pub tokens: usize,
    /// Its interests.
    pub interests: usize,
    /// Its open queries.
    pub queries: usize,
    /// Nodes that it listed as its neighbours.
    pub neighbours: usize,
    /// Declarations and interests of all neighbours that were ignored because of one of these limits.
    pub declarations_refused: u64,
    /// Queries of all neighbours that ended at once because of their limit.
    pub questions_refused: u64,
}

/// Numbers of declarations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeclaredCounts {
    /// Subscribers.
    pub subscribers: usize,
    /// Queryables.
    pub queryables: usize,
    /// Liveliness tokens.
    pub tokens: usize,
}

impl ForwardingTable {
    /// Returns the numbers of declarations of this node, and of all others that it knows of. Visits
    /// every neighbour and router.
    pub fn declared(&self) -> [DeclaredCounts; 2] {
        let mut all = [DeclaredCounts::default(); 2];
        for face in self.topology.faces() {
            let [own, others] = &mut all;
            let counts = match face.info.kind {
                FaceKind::Local => own,
                FaceKind::Group => continue,
                _ => others,
            };
            let count = |kind| self.entities.count(face.id.index, kind);
            counts.subscribers += count(Kind::Subscriber);
            counts.queryables += count(Kind::Queryable);
            counts.tokens += count(Kind::Token);
        }
        all
    }

    /// Returns the largest use of each limit. Visits every neighbour.
    pub fn most(&self) -> Most {
        let mut most = Most::default();
        for face in self.topology.faces() {
            self.add_to(&mut most, face);
        }
        most
    }

    fn add_to(&self, most: &mut Most, face: &Face) {
        let slot = face.id.index;
        let behind = self.mesh.charge(face.id);
        let declared = |kind| {
            let behind = behind.map_or(0, |behind| behind.count(kind));
            self.entities.count(slot, kind) + behind
        };
        let parts = [
            (&mut most.key_ids, face.ids.their_count()),
            (&mut most.own_key_ids, face.ids.our_count()),
            (&mut most.subscribers, declared(Kind::Subscriber)),
            (&mut most.queryables, declared(Kind::Queryable)),
            (&mut most.tokens, declared(Kind::Token)),
            (&mut most.interests, self.interests.count(slot)),
            (&mut most.queries, self.queries.count(slot)),
            (&mut most.neighbours, face.neighbours.len()),
        ];
        for (most, count) in parts {
            *most = count.max(*most);
        }
        most.declarations_refused += face.counters.over_limit;
        most.questions_refused += face.counters.questions_refused;
    }
}
