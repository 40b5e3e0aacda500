// SPDX-License-Identifier: MIT OR Apache-2.0

//! Read-only snapshots of a node, from which its metrics and its admin space are made.

use zonda_transport::protocol::shared::{SharedCounts, SharedMemory};

use crate::{
    admin::root::{LinkEnds, Neighbour, Overview},
    filter::Filters,
    metrics::{
        self, Sample,
        reference::{NeighbourTraffic, Traffic, Values},
    },
    model::LinkStatus,
    node::{
        handle::Node,
        limits::LimitStatus,
        memory::Usage,
        shared::Shared,
        state::{Face, State},
    },
    peers::{
        dials::EndpointStatus, discovery::DiscoveryStatus, ended::EndedLinks, groups::GroupStatus,
        refusals::TurnedAway, state::ListenerStatus,
    },
};

/// Counts and states of a node at one time.
pub(crate) struct Snapshot {
    pub(crate) links: Vec<LinkStatus>,
    pub(crate) ended_links: EndedLinks,
    pub(crate) slow_consumers: u64,
    pub(crate) timestamps_not_recorded: u64,
    pub(crate) turned_away: Vec<TurnedAway>,
    /// Writes to the configuration through the admin space, by result.
    pub(crate) config_writes: [(&'static str, u64); 3],
    pub(crate) endpoints: Vec<EndpointStatus>,
    pub(crate) listeners: Vec<ListenerStatus>,
    pub(crate) groups: Vec<GroupStatus>,
    pub(crate) limits: Vec<LimitStatus>,
    /// Samples of the filters, which have metrics of their own.
    pub(crate) filters: Vec<Sample>,
    /// Values for the metrics with the reference's names.
    pub(crate) reference: Values,
    pub(crate) usage: Usage,
    pub(crate) shared_memory: Option<SharedCounts>,
    pub(crate) discovery: DiscoveryStatus,
}

impl Shared {
    /// Copies the description of this node, with the counts of its connections if `with_stats`.
    pub(crate) fn overview(&self, with_stats: bool) -> Overview {
        let state = self.state.lock();
        let neighbours = state.faces.values();
        let neighbours = neighbours.flat_map(|face| match face.members() {
            Some(members) => members_of(face, &members),
            None => vec![neighbour(&state, face, with_stats)],
        });
        Overview {
            zid: self.zid,
            role: self.role,
            locators: state.peers.locators(),
            neighbours: neighbours.collect(),
            endpoints: state
                .peers
                .describe_endpoints(|face| state.faces.contains_key(&face)),
            traffic: with_stats.then(|| all_traffic(&state)),
        }
    }
}

/// Returns the counts of all connections, those that have ended included.
fn all_traffic(state: &State) -> Traffic {
    let mut all = Traffic::default();
    let ended = state.peers.ended_traffic.values();
    ended.for_each(|traffic| all.add_all(traffic));
    state.faces.values().for_each(|face| all.add(&face.outbox));
    all
}

fn neighbour(state: &State, face: &Face, with_stats: bool) -> Neighbour {
    let (zid, role) = (face.status.zid, face.status.whatami);
    let places = face.places().into_iter();
    Neighbour {
        zid,
        role,
        group: None,
        links: places
            .map(|place| LinkEnds {
                local: place.local,
                remote: place.remote,
                priorities: place.qos_link.and_then(|terms| terms.priorities()),
                reliability: place.qos_link.and_then(|terms| terms.reliability()),
            })
            .collect(),
        is_shm: face.status.options.is_shm(),
        weights: state.table.link_weights(&zid),
        traffic: with_stats.then(|| {
            let mut traffic = Traffic::default();
            traffic.add(&face.outbox);
            traffic
        }),
    }
}

fn members_of(group: &Face, members: &[LinkStatus]) -> Vec<Neighbour> {
    let member = |member: &LinkStatus| Neighbour {
        zid: member.zid,
        role: member.whatami,
        group: Some(group.status.remote.clone()),
        links: vec![LinkEnds {
            local: member.local.clone(),
            remote: member.remote.clone(),
            priorities: None,
            reliability: None,
        }],
        is_shm: false,
        weights: None,
        traffic: None,
    };
    members.iter().map(member).collect()
}

impl Shared {
    /// Copies the values of the metrics with the reference's names.
    fn reference_values(&self, filters: &Filters) -> Values {
        let state = self.state.lock();
        let mut traffic = state.peers.ended_traffic.clone();
        let mut neighbours = Vec::new();
        for face in state.faces.values() {
            let protocol = face.status.remote.proto();
            let mut own = Traffic::default();
            own.add(&face.outbox);
            let all = traffic.entry(protocol.to_owned()).or_default();
            all.add(&face.outbox);
            if face.group.is_none() {
                neighbours.push(NeighbourTraffic {
                    zid: face.status.zid,
                    role: face.status.whatami,
                    protocol: protocol.to_owned(),
                    links: face.places().len() as u64,
                    traffic: own,
                });
            }
        }
        let declared = state.table.declared();
        drop(state);
        neighbours.sort_by_key(|neighbour| neighbour.zid);
        Values {
            zid: self.zid,
            role: self.role,
            traffic,
            neighbours,
            declared,
            dropped: filters.dropped(),
        }
    }
}

impl Node {
    /// Returns the current value of every metric of this node. [`text`](crate::metrics::text())
    /// formats them.
    ///
    /// # Blocking
    /// Takes the node's lock several times.
    #[must_use]
    pub fn metrics(&self) -> Vec<Sample> {
        match self.is_forked() {
            true => Vec::new(),
            false => metrics::node::all(&self.snapshot()),
        }
    }

    /// Returns the counts of messages that filters have dropped or denied, which are a part of
    /// [`metrics`](Self::metrics).
    ///
    /// # Blocking
    /// Takes the node's lock once.
    #[must_use]
    pub fn filter_metrics(&self) -> Vec<Sample> {
        if self.is_forked() {
            return Vec::new();
        }
        let filters = self.shared.state.lock().filters.clone();
        filters.samples()
    }

    /// Returns the present counts and states. The node must not be forked.
    pub(crate) fn snapshot(&self) -> Snapshot {
        // a statement of its own: a lock within the next expression is held up to its end
        let listeners = self.shared.state.lock().peers.listeners();
        let filters = self.shared.state.lock().filters.clone();
        Snapshot {
            shared_memory: self.shared_memory().map(SharedMemory::counts),
            links: self.links(),
            ended_links: self.ended_links(),
            slow_consumers: self.slow_consumers(),
            timestamps_not_recorded: self.timestamps_not_recorded(),
            turned_away: self.turned_away(),
            config_writes: self.shared.config_writes.counts(),
            endpoints: self.endpoints(),
            listeners,
            groups: self.groups(),
            limits: self.limits(),
            filters: filters.samples(),
            reference: self.shared.reference_values(&filters),
            usage: self.usage(),
            discovery: self.discovery(),
        }
    }
}
