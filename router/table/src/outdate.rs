// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ends the validity of kept routes after changes on their keys.

use std::sync::Arc;

use crate::{
    face::Face, face_id::FaceId, forwarding::ForwardingTable, hop::Hop, kind::Kind,
    validity::Validity,
};

/// Number of a neighbour's subscriptions up to which they are looked up one by one when all of them
/// may lead elsewhere.
const SUBSCRIPTIONS_MAX: usize = 64;

impl ForwardingTable {
    /// Returns the validity of a route on `key` whose search begins now.
    pub(super) fn keep_key(&mut self, key: &str) -> Arc<Validity> {
        self.kept.keep(key, self.limits.route_keys_max)
    }

    /// Records the neighbours that a kept route leads to, and its source if routes from there may
    /// have to end separately.
    pub(super) fn note_route(
        &mut self,
        from: FaceId,
        key: &str,
        validity: &Arc<Validity>,
        hops: &[Hop],
    ) {
        let source = self
            .face(from)
            .filter(|source| source.is_noted_as_source)
            .map(|source| source.id.index);
        let places = hops.iter().map(|hop| hop.face.index);
        self.kept.note(key, validity, places.chain(source));
        for hop in hops {
            if let Some(face) = self.topology.at_mut(hop.face.index) {
                face.is_on_routes = true;
                if let Some(id) = hop.their_id() {
                    face.ids.note_used(id);
                }
            }
        }
    }

    /// Ends the routes that intersect `key`, on which a subscriber was declared, undeclared or changed.
    pub(super) fn outdate(&mut self, key: &str) {
        self.kept.end_meeting(key);
    }

    /// Ends the routes that intersect the key of a subscriber entity.
    pub(super) fn outdate_entity(&mut self, entity: u32) {
        if let Some(key) = self.entities(Kind::Subscriber).key(entity) {
            self.outdate(&key);
        }
    }

    /// Ends the routes on exactly `key`, where the subscribers behind gateways may have changed.
    pub(super) fn outdate_exactly(&mut self, key: &str) {
        self.kept.end_exactly(key);
    }

    /// Ends all routes.
    pub(super) fn outdate_all(&mut self) {
        self.kept.end_all();
    }

    /// Ends the routes towards a neighbour that is gone.
    pub(super) fn outdate_towards(&mut self, gone: &Face) {
        if gone.is_on_routes {
            self.kept.end_towards(gone.id.index);
        }
    }

    /// Ends the routes from and to a peer whose gateways have changed.
    pub(super) fn outdate_ways_of(&mut self, slot: u32) {
        let Some(peer) = self.topology.at_mut(slot) else {
            return;
        };
        if std::mem::replace(&mut peer.is_noted_as_source, true) {
            self.kept.end_towards(slot);
            self.outdate_subscriptions(slot);
        } else {
            self.outdate_all();
        }
    }

    /// Ends the routes that a neighbour's subscriptions may be on.
    pub(super) fn outdate_subscriptions(&mut self, slot: u32) {
        if self.entities.count(slot, Kind::Subscriber) > SUBSCRIPTIONS_MAX {
            return self.outdate_all();
        }
        let entities: Vec<u32> = self.entities.declared(slot, Kind::Subscriber).collect();
        for entity in entities {
            self.outdate_entity(entity);
        }
    }

    /// Ends the routes to a neighbour on keys that begin with this text, which are spelled in a new
    /// way now.
    pub(super) fn outdate_spellings(&mut self, slot: u32, text: &str) {
        let face = self.topology.at(slot);
        if face.is_some_and(|face| face.is_on_routes) {
            self.kept.end_below(text, slot);
        }
    }
}
