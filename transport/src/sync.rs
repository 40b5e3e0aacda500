// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks of the message path: in release builds `parking_lot`'s mutex and nothing else, or for a
//! few instructions at a time a [`SpinMutex`]. In debug builds each thread counts how often it
//! takes one, so that tests can check the path's budget of locks, and panics when it takes one out
//! of the order of `LOCKS.md`.

#[cfg(debug_assertions)]
mod order;
mod spin_mutex;

use std::ops::{Deref, DerefMut};

pub use self::spin_mutex::{SpinGuard, SpinMutex};

/// Rank of a lock in the order in which a thread takes several: each lock has a higher rank than
/// those that the thread holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Turn of a reload of the whole configuration of a node.
    Renewal,
    /// Configuration of a node, while it changes.
    Reload,
    /// State of a node.
    NodeState,
    /// Links of one connection.
    Links,
    /// Socket writer of a connection.
    Writer,
    /// Lane of a priority.
    Lane,
    /// Listeners to events of connections.
    Events,
    /// Frames that a WebSocket sends.
    Frames,
    /// All other locks: a thread that holds one takes no further lock.
    Leaf,
}

/// Mutex whose uses are counted and whose order is checked in debug builds.
#[derive(Debug)]
pub struct Mutex<T> {
    #[cfg(debug_assertions)]
    rank: Rank,
    inner: parking_lot::Mutex<T>,
}

impl<T> Mutex<T> {
    /// Creates a mutex under which a thread takes no further lock.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self::ranked(Rank::Leaf, value)
    }

    /// Creates a mutex of this rank.
    #[inline]
    #[cfg_attr(not(debug_assertions), allow(unused_variables))]
    pub const fn ranked(rank: Rank, value: T) -> Self {
        Self {
            #[cfg(debug_assertions)]
            rank,
            inner: parking_lot::Mutex::new(value),
        }
    }

    /// Takes the lock.
    ///
    /// # Blocking
    /// Until the holder releases the lock.
    ///
    /// # Panics
    /// In debug builds, if the thread holds a lock of this rank or a higher one.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        #[cfg(debug_assertions)]
        count::add(|taken| taken.locked(self.rank));
        Guard {
            #[cfg(debug_assertions)]
            _held: order::HeldLock::in_order(self.rank),
            inner: self.inner.lock(),
        }
    }

    /// Takes the lock if no thread holds it, in any order: the call does not wait.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        #[cfg(debug_assertions)]
        count::add(|taken| taken.tried(self.rank));
        let inner = self.inner.try_lock()?;
        Some(Guard {
            #[cfg(debug_assertions)]
            _held: order::HeldLock::in_any_order(self.rank),
            inner,
        })
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// Guard of a lock: the lock's own guard, and in debug builds its rank.
#[derive(Debug)]
#[must_use = "the lock is given back at once if this is dropped"]
pub struct Guard<G> {
    inner: G,
    #[cfg(debug_assertions)]
    _held: order::HeldLock,
}

/// Guard of a [`Mutex`].
pub type MutexGuard<'a, T> = Guard<parking_lot::MutexGuard<'a, T>>;

impl<T> MutexGuard<'_, T> {
    /// Releases the lock to a thread that waits for it, if there is one, and takes it again.
    pub fn bump(guard: &mut Self) {
        parking_lot::MutexGuard::bump(&mut guard.inner);
    }

    /// Releases the lock, to a thread that waits for it if there is one.
    pub fn unlock_fair(guard: Self) {
        parking_lot::MutexGuard::unlock_fair(guard.inner);
    }
}

impl<G: Deref> Deref for Guard<G> {
    type Target = G::Target;

    #[inline(always)]
    fn deref(&self) -> &G::Target {
        &self.inner
    }
}

impl<G: DerefMut> DerefMut for Guard<G> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.inner
    }
}

/// Counts of a thread's uses of locks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LockCounts {
    /// Locks taken, with or without a wait.
    pub locked: u64,
    /// Attempts that would not have waited.
    pub tried: u64,
    /// Uses of both kinds for the state of a node, which all its connections share.
    pub node: u64,
}

#[cfg(debug_assertions)]
impl LockCounts {
    fn locked(&mut self, rank: Rank) {
        self.locked += 1;
        self.node += u64::from(rank == Rank::NodeState);
    }

    fn tried(&mut self, rank: Rank) {
        self.tried += 1;
        self.node += u64::from(rank == Rank::NodeState);
    }
}

/// Returns the counts of the calling thread since it started. Debug builds only.
#[cfg(debug_assertions)]
#[must_use]
pub fn taken() -> LockCounts {
    count::read()
}

#[cfg(debug_assertions)]
mod count {
    use std::cell::Cell;

    use super::LockCounts;

    thread_local! {
        static TAKEN: Cell<LockCounts> = const { Cell::new(LockCounts { locked: 0, tried: 0, node: 0 }) };
    }

    pub(super) fn add(count: impl FnOnce(&mut LockCounts)) {
        // A thread that is ending is not counted.
        let _ = TAKEN.try_with(|taken| {
            let mut now = taken.get();
            count(&mut now);
            taken.set(now);
        });
    }

    pub(super) fn read() -> LockCounts {
        TAKEN.with(Cell::get)
    }
}
