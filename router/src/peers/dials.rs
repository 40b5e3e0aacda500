// SPDX-License-Identifier: MIT OR Apache-2.0

//! What has become of the endpoints that the configuration wants connected: how often each was tried, why the last
//! attempt failed, when the next one is.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use serde_json::json;
use zonda_codec::{Endpoint, WhatAmI};

use crate::{
    node::{
        Node,
        shared::{Face, Shared},
    },
    peers::{
        connect::Attempt,
        events::ConnectionEvent,
        links::Standing,
        reasons::{Refusal, RefusalKind},
    },
    table::FaceId,
};

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

/// A configured endpoint and what has become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointStatus {
    /// The endpoint as configured.
    pub endpoint: Endpoint,
    /// Whether the link that was opened by it stands.
    pub connected: bool,
    /// Whether it was reached since the node was opened.
    pub reached: bool,
    /// Attempts since the node was opened or it was connected last, the one under way included.
    pub attempts: u64,
    /// Why the last attempt failed; `None` if it did not, or none has ended.
    pub last_failure: Option<Refusal>,
    /// When the next attempt is made; `None` while it is connected or being tried, or when it is given up.
    pub next_retry: Option<Duration>,
}

/// One of the configured endpoints.
#[derive(Debug)]
struct Dial {
    endpoint: Endpoint,
    /// The link that it opened last.
    face: Option<FaceId>,
    reached: bool,
    attempts: u64,
    last: Option<Refusal>,
    /// The failure was not reported yet.
    fresh: bool,
    next: Option<Instant>,
}

/// The configured endpoints. Not larger than the configuration.
#[derive(Debug, Default)]
pub(crate) struct Dials(Vec<Dial>);

impl Dials {
    pub(crate) fn new(endpoints: Vec<Endpoint>) -> Self {
        let dial = |endpoint| Dial {
            endpoint,
            face: None,
            reached: false,
            attempts: 0,
            last: None,
            fresh: false,
            next: None,
        };
        Dials(endpoints.into_iter().map(dial).collect())
    }

    fn of<'a>(&'a mut self, endpoints: &'a [Endpoint]) -> impl Iterator<Item = &'a mut Dial> {
        let wanted = |dial: &&mut Dial| endpoints.contains(&dial.endpoint);
        self.0.iter_mut().filter(wanted)
    }
}

impl Dials {
    /// The endpoints and what has become of each, for the admin space.
    pub(crate) fn describe(&self, faces: &HashMap<FaceId, Face>) -> serde_json::Value {
        let describe = |dial: &Dial| {
            let is_connected = dial.face.is_some_and(|face| faces.contains_key(&face));
            json!({
                "endpoint": dial.endpoint.to_string(),
                "connected": is_connected,
                "attempts": dial.attempts,
                "last_failure": dial.last.as_ref().map(ToString::to_string),
                "reason": dial.last.as_ref().map(|failure| failure.kind.name()),
            })
        };
        self.0.iter().map(describe).collect()
    }
}

impl Shared {
    /// Writes down that an attempt begins.
    pub(crate) fn note_begin(&self, endpoint: &Endpoint) {
        for dial in self.state.lock().dials.of(std::slice::from_ref(endpoint)) {
            dial.attempts += 1;
            dial.next = None;
        }
    }

    /// Writes down how an attempt ended.
    pub(crate) fn note_attempt(&self, endpoint: &Endpoint, result: &Result<Standing, Attempt>) {
        let mut state = self.state.lock();
        for dial in state.dials.of(std::slice::from_ref(endpoint)) {
            match result {
                Ok(standing) => {
                    dial.face = Some(standing.face);
                    dial.reached = true;
                    dial.attempts = 0;
                    dial.last = None;
                }
                Err(Attempt::Known(_)) => {
                    dial.reached = true;
                    dial.last = Some(Refusal {
                        kind: RefusalKind::MaxLinks,
                        text: "the node there is connected already".to_owned(),
                    });
                }
                Err(Attempt::Closed) => {}
                Err(Attempt::Dial(failure)) => {
                    dial.last = Some(failure.into());
                    dial.fresh = true;
                }
            }
        }
        drop(state);
        self.changed.notify(usize::MAX);
    }

    /// Writes down that one of `endpoints` was reached: the others will not be tried.
    pub(crate) fn note_reached(&self, endpoints: &[Endpoint]) {
        for dial in self.state.lock().dials.of(endpoints) {
            dial.reached = true;
        }
        self.note_retry(endpoints, None);
        self.changed.notify(usize::MAX);
    }

    /// Writes down when the next attempt at `endpoints` is made, and tells of those that failed just now.
    pub(crate) fn note_retry(&self, endpoints: &[Endpoint], wait: Option<Duration>) {
        let next = wait.map(zonda_runtime::after);
        let mut failed = Vec::new();
        for dial in self.state.lock().dials.of(endpoints) {
            dial.next = next;
            if let (true, Some(reason)) = (std::mem::take(&mut dial.fresh), &dial.last) {
                failed.push(ConnectionEvent::Failed {
                    endpoint: dial.endpoint.clone(),
                    reason: reason.clone(),
                    attempts: dial.attempts,
                    next_retry: wait,
                });
            }
        }
        for event in failed {
            self.tell(|| event);
        }
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
        let state = self.shared.state.lock();
        let is_client = self.shared.role == WhatAmI::Client;
        if is_client && state.dials.0.iter().any(|dial| dial.reached) {
            return Vec::new();
        }
        let unreached = state.dials.0.iter().filter(|dial| !dial.reached);
        unreached
            .map(|dial| Unreached {
                endpoint: dial.endpoint.clone(),
                reason: dial.last.as_ref().map(ToString::to_string),
            })
            .collect()
    }

    /// The configured endpoints to connect to, and what has become of each.
    #[must_use]
    pub fn endpoints(&self) -> Vec<EndpointStatus> {
        if self.is_forked() {
            return Vec::new();
        }
        let now = Instant::now();
        let state = self.shared.state.lock();
        let status = |dial: &Dial| EndpointStatus {
            endpoint: dial.endpoint.clone(),
            connected: dial
                .face
                .is_some_and(|face| state.faces.contains_key(&face)),
            reached: dial.reached,
            attempts: dial.attempts,
            last_failure: dial.last.clone(),
            next_retry: dial.next.map(|next| next.saturating_duration_since(now)),
        };
        state.dials.0.iter().map(status).collect()
    }
}
