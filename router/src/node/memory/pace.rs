// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether a neighbour takes what waits for it: what passes through its queues is no memory that its end would free for long.

use std::time::{Duration, Instant};

use zonda_transport::outbox::Outbox;

/// After how long all that waited has to be out.
const SPAN: Duration = Duration::from_millis(500);

/// What one neighbour has taken of what waited for it.
#[derive(Debug)]
pub(crate) struct Pace {
    since: Instant,
    /// Bytes that were sent at that time, and those that waited then.
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

    /// Looks at the queues.
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

    /// Whether all is out that waited half a second before.
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
