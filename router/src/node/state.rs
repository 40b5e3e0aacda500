// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is behind the node's lock: the table, the connections, what the session declared.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use zonda_codec::Locator;
use zonda_transport::{
    listen::Listening,
    multicast::{Group, Member},
    outbox::Outbox,
};

use crate::{
    flow::{key_cache::KeyCache, receiving::Sink},
    model::{LinkStatus, Lost},
    node::memory::{Holding, leaving::Leavers, pace::Pace},
    notify::listeners::Listener,
    peers::{
        away::LostAgo, dials::Dials, discovery::Discovery, ended::EndedLinks, links::Links,
        neighbours::Neighbours, slow::SlowConsumers,
    },
    query::Queries,
    table::{Action, FaceId, ForwardingTable},
};

/// One live connection.
pub(crate) struct Face {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) status: LinkStatus,
    /// This node opened it, rather than the peer.
    pub(crate) dialed: bool,
    /// Where there may be several links to it.
    pub(crate) links: Option<Links>,
    /// Of a multicast group.
    pub(crate) group: Option<Arc<Group>>,
    /// When it was connected.
    pub(crate) since: Instant,
    /// When it was last asked for a sign of life.
    pub(crate) probed: Instant,
    /// How long it may be silent.
    pub(crate) lease: Duration,
    /// It has declared, asked or sent something; set by the task that reads from it.
    pub(crate) spoken: Arc<AtomicBool>,
    /// What it holds beside its outbox.
    pub(crate) holding: Holding,
    /// Whether it takes what waits for it.
    pub(crate) pace: Pace,
}

impl Face {
    /// Whether it has declared, asked or sent anything since it was connected.
    pub(crate) fn has_spoken(&self) -> bool {
        self.spoken.load(Ordering::Relaxed)
    }

    /// Whether this link of it stands.
    pub(crate) fn has(&self, link: Option<u64>) -> bool {
        match (link, &self.links) {
            (Some(link), Some(links)) => links.alive().contains(&link),
            _ => true,
        }
    }

    /// A group rather than a neighbour.
    pub(crate) fn is_group(&self) -> bool {
        self.group.is_some()
    }

    /// The members of a group, each as a link of its own; what is counted is counted for the group.
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

    /// Both ends of each of its links.
    pub(crate) fn places(&self) -> Vec<(Locator, Locator)> {
        let several = self.links.iter().flat_map(Links::places);
        let mut places: Vec<_> = several
            .map(|(_, local, remote)| (local.clone(), remote.clone()))
            .collect();
        if places.is_empty() {
            places.push((self.status.local.clone(), self.status.remote.clone()));
        }
        places
    }
}

/// Everything behind the node's lock.
pub(crate) struct State {
    pub(crate) table: ForwardingTable,
    pub(crate) faces: HashMap<FaceId, Face>,
    /// Who is connected, or admitted and about to be (`None`).
    pub(crate) neighbours: Neighbours,
    pub(crate) sinks: HashMap<u32, Sink>,
    /// Those of the session that the table tells something.
    pub(crate) listeners: HashMap<u32, Arc<Listener>>,
    pub(crate) queries: Queries,
    /// By where they go to ([`Locality`]).
    pub(crate) undeclared: [KeyCache; 3],
    pub(crate) actions: Vec<Action>,
    /// The admin space's last answer.
    pub(crate) described: Option<Described>,
    /// A task forgets what neighbours that are gone had declared.
    pub(crate) sweeping: bool,
    pub(crate) listening: Vec<Listening>,
    pub(crate) dials: Dials,
    /// What became of the messages for those who are gone.
    pub(crate) ended: EndedLinks,
    /// What is lost because they had not taken it when the node was closed.
    pub(crate) lost_by_closing: Vec<Lost>,
    /// The routers that were lost a moment ago.
    pub(crate) lost_ago: LostAgo,
    /// The neighbours that were too slow.
    pub(crate) slow: SlowConsumers,
    /// Those that have given way as they kept too much, until it is free.
    pub(crate) leavers: Leavers,
    pub(crate) discovery: Discovery,
}

/// The admin space's answer, as it was a moment ago.
pub(crate) struct Described {
    pub(crate) text: Arc<str>,
    pub(crate) at: Instant,
    pub(crate) took: Duration,
}

impl State {
    pub(crate) fn is_id_used(&self, local: FaceId, id: u32) -> bool {
        self.sinks.contains_key(&id)
            || self.listeners.contains_key(&id)
            || self.table.uses_id(local, id)
    }
}
