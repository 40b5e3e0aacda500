// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual time of a simulation, which runs on one thread.

use std::{cell::Cell, time::Instant};

thread_local! {
    static NOW: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Returns the virtual time of this thread, if it simulates.
pub(crate) fn now() -> Option<Instant> {
    NOW.get()
}

/// Sets the clock of this thread; `None` for the system's.
pub(crate) fn set(now: Option<Instant>) {
    NOW.set(now);
}
