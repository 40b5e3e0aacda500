// SPDX-License-Identifier: MIT OR Apache-2.0

//! Open queries, small: thousands wait at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use zonda_codec::ZenohId;

use crate::table::{
    query::{
        Ended, Ending, QueryOrigin,
        held::{Absent, Held, Settling},
    },
    slots::Slots,
};

/// All open queries of a table, and what is to be said about ended ones.
#[derive(Debug, Default)]
pub(in crate::table) struct Queries {
    pub(super) open: Slots<Pending>,
    pub(super) open_count: usize,
    /// When each open query times out. Empty, and without memory, while none is open.
    pub(super) deadlines: BTreeSet<(Instant, u32)>,
    pub(super) ended: Vec<Ended>,
    /// Those that wait for a destination.
    pub(super) held: BTreeMap<u32, Held>,
    /// Something has changed that may release a held one.
    pub(super) held_stale: bool,
    /// Neighbours that are to be connected again soon.
    pub(super) absent: Vec<Absent>,
    /// A gateway was lost and is being connected again.
    pub(super) lacks_gateway: bool,
    /// Whether those behind a gateway may still be on their way.
    pub(super) settling: Settling,
    /// Held ones whose key gateways are to be asked about.
    pub(super) to_watch: Vec<u32>,
    /// Wants of held ones that are not held any more.
    pub(super) unwatched: Vec<u32>,
}

impl Queries {
    pub(super) fn insert(&mut self, pending: Pending) -> u32 {
        let deadline = pending.deadline;
        let query = self.open.insert(pending);
        self.open_count += 1;
        self.deadlines.insert((deadline, query));
        query
    }

    pub(super) fn remove(&mut self, query: u32) -> Option<Pending> {
        let pending = self.open.remove(query)?;
        self.open_count -= 1;
        self.deadlines.remove(&(pending.deadline, query));
        if let Some(held) = self.held.remove(&query) {
            self.unwatched.extend(held.want);
        }
        Some(pending)
    }
}

/// What a face asked, and is asked.
#[derive(Debug, Default)]
pub(in crate::table) struct FaceQueries {
    /// Its own open queries, by its numbers.
    pub(super) asked: HashMap<u32, u32>,
    /// The open queries that it is asked, by the numbers of this node.
    pub(super) branches: HashMap<u32, u32>,
    last_asked_id: u32,
    last_branch_id: u32,
}

impl FaceQueries {
    /// How many there are, those that it asks and those that it is asked.
    pub(in crate::table) fn count(&self) -> usize {
        self.branches.len() + self.asked.len()
    }

    pub(super) fn next_branch_id(&mut self) -> u32 {
        next_id(&mut self.last_branch_id, &self.branches)
    }

    pub(super) fn next_asked_id(&mut self) -> u32 {
        next_id(&mut self.last_asked_id, &self.asked)
    }
}

/// The next number from 1 that is not in use.
fn next_id(last: &mut u32, used: &HashMap<u32, u32>) -> u32 {
    loop {
        *last = last.wrapping_add(1).max(1);
        if !used.contains_key(last) {
            return *last;
        }
    }
}

/// An open query.
#[derive(Debug)]
pub(super) struct Pending {
    origin: QueryOrigin,
    pub(super) deadline: Instant,
    pub(super) branches: BranchSet,
    /// The first of those asked that was lost.
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
