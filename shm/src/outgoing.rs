// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Outgoing`]: descriptors that were sent on a link and may not have arrived. The receiver counts each one down in the
//! sender's authentication segment.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::Ordering::{AcqRel, Acquire, Relaxed},
    },
};

use crate::{
    buffer::InFlight,
    keeper::{self, Task},
    kept::Kept,
    node::Node,
};

/// Number of priorities, each with a counter.
pub(crate) const PRIORITIES: usize = 8;

/// Descriptors of one priority that may be on their way; further payloads go as bytes.
const SENT_MAX: usize = 4096;

/// Descriptors after which the sender itself looks which have arrived.
const LOOK_AFTER: usize = 64;

/// Counters of this node's segment that are lent to one link.
#[derive(Debug)]
pub struct Lease {
    node: Arc<Node>,
    set: u16,
}

impl Lease {
    pub(crate) fn new(node: Arc<Node>, set: u16) -> Lease {
        let lease = Lease { node, set };
        for number in lease.numbers() {
            if let Some(counter) = lease.node.auth().counter(number) {
                counter.store(0, Relaxed);
            }
        }
        lease
    }

    /// Returns the numbers of the counters, for each priority.
    #[must_use]
    pub fn numbers(&self) -> [u16; PRIORITIES] {
        std::array::from_fn(|priority| self.set * PRIORITIES as u16 + priority as u16)
    }

    fn number(&self, priority: usize) -> u16 {
        self.set * PRIORITIES as u16 + (priority % PRIORITIES) as u16
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.node.take_back(self.set);
    }
}

/// Descriptors that may not have arrived, the oldest first.
#[derive(Debug)]
pub(crate) struct Outgoing {
    lease: Lease,
    sent: [Mutex<VecDeque<InFlight>>; PRIORITIES],
    kept: Kept,
}

impl Outgoing {
    pub(crate) fn new(lease: Lease) -> Outgoing {
        Outgoing {
            lease,
            sent: Default::default(),
            kept: Kept::default(),
        }
    }

    fn with<T>(&self, priority: usize, act: impl FnOnce(&mut VecDeque<InFlight>) -> T) -> T {
        let sent = self.sent[priority % PRIORITIES].lock();
        act(&mut sent.unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns how many of `sent` have not arrived, as the receiver counts.
    fn missing(&self, priority: usize, sent: usize) -> usize {
        let counter = self.lease.node.auth().counter(self.lease.number(priority));
        // A count beyond those sent is a lie, or a count in the making; both mean no more than all.
        let count = counter.map_or(0, |counter| counter.load(Acquire));
        (count as usize).min(sent)
    }

    /// Sends a descriptor, unless too many are on their way.
    pub(crate) fn send<T>(
        self: &Arc<Self>,
        priority: usize,
        describe: impl FnOnce() -> Option<(T, InFlight)>,
    ) -> Option<T> {
        let auth = self.lease.node.auth();
        // The keeper looks at the segment while it knows of this link.
        if auth.is_lost() || !self.kept.is_known() && !auth.is_whole() {
            return None;
        }
        let told = self.with(priority, |sent| {
            if sent.len() >= LOOK_AFTER {
                let arrived = sent.len() - self.missing(priority, sent.len());
                sent.drain(..arrived);
            }
            if sent.len() >= SENT_MAX {
                return None;
            }
            let (told, flight) = describe()?;
            let counter = auth.counter(self.lease.number(priority))?;
            counter.fetch_add(1, AcqRel);
            sent.push_back(flight);
            Some(told)
        });
        if self.kept.is_new() {
            keeper::keep(self);
        }
        told
    }

    /// Returns true if a descriptor may be on its way.
    pub(crate) fn has_any(&self) -> bool {
        (0..PRIORITIES).any(|priority| self.with(priority, |sent| !sent.is_empty()))
    }

    /// Forgets the descriptors that have arrived: their receiver confirms them now.
    pub(crate) fn settle(&self) {
        if !self.lease.node.auth().is_whole() {
            return;
        }
        for priority in 0..PRIORITIES {
            let arrived: Vec<_> = self.with(priority, |sent| {
                let arrived = sent.len() - self.missing(priority, sent.len());
                sent.drain(..arrived).collect()
            });
            drop(arrived);
        }
    }
}

impl Task for Outgoing {
    fn kept(&self) -> &Kept {
        &self.kept
    }

    fn work(&self, round: u64) {
        if round.is_multiple_of(2) {
            self.settle();
        }
    }

    fn has_work(&self) -> bool {
        self.has_any()
    }

    /// Gives back the references of the descriptors that have not arrived.
    fn give_back(&self) {
        self.settle();
        for priority in 0..PRIORITIES {
            self.with(priority, |sent| {
                for flight in sent.drain(..) {
                    flight.give_back();
                }
            });
        }
    }
}
