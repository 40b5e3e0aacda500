// SPDX-License-Identifier: MIT OR Apache-2.0

//! Read-only snapshots of a node, from which its metrics and its admin space are made.

use zonda_codec::{Locator, ZenohId};

use crate::{
    metrics::{self, Sample},
    model::LinkStatus,
    node::{handle::Node, limits::LimitStatus, memory::Usage, shared::Shared, state::State},
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
    pub(crate) turned_away: Vec<TurnedAway>,
    pub(crate) endpoints: Vec<EndpointStatus>,
    pub(crate) listeners: Vec<ListenerStatus>,
    pub(crate) groups: Vec<GroupStatus>,
    pub(crate) limits: Vec<LimitStatus>,
    /// Samples of the filters, which have metrics of their own.
    pub(crate) filters: Vec<Sample>,
    pub(crate) usage: Usage,
    pub(crate) discovery: DiscoveryStatus,
}

/// Description of a node in brief, under its lock.
pub(crate) struct Overview<'s> {
    pub(crate) zid: ZenohId,
    /// Configured metadata, as JSON.
    pub(crate) metadata: &'s str,
    pub(crate) locators: Vec<Locator>,
    pub(crate) neighbours: Vec<&'s LinkStatus>,
    /// State of each configured endpoint.
    pub(crate) endpoints: serde_json::Value,
    /// Counts of the connections that were refused.
    pub(crate) turned_away: serde_json::Value,
}

impl Shared {
    pub(crate) fn overview<'s>(&'s self, state: &'s State) -> Overview<'s> {
        let neighbours = state.faces.values().filter(|face| !face.is_group());
        Overview {
            zid: self.zid,
            metadata: &self.settings.metadata,
            locators: state.peers.locators(),
            neighbours: neighbours.map(|face| &face.status).collect(),
            endpoints: state
                .peers
                .describe_endpoints(|face| state.faces.contains_key(&face)),
            turned_away: self.refusals.describe(),
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

    /// Returns the present counts and states. The node must not be forked.
    pub(crate) fn snapshot(&self) -> Snapshot {
        // a statement of its own: a lock within the next expression is held up to its end
        let listeners = self.shared.state.lock().peers.listeners();
        Snapshot {
            links: self.links(),
            ended_links: self.ended_links(),
            slow_consumers: self.slow_consumers(),
            turned_away: self.turned_away(),
            endpoints: self.endpoints(),
            listeners,
            groups: self.groups(),
            limits: self.limits(),
            filters: self.shared.filters.samples(),
            usage: self.usage(),
            discovery: self.discovery(),
        }
    }
}
