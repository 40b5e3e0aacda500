// SPDX-License-Identifier: MIT OR Apache-2.0

//! Multicast groups: one face for each group. Everything that may go there does, whether a member wants it or not, as
//! nothing tells what they want for sure: so the group has a subscriber on all keys.
//!
//! Subscribers are declared to the group all the same, for routers of the other implementation that ask their neighbours for
//! no more than somebody wants: without ids, with whole keys, again whenever somebody has come. They are never taken back.

use zonda_codec::{Declaration, KeyExpr, WireExpr, ZenohId};

use crate::table::{
    entity::Declared,
    face_id::{Action, FaceId, FaceInfo, FaceKind},
    forwarding::ForwardingTable,
    kind::{EntityRef, Kind},
    message,
};

/// All keys.
const EVERYTHING: &str = "**";

/// The id of its subscriber.
const SUBSCRIBER: u32 = 0;

impl ForwardingTable {
    /// This node has joined a group. Nothing is declared to it, and it asks nothing.
    pub fn add_group(&mut self, info: FaceInfo, actions: &mut Vec<Action>) -> FaceId {
        let kind = FaceKind::Group;
        let group = self.add_face(FaceInfo { kind, ..info }, actions);
        if let Ok(key) = KeyExpr::new(EVERYTHING) {
            let wanted = Declared::plain(Kind::Subscriber, SUBSCRIBER);
            self.add_entity(group, wanted, key, actions);
        }
        group
    }

    /// These are in a group now, beside this node. What one of them sends to this node by another way is not passed on to
    /// the group, nor what is said there to it: it says and hears that itself.
    pub fn set_members(&mut self, group: FaceId, members: impl Iterator<Item = ZenohId>) {
        for slot in self.topology.set_members(group, members.collect()) {
            self.outdate_subscriptions(slot);
        }
    }

    /// Says to a group, in which somebody is new, what this node's own side and those that it passes on to subscribe to.
    pub fn announce_to_group(&self, group: FaceId, actions: &mut Vec<Action>) {
        let mut all = Vec::new();
        let tree = self.entities(Kind::Subscriber).tree();
        tree.for_each(&mut |index| all.push(index));
        for index in all {
            self.announce_subscriber(index, group.index, actions);
        }
    }

    /// Says the same of an entity that is new, to every group.
    pub(super) fn announce_to_groups(&self, entity: EntityRef, actions: &mut Vec<Action>) {
        if entity.kind == Kind::Subscriber {
            for &slot in self.topology.groups() {
                self.announce_subscriber(entity.index, slot, actions);
            }
        }
    }

    fn announce_subscriber(&self, index: u32, slot: u32, actions: &mut Vec<Action>) {
        let entities = self.entities(Kind::Subscriber);
        let Some(group) = self.topology.at(slot) else {
            return;
        };
        let is_south = group.relation.conduct().south;
        // What other groups want is everything, and nothing is passed on between groups.
        let of_node = |slot| {
            let face = self.topology.at(slot);
            face.is_some_and(|face| face.info.kind != FaceKind::Group)
        };
        let mut sources = entities.sources(index).iter();
        let is_wanted = sources.any(|one| (one.south || is_south) && of_node(one.slot));
        if let Some(key) = entities.key(index).filter(|_| is_wanted) {
            let wire_expr = WireExpr::full(&key);
            let body = Declaration::Subscriber { id: 0, wire_expr };
            message::declare(group.id, None, body, actions);
        }
    }
}
