// SPDX-License-Identifier: MIT OR Apache-2.0

//! State that all tasks and threads of a node share: the table with its lock, the connections, the
//! clock.

use std::{
    collections::HashMap,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::Poll,
    time::{Duration, Instant},
};

use event_listener::Event;
use zonda_codec::{KeyExpr, Locator, WhatAmI, ZenohId};
use zonda_runtime::{AnyRuntime, Origin};
use zonda_transport::{
    protocol::{options::LocalOptions, parameters::LocalParameters},
    sync::{Mutex, Rank},
};

use crate::{
    admin::{report_cache::Reports, waiting::WaitingQuestions, writes::ConfigWrites},
    config::Settings,
    filter::Filters,
    flow::{local_routes::LocalRoutes, stamp::Timestamps},
    model::{DeclareError, LinkStatus, PublishError},
    node::{
        clock::unix_ms,
        ids::Ids,
        intercept::Interceptor,
        limits,
        memory::{Memory, leaving::EvictedConnections},
        running::Running,
        state::{Face, State},
        times::Times,
    },
    notify::notices::Notices,
    peers::{events::Events, lines::Lines, refusals::Refusals, state::Peers},
    query::Queries,
    send_error::SendError,
    table::{Aggregation, FaceId, FaceInfo, FaceKind, ForwardingTable, Kind, OwnRef, Reach},
};

/// Longest key that the protocol can encode.
pub(crate) const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// Shared state of a node.
pub(crate) struct Shared {
    pub(crate) zid: ZenohId,
    pub(crate) role: WhatAmI,
    /// Configuration, resolved when the node opened.
    pub(crate) settings: Arc<Settings>,
    /// Options of its links.
    pub(crate) options: Arc<LocalOptions>,
    pub(crate) runtime: AnyRuntime,
    /// Face of this node's own publishers and subscribers.
    pub(crate) local: FaceId,
    pub(crate) timestamps: Timestamps,
    /// Source of the records of time-stamp stacks.
    pub(crate) interceptor: Interceptor,
    pub(crate) state: Mutex<State>,
    closed: AtomicBool,
    /// Process that opened the node, in which its threads are.
    origin: Origin,
    pub(crate) ids: Ids,
    /// Number of neighbours that have gone.
    departed: AtomicU64,
    /// Notified whenever a connection comes or goes, and on close.
    pub(crate) changed: Event,
    /// Listeners of connections. Only the listeners' queues may be locked under this lock.
    pub(crate) events: Events,
    pub(crate) refusals: Refusals,
    pub(crate) lines: Lines,
    pub(crate) admin_reports: Reports,
    pub(crate) admin_questions: WaitingQuestions,
    pub(crate) config_writes: ConfigWrites,
    pub(crate) limits: limits::ConnectionLimits,
    pub(crate) running: Running,
    pub(crate) times: Times,
    /// Memory accounting, under one budget.
    pub(crate) memory: Memory,
    /// Event that wakes the task for periodic work earlier than its timer.
    pub(crate) hurry: Arc<Event>,
    /// Reference to the node itself, for tasks that outlive the call that starts them.
    pub(crate) this: Weak<Shared>,
}

/// The configuration of a new node.
pub(crate) struct Configured {
    pub(crate) settings: Settings,
    pub(crate) options: LocalOptions,
    pub(crate) running: Running,
    pub(crate) interceptor: Interceptor,
}

impl Shared {
    /// Returns an unused id for a declaration of this node's own. The caller must not hold the
    /// state's lock.
    pub(crate) fn next_id(&self) -> u32 {
        self.ids
            .next(|id| self.state.lock().is_id_used(self.local, id))
    }

    pub(crate) fn new(
        zid: ZenohId,
        configured: Configured,
        runtime: AnyRuntime,
        this: Weak<Shared>,
    ) -> Self {
        let Configured {
            settings,
            options,
            running,
            interceptor,
        } = configured;
        let role = settings.mode;
        let mut table = ForwardingTable::with_limits(zid, role, settings.table_limits());
        let mut actions = Vec::new();
        let info = FaceInfo {
            zid,
            whatami: role,
            kind: FaceKind::Local,
        };
        let local = table.add_face(info, &mut actions);
        if role != WhatAmI::Router && settings.adminspace_enabled {
            table.add_admin_space();
        }
        join_mesh(&mut table, &settings);
        table.set_aggregation(aggregation(&settings));
        let state = State {
            table,
            filters: Arc::new(Filters::new(&settings)),
            faces: HashMap::new(),
            peers: Peers::new(zid, &settings),
            notices: Notices::default(),
            queries: Queries::default(),
            routes: LocalRoutes::default(),
            attached: Default::default(),
            actions,
            sweeping: false,
            lost_by_closing: Vec::new(),
            leavers: EvictedConnections::default(),
        };
        Self {
            zid,
            role,
            options: Arc::new(options),
            runtime,
            local,
            timestamps: Timestamps::new(zid, &settings),
            interceptor,
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
            admin_questions: WaitingQuestions::default(),
            config_writes: ConfigWrites::default(),
            limits: limits::ConnectionLimits::new(&settings, crate::descriptors::limit()),
            memory: Memory::new(&settings),
            running,
            times: Times::new(&settings),
            settings: Arc::new(settings),
            hurry: Arc::new(Event::new()),
            this,
        }
    }

    /// Returns true if the node is closed, or of no use to this process.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire) || self.is_forked()
    }

    /// Returns true if this process was forked off from the one that opened the node. The node's
    /// threads do not exist here, and one of them may have held a lock for ever, so this is the
    /// only call that may be made.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.origin.is_elsewhere()
    }

    /// Returns the error of publishing on a closed node.
    #[cold]
    pub(crate) fn cannot_publish(&self) -> PublishError {
        match self.is_forked() {
            true => PublishError::Forked,
            false => PublishError::Closed,
        }
    }

    /// Marks the node closed; returns true if it was open.
    pub(crate) fn set_closed(&self) -> bool {
        !self.closed.swap(true, Ordering::AcqRel)
    }

    /// Returns the number of neighbours that have gone so far; routes to them are obsolete.
    #[inline]
    pub(crate) fn departed(&self) -> u64 {
        self.departed.load(Ordering::Relaxed)
    }

    /// Notes that one more neighbour has gone, and its outbox is closed.
    pub(crate) fn note_departed(&self) {
        self.departed.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the reference to the session's declaration under `id`.
    pub(crate) fn own(&self, id: u32) -> OwnRef {
        self.local.own(id)
    }

    /// Returns an error if a declaration of `key` is impossible now.
    pub(crate) fn may_declare(&self, key: &KeyExpr<'_>) -> Result<(), DeclareError> {
        let (len, limit) = (key.as_str().len(), KEY_BYTES_MAX);
        self.may_use()?;
        match len > limit {
            true => Err(DeclareError::KeyTooLong { len, limit }),
            false => Ok(self.state.lock().table.check_key(key)?),
        }
    }

    /// Returns an error if the node is closed, or of no use to this process.
    pub(crate) fn may_use(&self) -> Result<(), DeclareError> {
        match self.is_closed() {
            _ if self.is_forked() => Err(DeclareError::Forked),
            true => Err(DeclareError::Closed),
            false => Ok(()),
        }
    }

    /// Checks that the session can send: the node is open and the process has not forked since.
    pub(crate) fn may_send(&self) -> Result<(), SendError> {
        if self.is_forked() {
            return Err(SendError::Forked);
        }
        match self.is_closed() {
            true => Err(SendError::Closed),
            false => Ok(()),
        }
    }

    /// Declares that the session sends on `key` to entities of `kind`, unless the destination is
    /// the session alone; returns the id.
    pub(crate) fn declare_sending(
        &self,
        key: &KeyExpr<'_>,
        destination: Reach,
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

    /// Waits until `holds` returns true, at most until `deadline`; checks again whenever a
    /// connection comes or goes.
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

    /// Waits, unless the node closes first.
    pub(crate) async fn pause(&self, wait: Duration) {
        self.pause_unless(wait, || self.is_closed()).await;
    }

    /// Waits, unless `is_over` becomes true first; checks it whenever a connection comes or goes.
    pub(crate) async fn pause_unless(&self, wait: Duration, is_over: impl Fn() -> bool) {
        let deadline = zonda_runtime::after(wait);
        loop {
            let changed = self.changed.listen();
            if is_over() || self.until(deadline, changed).await.is_none() {
                return;
            }
        }
    }

    /// Returns the parameters that this node brings to every handshake.
    pub(crate) fn parameters(&self) -> LocalParameters {
        LocalParameters {
            batch_size: self.settings.batch_size,
            batch_size_min: self.settings.batch_size_min,
            remote_lease_max: self.settings.lease_max,
            resolution: self.settings.resolution,
            qos: self.settings.qos_enabled,
            lease: self.times.lease(),
            keep_alive_divisor: self.times.keep_alive_divisor(),
            message_size_max: self.settings.max_message_size,
            options: Arc::clone(&self.options),
            ..LocalParameters::new(self.zid, self.role)
        }
    }

    pub(crate) fn locators(&self) -> Vec<Locator> {
        if self.is_forked() {
            return Vec::new();
        }
        self.state.lock().peers.locators()
    }

    pub(crate) fn links(&self) -> Vec<LinkStatus> {
        if self.is_forked() {
            return Vec::new();
        }
        // one row for each link or group member; the first link of a connection has its counts
        let state = self.state.lock();
        let status = |(&id, face): (&FaceId, &Face)| {
            if let Some(members) = face.members() {
                return members;
            }
            let status = &face.status;
            let places = face.places().into_iter();
            let links = places.map(|place| LinkStatus {
                local: place.local,
                remote: place.remote,
                options: status.options.of_link(place.qos_link),
                ..status.clone()
            });
            let mut links: Vec<_> = links.collect();
            if let Some(first) = links.first_mut() {
                first.sent = face.outbox.counters().snapshot();
                first.priorities = face.outbox.priorities();
                first.received = face.outbox.arrived();
                first.ignored = state.table.counters(id).unwrap_or_default();
                first.discarded = face.outbox.discarded();
                first.held = face.outbox.held();
            }
            links
        };
        let mut links: Vec<_> = state.faces.iter().flat_map(status).collect();
        drop(state);
        links.sort_by_key(|link| link.zid);
        links
    }
}

/// Configures the part of a router in a mesh, and its service to its peers. The count of its
/// changes begins above any value that it reached before with the same id.
fn join_mesh(table: &mut ForwardingTable, settings: &Settings) {
    let weights = settings.link_weights.iter().copied().collect();
    table.set_mesh(unix_ms(), weights);
    if !settings.relays_between_peers {
        table.keep_peers_apart();
    }
}

/// Returns the configured aggregation, of keys as other nodes know them.
fn aggregation(settings: &Settings) -> Aggregation {
    let outer = |keys: &[KeyExpr<'static>]| match &settings.namespace {
        None => keys.to_vec(),
        Some(namespace) => {
            let keys = keys.iter();
            keys.filter_map(|key| namespace.join(key.as_str()).ok())
                .collect()
        }
    };
    Aggregation::new(
        outer(&settings.aggregated_subscribers),
        outer(&settings.aggregated_publishers),
    )
}

/// Waits for the first of two futures.
pub(crate) async fn first(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| match one.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => other.as_mut().poll(context),
    })
    .await;
}
