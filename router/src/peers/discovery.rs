// SPDX-License-Identifier: MIT OR Apache-2.0

//! Knowledge of a node about nodes that it could connect to, and counts of its attempts to find
//! them.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use zonda_codec::{Locator, WhatAmI, ZenohId};

use crate::{
    config::{GossipConfig, Settings},
    scouting::{ScoutReport, Service},
    table::{
        Gossip, GossipCounts, GossipOptions,
        scouting::{Autoconnect, CandidateCounts, Candidates, Found, ScoutCounts, socket_address},
    },
};
/// Counts and failures of a node's discovery.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DiscoveryStatus {
    /// Scouting by multicast, interface by interface; `None` where there is none.
    pub scouting: Option<ScoutReport>,
    /// Counts of the nodes that scouted for this node.
    pub scouts: ScoutCounts,
    /// Counts of the nodes that this node has found.
    pub candidates: CandidateCounts,
    /// Counts of gossip.
    pub gossip: GossipCounts,
    /// Failure of the last attempt to connect to a node that was found.
    pub last_failure: Option<String>,
}

/// Part of the node's state for discovery.
pub(crate) struct Discovery {
    pub(crate) gossip: Option<Gossip>,
    pub(crate) candidates: Candidates,
    pub(crate) service: Option<Service>,
    pub(crate) scouts: ScoutCounts,
    pub(crate) last_failure: Option<String>,
    /// Nodes that gossip makes this node connect to.
    pub(crate) policy: Autoconnect,
    /// Protocols that links may use; `None` for all.
    protocols: Option<Vec<String>>,
    /// True if host names in found locators are resolved; they are removed otherwise.
    takes_names: bool,
}

impl Discovery {
    pub(crate) fn new(zid: ZenohId, settings: &Settings) -> Self {
        let role = settings.mode;
        let GossipConfig {
            enabled,
            multihop,
            target,
            autoconnect,
        } = settings.gossip();
        let options = GossipOptions {
            target,
            multihop,
            ..GossipOptions::default()
        };
        // a client attempts one connection at a time and sends no gossip
        let is_client = role == WhatAmI::Client;
        let mut limits = settings.candidate_limits();
        if is_client {
            limits.attempts_max = 1;
        }
        // numbers of link states begin above those of an earlier run with the same id
        let begun = SystemTime::now().duration_since(UNIX_EPOCH);
        let first_sn = begun.map_or(1, |since| since.as_secs());
        Discovery {
            gossip: (enabled && !is_client).then(|| Gossip::new(zid, role, first_sn, options)),
            candidates: Candidates::new(zid, limits),
            service: None,
            scouts: ScoutCounts::default(),
            last_failure: None,
            policy: autoconnect,
            protocols: settings.protocols.clone(),
            takes_names: settings.takes_found_names,
        }
    }

    /// Adds a node that was found; returns true if this node may connect to it at once.
    pub(crate) fn hear(&mut self, mut found: Found, now: Instant) -> bool {
        if let Some(allowed) = &self.protocols {
            let is_allowed = |locator: &Locator| allowed.iter().any(|p| p == locator.proto());
            found.locators.retain(is_allowed);
        }
        if !self.takes_names {
            found
                .locators
                .retain(|locator| socket_address(locator).is_some());
        }
        self.candidates.hear(found, now)
    }

    /// Returns the counts so far.
    pub(crate) fn status(&self) -> DiscoveryStatus {
        DiscoveryStatus {
            scouting: self.service.as_ref().map(Service::report),
            scouts: self.scouts,
            candidates: self.candidates.counts(),
            gossip: self.gossip.as_ref().map(Gossip::counts).unwrap_or_default(),
            last_failure: self.last_failure.clone(),
        }
    }
}
