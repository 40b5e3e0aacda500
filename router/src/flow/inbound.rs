// SPDX-License-Identifier: MIT OR Apache-2.0

//! Handler of a connection's reading task: it sends data straight to the outboxes and callbacks of
//! its route, and everything else to the table.
//!
//! Forwarding is cut-through: of a data message only the head is encoded anew, with the neighbour's
//! spelling of the key, and a timestamp where this node gives one; the bytes of the body are
//! forwarded as they came.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use zonda_codec::{
    Declaration, NetworkMessage, Priority, Push, PushBody, PushRun, Qos, Timestamp, TsStack,
    TsStackBuf, WireExpr,
};
use zonda_transport::{
    driver::{Ended, Handler},
    outbox::Outbox,
    protocol::{
        rx::{Context, Deliver},
        tx::{Outgoing, Tail},
    },
};

use crate::{
    config::MessageKind,
    filter::{FilteredRoute, take_declare, take_interest, view_of},
    flow::{
        backpressure,
        early::{EarlyIds, key_of},
        lookup::{PendingMessage, PendingQuery, RouteLookup},
        publish::call,
        read_cycle::{ReadCycle, WORK_MAX},
        receiving::Delivery,
        route::{Hop, Route, RouteCache},
        run::RunForwarder,
    },
    hlc::TooFarAhead,
    node::{
        log::{log, log_too_large},
        shared::{Shared, first},
        state::State,
    },
    peers::{oam, removal},
    query::inbound::{QueryProgress, take_answer, take_final, take_question},
    table::{FaceId, INITIAL},
};

/// Receiving end of one face.
pub(crate) struct Inbound {
    shared: Arc<Shared>,
    /// True once the end of the connection was reported.
    over: bool,
    /// Set once the neighbour has declared, asked or sent something; the node's state reads it.
    spoken: Arc<AtomicBool>,
    /// Copy of `spoken` that only this task uses.
    has_spoken: bool,
    face: FaceId,
    /// Sending end of the same connection, for answers to the neighbour.
    outbox: Arc<Outbox>,
    cache: RouteCache,
    burst: ReadCycle,
    /// True while messages of this neighbour have to wait: for the rest of a long answer or of the
    /// announcements that its last declaration caused, for the route of its last message, or for a
    /// key id.
    answering: bool,
    /// Message whose route is still being searched for.
    parked: Option<Box<PendingMessage>>,
    /// Query whose queryables are still being searched for.
    parked_question: Option<Box<PendingQuery>>,
    /// Key ids that messages need not wait for, where messages may overtake declarations. Boxed
    /// because few links need it.
    early: Option<Box<EarlyIds>>,
    /// True if other tasks have to run before this one goes on.
    is_turn_over: bool,
}

impl Inbound {
    pub(crate) fn new(
        shared: Arc<Shared>,
        face: FaceId,
        outbox: Arc<Outbox>,
        spoken: Arc<AtomicBool>,
        routes: Arc<AtomicUsize>,
    ) -> Self {
        let cache = RouteCache::new(shared.settings.route_memory_max, routes);
        Self {
            spoken,
            has_spoken: false,
            shared,
            over: false,
            face,
            outbox,
            cache,
            burst: ReadCycle::default(),
            answering: false,
            parked: None,
            parked_question: None,
            early: None,
            is_turn_over: true,
        }
    }

    /// Sets the length of the turns for a neighbour that is a router.
    pub(crate) fn of_router(mut self, is_router: bool) -> Self {
        self.burst = ReadCycle::of(is_router);
        self
    }

    /// Sets the longest delay of a declaration behind a message that was sent after it.
    pub(crate) fn lagging(mut self, lag_max: Option<Duration>) -> Self {
        self.early = lag_max.map(|lag_max| Box::new(EarlyIds::new(lag_max)));
        self
    }

    /// Returns true if a message on this key has to wait for the declaration of its id. The driver
    /// then delivers the message again.
    fn comes_early(&mut self, expr: &WireExpr<'_>, context: &Context<'_>) -> bool {
        let early = self.early.as_mut();
        let holds = early.is_some_and(|early| early.holds(expr, context.priority));
        self.answering |= holds;
        holds
    }

    /// Notes that the neighbour uses its connection. Messages on known routes need no call: a
    /// message on an unknown route came before them.
    fn note_spoken(&mut self) {
        if !self.has_spoken {
            self.has_spoken = true;
            self.spoken.store(true, Ordering::Relaxed);
        }
    }

    /// Searches the table for the route and caches it. Returns `None` for a key that cannot be
    /// resolved, or if the search takes long: then the message is parked.
    #[cold]
    fn look_up(&mut self, push: &Push<'_>, context: &Context<'_>) -> Option<Arc<Route>> {
        let expr = &push.wire_expr;
        self.note_spoken();
        if self.comes_early(expr, context) {
            return None;
        }
        // one slice of the search, under the lock
        self.burst.begin_work();
        let mut state = self.shared.state.lock();
        let key = state.table.push_key(self.face, expr);
        let looked = key.and_then(|key| {
            let (table, node_id) = (&mut state.table, push.node_id);
            let mut looking = RouteLookup::from_neighbour(table, self.face, node_id, key)?;
            let route = looking.resume(&mut state);
            Some(route.ok_or_else(|| Box::new(looking)))
        });
        // logs and caches are handled without the lock
        let notes = state.table.take_notes();
        drop(state);
        self.burst.end_work();
        log(notes);
        match looked? {
            Ok(route) => {
                self.burst.close();
                self.remember(push, &route);
                Some(route)
            }
            Err(looking) => {
                self.parked = PendingMessage::new(looking, push, context).map(Box::new);
                self.answering = self.parked.is_some();
                None
            }
        }
    }

    fn remember(&mut self, push: &Push<'_>, route: &Arc<Route>) {
        let (expr, route) = (&push.wire_expr, Arc::clone(route));
        match push.node_id.is_itself() {
            true => self.cache.put(expr, route),
            false => self.cache.put_from(push.node_id, expr, route),
        }
    }

    /// Handles a message that entered the mesh at a router further away than the neighbour, is
    /// marked with its trees, or has a time-stamp stack.
    #[cold]
    #[inline(never)]
    fn push_unusual(&mut self, push: &Push<'_>, raw_body: &[u8], context: &Context<'_>) {
        let known = match push.node_id.is_itself() {
            true => self.cache.get(&push.wire_expr),
            false => self.cache.get_from(push.node_id, &push.wire_expr),
        };
        let Some(route) = known.cloned().or_else(|| self.look_up(push, context)) else {
            return;
        };
        let message = Incoming {
            push,
            raw_body,
            context,
        };
        message.pass_any(&route, &self.shared, &mut self.burst);
    }

    /// Continues the search for the route of the parked message, and delivers the message once the
    /// route is found.
    fn resume(&mut self) {
        let Some(mut parked) = self.parked.take() else {
            return;
        };
        let Some(route) = parked.resume(&self.shared) else {
            self.answering = !self.outbox.is_closed();
            self.parked = self.answering.then_some(parked);
            return;
        };
        self.answering = false;
        self.burst.close();
        parked.lend(|push, raw_body, context| {
            self.remember(push, &route);
            let message = Incoming {
                push,
                raw_body,
                context,
            };
            message.pass_any(&route, &self.shared, &mut self.burst);
        });
    }
}

impl Deliver for Inbound {
    #[inline]
    fn push(&mut self, push: &Push<'_>, raw_body: &[u8], context: &Context<'_>) {
        if !push.is_direct() {
            return self.push_unusual(push, raw_body, context);
        }
        let looked_up;
        let route = match self.cache.get(&push.wire_expr) {
            Some(route) => route,
            None => {
                looked_up = self.look_up(push, context);
                let Some(route) = &looked_up else { return };
                route
            }
        };
        let message = Incoming {
            push,
            raw_body,
            context,
        };
        message.pass(route, &self.shared, &mut self.burst);
    }

    fn run<'a>(&mut self, push: &Push<'a>, run: &mut PushRun<'a>, context: &Context<'_>) {
        let Some(route) = self.cache.get(&push.wire_expr) else {
            return;
        };
        let alike = RunForwarder {
            push,
            context,
            shared: &self.shared,
        };
        // all messages of a run are puts
        let route = match &route.filtered {
            None => route,
            Some(filtered) => match filtered.unfiltered(MessageKind::Put) {
                Some(route) => route,
                None => return alike.pass_filtered(filtered, run, &mut self.burst),
            },
        };
        alike.pass(route, run, &mut self.burst);
    }

    fn message(&mut self, message: NetworkMessage<'_>, context: &Context<'_>) {
        // a neighbour that was given up, such as one that asks without reading the answers, causes
        // no further work
        if self.outbox.is_closed() {
            return;
        }
        self.note_spoken();
        if self.early.is_some()
            && key_of(&message).is_some_and(|key| self.comes_early(key, context))
        {
            return;
        }
        self.burst.begin_work();
        let face = self.face;
        let shared = &self.shared;
        match &message {
            NetworkMessage::Declare(declare) => {
                let mut is_busy = false;
                let after = shared.change(|state, _| {
                    take_declare(state, face, declare);
                    is_busy = state.table.is_busy(face);
                });
                self.answering = is_busy;
                self.burst.follow_declaration(after);
                if let Declaration::KeyExpr { id, .. } | Declaration::UndeclareKeyExpr { id } =
                    declare.body
                {
                    self.burst.close();
                    self.cache.forget_id(id);
                    match (&mut self.early, &declare.body) {
                        (None, _) => {}
                        (Some(early), Declaration::KeyExpr { .. }) => early.learn(id),
                        (Some(early), _) => early.forget(id),
                    }
                }
                // `open` waits for the end of the initial declarations
                if declare.interest_id == Some(INITIAL) {
                    shared.changed.notify(usize::MAX);
                }
            }
            NetworkMessage::Interest(interest) => {
                let mut answering = false;
                let after = shared.change(|state, _| {
                    take_interest(state, face, interest);
                    answering = state.table.is_busy(face);
                });
                self.answering = answering;
                self.burst.follow_declaration(after);
                self.respect_room(Priority::Control);
            }
            NetworkMessage::Request(request) => {
                let mut progress = QueryProgress::new(request.node_id);
                if !take_question(shared, face, context, &mut progress, &mut self.burst) {
                    self.parked_question = Some(Box::new(PendingQuery::new(progress, context)));
                    self.answering = true;
                }
                self.respect_room(request.qos.priority());
            }
            NetworkMessage::Response(_) => take_answer(shared, face, context, &mut self.burst),
            NetworkMessage::ResponseFinal(end) => take_final(shared, face, end, &mut self.burst),
            NetworkMessage::Oam(oam) => {
                oam::hear(shared, face, oam);
            }
            // the receiver delivers pushes through `Deliver::push` and `Deliver::run`
            NetworkMessage::Push(_) => {}
        }
        self.burst.end_work();
    }

    #[inline]
    fn wants_pause(&self) -> bool {
        self.burst.work >= WORK_MAX || self.answering
    }

    fn take_early(&mut self) -> Option<Duration> {
        let early = self.early.as_mut()?.take()?;
        self.answering = false;
        Some(early)
    }

    fn wait_no_more(&mut self, is_over: bool) {
        if let Some(early) = &mut self.early {
            early.set_over(is_over);
        }
    }
}

/// Data message as it came.
struct Incoming<'a> {
    push: &'a Push<'a>,
    raw_body: &'a [u8],
    context: &'a Context<'a>,
}

impl Incoming<'_> {
    /// Forwards the message to all neighbours and local subscribers of its route.
    #[inline(always)]
    fn pass(&self, route: &Arc<Route>, shared: &Shared, burst: &mut ReadCycle) {
        burst.work += route.remote.len() + route.local.len();
        if route.local.is_empty() {
            if !route.remote.is_empty() {
                self.forward(route, shared, burst);
            } else if let Some(filtered) = &route.filtered {
                self.pass_filters(filtered, shared, burst);
            }
        } else if shared.timestamps.are_given() {
            self.hand_on_stamped(route, shared, burst);
        } else {
            if !route.remote.is_empty() {
                self.forward(route, shared, burst);
            }
            let delivery = Delivery {
                key: &route.key,
                push: self.push,
                block: self.context.block,
                reliability: self.context.reliability,
            };
            call(burst.open(route), &delivery);
        }
    }

    /// Forwards like [`Incoming::pass`], also a message with a time-stamp stack.
    fn pass_any(&self, route: &Arc<Route>, shared: &Shared, burst: &mut ReadCycle) {
        match self.push.ts_stack {
            None => self.pass(route, shared, burst),
            Some(stack) => self.pass_stacked(stack, route, shared, burst),
        }
    }

    /// Forwards a message with this time-stamp stack, to which this node adds its records.
    #[cold]
    fn pass_stacked(
        &self,
        stack: TsStack<'_>,
        route: &Arc<Route>,
        shared: &Shared,
        burst: &mut ReadCycle,
    ) {
        if route.leads_nowhere() {
            return;
        }
        burst.work += route.remote.len() + route.local.len();
        let routed = shared.recorded(stack, TsStack::ROUTE);
        let push = Push {
            ts_stack: Some(routed.view()),
            ..*self.push
        };
        let message = Incoming {
            push: &push,
            ..*self
        };
        match &route.filtered {
            None => message.hand_on_stamped(route, shared, burst),
            Some(filtered) => message.pass_filtered(filtered, shared, burst),
        }
    }

    /// Forwards the message along a route with filters, which need not decide if all messages of its
    /// kind pass.
    #[inline(never)]
    fn pass_filters(&self, filtered: &FilteredRoute, shared: &Shared, burst: &mut ReadCycle) {
        let kind = match &self.push.body {
            PushBody::Put(_) => MessageKind::Put,
            PushBody::Del(_) => MessageKind::Delete,
        };
        match filtered.unfiltered(kind) {
            Some(route) => self.pass(route, shared, burst),
            None => self.pass_filtered(filtered, shared, burst),
        }
    }

    /// Forwards the message to the destinations of a route whose filters let it pass.
    #[cold]
    #[inline(never)]
    fn pass_filtered(&self, filtered: &FilteredRoute, shared: &Shared, burst: &mut ReadCycle) {
        // all destinations get one timestamp
        let Ok(stamp) = self.stamp(shared, burst) else {
            return;
        };
        // filters of the source and of each neighbour decide once, and may change the QoS
        let Some(message) = filtered.enter(view_of(self.push, self.context.reliability)) else {
            return;
        };
        let route = filtered.route();
        burst.work += route.remote.len() + route.local.len();
        for (hop, qos) in filtered.hops(message) {
            self.queue(hop, qos, stamp, burst);
        }
        // this node's own subscribers have no filters
        if !route.local.is_empty() {
            let qos = message.qos;
            let push = Push { qos, ..*self.push };
            self.hand_on(route, push, stamp, shared, burst);
        }
    }

    /// Queues the message for every neighbour on the route.
    fn forward(&self, route: &Route, shared: &Shared, burst: &mut ReadCycle) {
        let Ok(stamp) = self.stamp(shared, burst) else {
            return;
        };
        self.forward_as(route, stamp, burst);
    }

    /// Queues the message for every neighbour on the route, with this node's timestamp if it gives
    /// one.
    fn forward_as(&self, route: &Route, stamp: Option<Timestamp>, burst: &mut ReadCycle) {
        for hop in &route.remote {
            self.queue(hop, self.push.qos, stamp, burst);
        }
    }

    /// Queues the message for one neighbour.
    #[inline(always)]
    fn queue(&self, hop: &Hop, qos: Qos, stamp: Option<Timestamp>, burst: &mut ReadCycle) {
        let part = match &self.push.body {
            PushBody::Put(put) => put.payload,
            PushBody::Del(_) => &[],
        };
        let head = hop.head(qos);
        let message = Outgoing {
            reliability: self.context.reliability,
            head: &head.passing(self.push, self.raw_body, stamp),
            payload: Tail::Part {
                block: self.context.block,
                part,
            },
        };
        burst.downstream.pass(&hop.outbox, qos, &message);
    }

    /// Forwards the message to neighbours and to this node's own subscribers, with one timestamp
    /// for all of them.
    #[cold]
    fn hand_on_stamped(&self, route: &Arc<Route>, shared: &Shared, burst: &mut ReadCycle) {
        let Ok(stamp) = self.stamp(shared, burst) else {
            return;
        };
        self.forward_as(route, stamp, burst);
        if !route.local.is_empty() {
            self.hand_on(route, *self.push, stamp, shared, burst);
        }
    }

    /// Calls this node's own subscribers with `push`, with this node's timestamp if it gives one.
    #[cold]
    fn hand_on(
        &self,
        route: &Arc<Route>,
        push: Push<'_>,
        stamp: Option<Timestamp>,
        shared: &Shared,
        burst: &mut ReadCycle,
    ) {
        let stack = push.ts_stack;
        let received = stack.map(|stack| shared.recorded(stack, TsStack::RECEIVE));
        let mut push = Push {
            ts_stack: received.as_ref().map(TsStackBuf::view),
            ..push
        };
        if let (PushBody::Put(put), Some(stamp)) = (&mut push.body, stamp) {
            put.timestamp = Some(stamp);
        }
        let delivery = Delivery {
            key: &route.key,
            push: &push,
            block: self.context.block,
            reliability: self.context.reliability,
        };
        call(burst.open(route), &delivery);
    }

    /// Decides about the timestamp: this node gives one only to a PUT, only where there is none or
    /// an impossible one.
    fn stamp(
        &self,
        shared: &Shared,
        burst: &mut ReadCycle,
    ) -> Result<Option<Timestamp>, TooFarAhead> {
        match &self.push.body {
            PushBody::Put(put) if shared.timestamps.are_given() => shared
                .timestamps
                .stamp(put.timestamp.as_ref(), || burst.now()),
            _ => Ok(None),
        }
    }
}

impl Handler for Inbound {
    async fn burst_end(&mut self) {
        let has_waited = self.answering;
        // continue one slice of whatever the neighbour's messages wait for
        if self.parked.is_some() {
            self.resume();
        } else if let Some(mut parked) = self.parked_question.take() {
            let done = parked.take(&self.shared, self.face, &mut self.burst);
            self.answering = !done && !self.outbox.is_closed();
            self.parked_question = self.answering.then_some(parked);
        } else if self.answering {
            self.answer_on();
        }
        self.is_turn_over = !has_waited || self.burst.ends_turn();
        self.burst.now = None;
        self.burst.work = 0;
        self.burst.busy_since = None;
        // idle connections keep no such memory
        self.burst.paper = Vec::new();
        self.burst.close();
        self.cache.sweep(self.shared.departed());
        let downstream = &mut self.burst.downstream;
        // flush, then pause for each resource that this source has exhausted
        downstream.touched.flush();
        if !downstream.congestion.is_empty() {
            let congestion = downstream.congestion.take();
            let source = self.face;
            backpressure::ease(&self.shared, congestion, source, &self.outbox).await;
        }
        if !self.burst.crowded.is_empty() {
            self.wait_for_callbacks().await;
        }
        if self.shared.memory.is_short() {
            // boxed because it is rare and would make every reading task larger
            Box::pin(self.shared.wait_for_memory(&self.outbox)).await;
        }
    }

    fn is_turn_over(&self) -> bool {
        self.is_turn_over
    }

    #[cold]
    fn missed_too_large(&mut self) {
        let state = self.shared.state.lock();
        let face = state.faces.get(&self.face);
        let who = face.map(|face| (face.status.zid, face.status.remote.clone()));
        drop(state);
        if let Some((zid, remote)) = who {
            log_too_large(zid, &remote, self.shared.settings.max_message_size);
        }
    }

    fn closed(&mut self, ended: Ended) {
        self.over = true;
        removal::remove_face(&self.shared, self.face, &ended);
    }
}

impl Drop for Inbound {
    /// Ends the connection if its reading task is dropped with its runtime, or panics.
    fn drop(&mut self) {
        if !self.over && !self.shared.is_forked() {
            self.outbox.abandon();
            self.closed(Ended::Abandoned);
        }
    }
}

impl Inbound {
    /// Sends the neighbour the next part of a long answer, or other neighbours the next part of the
    /// change that its declaration caused.
    fn answer_on(&mut self) {
        let face = self.face;
        let mut more = false;
        let after = self.shared.change(|state, _| {
            let State { table, actions, .. } = state;
            more = table.work_on(face, actions);
        });
        self.burst.follow_declaration(after);
        self.answering = more && !self.outbox.is_closed();
        self.respect_room(Priority::Control);
    }

    /// Pauses a neighbour that does not take its replies, so that its queries wait.
    fn respect_room(&mut self, priority: Priority) {
        if !self.outbox.has_room(priority) {
            let load = self.burst.load_of_answers();
            let congestion = &mut self.burst.downstream.congestion;
            congestion.note(&self.outbox, priority, load);
            self.burst.work = WORK_MAX;
        }
    }

    /// Waits until this connection is over.
    async fn outbox_closed(&self) {
        loop {
            let told = self.outbox.listen_room();
            if self.outbox.is_closed() {
                return;
            }
            told.await;
        }
    }

    /// Pauses this source until the callbacks that it overwhelms have caught up, or until the
    /// connection is closed.
    async fn wait_for_callbacks(&mut self) {
        let _held = self.outbox.hold_reader();
        for question in std::mem::take(&mut self.burst.crowded) {
            first(question.room(), self.outbox_closed()).await;
        }
    }
}
