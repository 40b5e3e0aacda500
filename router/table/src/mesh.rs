// SPDX-License-Identifier: MIT OR Apache-2.0

//! Mesh of routers. Each router knows all other routers and the links between them
//! ([`Network`](network::Network)), and computes the same trees from them. The entities of a
//! router's own side are declared down the router's tree, and a message that enters the mesh at a
//! router goes down the same tree to the routers that want it.
//!
//! Every router has a face in the table, in addition to the face of the link if it is a neighbour:
//! its declarations and messages belong to that face, whichever link they come by. On the wire a
//! router is named by its number in the sender's own list.

mod charges;
mod endings;
mod graph;
mod mark;
mod network;
mod shape;
mod sourced;
mod state;
mod telling;
mod throttle;
mod transition;
mod trees;
mod unsynced_routers;
mod view;

use std::collections::HashMap;
use std::time::Instant;

use zonda_codec::{LinkStateList, Locator, NodeId, WhatAmI, ZenohId};

use crate::{
    face::Face,
    face_id::{Action, FaceId, FaceInfo, FaceKind},
    forwarding::ForwardingTable,
    policy::Relation,
    scouting::Host,
};

pub(super) use charges::Charge;
pub use graph::{GraphLink, LinkWeights, NetworkGraph};
pub use shape::PlaceInTree;
pub(super) use state::{Arrival, ForwardingReach, Mesh};

impl ForwardingTable {
    /// Sets this node's part in a mesh of routers: the initial count of its changes, greater than
    /// any it has used with the same id, and the weights that it gives links to these routers.
    pub fn set_mesh(&mut self, first_sn: u64, weights: HashMap<ZenohId, u16>) {
        self.mesh.network.begin_at(first_sn);
        self.mesh.network.set_weights(weights);
    }

    /// Sets the time in ms since 1970: counts of changes that are far ahead of it are ignored.
    /// Without a clock any count is accepted.
    pub fn set_mesh_clock(&mut self, now: u64) {
        self.mesh.network.set_clock(now);
    }

    /// Announces the locators that this node listens on to other routers.
    pub fn set_own_locators(
        &mut self,
        listening: &[Locator],
        host: &Host,
        actions: &mut Vec<Action>,
    ) {
        self.mesh.network.set_own(listening, host, actions);
    }

    /// Returns the face that a message with a node id from a neighbour belongs to: the face of the
    /// router where the message entered the mesh, or the neighbour's own if that is no router.
    /// `None` if the neighbour has not introduced the id.
    pub fn source_of(&self, face: FaceId, node_id: u16) -> Option<FaceId> {
        match self.face(face)?.relation {
            Relation::RouterToRouter => self.mesh.router(face, node_id),
            _ => Some(face),
        }
    }

    /// Adds a link to another router.
    pub(super) fn link_router(&mut self, link: FaceId, zid: ZenohId, actions: &mut Vec<Action>) {
        self.mesh.unheard.welcome(link);
        if self.mesh.network.add_link(link, zid, actions) {
            self.follow_network(actions);
        }
    }

    /// Removes a link to another router.
    pub(super) fn unlink_router(&mut self, link: FaceId, actions: &mut Vec<Action>) {
        self.mesh.end_charges(link);
        self.mesh.unheard.forget(link);
        self.mesh.network.remove_link(link, actions);
        self.mesh.note_loss();
        self.follow_network(actions);
    }

    /// Handles link states of another router.
    pub(super) fn hear_router(
        &mut self,
        link: FaceId,
        states: &LinkStateList<'_>,
        actions: &mut Vec<Action>,
    ) {
        let heard = self.mesh.hear(link, states, actions);
        if heard.is_renumbered {
            self.outdate_all();
        }
        match heard.is_news {
            true => self.follow_network(actions),
            false => self.open_ways(),
        }
    }

    /// Discards routes to nowhere, which are valid only while the network is quiet.
    fn open_ways(&mut self) {
        if self.mesh.take_strict() {
            self.outdate_all();
        }
    }

    /// Follows a change of the network: removes the faces of routers that are gone and adds those
    /// of new ones at once, as their declarations come right behind. The trees follow when they are due.
    fn follow_network(&mut self, actions: &mut Vec<Action>) {
        // Faces first: routes to routers that are gone end, new routers can declare.
        let followed = self.mesh.follow();
        if !followed.gone.is_empty() {
            self.outdate_all();
        }
        for face in followed.gone {
            self.note_endings(face);
            self.remove_face(face, actions);
        }
        for zid in followed.new {
            let face = self.topology.add(FaceInfo {
                zid,
                whatami: WhatAmI::Router,
                kind: FaceKind::Beyond,
            });
            self.mesh.add_router(zid, face);
        }
        // Then everything that depends on which routers are reached.
        self.regard_all_gateways(actions);
        if self.mesh.is_to_reshape() {
            self.reshape_mesh(actions);
        }
        self.open_ways();
    }

    /// Computes the trees again, and announces to the routers that are new below this node.
    fn reshape_mesh(&mut self, actions: &mut Vec<Action>) {
        self.mesh.network.tell_all_due(actions);
        self.mesh.reshape();
        self.outdate_all();
        self.queries.stir_held();
        self.rematch_all(actions);
        self.tell_on(actions);
        self.regard_all_gateways(actions);
        if self.mesh.regard_claims(actions).is_news {
            self.follow_network(actions);
        }
    }

    /// Does the work that is due at this time: computes trees that an unstable network has delayed,
    /// and once the network is quiet, declares everything again.
    pub(super) fn settle_mesh(&mut self, now: Instant, actions: &mut Vec<Action>) {
        if self.mesh.network.look(now, actions).is_news {
            self.follow_network(actions);
        }
        if self.mesh.look(now) {
            self.reshape_mesh(actions);
        }
        self.mesh.settle(now);
        if self.mesh.take_lenient(now) {
            self.outdate_all();
        }
    }

    /// Adds the face from which this node's own side is declared to the other routers. It stays
    /// without any router, so that it has every entity when the first router connects.
    pub(super) fn add_mesh(&mut self) {
        let info = FaceInfo {
            zid: self.topology.zid(),
            whatami: WhatAmI::Router,
            kind: FaceKind::Mesh,
        };
        self.mesh.whole = Some(self.topology.add(info));
    }

    /// Returns the face that a message from `source` is sent to on its way to `to`: `to` itself, or
    /// the next router towards it. `None` if it may not go there, or would return to the link that
    /// it came by.
    pub(super) fn way(&self, source: &Face, arrival: Option<Arrival>, to: &Face) -> Option<FaceId> {
        if to.relation != Relation::Routed {
            return source.reaches(to).then_some(to.id);
        }
        let root = match source.relation {
            Relation::Routed => source.info.zid,
            relation if relation.conduct().south && !source.gateways.is_left() => {
                self.topology.zid()
            }
            _ => return None,
        };
        if self.passage(source, arrival) != ForwardingReach::All {
            return None;
        }
        let next = self.mesh.towards(&root, &to.info.zid, arrival);
        next.filter(|next| arrival.is_none_or(|arrival| arrival.link != *next))
    }

    /// Returns how far a message from `source` goes that arrived from another router.
    pub(super) fn passage(&self, source: &Face, arrival: Option<Arrival>) -> ForwardingReach {
        match (source.relation, arrival) {
            (Relation::Routed, Some(arrival)) => self.mesh.passage(&source.info.zid, arrival),
            _ => ForwardingReach::All,
        }
    }

    /// Finds the trees of a message from `source`, if it is marked with any. False if this node does
    /// not know them.
    pub(super) fn find_trees(&mut self, source: FaceId, arrival: Arrival) -> bool {
        let is_routed = |face: &Face| face.relation == Relation::Routed;
        !self.face(source).is_some_and(is_routed) || self.mesh.find_trees(arrival)
    }

    /// Records that a route is being built for messages from `source`.
    pub(super) fn note_way(&mut self, source: FaceId, arrival: Arrival) {
        let router = self
            .face(source)
            .filter(|face| face.relation == Relation::Routed);
        if let Some(root) = router.map(|face| face.info.zid) {
            self.mesh.note_route(&root, arrival);
        }
    }

    /// Returns the routing context of a message from `source` for a neighbour.
    pub(super) fn node_id(&self, source: &Face, arrival: Option<Arrival>, to: &Face) -> NodeId {
        match (source.relation, to.relation) {
            (Relation::Routed, Relation::RouterToRouter) => {
                let trees = arrival.map_or(0, |arrival| arrival.trees);
                NodeId::marked(self.mesh.number(&source.info.zid), trees)
            }
            (_, Relation::RouterToRouter) => NodeId::marked(0, self.mesh.own_mark()),
            _ => NodeId::ITSELF,
        }
    }

    /// Returns the distance of a router's declarations from this one.
    pub(super) fn distance_to_router(&self, router: &Face) -> u16 {
        self.mesh.distance(&router.info.zid)
    }
}
