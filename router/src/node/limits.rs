// SPDX-License-Identifier: MIT OR Apache-2.0

//! Limits of a node: their values, their present use, and how often each was reached. The node logs
//! each limit when it is reached, once a minute at most.

pub(crate) mod rows;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use zonda_codec::WhatAmI;
use zonda_transport::link::Protocol;
use zonda_transport::listen::ListenOptions;
use zonda_transport::log_limit::LogLimit;

use crate::{config::Settings, descriptors};

/// Limit of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitStatus {
    /// Configuration key that sets it, or its name where the system sets it.
    pub key: &'static str,
    /// Things that it counts, and the part of the node that has them: `neighbours of the node`.
    pub counts: &'static str,
    /// Value in force, which may be smaller than the configured one.
    pub value: u64,
    /// Amount in use now; for a limit per neighbour or address, the largest amount of any one.
    /// `None` where that is not counted.
    pub used: Option<u64>,
    /// Number of times that it was reached since the node was opened; `None` where that is not
    /// counted.
    pub reached: Option<u64>,
}

impl LimitStatus {
    /// Returns the limit as a JSON object, as the admin space has it: its members have the names of
    /// the fields.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "key": self.key,
            "counts": self.counts,
            "value": self.value,
            "used": self.used,
            "reached": self.reached,
        })
    }
}

/// Limits that are counted and logged when they are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The node has as many neighbours as it may have.
    Sessions,
    /// One address has as many neighbours as it may have.
    SessionsPerAddress,
    /// A silent neighbour was evicted in favour of another one.
    Dismissed,
    /// A connection was evicted in favour of a newer one with the same id.
    SameId,
    /// Neighbours named more nodes than this node remembers.
    FoundNodes,
    /// Attempts to connect to nodes that neighbours named are put off.
    FoundFailures,
    /// A router is not trusted.
    Untrusted,
    /// A node has more queries to the admin space open than are kept for it.
    AdminQueries,
}

const KINDS: usize = 8;

/// Limit that was reached, and the neighbour or address that reached it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) limit: Limit,
    pub(crate) who: String,
}

/// Limits of connections, resolved when the node is opened.
#[derive(Debug)]
pub(crate) struct ConnectionLimits {
    pub(crate) sessions_max: usize,
    pub(crate) sessions_per_address: usize,
    /// Handshakes under way at each listener.
    pub(crate) pending_max: usize,
    pub(crate) descriptors: Option<u64>,
    reached: [AtomicU64; KINDS],
    logs: [LogLimit; KINDS],
}

impl ConnectionLimits {
    /// Takes the configured limits, as far as there are descriptors for them.
    pub(crate) fn new(settings: &Settings, descriptors: Option<u64>) -> Self {
        // handshakes get at most a quarter of the descriptors
        let room = descriptors.map_or(usize::MAX, |room| room.try_into().unwrap_or(usize::MAX));
        let wanted = settings.accept_pending;
        let pending = wanted.unwrap_or(ListenOptions::default().pending_max);
        let pending = pending.min(room / 4).max(1);
        let left = room
            .saturating_sub(descriptors::SPARE)
            .saturating_sub(pending);
        // neighbours get the rest, less a reserve
        let sessions_max = match room {
            usize::MAX => settings.max_sessions,
            _ => (settings.max_sessions)
                .min(left / per_session(settings))
                .max(1),
        };
        // each listener has its share of the handshakes, each address three quarters of the
        // neighbours
        let listeners = settings.listen_endpoints.len().max(1);
        let limits = ConnectionLimits {
            sessions_max,
            sessions_per_address: settings
                .sessions_per_address
                .unwrap_or(sessions_max - sessions_max / 4)
                .min(sessions_max),
            pending_max: (pending / listeners).max(1),
            descriptors,
            reached: Default::default(),
            logs: Default::default(),
        };
        limits.tell_lowered(settings);
        limits
    }

    fn tell_lowered(&self, settings: &Settings) {
        let (wanted, sessions) = (settings.max_sessions, self.sessions_max);
        if sessions < wanted && settings.mode == WhatAmI::Router {
            let room = self.descriptors.unwrap_or_default();
            tracing::warn!(
                "only {room} files may be open (`ulimit -n`): at most {sessions} neighbours instead of {wanted} \
                 (transport/unicast/max_sessions)"
            );
        }
    }

    pub(crate) fn counted(&self, limit: Limit) -> u64 {
        self.reached[limit as usize].load(Ordering::Relaxed)
    }

    /// Counts that a limit was reached, and logs it if that was not logged within the last minute.
    /// The caller must not hold the state's lock.
    pub(crate) fn note(&self, reached: &Reached) {
        let Reached { limit, who } = reached;
        self.reached[*limit as usize].fetch_add(1, Ordering::Relaxed);
        let Some(left_out) = self.logs[*limit as usize].admit(Instant::now()) else {
            return;
        };
        // one text for each limit, with its configuration keys
        match limit {
            Limit::Sessions => tracing::warn!(
                "{who} was turned away: {} neighbours are connected, as many as there may be \
                 (transport/unicast/max_sessions){left_out}",
                self.sessions_max
            ),
            Limit::SessionsPerAddress => tracing::warn!(
                "{who} was turned away: {} neighbours came from there, as many as may come from one address \
                 (limits/sessions_per_address){left_out}",
                self.sessions_per_address
            ),
            Limit::Dismissed => tracing::warn!(
                "{who}, which had sent nothing, was evicted for a newer one: the limit of connections is reached{left_out}"
            ),
            Limit::FoundNodes => tracing::warn!(
                "more nodes are named by scouting and gossip than are remembered, the last ones by {who} \
                 (limits/found_nodes, limits/found_nodes_per_neighbour){left_out}"
            ),
            Limit::FoundFailures => tracing::warn!(
                "too many attempts to connect to nodes fail that scouting and gossip have named: others are put off \
                 (limits/found_failures_per_address, limits/found_failures_per_neighbour){left_out}"
            ),
            Limit::Untrusted => tracing::warn!(
                "router {who} was refused: it is not in routing/router/trusted{left_out}"
            ),
            Limit::AdminQueries => tracing::warn!(
                "queries of {who} to the admin space were refused: too many of its own still wait for an answer{left_out}"
            ),
            Limit::SameId => tracing::warn!(
                "{who} was silent and was evicted for a newer connection of a node with the same id{left_out}"
            ),
        }
    }
}

/// Returns the descriptors of one connection, of the protocol among the listeners that takes the
/// most.
fn per_session(settings: &Settings) -> usize {
    let endpoints = settings.listen_endpoints.iter();
    let kinds = endpoints.filter_map(|endpoint| Protocol::of(endpoint).ok());
    kinds.map(Protocol::descriptors).max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn descriptors_bound_what_is_configured() {
        let config = Config::router();
        let limits = ConnectionLimits::new(&config.settings(), None);
        assert_eq!((limits.sessions_max, limits.pending_max), (1000, 1024));
        assert_eq!(limits.sessions_per_address, 750);
        let limits = ConnectionLimits::new(&config.settings(), Some(1024));
        assert_eq!((limits.sessions_max, limits.pending_max), (640, 256));
        assert_eq!(limits.sessions_per_address, 480);
        assert!(limits.sessions_max + limits.pending_max + descriptors::SPARE <= 1024);
        let several = Config::router().listen(["tcp/127.0.0.1:0", "quic/127.0.0.1:0"]);
        let limits = ConnectionLimits::new(&several.settings(), Some(1024));
        let quic = "quic/127.0.0.1:0".parse().unwrap();
        let has_quic = Protocol::Quic.check(&quic).is_ok();
        assert_eq!(limits.sessions_max, if has_quic { 320 } else { 640 });
        let limits = ConnectionLimits::new(&config.settings(), Some(10));
        assert_eq!((limits.sessions_max, limits.pending_max), (1, 2));
    }

    #[test]
    fn small_numbers_of_places_are_for_one_address() {
        for (max, each) in [(1, 1), (2, 2), (3, 3), (4, 3), (100, 75)] {
            let config = Config::router().with("transport/unicast/max_sessions", &max.to_string());
            assert_eq!(
                ConnectionLimits::new(&config.settings(), None).sessions_per_address,
                each
            );
        }
        let config = Config::router().with("limits/sessions_per_address", "5000");
        assert_eq!(
            ConnectionLimits::new(&config.settings(), None).sessions_per_address,
            1000
        );
    }
}
