// SPDX-License-Identifier: MIT OR Apache-2.0

//! Records of attempts to connect, in both directions, with their reports to the listeners of
//! events.

use std::time::Duration;

use zonda_codec::Endpoint;
use zonda_transport::{link::LinkAddress, protocol::handshake::HandshakeError};

use crate::{
    node::shared::Shared,
    peers::{
        attempt::Attempt, dials::Ended, events::ConnectionEvent, links::LinkHandle,
        reasons::Refusal,
    },
};

/// Notes that an attempt begins.
pub(crate) fn note_begin(shared: &Shared, endpoint: &Endpoint) {
    shared.state.lock().peers.dials.begin(endpoint);
}

/// Notes the result of an attempt.
pub(crate) fn note_attempt(
    shared: &Shared,
    endpoint: &Endpoint,
    result: &Result<LinkHandle, Attempt>,
) {
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
        shared.state.lock().peers.dials.end(endpoint, &how);
    }
    shared.changed.notify(usize::MAX);
}

/// Notes that one of `endpoints` was reached: the node will not try the rest.
pub(crate) fn note_reached(shared: &Shared, endpoints: &[Endpoint]) {
    shared.state.lock().peers.dials.reach(endpoints);
    note_retry(shared, endpoints, None);
    shared.changed.notify(usize::MAX);
}

/// Notes the time of the next attempt at `endpoints`, and reports those that failed just now.
pub(crate) fn note_retry(shared: &Shared, endpoints: &[Endpoint], wait: Option<Duration>) {
    let next = wait.map(zonda_runtime::after);
    let failed = shared.state.lock().peers.dials.retry(endpoints, next);
    for failure in failed {
        shared.events.tell(|| ConnectionEvent::Failed {
            endpoint: failure.endpoint,
            reason: failure.reason,
            attempts: failure.attempts,
            next_retry: wait,
        });
    }
}

/// Counts and reports a connection that was refused.
pub(crate) fn note_refused(
    shared: &Shared,
    listener: &Endpoint,
    remote: Option<&LinkAddress>,
    error: &HandshakeError,
) {
    let reason = Refusal::from(error);
    shared.refusals.note(remote, &reason);
    shared.events.tell(|| ConnectionEvent::Refused {
        listener: listener.clone(),
        remote: remote.cloned(),
        reason,
    });
}
