// SPDX-License-Identifier: MIT OR Apache-2.0

//! Evicted neighbours. Their tasks free their memory, which takes a moment and still counts until
//! then: no further neighbour is evicted because of it.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use zonda_transport::{ledger::Share, outbox::Outbox};

/// Time for which the memory of an evicted neighbour is expected to become free.
const TRUSTED: Duration = Duration::from_millis(250);

/// Connection that was closed because its neighbour kept much.
#[derive(Debug)]
struct EvictedConnection {
    outbox: Weak<Outbox>,
    share: Weak<Share>,
    /// Bytes of received messages that it kept.
    received: usize,
    until: Instant,
}

impl EvictedConnection {
    /// Returns true if its tasks have freed all of it, or should have.
    fn is_gone(&self, now: Instant) -> bool {
        let has_queues = (self.outbox.upgrade()).is_some_and(|outbox| !outbox.is_released());
        let is_holding = has_queues || self.share.strong_count() > 0;
        !is_holding || now >= self.until
    }
}

/// Evicted connections of a node that are not freed yet.
#[derive(Debug, Default)]
pub(crate) struct EvictedConnections(Vec<EvictedConnection>);

impl EvictedConnections {
    /// Adds a connection that is being closed, with the bytes of received messages that it keeps.
    pub(crate) fn add(&mut self, outbox: &Arc<Outbox>, share: &Arc<Share>, received: usize) {
        self.0.push(EvictedConnection {
            outbox: Arc::downgrade(outbox),
            share: Arc::downgrade(share),
            received,
            until: Instant::now() + TRUSTED,
        });
    }

    /// Returns the bytes of received messages that will be free in a moment.
    pub(crate) fn received(&mut self, now: Instant) -> usize {
        self.0.retain(|leaver| !leaver.is_gone(now));
        self.0.iter().map(|leaver| leaver.received).sum()
    }

    /// Returns true if a connection is one of them.
    pub(crate) fn has(&self, outbox: &Arc<Outbox>) -> bool {
        let outbox = Arc::as_ptr(outbox);
        self.0.iter().any(|leaver| leaver.outbox.as_ptr() == outbox)
    }
}

#[cfg(test)]
mod tests {
    use zonda_transport::ledger::Ledger;

    use super::*;
    use crate::flow::route::tests::outbox;

    #[test]
    fn it_is_trusted_until_all_is_free_and_not_for_ever() {
        let mut leavers = EvictedConnections::default();
        let (outbox, share) = (outbox(), Share::of(&Ledger::new(1000, true)));
        let now = Instant::now();
        leavers.add(&outbox, &share, 700);
        outbox.give_way();
        assert!(leavers.has(&outbox) && leavers.received(now) == 700);
        outbox.release();
        assert_eq!(leavers.received(now), 700, "an unfinished message");
        drop(share);
        assert_eq!(leavers.received(now), 0);
        assert!(!leavers.has(&outbox));
        let share = Share::of(&Ledger::new(1000, true));
        leavers.add(&outbox, &share, 700);
        assert_eq!(leavers.received(now), 700);
        assert_eq!(leavers.received(now + 2 * TRUSTED), 0, "it does not go");
    }
}
