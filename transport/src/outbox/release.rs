// SPDX-License-Identifier: MIT OR Apache-2.0
//! Release of an outbox's resources when its connection has ended. Unused routes may refer to the
//! outbox for long: they must hold neither a socket nor queued messages.

use std::sync::atomic::Ordering;

use super::Outbox;

impl Outbox {
    /// Releases the socket, the queues and the buffers, once the connection has ended and its tasks
    /// need the socket no more. The counts stay: the queued messages are lost.
    ///
    /// Payloads are dropped with no lock held, as their owner's code may run then.
    pub fn release(&self) {
        if !self.is_closed() {
            return;
        }
        let mut writer = self.writer.lock();
        self.note_whole_messages(&writer);
        let under_way = writer.release();
        drop(writer);
        // A sender that locks a lane from now on finds the connection closed and queues nothing.
        let lanes = self.lanes.iter();
        let queued: Vec<_> = lanes.map(|lane| lane.lock().release()).collect();
        drop((under_way, queued));
        self.released.store(true, Ordering::Release);
    }

    /// Returns true once [`Outbox::release`] has freed the resources of the ended connection.
    #[must_use]
    pub fn is_released(&self) -> bool {
        self.released.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests;
