// SPDX-License-Identifier: MIT OR Apache-2.0

//! Neighbours under the node's lock: their places, listeners, attempts to connect, and counts of
//! links that have ended.

use std::time::Instant;

use zonda_codec::{Endpoint, Locator, ZenohId};
use zonda_transport::{
    link::LinkSettings,
    listen::{ListenCounts, Listening},
};

use crate::{
    config::Settings,
    metrics::reference::ByProtocol,
    peers::{
        away::RecentlyLost,
        dials::{Dials, EndpointStatus, Unreached},
        discovery::{Discovery, DiscoveryStatus},
        ended::EndedLinks,
        neighbours::Neighbours,
        slow::SlowConsumers,
        wanted::Wanted,
    },
    scouting::Service,
    table::{FaceId, scouting::CandidateCounts},
};

/// Part of the node's state for its neighbours. Other rooms read it through methods.
pub(crate) struct Peers {
    /// Nodes that are connected, or admitted and about to be (`None`).
    pub(super) neighbours: Neighbours,
    pub(super) listening: Vec<Listening>,
    pub(super) wanted: Wanted,
    pub(super) dials: Dials,
    /// Counts of the messages for neighbours that are gone.
    pub(super) ended: EndedLinks,
    /// Traffic of the connections that have ended.
    pub(crate) ended_traffic: ByProtocol,
    /// Routers that were lost a moment ago.
    pub(super) lost_ago: RecentlyLost,
    /// Neighbours that were too slow.
    pub(super) slow: SlowConsumers,
    pub(super) discovery: Discovery,
}

/// Counts of a node's connections, for its limits.
pub(crate) struct ConnectionCounts {
    pub(crate) neighbours: usize,
    /// Neighbours of the address that has most.
    pub(crate) of_one_address: usize,
    /// Handshakes of the listeners that have not ended.
    pub(crate) pending: usize,
    pub(crate) pending_max: usize,
    /// Handshakes that made room for newer ones.
    pub(crate) evicted: u64,
}

/// State of a listener.
pub(crate) struct ListenerStatus {
    pub(crate) endpoint: Endpoint,
    pub(crate) counts: ListenCounts,
    /// Handshakes that have not ended.
    pub(crate) pending: usize,
}

impl Peers {
    pub(crate) fn new(zid: ZenohId, settings: &Settings) -> Self {
        Peers {
            neighbours: Neighbours::default(),
            listening: Vec::new(),
            wanted: Wanted::new(settings),
            dials: Dials::new(settings.connect_endpoints().cloned().collect()),
            ended: EndedLinks::default(),
            ended_traffic: ByProtocol::default(),
            lost_ago: RecentlyLost::default(),
            slow: SlowConsumers::default(),
            discovery: Discovery::new(zid, settings),
        }
    }

    /// Removes and returns the listeners, and the thread that scouts.
    pub(crate) fn take_doors(&mut self) -> (Vec<Listening>, Option<Service>) {
        let listening = std::mem::take(&mut self.listening);
        (listening, self.discovery.service.take())
    }

    /// Returns the options of later links and listeners.
    pub(super) fn links(&self) -> LinkSettings {
        self.wanted.links()
    }

    /// Returns true if the configuration wants this node to listen there.
    pub(super) fn listens_at(&self, endpoint: &Endpoint) -> bool {
        self.wanted.listens_at(endpoint)
    }

    /// Returns the addresses at which peers can connect to this node.
    pub(crate) fn locators(&self) -> Vec<Locator> {
        let listening = self.listening.iter();
        listening.flat_map(Listening::locators).collect()
    }

    /// Returns the state of each listener.
    pub(crate) fn listeners(&self) -> Vec<ListenerStatus> {
        let status = |listener: &Listening| ListenerStatus {
            endpoint: listener.endpoint().clone(),
            counts: listener.counts(),
            pending: listener.pending(),
        };
        self.listening.iter().map(status).collect()
    }

    pub(crate) fn connection_counts(&self) -> ConnectionCounts {
        let listening = self.listening.iter();
        ConnectionCounts {
            neighbours: self.neighbours.len(),
            of_one_address: self.neighbours.largest(),
            pending: listening.clone().map(Listening::pending).sum(),
            pending_max: listening.clone().map(Listening::pending_max).sum(),
            evicted: listening.map(|listener| listener.counts().evicted).sum(),
        }
    }

    /// Returns the counts of messages on the links that have ended.
    pub(crate) fn ended_links(&self) -> EndedLinks {
        self.ended
    }

    /// Returns the number of neighbours that this node gave up for being too slow.
    pub(crate) fn slow_consumers(&self) -> u64 {
        self.slow.total()
    }

    /// Returns true if an endpoint to connect to was ever reached.
    pub(crate) fn has_reached_any(&self) -> bool {
        self.dials.any_reached()
    }

    /// Returns the endpoints to connect to that were never reached. `has_link` returns true if a
    /// link to that listener exists.
    pub(crate) fn unreached(&self, has_link: impl Fn(&Locator) -> bool) -> Vec<Unreached> {
        self.dials.unreached(has_link)
    }

    /// Returns the state of the endpoints to connect to. `stands` returns true for a face with a
    /// connection.
    pub(crate) fn endpoints(&self, stands: impl Fn(FaceId) -> bool) -> Vec<EndpointStatus> {
        self.dials.status(Instant::now(), stands)
    }

    /// Returns the state of the endpoints to connect to, for the admin space.
    pub(crate) fn describe_endpoints(&self, stands: impl Fn(FaceId) -> bool) -> serde_json::Value {
        self.dials.describe(stands)
    }

    /// Returns the counts of discovery.
    pub(crate) fn discovery_status(&self) -> DiscoveryStatus {
        self.discovery.status()
    }

    /// Returns the number of remembered nodes that discovery has found, and its counts.
    pub(crate) fn candidates(&self) -> (usize, CandidateCounts) {
        let candidates = &self.discovery.candidates;
        (candidates.len(), candidates.counts())
    }
}
