// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counts of a publisher. Each thread that publishes has counters of its own, so that counting
//! costs a message two additions to memory that no other processor writes; rare fates are counted
//! in a shared place.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use zonda_transport::sync::Mutex;

use crate::{
    flow::send_result::Accepted,
    model::{Outcome, PublishError},
};

/// Fates of a publisher's messages. Each message counts once, by its worst fate, however many
/// neighbours it goes to. Offered messages without a fate are still waiting, or their future was
/// dropped ([`PublisherCounts::undecided`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublisherCounts {
    /// Messages that were to be published.
    pub offered: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// [`Outcome::Sent`]: with the socket of each neighbour, and delivered to each subscriber of
    /// the session.
    pub sent: u64,
    /// [`Outcome::Queued`]: accepted for each neighbour; at least one socket did not have it yet.
    pub queued: u64,
    /// [`Outcome::NoSubscriber`]: no subscriber was known.
    pub no_subscriber: u64,
    /// [`Outcome::Dropped`], [`PublishError::Dropped`]: some neighbour's queue was full.
    pub dropped: u64,
    /// [`PublishError::WouldBlock`].
    pub would_block: u64,
    /// [`PublishError::Timeout`].
    pub timed_out: u64,
    /// [`Outcome::LinkLost`]: the link to some neighbour ended before it had accepted the message.
    pub link_lost: u64,
    /// Any other [`PublishError`]: nothing was published.
    pub invalid: u64,
}

impl PublisherCounts {
    /// Returns the number of messages without a fate: an asynchronous put waits, or was cancelled.
    #[must_use]
    pub fn undecided(&self) -> u64 {
        let decided = self.sent + self.queued + self.no_subscriber + self.dropped;
        let decided = decided + self.would_block + self.timed_out + self.link_lost + self.invalid;
        self.offered.saturating_sub(decided)
    }

    fn offer(&mut self, bytes: usize) {
        self.offered += 1;
        self.bytes += bytes as u64;
    }

    fn decide(&mut self, result: &Result<Outcome, PublishError>) {
        let counter = match result {
            Ok(Outcome::Sent) => &mut self.sent,
            Ok(Outcome::Queued) => &mut self.queued,
            Ok(Outcome::NoSubscriber) => &mut self.no_subscriber,
            Ok(Outcome::Dropped { .. }) | Err(PublishError::Dropped { .. }) => &mut self.dropped,
            Ok(Outcome::LinkLost { .. }) => &mut self.link_lost,
            Err(PublishError::WouldBlock { .. }) => &mut self.would_block,
            Err(PublishError::Timeout { .. }) => &mut self.timed_out,
            Err(_) => &mut self.invalid,
        };
        *counter += 1;
    }
}

/// Usual fates, counted by one thread at a time.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Counters indexed by [`Accepted`].
    passed: [AtomicU64; 3],
    bytes: AtomicU64,
    others: Arc<Mutex<PublisherCounts>>,
}

impl Tally {
    /// Counts a message of `bytes` that all neighbours took. Only the thread that took this tally
    /// may call it.
    #[inline(always)]
    pub(crate) fn count(&self, passed: Accepted, bytes: usize) {
        let add = |counter: &AtomicU64, more| {
            counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        };
        add(&self.passed[passed as usize], 1);
        add(&self.bytes, bytes as u64);
    }

    /// Counts a message of `bytes` with any result.
    #[cold]
    pub(crate) fn count_other(&self, bytes: usize, result: &Result<Outcome, PublishError>) {
        let mut counts = self.others.lock();
        counts.offer(bytes);
        counts.decide(result);
    }
}

/// All counts of a publisher.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    /// Tallies of threads, of which some may have ended or evicted the publisher from their cache.
    own: Mutex<Vec<Arc<Tally>>>,
    /// Counts that no thread has made in its own tally.
    others: Arc<Mutex<PublisherCounts>>,
}

impl Tallies {
    /// Returns a tally for one thread: one that no thread uses any more, else a new one.
    pub(crate) fn take(&self) -> Arc<Tally> {
        let mut own = self.own.lock();
        // `get_mut` also synchronizes with the counts of the previous holder
        let unused = own
            .iter_mut()
            .position(|tally| Arc::get_mut(tally).is_some());
        if let Some(tally) = unused.and_then(|index| own.get(index)) {
            return Arc::clone(tally);
        }
        let tally = Arc::new(Tally {
            others: Arc::clone(&self.others),
            ..Tally::default()
        });
        own.push(Arc::clone(&tally));
        tally
    }

    /// Counts that a message of `bytes` is offered, whose fate is counted later.
    pub(crate) fn offer(&self, bytes: usize) {
        self.others.lock().offer(bytes);
    }

    /// Counts the fate of a message that was offered.
    pub(crate) fn decide(&self, result: &Result<Outcome, PublishError>) {
        self.others.lock().decide(result);
    }

    pub(crate) fn counts(&self) -> PublisherCounts {
        let mut counts = *self.others.lock();
        let own = self.own.lock();
        for tally in own.iter() {
            let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            let [sent, queued, unsubscribed] = tally.passed.each_ref().map(read);
            counts.sent += sent;
            counts.queued += queued;
            counts.no_subscriber += unsubscribed;
            counts.offered += sent + queued + unsubscribed;
            counts.bytes += read(&tally.bytes);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_that_nobody_has_any_more_is_used_again() {
        let tallies = Tallies::default();
        let (first, second) = (tallies.take(), tallies.take());
        first.count(Accepted::Sent, 3);
        second.count(Accepted::Queued, 4);
        drop(first);
        tallies.take().count(Accepted::Sent, 5);
        assert_eq!(tallies.own.lock().len(), 2);
        tallies.offer(6);
        second.count_other(7, &Err(PublishError::Closed));
        let counts = tallies.counts();
        assert_eq!((counts.sent, counts.queued, counts.invalid), (2, 1, 1));
        assert_eq!((counts.offered, counts.bytes), (5, 25));
        assert_eq!(counts.undecided(), 1);
    }
}
