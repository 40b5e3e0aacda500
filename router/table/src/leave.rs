// SPDX-License-Identifier: MIT OR Apache-2.0

//! Removal of neighbours: from the moment a neighbour is removed no route leads to it, and it
//! receives and causes no more announcements. Its declarations are removed in slices, so that a
//! neighbour with a million of them does not hold the table's lock for long; until then other nodes
//! may still receive that an entity exists, as if the neighbour had undeclared it a little later.
//!
//! Queries to and from the neighbour end first. No slice changes a route, as routes leave out
//! neighbours without a face. The slot of the face is not reused before all its state is removed.

use crate::{
    face_id::Action, face_removal::RemovalStep, forwarding::ForwardingTable,
    interest_records::InterestRef, kind::EntityRef,
};

/// Bytes of messages after which a slice ends, however little it has removed.
const SLICE_BYTES: usize = 64 * 1024;

impl ForwardingTable {
    /// Continues work that was too much for one slice, and removes some of the declarations and
    /// interests of neighbours that are gone, one neighbour after another; true if more is left.
    /// [`remove_face`](Self::remove_face) only begins that removal.
    pub fn sweep(&mut self, actions: &mut Vec<Action>) -> bool {
        let slice = self.limits.removal_slice_max.max(1);
        if self.queries.sweep(slice) {
            return self.is_sweeping();
        }
        // One slice of each kind of work, so that none waits for all of the rest.
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

    /// Returns true if [`sweep`](Self::sweep) has work to do.
    pub fn is_sweeping(&self) -> bool {
        !self.leaving.is_empty()
            || self.queries.is_sweeping()
            || !self.announcing.is_empty()
            || self.interests.is_seeking()
            || self.mesh.is_telling()
            || !self.retellings.is_empty()
    }

    fn forget(&mut self, slot: u32, step: RemovalStep, actions: &mut Vec<Action>) {
        match step {
            RemovalStep::Interest(id, kept) => {
                self.forget_interest(InterestRef { slot, id }, &kept, actions);
            }
            RemovalStep::Announced(EntityRef { kind, index }) => {
                self.entities_mut(kind).remove_announced(index, slot);
            }
            RemovalStep::Declared(entity) => {
                let entities = self.entities_mut(entity.kind);
                let change = entities.remove_source(entity.index, slot, true);
                self.announce_change(entity, change, actions);
            }
        }
    }
}
