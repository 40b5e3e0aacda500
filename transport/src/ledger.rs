// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of a whole node, under one budget above the limits of each connection.
//!
//! Received data is counted from its allocation until it is freed, including its time in queues:
//! blocks that sockets are read into, and messages that are reassembled from fragments. These grow
//! by hundreds of megabytes within a moment, so a message is [refused](Charge::try_set) before it
//! is allocated. Everything else (queues' own buffers, tables, routes) grows more slowly: the owner
//! of the node sums it up periodically and [sets](Ledger::set_others) the total. No message is
//! counted by itself.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// Divisor of the budget: a charge above that part is large.
const LARGE_PART: usize = 64;

/// Divisor of the budget: the part that large charges leave free.
const RESERVE_PART: usize = 8;

/// Divisor of the budget: the most by which a charge grows ahead of need.
const AHEAD_PART: usize = 16;

/// Account of a node's memory, with a budget.
#[derive(Debug)]
pub struct Ledger {
    budget: usize,
    /// Set if delivered messages still count until they are freed. False where they are delivered
    /// to an application, which keeps as many as it likes.
    follows: bool,
    received: AtomicUsize,
    others: AtomicUsize,
    refused: AtomicU64,
    given_up: AtomicU64,
}

impl Ledger {
    /// Creates a ledger of at most `budget` bytes. If it `follows`, received messages count until
    /// they are freed, else until they are delivered.
    #[must_use]
    pub fn new(budget: usize, follows: bool) -> Arc<Self> {
        Arc::new(Ledger {
            budget,
            follows,
            received: AtomicUsize::new(0),
            others: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
        })
    }

    /// Returns the most bytes that may be held.
    #[must_use]
    pub fn budget(&self) -> usize {
        self.budget
    }

    /// Returns the bytes of received messages.
    #[must_use]
    pub fn received(&self) -> usize {
        self.received.load(Ordering::Relaxed)
    }

    /// Returns the bytes of everything, as far as they are known.
    #[must_use]
    pub fn held(&self) -> usize {
        self.received() + self.others.load(Ordering::Relaxed)
    }

    /// Sets the number of bytes that are held in addition to received messages.
    pub fn set_others(&self, bytes: usize) {
        self.others.store(bytes, Ordering::Relaxed);
    }

    /// Returns the number of messages that were refused because the budget was used up.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Returns the number of unfinished messages that were given up because their peer sent no more
    /// of them.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Returns the most bytes that may be held with a charge of `bytes`: a message that takes much
    /// of the budget leaves room for small ones.
    fn limit_of(&self, bytes: usize) -> usize {
        match bytes > self.budget / LARGE_PART {
            true => self.budget - self.budget / RESERVE_PART,
            false => self.budget,
        }
    }

    pub(crate) fn note_given_up(&self, count: u64) {
        self.given_up.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns an empty charge.
    #[must_use]
    pub fn charge(self: &Arc<Self>) -> Charge {
        Charge {
            ledger: Some(Arc::clone(self)),
            bytes: 0,
        }
    }
}

/// Bytes that are counted until the charge is dropped. Without a ledger none are.
#[derive(Debug, Default)]
pub struct Charge {
    ledger: Option<Arc<Ledger>>,
    bytes: usize,
}

impl Charge {
    /// Sets the counted bytes, even beyond the budget.
    #[inline]
    pub fn set(&mut self, bytes: usize) {
        if bytes != self.bytes {
            self.change(bytes);
        }
    }

    #[cold]
    fn change(&mut self, bytes: usize) {
        if let Some(ledger) = &self.ledger {
            match bytes.checked_sub(self.bytes) {
                Some(more) => ledger.received.fetch_add(more, Ordering::Relaxed),
                None => (ledger.received).fetch_sub(self.bytes - bytes, Ordering::Relaxed),
            };
        }
        self.bytes = bytes;
    }

    /// Returns the counted bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the most by which a buffer should grow ahead of need.
    #[must_use]
    pub fn ahead_max(&self) -> usize {
        self.ledger
            .as_ref()
            .map_or(usize::MAX, |ledger| ledger.budget / AHEAD_PART)
    }

    /// Sets the counted bytes; false, without a change, if there is no room for them. The last
    /// eighth of the budget is for small charges.
    #[must_use]
    pub fn try_set(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if let Some(ledger) = &self.ledger
            && ledger.held().saturating_add(more) > ledger.limit_of(bytes)
            && more > 0
        {
            ledger.refused.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.set(bytes);
        true
    }

    /// Notes that the counted message is delivered.
    pub fn hand_on(&mut self) {
        if self.ledger.as_ref().is_some_and(|ledger| !ledger.follows) {
            self.set(0);
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// Part of one connection in a node's memory, and the connection's own limits.
#[derive(Debug)]
pub struct Share {
    ledger: Arc<Ledger>,
    unfinished: AtomicUsize,
}

impl Share {
    /// Creates an empty share of `ledger`.
    #[must_use]
    pub fn of(ledger: &Arc<Ledger>) -> Arc<Self> {
        Arc::new(Share {
            ledger: Arc::clone(ledger),
            unfinished: AtomicUsize::new(0),
        })
    }

    /// Returns the node's ledger.
    #[must_use]
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Returns the bytes allocated for messages of which fragments are missing.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.unfinished.load(Ordering::Relaxed)
    }

    pub(crate) fn set_unfinished(&self, bytes: usize) {
        self.unfinished.store(bytes, Ordering::Relaxed);
    }

    /// Returns a charge for a receive block. Blocks of messages to an application are not counted.
    pub(crate) fn block(&self) -> Charge {
        match self.ledger.follows {
            true => self.ledger.charge(),
            false => Charge::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_charged_is_held_until_it_is_dropped_and_no_more_than_the_budget() {
        let ledger = Ledger::new(1000, true);
        let (mut one, mut other) = (ledger.charge(), ledger.charge());
        assert!(one.try_set(500) && !other.try_set(500) && other.try_set(375));
        assert_eq!((ledger.held(), ledger.refused()), (875, 1));
        assert!(one.try_set(400), "less is always possible");
        ledger.set_others(300);
        assert!(!one.try_set(401) && one.try_set(400));
        other.set(900);
        assert_eq!(ledger.held(), 1600);
        other.hand_on();
        drop(one);
        assert_eq!((ledger.held(), ledger.received()), (1200, 900));
        drop(other);
        assert_eq!((ledger.received(), ledger.refused()), (0, 2));
    }

    #[test]
    fn the_last_eighth_is_for_small_charges() {
        let ledger = Ledger::new(64_000, true);
        let (mut large, mut small) = (ledger.charge(), ledger.charge());
        assert!(!large.try_set(56_001) && large.try_set(56_000));
        assert!(!small.try_set(1001) && small.try_set(1000));
        let mut more: Vec<Charge> = (0..8).map(|_| ledger.charge()).collect();
        let taken = more
            .iter_mut()
            .filter_map(|charge| charge.try_set(1000).then_some(()));
        assert_eq!((taken.count(), ledger.held()), (7, 64_000));
    }

    #[test]
    fn what_goes_to_an_application_is_not_followed() {
        let ledger = Ledger::new(1000, false);
        let mut message = ledger.charge();
        assert!(message.try_set(600));
        message.hand_on();
        let mut block = Share::of(&ledger).block();
        block.set(5000);
        assert_eq!(ledger.held(), 0);
    }
}
