// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an outbox lets go of when its connection has ended. Routes that nobody has used since may refer to it for long:
//! they must hold no socket and nothing that was queued.

use std::sync::atomic::Ordering;

use super::Outbox;

impl Outbox {
    /// Lets go of the socket, of what is queued and of the buffers, once the connection has ended and its tasks need the
    /// socket no more. The counts stay what they were: what was queued is lost.
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
        // A sender that locks a lane from now on finds the connection closed, and queues nothing.
        let lanes = self.lanes.iter();
        let queued: Vec<_> = lanes.map(|lane| lane.lock().release()).collect();
        drop((under_way, queued));
        self.released.store(true, Ordering::Release);
    }

    /// True once [`Outbox::release`] has freed what the connection that ended held.
    #[must_use]
    pub fn is_released(&self) -> bool {
        self.released.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests;
