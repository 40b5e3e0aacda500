// SPDX-License-Identifier: MIT OR Apache-2.0

//! Part of a node's state for the data of its own sessions: their subscribers, and the routes of
//! the keys that they publish on without a declaration.

use std::collections::HashMap;

use crate::{
    flow::{key_cache::KeyCache, receiving::Sink},
    node::sessions::UndeclaredRoutes,
    table::{Reach, SessionNumber},
};

/// Subscribers and routes of a node's sessions. Dropping any may run user code, so it must happen
/// without the lock.
#[derive(Default)]
pub(crate) struct LocalRoutes {
    sinks: HashMap<u32, Sink>,
    /// Routes of keys without a publisher.
    undeclared: UndeclaredRoutes,
}

impl LocalRoutes {
    pub(super) fn add_sink(&mut self, id: u32, sink: Sink) {
        self.sinks.insert(id, sink);
    }

    /// Returns the subscriber with this id.
    pub(super) fn sink(&self, id: u32) -> Option<&Sink> {
        self.sinks.get(&id)
    }

    pub(crate) fn has_sink(&self, id: u32) -> bool {
        self.sinks.contains_key(&id)
    }

    /// Removes and returns a subscriber.
    pub(crate) fn remove_sink(&mut self, id: u32) -> Option<Sink> {
        self.sinks.remove(&id)
    }

    /// Returns the routes of keys without a publisher to this destination.
    #[inline]
    pub(super) fn undeclared(&mut self, destination: Reach) -> &mut KeyCache {
        self.undeclared.to(destination)
    }

    /// Removes and returns the routes of keys without a publisher.
    pub(crate) fn take_undeclared(&mut self) -> UndeclaredRoutes {
        std::mem::take(&mut self.undeclared)
    }

    /// Removes and returns such routes of an attached session.
    pub(crate) fn take_undeclared_of(&mut self, session: SessionNumber) -> [KeyCache; 3] {
        self.undeclared.take(session)
    }

    /// Returns the bytes of memory that keys and routes hold.
    pub(crate) fn memory(&self) -> usize {
        self.undeclared.memory()
    }
}
