// SPDX-License-Identifier: MIT OR Apache-2.0
//! The introductions under way, oldest first, with a way to end each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zonda_runtime::oneshot;

/// Why an introduction is ended from outside: the message is sent when it gives way, and none when the listener stops.
#[derive(Debug)]
pub(super) struct GiveWay;

/// All introductions under way, at most a fixed number.
#[derive(Debug)]
pub(super) struct Pending {
    max: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    closed: bool,
    next: u64,
    /// Numbers rise with time, so the first entry is the oldest.
    entries: BTreeMap<u64, oneshot::Sender<GiveWay>>,
}

/// The place of one introduction; leaving is dropping it.
#[derive(Debug)]
pub(super) struct Ticket {
    pending: Arc<Pending>,
    number: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let gone = self.pending.lock().entries.remove(&self.number);
        drop(gone);
    }
}

/// What a newcomer gets.
pub(super) struct Entry {
    pub(super) ticket: Ticket,
    /// Done when this introduction has to end.
    pub(super) ended: oneshot::Receiver<GiveWay>,
    /// Whether the oldest had to make room.
    pub(super) evicted: bool,
}

impl Pending {
    pub(super) fn new(max: usize) -> Pending {
        Pending {
            max: max.max(1),
            table: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Takes a newcomer in, if need be in place of the oldest; `None` when the listener has stopped.
    pub(super) fn enter(self: &Arc<Self>) -> Option<Entry> {
        let (sender, ended) = oneshot::channel();
        let (number, oldest) = {
            let mut table = self.lock();
            if table.closed {
                return None;
            }
            let oldest = if table.entries.len() < self.max {
                None
            } else {
                table.entries.pop_first()
            };
            let number = table.next;
            table.next += 1;
            table.entries.insert(number, sender);
            (number, oldest)
        };
        let evicted = oldest.is_some();
        end(oldest);
        Some(Entry {
            ticket: Ticket {
                pending: Arc::clone(self),
                number,
            },
            ended,
            evicted,
        })
    }

    /// Ends the oldest introduction, to free its descriptor. Whether there was one.
    pub(super) fn evict_oldest(&self) -> bool {
        let oldest = self.lock().entries.pop_first();
        let evicted = oldest.is_some();
        end(oldest);
        evicted
    }

    /// Ends all introductions and takes no more.
    pub(super) fn close(&self) {
        let entries = {
            let mut table = self.lock();
            table.closed = true;
            std::mem::take(&mut table.entries)
        };
        drop(entries);
    }
}

/// Tells an introduction to end, outside of the lock, since that wakes its task.
fn end(entry: Option<(u64, oneshot::Sender<GiveWay>)>) {
    if let Some((_, sender)) = entry {
        sender.send(GiveWay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_gives_way_and_places_are_given_back() {
        let pending = Arc::new(Pending::new(2));
        let [first, second] = [(); 2].map(|()| pending.enter().expect("open"));
        assert!(!first.evicted && !second.evicted);
        let third = pending.enter().expect("open");
        assert!(third.evicted);
        assert!(zonda_runtime::block_on(first.ended).is_some());
        drop(first.ticket);
        assert_eq!(pending.len(), 2);
        drop(second.ticket);
        assert_eq!(pending.len(), 1);
        assert!(!pending.enter().expect("open").evicted);
        assert!(pending.evict_oldest());
        assert!(zonda_runtime::block_on(third.ended).is_some());
    }

    #[test]
    fn closing_ends_all_without_a_reason_and_takes_no_more() {
        let pending = Arc::new(Pending::new(2));
        let entry = pending.enter().expect("open");
        pending.close();
        assert!(zonda_runtime::block_on(entry.ended).is_none());
        assert!(pending.enter().is_none());
        assert!(!pending.evict_oldest());
    }
}
