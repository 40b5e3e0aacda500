// SPDX-License-Identifier: MIT OR Apache-2.0

//! The state that all tasks and threads of a node share: the table with its lock, the connections, the clock.

use std::{
    collections::HashMap,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::Poll,
    time::Instant,
};

use event_listener::Event;
use zonda_codec::{Encode, EncodeError, KeyExpr, Locator, Priority, WhatAmI, Writer, ZenohId};
use zonda_runtime::{AnyRuntime, Origin};
use zonda_transport::{
    listen::Listening,
    protocol::{options::LocalOptions, tx::Tail},
    sync::{Mutex, Rank},
};

use crate::{
    admin::kept::Reports,
    config::Settings,
    flow::deliver,
    hlc::Hlc,
    hooks::Hooks,
    model::{DeclareError, LinkStatus, PublishError},
    node::{
        clock::unix_ms,
        ids::Ids,
        limits,
        memory::{Memory, leaving::Leavers},
        state::{Face, State},
    },
    peers::{
        away::LostAgo, dials::Dials, discovery::Discovery, ended::EndedLinks, events::Events,
        lines::Lines, neighbours::Neighbours, refusals::Refusals, slow::SlowConsumers,
    },
    query::{After, Queries},
    table::{Action, Deadline, FaceId, ForwardingTable, Kind, Locality, OwnRef},
};

/// The longest key that the protocol can write.
pub(crate) const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// The node itself.
pub(crate) struct Shared {
    pub(crate) zid: ZenohId,
    pub(crate) role: WhatAmI,
    /// The configuration, resolved when the node opened.
    pub(crate) settings: Arc<Settings>,
    /// The options of its links.
    pub(crate) options: Arc<LocalOptions>,
    pub(crate) runtime: AnyRuntime,
    /// The face of this node's own publishers and subscribers.
    pub(crate) local: FaceId,
    pub(crate) clock: Hlc,
    /// This node stamps what it routes and publishes.
    pub(crate) stamps: bool,
    /// Drops a message that is stamped with an impossible future rather than stamp it anew.
    pub(crate) drops_future: bool,
    pub(crate) state: Mutex<State>,
    closed: AtomicBool,
    /// The process that opened the node, in which its threads are.
    origin: Origin,
    pub(crate) ids: Ids,
    /// The number of neighbours that have gone.
    departed: AtomicU64,
    /// Notified whenever a connection comes or goes, and on close.
    pub(crate) changed: Event,
    /// The listeners of connections. Nothing is locked under its lock but their queues.
    pub(crate) events: Events,
    pub(crate) refusals: Refusals,
    pub(crate) lines: Lines,
    pub(crate) admin_reports: Reports,
    pub(crate) limits: limits::Limits,
    /// The hooks that look at messages between neighbours and this node.
    pub(crate) hooks: Hooks,
    /// The memory that is held, under one budget.
    pub(crate) memory: Memory,
    /// Wakes the task that looks after what is overdue, earlier than it meant to.
    pub(crate) hurry: Arc<Event>,
    /// The node itself, for what outlives the call that makes it.
    pub(crate) this: Weak<Shared>,
}

/// Bytes that are an encoded message already.
pub(crate) struct Encoded<'a>(pub(crate) &'a [u8]);

impl Encode for Encoded<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.bytes(self.0)
    }
}

impl Shared {
    /// An id for a declaration of this node's own that no other one has. Not to be called with the state locked.
    pub(crate) fn next_id(&self) -> u32 {
        self.ids
            .next(|id| self.state.lock().is_id_used(self.local, id))
    }

    pub(crate) fn new(
        zid: ZenohId,
        settings: Settings,
        options: LocalOptions,
        runtime: AnyRuntime,
        this: Weak<Shared>,
    ) -> Self {
        let role = settings.mode;
        let mut table = ForwardingTable::with_limits(zid, role, settings.table_limits());
        let mut actions = Vec::new();
        let info = crate::table::FaceInfo {
            zid,
            whatami: role,
            kind: crate::table::FaceKind::Local,
        };
        let local = table.add_face(info, &mut actions);
        if role != WhatAmI::Router && settings.adminspace_enabled {
            table.add_admin_space();
        }
        join_mesh(&mut table, &settings);
        let state = State {
            table,
            faces: HashMap::new(),
            neighbours: Neighbours::default(),
            sinks: HashMap::new(),
            listeners: HashMap::new(),
            queries: Queries::default(),
            undeclared: Default::default(),
            actions,
            described: None,
            sweeping: false,
            listening: Vec::new(),
            dials: Dials::new(settings.connect_endpoints().cloned().collect()),
            ended: EndedLinks::default(),
            lost_by_closing: Vec::new(),
            lost_ago: LostAgo::default(),
            slow: SlowConsumers::default(),
            leavers: Leavers::default(),
            discovery: Discovery::new(zid, &settings),
        };
        let limits = limits::Limits::new(&settings, crate::descriptors::limit());
        let memory = Memory::new(&settings);
        let hooks = Hooks::new(&settings);
        Self {
            zid,
            role,
            stamps: settings.timestamping,
            drops_future: settings.drop_future_timestamp,
            settings: Arc::new(settings),
            options: Arc::new(options),
            runtime,
            local,
            clock: Hlc::new(zid),
            state: Mutex::ranked(Rank::NodeState, state),
            closed: AtomicBool::new(false),
            origin: Origin::here(),
            ids: Ids::default(),
            departed: AtomicU64::new(0),
            changed: Event::new(),
            events: Events::default(),
            refusals: Refusals::default(),
            lines: Lines::default(),
            admin_reports: Reports::default(),
            limits,
            hooks,
            memory,
            hurry: Arc::new(Event::new()),
            this,
        }
    }

    /// Closed, or of no use to this process.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire) || self.is_forked()
    }

    /// Tells if this process was forked off from the one that opened the node. Its threads are not here, and its lock
    /// may be held by one of them for ever, so nothing may be asked of it but this.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.origin.is_elsewhere()
    }

    /// Why nothing can be published on a closed node.
    #[cold]
    pub(crate) fn cannot_publish(&self) -> PublishError {
        match self.is_forked() {
            true => PublishError::Forked,
            false => PublishError::Closed,
        }
    }

    /// Marks the node closed; tells whether it was open.
    pub(crate) fn set_closed(&self) -> bool {
        !self.closed.swap(true, Ordering::AcqRel)
    }

    /// The number of neighbours that have gone so far; routes to them are of no use any more.
    #[inline]
    pub(crate) fn departed(&self) -> u64 {
        self.departed.load(Ordering::Relaxed)
    }

    /// One more neighbour has gone, and its outbox is closed.
    pub(crate) fn note_departed(&self) {
        self.departed.fetch_add(1, Ordering::Relaxed);
    }

    /// Changes the table and carries out what it asks for, in the order it asks.
    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut result = None;
        let after = self.change(|state, _| result = Some(change(state)));
        after.finish();
        result.expect("a change is made once")
    }

    /// The same, leaving what is to be done without the lock to the caller.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State, &mut After)) -> After {
        let mut after = After::default();
        let mut state = self.state.lock();
        change(&mut state, &mut after);
        self.carry_out(&mut state, &mut after);
        self.settle_queries(&mut state, &mut after);
        after.notes = state.table.take_notes();
        if state.table.alarm() == Some(Deadline::Now) {
            self.wake_clock(&mut state);
        }
        let sweeps = !state.sweeping && state.table.is_sweeping();
        state.sweeping |= sweeps;
        drop(state);
        if sweeps && let Some(node) = self.this.upgrade() {
            Self::start_sweeping(&node);
        }
        after
    }

    /// Queues the table's messages and notices while the lock keeps them in order; they are written, and listeners called,
    /// after it is gone.
    pub(crate) fn carry_out(&self, state: &mut State, after: &mut After) {
        self.memory.note_tables(&mut state.table);
        let mut listeners = Vec::new();
        let mut behind = 0;
        for action in std::mem::take(&mut state.actions) {
            let (face, bytes) = match action {
                Action::Send { face, bytes } => (face, bytes),
                Action::Notify { listener, notice } => {
                    listeners.extend(state.queue_notice(listener, notice));
                    continue;
                }
            };
            let Some(face) = state.faces.get(&face) else {
                continue;
            };
            let head = Encoded(&bytes);
            let (touched, outbox) = (&mut after.touched, &face.outbox);
            let kept = deliver::keep(touched, outbox, Priority::Control, &head, Tail::NONE);
            if let Some(has_room) = kept {
                after.declared.note(&face.outbox, bytes.len(), has_room);
                behind += if has_room { 0 } else { bytes.len() };
            }
        }
        self.memory.note_behind(behind);
        after.tell(&self.runtime, listeners);
    }

    /// Names the declaration of the session under `id`.
    pub(crate) fn own(&self, id: u32) -> OwnRef {
        self.local.own(id)
    }

    /// Tells if a declaration of `key` is possible now.
    pub(crate) fn may_declare(&self, key: &KeyExpr<'_>) -> Result<(), DeclareError> {
        let (len, limit) = (key.as_str().len(), KEY_BYTES_MAX);
        match len > limit {
            _ if self.is_forked() => Err(DeclareError::Forked),
            _ if self.is_closed() => Err(DeclareError::Closed),
            true => Err(DeclareError::KeyTooLong { len, limit }),
            false => Ok(self.state.lock().table.check_key(key)?),
        }
    }

    /// Declares that the session sends on `key` to those of `kind`, where that may reach beyond the session; the id.
    pub(crate) fn declare_sending(
        &self,
        key: &KeyExpr<'_>,
        destination: Locality,
        kind: Kind,
    ) -> Result<u32, DeclareError> {
        self.may_declare(key)?;
        let id = self.next_id();
        if destination.is_beyond() {
            self.update(|state| {
                let State { table, actions, .. } = state;
                table.local_sender(self.own(id), kind, key, actions);
            });
        }
        Ok(id)
    }

    /// Waits for `future`, at most until `deadline`.
    pub(crate) async fn until<F: Future>(&self, deadline: Instant, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut due = pin!(self.runtime.sleep_until(deadline));
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => due.as_mut().poll(context).map(|()| None),
        })
        .await
    }

    /// Waits, at most until `deadline`, until `holds` does; looks again whenever a connection comes or goes.
    pub(crate) async fn wait_until(
        &self,
        deadline: Instant,
        holds: impl Fn(&State) -> bool,
    ) -> bool {
        loop {
            let changed = self.changed.listen();
            if holds(&self.state.lock()) {
                return true;
            }
            if self.until(deadline, changed).await.is_none() {
                return holds(&self.state.lock());
            }
        }
    }

    pub(crate) fn locators(&self) -> Vec<Locator> {
        if self.is_forked() {
            return Vec::new();
        }
        self.state
            .lock()
            .listening
            .iter()
            .flat_map(Listening::locators)
            .collect()
    }

    pub(crate) fn links(&self) -> Vec<LinkStatus> {
        if self.is_forked() {
            return Vec::new();
        }
        let state = self.state.lock();
        let status = |(&id, face): (&FaceId, &Face)| {
            if let Some(members) = face.members() {
                return members;
            }
            let sent = face.outbox.counters().snapshot();
            let priorities = face.outbox.priorities();
            let ignored = state.table.counters(id).unwrap_or_default();
            let discarded = face.outbox.discarded();
            let held = face.outbox.held();
            let status = face.status.clone();
            let places = face.places().into_iter();
            let links = places.map(|(local, remote)| LinkStatus {
                local,
                remote,
                sent,
                priorities: priorities.clone(),
                ignored,
                discarded,
                held,
                ..status.clone()
            });
            links.collect()
        };
        let mut links: Vec<_> = state.faces.iter().flat_map(status).collect();
        drop(state);
        links.sort_by_key(|link| link.zid);
        links
    }
}

/// How a router takes part in a mesh, and what it does for its peers. The count of its changes begins above any that it reached
/// before with the same id.
fn join_mesh(table: &mut ForwardingTable, settings: &Settings) {
    let weights = settings.link_weights.iter().copied().collect();
    table.set_mesh(unix_ms(), weights);
    if !settings.relays_between_peers {
        table.keep_peers_apart();
    }
}

/// Waits for whichever comes first.
pub(crate) async fn first(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| match one.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => other.as_mut().poll(context),
    })
    .await;
}
