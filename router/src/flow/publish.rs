// SPDX-License-Identifier: MIT OR Apache-2.0

//! Work of a publishing thread: it encodes the message into the lane of each neighbour on the
//! route, and calls each local subscriber. One lane lock per neighbour, no allocation, no hand-over
//! to another thread.

use std::{
    future::Future,
    pin::Pin,
    time::{Duration, Instant},
};

use zonda_codec::{
    CongestionControl, NodeId, Payload, Push, PushBody, TsStackBuf, WireExpr, ZenohId,
};
use zonda_runtime::guard::caught;
use zonda_transport::{
    log_limit::LogLimit,
    outbox::Refused,
    protocol::tx::{Outgoing, Tail},
};

use crate::{
    filter::FilteredRoute,
    flow::{
        backpressure, deliver,
        head::{HEADERS_BYTES_MAX, MESSAGE_BYTES_MAX, body},
        receiving::{Deliveries, Delivery, Opened},
        route::{Hop, Route},
        send_result::Accepted,
        stacked::{NoStack, Records, Stack},
    },
    model::{Outcome, Publication, PublishError, SampleKind, Value, Wait},
    node::{clock::ntp64_now, log::log_panic, shared::Shared},
};

/// Publication on its way to the hops of a route.
struct Sending<'a, S> {
    publication: &'a Publication<'a>,
    body: &'a PushBody<'a>,
    stack: S,
}

impl<S: Stack> Sending<'_, S> {
    /// Queues the message for one neighbour.
    #[inline]
    fn offer(&self, hop: &Hop) -> Result<Accepted, Refused> {
        let qos = self.publication.qos;
        let payload = match (self.publication.kind, self.publication.payload) {
            (SampleKind::Delete, _) => Tail::NONE,
            (SampleKind::Put, payload) => payload.into(),
        };
        let head = hop.head(qos).of(self.body, payload.bytes().len());
        let message = Outgoing {
            reliability: self.publication.reliability,
            head: &self.stack.front(head),
            payload,
        };
        deliver::offer(&hop.outbox, qos, &message)
    }

    /// Notes a neighbour's result. Returns true for a full neighbour that the sender will wait
    /// for.
    #[inline]
    fn note(
        &self,
        hop: &Hop,
        offered: Result<Accepted, Refused>,
        wait: Wait,
        verdict: &mut CombinedResult,
    ) -> bool {
        match offered {
            Ok(passed) => verdict.took(passed),
            Err(Refused::Full) if self.waits() && wait != Wait::Never => return true,
            Err(refused) => self.judge(hop, refused, None, verdict),
        }
        false
    }

    /// Notes that a neighbour did not take the message in the time that it had.
    fn judge(
        &self,
        hop: &Hop,
        refused: Refused,
        waited: Option<Duration>,
        verdict: &mut CombinedResult,
    ) {
        match refused {
            Refused::Full => verdict.failed(self.refused(hop, waited)),
            Refused::TooLong => verdict.failed(self.too_long(hop)),
            Refused::Closed => verdict.lost(hop.zid),
        }
    }

    /// Queues the message for a neighbour that had no room, waiting for room at most until
    /// `deadline`.
    #[cold]
    fn insist(&self, hop: &Hop, shared: &Shared, deadline: Instant) -> Result<Accepted, Refused> {
        let priority = self.publication.qos.priority();
        loop {
            match self.offer(hop) {
                Err(Refused::Full)
                    if backpressure::wait_for_room(shared, &hop.outbox, priority, deadline) => {}
                done => return done,
            }
        }
    }

    /// Waits for every slow neighbour in turn; all of them together get no more than `limit`.
    fn insist_all(
        &self,
        slow: &[&Hop],
        shared: &Shared,
        limit: Duration,
        verdict: &mut CombinedResult,
    ) {
        if slow.is_empty() {
            return;
        }
        let deadline = zonda_runtime::after(limit);
        for hop in slow {
            let result = self.insist(hop, shared, deadline);
            self.note_end(hop, result, limit, verdict);
        }
    }

    /// Notes the result of a wait of `limit` at most for a neighbour.
    fn note_end(
        &self,
        hop: &Hop,
        result: Result<Accepted, Refused>,
        limit: Duration,
        verdict: &mut CombinedResult,
    ) {
        match result {
            Ok(passed) => verdict.took(passed),
            Err(refused) => self.judge(hop, refused, Some(limit), verdict),
        }
    }

    /// Queues like [`insist`](Self::insist), without blocking the thread.
    async fn insist_async(
        &self,
        hop: &Hop,
        shared: &Shared,
        deadline: Instant,
    ) -> Result<Accepted, Refused> {
        let priority = self.publication.qos.priority();
        loop {
            match self.offer(hop) {
                Err(Refused::Full)
                    if backpressure::room_by(shared, &hop.outbox, priority, deadline).await => {}
                done => return done,
            }
        }
    }

    /// Returns the error of a full queue for a publication that may not wait (any longer).
    fn refused(&self, hop: &Hop, waited: Option<Duration>) -> PublishError {
        let (peer, priority) = (hop.zid, self.publication.qos.priority());
        match (self.publication.qos.congestion_control(), waited) {
            (CongestionControl::Block, waited) => {
                hop.outbox.count_refused(priority);
                match waited {
                    None => PublishError::WouldBlock { peer },
                    Some(after) => PublishError::Timeout { peer, after },
                }
            }
            // the outbox counted it when it was dropped
            _ => PublishError::Dropped { peer },
        }
    }

    /// Returns the error of a message that no batch can hold.
    #[cold]
    fn too_long(&self, hop: &Hop) -> PublishError {
        let publication = self.publication;
        let size = publication.payload.size() + publication.attachment.map_or(0, <[u8]>::len);
        match hop.outbox.message_bytes_max() {
            Some(limit) => PublishError::TooLargeForLink {
                peer: hop.zid,
                size,
                limit,
            },
            None => PublishError::FieldTooLong,
        }
    }

    fn waits(&self) -> bool {
        self.publication.qos.congestion_control() == CongestionControl::Block
    }
}

/// Results at several neighbours, combined into one: the first failure, else a lost link, else the
/// slowest success.
struct CombinedResult {
    outcome: Outcome,
    failure: Option<PublishError>,
}

impl CombinedResult {
    fn on(route: &Route) -> Self {
        let outcome = match route.leads_nowhere() {
            true => Outcome::NoSubscriber,
            false => Outcome::Sent,
        };
        Self {
            outcome,
            failure: None,
        }
    }

    #[inline]
    fn took(&mut self, passed: Accepted) {
        if passed == Accepted::Queued && self.outcome == Outcome::Sent {
            self.outcome = Outcome::Queued;
        }
    }

    fn lost(&mut self, peer: ZenohId) {
        self.outcome = Outcome::LinkLost { peer };
    }

    fn failed(&mut self, failure: PublishError) {
        self.failure.get_or_insert(failure);
    }

    #[inline]
    fn end(self) -> Result<Outcome, PublishError> {
        match self.failure {
            None => Ok(self.outcome),
            Some(failure) => Err(failure),
        }
    }
}

/// Rest of the neighbours on a route, of which the first has refused a message.
pub(crate) struct Refusal<'h> {
    pub(crate) hops: &'h [Hop],
    pub(crate) refused: Refused,
    /// Fate of the message at the neighbours before.
    pub(crate) outcome: Outcome,
}

/// Publishes to all destinations of `route`. The sender waits for neighbours without room, if
/// at all, only after all other destinations have the message.
pub(crate) fn dispatch(
    shared: &Shared,
    route: &Route,
    publication: &Publication<'_>,
    wait: Wait,
) -> Result<Outcome, PublishError> {
    dispatch_with(NoStack, shared, route, publication, wait)
}

/// Publishes like [`dispatch`], with a time-stamp stack.
#[cold]
pub(crate) fn dispatch_stacked(
    shared: &Shared,
    route: &Route,
    publication: &Publication<'_>,
    wait: Wait,
) -> Result<Outcome, PublishError> {
    match Records::new(shared, route, publication) {
        None => dispatch(shared, route, publication, wait),
        Some(records) => dispatch_with(&records, shared, route, publication, wait),
    }
}

#[inline(always)]
fn dispatch_with(
    stack: impl Stack,
    shared: &Shared,
    route: &Route,
    publication: &Publication<'_>,
    wait: Wait,
) -> Result<Outcome, PublishError> {
    let mut route = route;
    if let Some(filtered) = &route.filtered {
        match filtered.unfiltered(publication.kind.into()) {
            Some(passing) => route = passing,
            None => return dispatch_filtered(stack, shared, filtered, publication, wait),
        }
    }
    let body = checked_body(shared, publication)?;
    let sending = Sending {
        publication,
        body: &body,
        stack,
    };
    // neighbours and local subscribers that take the message at once come first
    let mut verdict = CombinedResult::on(route);
    let mut slow = Vec::new();
    for hop in &route.remote {
        let offered = sending.offer(hop);
        if sending.note(hop, offered, wait, &mut verdict) {
            slow.push(hop);
        }
    }
    if !route.local.is_empty() {
        let received = stack.received(shared);
        deliver_local(received, route, publication, body);
    }
    // the slow ones share the time limit
    if let Wait::AtMost(limit) = wait {
        sending.insist_all(&slow, shared, limit, &mut verdict);
    }
    verdict.end()
}

/// Continues with a message for other nodes alone after a neighbour has refused it.
#[cold]
pub(crate) fn dispatch_rest(
    shared: &Shared,
    refusal: &Refusal<'_>,
    publication: &Publication<'_>,
    wait: Wait,
) -> Result<Outcome, PublishError> {
    let body = checked_body(shared, publication)?;
    let sending = Sending {
        publication,
        body: &body,
        stack: NoStack,
    };
    let mut verdict = CombinedResult {
        outcome: refusal.outcome,
        failure: None,
    };
    let mut slow = Vec::new();
    // the first hop's refusal is known, the rest are asked now
    let mut refused = Some(refusal.refused);
    for hop in refusal.hops {
        let offered = match refused.take() {
            Some(refused) => Err(refused),
            None => sending.offer(hop),
        };
        if sending.note(hop, offered, wait, &mut verdict) {
            slow.push(hop);
        }
    }
    // slow neighbours are waited for last
    if let Wait::AtMost(limit) = wait {
        sending.insist_all(&slow, shared, limit, &mut verdict);
    }
    verdict.end()
}

/// Publishes without ever blocking the thread: under `Block` it waits asynchronously for
/// neighbours without room, after all other destinations have the message; all of them together
/// get no more than `limit`.
pub(crate) fn dispatch_async<'a>(
    shared: &'a Shared,
    route: &'a Route,
    publication: &'a Publication<'a>,
    limit: Duration,
) -> impl Future<Output = Result<Outcome, PublishError>> + 'a {
    dispatch_async_with(NoStack, shared, route, publication, limit)
}

/// Publishes like [`dispatch_async`], with a time-stamp stack. Boxed because it is rare and would
/// make every future larger.
#[cold]
pub(crate) fn dispatch_async_stacked<'a>(
    shared: &'a Shared,
    route: &'a Route,
    publication: &'a Publication<'a>,
    limit: Duration,
) -> Pin<Box<dyn Future<Output = Result<Outcome, PublishError>> + Send + 'a>> {
    Box::pin(async move {
        match Records::new(shared, route, publication) {
            None => dispatch_async(shared, route, publication, limit).await,
            Some(records) => dispatch_async_with(&records, shared, route, publication, limit).await,
        }
    })
}

async fn dispatch_async_with(
    stack: impl Stack,
    shared: &Shared,
    route: &Route,
    publication: &Publication<'_>,
    limit: Duration,
) -> Result<Outcome, PublishError> {
    let mut route = route;
    if let Some(filtered) = &route.filtered {
        match filtered.unfiltered(publication.kind.into()) {
            Some(passing) => route = passing,
            None => {
                return dispatch_filtered_async(stack, shared, filtered, publication, limit).await;
            }
        }
    }
    let body = checked_body(shared, publication)?;
    let sending = Sending {
        publication,
        body: &body,
        stack,
    };
    // neighbours and local subscribers that take the message at once come first
    let mut verdict = CombinedResult::on(route);
    let mut slow = Vec::new();
    let wait = Wait::AtMost(limit);
    for hop in &route.remote {
        let offered = sending.offer(hop);
        if sending.note(hop, offered, wait, &mut verdict) {
            slow.push(hop);
        }
    }
    if !route.local.is_empty() {
        let received = stack.received(shared);
        deliver_local(received, route, publication, body);
    }
    // the slow ones share the time that is left
    if slow.is_empty() {
        return verdict.end();
    }
    let deadline = zonda_runtime::after(limit);
    for hop in slow {
        let result = sending.insist_async(hop, shared, deadline).await;
        sending.note_end(hop, result, limit, &mut verdict);
    }
    verdict.end()
}

/// Publishes to the destinations of a route whose filters let the message pass.
#[cold]
fn dispatch_filtered(
    stack: impl Stack,
    shared: &Shared,
    filtered: &FilteredRoute,
    publication: &Publication<'_>,
    wait: Wait,
) -> Result<Outcome, PublishError> {
    let body = checked_body(shared, publication)?;
    let sending = Sending {
        publication,
        body: &body,
        stack,
    };
    let mut verdict = CombinedResult::on(filtered.route());
    let slow = offer_filtered(shared, filtered, &sending, wait, &mut verdict);
    if let (Wait::AtMost(limit), false) = (wait, slow.is_empty()) {
        let deadline = zonda_runtime::after(limit);
        for (hop, publication) in &slow {
            let sending = Sending {
                publication,
                ..sending
            };
            let result = sending.insist(hop, shared, deadline);
            sending.note_end(hop, result, limit, &mut verdict);
        }
    }
    verdict.end()
}

/// Publishes like [`dispatch_filtered`], without blocking the thread. Boxed because it is rare and
/// would make every future larger.
fn dispatch_filtered_async<'a>(
    stack: impl Stack + 'a,
    shared: &'a Shared,
    filtered: &'a FilteredRoute,
    publication: &'a Publication<'a>,
    limit: Duration,
) -> Pin<Box<dyn Future<Output = Result<Outcome, PublishError>> + Send + 'a>> {
    Box::pin(async move {
        let body = checked_body(shared, publication)?;
        let sending = Sending {
            publication,
            body: &body,
            stack,
        };
        let mut verdict = CombinedResult::on(filtered.route());
        let wait = Wait::AtMost(limit);
        let slow = offer_filtered(shared, filtered, &sending, wait, &mut verdict);
        let deadline = zonda_runtime::after(limit);
        for (hop, publication) in &slow {
            let sending = Sending {
                publication,
                ..sending
            };
            let result = sending.insist_async(hop, shared, deadline).await;
            sending.note_end(hop, result, limit, &mut verdict);
        }
        verdict.end()
    })
}

/// Offers a message to the destinations of a route whose filters let it pass. Returns the
/// neighbours that the sender will wait for, each with the message as it passes there.
fn offer_filtered<'f, 'p>(
    shared: &Shared,
    filtered: &'f FilteredRoute,
    sending: &Sending<'p, impl Stack>,
    wait: Wait,
    verdict: &mut CombinedResult,
) -> Vec<(&'f Hop, Publication<'p>)> {
    let mut slow = Vec::new();
    let publication = sending.publication;
    // filters of the source and of each neighbour decide once, and may change the QoS
    let Some(message) = filtered.enter(publication.into()) else {
        return slow;
    };
    for (hop, qos) in filtered.hops(message) {
        let publication = Publication {
            qos,
            ..*publication
        };
        let sending = Sending {
            publication: &publication,
            ..*sending
        };
        if sending.note(hop, sending.offer(hop), wait, verdict) {
            slow.push((hop, publication));
        }
    }
    // this node's own subscribers have no filters
    if !filtered.route().local.is_empty() {
        let qos = message.qos;
        let publication = Publication {
            qos,
            ..*publication
        };
        let received = sending.stack.received(shared);
        deliver_local(received, filtered.route(), &publication, *sending.body);
    }
    slow
}

#[inline]
fn checked_body<'a>(
    shared: &Shared,
    publication: &Publication<'a>,
) -> Result<PushBody<'a>, PublishError> {
    if shared.is_closed() {
        return Err(shared.cannot_publish());
    }
    let size = publication.payload.size() + publication.attachment.map_or(0, <[u8]>::len);
    if size > MESSAGE_BYTES_MAX {
        check_huge(shared, size)?;
    }
    let timestamp = match (publication.timestamp, publication.kind) {
        // deletions keep their timestamps
        (given @ Some(_), SampleKind::Delete) => given,
        (given, _) if shared.timestamps.are_given() => {
            let stamp = shared.timestamps.stamp(given.as_ref(), ntp64_now);
            stamp.map_err(PublishError::TooFarAhead)?.or(given)
        }
        (given, _) => given,
    };
    Ok(body(publication, timestamp))
}

/// Checks a message beyond the default limit of other nodes. A node that is configured to
/// accept more may send as much: its neighbours are assumed to be configured alike.
#[cold]
fn check_huge(shared: &Shared, size: usize) -> Result<(), PublishError> {
    let own = shared.settings.max_message_size;
    let limit = own.saturating_sub(HEADERS_BYTES_MAX).max(MESSAGE_BYTES_MAX);
    if size > limit {
        return Err(PublishError::TooLarge { size, limit });
    }
    Ok(())
}

/// Calls the node's own subscribers, on the publishing thread, with no lock held.
#[cold]
fn deliver_local(
    stack: Option<TsStackBuf>,
    route: &Route,
    publication: &Publication<'_>,
    body: PushBody<'_>,
) {
    // callbacks may keep parts of a payload, so a borrowed one is copied
    let block = match publication.payload {
        Value::Borrowed(bytes) => Payload::from(bytes),
        Value::Shared(payload) => payload.clone(),
    };
    // the same body, with the shorter lifetime of `block`
    let mut body: PushBody<'_> = body;
    if let PushBody::Put(put) = &mut body {
        put.payload = block.as_slice();
    }
    let push = Push {
        wire_expr: WireExpr::full(route.key.as_str()),
        qos: publication.qos,
        timestamp: None,
        node_id: NodeId::ITSELF,
        ts_stack: stack.as_ref().map(TsStackBuf::view),
        body,
    };
    let mut opened: Vec<Opened> = route.local.iter().filter_map(|sink| sink.open()).collect();
    call(
        &opened,
        &Delivery {
            key: &route.key,
            push: &push,
            block: block.as_zslice(),
            reliability: publication.reliability,
        },
    );
    let_go(&mut opened);
}

/// Calls every subscriber; a panic of one affects neither the remaining calls nor the caller.
#[inline]
pub(crate) fn call(subscribers: &[Opened], delivery: &Delivery<'_>) {
    for subscriber in subscribers {
        guarded(delivery, || subscriber.take(delivery));
    }
}

/// Calls a subscriber with messages like `like`. If it panics, the rest of the run is left in
/// `run`.
#[inline]
pub(crate) fn call_run(subscriber: &Opened, like: &Delivery<'_>, run: &mut Deliveries<'_, '_>) {
    guarded(like, || subscriber.take_run(like, run));
}

#[inline]
fn guarded(delivery: &Delivery<'_>, call: impl FnOnce()) {
    if caught(call).is_err() {
        static PANICKED: LogLimit = LogLimit::new();
        let key = delivery.key;
        log_panic(
            &PANICKED,
            format_args!("a subscriber's callback on {key} panicked; the message is lost for it"),
        );
    }
}

/// Releases subscribers. User values may be dropped with them; a panic of their destructors is
/// caught and logged.
pub(crate) fn let_go(subscribers: &mut Vec<Opened>) {
    if caught(|| subscribers.clear()).is_err() {
        static PANICKED: LogLimit = LogLimit::new();
        let text = "what belonged to a subscriber's callback panicked while it was dropped";
        log_panic(&PANICKED, format_args!("{text}"));
    }
}
