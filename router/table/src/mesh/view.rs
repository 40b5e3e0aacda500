// SPDX-License-Identifier: MIT OR Apache-2.0

//! State of the mesh on this node, for tests that compare it with the real one.

use zonda_codec::ZenohId;

use crate::{forwarding::ForwardingTable, kind::Kind, mesh::shape::PlaceInTree};

impl ForwardingTable {
    /// Returns the other routers of the mesh, in no particular order.
    pub fn routers(&self) -> impl Iterator<Item = ZenohId> {
        self.mesh.network.others()
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
