// SPDX-License-Identifier: MIT OR Apache-2.0
//! The locks of the message path. In debug builds each thread counts how often it takes one, so that tests can hold
//! the path to its budget; in release builds it is `parking_lot`'s mutex and nothing else, or for a few instructions at
//! a time a [`BriefMutex`].

mod brief;

pub use brief::{BriefGuard, BriefMutex};
pub use parking_lot::MutexGuard;

/// A mutex whose uses are counted in debug builds.
#[derive(Debug, Default)]
pub struct Mutex<T>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    /// An unlocked mutex.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    /// Takes the lock.
    ///
    /// # Blocking
    /// Until the holder lets go.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        #[cfg(debug_assertions)]
        count::add(|taken| taken.locked += 1);
        self.0.lock()
    }

    /// Takes the lock if nobody holds it.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        #[cfg(debug_assertions)]
        count::add(|taken| taken.tried += 1);
        self.0.try_lock()
    }
}

/// How often a thread has asked for a lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Locks taken, however long that took.
    pub locked: u64,
    /// Attempts that would not have waited.
    pub tried: u64,
}

/// What the calling thread has taken since it started. Debug builds only.
#[cfg(debug_assertions)]
#[must_use]
pub fn taken() -> Taken {
    count::read()
}

#[cfg(debug_assertions)]
mod count {
    use std::cell::Cell;

    use super::Taken;

    thread_local! {
        static TAKEN: Cell<Taken> = const { Cell::new(Taken { locked: 0, tried: 0 }) };
    }

    pub(super) fn add(count: impl FnOnce(&mut Taken)) {
        // A thread that is ending has nobody who asks any more.
        let _ = TAKEN.try_with(|taken| {
            let mut now = taken.get();
            count(&mut now);
            taken.set(now);
        });
    }

    pub(super) fn read() -> Taken {
        TAKEN.with(Cell::get)
    }
}
