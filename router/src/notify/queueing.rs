// SPDX-License-Identifier: MIT OR Apache-2.0

//! Notices for the listeners of a node, and their end.

use std::sync::Arc;

use crate::{
    node::{handle::Node, state::State},
    notify::listeners::{ListenerId, NoticeTask},
    table::Notice,
};

impl State {
    /// Queues a notice for a listener; returns the delivery task to start, if none is running.
    pub(crate) fn queue_notice(&mut self, id: u32, notice: Notice) -> Option<NoticeTask> {
        let listener = match notice {
            Notice::End { .. } => self.listeners.remove(&id)?,
            _ => Arc::clone(self.listeners.get(&id)?),
        };
        NoticeTask::of(listener, notice)
    }
}

impl Node {
    /// Ends a listener of any kind. No call of it begins afterwards; a running one on another
    /// thread may still finish.
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
        // Dropping the listener may run user code, so no lock is held.
        if let Some(ended) = ended {
            ended.end();
        }
    }

    /// Number of changes that were cancelled out before their delivery, because the listener was
    /// slow.
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
