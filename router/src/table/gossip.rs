// SPDX-License-Identifier: MIT OR Apache-2.0

//! Gossip: what nodes tell each other of each other is in [`Gossip`]. Here is what the table takes from it: which of the
//! peers this node serves are linked to each other directly. Data between such two is theirs to deliver; a gateway that
//! passed it on as well would deliver it twice.

mod nodes;
mod tell;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use zonda_codec::{LinkStateList, Oam, OamBody, Reader, WhatAmI, ZenohId};

pub use nodes::{Gossip, GossipCounts, GossipOptions};

use crate::table::{Action, FaceId, face::Face, forwarding::ForwardingTable, policy::Relation};

/// The number a node has in its own table.
const ITSELF: u64 = 0;

impl ForwardingTable {
    /// Whether a neighbour has declared all that it had when the link came up. Only peers do; of others nothing is awaited.
    pub fn has_declared_all(&self, face: FaceId) -> bool {
        self.face(face)
            .is_some_and(|face| face.relation != Relation::PeerToPeer || face.final_zero)
    }

    /// An OAM message from a neighbour. Anything but the link states of a served peer is ignored.
    pub fn handle_oam(&mut self, face: FaceId, oam: &Oam<'_>, _actions: &mut Vec<Action>) {
        let (Oam::LINK_STATE, OamBody::Buf(body)) = (oam.id, oam.body) else {
            return;
        };
        let limit = self.limits.neighbours_max;
        let Some(peer) = self.face_mut(face) else {
            return;
        };
        if peer.relation != Relation::Served || peer.info.whatami != WhatAmI::Peer {
            return;
        }
        let Ok(states) = LinkStateList::decode(&mut Reader::new(body)) else {
            peer.counters.misplaced += 1;
            return;
        };
        let was_silent = peer.known_nodes.is_empty();
        for state in states.iter() {
            if let Some(zid) = state.zid {
                if peer.known_nodes.len() < limit || peer.known_nodes.contains_key(&state.psid) {
                    peer.known_nodes.insert(state.psid, zid);
                } else {
                    peer.counters.over_limit += 1;
                }
            }
        }
        let own = states.iter().filter(|state| state.psid == ITSELF);
        let mut before = None;
        if let Some(own) = own.last() {
            let linked = own.links.iter().take(limit);
            let known = &peer.known_nodes;
            let neighbours = linked
                .filter_map(|psid| known.get(&psid).copied())
                .collect();
            before = Some(std::mem::replace(&mut peer.neighbours, neighbours));
        }
        let spoke = was_silent && !peer.known_nodes.is_empty();
        let before = before.unwrap_or_else(|| peer.neighbours.clone());
        self.outdate_links(face, &before, spoke);
    }

    /// A peer has listed its links. Between two that are, this node passes nothing on.
    fn outdate_links(&mut self, face: FaceId, before: &HashSet<ZenohId>, spoke: bool) {
        let Some(peer) = self.face(face) else {
            return;
        };
        if peer.neighbours == *before && !spoke {
            return;
        }
        let zid = peer.info.zid;
        let differs = |other: &Face| {
            let theirs = &other.info.zid;
            peer.neighbours.contains(theirs) != before.contains(theirs)
                || spoke && other.neighbours.contains(&zid)
        };
        let others = self.faces.iter().filter(|(_, other)| differs(other));
        let mut slots: Vec<u32> = others.map(|(slot, _)| slot).collect();
        if !slots.is_empty() {
            slots.push(face.index);
        }
        for slot in slots {
            self.outdate_subscriptions(slot);
        }
    }
}
