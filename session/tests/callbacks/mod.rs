// SPDX-License-Identifier: MIT OR Apache-2.0

//! Common part of the tests of callbacks that use their own session.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use zonda::Session;

use crate::pair::{alone, pair};

/// Runs a case in one session that is on both sides, and again in two: the session that publishes
/// or queries, and the one whose callback is called.
pub fn here_and_remote(case: impl Fn(&Session, &Session)) {
    let session = alone();
    case(&session, &session);
    let (acting, called) = pair();
    case(&acting, &called);
}

/// A place from which a callback can drop an object of its session.
pub type Slot<T> = Arc<Mutex<Option<T>>>;

/// Empties the slot, and drops the value when the test's own lock is free; returns false if there
/// was none.
pub fn empty<T>(slot: &Slot<T>) -> bool {
    let taken = slot.lock().unwrap().take();
    taken.is_some()
}

/// Returns a count of calls, for the test and for the callback.
pub fn counter() -> (Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    (count.clone(), count)
}
