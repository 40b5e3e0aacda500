// SPDX-License-Identifier: MIT OR Apache-2.0

//! The destinations of a query.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use zonda_codec::{QueryableInfo, Target, key_expr::includes};

use crate::table::{
    audience::Counterpart,
    entity::Source,
    face::Face,
    face_id::{FaceId, FaceKind},
    forwarding::ForwardingTable,
    key_tree::steps::Steps,
    kind::Kind,
    mesh::Passage,
    policy::Relation,
    query::types::NewQuery,
    search::Search,
};

/// A face that may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) slot: u32,
    /// The face that was at this place.
    id: FaceId,
    /// The distance of its nearest complete queryable whose key includes the query's.
    complete_at: Option<u32>,
    /// It declared a queryable that matches, rather than not having said (enough of) what it has.
    pub(super) is_known: bool,
    /// It is a gateway that may know somebody.
    pub(super) is_gateway: bool,
    /// For another router: the number of the one where the query entered the mesh.
    pub(super) node_id: u16,
}

/// A query, and where it comes from.
struct Asking<'a> {
    source: &'a Face,
    /// The link to another router that it came by.
    link: Option<FaceId>,
    new: &'a NewQuery<'a>,
}

/// The faces that a query goes to, while they are being looked for.
#[derive(Debug, Default)]
pub struct QuerySearch {
    /// With which node id the query came from a neighbour.
    node_id: u16,
    search: Search,
    found: BTreeMap<u32, Destination>,
}

impl QuerySearch {
    /// For a query that came with a node id.
    pub fn with_node_id(node_id: u16) -> Self {
        QuerySearch {
            node_id,
            ..QuerySearch::default()
        }
    }
}

impl ForwardingTable {
    /// The faces that a query from `from` goes to, ordered, each once.
    pub(super) fn destinations_of_query(
        &self,
        from: FaceId,
        new: &NewQuery<'_>,
    ) -> Vec<Destination> {
        let mut search = QuerySearch::default();
        let found = self.search_destinations(from, new, &mut search, &Steps::unlimited());
        found.unwrap_or_default()
    }

    /// Goes on with the search for them; `None` if there is more to look at.
    pub(super) fn search_destinations(
        &self,
        from: FaceId,
        new: &NewQuery<'_>,
        search: &mut QuerySearch,
        steps: &Steps,
    ) -> Option<Vec<Destination>> {
        let source = self.source_of(from, search.node_id);
        let Some(source) = source.and_then(|source| self.face(source)) else {
            return Some(Vec::new());
        };
        let link = (source.id != from).then_some(from);
        if self.passage(source, link) == Passage::Nothing {
            return Some(Vec::new());
        }
        let asking = Asking { source, link, new };
        if !self.search_queryables(&asking, search, steps) {
            return None;
        }
        let mut found = std::mem::take(&mut search.found);
        found.retain(|_, destination| self.face(destination.id).is_some());
        Some(self.destinations_among(source, new, found))
    }

    fn destinations_among(
        &self,
        source: &Face,
        new: &NewQuery<'_>,
        mut found: BTreeMap<u32, Destination>,
    ) -> Vec<Destination> {
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
                    node_id: 0,
                });
            }
        }
        found.into_values().collect()
    }

    /// Adds the session itself where it asks what it has for itself only.
    fn add_private_queryables(
        &self,
        source: &Face,
        new: &NewQuery<'_>,
        found: &mut BTreeMap<u32, Destination>,
    ) {
        if !self.topology.is_session(source) || !new.destination.is_within() {
            return;
        }
        let mut add = |_, is_complete: bool| {
            let complete_at = (is_complete && new.target != Target::All).then_some(0);
            note(found, source.id, 0, complete_at);
        };
        let own = &self.entities.session;
        own.each_private(Kind::Queryable, new.key.as_str(), &mut add);
    }

    /// Goes on looking for the faces that declared a queryable which a query from `source` may reach; false if there is
    /// more to look at.
    fn search_queryables(
        &self,
        &Asking { source, link, new }: &Asking<'_>,
        QuerySearch { search, found, .. }: &mut QuerySearch,
        steps: &Steps,
    ) -> bool {
        let (key, target) = (new.key.as_str(), new.target);
        let entities = self.entities(Kind::Queryable);
        let mut text = String::new();
        entities.search(key, search, steps, &mut |entity| {
            let mut is_included = None;
            let sources = entities.sources(entity);
            steps.spend(2 * sources.len());
            for queryable in sources {
                let Some(face) = self.topology.at(queryable.slot) else {
                    continue;
                };
                let next = self.way(source, link, face).and_then(|way| self.face(way));
                let Some(next) = next else {
                    continue;
                };
                let Some(info) = self.seen_as(source, face, entity, queryable, new) else {
                    continue;
                };
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
                note(found, next.id, self.node_id(source, next), complete_at);
            }
            ControlFlow::Continue(())
        })
    }

    /// What `face` has under `entity` for a query of `source`; `None` if nothing, because of the query's destination
    /// or because what the session has there is for others only.
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
        let counts = |what: Counterpart| self.counts(face, entity, what.within(new.destination));
        counts(Counterpart::Queryables).then(|| QueryableInfo {
            complete: info.complete && counts(Counterpart::CompleteQueryables),
            ..info
        })
    }

    /// Gives the distance of a face's declarations: the session itself, a served node, a router by the way to it, a node further off.
    fn distance(&self, face: &Face, announced: u16) -> u32 {
        match face.relation {
            Relation::Local => 0,
            Relation::Served => 1,
            Relation::Routed => 1 + u32::from(self.distance_to_router(face)),
            _ => 1 + u32::from(announced),
        }
    }

    /// Tells if `face` is asked because it did not yet say (enough of) what it has.
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

/// Adds a face that has a queryable, complete at that distance, to those that were found.
fn note(
    found: &mut BTreeMap<u32, Destination>,
    id: FaceId,
    node_id: u16,
    complete_at: Option<u32>,
) {
    let slot = id.index;
    if found.get(&slot).is_some_and(|known| known.id != id) {
        // Another face has got the place.
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

/// The nearest of those that know everything asked for; of several the first.
fn nearest_complete(found: &BTreeMap<u32, Destination>) -> Option<Destination> {
    let complete = found.values().filter_map(|destination| {
        let distance = destination.complete_at?;
        Some((distance, destination))
    });
    let (_, nearest) = complete.min_by_key(|(distance, _)| *distance)?;
    Some(*nearest)
}
