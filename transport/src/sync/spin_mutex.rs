// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lock that is held for a few instructions, and taken with every message.
//!
//! Unlocking is a plain store, where a lock whose waiters sleep in a queue needs a second locked
//! instruction to find out if there are any: that cost more than any other single step of a put. A
//! thread that finds the lock taken spins for as long as the holder should need it. After that it
//! sleeps for moments, so that a holder that was interrupted gets the processor even from a thread
//! of a real-time class.

use std::{cell::Cell, time::Duration};

use spin::{mutex, relax::RelaxStrategy};

use super::{Guard, Rank};

/// Spins before a sleep.
const LOOKS: u8 = 64;

/// Intended length of a sleep.
const MOMENT: Duration = Duration::from_micros(50);

/// Guard of a [`SpinMutex`].
pub type SpinGuard<'a, T> = Guard<mutex::SpinMutexGuard<'a, T>>;

/// Mutex whose uses are counted and whose order is checked in debug builds.
#[derive(Debug)]
pub struct SpinMutex<T> {
    #[cfg(debug_assertions)]
    rank: Rank,
    inner: mutex::SpinMutex<T, SpinStrategy>,
}

impl<T> SpinMutex<T> {
    /// Creates a mutex of this rank.
    #[inline]
    #[cfg_attr(not(debug_assertions), allow(unused_variables))]
    pub const fn ranked(rank: Rank, value: T) -> Self {
        Self {
            #[cfg(debug_assertions)]
            rank,
            inner: mutex::SpinMutex::new(value),
        }
    }

    /// Takes the lock.
    ///
    /// # Blocking
    /// Until the holder releases the lock. A thread that has spun in vain for a while sleeps for moments; one
    /// of a real-time class may thus wait for a thread of a lower one.
    ///
    /// # Panics
    /// In debug builds, if the thread holds a lock of this rank or a higher one.
    #[inline]
    pub fn lock(&self) -> SpinGuard<'_, T> {
        #[cfg(debug_assertions)]
        super::count::add(|taken| taken.locked(self.rank));
        Guard {
            #[cfg(debug_assertions)]
            _held: super::order::HeldLock::in_order(self.rank),
            inner: self.inner.lock(),
        }
    }

    /// Takes the lock if no thread holds it, in any order: the call does not wait.
    #[inline]
    pub fn try_lock(&self) -> Option<SpinGuard<'_, T>> {
        #[cfg(debug_assertions)]
        super::count::add(|taken| taken.tried(self.rank));
        let inner = self.inner.try_lock()?;
        Some(Guard {
            #[cfg(debug_assertions)]
            _held: super::order::HeldLock::in_any_order(self.rank),
            inner,
        })
    }
}

/// Strategy of a thread that found the lock taken.
#[derive(Debug)]
struct SpinStrategy;

impl RelaxStrategy for SpinStrategy {
    #[cold]
    fn relax() {
        thread_local! {
            static LOOKED: Cell<u8> = const { Cell::new(0) };
        }
        // A thread that is ending continues to spin.
        let looked = LOOKED.try_with(|looked| {
            looked.set((looked.get() + 1) % LOOKS);
            looked.get()
        });
        match looked {
            Ok(0) => std::thread::sleep(MOMENT),
            _ => std::hint::spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Rank, SpinMutex};

    /// Includes holders that yield the processor now and then.
    #[test]
    fn it_is_held_by_one_at_a_time() {
        const ROUNDS: u32 = 20_000;
        let count = SpinMutex::ranked(Rank::Lane, 0u32);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..ROUNDS {
                        let mut count = count.lock();
                        let before = *count;
                        if round % 4_000 == 0 {
                            std::thread::yield_now();
                        }
                        *count = before + 1;
                    }
                });
            }
        });
        assert_eq!(*count.lock(), 4 * ROUNDS);
        let held = count.lock();
        assert!(count.try_lock().is_none());
        drop(held);
        assert!(count.try_lock().is_some());
    }
}
