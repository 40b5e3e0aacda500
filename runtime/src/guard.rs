// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of application code, which may panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The payload of a panic.
pub type Panic = Box<dyn Any + Send>;

/// Calls a function of the application. A panic in it is caught and returned.
///
/// # Errors
/// Returns the panic's payload.
#[inline]
pub fn caught<T>(call: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(call))
}

/// Drops a value that may own functions of the application; returns false if a destructor panicked.
/// The panic is caught, so the caller can continue its own cleanup.
#[inline]
pub fn drop_guarded<T>(value: T) -> bool {
    caught(|| drop(value)).is_ok()
}
