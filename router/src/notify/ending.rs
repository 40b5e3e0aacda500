// SPDX-License-Identifier: MIT OR Apache-2.0

//! End of the listeners of a node.

use crate::{
    node::{handle::Node, state::State},
    notify::listeners::ListenerId,
};

impl Node {
    /// Ends a listener of any kind. No call of it begins afterwards; a running one on another
    /// thread may still finish.
    pub fn undeclare_listener(&self, id: ListenerId) {
        let shared = &self.shared;
        if shared.is_forked() {
            return;
        }
        let ended = shared.update(|state| {
            let ended = state.notices.remove(id.0);
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
        self.shared.state.lock().notices.cancelled(id.0)
    }
}
