// SPDX-License-Identifier: MIT OR Apache-2.0

//! Multicast groups that this node is in: one face for each, to which the table sends everything,
//! and from which the members' messages come.

use std::{
    io,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use zonda_codec::{Endpoint, Locator, NetworkMessage, Push, PushRun, WhatAmI, ZenohId};
use zonda_runtime::with_runtime;
use zonda_transport::{
    driver::{Ended, Handler},
    link::EndpointProblem,
    listen::ListenError,
    log_limit::LogLimit,
    multicast::{self, Group, GroupCounts, GroupHandler, GroupTasks, Joined, Member, Presence},
    outbox::{DirectSocket, Outbox, OutboxCounts},
    protocol::{
        parameters::LocalParameters,
        patience::Isolation,
        rx::{Arrived, Context, Deliver},
    },
};

use crate::{
    flow::inbound::Inbound,
    node::{
        handle::Node,
        shared::Shared,
        state::{Face, State},
    },
    peers::{
        admit::{self, NewNeighbour, status_of},
        listen,
    },
    table::FaceId,
};

/// Multicast group that a node is in.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GroupStatus {
    /// Endpoint as configured.
    pub endpoint: Endpoint,
    /// Other members of the group.
    pub members: Vec<Member>,
    /// Counts of messages to the group, sent and unsent.
    pub sent: OutboxCounts,
    /// Counts of what members have sent, without members whose own link brings the same.
    pub received: Arrived,
    /// Counts of messages from the group that were not accepted.
    pub counts: GroupCounts,
}

impl Node {
    /// Returns the multicast groups that this node is in.
    #[must_use]
    pub fn groups(&self) -> Vec<GroupStatus> {
        if self.is_forked() {
            return Vec::new();
        }
        let state = self.shared.state.lock();
        let status = |face: &Face| {
            let group = face.group.as_ref()?;
            Some(GroupStatus {
                endpoint: group.endpoint().clone(),
                members: group.members(),
                sent: face.outbox.counters().snapshot(),
                received: face.outbox.arrived(),
                counts: group.counts(),
            })
        };
        state.faces.values().filter_map(status).collect()
    }

    /// Returns the locators of the groups that this node is in.
    pub(crate) fn group_locators(&self) -> Vec<Locator> {
        if self.is_forked() {
            return Vec::new();
        }
        let state = self.shared.state.lock();
        let groups = state.faces.values().filter(|face| face.group.is_some());
        groups.map(|face| face.status.remote.clone()).collect()
    }
}

/// Multiple of `isolation/backlog_bytes` in a lane of a group beyond which messages get lost. Sources
/// without other takers wait at one backlog.
const LOSES_BEYOND: usize = 2;

/// Most log lines per minute about the members of a group.
const TOLD_LINES: u32 = 20;

/// Most members that such a line names.
const TOLD_MAX: usize = 20;

/// Membership of the node in a group.
struct JoinedGroup {
    inbound: Inbound,
    shared: Arc<Shared>,
    face: FaceId,
    endpoint: Endpoint,
    /// Limit of the log lines about members.
    told: LogLimit,
}

impl Deliver for JoinedGroup {
    fn push(&mut self, push: &Push<'_>, raw_body: &[u8], context: &Context<'_>) {
        self.inbound.push(push, raw_body, context);
    }

    fn run<'a>(&mut self, push: &Push<'a>, run: &mut PushRun<'a>, context: &Context<'_>) {
        self.inbound.run(push, run, context);
    }

    fn message(&mut self, message: NetworkMessage<'_>, context: &Context<'_>) {
        self.inbound.message(message, context);
    }

    fn wants_pause(&self) -> bool {
        self.inbound.wants_pause()
    }
}

impl Handler for JoinedGroup {
    async fn burst_end(&mut self) {
        self.inbound.burst_end().await;
    }

    /// Joins the group again after a failure of its socket.
    fn closed(&mut self, ended: Ended) {
        let text = ended.to_string();
        self.inbound.closed(ended);
        let endpoint = &self.endpoint;
        let is_wanted = self.shared.state.lock().peers.listens_at(endpoint);
        if self.shared.is_closed() || !is_wanted {
            return;
        }
        tracing::warn!("{endpoint} is left: {text}; joining it again");
        listen::start_trying(&self.shared, endpoint.clone());
    }
}

impl GroupHandler for JoinedGroup {
    fn hears_otherwise(&self, member: &ZenohId) -> bool {
        self.shared
            .state
            .lock()
            .peers
            .neighbours
            .face(member)
            .is_some()
    }

    fn members_changed(&mut self, members: &[Member]) {
        self.shared.update(|state| {
            let ids = members.iter().map(|member| member.zid);
            state.table.set_members(self.face, ids);
        });
        if let Some(left_out) = self.told.admit(Instant::now()) {
            let ids = members.iter().take(TOLD_MAX).map(|m| m.zid.to_string());
            let (count, ids) = (members.len(), ids.collect::<Vec<_>>().join(", "));
            tracing::info!("{count} others in {}: {ids}{left_out}", self.endpoint);
        }
        self.shared.changed.notify(usize::MAX);
    }

    fn members_came(&mut self) {
        self.shared.update(|state| {
            let State { table, actions, .. } = state;
            table.announce_to_group(self.face, actions);
        });
    }
}

/// Joins the group of an endpoint; without effect once the node is closed.
pub(super) fn join_group(shared: &Arc<Shared>, endpoint: &Endpoint) -> Result<(), ListenError> {
    if shared.role == WhatAmI::Client {
        return Err(ListenError::Endpoint {
            endpoint: endpoint.clone(),
            problem: EndpointProblem::ClientInGroup,
        });
    }
    let presence = presence(shared);
    let joined = multicast::join(endpoint, &presence)?;
    let address = joined.group();
    let started = meet(shared, endpoint, joined, presence);
    started.map_err(|error| ListenError::Bind {
        endpoint: endpoint.clone(),
        address,
        failure: error.into(),
    })
}

/// Makes a face of a group that was joined, and starts its tasks.
fn meet(
    shared: &Arc<Shared>,
    endpoint: &Endpoint,
    joined: Joined,
    presence: Presence,
) -> io::Result<()> {
    let (established, own, group) = (joined.established(), joined.own(), joined.group());
    let ends = own.locator().zip(group.locator());
    let (local, remote) = ends.ok_or(io::ErrorKind::InvalidInput)?;
    // the group's face has the parts of a connection, and counts as used from the start
    let status = status_of(established, local, remote, false);
    let outbox = Arc::new(outbox_of_group(shared, &joined));
    let (spoken, holding) = (Arc::new(AtomicBool::new(true)), shared.memory.holding());
    let arrived = NewNeighbour {
        outbox: Arc::clone(&outbox),
        dialed: false,
        lease: established.remote_lease,
        spoken: Arc::clone(&spoken),
        holding: holding.clone(),
        keeps_order: true,
    };
    let face = shared.update(|state| state.add_group(status, arrived));
    // the handler treats messages like those of a neighbour
    let (node, way_out) = (Arc::clone(shared), Arc::clone(&outbox));
    let handler = JoinedGroup {
        inbound: Inbound::new(node, face, way_out, spoken, holding.routes),
        shared: Arc::clone(shared),
        face,
        endpoint: endpoint.clone(),
        told: LogLimit::several(TOLD_LINES),
    };
    // start the reading and writing tasks
    let meeting = GroupTasks {
        joined,
        presence,
        outbox,
        share: holding.share,
        handler,
    };
    let group = with_runtime!(&shared.runtime, runtime => multicast::start(runtime, meeting))?;
    note_group(shared, face, group);
    Ok(())
}

/// Makes the outbox of a group. Its members ask for nothing, its fragments leave at a limited
/// pace, and its link cannot be closed for being slow: a source with other takers does not wait
/// for it, and messages beyond [`LOSES_BEYOND`] backlogs get lost, as the network may lose them.
fn outbox_of_group(shared: &Shared, joined: &Joined) -> Outbox {
    let direct = DirectSocket::of(joined.stream());
    let limit = |priority| admit::queue_bytes_max(&shared.settings, priority);
    let outbox = Outbox::with_limits(joined.established(), &limit, direct);
    let isolation = shared.settings.isolation();
    let outbox = outbox.with_isolation(Isolation {
        min_rate: 0,
        stall: Duration::MAX,
        standstill: Duration::MAX,
        ..isolation
    });
    // sources that wait for every slow neighbour wait for a group as well
    match isolation.backlog_bytes.saturating_mul(LOSES_BEYOND) {
        0 => outbox,
        most => outbox.losing_beyond(most),
    }
}

/// Stores the group in its face. Closing the node closes the faces that it finds; a group that
/// is joined later is left here.
fn note_group(shared: &Shared, face: FaceId, group: Arc<Group>) {
    tracing::info!("in the group {} now", group.endpoint());
    let mut state = shared.state.lock();
    let face = state.faces.get_mut(&face).map(|face| {
        face.group = Some(group);
        Arc::clone(&face.outbox)
    });
    drop(state);
    if let Some(outbox) = face.filter(|_| shared.is_closed()) {
        outbox.abort();
    }
}

/// Returns the description of this node for its groups.
fn presence(shared: &Shared) -> Presence {
    let settings = &shared.settings;
    let members_max = settings.multicast_members_max;
    Presence {
        local: LocalParameters {
            qos: settings.multicast_qos,
            ..shared.parameters()
        },
        join_interval: settings.multicast_join_interval,
        members_max,
        members_per_address: settings
            .sessions_per_address
            .unwrap_or(members_max - members_max / 4),
        unfinished_max: settings.unfinished_max(),
        unfinished_time: settings.unfinished_time,
    }
}
