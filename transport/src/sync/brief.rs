// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lock that is held for a few instructions, and taken with every message.
//!
//! Letting go of it is a plain store, where a lock whose waiters sleep in a queue has to ask with a second locked
//! instruction whether anybody is in it: that cost more than any other single thing of a put. Who finds it taken looks
//! again at once, for as long as the holder should need. After that it sleeps for moments, so that a holder that was
//! interrupted gets the processor also from a thread of a real-time class.

use std::{cell::Cell, time::Duration};

use spin::{mutex::SpinMutex, relax::RelaxStrategy};

/// Looks before a sleep.
const LOOKS: u8 = 64;

/// How long a sleep is meant to take.
const MOMENT: Duration = Duration::from_micros(50);

/// The right to what is locked, until it is dropped.
pub type BriefGuard<'a, T> = spin::mutex::SpinMutexGuard<'a, T>;

/// A mutex whose uses are counted in debug builds.
#[derive(Debug)]
pub struct BriefMutex<T>(SpinMutex<T, Patience>);

impl<T> BriefMutex<T> {
    /// An unlocked mutex.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(SpinMutex::new(value))
    }

    /// Takes the lock.
    ///
    /// # Blocking
    /// Until the holder lets go.
    #[inline]
    pub fn lock(&self) -> BriefGuard<'_, T> {
        #[cfg(debug_assertions)]
        super::count::add(|taken| taken.locked += 1);
        self.0.lock()
    }

    /// Takes the lock if nobody holds it.
    #[inline]
    pub fn try_lock(&self) -> Option<BriefGuard<'_, T>> {
        #[cfg(debug_assertions)]
        super::count::add(|taken| taken.tried += 1);
        self.0.try_lock()
    }
}

/// What a thread does that found the lock taken.
#[derive(Debug)]
struct Patience;

impl RelaxStrategy for Patience {
    #[cold]
    fn relax() {
        thread_local! {
            static LOOKED: Cell<u8> = const { Cell::new(0) };
        }
        // A thread that is ending looks on.
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
    use super::BriefMutex;

    /// Also when the holder gives up the processor now and then.
    #[test]
    fn it_is_held_by_one_at_a_time() {
        const ROUNDS: u32 = 20_000;
        let count = BriefMutex::new(0u32);
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
