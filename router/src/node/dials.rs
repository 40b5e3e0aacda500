// SPDX-License-Identifier: MIT OR Apache-2.0

//! What has become of the endpoints that the configuration wants connected.

use std::fmt;

use zonda_codec::{Endpoint, WhatAmI};

use super::{Node, connect::Attempt, shared::Shared};

/// A configured endpoint that was never reached since the node was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreached {
    /// The endpoint as configured.
    pub endpoint: Endpoint,
    /// Why the last attempt failed, in one line; `None` while the first one is under way.
    pub reason: Option<String>,
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.reason.as_deref().unwrap_or("no answer yet");
        write!(f, "cannot connect to {}: {reason}", self.endpoint)
    }
}

/// Those of the configured endpoints that were never reached. Not larger than the configuration.
#[derive(Debug, Default)]
pub(super) struct Dials(Vec<Unreached>);

impl Dials {
    pub(super) fn new(endpoints: Vec<Endpoint>) -> Self {
        let unreached = |endpoint| Unreached {
            endpoint,
            reason: None,
        };
        Dials(endpoints.into_iter().map(unreached).collect())
    }
}

impl Shared {
    /// Writes down how an attempt ended. A client needs no other endpoint once it has reached one.
    pub(super) fn note_attempt<T>(&self, endpoint: &Endpoint, result: &Result<T, Attempt>) {
        let mut state = self.state.lock();
        let Dials(unreached) = &mut state.dials;
        match result {
            Ok(_) | Err(Attempt::Known(_)) if self.role == WhatAmI::Client => unreached.clear(),
            Ok(_) | Err(Attempt::Known(_)) => unreached.retain(|dial| dial.endpoint != *endpoint),
            Err(Attempt::Closed) => return,
            Err(Attempt::Dial(failure)) => {
                let text = failure.to_string();
                let reason = text.strip_prefix(&format!("cannot connect to {endpoint}: "));
                for dial in unreached.iter_mut().filter(|d| d.endpoint == *endpoint) {
                    dial.reason = Some(reason.unwrap_or(&text).to_owned());
                }
            }
        }
        drop(state);
        self.changed.notify(usize::MAX);
    }
}

impl Node {
    /// The configured endpoints that were never reached since the node was opened, and why. For a client that was
    /// connected once: none.
    #[must_use]
    pub fn unreached(&self) -> Vec<Unreached> {
        if self.is_forked() {
            return Vec::new();
        }
        self.shared.state.lock().dials.0.clone()
    }
}
