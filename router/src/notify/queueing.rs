// SPDX-License-Identifier: MIT OR Apache-2.0

//! The listeners of a node: notices for them, and their end.

use std::sync::Arc;

use crate::{
    node::{handle::Node, state::State},
    notify::listeners::{ListenerId, NoticeTask},
    table::Notice,
};

impl State {
    /// Queues a notice for a listener; gives back the delivery that must be started for it, if there is none.
    pub(crate) fn queue_notice(&mut self, id: u32, notice: Notice) -> Option<NoticeTask> {
        let listener = match notice {
            Notice::End { .. } => self.listeners.remove(&id)?,
            _ => Arc::clone(self.listeners.get(&id)?),
        };
        NoticeTask::of(listener, notice)
    }
}

impl Node {
    /// Ends a listener of any kind. No call of it begins afterwards; one that is under way on another thread may still
    /// finish.
    pub fn undeclare_listener(&self, id: ListenerId) {
        let shared = &self.shared;
        if shared.is_forked() {
            return;
        }
        let ended = shared.update(|state| {
            let ended = state.listeners.remove(&id.0);
            let State { table, actions, .. } = state;
            table.undeclare_local_listener(shared.own(id.0), actions);
            ended
        });
        // User code may go with it, so no lock is held.
        if let Some(ended) = ended {
            ended.end();
        }
    }

    /// How many changes a listener did not get because others took them back before it had time for them.
    #[must_use]
    pub fn cancelled_notices(&self, id: ListenerId) -> u64 {
        if self.shared.is_forked() {
            return 0;
        }
        let state = self.shared.state.lock();
        let listener = state.listeners.get(&id.0);
        listener.map_or(0, |listener| listener.cancelled())
    }
}
