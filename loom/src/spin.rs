// SPDX-License-Identifier: MIT OR Apache-2.0
//! The protocol of the lanes' lock. The code of that lock is in the crate `spin`, which uses only
//! the compiler's atomics, so this checks a copy of its steps with the same orderings: those of
//! `spin::mutex::SpinMutex` 0.10. The additions of `transport/src/sync/spin_mutex.rs` touch no
//! shared memory.

use loom::{
    model,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
};

struct Spin {
    is_locked: AtomicBool,
    unlock: Ordering,
    /// The protected value, read and written with the lock held, and without any ordering of its
    /// own.
    value: AtomicU32,
}

impl Spin {
    fn new(unlock: Ordering) -> Arc<Self> {
        Arc::new(Self {
            is_locked: AtomicBool::new(false),
            unlock,
            value: AtomicU32::new(0),
        })
    }

    fn try_lock(&self) -> bool {
        self.is_locked
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    fn lock(&self) {
        while self
            .is_locked
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            while self.is_locked.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        }
    }

    /// Changes the value as a holder does, and unlocks.
    fn add_and_unlock(&self) {
        let before = self.value.load(Ordering::Relaxed);
        self.value.store(before + 1, Ordering::Relaxed);
        self.is_locked.store(false, self.unlock);
    }
}

/// Lets two threads wait for the lock; one of them has tried it before.
fn holders_see_each_other(unlock: Ordering) {
    model(move || {
        let lock = Spin::new(unlock);
        let other = Arc::clone(&lock);
        let waiting = thread::spawn(move || {
            other.lock();
            other.add_and_unlock();
        });
        let tried = lock.try_lock();
        if tried {
            lock.add_and_unlock();
        }
        lock.lock();
        lock.add_and_unlock();
        waiting.join().expect("no panic");
        assert_eq!(lock.value.load(Ordering::Relaxed), 2 + u32::from(tried));
    });
}

#[test]
fn one_holds_the_lock_and_sees_what_the_last_one_did() {
    holders_see_each_other(Ordering::Release);
}

/// Checks the model itself: it finds a lock that is released without release ordering.
#[test]
#[should_panic]
fn a_relaxed_unlock_is_found() {
    holders_see_each_other(Ordering::Relaxed);
}
