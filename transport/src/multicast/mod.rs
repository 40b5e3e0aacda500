// SPDX-License-Identifier: MIT OR Apache-2.0
//! A multicast group: several nodes that hear each other without connections. There is no handshake: every node repeats a
//! JOIN that says who it is and what its next sequence numbers are, and who has not been heard for the lease that it
//! announced is gone.
//!
//! One outbox sends to all of them. The address that a datagram comes from says which of the `members` has sent it; each has
//! sequence numbers and unfinished messages of its own. Nothing that a member sends, and nothing that comes from
//! elsewhere, costs more than the datagram that it is in.

mod announce;
mod counts;
mod members;
mod places;
mod quiet;
mod receive;
mod sieve;

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
use quiet::Quiet;
pub use receive::LOOK_AFTER;
use receive::Receiving;

/// The batch size that members of a group announce, and keep.
pub const GROUP_BATCH_SIZE: u16 = 8192;

/// The role of this node in its groups, and the limits it keeps there.
#[derive(Debug, Clone)]
pub struct Presence {
    /// This node, its lease, its resolution, and the largest message. The batch size is [`GROUP_BATCH_SIZE`] at most; `qos`
    /// says whether priorities are used.
    pub local: LocalParameters,
    /// Between two JOINs.
    pub join_interval: Duration,
    /// The most other nodes that may be in the group.
    pub members_max: usize,
    /// The most of them that may have the same address (IPv6: the same /64).
    pub members_per_address: usize,
    /// Bytes of the unfinished messages of a member.
    pub unfinished_max: usize,
    /// The longest time for which a member may say nothing but signs of life amid a message.
    pub unfinished_time: Duration,
}

/// Takes what members of a group say. All calls come from one task, one at a time.
pub trait GroupHandler: Handler {
    /// Returns `true` if the messages of this member come by a link of its own as well, so that they are not taken from the group.
    fn hears_otherwise(&self, member: &ZenohId) -> bool;

    /// Notes that a member has come or gone: these are there now.
    fn members_changed(&mut self, members: &[Member]);

    /// Notes that a member has come since this was called last, which is at least [`LOOK_AFTER`] ago.
    fn members_came(&mut self);
}

/// The sockets of a group that is joined, and what this node sends by there.
#[derive(Debug)]
pub struct Joined {
    endpoint: Endpoint,
    sockets: GroupSockets,
    established: Established,
}

/// Joins the group of an endpoint; nothing is said or heard yet.
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
        // A group has no id; this one stands for it in this node's own lists.
        zid: ZenohId::random_from(u128::from_le_bytes(number)),
        whatami: WhatAmI::Peer,
        batch_size: local.batch_size.min(GROUP_BATCH_SIZE),
        sn_mask: mask,
        qos: local.qos,
        patch: PATCH,
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

    /// The link that sends to the group.
    #[must_use]
    pub fn stream(&self) -> &LinkStream {
        &self.sockets.stream
    }

    /// Returns the source of this node's datagrams.
    #[must_use]
    pub fn own(&self) -> LinkAddress {
        LinkAddress::internet(Protocol::Udp, self.sockets.own)
    }

    /// Returns their destination.
    #[must_use]
    pub fn group(&self) -> LinkAddress {
        LinkAddress::internet(Protocol::Udp, self.sockets.group)
    }
}

/// A group that this node is in.
#[derive(Debug)]
pub struct Group {
    endpoint: Endpoint,
    members: Mutex<Vec<Member>>,
    counters: Counters,
    /// Notified when a newcomer is there, to which this node is to introduce itself soon.
    news: Event,
    /// The times at which this router says nothing, as another one is in the group.
    quiet: Mutex<Quiet>,
}

impl Group {
    /// The endpoint as it was given.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the other nodes in the group.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        self.members.lock().clone()
    }

    /// Returns the counts of what was received so far and not taken.
    #[must_use]
    pub fn counts(&self) -> GroupCounts {
        self.counters.snapshot()
    }
}

/// The parts of which the tasks of a group are made.
pub struct Meeting<H> {
    /// The sockets.
    pub joined: Joined,
    /// This node's role and limits.
    pub presence: Presence,
    /// The way out to the group.
    pub outbox: Arc<Outbox>,
    /// The node's memory, of which unfinished messages are a part.
    pub share: Arc<Share>,
    /// Gets what is heard.
    pub handler: H,
}

/// Starts the tasks of a group: one that sends, one that introduces this node again and again, one that receives.
/// They end when the outbox is closed, or when nothing can be received from the group any more.
///
/// # Errors
/// The operating system's, if it has no descriptor left.
pub fn start<R: Runtime, H: GroupHandler>(
    runtime: &R,
    meeting: Meeting<H>,
) -> std::io::Result<Arc<Group>> {
    let Meeting {
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
        quiet: Mutex::new(Quiet::at_first(
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
    // A first introduction stands in front of everything that is sent.
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

/// The sockets' place in the group.
struct Place {
    /// Its own address, which what it says comes from.
    own: SocketAddr,
    receiving: Socket,
}

/// The numbers of all priorities, or of the only lane for all of them.
fn of_priority<T: Copy>(lanes: &[T], priority: Priority) -> Option<T> {
    let found = lanes.get(priority as usize);
    found.or_else(|| lanes.first()).copied()
}
