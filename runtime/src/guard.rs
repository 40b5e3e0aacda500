// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of code that belongs to the application, which may panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic was thrown with.
pub type Panic = Box<dyn Any + Send>;

/// Calls a function of the application. A panic in it ends there, and is returned.
///
/// # Errors
/// What the function panicked with.
#[inline]
pub fn caught<T>(call: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(call))
}

/// Drops a value that may own functions of the application; `false` if one of them panicked in its destructor. The panic ends
/// there, so that the caller goes on with its own cleaning up.
#[inline]
pub fn drop_guarded<T>(value: T) -> bool {
    caught(|| drop(value)).is_ok()
}
