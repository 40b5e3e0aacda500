// SPDX-License-Identifier: MIT OR Apache-2.0

//! Pace of a neighbour: the queue of a neighbour that keeps up drains by itself, so closing its
//! link would hardly free memory earlier.

use std::time::{Duration, Instant};

use zonda_transport::outbox::Outbox;

/// Time within which everything that waited has to be sent.
const SPAN: Duration = Duration::from_millis(500);

/// Progress of one neighbour with its queue.
#[derive(Debug)]
pub(crate) struct Pace {
    since: Instant,
    /// Bytes that were sent at `since` plus those that waited then.
    offered: u64,
    keeps_up: bool,
}

impl Pace {
    pub(crate) fn new(now: Instant) -> Self {
        Pace {
            since: now,
            offered: 0,
            keeps_up: true,
        }
    }

    /// Checks the queue, at most once in [`SPAN`].
    pub(super) fn note(&mut self, now: Instant, outbox: &Outbox) {
        if now.saturating_duration_since(self.since) >= SPAN {
            let sent = outbox.counters().snapshot().bytes;
            self.note_bytes(now, sent, outbox.queued_bytes());
        }
    }

    fn note_bytes(&mut self, now: Instant, sent: u64, queued: usize) {
        self.keeps_up = sent >= self.offered;
        self.offered = sent + queued as u64;
        self.since = now;
    }

    /// Returns true if everything is sent that waited half a second before.
    pub(super) fn keeps_up(&self) -> bool {
        self.keeps_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_taken_what_waited_keeps_up() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        assert!(pace.keeps_up());
        for (sent, queued, keeps_up) in [
            (1000, 0, true),
            (1000, 500, true),
            (1499, 1, false),
            (1500, 9000, true),
            (10_500, 9000, true),
            (10_500, 9000, false),
        ] {
            pace.note_bytes(now, sent, queued);
            assert_eq!(pace.keeps_up(), keeps_up, "{sent} sent, {queued} queued");
        }
    }
}
