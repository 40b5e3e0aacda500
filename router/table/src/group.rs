// SPDX-License-Identifier: MIT OR Apache-2.0

//! Multicast groups, with one face for each. A group gets every message that may go there, as
//! members have no reliable way to declare what they want: the group has a subscriber on all keys.
//!
//! Subscribers are declared to the group all the same, for routers of the reference that ask their
//! neighbours for no more than is subscribed to: without ids, with whole keys, again whenever a
//! member has joined. They are never undeclared, so a key that a client declares again and again is
//! declared to the group once.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use zonda_codec::{Declaration, KeyExpr, WireExpr, ZenohId};

use crate::{
    entity::Declared,
    face_id::{Action, FaceId, FaceInfo, FaceKind},
    forwarding::ForwardingTable,
    gate::{Gate, GatedKind},
    kind::{EntityRef, Kind},
    message,
};

/// All keys.
const EVERYTHING: &str = "**";

/// Id of the group's subscriber.
const SUBSCRIBER: u32 = 0;

/// Number of keys for each group that are remembered as declared to it.
const TOLD_MAX: usize = 16 * 1024;

/// Keys of the subscribers that each group has received since a member joined it last, by their
/// hashes.
#[derive(Debug, Default)]
pub(super) struct ToldGroups {
    hasher: RandomState,
    by_slot: HashMap<u32, HashSet<u64>>,
}

impl ToldGroups {
    /// Forgets what a group has received.
    fn begin(&mut self, slot: u32) {
        self.by_slot.remove(&slot);
    }

    /// Notes a key for a group; false if the group has received it.
    fn is_new(&mut self, slot: u32, key: &str) -> bool {
        let told = self.by_slot.entry(slot).or_default();
        if told.len() >= TOLD_MAX {
            told.clear();
        }
        told.insert(self.hasher.hash_one(key))
    }
}

impl ForwardingTable {
    /// Adds a group that this node has joined. The group receives no initial declarations or interests.
    pub fn add_group(
        &mut self,
        info: FaceInfo,
        gate: Option<Box<dyn Gate>>,
        actions: &mut Vec<Action>,
    ) -> FaceId {
        let kind = FaceKind::Group;
        let group = self.add_gated_face(FaceInfo { kind, ..info }, gate, actions);
        self.told_groups.begin(group.index);
        if let Ok(key) = KeyExpr::new(EVERYTHING) {
            let wanted = Declared::plain(Kind::Subscriber, SUBSCRIBER);
            self.add_entity(group, wanted, key, actions);
        }
        group
    }

    /// Sets the members of a group, without this node. A message that a member sends to this node
    /// over another link is not forwarded to the group, nor a message in the group to that member:
    /// it takes part in the group itself.
    pub fn set_members(&mut self, group: FaceId, members: impl Iterator<Item = ZenohId>) {
        for slot in self.topology.set_members(group, members.collect()) {
            self.outdate_subscriptions(slot);
        }
    }

    /// Declares the subscribers of this node's own side, and of nodes it forwards for, to a group
    /// with a new member.
    pub fn announce_to_group(&mut self, group: FaceId, actions: &mut Vec<Action>) {
        self.told_groups.begin(group.index);
        let mut all = Vec::new();
        let tree = self.entities(Kind::Subscriber).tree();
        tree.for_each(&mut |index| all.push(index));
        for index in all {
            self.announce_subscriber(index, group.index, actions);
        }
    }

    /// Declares a new subscriber to every group.
    pub(super) fn announce_to_groups(&mut self, entity: EntityRef, actions: &mut Vec<Action>) {
        if entity.kind == Kind::Subscriber {
            for slot in self.topology.groups().to_vec() {
                self.announce_subscriber(entity.index, slot, actions);
            }
        }
    }

    fn announce_subscriber(&mut self, index: u32, slot: u32, actions: &mut Vec<Action>) {
        let entities = self.entities(Kind::Subscriber);
        let Some(group) = self.topology.at(slot) else {
            return;
        };
        let is_south = group.relation.conduct().south;
        // A group subscribes to all keys, and no message passes between groups.
        let of_node = |slot| {
            let face = self.topology.at(slot);
            face.is_some_and(|face| face.info.kind != FaceKind::Group)
        };
        let mut sources = entities.sources(index).iter();
        let is_wanted = sources.any(|one| (one.south || is_south) && of_node(one.slot));
        let group = group.id;
        if let Some(key) = entities.key(index).filter(|_| is_wanted)
            && self.told_groups.is_new(slot, &key)
            && self.permits(slot, GatedKind::Entity(Kind::Subscriber), &key)
        {
            let wire_expr = WireExpr::full(&key);
            let body = Declaration::Subscriber { id: 0, wire_expr };
            message::declare(group, None, body, actions);
        }
    }
}
