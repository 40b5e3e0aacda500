// SPDX-License-Identifier: MIT OR Apache-2.0

//! How queries end: with their last branch, with a link, with the time.

use std::collections::hash_map;
use std::time::Instant;

use zonda_codec::ZenohId;

use crate::table::{
    forwarding::ForwardingTable,
    query::{
        Ended, Ending,
        pending::{Branch, FaceQueries, Pending},
    },
};

/// Queries that time out in one go; the next ones follow when others had their turn.
const EXPIRED_SLICE_MAX: usize = 1000;

/// What is left to end of a neighbour that is gone: the queries it was asked, and those it asked.
#[derive(Debug)]
pub(in crate::table) struct LeavingQueries {
    slot: u32,
    zid: ZenohId,
    branches: hash_map::IntoIter<u32, u32>,
    asked: hash_map::IntoIter<u32, u32>,
}

impl LeavingQueries {
    /// Of a face that stood at `slot`; `None` if there are none.
    pub(in crate::table) fn new(slot: u32, zid: ZenohId, queries: FaceQueries) -> Option<Self> {
        let FaceQueries {
            branches, asked, ..
        } = queries;
        let any = !(branches.is_empty() && asked.is_empty());
        any.then(|| LeavingQueries {
            slot,
            zid,
            branches: branches.into_iter(),
            asked: asked.into_iter(),
        })
    }
}

impl ForwardingTable {
    /// Ends the queries whose time is over, at most [`EXPIRED_SLICE_MAX`] in one go.
    pub(in crate::table) fn expire_queries(&mut self, now: Instant) {
        for _ in 0..EXPIRED_SLICE_MAX {
            let Some(&(deadline, query)) = self.queries.deadlines.first() else {
                return;
            };
            if deadline > now {
                return;
            }
            if let Some(pending) = self.close_query(query) {
                let open = pending.branches.as_slice().len().max(1);
                self.queries.ended.push(Ended {
                    origin: pending.origin(),
                    how: Ending::TimedOut(open),
                });
            }
        }
    }

    /// Goes on with ending what neighbours had to do with queries that are gone; false if there was nothing left.
    pub(in crate::table) fn sweep_queries(&mut self) -> bool {
        let Some(mut leaving) = self.leaving_queries.pop_front() else {
            return false;
        };
        for _ in 0..self.limits.removal_slice_max.max(1) {
            if let Some((rid, query)) = leaving.branches.next() {
                let slot = leaving.slot;
                self.lose_branch(query, Branch { slot, rid }, leaving.zid);
            } else if let Some((rid, query)) = leaving.asked.next() {
                self.drop_asked(leaving.slot, rid, query);
            } else {
                return true;
            }
        }
        self.leaving_queries.push_front(leaving);
        true
    }

    /// One of those asked has answered in full, and its face does not list the branch any more.
    pub(super) fn end_branch(&mut self, query: u32, branch: Branch) {
        let Some(pending) = self.queries.open.get_mut(query) else {
            return;
        };
        if !pending.branches.remove(branch) || !pending.branches.as_slice().is_empty() {
            return;
        }
        if let Some(pending) = self.close_query(query) {
            self.queries.ended.push(Ended {
                origin: pending.origin(),
                how: pending.ending(),
            });
        }
    }

    /// Forgets a query, and that its branches are asked.
    pub(super) fn close_query(&mut self, query: u32) -> Option<Pending> {
        let pending = self.queries.remove(query)?;
        for branch in pending.branches.as_slice() {
            if let Some(face) = self.faces.get_mut(branch.slot) {
                face.queries.branches.remove(&branch.rid);
            }
        }
        let origin = pending.origin();
        if let Some(face) = self.face_mut(origin.face) {
            face.queries.asked.remove(&origin.rid);
        }
        Some(pending)
    }

    fn lose_branch(&mut self, query: u32, branch: Branch, zid: ZenohId) {
        let Some(pending) = self.queries.open.get_mut(query) else {
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

    /// Nobody waits for the answers to this query any more.
    fn drop_asked(&mut self, slot: u32, rid: u32, query: u32) {
        let origin = self.queries.open.get(query).map(Pending::origin);
        if origin.is_some_and(|origin| origin.face.index == slot && origin.rid == rid) {
            self.close_query(query);
        }
    }
}
