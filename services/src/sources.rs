// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counters of services, which `/metrics` returns with those of their node.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use zonda::config::ZenohId;
use zonda::session::Sample;

/// Counters of a service.
pub trait Source: Send + Sync {
    /// Returns their values.
    fn samples(&self) -> Vec<Sample>;
}

/// Sources of all nodes of this process, each with its node.
static SOURCES: Mutex<Vec<(ZenohId, Weak<dyn Source>)>> = Mutex::new(Vec::new());

/// Adds a source of a node, for as long as the source lives.
pub fn register<S: Source + 'static>(node: ZenohId, source: &Arc<S>) {
    let source: Arc<dyn Source> = Arc::clone(source) as Arc<dyn Source>;
    let mut sources = SOURCES.lock().unwrap_or_else(PoisonError::into_inner);
    sources.retain(|(_, source)| source.strong_count() > 0);
    sources.push((node, Arc::downgrade(&source)));
}

/// Returns the counters of the services of a node.
pub fn samples(node: ZenohId) -> Vec<Sample> {
    let sources = SOURCES.lock().unwrap_or_else(PoisonError::into_inner);
    let own = sources.iter().filter(|(of, _)| *of == node);
    let own: Vec<_> = own.filter_map(|(_, source)| source.upgrade()).collect();
    drop(sources);
    own.iter().flat_map(|source| source.samples()).collect()
}
