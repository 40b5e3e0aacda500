// SPDX-License-Identifier: MIT OR Apache-2.0

//! Open queries, small: thousands wait at a time.

use std::time::Instant;

use zonda_codec::ZenohId;

use crate::table::{
    few::Few,
    query::types::{Ending, QueryOrigin},
};

/// An open query.
#[derive(Debug)]
pub(super) struct Pending {
    origin: QueryOrigin,
    deadline: Instant,
    /// The faces that have not replied in full.
    pub(super) branches: Few<Branch>,
    /// The first neighbour among them that was lost.
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
