// SPDX-License-Identifier: MIT OR Apache-2.0

//! What has become of the endpoints that the configuration wants connected: how often each was tried, why the last
//! attempt failed, when the next one is.

use std::fmt;
use std::time::{Duration, Instant};

use serde_json::json;
use zonda_codec::{Endpoint, Locator};

use crate::{
    peers::reasons::{Refusal, RefusalKind},
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
    /// Where the last attempt was refused, if because the node there has a link to this one already.
    linked_at: Option<Locator>,
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
            linked_at: None,
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

/// How an attempt at an endpoint ended.
#[derive(Debug, Clone)]
pub(crate) enum Ended {
    /// The connection stands.
    Reached(FaceId),
    /// The node there is connected already.
    Known,
    /// It failed.
    Failed {
        /// Why.
        reason: Refusal,
        /// Where, if the node there says that it has a link to this one already.
        linked_at: Option<Locator>,
    },
}

/// A failure that was not reported yet.
pub(crate) struct Failure {
    pub(crate) endpoint: Endpoint,
    pub(crate) reason: Refusal,
    pub(crate) attempts: u64,
}

impl Dials {
    /// Writes down that an attempt begins.
    pub(crate) fn begin(&mut self, endpoint: &Endpoint) {
        for dial in self.of(std::slice::from_ref(endpoint)) {
            dial.attempts += 1;
            dial.next = None;
        }
    }

    /// Writes down how an attempt ended.
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

    /// The endpoint by which a link was opened.
    pub(crate) fn opened(&self, face: FaceId) -> Option<&Endpoint> {
        let dial = self.0.iter().find(|dial| dial.face == Some(face));
        dial.map(|dial| &dial.endpoint)
    }

    /// Writes down that one of `endpoints` was reached: the others will not be tried.
    pub(crate) fn reach(&mut self, endpoints: &[Endpoint]) {
        for dial in self.of(endpoints) {
            dial.reached = true;
        }
    }

    /// Writes down when the next attempt at `endpoints` is made; the failures that were not reported yet.
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

    /// Whether any was reached since the node was opened.
    pub(crate) fn any_reached(&self) -> bool {
        self.0.iter().any(|dial| dial.reached)
    }

    /// Those that were never reached since the node was opened. One whose node was found otherwise and has a link to this
    /// one is reached: `has_link` says whether there is a link to that listener.
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

    /// All of them, and what has become of each.
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

    /// The endpoints and what has become of each, for the admin space.
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
