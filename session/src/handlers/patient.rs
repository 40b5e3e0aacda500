// SPDX-License-Identifier: MIT OR Apache-2.0

//! Callbacks that wait for room without holding a thread, for values that a separate task delivers
//! one after another.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::Callback;

/// A future that completes when a value is taken.
pub type Taken = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A callback that may have to wait before it can take a value: of changes that are delivered one after another, the next one
/// comes when the last one is taken.
pub struct Patient<T>(Arc<dyn Fn(T) -> Option<Taken> + Send + Sync>);

impl<T> Patient<T> {
    /// Wraps a function that returns the future to wait for, if it has to wait.
    pub fn new(f: impl Fn(T) -> Option<Taken> + Send + Sync + 'static) -> Patient<T> {
        Patient(Arc::new(f))
    }

    /// Calls it with a value.
    pub fn call(&self, value: T) -> Option<Taken> {
        (self.0)(value)
    }
}

impl<T: 'static> From<Callback<T>> for Patient<T> {
    fn from(callback: Callback<T>) -> Self {
        Patient::new(move |value| {
            callback.call(value);
            None
        })
    }
}

impl<T> fmt::Debug for Patient<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Patient")
    }
}
