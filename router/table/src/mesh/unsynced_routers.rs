// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declarations that are still to be sent to neighbours after trees were computed, or once the
//! network is quiet: in slices, one router after the other; the routers that a round did not reach
//! come first in the next one.

use std::collections::{BTreeSet, HashSet, VecDeque};

use zonda_codec::ZenohId;

use crate::{face_id::FaceId, kind::EntityRef};

/// Declarations of one router, for the routers that are new below this node in its tree.
#[derive(Debug)]
pub(super) struct SyncJob {
    pub(super) root: ZenohId,
    pub(super) links: Vec<FaceId>,
    /// The rest of them. An entity that has ended when its turn comes is left out.
    pub(super) rest: RemainingEntities,
}

/// Entities of a router that are left to declare.
#[derive(Debug)]
pub(super) enum RemainingEntities {
    /// These; the next one is the last.
    These(Vec<EntityRef>),
    /// All entities of this node's own side, from this entity on.
    Own(Option<EntityRef>),
}

impl RemainingEntities {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            RemainingEntities::These(rest) => rest.is_empty(),
            RemainingEntities::Own(next) => next.is_none(),
        }
    }
}

/// Rounds of declarations to the routers that are new below this node.
#[derive(Debug, Default)]
pub(super) struct UnsyncedRouters {
    /// Routers whose trees were not used yet in this round.
    roots: VecDeque<ZenohId>,
    job: Option<SyncJob>,
    /// Entities of routers that the neighbour above this node has not confirmed.
    ended: VecDeque<(ZenohId, EntityRef)>,
    /// Links that wait for the end of their first declarations.
    newcomers: BTreeSet<FaceId>,
}

impl UnsyncedRouters {
    pub(super) fn is_empty(&self) -> bool {
        self.roots.is_empty() && self.job.is_none() && self.ended.is_empty()
    }

    /// Begins a round over these routers. Returns the routers that the previous round did not reach.
    pub(super) fn begin(&mut self, roots: VecDeque<ZenohId>) -> Vec<ZenohId> {
        let all: HashSet<ZenohId> = roots.iter().copied().collect();
        self.roots.retain(|root| all.contains(root));
        let left: Vec<ZenohId> = self.roots.iter().copied().collect();
        let first: HashSet<ZenohId> = left.iter().copied().collect();
        self.roots
            .extend(roots.into_iter().filter(|root| !first.contains(root)));
        left
    }

    /// Takes the router that has the next turn.
    pub(super) fn next_root(&mut self) -> Option<ZenohId> {
        self.roots.pop_front()
    }

    /// Returns the router whose declarations are being sent.
    pub(super) fn under_way(&self) -> Option<ZenohId> {
        self.job.as_ref().map(|job| job.root)
    }

    /// Removes the links that `is_kept` returns false for from the job.
    pub(super) fn keep_links(&mut self, is_kept: impl Fn(&FaceId) -> bool) {
        if let Some(job) = &mut self.job {
            job.links.retain(is_kept);
        }
    }

    pub(super) fn take_job(&mut self) -> Option<SyncJob> {
        self.job.take()
    }

    /// Stores a job to be continued, if anything is left.
    pub(super) fn put_off(&mut self, job: SyncJob) {
        self.job = (!job.rest.is_empty() && !job.links.is_empty()).then_some(job);
    }

    /// Queues the entities for removal.
    pub(super) fn end(&mut self, ended: Vec<(ZenohId, EntityRef)>) {
        self.ended.extend(ended);
    }

    /// Adds a new link, which waits for the end of its first declarations.
    pub(super) fn welcome(&mut self, link: FaceId) {
        self.newcomers.insert(link);
    }

    /// Removes a link that is gone.
    pub(super) fn forget(&mut self, link: FaceId) {
        self.newcomers.remove(&link);
    }

    /// Takes out the new links that `has_heard` returns true for.
    pub(super) fn take_newcomers(
        &mut self,
        has_heard: impl Fn(FaceId) -> bool,
    ) -> BTreeSet<FaceId> {
        let all = std::mem::take(&mut self.newcomers);
        let (heard, rest) = all.into_iter().partition(|link| has_heard(*link));
        self.newcomers = rest;
        heard
    }

    pub(super) fn next_ended(&mut self) -> Option<(ZenohId, EntityRef)> {
        self.ended.pop_front()
    }
}
