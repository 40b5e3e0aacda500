// SPDX-License-Identifier: MIT OR Apache-2.0

//! Open queries, small: thousands wait at a time.

use std::time::Instant;

use zonda_codec::ZenohId;

use crate::{
    few::Few,
    query::types::{Ending, QueryOrigin},
};

/// An open query.
#[derive(Debug)]
pub(super) struct Pending {
    origin: QueryOrigin,
    deadline: Instant,
    /// Branches of faces that have not replied in full.
    pub(super) branches: Few<Branch>,
    /// The first neighbour with a branch that was lost.
    pub(super) lost: Option<Box<ZenohId>>,
}

impl Pending {
    pub(super) fn new(origin: QueryOrigin, deadline: Instant) -> Self {
        Pending {
            origin,
            deadline,
            branches: Few::None,
            lost: None,
        }
    }

    pub(super) fn origin(&self) -> QueryOrigin {
        self.origin
    }

    /// Returns the time at which it times out.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns its ending after the last branch.
    pub(super) fn ending(&self) -> Ending {
        match &self.lost {
            Some(zid) => Ending::LinkLost(**zid),
            None => Ending::Complete,
        }
    }
}

/// One face that the query was sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Branch {
    pub(super) slot: u32,
    /// The query's id there.
    pub(super) rid: u32,
}
