// SPDX-License-Identifier: MIT OR Apache-2.0
//! Check of the order of locks in debug builds: two threads that take two locks in the same order
//! never deadlock.

use std::cell::Cell;

use super::Rank;

/// All ranks, lowest first.
const RANKS: [Rank; 9] = [
    Rank::Renewal,
    Rank::Reload,
    Rank::NodeState,
    Rank::Links,
    Rank::Writer,
    Rank::Lane,
    Rank::Events,
    Rank::Frames,
    Rank::Leaf,
];

thread_local! {
    /// Number of locks of each rank that the thread holds.
    static HELD: Cell<[u8; RANKS.len()]> = const { Cell::new([0; RANKS.len()]) };
}

/// Lock that the thread holds, until this is dropped.
#[derive(Debug)]
pub(super) struct HeldLock {
    rank: Rank,
}

impl HeldLock {
    /// Notes a lock that the thread is about to wait for.
    ///
    /// # Panics
    /// If the thread holds a lock of this rank or a higher one.
    #[track_caller]
    pub(super) fn in_order(rank: Rank) -> HeldLock {
        // A thread that is ending is not checked.
        let held = HELD.try_with(Cell::get).unwrap_or_default();
        let highest = RANKS
            .into_iter()
            .rev()
            .find(|rank| held[*rank as usize] > 0);
        if let Some(highest) = highest.filter(|highest| *highest >= rank) {
            panic!(
                "a lock of rank {rank:?} is taken while one of rank {highest:?} is held, against LOCKS.md"
            );
        }
        Self::in_any_order(rank)
    }

    /// Notes a lock that the thread has got without waiting.
    pub(super) fn in_any_order(rank: Rank) -> HeldLock {
        change(rank, 1);
        HeldLock { rank }
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        change(self.rank, -1);
    }
}

fn change(rank: Rank, by: i8) {
    let _ = HELD.try_with(|held| {
        let mut now = held.get();
        let count = &mut now[rank as usize];
        *count = count.saturating_add_signed(by);
        held.set(now);
    });
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::super::{Mutex, Rank, SpinMutex};

    /// Returns true if `second` is taken without a panic while `first` is held.
    fn is_in_order(first: Rank, second: Rank) -> bool {
        catch_unwind(|| {
            let (first, second) = (Mutex::ranked(first, ()), SpinMutex::ranked(second, ()));
            let _first = first.lock();
            let _second = second.lock();
        })
        .is_ok()
    }

    #[test]
    fn locks_are_taken_in_the_order_of_their_ranks() {
        assert!(is_in_order(Rank::NodeState, Rank::Lane));
        assert!(is_in_order(Rank::Writer, Rank::Lane));
        assert!(is_in_order(Rank::Events, Rank::Leaf));
        assert!(!is_in_order(Rank::Lane, Rank::Writer));
        assert!(!is_in_order(Rank::Lane, Rank::Lane));
        assert!(!is_in_order(Rank::Leaf, Rank::NodeState));
        // No lock is held after the panics.
        assert!(is_in_order(Rank::NodeState, Rank::Links));
    }

    #[test]
    fn a_lock_that_is_only_tried_is_tried_in_any_order() {
        let (lane, writer) = (
            SpinMutex::ranked(Rank::Lane, ()),
            Mutex::ranked(Rank::Writer, ()),
        );
        let _lane = lane.lock();
        assert!(writer.try_lock().is_some());
    }
}
