// SPDX-License-Identifier: MIT OR Apache-2.0

//! Gossip: link states between nodes are in [`Gossip`]. This file has what the table takes from
//! them: the served peers that are linked to each other directly. Such peers deliver to each other;
//! a gateway that forwarded between them would deliver twice.

mod nodes;
#[cfg(test)]
mod tests;

use zonda_codec::{LinkStateList, WhatAmI};

pub use nodes::{Gossip, GossipCounts, GossipOptions};

use crate::{
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    policy::Relation,
};

impl ForwardingTable {
    /// Returns true if a neighbour has declared all that it had when the link came up. Peers and
    /// routers end these declarations with a D_FINAL; other neighbours are not waited for.
    pub fn has_declared_all(&self, face: FaceId) -> bool {
        self.face(face).is_some_and(|face| match face.relation {
            Relation::PeerToPeer | Relation::RouterToRouter => face.final_zero,
            _ => true,
        })
    }

    /// Handles link states of a neighbour. A served peer's name the peers it is linked to and its
    /// other gateways, a router's describe the mesh; those of other neighbours are ignored.
    pub fn handle_link_states(
        &mut self,
        face: FaceId,
        states: &LinkStateList<'_>,
        actions: &mut Vec<Action>,
    ) {
        if self.relation(face) == Some(Relation::RouterToRouter) {
            return self.hear_router(face, states, actions);
        }
        let is_served_peer = self.face(face).is_some_and(|peer| {
            peer.relation == Relation::Served && peer.info.whatami == WhatAmI::Peer
        });
        if is_served_peer {
            let neighbours_max = self.limits.neighbours_max;
            for slot in self.topology.hear_links(face, states, neighbours_max) {
                self.outdate_subscriptions(slot);
            }
            self.regard_gateways(face.index, actions);
        }
    }

    /// Counts a message of a neighbour that cannot be understood.
    pub fn count_misplaced(&mut self, face: FaceId) {
        if let Some(source) = self.face_mut(face) {
            source.counters.misplaced += 1;
        }
    }
}
