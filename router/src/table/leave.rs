// SPDX-License-Identifier: MIT OR Apache-2.0

//! Neighbours that are gone: from that moment on nothing is routed to them and nobody hears anything more of what
//! they do. What they had declared is forgotten in slices, so that one who had declared a million things keeps nobody
//! waiting; until then others may still hear that it exists, as if the neighbour had taken it back a little later.
//!
//! Queries that have to do with them end before everything else. No slice changes a route, as routes leave out
//! neighbours without a face. The place of the face is not given to another before all is forgotten.

use crate::table::{
    face_id::Action, forwarding::ForwardingTable, kept::InterestRef, kind::EntityRef, leaving::Step,
};

/// Bytes of messages to others after which a slice ends, however little it has forgotten.
const SLICE_BYTES: usize = 64 * 1024;

impl ForwardingTable {
    /// Goes on with what was too much for one go, and forgets some of what neighbours had declared and asked that are gone, one neighbour after the other; true if
    /// there is more. [`remove_face`](Self::remove_face) only begins with it.
    pub fn sweep(&mut self, actions: &mut Vec<Action>) -> bool {
        let slice = self.limits.removal_slice_max.max(1);
        if self.queries.sweep(slice) {
            return self.is_sweeping();
        }
        // One slice of each, so that nothing waits for all of the rest.
        self.announce_on(None, actions);
        self.seek_on(actions);
        self.tell_on(actions);
        let Some(mut leaving) = self.leaving.pop_front() else {
            self.retell_on(actions);
            return self.is_sweeping();
        };
        let (mut weighed, mut bytes) = (actions.len(), 0);
        for _ in 0..slice {
            let Some(step) = leaving.steps.next() else {
                self.topology.release(leaving.slot);
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
            || self.queries.is_sweeping()
            || !self.announcing.is_empty()
            || self.interests.is_seeking()
            || self.mesh.is_telling()
            || !self.retellings.is_empty()
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
