// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declarations and interests of a neighbour that the filters have refused. Other filters, after a
//! reload, may let them pass: the neighbour does not send them again.

use std::collections::BTreeMap;

use zonda_codec::{InterestMode, InterestOptions, QueryableInfo};

use crate::{
    node::state::State,
    table::{FaceId, Kind},
};

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
    fn has_room(&self, body: &RefusedBody) -> bool {
        self.bytes + body.bytes() <= BYTES_MAX
    }

    fn insert(&mut self, id: RefusedId, body: RefusedBody) {
        self.bytes += body.bytes();
        self.all.insert(id, body);
    }

    /// Removes one, and returns its bytes.
    fn remove(&mut self, id: RefusedId) -> Option<usize> {
        let bytes = self.all.remove(&id)?.bytes();
        self.bytes -= bytes;
        Some(bytes)
    }

    /// Returns copies of all, in the order of their ids.
    pub(super) fn all(&self) -> Vec<(RefusedId, RefusedBody)> {
        let all = self.all.iter();
        all.map(|(id, body)| (*id, body.clone())).collect()
    }

    /// Returns the keys of refused declarations of a kind, the first `most` of them.
    pub(super) fn keys(&self, kind: Kind, most: usize) -> Vec<Box<str>> {
        let all = RefusedId::Entity(kind, 0)..=RefusedId::Entity(kind, u32::MAX);
        let bodies = self.all.range(all).take(most);
        let key = |(_, body): (&RefusedId, &RefusedBody)| match body {
            RefusedBody::Entity { key, .. } => Some(key.clone()),
            RefusedBody::Interest { .. } => None,
        };
        bodies.filter_map(key).collect()
    }

    /// Returns true if `id` is kept with this body.
    pub(super) fn has(&self, id: RefusedId, body: &RefusedBody) -> bool {
        self.all.get(&id) == Some(body)
    }

    /// Returns the bytes of all.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if there was no room for one.
    pub(super) fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }
}

/// Remembers a refused declaration or interest of a neighbour instead of an earlier one with this
/// id, as far as the neighbour may have more memory.
pub(super) fn remember(state: &mut State, face: FaceId, id: RefusedId, body: RefusedBody) {
    forget(state, face, id);
    let State { table, faces, .. } = state;
    let Some(neighbour) = faces.get_mut(&face) else {
        return;
    };
    let refused = &mut neighbour.refused;
    if refused.has_room(&body) && table.charge_refused(face, body.bytes()) {
        refused.insert(id, body);
    } else {
        refused.is_incomplete = true;
    }
}

/// Forgets a refused declaration or interest. Returns true if it was remembered.
pub(super) fn forget(state: &mut State, face: FaceId, id: RefusedId) -> bool {
    let State { table, faces, .. } = state;
    let neighbour = faces.get_mut(&face);
    let bytes = neighbour.and_then(|neighbour| neighbour.refused.remove(id));
    if let Some(bytes) = bytes {
        table.discharge_refused(face, bytes);
    }
    bytes.is_some()
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
        let mut number = 0;
        while refused.has_room(&body(1_000)) {
            refused.insert(id(number), body(1_000));
            number += 1;
        }
        assert!((900..1_000).contains(&number), "{number}");
        // One that is removed makes room.
        assert_eq!(refused.remove(id(0)), Some(1_000 + OVERHEAD));
        assert_eq!(refused.remove(id(0)), None);
        assert!(refused.has_room(&body(1_000)) && !refused.has(id(0), &body(1_000)));
        for left in 1..number {
            assert!(refused.remove(id(left)).is_some());
        }
        assert_eq!(refused.bytes, 0);
    }
}
