// SPDX-License-Identifier: MIT OR Apache-2.0
//! Multicast group: several nodes that receive each other's datagrams without connections. There is
//! no handshake: every node repeats a JOIN with its id and its next sequence numbers, and a node
//! expires when no datagram has come from it for the lease that it announced.
//!
//! One outbox sends to all members. The source address of a datagram identifies its sender among
//! the `members`; each has sequence numbers and unfinished messages of its own. No datagram, of a
//! member or of another node, costs more than itself.

mod admission;
mod announce;
mod counts;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzed;
mod members;
mod other_routers;
mod receive;
mod whole_key_filter;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use event_listener::Event;
use zonda_codec::{Endpoint, Priority, WhatAmI, ZenohId};
use zonda_runtime::{Runtime, Socket};

use crate::driver::{Handler, start_writing};
use crate::ledger::Share;
use crate::link::{GroupSockets, LinkAddress, LinkFailure, LinkStream, Protocol, join_group};
use crate::listen::ListenError;
use crate::outbox::Outbox;
use crate::protocol::options::LinkOptions;
use crate::protocol::parameters::{Established, LEASE_MAX, LocalParameters, PATCH};
use crate::protocol::timers::Timers;
use crate::sync::Mutex;

pub use counts::GroupCounts;
pub use members::Member;

use announce::Announcer;
use counts::Counters;
use members::Members;
use other_routers::OtherRouters;
pub use receive::LOOK_AFTER;
use receive::Receiving;

/// Batch size that members of a group announce, and keep.
pub const GROUP_BATCH_SIZE: u16 = 8192;

/// Role of this node in its groups, and its limits there.
#[derive(Debug, Clone)]
pub struct Presence {
    /// Parameters of this node: its lease, its resolution, and the largest message. The batch size
    /// is [`GROUP_BATCH_SIZE`] at most; `qos` is set if priorities are used.
    pub local: LocalParameters,
    /// Time between two JOINs.
    pub join_interval: Duration,
    /// Maximum number of other nodes in the group.
    pub members_max: usize,
    /// Maximum number of nodes with the same address (IPv6: the same /64).
    pub members_per_address: usize,
    /// Maximum bytes of a member's unfinished messages.
    pub unfinished_max: usize,
    /// Longest time for which a member may send only signs of life in the middle of a message.
    pub unfinished_time: Duration,
}

/// Receiver of a group's messages. One task makes all calls, one at a time.
pub trait GroupHandler: Handler {
    /// Returns true if the messages of this member arrive by its own link as well, so that those
    /// from the group are discarded.
    fn hears_otherwise(&self, member: &ZenohId) -> bool;

    /// Notes the current members after one has come or gone.
    fn members_changed(&mut self, members: &[Member]);

    /// Notes that a member has come since the last call, which was at least [`LOOK_AFTER`] ago.
    fn members_came(&mut self);
}

/// Sockets of a joined group, and the parameters for sending to it.
#[derive(Debug)]
pub struct Joined {
    endpoint: Endpoint,
    sockets: GroupSockets,
    established: Established,
}

/// Joins the group of an endpoint; no datagram is sent or received yet.
///
/// # Errors
/// The endpoint is unusable, or the system refuses it.
pub fn join(endpoint: &Endpoint, presence: &Presence) -> Result<Joined, ListenError> {
    let failed = |failure: LinkFailure| ListenError::of(failure, endpoint);
    let sockets = join_group(endpoint).map_err(failed)?;
    let no_random = |_| ListenError::Random {
        endpoint: endpoint.clone(),
    };
    let local = &presence.local;
    let mask = local.resolution.frame_sn_mask();
    let (mut number, mut first) = ([0; 16], [0; 4]);
    getrandom::fill(&mut number).map_err(no_random)?;
    getrandom::fill(&mut first).map_err(no_random)?;
    let established = Established {
        // A group has no id; this one represents it in this node's own lists.
        zid: ZenohId::random_from(u128::from_le_bytes(number)),
        whatami: WhatAmI::Peer,
        batch_size: local.batch_size.min(GROUP_BATCH_SIZE),
        sn_mask: mask,
        qos: local.qos,
        patch: PATCH,
        lease: local.lease,
        remote_lease: LEASE_MAX,
        initial_sn_tx: u32::from_le_bytes(first) & mask,
        initial_sn_rx: 0,
        options: LinkOptions::default(),
    };
    Ok(Joined {
        endpoint: endpoint.clone(),
        sockets,
        established,
    })
}

impl Joined {
    /// Returns the parameters for an outbox of the group.
    #[must_use]
    pub fn established(&self) -> &Established {
        &self.established
    }

    /// Returns the link that sends to the group.
    #[must_use]
    pub fn stream(&self) -> &LinkStream {
        &self.sockets.stream
    }

    /// Returns the source of this node's datagrams.
    #[must_use]
    pub fn own(&self) -> LinkAddress {
        LinkAddress::internet(Protocol::Udp, self.sockets.own)
    }

    /// Returns the destination of this node's datagrams.
    #[must_use]
    pub fn group(&self) -> LinkAddress {
        LinkAddress::internet(Protocol::Udp, self.sockets.group)
    }
}

/// Group that this node is in.
#[derive(Debug)]
pub struct Group {
    endpoint: Endpoint,
    members: Mutex<Vec<Member>>,
    counters: Counters,
    /// Event of a newcomer, for which this node has to send a JOIN soon.
    news: Event,
    /// Times at which this router sends no JOIN, as another router is in the group.
    quiet: Mutex<OtherRouters>,
}

impl Group {
    /// Returns the endpoint as it was given.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the other nodes in the group.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        self.members.lock().clone()
    }

    /// Returns the counts of what was received so far and discarded.
    #[must_use]
    pub fn counts(&self) -> GroupCounts {
        self.counters.snapshot()
    }
}

/// Parts of the tasks of a group.
pub struct GroupTasks<H> {
    /// Sockets of the group.
    pub joined: Joined,
    /// Role and limits of this node.
    pub presence: Presence,
    /// Outbox that sends to the group.
    pub outbox: Arc<Outbox>,
    /// Share of the node's memory for unfinished messages.
    pub share: Arc<Share>,
    /// Receiver of the group's messages.
    pub handler: H,
}

/// Starts the tasks of a group: one that sends, one that repeats the JOIN, one that receives. They
/// end when the outbox is closed, or when the receiving socket fails for good.
///
/// # Errors
/// The operating system's, if it has no descriptor left.
pub fn start<R: Runtime, H: GroupHandler>(
    runtime: &R,
    meeting: GroupTasks<H>,
) -> std::io::Result<Arc<Group>> {
    let GroupTasks {
        joined,
        presence,
        outbox,
        share,
        handler,
    } = meeting;
    let Joined {
        endpoint,
        sockets,
        established,
    } = joined;
    let GroupSockets {
        stream,
        receiving,
        own,
        ..
    } = sockets;
    let group = Arc::new(Group {
        endpoint,
        members: Mutex::new(Vec::new()),
        counters: Counters::default(),
        news: Event::new(),
        quiet: Mutex::new(OtherRouters::at_first(
            presence.local.zid,
            presence.local.whatami == WhatAmI::Router,
            presence.join_interval,
            crate::clock::now(),
        )),
    });
    let announcer = Announcer {
        runtime: runtime.clone(),
        socket: stream.socket().try_clone()?,
        group: Arc::clone(&group),
        outbox: Arc::clone(&outbox),
        presence: presence.clone(),
        batch_size: established.batch_size,
    };
    // The first JOIN precedes everything else that is sent.
    announcer.introduce();
    let divisor = 1;
    let lease = presence.local.lease;
    let timers = Timers::new(crate::clock::now(), lease, divisor, LEASE_MAX);
    let place = Place { own, receiving };
    let members = Members::new(&presence, share, Arc::clone(&group));
    let tasks = runtime.clone();
    runtime.spawn("zonda-join", move || announcer.run());
    runtime.spawn("zonda-group", move || async move {
        let writing = start_writing(&tasks, stream, Arc::clone(&outbox), timers);
        let receiving = Receiving {
            runtime: tasks,
            outbox,
            members,
            handler,
            came: 0,
        };
        receiving.run(place, writing).await;
    });
    Ok(group)
}

/// Addresses and socket of this node in the group.
struct Place {
    /// Own address, the source of this node's datagrams.
    own: SocketAddr,
    receiving: Socket,
}

/// Returns the item of a priority, or the only one where one lane serves all.
fn of_priority<T: Copy>(lanes: &[T], priority: Priority) -> Option<T> {
    let found = lanes.get(priority as usize);
    found.or_else(|| lanes.first()).copied()
}
