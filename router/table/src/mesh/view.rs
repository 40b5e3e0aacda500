// SPDX-License-Identifier: MIT OR Apache-2.0

//! State of the mesh on this node, for the admin space, and for tests that compare it with the real
//! one.

use std::collections::{BTreeSet, HashMap};

use zonda_codec::{WhatAmI, ZenohId};

use crate::{
    face_id::FaceKind,
    forwarding::ForwardingTable,
    kind::Kind,
    mesh::{
        graph::{GraphLink, LinkWeights, NetworkGraph},
        shape::PlaceInTree,
    },
    policy::Relation,
};

/// Largest number of neighbours of peers that a graph of peers looks up, which bounds the time for it.
const PEER_LOOKS_MAX: usize = 16_384;

impl ForwardingTable {
    /// Returns the other routers of the mesh, in no particular order.
    pub fn routers(&self) -> impl Iterator<Item = ZenohId> {
        self.mesh.network.others()
    }

    /// Returns the weights of the link to a neighbouring router; `None` if there is no link that
    /// both ends list.
    pub fn link_weights(&self, zid: &ZenohId) -> Option<LinkWeights> {
        self.mesh.network.link_weights(zid)
    }

    /// Returns the routers of the mesh, and the links that both their ends list.
    pub fn mesh_graph(&self) -> NetworkGraph {
        let network = &self.mesh.network;
        // Numbers of routers that are gone are left out.
        let mut graph = NetworkGraph::default();
        let mut numbers = HashMap::new();
        for number in (0..network.size()).filter_map(|number| u16::try_from(number).ok()) {
            if let Some(zid) = network.zid(number) {
                numbers.insert(number, graph.push(zid));
            }
        }
        let links = network.edges().into_iter().filter_map(|edge| {
            let [one, other] = edge.ends.map(|end| numbers.get(&end).copied());
            let weight = Some(edge.weight);
            Some(GraphLink {
                ends: [one?, other?],
                weight,
            })
        });
        graph.links.extend(links);
        graph
    }

    /// Returns this node, its peers, and the links between them that they have listed, as far as it
    /// looks them up.
    pub fn peer_graph(&self) -> NetworkGraph {
        let is_peer = |relation| matches!(relation, Relation::Served | Relation::PeerToPeer);
        let mut peers: Vec<_> = (self.topology.faces())
            .filter(|face| face.info.kind == FaceKind::Remote)
            .filter(|face| face.info.whatami == WhatAmI::Peer && is_peer(face.relation))
            .collect();
        peers.sort_unstable_by_key(|face| face.info.zid);
        peers.dedup_by_key(|face| face.info.zid);
        // Each is linked to this node, and to the others that it lists.
        let mut graph = NetworkGraph::default();
        let own = graph.push(self.topology.zid());
        let numbered = peers
            .iter()
            .map(|peer| (peer.info.zid, graph.push(peer.info.zid)));
        let numbers: HashMap<_, _> = numbered.collect();
        let mut all: BTreeSet<_> = numbers.values().map(|number| [own, *number]).collect();
        let listed = peers.iter().flat_map(|peer| {
            let neighbours = peer.neighbours.iter();
            neighbours.map(|other| (&peer.info.zid, other))
        });
        for (peer, other) in listed.take(PEER_LOOKS_MAX) {
            if let (Some(&one), Some(&other)) = (numbers.get(peer), numbers.get(other)) {
                all.insert([one.min(other), one.max(other)]);
            }
        }
        let weight = None;
        graph
            .links
            .extend(all.into_iter().map(|ends| GraphLink { ends, weight }));
        graph
    }

    /// Returns the neighbour that a message goes to from here in the tree of `root` on its way to
    /// each of these routers; `None` for those that no way leads to, and for this node. Computes
    /// the tree if it was not used before.
    pub fn successors(&self, root: &ZenohId, to: &[ZenohId]) -> Vec<Option<ZenohId>> {
        let next = |to: &ZenohId| self.mesh.successor(root, to);
        to.iter().map(next).collect()
    }

    /// Returns the place of this node in the tree of a router.
    pub fn place_in_tree(&self, root: &ZenohId) -> PlaceInTree {
        self.mesh.place_in_tree(root)
    }

    /// Returns the keys of a router's entities, in order.
    pub fn keys_of_router(&self, zid: &ZenohId, kind: Kind) -> Vec<String> {
        let Some(router) = self.mesh.face_of(zid) else {
            return Vec::new();
        };
        let declared = self.entities.declared(router.index, kind);
        let keys = declared.filter_map(|entity| self.entities(kind).key(entity));
        let mut keys: Vec<String> = keys.collect();
        keys.sort_unstable();
        keys
    }

    /// Returns the number of times that the trees of the mesh were computed.
    pub fn mesh_reshaped(&self) -> u64 {
        self.mesh.reshaped()
    }

    /// Returns true if a change of the network is not in the trees yet.
    pub fn is_mesh_pending(&self) -> bool {
        self.mesh.is_pending()
    }
}
