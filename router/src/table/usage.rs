// SPDX-License-Identifier: MIT OR Apache-2.0

//! How much of its limits the neighbour that has most takes now.

use crate::table::{entity::Kind, face::Face, forwarding::ForwardingTable};

/// The most that one neighbour has, of each for itself.
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
    /// Declarations and interests of all neighbours that were ignored because one of these limits was reached.
    pub declarations_refused: u64,
    /// Queries of all neighbours that ended at once for the same reason.
    pub questions_refused: u64,
}

impl ForwardingTable {
    /// The most that one neighbour has. Looks at every neighbour.
    pub fn most(&self) -> Most {
        let mut most = Most::default();
        for (_, face) in self.faces.iter() {
            most.add(face);
        }
        most
    }
}

impl Most {
    fn add(&mut self, face: &Face) {
        let declared = |kind| face.declared.of(kind).len() + face.orphans.of(kind).len();
        let parts = [
            (&mut self.key_ids, face.ids.their_count()),
            (&mut self.own_key_ids, face.ids.our_count()),
            (&mut self.subscribers, declared(Kind::Subscriber)),
            (&mut self.queryables, declared(Kind::Queryable)),
            (&mut self.tokens, declared(Kind::Token)),
            (&mut self.interests, face.interests.len()),
            (&mut self.queries, face.queries.count()),
            (&mut self.neighbours, face.neighbours.len()),
        ];
        for (most, count) in parts {
            *most = count.max(*most);
        }
        self.declarations_refused += face.counters.over_limit;
        self.questions_refused += face.counters.questions_refused;
    }
}
