// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ends the validity of kept routes when something happens on their keys.

use std::sync::Arc;

use crate::table::{
    face::Face, face_id::FaceId, forwarding::ForwardingTable, hop::Hop, kind::Kind,
    validity::Validity,
};

/// Subscriptions of a neighbour that are looked up one by one when all of them may lead elsewhere.
const SUBSCRIPTIONS_MAX: usize = 64;

impl ForwardingTable {
    /// The validity of a route on `key` that is looked for from now on.
    pub(super) fn keep_key(&mut self, key: &str) -> Arc<Validity> {
        self.kept.keep(key, self.limits.route_keys_max)
    }

    /// Notes where a route leads that somebody keeps, and where it comes from if that may come to matter.
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

    /// A subscriber on `key` came, went, or is of another kind.
    pub(super) fn outdate(&mut self, key: &str) {
        self.kept.end_meeting(key);
    }

    /// The same of a subscriber that is an entity.
    pub(super) fn outdate_entity(&mut self, entity: u32) {
        if let Some(key) = self.entities(Kind::Subscriber).key(entity) {
            self.outdate(&key);
        }
    }

    /// What gateways know of subscribers on exactly `key` changed.
    pub(super) fn outdate_exactly(&mut self, key: &str) {
        self.kept.end_exactly(key);
    }

    /// Everything may lead elsewhere.
    pub(super) fn outdate_all(&mut self) {
        self.kept.end_all();
    }

    /// A neighbour is gone.
    pub(super) fn outdate_towards(&mut self, gone: &Face) {
        if gone.is_on_routes {
            self.kept.end_towards(gone.id.index);
        }
    }

    /// Whatever comes from a peer or goes to it may take another way.
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

    /// Whatever a neighbour subscribed to may lead to it or not.
    pub(super) fn outdate_subscriptions(&mut self, slot: u32) {
        if self.entities.count(slot, Kind::Subscriber) > SUBSCRIPTIONS_MAX {
            return self.outdate_all();
        }
        let entities: Vec<u32> = self.entities.declared(slot, Kind::Subscriber).collect();
        for entity in entities {
            self.outdate_entity(entity);
        }
    }

    /// Keys that begin with this text are spelled otherwise for a neighbour.
    pub(super) fn outdate_spellings(&mut self, slot: u32, text: &str) {
        let face = self.topology.at(slot);
        if face.is_some_and(|face| face.is_on_routes) {
            self.kept.end_below(text, slot);
        }
    }
}
