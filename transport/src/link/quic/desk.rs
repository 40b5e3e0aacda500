// SPDX-License-Identifier: MIT OR Apache-2.0
//! A state that tasks work on one after another, and an inbox for what others bring meanwhile: these do not wait for the work.
//!
//! What lies in the inbox is taken up by the next one to work. One that brings something and finds the state worked on leaves,
//! and the worker looks at the inbox again once it has given the state back. `loom/` checks that nothing is left lying.

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

/// The state and its inbox.
pub(super) struct Desk<S, E> {
    state: Mutex<S>,
    inbox: Mutex<Vec<E>>,
    /// Who has the state will look at the inbox when it has given that back.
    is_worked_on: AtomicBool,
}

impl<S, E> Desk<S, E> {
    pub(super) fn new(state: S) -> Self {
        Desk {
            state: Mutex::new(state),
            inbox: Mutex::new(Vec::new()),
            is_worked_on: AtomicBool::new(false),
        }
    }

    /// The state, for a look.
    pub(super) fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, for a look, unless somebody has it.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, S>> {
        self.state.try_lock().ok()
    }

    /// Works on the state: `work` gets it, and what the inbox had. To be followed by [`Desk::see_to_inbox`].
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

    /// Puts something into the inbox. To be followed by [`Desk::see_to_inbox`].
    pub(super) fn bring(&self, item: E) {
        self.inbox().push(item);
    }

    /// Works on what is in the inbox, or leaves that to the one that works on the state at the moment. `after` is called with what
    /// each piece of work gives, without the state.
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
                // Somebody has a look, which takes no time.
                Err(_) => self.lock(),
            };
            after(self.work_on(state, &mut work));
        }
    }

    /// Whether something waits in the inbox.
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

    /// One run, where not every one is tried.
    #[cfg(not(loom))]
    fn model(run: impl Fn()) {
        run();
    }

    type Numbers = Desk<Vec<u32>, u32>;

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

    /// What is in the state when all are done.
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
