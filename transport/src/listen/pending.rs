// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handshakes under way, each with a channel to end it.
//!
//! When the listener is full, it evicts a handshake of the address that has most of them: first
//! those whose peers have sent no message yet, of these the oldest. A crowd from one address
//! therefore evicts its own, and an honest peer that shares the address is safe once its first
//! message has arrived. While no address has a large part, as when a crowd comes from everywhere,
//! the listener evicts the oldest of all silent ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zonda_runtime::oneshot;

use crate::link::AddressGroup;

/// Divisor of the maximum: an address with at least that part of all handshakes counts as the one
/// that has too many.
const LARGE_PART: usize = 8;

/// Reason for ending a handshake from outside: the message is sent on eviction, and none when the
/// listener stops.
#[derive(Debug)]
pub(super) struct HandshakeEviction;

/// All handshakes under way, at most a fixed number.
#[derive(Debug)]
pub(super) struct Pending {
    max: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    closed: bool,
    next: u64,
    /// Handshakes by number; numbers rise with time, so the first entry is the oldest.
    entries: BTreeMap<u64, PendingHandshake>,
    /// Handshakes by address.
    groups: HashMap<AddressGroup, Queue>,
    /// Addresses by their number of handshakes.
    sizes: BTreeSet<(usize, AddressGroup)>,
    /// Handshakes whose peers have sent no message yet.
    silent: BTreeSet<u64>,
}

#[derive(Debug)]
struct PendingHandshake {
    group: AddressGroup,
    end: oneshot::Sender<HandshakeEviction>,
}

/// Handshakes of one address, by number.
#[derive(Debug, Default)]
struct Queue {
    silent: BTreeSet<u64>,
    heard: BTreeSet<u64>,
}

impl Queue {
    fn len(&self) -> usize {
        self.silent.len() + self.heard.len()
    }

    fn first(&self) -> Option<u64> {
        self.silent.first().or(self.heard.first()).copied()
    }
}

impl Table {
    fn add(&mut self, group: AddressGroup, end: oneshot::Sender<HandshakeEviction>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.entries.insert(number, PendingHandshake { group, end });
        self.silent.insert(number);
        self.resize(group, |queue| {
            queue.silent.insert(number);
        });
        number
    }

    fn remove(&mut self, number: u64) -> Option<oneshot::Sender<HandshakeEviction>> {
        let PendingHandshake { group, end } = self.entries.remove(&number)?;
        self.silent.remove(&number);
        self.resize(group, |queue| {
            queue.silent.remove(&number);
            queue.heard.remove(&number);
        });
        Some(end)
    }

    /// Changes the queue of an address and keeps the order of sizes right.
    fn resize(&mut self, group: AddressGroup, change: impl FnOnce(&mut Queue)) {
        let queue = self.groups.entry(group).or_default();
        self.sizes.remove(&(queue.len(), group));
        change(queue);
        match queue.len() {
            0 => drop(self.groups.remove(&group)),
            len => drop(self.sizes.insert((len, group))),
        }
    }

    fn note_heard(&mut self, number: u64) {
        let Some(stranger) = self.entries.get(&number) else {
            return;
        };
        self.silent.remove(&number);
        if let Some(queue) = self.groups.get_mut(&stranger.group)
            && queue.silent.remove(&number)
        {
            queue.heard.insert(number);
        }
    }

    /// Returns the handshake to evict for a new one; `max` is the maximum number.
    fn victim(&self, max: usize) -> Option<u64> {
        let (largest, group) = self.sizes.last()?;
        if largest * LARGE_PART >= max {
            return self.groups.get(group)?.first();
        }
        let oldest = self.entries.keys().next();
        self.silent.first().or(oldest).copied()
    }
}

/// Entry of one handshake, removed on drop.
#[derive(Debug)]
pub(super) struct PendingEntry {
    pending: Arc<Pending>,
    number: u64,
}

impl PendingEntry {
    /// Notes that the peer has sent a valid message.
    pub(super) fn note_heard(&self) {
        self.pending.lock().note_heard(self.number);
    }
}

impl Drop for PendingEntry {
    fn drop(&mut self) {
        let gone = self.pending.lock().remove(self.number);
        drop(gone);
    }
}

/// Result of entering a handshake.
pub(super) struct Entry {
    pub(super) ticket: PendingEntry,
    /// Ready when this handshake has to end.
    pub(super) ended: oneshot::Receiver<HandshakeEviction>,
    /// Set if another handshake was evicted.
    pub(super) evicted: bool,
}

impl Pending {
    pub(super) fn new(max: usize) -> Pending {
        Pending {
            max: max.max(1),
            table: Mutex::default(),
        }
    }

    pub(super) fn max(&self) -> usize {
        self.max
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Enters a handshake, if need be in place of another one; `None` when the listener has
    /// stopped.
    pub(super) fn enter(self: &Arc<Self>, group: AddressGroup) -> Option<Entry> {
        let (sender, ended) = oneshot::channel();
        let (number, gone) = {
            let mut table = self.lock();
            if table.closed {
                return None;
            }
            let gone = match table.entries.len() < self.max {
                true => None,
                false => table.give_way(self.max),
            };
            (table.add(group, sender), gone)
        };
        let evicted = gone.is_some();
        end(gone);
        Some(Entry {
            ticket: PendingEntry {
                pending: Arc::clone(self),
                number,
            },
            ended,
            evicted,
        })
    }

    /// Evicts one handshake, to free its descriptor; true if there was one.
    pub(super) fn evict(&self) -> bool {
        let gone = self.lock().give_way(self.max);
        let evicted = gone.is_some();
        end(gone);
        evicted
    }

    /// Ends all handshakes and accepts no more.
    pub(super) fn close(&self) {
        let table = {
            let mut table = self.lock();
            std::mem::replace(
                &mut *table,
                Table {
                    closed: true,
                    ..Table::default()
                },
            )
        };
        drop(table);
    }
}

impl Table {
    fn give_way(&mut self, max: usize) -> Option<oneshot::Sender<HandshakeEviction>> {
        let victim = self.victim(max)?;
        self.remove(victim)
    }
}

/// Signals a handshake to end, outside the lock, because that wakes its task.
fn end(gone: Option<oneshot::Sender<HandshakeEviction>>) {
    if let Some(sender) = gone {
        sender.send(HandshakeEviction);
    }
}

#[cfg(test)]
mod tests;
