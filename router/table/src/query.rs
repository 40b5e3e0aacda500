// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries on their way: from the origin to all nodes that may reply, and the replies back.
//!
//! A query has one branch for each face that it is sent to, with an id of its own there. It is open
//! until every branch has ended (by its final, with its face, or by the timeout); then it [has
//! ended](Ended), once, and later replies under those ids are dropped. The table does not read
//! queries and replies: messages go from face to face with another id and another key.

mod destinations;
mod held;
mod holding;
mod pending;
mod queries;
mod types;

use std::time::{Duration, Instant};

use zonda_codec::{KeyExpr, NodeId, Target};

use crate::{
    face::Face,
    face_id::{FaceId, FaceKind},
    forwarding::ForwardingTable,
    key_tree::steps::Steps,
    kind::Kind,
    mesh::Arrival,
    policy::Relation,
    search::SLICE_STEPS,
};

pub use destinations::QuerySearch;
pub(super) use queries::Queries;
pub use types::{
    Branches, Ended, Ending, LocalBranch, NewQuery, QueryDispatch, QueryHop, QueryOrigin,
};

use destinations::Destination;

/// Longest time that a query waits, whatever its timeout.
const TIMEOUT_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

impl ForwardingTable {
    /// Handles a query from `face`, a neighbour or the session. The same id may be used again once
    /// the query has ended.
    pub fn handle_query(
        &mut self,
        face: FaceId,
        new: &NewQuery<'_>,
        now: Instant,
    ) -> QueryDispatch {
        let mut search = QuerySearch::default();
        loop {
            if let Some(disposal) = self.search_query(face, new, now, &mut search) {
                return disposal;
            }
        }
    }

    /// Handles a query for [`SLICE_STEPS`] of the search for its destinations; `None` if more is
    /// left. The caller repeats the call then, with the same query.
    pub fn search_query(
        &mut self,
        face: FaceId,
        new: &NewQuery<'_>,
        now: Instant,
        search: &mut QuerySearch,
    ) -> Option<QueryDispatch> {
        if let Some(refused) = self.refuse(face, new) {
            return Some(refused);
        }
        self.queries.held.note_time(now);
        // Search for destinations, for a slice.
        if let Some(source) = self.source_of(face, search.context().router()) {
            self.find_trees(source, Arrival::new(face, search.context()));
        }
        let steps = Steps::new(SLICE_STEPS);
        let found = self.search_destinations(face, new, search, &steps)?;
        // A query of the session without a known queryable may wait for one.
        let is_own = self.is_local(face);
        let holds = is_own && new.destination.is_beyond() && self.is_to_hold(&found, now);
        if found.is_empty() && !holds {
            return Some(self.end_unasked(face, new));
        }
        let query = self.open_query(face, new, now);
        if holds {
            self.hold(query, new);
            return Some(QueryDispatch::Held);
        }
        let branches = self.branch_out(query, new, &found);
        Some(QueryDispatch::Sent(branches))
    }

    /// Refuses a query that may not be sent; `None` if it may.
    fn refuse(&mut self, face: FaceId, new: &NewQuery<'_>) -> Option<QueryDispatch> {
        let limit = self.limits.questions_max;
        let Some(source) = self.topology.face_mut(face) else {
            return Some(QueryDispatch::Ignored);
        };
        let is_own = source.info.kind == FaceKind::Local;
        let is_router = source.relation == Relation::RouterToRouter;
        if !is_router && !source.relation.conduct().open {
            source.counters.misplaced += 1;
            return Some(QueryDispatch::Ignored);
        }
        if self.queries.has_sent(face.index, new.rid) {
            source.counters.repeated_questions += 1;
            return Some(QueryDispatch::Ignored);
        }
        if self.queries.sent(face.index) >= limit && !is_own {
            source.counters.questions_refused += 1;
            let note = source.note_of_refused_query(limit);
            self.notes.extend(note);
            return Some(self.end_unasked(face, new));
        }
        None
    }

    /// Returns the origin of query `rid` for a reply from `face`. `None`, and counted, if that
    /// query has ended or never existed.
    pub fn origin_of_reply(&mut self, face: FaceId, rid: u32) -> Option<QueryOrigin> {
        let origin = self.origin_of_query(face, rid);
        if origin.is_none()
            && let Some(source) = self.face_mut(face)
        {
            source.counters.unknown_answers += 1;
        }
        origin
    }

    /// Returns the origin of query `rid` at `face`, without counting.
    pub fn origin_of_query(&self, face: FaceId, rid: u32) -> Option<QueryOrigin> {
        self.face(face)?;
        self.queries.origin_at(face.index, rid)
    }

    /// Ends a query whose key is invalid.
    pub fn refuse_query(&mut self, origin: QueryOrigin) {
        let is_known = self.face(origin.face).is_some();
        if is_known && !self.queries.has_sent(origin.face.index, origin.rid) {
            self.queries.end(origin, Ending::Complete);
        }
    }

    /// Ends the branch of query `rid` at `face`, which has replied in full. Ignored and counted if
    /// that query has ended, or never existed.
    pub fn finish_branch(&mut self, face: FaceId, rid: u32) {
        if let Some(source) = self.topology.face_mut(face)
            && !self.queries.finish_branch(face.index, rid)
        {
            source.counters.unknown_answers += 1;
        }
    }

    /// Closes a query at the request of its origin; returns true if the query was open. It is not
    /// among the [ended](Self::take_ended).
    pub fn forget_query(&mut self, face: FaceId, rid: u32) -> bool {
        self.face(face).is_some() && self.queries.close_sent(face.index, rid)
    }

    /// Returns the queries that have ended since the last call, in that order. The caller notifies
    /// the origins.
    #[inline]
    pub fn take_ended(&mut self) -> Vec<Ended> {
        self.queries.take_ended()
    }

    /// Returns true if [`take_ended`](Self::take_ended) has queries to return.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.queries.has_ended()
    }

    /// Returns the number of open queries.
    pub fn open_queries(&self) -> usize {
        self.queries.open_count()
    }

    /// Returns the time at which the first open query times out.
    pub fn query_deadline(&self) -> Option<Instant> {
        self.queries.query_deadline()
    }

    /// Returns an id for a query of the session that no open one has.
    pub fn next_query_id(&mut self, face: FaceId) -> u32 {
        match self.face(face) {
            Some(_) => self.queries.next_id(face.index),
            None => 0,
        }
    }

    /// Ends a query that was not sent to any face.
    fn end_unasked(&mut self, face: FaceId, new: &NewQuery<'_>) -> QueryDispatch {
        self.queries.end(new.origin(face), Ending::Complete);
        QueryDispatch::Ended
    }

    fn open_query(&mut self, face: FaceId, new: &NewQuery<'_>, now: Instant) -> u32 {
        let deadline = now + new.timeout.min(TIMEOUT_MAX);
        self.queries.open(new.origin(face), deadline)
    }

    /// Adds the branches of a query.
    fn branch_out(
        &mut self,
        query: u32,
        new: &NewQuery<'_>,
        destinations: &[Destination],
    ) -> Branches {
        let mut branches = Branches::default();
        let origin = self.queries.origin(query);
        let is_own = origin.is_some_and(|origin| self.is_local(origin.face));
        let key = new.key;
        for &Destination { slot, node_id, .. } in destinations {
            let Some(face) = self.topology.at(slot) else {
                continue;
            };
            let rid = self.queries.add_branch(query, slot);
            match face.info.kind {
                FaceKind::Remote | FaceKind::Group => {
                    branches.hops.push(QueryHop {
                        node_id,
                        ..hop(face, rid, key)
                    });
                }
                // The next router on the way to these is a destination itself.
                FaceKind::Beyond | FaceKind::Mesh => {}
                FaceKind::Local => branches.local.push(LocalBranch {
                    face: face.id,
                    rid,
                    queryables: self.own_queryables(face.id, is_own, new),
                }),
            }
        }
        branches
    }

    /// Returns the queryables of this node's sessions that get a query of one of them or of another
    /// node.
    fn own_queryables(&self, face: FaceId, is_own: bool, new: &NewQuery<'_>) -> Vec<u32> {
        if self.topology.is_admin(face) {
            return Vec::new();
        }
        let own = &self.entities.session;
        own.matching(
            Kind::Queryable,
            new.key.as_str(),
            is_own.then_some(new.destination),
            new.target == Target::AllComplete,
        )
    }
}

fn hop(face: &Face, rid: u32, key: &KeyExpr<'_>) -> QueryHop {
    let spelling = face.ids.spell(key.as_str());
    QueryHop {
        face: face.id,
        rid,
        scope: spelling.scope,
        mapping: spelling.mapping,
        skip: spelling.skip,
        node_id: NodeId::ITSELF,
    }
}
