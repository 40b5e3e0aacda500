// SPDX-License-Identifier: MIT OR Apache-2.0
//! State that tasks work on one after another, and an inbox for other tasks, which do not wait for
//! the work.
//!
//! The next task that works on the state processes the inbox. A task that adds an item while
//! another one works on the state leaves, and the worker checks the inbox again once it has
//! released the state. `loom/` checks that no item is left.

#[cfg(loom)]
use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering},
};
#[cfg(not(loom))]
use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering},
};
use std::sync::{PoisonError, TryLockError};

/// State and its inbox.
pub(super) struct StateInbox<S, E> {
    state: Mutex<S>,
    inbox: Mutex<Vec<E>>,
    /// Set while a task works on the state, which checks the inbox after it has released the state.
    is_worked_on: AtomicBool,
}

impl<S, E> StateInbox<S, E> {
    pub(super) fn new(state: S) -> Self {
        StateInbox {
            state: Mutex::new(state),
            inbox: Mutex::new(Vec::new()),
            is_worked_on: AtomicBool::new(false),
        }
    }

    /// Locks the state, for a look.
    pub(super) fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the state, for a look, unless it is locked.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, S>> {
        self.state.try_lock().ok()
    }

    /// Works on the state: `work` gets the state and the items of the inbox. The caller then calls
    /// [`StateInbox::see_to_inbox`].
    pub(super) fn work<T>(&self, work: impl FnOnce(&mut S, Vec<E>) -> T) -> T {
        self.work_on(self.lock(), work)
    }

    fn work_on<T>(
        &self,
        mut state: MutexGuard<'_, S>,
        work: impl FnOnce(&mut S, Vec<E>) -> T,
    ) -> T {
        self.is_worked_on.store(true, Ordering::SeqCst);
        let arrived = std::mem::take(&mut *self.inbox());
        let done = work(&mut state, arrived);
        self.is_worked_on.store(false, Ordering::SeqCst);
        done
    }

    /// Adds an item to the inbox. The caller then calls [`StateInbox::see_to_inbox`].
    pub(super) fn bring(&self, item: E) {
        self.inbox().push(item);
    }

    /// Processes the inbox, or leaves it to the task that works on the state at the moment. `after`
    /// is called with the result of each piece of work, with the state unlocked.
    pub(super) fn see_to_inbox<T>(
        &self,
        mut work: impl FnMut(&mut S, Vec<E>) -> T,
        mut after: impl FnMut(T),
    ) {
        while self.has_inbox() {
            let state = match self.state.try_lock() {
                Ok(state) => state,
                Err(TryLockError::WouldBlock) if self.is_worked_on.load(Ordering::SeqCst) => {
                    return;
                }
                // Another task has a look, which takes no time.
                Err(_) => self.lock(),
            };
            after(self.work_on(state, &mut work));
        }
    }

    /// Returns true if the inbox has items.
    pub(super) fn has_inbox(&self) -> bool {
        !self.inbox().is_empty()
    }

    fn inbox(&self) -> MutexGuard<'_, Vec<E>> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(loom)]
    use loom::{model, sync::Arc, thread};
    #[cfg(not(loom))]
    use std::{sync::Arc, thread};

    use super::*;

    /// Runs a model once, where not every order is tried.
    #[cfg(not(loom))]
    fn model(run: impl Fn()) {
        run();
    }

    type Numbers = StateInbox<Vec<u32>, u32>;

    fn add(state: &mut Vec<u32>, arrived: Vec<u32>) {
        state.extend(arrived);
    }

    fn bring(desk: &Numbers, number: u32) {
        desk.bring(number);
        desk.see_to_inbox(add, drop);
    }

    fn work(desk: &Numbers) {
        desk.work(add);
        desk.see_to_inbox(add, drop);
    }

    /// Returns the items in the state at the end.
    fn end(desk: &Numbers) -> Vec<u32> {
        assert!(!desk.has_inbox(), "nothing is left lying");
        let mut numbers = desk.lock().clone();
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn what_is_brought_while_another_works_is_taken_up() {
        model(|| {
            let desk = Arc::new(Numbers::new(Vec::new()));
            let worker = Arc::clone(&desk);
            let working = thread::spawn(move || work(&worker));
            bring(&desk, 1);
            working.join().expect("no panic");
            assert_eq!(end(&desk), [1]);
        });
    }

    #[test]
    fn two_bring_and_neither_leaves_it_to_the_other() {
        model(|| {
            let desk = Arc::new(Numbers::new(Vec::new()));
            let other = Arc::clone(&desk);
            let bringing = thread::spawn(move || bring(&other, 2));
            bring(&desk, 1);
            bringing.join().expect("no panic");
            assert_eq!(end(&desk), [1, 2]);
        });
    }

    #[test]
    fn one_that_only_looks_is_not_taken_for_a_worker() {
        model(|| {
            let desk = Arc::new(Numbers::new(Vec::new()));
            let other = Arc::clone(&desk);
            let looking = thread::spawn(move || other.lock().len());
            bring(&desk, 1);
            assert!(looking.join().expect("no panic") <= 1);
            assert_eq!(end(&desk), [1]);
        });
    }
}
