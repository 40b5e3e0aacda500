// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of the connections that came in, by outcome.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::log_limit::{LogByName, LogLimit};
use crate::protocol::handshake::HandshakeError;

/// The number of connections that ended their introduction at a listener, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListenCounts {
    /// Became links.
    pub accepted: u64,
    /// Gave way to newcomers: too many were pending, or descriptors had run out.
    pub evicted: u64,
    /// Did not complete in time.
    pub timed_out: u64,
    /// Spoke another version of the protocol.
    pub wrong_version: u64,
    /// Led back to this very node.
    pub own_id: u64,
    /// Were turned away by this node's owner, as when their id is connected already.
    pub turned_away: u64,
    /// Gave no user, an unknown one, or a wrong password.
    pub unauthenticated: u64,
    /// Were given up by the peer with a Close.
    pub closed_by_peer: u64,
    /// Sent something that is no introduction.
    pub malformed: u64,
    /// Came back with a cookie that this node did not give out.
    pub bad_cookie: u64,
    /// Broke below the protocol.
    pub io: u64,
    /// Agreed on no encryption, or did not show the certificate that they have to show.
    pub unencrypted: u64,
    /// Datagrams of addresses that have proved nothing, whose network has used up its budget of answers.
    pub unanswered: u64,
    /// Accept calls that failed, as when descriptors run out.
    pub accept_errors: u64,
}

/// The counters behind [`ListenCounts`].
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

/// The lines of the log that strangers can cause.
#[derive(Debug, Default)]
pub(super) struct Logs {
    /// Accepting fails.
    pub(super) accept: LogLimit,
    /// Introductions give way.
    pub(super) evicted: LogLimit,
    /// A user was refused.
    pub(super) unauthenticated: LogByName,
    /// A peer wants batches that are too small.
    pub(super) batch_size: LogLimit,
    /// An encrypted link did not come about.
    pub(super) unencrypted: LogLimit,
    /// A peer did not ask for a WebSocket.
    pub(super) upgrade: LogLimit,
    /// A peer speaks TLS, HTTP, MQTT, or something else that is known.
    foreign: [LogLimit; 4],
    /// An introduction failed for another reason.
    other: LogLimit,
}

impl Logs {
    /// The lines about introductions that fail as this one does, which are of interest to a reader who asks for them.
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
