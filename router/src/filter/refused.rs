// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declarations and interests of a neighbour that the filters have refused. Other filters, after a
//! reload, may let them pass: the neighbour does not send them again.

use std::collections::BTreeMap;

use zonda_codec::{InterestMode, InterestOptions, QueryableInfo};

use crate::table::Kind;

/// Most bytes of what is kept for a neighbour, each entry with [`OVERHEAD`].
const BYTES_MAX: usize = 1 << 20;

/// Bytes that an entry is charged in addition to its key.
const OVERHEAD: usize = 96;

/// Declaration or interest by the neighbour's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RefusedId {
    Entity(Kind, u32),
    Interest(u32),
}

/// A refused declaration or interest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RefusedBody {
    Entity {
        key: Box<str>,
        info: QueryableInfo,
    },
    Interest {
        key: Option<Box<str>>,
        mode: InterestMode,
        options: InterestOptions,
    },
}

impl RefusedBody {
    fn bytes(&self) -> usize {
        let key = match self {
            RefusedBody::Entity { key, .. } => Some(key),
            RefusedBody::Interest { key, .. } => key.as_ref(),
        };
        OVERHEAD + key.map_or(0, |key| key.len())
    }
}

/// All refused declarations and interests of a neighbour, as far as there is room for them.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    all: BTreeMap<RefusedId, RefusedBody>,
    bytes: usize,
    /// True if one was not kept.
    is_incomplete: bool,
}

impl Refused {
    /// Inserts one, instead of an earlier one with this id.
    pub(super) fn insert(&mut self, id: RefusedId, body: RefusedBody) {
        self.remove(id);
        let bytes = self.bytes + body.bytes();
        if bytes > BYTES_MAX {
            self.is_incomplete = true;
            return;
        }
        self.bytes = bytes;
        self.all.insert(id, body);
    }

    /// Removes one. Returns true if it was kept.
    pub(super) fn remove(&mut self, id: RefusedId) -> bool {
        let removed = self.all.remove(&id);
        self.bytes -= removed.as_ref().map_or(0, RefusedBody::bytes);
        removed.is_some()
    }

    /// Returns copies of all, in the order of their ids.
    pub(super) fn all(&self) -> Vec<(RefusedId, RefusedBody)> {
        let all = self.all.iter();
        all.map(|(id, body)| (*id, body.clone())).collect()
    }

    /// Returns true if `id` is kept with this body.
    pub(super) fn has(&self, id: RefusedId, body: &RefusedBody) -> bool {
        self.all.get(&id) == Some(body)
    }

    /// Returns true if there was no room for one.
    pub(super) fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_is_kept_as_there_is_room_for() {
        let body = |len: usize| RefusedBody::Entity {
            key: "k".repeat(len).into(),
            info: QueryableInfo::default(),
        };
        let id = |id| RefusedId::Entity(Kind::Subscriber, id);
        let mut refused = Refused::default();
        for number in 0..2_000 {
            refused.insert(id(number), body(1_000));
        }
        let kept = refused.all().len();
        assert!((900..1_000).contains(&kept), "{kept}");
        assert!(refused.is_incomplete() && !refused.has(id(1_999), &body(1_000)));
        // An id that is used again counts once, and what is removed makes room.
        refused.insert(id(0), body(1));
        refused.insert(id(1_999), body(900));
        assert!(refused.has(id(0), &body(1)) && refused.has(id(1_999), &body(900)));
        for number in 0..2_000 {
            assert_eq!(
                refused.remove(id(number)),
                number < kept as u32 || number == 1_999
            );
        }
        assert_eq!(refused.bytes, 0);
    }
}
