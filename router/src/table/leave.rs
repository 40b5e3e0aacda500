// SPDX-License-Identifier: MIT OR Apache-2.0

//! Neighbours that are gone: from that moment on nothing is routed to them and nobody hears anything more of what
//! they do. What they had declared is forgotten in slices, so that one who had declared a million things keeps nobody
//! waiting; until then others may still hear that it exists, as if the neighbour had taken it back a little later.
//!
//! Queries that have to do with them end before everything else. No slice changes a route, as routes leave out
//! neighbours without a face. The place of the face is not given to another before all is forgotten.

use std::collections::hash_map;
use std::vec;

use crate::table::{
    Action,
    entity::{EntityRef, Kind, PerKind},
    face::{Announced, Face},
    forwarding::ForwardingTable,
    id_map::{IdMap, IntoEntities},
    interest::{InterestRef, Kept},
};

/// Bytes of messages to others after which a slice ends, however little it has forgotten.
const SLICE_BYTES: usize = 64 * 1024;

/// What is left to forget of one neighbour.
#[derive(Debug)]
pub(super) struct Leaving {
    slot: u32,
    interests: vec::IntoIter<(u32, Kept)>,
    announced: PerKind<hash_map::IntoKeys<u32, Announced>>,
    declared: PerKind<IntoEntities>,
    orphans: PerKind<vec::IntoIter<u32>>,
}

/// One thing to forget.
pub(super) enum Step {
    Interest(u32, Kept),
    Announced(EntityRef),
    Declared(EntityRef),
}

impl Leaving {
    /// Of a face that stood at `slot`.
    pub(super) fn new(slot: u32, gone: Face) -> Self {
        let mut interests: Vec<_> = gone.interests.into_iter().collect();
        interests.sort_unstable_by_key(|(id, _)| *id);
        Leaving {
            slot,
            interests: interests.into_iter(),
            announced: gone.announced.map(|announced| announced.into_keys()),
            declared: gone.declared.map(IdMap::into_entities),
            orphans: gone.orphans.map(Vec::into_iter),
        }
    }
}

impl Iterator for Leaving {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if let Some((id, kept)) = self.interests.next() {
            return Some(Step::Interest(id, kept));
        }
        Kind::ALL.into_iter().find_map(|kind| {
            if let Some(index) = self.announced.of_mut(kind).next() {
                return Some(Step::Announced(EntityRef { kind, index }));
            }
            let declared = self.declared.of_mut(kind).next();
            let index = declared.or_else(|| self.orphans.of_mut(kind).next())?;
            Some(Step::Declared(EntityRef { kind, index }))
        })
    }
}

impl ForwardingTable {
    /// Goes on with what was too much for one go, and forgets some of what neighbours had declared and asked that are gone, one neighbour after the other; true if
    /// there is more. [`remove_face`](Self::remove_face) only begins with it.
    pub fn sweep(&mut self, actions: &mut Vec<Action>) -> bool {
        if self.sweep_queries() {
            return self.is_sweeping();
        }
        // One slice of each, so that nothing waits for all of the rest.
        self.announce_on(None, actions);
        self.seek_on(actions);
        let Some(mut leaving) = self.leaving.pop_front() else {
            return self.is_sweeping();
        };
        let (mut weighed, mut bytes) = (actions.len(), 0);
        for _ in 0..self.limits.removal_slice_max.max(1) {
            let Some(step) = leaving.next() else {
                self.faces.release(leaving.slot);
                return self.is_sweeping();
            };
            self.forget(leaving.slot, step, actions);
            for action in actions.get(weighed..).unwrap_or(&[]) {
                bytes += action.weight();
            }
            weighed = actions.len();
            if bytes >= SLICE_BYTES {
                break;
            }
        }
        self.leaving.push_front(leaving);
        true
    }

    /// Whether [`sweep`](Self::sweep) has something to do.
    pub fn is_sweeping(&self) -> bool {
        !self.leaving.is_empty()
            || !self.leaving_queries.is_empty()
            || !self.announcing.is_empty()
            || !self.seeking.is_empty()
    }

    fn forget(&mut self, slot: u32, step: Step, actions: &mut Vec<Action>) {
        match step {
            Step::Interest(id, kept) => {
                self.forget_interest(InterestRef { slot, id }, &kept, actions);
            }
            Step::Announced(EntityRef { kind, index }) => {
                self.entities_mut(kind).remove_announced(index, slot);
            }
            Step::Declared(entity) => {
                let entities = self.entities_mut(entity.kind);
                let change = entities.remove_source(entity.index, slot, true);
                self.announce_change(entity, change, actions);
            }
        }
    }
}
