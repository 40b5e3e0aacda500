// SPDX-License-Identifier: MIT OR Apache-2.0

//! Next hops of a message from any node of the network, for explanations: found by the searches that
//! messages take, slice by slice, and without an effect on the table.

use std::time::Duration;

use zonda_codec::{KeyExpr, Qos, Target, ZenohId};

use crate::{
    audience::Reach,
    face_id::{FaceId, FaceKind},
    forwarding::ForwardingTable,
    key_tree::steps::Steps,
    kind::Kind,
    query::{NewQuery, QuerySearch},
    route::RouteSearch,
    search::SLICE_STEPS,
};

/// Search for the next hops of a message.
#[derive(Debug)]
pub struct OnwardSearch {
    from: FaceId,
    key: KeyExpr<'static>,
    search: ByKind,
}

#[derive(Debug)]
enum ByKind {
    Data(Box<RouteSearch>),
    Query(QuerySearch),
}

impl ForwardingTable {
    /// Returns the face that messages of a node come from: a neighbour's, that of a router of the
    /// mesh, or the session's. `None` for a node that this one receives nothing from directly.
    pub fn face_of_node(&self, zid: &ZenohId) -> Option<FaceId> {
        if let Some(router) = self.mesh.face_of(zid) {
            return Some(router);
        }
        let is_own = *zid == self.topology.zid();
        let mut faces = self.topology.faces();
        let found = faces.find(|face| match is_own {
            true => self.topology.is_session(face),
            false => face.info.zid == *zid && face.info.kind == FaceKind::Remote,
        });
        found.map(|face| face.id)
    }

    /// Begins to search for the next hops of a message on `key` from `from`: data if `kind` is
    /// [`Kind::Subscriber`], else a query to all queryables.
    pub fn begin_onward(&self, from: FaceId, kind: Kind, key: KeyExpr<'static>) -> OnwardSearch {
        let search = match kind {
            Kind::Subscriber | Kind::Token => {
                ByKind::Data(Box::new(RouteSearch::new(from, key.clone(), None)))
            }
            Kind::Queryable => ByKind::Query(QuerySearch::default()),
        };
        OnwardSearch { from, key, search }
    }

    /// Continues a search for [`SLICE_STEPS`]. Returns the neighbours, each once, and the session
    /// if it is a destination; `None` if more is left.
    pub fn search_onward(&self, onward: &mut OnwardSearch) -> Option<Vec<FaceId>> {
        let OnwardSearch { from, key, search } = onward;
        match search {
            ByKind::Data(search) => {
                let route = self.look_for_route(search)?;
                let own = self.topology.faces();
                let own =
                    own.filter(|face| self.topology.is_session(face) && !route.local.is_empty());
                let own = own.map(|face| face.id);
                Some(route.hops.iter().map(|hop| hop.face).chain(own).collect())
            }
            ByKind::Query(search) => {
                let new = NewQuery {
                    rid: 0,
                    key,
                    target: Target::All,
                    qos: Qos::REQUEST,
                    timeout: Duration::ZERO,
                    querier: None,
                    destination: Reach::ANY,
                    hears_of_losses: false,
                };
                let steps = Steps::new(SLICE_STEPS);
                let found = self.search_destinations(*from, &new, search, &steps)?;
                let admin = |id: &FaceId| self.topology.is_admin(*id);
                let faces = found.iter().filter_map(|one| self.topology.at(one.slot));
                Some(faces.map(|face| face.id).filter(|id| !admin(id)).collect())
            }
        }
    }
}
