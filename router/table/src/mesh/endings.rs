// SPDX-License-Identifier: MIT OR Apache-2.0

//! Entities of routers that have ended since the network was quiet last. A router that was or comes
//! to be below this node in another tree may have received the declaration of one and not its end:
//! the end is repeated when everything is declared again.

use std::collections::{BTreeSet, VecDeque};

use zonda_codec::ZenohId;

use crate::kind::Kind;

/// Limits of the recorded ends, and of the bytes of their keys.
const ENDINGS_MAX: usize = 1 << 16;
const BYTES_MAX: usize = 4 << 20;

/// End of an entity of a router.
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
    /// Ends that are being repeated.
    due: VecDeque<Ending>,
}

impl Endings {
    pub(super) fn note(&mut self, ending: Ending) {
        let bytes = self.bytes + ending.key.len();
        if self.noted.len() < ENDINGS_MAX && bytes <= BYTES_MAX && self.noted.insert(ending) {
            self.bytes = bytes;
        }
    }

    /// Begins to repeat all recorded ends.
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
