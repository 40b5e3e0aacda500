// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Kept`]: agreement between the threads that make work for the keeper and the keeper, which forgets what has none.

#[cfg(loom)]
use loom::sync::atomic::{
    AtomicBool,
    Ordering::{Relaxed, SeqCst},
    fence,
};
#[cfg(not(loom))]
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Relaxed, SeqCst},
    fence,
};

/// Set while the keeper knows of a task. A thread first makes work, then asks [`Kept::is_new`]; the keeper first
/// unsets the mark, then looks for work: at least one of them sees what the other has done.
#[derive(Debug, Default)]
pub(crate) struct Kept(AtomicBool);

impl Kept {
    /// Returns true if the keeper knew of the task a moment ago.
    pub(crate) fn is_known(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Called after work was made. Returns true if the caller has to make the task known.
    pub(crate) fn is_new(&self) -> bool {
        fence(SeqCst);
        !self.0.load(Relaxed) && !self.0.swap(true, SeqCst)
    }

    /// Called by the keeper for a task that had no work. Returns true if the keeper is to forget it, which another thread
    /// may make known again.
    pub(crate) fn is_forgotten(&self, has_work: impl FnOnce() -> bool) -> bool {
        self.0.store(false, Relaxed);
        fence(SeqCst);
        !has_work() || self.0.swap(true, SeqCst)
    }
}

#[cfg(all(test, loom))]
mod tests {
    use loom::sync::{Arc, Mutex, atomic::AtomicUsize};

    use super::*;

    /// Work that was made is known to the keeper, once, after every order of steps.
    #[test]
    fn work_is_never_forgotten_and_never_known_twice() {
        loom::model(|| {
            let kept = Arc::new(Kept(AtomicBool::new(true)));
            let work = Arc::new(AtomicUsize::new(0));
            // Number of entries for the task in the keeper's list.
            let known = Arc::new(Mutex::new(1));
            let makers: Vec<_> = (0..2)
                .map(|_| {
                    let (kept, work) = (Arc::clone(&kept), Arc::clone(&work));
                    let known = Arc::clone(&known);
                    loom::thread::spawn(move || {
                        work.fetch_add(1, Relaxed);
                        if kept.is_new() {
                            *known.lock().unwrap() += 1;
                        }
                    })
                })
                .collect();
            // A round of the keeper that finds no work.
            if kept.is_forgotten(|| work.load(Relaxed) > 0) {
                *known.lock().unwrap() -= 1;
            }
            makers.into_iter().for_each(|maker| maker.join().unwrap());
            assert_eq!(*known.lock().unwrap(), 1);
            assert!(kept.is_known());
        });
    }
}
