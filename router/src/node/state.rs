// SPDX-License-Identifier: MIT OR Apache-2.0

//! Data under the node's lock: the table, the connections, the session's declarations.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use zonda_transport::{
    multicast::{Group, Member},
    outbox::Outbox,
};

use crate::{
    filter::{BoundCaches, Filters, Refused},
    flow::local_routes::LocalRoutes,
    model::{LinkStatus, Lost},
    node::{
        memory::{Holding, leaving::EvictedConnections, pace::Pace},
        sessions::Attached,
    },
    notify::notices::Notices,
    peers::{
        links::{LinkPlace, Links},
        state::Peers,
    },
    query::Queries,
    table::{Action, FaceId, ForwardingTable},
};

/// Live connection.
pub(crate) struct Face {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) status: LinkStatus,
    /// True if this node opened it, rather than the peer.
    pub(crate) dialed: bool,
    /// Links of the connection, if there may be several.
    pub(crate) links: Option<Links>,
    /// Multicast group, if the face is one.
    pub(crate) group: Option<Arc<Group>>,
    /// Time at which it was connected.
    pub(crate) since: Instant,
    /// Time of the last probe.
    pub(crate) probed: Instant,
    /// Longest silence of the neighbour.
    pub(crate) lease: Duration,
    /// Set by the reading task once the neighbour has declared, asked or sent something.
    pub(crate) spoken: Arc<AtomicBool>,
    /// Memory that it holds in addition to its outbox.
    pub(crate) holding: Holding,
    /// Pace at which the neighbour takes its messages.
    pub(crate) pace: Pace,
    /// Filters of its messages.
    pub(crate) bound: BoundCaches,
    /// Its declarations and interests that the filters have refused.
    pub(crate) refused: Refused,
}

impl Face {
    /// Returns true if it has declared, asked or sent anything since it was connected.
    pub(crate) fn has_spoken(&self) -> bool {
        self.spoken.load(Ordering::Relaxed)
    }

    /// Returns true if this link of it stands.
    pub(crate) fn has(&self, link: Option<u64>) -> bool {
        match (link, &self.links) {
            (Some(link), Some(links)) => links.alive().contains(&link),
            _ => true,
        }
    }

    /// Returns true for a group rather than a neighbour.
    pub(crate) fn is_group(&self) -> bool {
        self.group.is_some()
    }

    /// Returns the members of a group, each as a link of its own; the counts are those of the
    /// group.
    pub(crate) fn members(&self) -> Option<Vec<LinkStatus>> {
        let link = |member: Member| {
            Some(LinkStatus {
                zid: member.zid,
                whatami: member.whatami,
                remote: member.address.locator()?,
                ..self.status.clone()
            })
        };
        let members = self.group.as_ref()?.members();
        Some(members.into_iter().filter_map(link).collect())
    }

    /// Returns the place of each of its links.
    pub(crate) fn places(&self) -> Vec<LinkPlace> {
        let several = self.links.iter().flat_map(Links::places);
        let mut places: Vec<_> = several.cloned().collect();
        if places.is_empty() {
            places.push(LinkPlace {
                local: self.status.local.clone(),
                remote: self.status.remote.clone(),
                qos_link: self.status.options.qos_link,
            });
        }
        places
    }
}

/// Data under the node's lock.
pub(crate) struct State {
    pub(crate) table: ForwardingTable,
    /// Filters of messages between neighbours and this node.
    pub(crate) filters: Arc<Filters>,
    pub(crate) faces: HashMap<FaceId, Face>,
    pub(crate) peers: Peers,
    /// Listeners of the sessions to the table's notices.
    pub(crate) notices: Notices,
    pub(crate) queries: Queries,
    pub(crate) routes: LocalRoutes,
    /// Sessions in addition to the one that opened the node.
    pub(crate) attached: Attached,
    pub(crate) actions: Vec<Action>,
    /// True while a task removes the entities of neighbours that are gone.
    pub(super) sweeping: bool,
    /// Messages lost because neighbours had not taken them when the node was closed.
    pub(super) lost_by_closing: Vec<Lost>,
    /// Evicted neighbours whose memory is not free yet.
    pub(super) leavers: EvictedConnections,
}

impl State {
    pub(crate) fn is_id_used(&self, local: FaceId, id: u32) -> bool {
        self.routes.has_sink(id)
            || self.notices.has(id)
            || self.attached.has(id)
            || self.table.uses_id(local, id)
    }
}
