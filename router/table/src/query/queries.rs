// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Queries`]: all open queries, and the ends that are to be reported.

use std::collections::{BTreeSet, HashMap, VecDeque, hash_map};
use std::time::Instant;

use zonda_codec::ZenohId;

use crate::{
    deadline::Deadline,
    query::{
        held::HeldQueries,
        pending::{Branch, Pending},
        types::{Ended, Ending, QueryOrigin},
    },
    slots::Slots,
};

/// Queries that time out in one call; the next call continues.
const EXPIRED_SLICE_MAX: usize = 1000;

/// All open queries of a table.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    open: Slots<Pending>,
    open_count: usize,
    /// Timeout of each open query. Empty, and without memory, while none is open.
    deadlines: BTreeSet<(Instant, u32)>,
    ended: Vec<Ended>,
    /// Open queries of each face, by the face's slot.
    faces: HashMap<u32, FaceQueries>,
    /// Queries of neighbours that are gone, as far as they have not ended.
    leaving: VecDeque<LeavingQueries>,
    /// Queries that wait for a destination.
    pub(super) held: HeldQueries,
}

/// Queries that a face sent, and queries that it was sent.
#[derive(Debug, Default)]
struct FaceQueries {
    /// Its own open queries, by its ids.
    sent: HashMap<u32, u32>,
    /// Open queries that it has to reply to, by the ids of this node.
    branches: HashMap<u32, u32>,
    last_sent_id: u32,
    last_branch_id: u32,
}

/// Queries of a neighbour that is gone, as far as they have not ended.
#[derive(Debug)]
struct LeavingQueries {
    slot: u32,
    zid: ZenohId,
    branches: hash_map::IntoIter<u32, u32>,
    sent: hash_map::IntoIter<u32, u32>,
}

impl Queries {
    /// Opens a query, without branches. `origin` has no other one of this id.
    pub(super) fn open(&mut self, origin: QueryOrigin, deadline: Instant) -> u32 {
        let query = self.open.insert(Pending::new(origin, deadline));
        self.open_count += 1;
        self.deadlines.insert((deadline, query));
        let face = self.faces.entry(origin.face.index).or_default();
        face.sent.insert(origin.rid, query);
        query
    }

    /// Adds a branch of a query at the face in a slot; returns the id of the query there.
    pub(super) fn add_branch(&mut self, query: u32, slot: u32) -> u32 {
        let face = self.faces.entry(slot).or_default();
        let rid = next_id(&mut face.last_branch_id, &face.branches);
        face.branches.insert(rid, query);
        if let Some(pending) = self.open.get_mut(query) {
            pending.branches.push(Branch { slot, rid });
        }
        rid
    }

    /// Returns the origin of an open query.
    pub(super) fn origin(&self, query: u32) -> Option<QueryOrigin> {
        Some(self.open.get(query)?.origin())
    }

    /// Returns the origin of the query with this id at the face that has to reply to it.
    pub(super) fn origin_at(&self, slot: u32, rid: u32) -> Option<QueryOrigin> {
        self.origin(*self.faces.get(&slot)?.branches.get(&rid)?)
    }

    /// Returns true if a face has sent an open query of this id.
    pub(super) fn has_sent(&self, slot: u32, rid: u32) -> bool {
        let face = self.faces.get(&slot);
        face.is_some_and(|face| face.sent.contains_key(&rid))
    }

    /// Returns the number of open queries that a face has sent.
    pub(super) fn sent(&self, slot: u32) -> usize {
        self.faces.get(&slot).map_or(0, |face| face.sent.len())
    }

    /// Returns the number of open queries that a face has sent or has to reply to.
    pub(crate) fn count(&self, slot: u32) -> usize {
        let face = self.faces.get(&slot);
        face.map_or(0, |face| face.sent.len() + face.branches.len())
    }

    /// Returns the slots of the faces that wait for replies.
    pub(crate) fn askers(&self) -> impl Iterator<Item = u32> {
        let faces = self.faces.iter();
        let asking = faces.filter(|(_, face)| !face.sent.is_empty());
        asking.map(|(slot, _)| *slot)
    }

    /// Returns an id for a query that no open one of this face has.
    pub(super) fn next_id(&mut self, slot: u32) -> u32 {
        let face = self.faces.entry(slot).or_default();
        next_id(&mut face.last_sent_id, &face.sent)
    }

    /// Returns the number of open queries.
    pub(super) fn open_count(&self) -> usize {
        self.open_count
    }

    /// Returns the time at which the first open query times out.
    pub(super) fn query_deadline(&self) -> Option<Instant> {
        Some(self.deadlines.first()?.0)
    }

    /// Returns the time at which [`expire`](Self::expire) has work to do.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let query = self.query_deadline().map(Deadline::At);
        query.into_iter().chain(self.held.deadline()).min()
    }

    /// Ends the queries that have timed out, at most [`EXPIRED_SLICE_MAX`] in one call, and stops
    /// waiting for neighbours that did not come back in time.
    pub(crate) fn expire(&mut self, now: Instant) {
        self.held.expire(now);
        for _ in 0..EXPIRED_SLICE_MAX {
            let Some(&(deadline, query)) = self.deadlines.first() else {
                return;
            };
            if deadline > now {
                return;
            }
            if let Some(pending) = self.close(query) {
                let open = pending.branches.as_slice().len().max(1);
                self.end(pending.origin(), Ending::TimedOut(open));
            }
        }
    }

    /// Records the end of a query, which is closed or was never open.
    pub(super) fn end(&mut self, origin: QueryOrigin, how: Ending) {
        self.ended.push(Ended { origin, how });
    }

    /// Returns the queries that have ended since the last call, in that order.
    pub(super) fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Ends the branch of a face that has replied in full; false if there is none under this id.
    pub(super) fn finish_branch(&mut self, slot: u32, rid: u32) -> bool {
        let face = self.faces.get_mut(&slot);
        let Some(query) = face.and_then(|face| face.branches.remove(&rid)) else {
            return false;
        };
        self.end_branch(query, Branch { slot, rid });
        true
    }

    /// Closes the query that a face sent under this id, without a report; false if there is none.
    pub(super) fn close_sent(&mut self, slot: u32, rid: u32) -> bool {
        let face = self.faces.get(&slot);
        let query = face.and_then(|face| face.sent.get(&rid).copied());
        query.is_some_and(|query| self.close(query).is_some())
    }

    /// Removes a query, and its branches from their faces.
    pub(super) fn close(&mut self, query: u32) -> Option<Pending> {
        let pending = self.open.remove(query)?;
        self.open_count -= 1;
        self.deadlines.remove(&(pending.deadline(), query));
        self.held.forget(query);
        for branch in pending.branches.as_slice() {
            if let Some(face) = self.faces.get_mut(&branch.slot) {
                face.branches.remove(&branch.rid);
            }
        }
        let origin = pending.origin();
        if let Some(face) = self.faces.get_mut(&origin.face.index) {
            face.sent.remove(&origin.rid);
        }
        Some(pending)
    }

    /// Ends a branch that its face does not list any more. With the last one the query ends.
    fn end_branch(&mut self, query: u32, branch: Branch) {
        let Some(pending) = self.open.get_mut(query) else {
            return;
        };
        if !pending.branches.remove(&branch) || !pending.branches.as_slice().is_empty() {
            return;
        }
        if let Some(pending) = self.close(query) {
            self.end(pending.origin(), pending.ending());
        }
    }

    /// Removes a neighbour. [`sweep`](Self::sweep) ends its queries and branches; until then no
    /// other face gets its slot.
    pub(crate) fn remove_face(&mut self, slot: u32, zid: ZenohId) {
        let Some(face) = self.faces.remove(&slot) else {
            return;
        };
        if !(face.branches.is_empty() && face.sent.is_empty()) {
            self.leaving.push_back(LeavingQueries {
                slot,
                zid,
                branches: face.branches.into_iter(),
                sent: face.sent.into_iter(),
            });
        }
    }

    /// Ends up to `slice` queries and branches of neighbours that are gone; false if there were none.
    pub(crate) fn sweep(&mut self, slice: usize) -> bool {
        let Some(mut leaving) = self.leaving.pop_front() else {
            return false;
        };
        let slot = leaving.slot;
        for _ in 0..slice {
            if let Some((rid, query)) = leaving.branches.next() {
                self.lose_branch(query, Branch { slot, rid }, leaving.zid);
            } else if let Some((rid, query)) = leaving.sent.next() {
                let origin = self.origin(query);
                if origin.is_some_and(|origin| (origin.face.index, origin.rid) == (slot, rid)) {
                    self.close(query);
                }
            } else {
                return true;
            }
        }
        self.leaving.push_front(leaving);
        true
    }

    /// Returns true if [`sweep`](Self::sweep) has work to do.
    pub(crate) fn is_sweeping(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Ends the branch of a neighbour that is gone.
    fn lose_branch(&mut self, query: u32, branch: Branch, zid: ZenohId) {
        let Some(pending) = self.open.get_mut(query) else {
            return;
        };
        if !pending.branches.as_slice().contains(&branch) {
            return;
        }
        if pending.lost.is_none() {
            pending.lost = Some(Box::new(zid));
        }
        self.end_branch(query, branch);
    }

    /// Has held queries checked again after a change that they may have waited for.
    #[inline]
    pub(crate) fn stir_held(&mut self) {
        self.held.stir();
    }

    /// Records that a neighbour is connected (again).
    pub(crate) fn welcome(&mut self, zid: ZenohId, is_gateway: bool) {
        self.held.welcome(zid, is_gateway);
    }
}

/// Returns the next id from 1 that is not in use.
fn next_id(last: &mut u32, used: &HashMap<u32, u32>) -> u32 {
    loop {
        *last = last.wrapping_add(1).max(1);
        if !used.contains_key(last) {
            return *last;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use zonda_codec::Qos;

    use super::*;
    use crate::FaceId;

    fn origin(index: u32, rid: u32) -> QueryOrigin {
        QueryOrigin {
            face: FaceId {
                index,
                generation: 0,
            },
            rid,
            qos: Qos::REQUEST,
            hears_of_losses: true,
        }
    }

    #[test]
    fn a_query_ends_once_when_its_last_branch_does() {
        let (mut queries, now) = (Queries::default(), Instant::now());
        let query = queries.open(origin(0, 9), now);
        let (one, other) = (queries.add_branch(query, 1), queries.add_branch(query, 2));
        assert_eq!(queries.origin_at(1, one), Some(origin(0, 9)));
        assert!(queries.finish_branch(1, one) && !queries.finish_branch(1, one));
        assert!(!queries.has_ended());
        assert!(queries.finish_branch(2, other));
        let how = Ending::Complete;
        assert_eq!(
            queries.take_ended(),
            [Ended {
                origin: origin(0, 9),
                how
            }]
        );
        assert_eq!((queries.open_count(), queries.query_deadline()), (0, None));
        assert!(!queries.has_sent(0, 9));
    }

    #[test]
    fn a_neighbour_that_is_gone_ends_what_it_had_to_do_with() {
        let (mut queries, now) = (Queries::default(), Instant::now());
        let lost = ZenohId::random_from(7);
        let query = queries.open(origin(0, 1), now);
        queries.add_branch(query, 5);
        let own = queries.open(origin(5, 1), now);
        let branch = queries.add_branch(own, 0);
        queries.remove_face(5, lost);
        assert!(queries.is_sweeping() && queries.count(5) == 0);
        while queries.sweep(1) {}
        let how = Ending::LinkLost(lost);
        assert_eq!(
            queries.take_ended(),
            [Ended {
                origin: origin(0, 1),
                how
            }]
        );
        assert_eq!(
            (queries.open_count(), queries.origin_at(0, branch)),
            (0, None)
        );
    }

    #[test]
    fn what_takes_too_long_ends_with_the_number_of_open_branches() {
        let (mut queries, now) = (Queries::default(), Instant::now());
        let later = now + Duration::from_secs(1);
        let query = queries.open(origin(0, 1), later);
        queries.add_branch(query, 1);
        queries.add_branch(query, 2);
        queries.expire(now);
        assert_eq!(queries.deadline(), Some(Deadline::At(later)));
        queries.expire(later);
        let how = Ending::TimedOut(2);
        assert_eq!(
            queries.take_ended(),
            [Ended {
                origin: origin(0, 1),
                how
            }]
        );
        assert_eq!(queries.count(1) + queries.count(2), 0);
    }
}
