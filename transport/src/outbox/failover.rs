// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failover to another socket when the current one is lost.

use event_listener::EventListener;

use crate::protocol::options::Framing;

use super::{Change, DirectSocket, Outbox, signal};

impl Outbox {
    /// Signals the driver of the sending link that the link is lost.
    pub(crate) fn raise_lost(&self) {
        self.signals.raise(signal::LOST);
    }

    /// Sends on another link from now on, beginning with the batch that was not taken as a whole.
    pub(crate) fn switch(&self, direct: Option<DirectSocket>) {
        let mut writer = self.writer.lock();
        writer.replace(direct);
        // Signals about the old link do not concern the new one.
        self.signals.lower(signal::LOST | signal::HANDOVER);
        // The driver of the old link also ticked for a dense stream: the next sender has to detect
        // the stream again.
        self.election.apply(Change::Reset);
        drop(writer);
        self.close_on();
    }

    /// Wakes when the connection ends. Look at [`Outbox::is_closed`] after listening and before waiting.
    pub(crate) fn listen_over(&self) -> EventListener {
        self.over.listen()
    }

    /// Returns the framing of messages on this connection.
    pub(crate) fn framing(&self) -> Framing {
        self.framing
    }
}
