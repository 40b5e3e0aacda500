// SPDX-License-Identifier: MIT OR Apache-2.0

//! Open queries, small: thousands wait at a time.

use std::time::Instant;

use zonda_codec::ZenohId;

use crate::table::query::types::{Ending, QueryOrigin};

/// An open query.
#[derive(Debug)]
pub(super) struct Pending {
    origin: QueryOrigin,
    deadline: Instant,
    /// The faces that have not replied in full.
    pub(super) branches: BranchSet,
    /// The first neighbour among them that was lost.
    pub(super) lost: Option<Box<ZenohId>>,
}

impl Pending {
    pub(super) fn new(origin: QueryOrigin, deadline: Instant) -> Self {
        Pending {
            origin,
            deadline,
            branches: BranchSet::None,
            lost: None,
        }
    }

    pub(super) fn origin(&self) -> QueryOrigin {
        self.origin
    }

    /// When it times out.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// How it ends when its last branch does.
    pub(super) fn ending(&self) -> Ending {
        match &self.lost {
            Some(zid) => Ending::LinkLost(**zid),
            None => Ending::Complete,
        }
    }
}

/// One face that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Branch {
    pub(super) slot: u32,
    /// The query's number there.
    pub(super) rid: u32,
}

/// The faces that have not answered in full. One, the usual case, needs no allocation.
#[derive(Debug)]
pub(super) enum BranchSet {
    None,
    One(Branch),
    #[expect(
        clippy::box_collection,
        reason = "a vector inside would double the size of every query"
    )]
    Many(Box<Vec<Branch>>),
}

impl BranchSet {
    pub(super) fn as_slice(&self) -> &[Branch] {
        match self {
            BranchSet::None => &[],
            BranchSet::One(branch) => std::slice::from_ref(branch),
            BranchSet::Many(branches) => branches,
        }
    }

    pub(super) fn insert(&mut self, branch: Branch) {
        match self {
            BranchSet::None => *self = BranchSet::One(branch),
            BranchSet::One(first) => *self = BranchSet::Many(Box::new(vec![*first, branch])),
            BranchSet::Many(branches) => branches.push(branch),
        }
    }

    /// Tells whether it was there.
    pub(super) fn remove(&mut self, branch: Branch) -> bool {
        let at = self.as_slice().iter().position(|other| *other == branch);
        match (at, &mut *self) {
            (None, _) => return false,
            (Some(at), BranchSet::Many(branches)) if branches.len() > 1 => {
                branches.swap_remove(at);
            }
            _ => *self = BranchSet::None,
        }
        true
    }
}
