// SPDX-License-Identifier: MIT OR Apache-2.0

//! Records of attempts to connect, in both directions, with their reports to the listeners of
//! events.

use std::time::Duration;

use zonda_codec::Endpoint;
use zonda_transport::{link::LinkAddress, protocol::handshake::HandshakeError};

use crate::{
    node::shared::Shared,
    peers::{
        connect::Attempt, dials::Ended, events::ConnectionEvent, links::LinkHandle,
        reasons::Refusal,
    },
};

impl Shared {
    /// Notes that an attempt begins.
    pub(crate) fn note_begin(&self, endpoint: &Endpoint) {
        self.state.lock().dials.begin(endpoint);
    }

    /// Notes the result of an attempt.
    pub(crate) fn note_attempt(&self, endpoint: &Endpoint, result: &Result<LinkHandle, Attempt>) {
        let how = match result {
            Ok(standing) => Some(Ended::Reached(standing.face)),
            Err(Attempt::Known(_)) => Some(Ended::Known),
            Err(Attempt::Closed) => None,
            Err(Attempt::Dial(failure)) => Some(Ended::Failed {
                reason: failure.into(),
                linked_at: failure.linked_at().and_then(LinkAddress::locator),
            }),
        };
        if let Some(how) = how {
            self.state.lock().dials.end(endpoint, &how);
        }
        self.changed.notify(usize::MAX);
    }

    /// Notes that one of `endpoints` was reached: the node will not try the rest.
    pub(crate) fn note_reached(&self, endpoints: &[Endpoint]) {
        self.state.lock().dials.reach(endpoints);
        self.note_retry(endpoints, None);
        self.changed.notify(usize::MAX);
    }

    /// Notes the time of the next attempt at `endpoints`, and reports those that failed just now.
    pub(crate) fn note_retry(&self, endpoints: &[Endpoint], wait: Option<Duration>) {
        let next = wait.map(zonda_runtime::after);
        let failed = self.state.lock().dials.retry(endpoints, next);
        for failure in failed {
            self.tell(|| ConnectionEvent::Failed {
                endpoint: failure.endpoint,
                reason: failure.reason,
                attempts: failure.attempts,
                next_retry: wait,
            });
        }
    }

    /// Counts and reports a connection that was refused.
    pub(crate) fn note_refused(
        &self,
        listener: &Endpoint,
        remote: Option<&LinkAddress>,
        error: &HandshakeError,
    ) {
        let reason = Refusal::from(error);
        self.refusals.note(remote, &reason);
        self.tell(|| ConnectionEvent::Refused {
            listener: listener.clone(),
            remote: remote.cloned(),
            reason,
        });
    }
}
