// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of accepted connections, by outcome.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::log_limit::{LogByName, LogLimit};
use crate::protocol::handshake::HandshakeError;

/// Number of connections whose handshake at a listener has ended, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListenCounts {
    /// Connections that became links.
    pub accepted: u64,
    /// Connections evicted for newer ones: too many were pending, or descriptors had run out.
    pub evicted: u64,
    /// Handshakes that did not complete in time.
    pub timed_out: u64,
    /// Peers that spoke another version of the protocol.
    pub wrong_version: u64,
    /// Connections of this node to itself.
    pub own_id: u64,
    /// Peers that this node's owner refused, as when their id is connected already.
    pub turned_away: u64,
    /// Peers that gave no user, an unknown one, or a wrong password.
    pub unauthenticated: u64,
    /// Handshakes that the peer ended with a Close.
    pub closed_by_peer: u64,
    /// Peers that sent bytes that are no handshake.
    pub malformed: u64,
    /// Peers that returned a cookie that this node did not issue.
    pub bad_cookie: u64,
    /// Connections that failed below the protocol.
    pub io: u64,
    /// Peers that agreed on no encryption, or did not show a required certificate.
    pub unencrypted: u64,
    /// Datagrams of unverified addresses whose network has used up its budget of answers.
    pub unanswered: u64,
    /// Accept calls that failed, as when descriptors run out.
    pub accept_errors: u64,
}

/// Counters behind [`ListenCounts`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) accepted: AtomicU64,
    pub(super) evicted: AtomicU64,
    pub(super) accept_errors: AtomicU64,
    pub(super) unanswered: AtomicU64,
    timed_out: AtomicU64,
    wrong_version: AtomicU64,
    own_id: AtomicU64,
    turned_away: AtomicU64,
    unauthenticated: AtomicU64,
    closed_by_peer: AtomicU64,
    malformed: AtomicU64,
    bad_cookie: AtomicU64,
    io: AtomicU64,
    unencrypted: AtomicU64,
}

/// Limits of log lines that unauthenticated peers can cause.
#[derive(Debug, Default)]
pub(super) struct Logs {
    /// Failures of accept calls.
    pub(super) accept: LogLimit,
    /// Evictions of handshakes.
    pub(super) evicted: LogLimit,
    /// Refused users.
    pub(super) unauthenticated: LogByName,
    /// Peers that want batches that are too small.
    pub(super) batch_size: LogLimit,
    /// Failures of encrypted links.
    pub(super) unencrypted: LogLimit,
    /// Peers that did not ask for a WebSocket.
    pub(super) upgrade: LogLimit,
    /// Peers that speak TLS, HTTP, MQTT, or another known protocol.
    foreign: [LogLimit; 4],
    /// Handshakes that failed for another reason.
    other: LogLimit,
}

impl Logs {
    /// Returns the limit for lines about handshakes that fail with this kind of error.
    pub(super) fn of_interest(&self, error: &HandshakeError) -> &LogLimit {
        let [tls, http, mqtt, more] = &self.foreign;
        match error {
            HandshakeError::Foreign { speaks: "TLS" } => tls,
            HandshakeError::Foreign { speaks: "HTTP" } => http,
            HandshakeError::Foreign { speaks: "MQTT" } => mqtt,
            HandshakeError::Foreign { .. } => more,
            _ => &self.other,
        }
    }
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counters {
    pub(super) fn failure(&self, error: &HandshakeError) {
        count(match error {
            HandshakeError::Timeout { .. } => &self.timed_out,
            HandshakeError::Version { .. } => &self.wrong_version,
            HandshakeError::OwnId => &self.own_id,
            HandshakeError::SameId { .. } | HandshakeError::NotAdmitted { .. } => &self.turned_away,
            HandshakeError::Unauthenticated { .. } => &self.unauthenticated,
            HandshakeError::Refused { .. } => &self.closed_by_peer,
            HandshakeError::Cookie => &self.bad_cookie,
            HandshakeError::Io(_) => &self.io,
            HandshakeError::Encryption(_) => &self.unencrypted,
            _ => &self.malformed,
        });
    }

    pub(super) fn snapshot(&self) -> ListenCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ListenCounts {
            accepted: read(&self.accepted),
            evicted: read(&self.evicted),
            timed_out: read(&self.timed_out),
            wrong_version: read(&self.wrong_version),
            own_id: read(&self.own_id),
            turned_away: read(&self.turned_away),
            unauthenticated: read(&self.unauthenticated),
            closed_by_peer: read(&self.closed_by_peer),
            malformed: read(&self.malformed),
            bad_cookie: read(&self.bad_cookie),
            io: read(&self.io),
            unencrypted: read(&self.unencrypted),
            unanswered: read(&self.unanswered),
            accept_errors: read(&self.accept_errors),
        }
    }
}
