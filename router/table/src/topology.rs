// SPDX-License-Identifier: MIT OR Apache-2.0

//! Faces of the node: its neighbours and its own local faces, and their relations to it.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use zonda_codec::{InterestMode, LinkStateList, QueryableInfo, WhatAmI, ZenohId};

use crate::{
    entity::Source,
    face::Face,
    face_id::{FaceId, FaceInfo, FaceKind},
    gateways::KnownNode,
    ids::Learned,
    kind::Kind,
    limits::{Limits, key_memory},
    policy::Relation,
    slots::Slots,
};

/// Number of a node in its own list of link states.
const ITSELF: u64 = 0;

/// Faces of a node, by slot, and their roles.
#[derive(Debug)]
pub(super) struct Topology {
    zid: ZenohId,
    role: WhatAmI,
    faces: Slots<Face>,
    /// Number of faces that have had each slot before.
    generations: Vec<u32>,
    /// Slots of gateways and peers, sorted. The node declares every entity of its own and of its
    /// clients to them.
    north: Vec<u32>,
    /// Slots of the gateways among them, the oldest first.
    gateways: Vec<u32>,
    /// Slots of multicast groups.
    groups: Vec<u32>,
    /// Face of the node's admin space.
    admin: Option<FaceId>,
    /// Bytes of memory of the keys behind all neighbours' ids.
    id_memory: usize,
    /// Bytes of all refused declarations that the node remembers.
    refused_memory: usize,
    /// True if no message passes between two served peers that connect from now on.
    keeps_peers_apart: bool,
    /// Slots of served peers that list other routers.
    listing: BTreeSet<u32>,
    /// Slots of the peers among them that have other gateways in this node's mesh.
    shared: BTreeSet<u32>,
}

impl Topology {
    /// Returns the topology of the node `zid` of role `role`, without faces.
    pub(super) fn new(zid: ZenohId, role: WhatAmI) -> Self {
        Topology {
            zid,
            role,
            faces: Slots::new(),
            generations: Vec::new(),
            north: Vec::new(),
            gateways: Vec::new(),
            groups: Vec::new(),
            admin: None,
            id_memory: 0,
            refused_memory: 0,
            keeps_peers_apart: false,
            listing: BTreeSet::new(),
            shared: BTreeSet::new(),
        }
    }

    /// Stops messages between any two served peers that connect from now on.
    pub(super) const fn keep_peers_apart(&mut self) {
        self.keeps_peers_apart = true;
    }

    pub(super) const fn zid(&self) -> ZenohId {
        self.zid
    }

    pub(super) const fn role(&self) -> WhatAmI {
        self.role
    }

    /// Adds a face under an id that no other face has or had.
    pub(super) fn add(&mut self, info: FaceInfo) -> FaceId {
        let relation = Relation::between(self.role, &info);
        let is_served_peer = relation == Relation::Served && info.whatami == WhatAmI::Peer;
        let mut id = FaceId {
            index: 0,
            generation: 0,
        };
        // The generation distinguishes the face from earlier ones in the same slot.
        id.index = self.faces.insert(Face::new(id, info, relation));
        let place = id.index as usize;
        if self.generations.len() <= place {
            self.generations.resize(place + 1, 0);
        }
        id.generation = self.generations.get(place).map_or(0, |count| *count);
        if let Some(face) = self.faces.get_mut(id.index) {
            face.id = id;
            face.is_apart = self.keeps_peers_apart && is_served_peer;
        }
        // Keep the lists of faces with a special role.
        if relation.conduct().announces_unasked {
            let at = self.north.partition_point(|&other| other < id.index);
            self.north.insert(at, id.index);
        }
        if relation.conduct().ask {
            self.gateways.push(id.index);
        }
        if info.kind == FaceKind::Group {
            self.groups.push(id.index);
        }
        id
    }

    /// Removes a face. Its slot is not reused before it is [released](Self::release).
    pub(super) fn remove(&mut self, face: FaceId) -> Option<Face> {
        self.face(face)?;
        let slot = face.index;
        let gone = self.faces.reserve(slot)?;
        self.id_memory -= gone.id_memory();
        self.refused_memory -= gone.refused_memory();
        if let Some(generation) = self.generations.get_mut(slot as usize) {
            *generation = generation.wrapping_add(1);
        }
        self.north.retain(|&other| other != slot);
        self.gateways.retain(|&other| other != slot);
        self.groups.retain(|&other| other != slot);
        self.listing.remove(&slot);
        self.shared.remove(&slot);
        Some(gone)
    }

    /// Frees the slot of a face whose state is removed.
    pub(super) fn release(&mut self, slot: u32) {
        self.faces.release(slot);
    }

    /// Returns the face of this id; `None` if it is gone.
    pub(super) fn face(&self, face: FaceId) -> Option<&Face> {
        self.at(face.index).filter(|found| found.id == face)
    }

    pub(super) fn face_mut(&mut self, face: FaceId) -> Option<&mut Face> {
        self.at_mut(face.index).filter(|found| found.id == face)
    }

    /// Returns the face in this slot.
    pub(super) fn at(&self, slot: u32) -> Option<&Face> {
        self.faces.get(slot)
    }

    pub(super) fn at_mut(&mut self, slot: u32) -> Option<&mut Face> {
        self.faces.get_mut(slot)
    }

    /// Returns a bound: all slots of faces are below it.
    pub(super) fn places(&self) -> u32 {
        self.faces.places()
    }

    pub(super) fn faces(&self) -> impl Iterator<Item = &Face> {
        self.faces.iter().map(|(_, face)| face)
    }

    /// Returns the slots of the faces that every entity of the own side is declared to: gateways
    /// and fellow peers, in order.
    pub(super) fn north(&self) -> &[u32] {
        &self.north
    }

    /// Returns the slots of the gateways, the oldest first.
    pub(super) fn gateways(&self) -> &[u32] {
        &self.gateways
    }

    /// Returns the slots of multicast groups.
    pub(super) fn groups(&self) -> &[u32] {
        &self.groups
    }

    /// Returns true if this node is a client without a gateway, which has no other node to send to.
    pub(super) fn is_cut_off(&self) -> bool {
        self.role == WhatAmI::Client && self.gateways.is_empty()
    }

    /// Returns true if a face belongs to the node itself: its session, or its admin space.
    pub(super) fn is_local(&self, face: FaceId) -> bool {
        let found = self.face(face);
        found.is_some_and(|face| face.info.kind == FaceKind::Local)
    }

    /// Returns true if a face is the session, rather than a neighbour or the admin space.
    pub(super) fn is_session(&self, face: &Face) -> bool {
        face.info.kind == FaceKind::Local && !self.is_admin(face.id)
    }

    pub(super) fn is_admin(&self, face: FaceId) -> bool {
        Some(face) == self.admin
    }

    pub(super) const fn set_admin(&mut self, face: FaceId) {
        self.admin = Some(face);
    }

    /// Returns the bytes of memory of the keys behind all neighbours' ids.
    pub(super) const fn id_memory(&self) -> usize {
        self.id_memory
    }

    /// Returns the bytes of memory of the refused declarations that the node remembers.
    pub(super) const fn refused_memory(&self) -> usize {
        self.refused_memory
    }

    /// Counts a refused declaration of a face; false if the face may have no more.
    pub(super) fn charge_refused(&mut self, face: FaceId, memory: usize, limits: &Limits) -> bool {
        let Some(found) = self.face_mut(face) else {
            return false;
        };
        if found.is_full(0, 1, memory, limits) {
            return false;
        }
        found.charge_refused(memory);
        self.refused_memory += memory;
        true
    }

    /// Takes back what [`charge_refused`](Self::charge_refused) counted.
    pub(super) fn discharge_refused(&mut self, face: FaceId, memory: usize) {
        if let Some(found) = self.face_mut(face) {
            found.discharge_refused(memory);
            self.refused_memory -= memory;
        }
    }

    /// Records an id that a neighbour declared for a key.
    pub(super) fn learn_id(&mut self, face: FaceId, id: u16, key: Arc<str>) -> Option<Learned> {
        let memory = key_memory(&key);
        let learned = self.face_mut(face)?.learn_id(id, key);
        if learned == Learned::New {
            self.id_memory += memory;
        }
        Some(learned)
    }

    /// Removes an id of a neighbour; returns its key, and true if a route is spelled with it.
    /// Counts an unknown one.
    pub(super) fn forget_id(&mut self, face: FaceId, id: u16) -> Option<(Arc<str>, bool)> {
        let (key, is_used) = self.face_mut(face)?.forget_id(id)?;
        self.id_memory -= key_memory(&key);
        Some((key, is_used))
    }

    /// Handles the link states of a served peer: the nodes it is linked to directly. Returns the
    /// slots of the faces between which the node begins or ceases to forward.
    pub(super) fn hear_links(
        &mut self,
        face: FaceId,
        states: &LinkStateList<'_>,
        neighbours_max: usize,
    ) -> Vec<u32> {
        let Some(peer) = self.face_mut(face) else {
            return Vec::new();
        };
        // Record the nodes that the states introduce; a state without a role keeps the known one.
        let was_silent = peer.known_nodes.is_empty();
        for state in states.iter() {
            let Some(zid) = state.zid else { continue };
            let is_known = peer.known_nodes.contains_key(&state.psid);
            if is_known || peer.known_nodes.len() < neighbours_max {
                let before = peer.known_nodes.get(&state.psid);
                let was_router = before.is_some_and(|known| known.zid == zid && known.is_router);
                let role = state.whatami.map(|role| role == WhatAmI::Router);
                let is_router = state.is_gateway || role.unwrap_or(was_router);
                let known = KnownNode { zid, is_router };
                peer.known_nodes.insert(state.psid, known);
            } else {
                peer.counters.over_limit += 1;
            }
        }
        // Replace the peer's links by those of its last state of itself.
        let before = peer.neighbours.clone();
        let own = states.iter().filter(|state| state.psid == ITSELF);
        if let Some(own) = own.last() {
            let linked = own.links.iter().take(neighbours_max);
            let known = &peer.known_nodes;
            let linked: Vec<_> = linked.filter_map(|psid| known.get(&psid)).collect();
            let routers = linked.iter().filter(|node| node.is_router);
            peer.gateways.list(routers.map(|node| node.zid));
            peer.neighbours = linked.iter().map(|node| node.zid).collect();
        }
        // The first state of a peer makes its own links count instead of those that other peers list.
        let spoke = was_silent && !peer.known_nodes.is_empty();
        match peer.gateways.has_listed() {
            true => self.listing.insert(face.index),
            false => self.listing.remove(&face.index),
        };
        self.changed_links(face, &before, spoke)
    }

    /// Returns the slots of the peers that may have other gateways.
    pub(super) fn may_be_shared(&self) -> impl Iterator<Item = u32> {
        self.listing.union(&self.shared).copied()
    }

    /// Updates the other gateways of a peer. True if anything has changed.
    pub(super) fn regard_gateways(
        &mut self,
        slot: u32,
        is_reached: impl Fn(&ZenohId) -> bool,
    ) -> bool {
        let own = self.zid;
        let Some(peer) = self.at_mut(slot) else {
            return false;
        };
        let is_changed = peer.gateways.regard(own, is_reached);
        match peer.gateways.are_several() {
            true => self.shared.insert(slot),
            false => self.shared.remove(&slot),
        };
        is_changed
    }

    /// Returns an entity as a face sees it, from its sources; `None` if the face may not see it.
    ///
    /// A served node sees every entity but its own (of tokens also its own), the north sees the
    /// south. Entities that another gateway announces to it are left out.
    pub(super) fn visible(
        &self,
        kind: Kind,
        sources: &[Source],
        face: &Face,
    ) -> Option<QueryableInfo> {
        // Sources that the face may see.
        let conduct = face.relation.conduct();
        let mut seen = sources.iter().filter(|source| {
            let is_hidden = match source.slot == face.id.index {
                true => kind != Kind::Token,
                false => source.is_apart && face.is_apart,
            };
            (source.south || conduct.south) && !is_hidden && !self.leaves(kind, source.slot, face)
        });
        // Several queryables make the best of their promises together.
        let mut merged = seen.next()?.info();
        if kind == Kind::Queryable {
            for other in seen.map(Source::info) {
                merged.complete |= other.complete;
                merged.distance = merged.distance.min(other.distance);
            }
        }
        Some(merged)
    }

    /// Returns true if an answer to the current interest of `face` has a token with these sources.
    ///
    /// A peer may send such an interest to one of its gateways only, so no token is left to another
    /// one. A peer knows its own tokens and those of the peers that it is linked to: from the moment
    /// at which it reports the link itself, as it asks a peer whose tokens have not all come.
    pub(super) fn tells_now(&self, sources: &[Source], face: &Face) -> bool {
        let conduct = face.relation.conduct();
        let is_peer = face.relation == Relation::Served && face.info.whatami == WhatAmI::Peer;
        let is_own = |source: &Source| source.slot == face.id.index;
        let is_linked = |source: &Source| {
            let from = self.at(source.slot);
            from.is_some_and(|from| from.relation == Relation::Served && face.is_linked_to(from))
        };
        let knows = |source: &Source| is_peer && (is_own(source) || is_linked(source));
        let may_see = |source: &Source| {
            (source.south || conduct.south)
                && (is_own(source) || !(source.is_apart && face.is_apart))
        };
        sources.iter().any(may_see) && !sources.iter().any(knows)
    }

    /// Returns true if no answer to an interest of `face` has the entities of a kind that it alone
    /// declared: see [`visible`](Self::visible) and [`tells_now`](Self::tells_now).
    pub(super) fn hides_own(kind: Kind, mode: InterestMode, face: &Face) -> bool {
        let is_peer = face.relation == Relation::Served && face.info.whatami == WhatAmI::Peer;
        kind != Kind::Token || mode == InterestMode::Current && is_peer
    }

    /// Returns true if another gateway announces the entities of the face at `source` to `face`, or
    /// to the mesh. A gateway announces no subscribers and queryables to a peer that another one
    /// forwards for.
    pub(super) fn leaves(&self, kind: Kind, source: u32, face: &Face) -> bool {
        match (face.relation, kind) {
            _ if self.shared.is_empty() => false,
            (Relation::Mesh, _) => {
                let peer = self.at(source);
                peer.is_some_and(|peer| peer.gateways.is_left())
            }
            (Relation::Served, Kind::Token) => {
                let is_own = source == face.id.index;
                match self.at(source) {
                    Some(router) if router.relation == Relation::Routed => {
                        face.gateways.leave(&router.info.zid)
                    }
                    Some(_) => is_own && face.gateways.is_left(),
                    None => face.gateways.is_left(),
                }
            }
            (Relation::Served, _) => face.gateways.is_left(),
            _ => false,
        }
    }

    /// Returns true if some sources of a kind are hidden from a face that may see other ones.
    pub(super) fn may_be_unseen(&self, kind: Kind) -> bool {
        self.keeps_peers_apart || kind == Kind::Token && !self.shared.is_empty()
    }

    /// Returns true if all faces that may see any entity of a kind see this source, except the
    /// source itself.
    pub(super) fn is_seen_by_all(&self, kind: Kind, source: &Source) -> bool {
        let is_left = |face: &Face| face.relation == Relation::Routed || face.gateways.is_left();
        let are_shared = kind == Kind::Token && !self.shared.is_empty();
        let is_hidden = are_shared && self.at(source.slot).is_some_and(is_left);
        !source.is_apart && !is_hidden
    }

    /// Sets the members of a group. Returns the slots of the faces between which the node begins or
    /// ceases to forward.
    pub(super) fn set_members(&mut self, group: FaceId, members: HashSet<ZenohId>) -> Vec<u32> {
        let Some(face) = self.face_mut(group) else {
            return Vec::new();
        };
        let before = std::mem::replace(&mut face.neighbours, members);
        self.changed_links(group, &before, false)
    }

    /// Returns the faces whose link to `face`, which had links to `before`, is new or gone; and
    /// `face` itself if there are any. `spoke` is true if `face` has sent its links for the first
    /// time, so that its own list counts from now on.
    fn changed_links(&self, face: FaceId, before: &HashSet<ZenohId>, spoke: bool) -> Vec<u32> {
        let Some(peer) = self.face(face) else {
            return Vec::new();
        };
        if peer.neighbours == *before && !spoke {
            return Vec::new();
        }
        let differs = |other: &&Face| {
            let theirs = &other.info.zid;
            peer.neighbours.contains(theirs) != before.contains(theirs)
                || spoke && other.neighbours.contains(&peer.info.zid)
        };
        let mut slots: Vec<u32> = self.faces().filter(differs).map(|f| f.id.index).collect();
        if !slots.is_empty() {
            slots.push(face.index);
        }
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u128, whatami: WhatAmI) -> FaceInfo {
        FaceInfo {
            zid: ZenohId::random_from(number),
            whatami,
            kind: FaceKind::Remote,
        }
    }

    fn peer() -> Topology {
        Topology::new(ZenohId::random_from(0), WhatAmI::Peer)
    }

    #[test]
    fn a_place_is_not_reused_before_it_is_released_and_then_under_another_id() {
        let mut topology = peer();
        let first = topology.add(node(1, WhatAmI::Client));
        assert!(topology.remove(first).is_some());
        assert!(topology.remove(first).is_none() && topology.face(first).is_none());
        let second = topology.add(node(2, WhatAmI::Client));
        assert_ne!(first.index, second.index);
        topology.release(first.index);
        let third = topology.add(node(3, WhatAmI::Client));
        assert_eq!((third.index, third.generation), (first.index, 1));
        assert!(topology.face(first).is_none() && topology.face(third).is_some());
    }

    #[test]
    fn gateways_and_peers_are_the_north_and_served_nodes_are_not() {
        let mut topology = peer();
        let client = topology.add(node(1, WhatAmI::Client));
        let other = topology.add(node(2, WhatAmI::Peer));
        let router = topology.add(node(3, WhatAmI::Router));
        assert_eq!(topology.north(), [other.index, router.index]);
        assert_eq!(topology.gateways(), [router.index]);
        topology.remove(other);
        topology.remove(router);
        assert_eq!((topology.north(), topology.gateways()), (&[][..], &[][..]));
        assert!(!topology.is_local(client) && !topology.is_cut_off());
        let client = Topology::new(ZenohId::random_from(0), WhatAmI::Client);
        assert!(client.is_cut_off());
    }

    #[test]
    fn the_memory_of_ids_goes_with_the_ids_and_with_the_face() {
        let mut topology = peer();
        let face = topology.add(node(1, WhatAmI::Client));
        let learned = topology.learn_id(face, 1, "a/b".into());
        assert_eq!(learned, Some(Learned::New));
        assert_eq!(topology.id_memory(), key_memory("a/b"));
        topology.learn_id(face, 1, "a/b".into());
        assert_eq!(topology.id_memory(), key_memory("a/b"));
        topology.learn_id(face, 2, "c".into());
        assert!(topology.forget_id(face, 1).is_some());
        assert_eq!(topology.id_memory(), key_memory("c"));
        topology.remove(face);
        assert_eq!(topology.id_memory(), 0);
    }
}
