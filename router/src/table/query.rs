// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries on their way: from the origin to all nodes that may reply, and the replies back.
//!
//! A query has one branch for each face that is asked, under a number of its own there. It is open until every branch
//! has ended (by its final, with its face, or by the timeout); then it [has ended](Ended), once, and whatever
//! still comes under those numbers is dropped. The table does not see what is in queries and replies: messages go
//! from face to face with another number and another key.

mod destinations;
mod ends;
mod held;
mod own;
mod pending;

use std::time::{Duration, Instant};

use zonda_codec::{KeyExpr, Mapping, Qos, Target, WireExpr, ZenohId};

use crate::table::{
    FaceId, FaceKind, face::Face, forwarding::ForwardingTable, key_tree::steps::Steps,
    locality::Locality, policy::Relation, search::SLICE_STEPS,
};

pub use destinations::QuerySearch;
pub(super) use ends::LeavingQueries;
pub(super) use pending::{FaceQueries, Queries};

use destinations::Destination;
use pending::{Branch, Pending};

/// The longest that a query waits, whatever it asks for.
const TIMEOUT_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// A query that arrives.
#[derive(Debug, Clone, Copy)]
pub struct NewQuery<'a> {
    /// Its number; the origin's choice.
    pub rid: u32,
    /// The keys asked for, in full.
    pub key: &'a KeyExpr<'a>,
    /// Which queryables are to be asked.
    pub target: Target,
    /// The quality of service of the query and of its replies.
    pub qos: Qos,
    /// How long the origin waits; a week at most.
    pub timeout: Duration,
    /// The id of the declared querier it comes from, if it comes from a local one.
    pub querier: Option<u32>,
    /// Where it goes, if it comes from the session.
    pub destination: Locality,
}

/// What becomes of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryDispatch {
    /// It is to be sent to these.
    Sent(Branches),
    /// It waits for a destination: see [`ForwardingTable::release_held`].
    Held,
    /// It has ended already, and is among the [ended](ForwardingTable::take_ended).
    Ended,
    /// It is ignored, and counted: its number is that of an open query of the same face, or the face may not send queries.
    Ignored,
}

/// The destinations of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Branches {
    /// One per neighbour, ordered by face; never the origin.
    pub hops: Vec<QueryHop>,
    /// The faces of this node itself that are asked: its session, its admin space.
    pub local: Vec<LocalBranch>,
}

/// One neighbour that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryHop {
    /// The neighbour.
    pub face: FaceId,
    /// The query's number there.
    pub rid: u32,
    /// A declared key expression id, or 0.
    pub scope: u16,
    /// Whose id the scope is.
    pub mapping: Mapping,
    /// From which byte of the key on text follows the scope.
    pub skip: usize,
}

impl QueryHop {
    /// `key`, which is the query's, as it is written to this neighbour.
    pub fn wire_expr<'k>(&self, key: &'k str) -> WireExpr<'k> {
        WireExpr {
            scope: self.scope,
            suffix: key.get(self.skip..).unwrap_or(""),
            mapping: self.mapping,
        }
    }
}

/// A face of this node itself that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalBranch {
    /// The session, or the admin space.
    pub face: FaceId,
    /// The query's number there.
    pub rid: u32,
    /// The session's queryables that are asked, each by its id.
    pub queryables: Vec<u32>,
}

/// Where a query came from, and under which number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryOrigin {
    /// The face it came from.
    pub face: FaceId,
    /// Its number there.
    pub rid: u32,
    /// Its quality of service, and that of its replies.
    pub qos: Qos,
}

/// A query that has ended. The node tells the origin so, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Where it came from.
    pub origin: QueryOrigin,
    /// How it ended.
    pub how: Ending,
}

/// How a query ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Everybody has answered, or there was no destination.
    Complete,
    /// This neighbour was lost before it had answered in full; everybody else has.
    LinkLost(ZenohId),
    /// So many, at least one, had not answered in full when the time was over.
    TimedOut(usize),
}

impl ForwardingTable {
    /// A query from `face`, be it a neighbour or the session. The same number may be used again once the query
    /// has ended.
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

    /// The same for [`SLICE_STEPS`] of the search for those to ask; `None` if there is more to look at. To be called again
    /// then, with the same query.
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
        self.note_time(now);
        let steps = Steps::new(SLICE_STEPS);
        let found = self.search_destinations(face, new, search, &steps)?;
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
        let branches = self.branch_out(query, new.key, new.target, &found);
        Some(QueryDispatch::Sent(branches))
    }

    /// What becomes of a query that is not to be asked.
    fn refuse(&mut self, face: FaceId, new: &NewQuery<'_>) -> Option<QueryDispatch> {
        let limit = self.limits.questions_max;
        let Some(source) = self.face_mut(face) else {
            return Some(QueryDispatch::Ignored);
        };
        let is_own = source.info.kind == FaceKind::Local;
        if !source.relation.conduct().open {
            source.counters.misplaced += 1;
            return Some(QueryDispatch::Ignored);
        }
        if source.queries.asked.contains_key(&new.rid) {
            source.counters.repeated_questions += 1;
            return Some(QueryDispatch::Ignored);
        }
        if source.queries.asked.len() >= limit && !is_own {
            source.counters.questions_refused += 1;
            let note = source.note_of_refused_query(limit);
            self.notes.extend(note);
            return Some(self.end_unasked(face, new));
        }
        None
    }

    /// Where a reply from `face` to query `rid` goes. `None`, and counted, if that query has ended or never was.
    pub fn origin_of_reply(&mut self, face: FaceId, rid: u32) -> Option<QueryOrigin> {
        let origin = self.origin_of_query(face, rid);
        if origin.is_none()
            && let Some(source) = self.face_mut(face)
        {
            source.counters.unknown_answers += 1;
        }
        origin
    }

    /// The same, without counting.
    pub fn origin_of_query(&self, face: FaceId, rid: u32) -> Option<QueryOrigin> {
        let query = *self.face(face)?.queries.branches.get(&rid)?;
        Some(self.queries.open.get(query)?.origin())
    }

    /// A query whose key makes no sense: it ends at once.
    pub fn refuse_query(&mut self, origin: QueryOrigin) {
        let known = self.face(origin.face).map(|face| &face.queries.asked);
        if known.is_some_and(|asked| !asked.contains_key(&origin.rid)) {
            let how = Ending::Complete;
            self.queries.ended.push(Ended { origin, how });
        }
    }

    /// `face` has answered query `rid` in full. Ignored and counted if that query has ended, or never was.
    pub fn finish_branch(&mut self, face: FaceId, rid: u32) {
        let Some(source) = self.face_mut(face) else {
            return;
        };
        match source.queries.branches.remove(&rid) {
            Some(query) => {
                let slot = face.index;
                self.end_branch(query, Branch { slot, rid });
            }
            None => source.counters.unknown_answers += 1,
        }
    }

    /// The origin does not want to know any more; tells whether the query was open. It is not among the
    /// [ended](Self::take_ended).
    pub fn forget_query(&mut self, face: FaceId, rid: u32) -> bool {
        let asked = self.face(face).map(|source| &source.queries.asked);
        let query = asked.and_then(|asked| asked.get(&rid).copied());
        query.is_some_and(|query| self.close_query(query).is_some())
    }

    /// The queries that have ended since the last call, in that order. The caller tells the origins.
    pub fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.queries.ended)
    }

    /// Whether [`take_ended`](Self::take_ended) has something to give.
    #[inline]
    pub fn has_ended(&self) -> bool {
        !self.queries.ended.is_empty()
    }

    /// How many queries are open.
    pub fn open_queries(&self) -> usize {
        self.queries.open_count
    }

    /// When the first open query times out.
    pub fn query_deadline(&self) -> Option<Instant> {
        Some(self.queries.deadlines.first()?.0)
    }

    /// A number for a query of the session that no open one has.
    pub fn next_query_id(&mut self, face: FaceId) -> u32 {
        let queries = self.face_mut(face).map(|face| &mut face.queries);
        queries.map_or(0, FaceQueries::next_asked_id)
    }

    /// A query that ends before it has begun.
    fn end_unasked(&mut self, face: FaceId, new: &NewQuery<'_>) -> QueryDispatch {
        let (rid, qos) = (new.rid, new.qos);
        self.queries.ended.push(Ended {
            origin: QueryOrigin { face, rid, qos },
            how: Ending::Complete,
        });
        QueryDispatch::Ended
    }

    fn open_query(&mut self, face: FaceId, new: &NewQuery<'_>, now: Instant) -> u32 {
        let deadline = now + new.timeout.min(TIMEOUT_MAX);
        let query = self.queries.insert(Pending::new(
            QueryOrigin {
                face,
                rid: new.rid,
                qos: new.qos,
            },
            deadline,
        ));
        if let Some(source) = self.face_mut(face) {
            source.queries.asked.insert(new.rid, query);
        }
        query
    }

    /// Gives a query its branches.
    fn branch_out(
        &mut self,
        query: u32,
        key: &KeyExpr<'_>,
        target: Target,
        destinations: &[Destination],
    ) -> Branches {
        let mut branches = Branches::default();
        for &Destination { slot, .. } in destinations {
            let Some(face) = self.faces.get_mut(slot) else {
                continue;
            };
            let rid = face.queries.next_branch_id();
            face.queries.branches.insert(rid, query);
            match face.info.kind {
                FaceKind::Remote => branches.hops.push(hop(face, rid, key)),
                FaceKind::Local => branches.local.push(LocalBranch {
                    face: face.id,
                    rid,
                    queryables: Vec::new(),
                }),
            }
            if let Some(pending) = self.queries.open.get_mut(query) {
                pending.branches.insert(Branch { slot, rid });
            }
        }
        let origin = self.queries.open.get(query).map(Pending::origin);
        let is_own = origin.is_some_and(|origin| self.is_local(origin.face));
        for branch in &mut branches.local {
            let complete_only = target == Target::AllComplete;
            branch.queryables = self.own_queryables(branch.face, is_own, key, complete_only);
        }
        branches
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
    }
}

/// How far away what a face declares is: the session itself, a served node, somebody further off.
fn distance(relation: Relation, announced: u16) -> u32 {
    match relation {
        Relation::Local => 0,
        Relation::Served => 1,
        _ => 1 + u32::from(announced),
    }
}
