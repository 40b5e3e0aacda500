// SPDX-License-Identifier: MIT OR Apache-2.0

//! The destinations of a query.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use zonda_codec::{NodeId, QueryableInfo, Target, key_expr::includes};

use crate::{
    audience::Counterpart,
    entity::Source,
    face::Face,
    face_id::{FaceId, FaceKind},
    forwarding::ForwardingTable,
    key_tree::steps::Steps,
    kind::Kind,
    mesh::{Arrival, ForwardingReach},
    policy::Relation,
    query::types::NewQuery,
    search::Search,
};

/// Face that a query may be sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Destination {
    pub(crate) slot: u32,
    /// The face that had this slot when it was found.
    id: FaceId,
    /// Distance of its nearest complete queryable whose key includes the query's.
    complete_at: Option<u32>,
    /// True if it declared a matching queryable; false if it has not declared (enough of) its queryables.
    pub(super) is_known: bool,
    /// True if it is a gateway that may know a queryable.
    pub(super) is_gateway: bool,
    /// The routing context of the query, towards another router.
    pub(super) node_id: NodeId,
}

/// A query and its source.
struct Asking<'a> {
    source: &'a Face,
    /// Its arrival from another router.
    arrival: Option<Arrival>,
    new: &'a NewQuery<'a>,
}

/// Search for the destinations of a query.
#[derive(Debug, Default)]
pub struct QuerySearch {
    /// The routing context with which the query came from a neighbour.
    node_id: NodeId,
    search: Search,
    found: BTreeMap<u32, Destination>,
}

impl QuerySearch {
    /// Returns a search for a query that came with a routing context.
    pub fn with_node_id(node_id: NodeId) -> Self {
        QuerySearch {
            node_id,
            ..QuerySearch::default()
        }
    }
}

impl QuerySearch {
    /// Returns the routing context with which the query came.
    pub(super) const fn context(&self) -> NodeId {
        self.node_id
    }
}

impl ForwardingTable {
    /// Returns the faces that a query from `from` goes to, ordered, each once.
    pub(super) fn destinations_of_query(
        &self,
        from: FaceId,
        new: &NewQuery<'_>,
    ) -> Vec<Destination> {
        let mut search = QuerySearch::default();
        let found = self.search_destinations(from, new, &mut search, &Steps::unlimited());
        found.unwrap_or_default()
    }

    /// Continues the search for the destinations; `None` if more is left.
    pub(crate) fn search_destinations(
        &self,
        from: FaceId,
        new: &NewQuery<'_>,
        search: &mut QuerySearch,
        steps: &Steps,
    ) -> Option<Vec<Destination>> {
        let source = self.source_of(from, search.node_id.router());
        let Some(source) = source.and_then(|source| self.face(source)) else {
            return Some(Vec::new());
        };
        let arrival = (source.id != from).then_some(Arrival::new(from, search.node_id));
        if self.passage(source, arrival) == ForwardingReach::Nothing {
            return Some(Vec::new());
        }
        let asking = Asking {
            source,
            arrival,
            new,
        };
        if !self.search_queryables(&asking, search, steps) {
            return None;
        }
        let mut found = std::mem::take(&mut search.found);
        found.retain(|_, destination| self.face(destination.id).is_some());
        Some(self.destinations_among(source, new, found))
    }

    /// Selects the destinations by the target of the query, from the faces with a matching queryable.
    fn destinations_among(
        &self,
        source: &Face,
        new: &NewQuery<'_>,
        mut found: BTreeMap<u32, Destination>,
    ) -> Vec<Destination> {
        // The nearest complete queryable suffices for the best match.
        let (key, target) = (new.key.as_str(), new.target);
        self.add_private_queryables(source, new, &mut found);
        if target == Target::BestMatching
            && let Some(nearest) = nearest_complete(&found)
        {
            return vec![nearest];
        }
        if target == Target::AllComplete {
            found.retain(|_, destination| destination.complete_at.is_some());
        }
        // Faces that may have more queryables than they have declared get the query, too.
        for &slot in self.topology.north() {
            if let Some(face) = self.topology.at(slot)
                && new.destination.is_beyond()
                && source.reaches(face)
                && self.is_asked_unfiltered(source, face, key, new.querier)
            {
                found.entry(slot).or_insert(Destination {
                    slot,
                    id: face.id,
                    complete_at: None,
                    is_known: false,
                    is_gateway: face.relation == Relation::Upstream,
                    node_id: NodeId::ITSELF,
                });
            }
        }
        found.into_values().collect()
    }

    /// Adds the session itself if its query may reach queryables that only the session reaches.
    fn add_private_queryables(
        &self,
        source: &Face,
        new: &NewQuery<'_>,
        found: &mut BTreeMap<u32, Destination>,
    ) {
        if !self.topology.is_session(source) {
            return;
        }
        let mut add = |_, is_complete: bool| {
            let complete_at = (is_complete && new.target != Target::All).then_some(0);
            note(found, source.id, NodeId::ITSELF, complete_at);
        };
        let own = &self.entities.session;
        own.each_private(Kind::Queryable, new.key.as_str(), new.destination, &mut add);
    }

    /// Continues the search for faces with a queryable that a query from `source` may reach; false
    /// if more is left.
    fn search_queryables(
        &self,
        &Asking {
            source,
            arrival,
            new,
        }: &Asking<'_>,
        QuerySearch { search, found, .. }: &mut QuerySearch,
        steps: &Steps,
    ) -> bool {
        let (key, target) = (new.key.as_str(), new.target);
        let entities = self.entities(Kind::Queryable);
        let mut text = String::new();
        // Each source counts as the face that leads to it.
        entities.search(key, search, steps, &mut |entity| {
            let mut is_included = None;
            let sources = entities.sources(entity);
            steps.spend(2 * sources.len());
            for queryable in sources {
                let Some(face) = self.topology.at(queryable.slot) else {
                    continue;
                };
                let next = self
                    .way(source, arrival, face)
                    .and_then(|way| self.face(way));
                let Some(next) = next else {
                    continue;
                };
                let Some(info) = self.seen_as(source, face, entity, queryable, new) else {
                    continue;
                };
                // Complete for the query means that the queryable's key includes the query's.
                let is_complete = info.complete && target != Target::All && {
                    *is_included.get_or_insert_with(|| {
                        text.clear();
                        entities.write_key(entity, &mut text) && {
                            steps.spend_comparing(&text, key);
                            includes(&text, key)
                        }
                    })
                };
                let complete_at = is_complete.then(|| self.distance(face, info.distance));
                note(
                    found,
                    next.id,
                    self.node_id(source, arrival, next),
                    complete_at,
                );
            }
            ControlFlow::Continue(())
        })
    }

    /// Returns the promise of `face` as `entity` for a query of `source`; `None` if the query's
    /// destination excludes it or it is an entity of the session for other nodes only.
    fn seen_as(
        &self,
        source: &Face,
        face: &Face,
        entity: u32,
        declared: &Source,
        new: &NewQuery<'_>,
    ) -> Option<QueryableInfo> {
        let info = declared.info();
        if !self.topology.is_session(source) {
            return Some(info);
        }
        let counts = |what: Counterpart| {
            self.counts(face, new.key.as_str(), entity, what.within(new.destination))
        };
        counts(Counterpart::Queryables).then(|| QueryableInfo {
            complete: info.complete && counts(Counterpart::CompleteQueryables),
            ..info
        })
    }

    /// Returns the distance of a face's declarations: 0 for the session itself, 1 for a served
    /// node, more for a router by its way and for a node further off.
    fn distance(&self, face: &Face, announced: u16) -> u32 {
        match face.relation {
            Relation::Local => 0,
            Relation::Served => 1,
            Relation::Routed => 1 + u32::from(self.distance_to_router(face)),
            _ => 1 + u32::from(announced),
        }
    }

    /// Returns true if `face` gets the query because it has not declared (enough of) its queryables yet.
    fn is_asked_unfiltered(
        &self,
        source: &Face,
        face: &Face,
        key: &str,
        querier: Option<u32>,
    ) -> bool {
        debug_assert_eq!(face.info.kind, FaceKind::Remote);
        match face.relation {
            Relation::PeerToPeer => !face.final_zero,
            Relation::Upstream => !self.upstream_knows(source, face, Kind::Queryable, key, querier),
            _ => false,
        }
    }
}

/// Adds a face with a queryable, complete at that distance, to the found ones.
fn note(
    found: &mut BTreeMap<u32, Destination>,
    id: FaceId,
    node_id: NodeId,
    complete_at: Option<u32>,
) {
    let slot = id.index;
    if found.get(&slot).is_some_and(|known| known.id != id) {
        // Another face has got the slot.
        found.remove(&slot);
    }
    let destination = found.entry(slot).or_insert(Destination {
        slot,
        id,
        complete_at: None,
        is_known: true,
        is_gateway: false,
        node_id,
    });
    destination.complete_at = match (destination.complete_at, complete_at) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
}

/// Returns the nearest face with a complete queryable; of several the first.
fn nearest_complete(found: &BTreeMap<u32, Destination>) -> Option<Destination> {
    let complete = found.values().filter_map(|destination| {
        let distance = destination.complete_at?;
        Some((distance, destination))
    });
    let (_, nearest) = complete.min_by_key(|(distance, _)| *distance)?;
    Some(*nearest)
}
