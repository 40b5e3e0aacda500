// SPDX-License-Identifier: MIT OR Apache-2.0

//! Part of a node's state for the listeners to the table's notices.

use std::{collections::HashMap, sync::Arc};

use crate::{
    notify::listeners::{NoticeListener, NoticeTask},
    table::{Notice, SessionNumber},
};

/// Listeners of the sessions to the table's notices, by id.
#[derive(Default)]
pub(crate) struct Notices(HashMap<u32, Arc<NoticeListener>>);

impl Notices {
    pub(super) fn add(&mut self, id: u32, listener: Arc<NoticeListener>) {
        self.0.insert(id, listener);
    }

    pub(crate) fn has(&self, id: u32) -> bool {
        self.0.contains_key(&id)
    }

    /// Removes and returns the listeners of a session, with their ids. Dropping one may run user
    /// code, so it must happen without the lock.
    pub(crate) fn take_of(&mut self, session: SessionNumber) -> Vec<(u32, Arc<NoticeListener>)> {
        let taken = self.0.extract_if(|_, one| one.session == session);
        taken.collect()
    }

    /// Removes and returns a listener. Dropping it may run user code, so it must happen without the
    /// lock.
    pub(super) fn remove(&mut self, id: u32) -> Option<Arc<NoticeListener>> {
        self.0.remove(&id)
    }

    /// Returns the number of changes that were cancelled out before a listener got them.
    pub(super) fn cancelled(&self, id: u32) -> u64 {
        let listener = self.0.get(&id);
        listener.map_or(0, |listener| listener.cancelled())
    }

    /// Queues a notice for a listener; returns the delivery task to start, if none is running.
    pub(crate) fn queue(&mut self, id: u32, notice: Notice) -> Option<NoticeTask> {
        let listener = match notice {
            Notice::End { .. } => self.0.remove(&id)?,
            _ => Arc::clone(self.0.get(&id)?),
        };
        NoticeTask::of(listener, notice)
    }

    /// Ends all listeners.
    pub(crate) fn end(&self) {
        self.0.values().for_each(|listener| listener.end());
    }
}
