// SPDX-License-Identifier: MIT OR Apache-2.0

//! Entities that routers had and have no more since the network was quiet last. A router that was below this node in such a tree
//! before or comes to be so later may know of one and not of its end: it is said once more when everything is declared again.

use std::collections::{BTreeSet, VecDeque};

use zonda_codec::ZenohId;

use crate::table::kind::Kind;

/// More than this, and more bytes of keys than this, are not kept.
const ENDINGS_MAX: usize = 1 << 16;
const BYTES_MAX: usize = 4 << 20;

/// Something that a router had.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ending {
    pub(super) root: ZenohId,
    pub(super) kind: Kind,
    pub(super) key: Box<str>,
}

#[derive(Debug, Default)]
pub(super) struct Endings {
    noted: BTreeSet<Ending>,
    bytes: usize,
    /// The endings that are being said.
    due: VecDeque<Ending>,
}

impl Endings {
    pub(super) fn note(&mut self, ending: Ending) {
        let bytes = self.bytes + ending.key.len();
        if self.noted.len() < ENDINGS_MAX && bytes <= BYTES_MAX && self.noted.insert(ending) {
            self.bytes = bytes;
        }
    }

    /// All that was noted is to be said now.
    pub(super) fn begin(&mut self) {
        self.due.extend(std::mem::take(&mut self.noted));
        self.bytes = 0;
    }

    pub(super) fn next(&mut self) -> Option<Ending> {
        self.due.pop_front()
    }

    pub(super) fn is_saying(&self) -> bool {
        !self.due.is_empty()
    }
}
