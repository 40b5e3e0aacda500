// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tasks that a change of the node's state starts, however deep the part is that makes it.

use std::{sync::Arc, time::Instant};

use crate::{
    node::{
        limits::{Limit, Reached},
        shared::Shared,
    },
    peers::found,
};

impl Shared {
    /// Connects to the found nodes whose time has come: each attempt is a task of its own.
    pub(crate) fn connect_to_found(shared: &Arc<Self>) {
        if shared.is_closed() {
            return;
        }
        let mut state = shared.state.lock();
        let (attempts, is_over) = state.peers.due(shared.role, Instant::now());
        drop(state);
        if is_over {
            let (limit, who) = (Limit::FoundFailures, String::new());
            shared.limits.note(&Reached { limit, who });
        }
        for attempt in attempts {
            let node = Arc::clone(shared);
            let task = move || found::connect_to(node, attempt);
            shared.runtime.spawn("zonda-autoconnect", task);
        }
    }
}
