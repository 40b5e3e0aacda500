// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declarations that are still to be said to neighbours after trees were computed, or once the network is quiet: in slices, one
//! router after the other; those that a round did not come to are the first of the next one.

use std::collections::{BTreeSet, HashSet, VecDeque};

use zonda_codec::ZenohId;

use crate::table::{face_id::FaceId, kind::EntityRef};

/// The declarations of one router, on their way to the routers that are new below this node in its tree.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) root: ZenohId,
    pub(super) links: Vec<FaceId>,
    /// The rest of them. One that is not true any more when its turn comes is left out.
    pub(super) rest: Rest,
}

/// The entities of a router that are left to say.
#[derive(Debug)]
pub(super) enum Rest {
    /// These; the next one is the last.
    These(Vec<EntityRef>),
    /// Whatever this node's own side has, from this entity on.
    Own(Option<EntityRef>),
}

impl Rest {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Rest::These(rest) => rest.is_empty(),
            Rest::Own(next) => next.is_none(),
        }
    }
}

/// The rounds among those who are new below this node.
#[derive(Debug, Default)]
pub(super) struct Unheard {
    /// The routers whose trees were not looked at yet.
    roots: VecDeque<ZenohId>,
    job: Option<Job>,
    /// The entities that routers have no more, as no neighbour says otherwise.
    ended: VecDeque<(ZenohId, EntityRef)>,
    /// The links that wait for the end of what there was when they came up.
    newcomers: BTreeSet<FaceId>,
}

impl Unheard {
    pub(super) fn is_empty(&self) -> bool {
        self.roots.is_empty() && self.job.is_none() && self.ended.is_empty()
    }

    /// A round over these routers begins. Gives back those that the round before did not come to.
    pub(super) fn begin(&mut self, roots: VecDeque<ZenohId>) -> Vec<ZenohId> {
        let all: HashSet<ZenohId> = roots.iter().copied().collect();
        self.roots.retain(|root| all.contains(root));
        let left: Vec<ZenohId> = self.roots.iter().copied().collect();
        let first: HashSet<ZenohId> = left.iter().copied().collect();
        self.roots
            .extend(roots.into_iter().filter(|root| !first.contains(root)));
        left
    }

    /// The router whose turn it is.
    pub(super) fn next_root(&mut self) -> Option<ZenohId> {
        self.roots.pop_front()
    }

    /// The router of which something is being said.
    pub(super) fn under_way(&self) -> Option<ZenohId> {
        self.job.as_ref().map(|job| job.root)
    }

    /// Nothing more is said to links that `is_kept` does not hold for.
    pub(super) fn keep_links(&mut self, is_kept: impl Fn(&FaceId) -> bool) {
        if let Some(job) = &mut self.job {
            job.links.retain(is_kept);
        }
    }

    pub(super) fn take_job(&mut self) -> Option<Job> {
        self.job.take()
    }

    /// Goes on with this later, if there is anything left.
    pub(super) fn put_off(&mut self, job: Job) {
        self.job = (!job.rest.is_empty() && !job.links.is_empty()).then_some(job);
    }

    /// Routers have these no more.
    pub(super) fn end(&mut self, ended: Vec<(ZenohId, EntityRef)>) {
        self.ended.extend(ended);
    }

    /// Notes a new link, on which the end of what there is will be said.
    pub(super) fn welcome(&mut self, link: FaceId) {
        self.newcomers.insert(link);
    }

    /// Forgets a link that is gone.
    pub(super) fn forget(&mut self, link: FaceId) {
        self.newcomers.remove(&link);
    }

    /// Takes out the new links that `has_heard` holds for.
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
