// SPDX-License-Identifier: MIT OR Apache-2.0

//! Changes of the node's state: the caller's change, then the actions that the table has decided
//! on, all under one lock.

use zonda_codec::{Encode, EncodeError, Priority, Writer};
use zonda_transport::protocol::tx::Tail;

use crate::{
    flow::deliver,
    node::{shared::Shared, state::State},
    query::{After, settle},
    table::{Action, Deadline},
};

/// Bytes that are an encoded message already.
struct Encoded<'a>(&'a [u8]);

impl Encode for Encoded<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.bytes(self.0)
    }
}

impl Shared {
    /// Changes the table and carries out its actions, in their order.
    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut result = None;
        let after = self.change(|state, _| result = Some(change(state)));
        after.finish();
        result.expect("a change is made once")
    }

    /// Changes the table like [`update`](Self::update), and leaves the work that needs no lock to
    /// the caller.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State, &mut After)) -> After {
        let mut after = After::default();
        let mut state = self.state.lock();
        change(&mut state, &mut after);
        self.carry_out(&mut state, &mut after);
        settle::settle_queries(self, &mut state, &mut after);
        after.notes = state.table.take_notes();
        if state.table.alarm() == Some(Deadline::Now) {
            self.wake_clock(&mut state);
        }
        let sweeps = !state.sweeping && state.table.is_sweeping();
        state.sweeping |= sweeps;
        drop(state);
        if sweeps && let Some(node) = self.this.upgrade() {
            Self::start_sweeping(&node);
        }
        after
    }

    /// Queues the table's messages and notices while the lock keeps them in order. The caller
    /// flushes and calls listeners after it has released the lock.
    pub(crate) fn carry_out(&self, state: &mut State, after: &mut After) {
        // a notice goes to a listener's queue, a message to an outbox
        self.memory.note_tables(&mut state.table);
        let mut listeners = Vec::new();
        let mut behind = 0;
        for action in std::mem::take(&mut state.actions) {
            let (face, bytes) = match action {
                Action::Send { face, bytes } => (face, bytes),
                Action::Notify { listener, notice } => {
                    listeners.extend(state.notices.queue(listener, notice));
                    continue;
                }
            };
            let Some(face) = state.faces.get(&face) else {
                continue;
            };
            // queue it, and note neighbours that do not keep up
            let head = Encoded(&bytes);
            let (touched, outbox) = (&mut after.touched, &face.outbox);
            let kept = deliver::keep(touched, outbox, Priority::Control, &head, Tail::NONE);
            if let Some(has_room) = kept {
                after.declared.note(&face.outbox, bytes.len(), has_room);
                behind += if has_room { 0 } else { bytes.len() };
            }
        }
        self.memory.note_behind(behind);
        after.tell(&self.runtime, listeners);
    }

    /// Advances the clock's next check to the table's next deadline, after a new query or a change
    /// of a mesh's trees.
    pub(crate) fn wake_clock(&self, state: &mut State) {
        if state.queries.advance_alarm(&state.table) {
            self.hurry.notify(usize::MAX);
        }
    }
}
