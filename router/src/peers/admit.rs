// SPDX-License-Identifier: MIT OR Apache-2.0

//! Conversion of connections into faces, and the work at their end.

use std::{
    sync::{Arc, Weak, atomic::AtomicBool},
    time::{Duration, Instant},
};

use zonda_codec::{Endpoint, Locator, Priority, WhatAmI, ZenohId, transport::reason};
use zonda_runtime::with_runtime;
use zonda_transport::{
    driver::{self, Bundle, Drive, Ended, JoiningLink},
    link::{Link, LinkAddress},
    listen::Admission,
    outbox::{CLOSE_GRACE, DirectSocket, Outbox},
    protocol::{
        handshake::HandshakeError, parameters::Established, patience::Isolation, rx::Receiver,
        timers::Timers,
    },
};

use crate::{
    config::Settings,
    filter::{Refused, forget_bound, gate_of},
    flow::inbound::Inbound,
    model::LinkStatus,
    node::{
        memory::{Holding, pace::Pace},
        shared::Shared,
        state::{Face, State},
    },
    peers::{
        admission::{self, ConnectingPeer},
        crossing,
        join::{self, Joined, ReservedLink},
        links::{LinkHandle, LinkPlace, Links, MultilinkConnection},
        notes,
        reasons::Loss,
        rejoin, trust,
    },
    table::{FaceId, FaceInfo, FaceKind},
};

/// Most bytes that wait for a peer in each priority before congestion control sets in.
pub(crate) const QUEUE_BYTES_MAX: usize = 512 * 1024;

/// Admission of the connections that peers open.
pub(crate) struct PeerAdmission {
    pub(crate) shared: Arc<Shared>,
    /// Endpoint at which they come.
    pub(crate) listener: Endpoint,
}

impl Admission for PeerAdmission {
    fn before_admit(
        &self,
        established: &Established,
        _remote: &LinkAddress,
    ) -> impl Future<Output = ()> + Send {
        let (shared, established) = (Arc::clone(&self.shared), established.clone());
        let is_single = established.options.multilink().is_none();
        async move {
            if is_single {
                crossing::wait_for_own_attempt(&shared, established.zid).await;
            }
            admission::probe_older(&shared, &established).await;
            rejoin::wait_for_return(&shared, &established).await;
        }
    }

    fn admit(&self, established: &Established, remote: &LinkAddress) -> Result<(), u8> {
        let is_single = established.options.multilink().is_none();
        let shared = &self.shared;
        trust::check(
            &shared.settings,
            &shared.limits,
            established,
            &self.listener,
        )?;
        if is_single && crossing::prefers_own_link(&self.shared, &established.zid) {
            return Err(reason::MAX_LINKS);
        }
        let group = Some(remote.group());
        admission::reserve(&self.shared, ConnectingPeer { established, group })
    }

    fn accepted(&self, link: Link, _listener: &Endpoint) {
        settle(&self.shared, link, false);
    }

    fn withdrawn(&self, established: &Established) {
        release(&self.shared, established.zid);
    }

    fn failed_at(&self, listener: &Endpoint, remote: Option<&LinkAddress>, error: HandshakeError) {
        notes::note_refused(&self.shared, listener, remote, &error);
    }
}

fn release(shared: &Shared, zid: ZenohId) {
    let mut state = shared.state.lock();
    if state.peers.neighbours.get(&zid) == Some(None) {
        state.peers.neighbours.remove(&zid);
    } else {
        state.release_link(zid);
    }
}

/// Adds an open link whose place was reserved to its connection, or makes a connection of it.
pub(crate) fn settle(shared: &Arc<Shared>, link: Link, dialed: bool) -> Option<LinkHandle> {
    match join::join(shared, link) {
        Joined::Standing(standing) => standing,
        Joined::First(link) => adopt(shared, *link, dialed),
    }
}

/// Makes a face of an open link whose place was reserved, and starts its tasks.
fn adopt(shared: &Arc<Shared>, link: Link, dialed: bool) -> Option<LinkHandle> {
    let Link {
        stream,
        established,
        local,
        remote,
        unread,
    } = link;
    let zid = established.zid;
    let Some((local, remote)) = local.locator().zip(remote.locator()) else {
        release(shared, zid);
        return None;
    };
    // the parts of the connection: outbox, receiver, timers
    let status = status_of(&established, local, remote, dialed);
    let lag_max = stream.lag_max(&established);
    // the node closes the link by it while the reader waits for a silent peer
    let direct = DirectSocket::of(&stream);
    shared.lines.log_coming(&status);
    let outbox = Arc::new(new_outbox(shared, &established, &status, direct.clone()));
    let holding = shared.memory.holding();
    let drive = Drive {
        stream,
        unread,
        receiver: new_receiver(shared, &established, &holding),
        timers: new_timers(shared, &established),
        outbox: Arc::clone(&outbox),
    };
    // the table and the subscribers of events get the face before its first message
    let (told, spoken) = (status.clone(), Arc::new(AtomicBool::new(false)));
    let arrived = NewNeighbour {
        outbox: Arc::clone(&outbox),
        dialed,
        lease: established.remote_lease,
        spoken: Arc::clone(&spoken),
        holding: holding.clone(),
        keeps_order: lag_max.is_none(),
    };
    let face = shared.update(|state| state.add_face(status, arrived));
    shared.events.tell_connected(face, &told);
    let (node, way_out, routes) = (Arc::clone(shared), Arc::clone(&outbox), holding.routes);
    let is_mesh = told.whatami == WhatAmI::Router && shared.role == WhatAmI::Router;
    let inbound = Inbound::new(node, face, way_out, spoken, routes);
    let inbound = inbound.of_router(is_mesh).lagging(lag_max);
    // start the reading and writing tasks
    let standing = match established.options.multilink() {
        None => {
            with_runtime!(&shared.runtime, runtime => driver::spawn(runtime, drive, inbound));
            Some(LinkHandle { face, link: None })
        }
        Some(_) => begin_bundle(
            shared,
            face,
            inbound,
            FirstLink {
                drive,
                direct,
                established,
            },
        ),
    };
    // closing the node closes the faces that it finds; a later one is closed here
    if shared.is_closed() {
        outbox.close(reason::GENERIC, zonda_runtime::after(CLOSE_GRACE));
    }
    shared.changed.notify(usize::MAX);
    standing
}

/// Starts the first of perhaps several links.
fn begin_bundle(
    shared: &Arc<Shared>,
    face: FaceId,
    inbound: Inbound,
    begun: FirstLink,
) -> Option<LinkHandle> {
    let FirstLink {
        drive,
        direct,
        established,
    } = begun;
    let Drive {
        stream,
        unread,
        receiver,
        timers,
        outbox,
    } = drive;
    // the bundle reports each link's end to the node
    let node = Arc::downgrade(shared);
    let told = move |lost: Option<(u64, &Ended)>| {
        let Some(node) = node.upgrade() else {
            return;
        };
        if let Some((link, ended)) = lost {
            let loss = || Loss::of(ended, node.is_closed());
            node.events.tell_link_lost(face, link, loss);
            forget_bound(&mut node.state.lock(), face);
        }
        node.changed.notify(usize::MAX);
    };
    let bundle = Bundle::new(outbox, receiver, inbound, told);
    // the face keeps the bundle, so that further links can join it
    let mut state = shared.state.lock();
    let place = state.faces.get_mut(&face).map(|face| {
        let several: Weak<dyn MultilinkConnection> = Arc::downgrade(&bundle) as _;
        let qos_link = established.options.qos_link;
        face.links = Some(Links::new(several, established));
        LinkPlace {
            local: face.status.local.clone(),
            remote: face.status.remote.clone(),
            qos_link,
        }
    })?;
    drop(state);
    // the first link joins like each further one
    let joining = JoiningLink {
        stream,
        unread,
        timers,
        direct,
        qos_link: place.qos_link,
    };
    let placed = ReservedLink { joining, place };
    join::place(shared, face, bundle, placed)
}

/// Makes the outbox for a new neighbour, with the limits that apply if it does not keep up.
fn new_outbox(
    shared: &Shared,
    established: &Established,
    status: &LinkStatus,
    direct: Option<DirectSocket>,
) -> Outbox {
    let limit = |priority| queue_bytes_max(&shared.settings, priority);
    Outbox::with_limits(established, &limit, direct)
        .with_isolation(terms(shared, status))
        .with_stall_debt(owed(shared, status))
}

/// Returns the limits of a new neighbour that does not keep up. A gateway is not given up for
/// being slow: it pauses because of other nodes, and this node has no alternative.
fn terms(shared: &Shared, status: &LinkStatus) -> Isolation {
    let full = shared.settings.isolation();
    if shared.role != WhatAmI::Router && status.whatami == WhatAmI::Router {
        return Isolation {
            min_rate: 0,
            stall: Duration::MAX,
            standstill: Duration::MAX,
            ..full
        };
    }
    full
}

/// Returns the stall debt of a new neighbour from its earlier connections.
fn owed(shared: &Shared, status: &LinkStatus) -> Duration {
    let state = shared.state.lock();
    let group = state.peers.neighbours.group(&status.zid);
    state.peers.slow.owed(Instant::now(), status.zid, group)
}

/// Returns the timers of a new connection: lease and keep-alive.
fn new_timers(shared: &Shared, established: &Established) -> Timers {
    let (own, theirs) = (established.lease, established.remote_lease);
    Timers::new(
        Instant::now(),
        own,
        shared.times.keep_alive_divisor(),
        theirs,
    )
}

/// Makes the receiver of a new connection, within its limits.
fn new_receiver(shared: &Shared, established: &Established, holding: &Holding) -> Receiver {
    let (most, idle) = (
        shared.settings.unfinished_max(),
        shared.settings.unfinished_time,
    );
    Receiver::new(established, shared.settings.max_message_size).within(
        Arc::clone(&holding.share),
        most,
        idle,
    )
}

/// Returns the most bytes that wait for a peer in this priority.
pub(super) fn queue_bytes_max(settings: &Settings, priority: Priority) -> usize {
    let set = settings.queue_bytes(priority);
    set.unwrap_or(QUEUE_BYTES_MAX)
}

impl State {
    pub(crate) fn add_face(&mut self, status: LinkStatus, arrived: NewNeighbour) -> FaceId {
        let declarations = self.actions.len();
        let info = info(&status, FaceKind::Remote);
        let gate = gate_of(&self.filters, &status);
        let face = self.table.add_gated_face(info, gate, &mut self.actions);
        if !arrived.keeps_order {
            self.table.expect_reordering(face);
        }
        self.gossip_first(face, &status, declarations);
        self.peers.neighbours.settle(status.zid, face);
        self.keep_face(face, status, arrived);
        face
    }

    /// Adds the face of a multicast group: it is no neighbour, and gets no gossip.
    pub(crate) fn add_group(&mut self, status: LinkStatus, arrived: NewNeighbour) -> FaceId {
        let info = info(&status, FaceKind::Group);
        let gate = gate_of(&self.filters, &status);
        let face = self.table.add_group(info, gate, &mut self.actions);
        self.keep_face(face, status, arrived);
        face
    }

    fn keep_face(&mut self, face: FaceId, status: LinkStatus, arrived: NewNeighbour) {
        let NewNeighbour {
            outbox,
            dialed,
            lease,
            spoken,
            holding,
            keeps_order: _,
        } = arrived;
        // a new connection counts as probed, so that it is left alone at first
        let now = Instant::now();
        self.faces.insert(
            face,
            Face {
                outbox,
                status,
                dialed,
                links: None,
                group: None,
                since: now,
                probed: now,
                lease,
                spoken,
                holding,
                pace: Pace::new(now),
                bound: Default::default(),
                refused: Refused::default(),
            },
        );
    }
}

fn info(status: &LinkStatus, kind: FaceKind) -> FaceInfo {
    FaceInfo {
        zid: status.zid,
        whatami: status.whatami,
        kind,
    }
}

/// Outbox of a neighbour that has just come, with the state that its face keeps.
pub(crate) struct NewNeighbour {
    pub(crate) outbox: Arc<Outbox>,
    /// True if this node opened the connection.
    pub(crate) dialed: bool,
    /// Longest silence of the neighbour.
    pub(crate) lease: Duration,
    /// Set once the neighbour has declared, asked or sent anything.
    pub(crate) spoken: Arc<AtomicBool>,
    pub(crate) holding: Holding,
    /// True if the neighbour reads this node's messages in the order in which they are sent,
    /// whatever their priority.
    pub(crate) keeps_order: bool,
}

/// First of perhaps several links to a neighbour.
struct FirstLink {
    drive: Drive,
    direct: Option<DirectSocket>,
    established: Established,
}

/// Returns the status of a link that has just come up.
pub(crate) fn status_of(
    established: &Established,
    local: Locator,
    remote: Locator,
    dialed: bool,
) -> LinkStatus {
    LinkStatus {
        zid: established.zid,
        whatami: established.whatami,
        local,
        remote,
        dialed,
        batch_size: established.batch_size,
        is_qos: established.qos,
        sent: Default::default(),
        priorities: Vec::new(),
        received: Default::default(),
        ignored: Default::default(),
        discarded: Default::default(),
        held: 0,
        options: established.options.clone(),
    }
}
