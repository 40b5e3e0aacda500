// SPDX-License-Identifier: MIT OR Apache-2.0

//! Peers that are linked to several routers of one mesh. All of these routers receive the peer's
//! messages; the one with the greatest id forwards them, and the rest drop them, as the mesh
//! delivers them anyway. When that router is gone, or returns, this node begins or ends to forward:
//! messages at once, declarations in slices. A face whose gate is replaced has its announcements
//! updated in the same way.

use std::collections::BTreeSet;

use crate::{
    announce::AnnounceScope,
    face::Face,
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    gate::{Gate, GatedKind},
    gateway_updates::RemainingUpdates,
    interest_records::InterestRef,
    key_tree::pattern::Pattern,
    kind::{EntityRef, Kind, kinds},
    search::SLICE_LOOKS,
};

/// Bytes of messages after which a slice ends.
const SLICE_BYTES: usize = 64 * 1024;

/// Budget of a slice that is left.
struct Slice {
    tells: usize,
    looks: usize,
    bytes: usize,
    /// Number of messages whose bytes were counted.
    weighed: usize,
}

impl Slice {
    fn spend(&mut self, actions: &[Action]) {
        self.tells = self.tells.saturating_sub(1);
        for action in actions.get(self.weighed..).unwrap_or(&[]) {
            self.bytes = self.bytes.saturating_sub(action.weight());
        }
        self.weighed = actions.len();
    }

    const fn is_over(&self) -> bool {
        self.tells == 0 || self.looks == 0 || self.bytes == 0
    }
}

impl ForwardingTable {
    /// Updates the gateways of all peers after a change of the mesh.
    pub(super) fn regard_all_gateways(&mut self, actions: &mut Vec<Action>) {
        let peers: Vec<u32> = self.topology.may_be_shared().collect();
        for slot in peers {
            self.regard_gateways(slot, actions);
        }
    }

    /// Updates the gateways of a peer, and the routes and announcements that depend on them.
    pub(super) fn regard_gateways(&mut self, slot: u32, actions: &mut Vec<Action>) {
        let mesh = &self.mesh;
        let is_changed = { &mut self.topology }.regard_gateways(slot, |zid| mesh.is_reached(zid));
        if !is_changed {
            return;
        }
        self.outdate_ways_of(slot);
        if let Some(peer) = self.topology.at(slot) {
            self.retellings.add(peer.id);
        }
        if self.leaving.is_empty() {
            self.retell_on(actions);
        }
    }

    /// Replaces the gate of a face. Declarations that the gate does not permit any more are taken
    /// back, and those that were withheld are sent, by [`sweep`](Self::sweep). A router of the mesh
    /// and a group keep the declarations that they have.
    pub fn set_gate(&mut self, face: FaceId, gate: Option<Box<dyn Gate>>) {
        if let Some(found) = self.face_mut(face) {
            found.gate = gate;
            self.retellings.add(face);
        }
    }

    /// Updates the announcements of peers to the mesh, and those to peers, for a slice.
    pub(super) fn retell_on(&mut self, actions: &mut Vec<Action>) {
        let mut slice = Slice {
            tells: self.limits.answer_slice_max.max(1),
            looks: SLICE_LOOKS,
            bytes: SLICE_BYTES,
            weighed: actions.len(),
        };
        while !slice.is_over()
            && let Some(mut one) = self.retellings.take()
        {
            if self.face(one.face).is_none() {
                continue;
            }
            // Begin with the peer, or continue where the previous slice stopped.
            let mut rest = match one.rest.take() {
                Some(rest) => rest,
                None => self.begin_retelling(one.face),
            };
            while !slice.is_over() && self.retell_one(one.face, &mut rest, &mut slice, actions) {
                slice.spend(actions);
            }
            // An unfinished peer waits behind the next ones.
            if rest.is_done() {
                self.retellings.end(one);
            } else {
                one.rest = Some(rest);
                self.retellings.put_back(one);
            }
        }
    }

    /// Collects the entities, announcements and interests of a peer that are to be updated.
    fn begin_retelling(&self, face: FaceId) -> RemainingUpdates {
        let slot = face.index;
        let declared = Kind::ALL.into_iter().flat_map(|kind| {
            let declared = self.entities.declared(slot, kind);
            declared.map(move |index| EntityRef { kind, index })
        });
        let known = self.face(face).into_iter().flat_map(|peer| {
            Kind::ALL.into_iter().flat_map(|kind| {
                let known = peer.announced.of(kind);
                known.map(move |(index, _)| EntityRef { kind, index })
            })
        });
        let unasked = Kind::ALL.into_iter().flat_map(|kind| {
            let mut all = Vec::new();
            let mut note = |index| all.push(EntityRef { kind, index });
            if (self.face(face)).is_some_and(|face| face.relation.conduct().announces_unasked) {
                self.entities(kind).tree().for_each(&mut note);
            }
            all
        });
        // An aggregate interest is sent the declaration of its group instead.
        let asked = self.interests.of(slot).flat_map(|(interest, kept)| {
            let wanted = kinds(kept.options).filter(|kind| kept.group_key(*kind).is_none());
            wanted.map(move |kind| (interest, kind))
        });
        let groups = self.interests.of(slot).flat_map(|(_, kept)| kept.groups());
        let groups: BTreeSet<_> = groups.collect();
        let mut rest = RemainingUpdates {
            declared: declared.collect(),
            known: known.collect(),
            unasked: unasked.collect(),
            groups: groups.into_iter().collect(),
            asked: asked.collect(),
            listing: None,
        };
        // Sorted, so that the order is deterministic.
        let by_number = |one: &EntityRef| (one.kind, one.index);
        rest.declared.sort_unstable_by_key(by_number);
        rest.known.sort_unstable_by_key(by_number);
        rest.unasked.sort_unstable_by_key(by_number);
        rest.asked.sort_unstable();
        rest
    }

    /// Updates one entity; false if none is left.
    fn retell_one(
        &mut self,
        face: FaceId,
        rest: &mut RemainingUpdates,
        slice: &mut Slice,
        actions: &mut Vec<Action>,
    ) -> bool {
        // First the peer's own entities, then those it knows, then those it may see now.
        if let Some(entity) = rest.declared.pop() {
            if let Some(whole) = self.mesh.whole {
                self.refresh(entity, whole.index, AnnounceScope::All, actions);
            }
        } else if let Some(entity) = rest.known.pop() {
            self.refresh(entity, face.index, AnnounceScope::Nothing, actions);
            self.withhold(entity, face.index, actions);
        } else if let Some(entity) = rest.unasked.pop() {
            self.refresh(entity, face.index, AnnounceScope::All, actions);
        } else if let Some(group) = rest.groups.pop() {
            self.settle_gated_group(face.index, group, actions);
        } else if let Some(&(interest, kind)) = rest.asked.last() {
            match self.next_asked(interest, kind, rest, slice) {
                Some(index) => {
                    let entity = EntityRef { kind, index };
                    self.refresh(entity, face.index, AnnounceScope::All, actions);
                }
                None if slice.looks == 0 => {}
                None => {
                    rest.asked.pop();
                    rest.listing = None;
                }
            }
        } else {
            return false;
        }
        true
    }

    /// Takes back the announcement of an entity to `slot` that its gate does not permit.
    fn withhold(&mut self, entity: EntityRef, slot: u32, actions: &mut Vec<Action>) {
        let EntityRef { kind, index } = entity;
        let has_gate = |face: &Face| face.gate.is_some() && face.announced.get(entity).is_some();
        if !self.topology.at(slot).is_some_and(has_gate) {
            return;
        }
        let key = self.entities(kind).key(index);
        if key.is_some_and(|key| !self.permits(slot, GatedKind::Entity(kind), &key)) {
            self.unannounce(entity, slot, actions);
        }
    }

    /// Returns the next entity of a kind that an interest covers; `None` at the end, or if `looks`
    /// is used up.
    fn next_asked(
        &self,
        interest: InterestRef,
        kind: Kind,
        rest: &mut RemainingUpdates,
        slice: &mut Slice,
    ) -> Option<u32> {
        let kept = self.interests.get(interest)?;
        if !kept.options.contains(kind.option()) {
            return None;
        }
        let entities = self.entities.of(kind);
        let key = kept.key.as_deref();
        let except = (kind != Kind::Token).then_some(interest.slot);
        let list = || entities.list(key, except, &mut slice.looks);
        let listing = rest.listing.get_or_insert_with(list);
        let pattern = key.map(Pattern::new);
        entities.next_listed(listing, pattern.as_ref(), &mut slice.looks)
    }
}
