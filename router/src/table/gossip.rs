// SPDX-License-Identifier: MIT OR Apache-2.0

//! Gossip: what nodes tell each other of each other is in [`Gossip`]. Here is what the table takes from it: which of the
//! peers this node serves are linked to each other directly. Data between such two is theirs to deliver; a gateway that
//! passed it on as well would deliver it twice.

mod nodes;
#[cfg(test)]
mod tests;

use zonda_codec::{LinkStateList, WhatAmI};

pub use nodes::{Gossip, GossipCounts, GossipOptions};

use crate::table::{
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    policy::Relation,
};

impl ForwardingTable {
    /// Whether a neighbour has declared all that it had when the link came up. Peers say so, and routers to each other; of
    /// others nothing is awaited.
    pub fn has_declared_all(&self, face: FaceId) -> bool {
        self.face(face).is_some_and(|face| match face.relation {
            Relation::PeerToPeer | Relation::RouterToRouter => face.final_zero,
            _ => true,
        })
    }

    /// Link states of a neighbour. Those of a served peer say between which peers this node passes nothing on and which other
    /// gateways it has, those of another router what the mesh looks like; others are ignored.
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

    /// A message of a neighbour cannot be understood: it is counted.
    pub fn count_misplaced(&mut self, face: FaceId) {
        if let Some(source) = self.face_mut(face) {
            source.counters.misplaced += 1;
        }
    }
}
