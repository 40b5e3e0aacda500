// SPDX-License-Identifier: MIT OR Apache-2.0

//! The mesh as this node knows it, for tests that compare it with the truth.

use zonda_codec::ZenohId;

use crate::table::{forwarding::ForwardingTable, kind::Kind, mesh::shape::PlaceInTree};

impl ForwardingTable {
    /// The other routers of the mesh, in no particular order.
    pub fn routers(&self) -> impl Iterator<Item = ZenohId> {
        self.mesh.network.others()
    }

    /// Gives the place of this node in the tree of a router.
    pub fn place_in_tree(&self, root: &ZenohId) -> PlaceInTree {
        self.mesh.place_in_tree(root)
    }

    /// The keys on which a router has something, in order.
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

    /// Counts the times that the trees of the mesh were computed anew.
    pub fn mesh_reshaped(&self) -> u64 {
        self.mesh.reshaped()
    }

    /// Tells if something has changed that the trees do not know of yet.
    pub fn is_mesh_pending(&self) -> bool {
        self.mesh.is_pending()
    }
}
