// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters of the services of a daemon, which `/metrics` returns with those of the node.

use std::sync::{Arc, Mutex, PoisonError};

use zonda::session::Sample;

/// Function that returns the counters of a service.
type Source = Box<dyn Fn() -> Vec<Sample> + Send>;

/// Counters of all services that are not HTTP servers, which return their own. Clones share them.
#[derive(Clone, Default)]
pub struct Counters(Arc<Mutex<Vec<Source>>>);

impl Counters {
    /// Adds the counters of a service.
    pub fn add(&self, source: impl Fn() -> Vec<Sample> + Send + 'static) {
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sources.push(Box::new(source));
    }

    /// Returns the values.
    pub fn samples(&self) -> Vec<Sample> {
        let sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sources.iter().flat_map(|source| source()).collect()
    }
}

impl std::fmt::Debug for Counters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counters").finish_non_exhaustive()
    }
}
