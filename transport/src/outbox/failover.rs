// SPDX-License-Identifier: MIT OR Apache-2.0
//! Going on with another socket when the one that was written to is lost.

use event_listener::EventListener;

use crate::protocol::options::Framing;

use super::{Change, DirectSocket, Outbox, signal};

impl Outbox {
    /// Tells the driver of the link that everything is sent on that the link is lost.
    pub(crate) fn raise_lost(&self) {
        self.signals.raise(signal::LOST);
    }

    /// Sends on another link from now on, beginning with the batch that was not taken as a whole.
    pub(crate) fn switch(&self, direct: Option<DirectSocket>) {
        let mut writer = self.writer.lock();
        writer.replace(direct);
        // What is said of the old link does not concern the new one.
        self.signals.lower(signal::LOST | signal::HANDOVER);
        // Also the driver of the old link looked after a dense stream: the next sender has to find out again.
        self.election.apply(Change::Reset);
        drop(writer);
        self.close_on();
    }

    /// Wakes when the connection ends. Look at [`Outbox::is_closed`] after listening and before waiting.
    pub(crate) fn listen_over(&self) -> EventListener {
        self.over.listen()
    }

    /// What stands in front of the messages.
    pub(crate) fn framing(&self) -> Framing {
        self.framing
    }
}
