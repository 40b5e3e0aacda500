// SPDX-License-Identifier: MIT OR Apache-2.0

//! State of the endpoints that the configuration wants connected: the number of attempts, the last
//! failure, the time of the next attempt.

use std::fmt;
use std::time::{Duration, Instant};

use serde_json::json;
use zonda_codec::{Endpoint, Locator};

use crate::{
    peers::reasons::{Refusal, RefusalKind},
    table::FaceId,
};

/// Configured endpoint that was never reached since the node was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreached {
    /// Endpoint as configured.
    pub endpoint: Endpoint,
    /// Cause of the last failure, in one line; `None` while the first attempt is under way.
    pub reason: Option<String>,
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.reason.as_deref().unwrap_or("no answer yet");
        write!(f, "cannot connect to {}: {reason}", self.endpoint)
    }
}

/// Configured endpoint with the state of its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointStatus {
    /// Endpoint as configured.
    pub endpoint: Endpoint,
    /// True if the link that was opened by it stands.
    pub connected: bool,
    /// True if it was reached since the node was opened.
    pub reached: bool,
    /// Attempts since the node was opened or it was connected last, the one under way included.
    pub attempts: u64,
    /// Cause of the last failure; `None` if the last attempt succeeded, or none has ended.
    pub last_failure: Option<Refusal>,
    /// Time until the next attempt; `None` while it is connected or being tried, or when it is
    /// given up.
    pub next_retry: Option<Duration>,
}

/// One of the configured endpoints.
#[derive(Debug)]
struct Dial {
    endpoint: Endpoint,
    /// Link that it opened last.
    face: Option<FaceId>,
    reached: bool,
    attempts: u64,
    last: Option<Refusal>,
    /// Listener that refused the last attempt because its node has a link to this one already.
    linked_at: Option<Locator>,
    /// True if the last failure was not reported yet.
    fresh: bool,
    next: Option<Instant>,
}

impl Dial {
    fn new(endpoint: Endpoint) -> Dial {
        Dial {
            endpoint,
            face: None,
            reached: false,
            attempts: 0,
            last: None,
            linked_at: None,
            fresh: false,
            next: None,
        }
    }
}

/// Configured endpoints. Not larger than the configuration.
#[derive(Debug, Default)]
pub(crate) struct Dials(Vec<Dial>);

impl Dials {
    pub(crate) fn new(endpoints: Vec<Endpoint>) -> Self {
        Dials(endpoints.into_iter().map(Dial::new).collect())
    }

    /// Changes the endpoints; those that stay keep their state.
    pub(super) fn replace(&mut self, endpoints: Vec<Endpoint>) {
        let mut former = std::mem::take(&mut self.0);
        let dial = |endpoint| match former.iter().position(|dial| dial.endpoint == endpoint) {
            Some(place) => former.swap_remove(place),
            None => Dial::new(endpoint),
        };
        self.0 = endpoints.into_iter().map(dial).collect();
    }

    /// Returns the links that endpoints opened last.
    pub(super) fn faces(&self, endpoints: &[Endpoint]) -> Vec<FaceId> {
        let wanted = self
            .0
            .iter()
            .filter(|dial| endpoints.contains(&dial.endpoint));
        wanted.filter_map(|dial| dial.face).collect()
    }

    fn of<'a>(&'a mut self, endpoints: &'a [Endpoint]) -> impl Iterator<Item = &'a mut Dial> {
        let wanted = |dial: &&mut Dial| endpoints.contains(&dial.endpoint);
        self.0.iter_mut().filter(wanted)
    }
}

/// Result of an attempt at an endpoint.
#[derive(Debug, Clone)]
pub(crate) enum Ended {
    /// The connection stands.
    Reached(FaceId),
    /// The node there is connected already.
    Known,
    /// The attempt failed.
    Failed {
        /// Cause of the failure.
        reason: Refusal,
        /// Listener that refused, if its node has a link to this one already.
        linked_at: Option<Locator>,
    },
}

/// Failure that was not reported yet.
pub(crate) struct Failure {
    pub(crate) endpoint: Endpoint,
    pub(crate) reason: Refusal,
    pub(crate) attempts: u64,
}

impl Dials {
    /// Notes that an attempt begins.
    pub(crate) fn begin(&mut self, endpoint: &Endpoint) {
        for dial in self.of(std::slice::from_ref(endpoint)) {
            dial.attempts += 1;
            dial.next = None;
        }
    }

    /// Notes the result of an attempt.
    pub(crate) fn end(&mut self, endpoint: &Endpoint, how: &Ended) {
        for dial in self.of(std::slice::from_ref(endpoint)) {
            match how {
                Ended::Reached(face) => {
                    dial.face = Some(*face);
                    dial.reached = true;
                    dial.attempts = 0;
                    dial.last = None;
                }
                Ended::Known => {
                    dial.reached = true;
                    dial.last = Some(Refusal {
                        kind: RefusalKind::MaxLinks,
                        text: "the node there is connected already".to_owned(),
                    });
                }
                Ended::Failed { reason, linked_at } => {
                    dial.last = Some(reason.clone());
                    dial.linked_at.clone_from(linked_at);
                    dial.fresh = true;
                }
            }
        }
    }

    /// Returns the endpoint by which a link was opened.
    pub(crate) fn opened(&self, face: FaceId) -> Option<&Endpoint> {
        let dial = self.0.iter().find(|dial| dial.face == Some(face));
        dial.map(|dial| &dial.endpoint)
    }

    /// Notes that one of `endpoints` was reached: the node will not try the rest.
    pub(crate) fn reach(&mut self, endpoints: &[Endpoint]) {
        for dial in self.of(endpoints) {
            dial.reached = true;
        }
    }

    /// Notes the time of the next attempt at `endpoints`; returns the failures that were not
    /// reported yet.
    pub(crate) fn retry(&mut self, endpoints: &[Endpoint], next: Option<Instant>) -> Vec<Failure> {
        let mut failed = Vec::new();
        for dial in self.of(endpoints) {
            dial.next = next;
            if let (true, Some(reason)) = (std::mem::take(&mut dial.fresh), &dial.last) {
                failed.push(Failure {
                    endpoint: dial.endpoint.clone(),
                    reason: reason.clone(),
                    attempts: dial.attempts,
                });
            }
        }
        failed
    }

    /// Returns true if any endpoint was reached since the node was opened.
    pub(crate) fn any_reached(&self) -> bool {
        self.0.iter().any(|dial| dial.reached)
    }

    /// Returns the endpoints that were never reached since the node was opened. An endpoint counts
    /// as reached if its node was found otherwise and has a link to this one: `has_link` returns
    /// true if there is a link to that listener.
    pub(crate) fn unreached(&self, has_link: impl Fn(&Locator) -> bool) -> Vec<Unreached> {
        let is_reached =
            |dial: &Dial| dial.reached || dial.linked_at.as_ref().is_some_and(&has_link);
        let unreached = self.0.iter().filter(|dial| !is_reached(dial));
        unreached
            .map(|dial| Unreached {
                endpoint: dial.endpoint.clone(),
                reason: dial.last.as_ref().map(ToString::to_string),
            })
            .collect()
    }

    /// Returns the state of all endpoints.
    pub(crate) fn status(
        &self,
        now: Instant,
        stands: impl Fn(FaceId) -> bool,
    ) -> Vec<EndpointStatus> {
        let status = |dial: &Dial| EndpointStatus {
            endpoint: dial.endpoint.clone(),
            connected: dial.face.is_some_and(&stands),
            reached: dial.reached,
            attempts: dial.attempts,
            last_failure: dial.last.clone(),
            next_retry: dial.next.map(|next| next.saturating_duration_since(now)),
        };
        self.0.iter().map(status).collect()
    }

    /// Returns the state of all endpoints for the admin space.
    pub(crate) fn describe(&self, stands: impl Fn(FaceId) -> bool) -> serde_json::Value {
        let describe = |dial: &Dial| {
            let is_connected = dial.face.is_some_and(&stands);
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
