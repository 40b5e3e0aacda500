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
    use loom::sync::{Arc, atomic::AtomicUsize};

    use super::*;

    /// The keeper knows of work that was made, once, after every order of steps.
    #[test]
    fn work_is_never_forgotten_and_never_known_twice() {
        loom::model(|| {
            let kept = Arc::new(Kept(AtomicBool::new(true)));
            let work = Arc::new(AtomicUsize::new(0));
            let makers = [(); 2].map(|()| {
                let (kept, work) = (Arc::clone(&kept), Arc::clone(&work));
                loom::thread::spawn(move || {
                    work.fetch_add(1, Relaxed);
                    kept.is_new()
                })
            });
            // A round of the keeper that finds no work.
            let is_forgotten = kept.is_forgotten(|| work.load(Relaxed) > 0);
            let made_known = makers.map(|maker| maker.join().unwrap());
            let entries = 1 + made_known.iter().filter(|new| **new).count();
            assert_eq!(entries - usize::from(is_forgotten), 1);
            assert!(kept.is_known());
        });
    }
}
