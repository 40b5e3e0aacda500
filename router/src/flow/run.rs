// SPDX-License-Identifier: MIT OR Apache-2.0

//! Handling of messages that are alike but for payload and time, in a connection's reading task:
//! one lookup of the route, one lock of each neighbour's lane, and one encoding of the head for all
//! copies.

use std::sync::Arc;

use zonda_codec::{Copied, HeaderTemplate, Push, PushBody, PushHead, PushRun, Qos, Timestamp};
use zonda_transport::{
    outbox::Queue,
    protocol::{
        rx::Context,
        tx::{Outgoing, SHARE_BYTES_MIN, Tail},
    },
};

use crate::{
    filter::{FilteredRoute, MessageView, view_of},
    flow::{
        encoded_run::{EncodedRun, SHEET_BYTES_MAX},
        publish::{call, call_run},
        read_cycle::ReadCycle,
        receiving::{Deliveries, Delivery},
        route::{Hop, Route},
    },
    node::shared::Shared,
};

/// Messages like `push`, on their way through this node.
pub(crate) struct RunForwarder<'r, 'a> {
    pub(crate) push: &'r Push<'a>,
    pub(crate) context: &'r Context<'r>,
    pub(crate) shared: &'r Shared,
}

impl<'a> RunForwarder<'_, 'a> {
    /// Forwards the messages of `run` along a route that leads either to neighbours or to
    /// subscribers of this node; leaves them in `run` otherwise.
    pub(crate) fn pass(&self, route: &Arc<Route>, run: &mut PushRun<'a>, burst: &mut ReadCycle) {
        match (route.remote.is_empty(), route.local.is_empty()) {
            (false, true) => self.forward(route, None, run, burst),
            (true, false) if !self.shared.timestamps.are_given() => self.deliver(route, run, burst),
            (true, true) => run.by_ref().for_each(drop),
            (_, false) => {}
        }
    }

    /// Forwards the messages of `run` along a route with filters, which decide once about each.
    /// Messages that have other destinations than neighbours, or need more than a new head, are left
    /// in `run` before the filters decide.
    #[cold]
    pub(crate) fn pass_filtered(
        &self,
        filtered: &FilteredRoute,
        run: &mut PushRun<'a>,
        burst: &mut ReadCycle,
    ) {
        let route = filtered.route();
        let is_stamped = matches!(&self.push.body, PushBody::Put(put) if put.timestamp.is_some());
        if !route.local.is_empty()
            || !self.push.is_head_and_body()
            || is_stamped && self.shared.timestamps.are_given()
        {
            return;
        }
        // messages in a row with the same decisions stay a run
        let first = view_of(self.push, self.context.reliability);
        let (mut passed, mut next) = (Vec::new(), Vec::new());
        let (mut rest, mut count) = (run.clone(), 0);
        loop {
            let again = rest.next();
            if let Some(again) = &again {
                let payload = again.payload.len();
                filtered.decide_all(MessageView { payload, ..first }, &mut next);
            }
            if count > 0 && (again.is_none() || next != passed) {
                let left = run.left() - count;
                run.limit(count);
                self.forward(route, Some(&passed), run, burst);
                run.limit(left);
                count = 0;
            }
            if again.is_none() {
                return;
            }
            std::mem::swap(&mut passed, &mut next);
            count += 1;
        }
    }

    /// Queues the messages of `run` for every neighbour on the route, or for those that filters have
    /// `passed`, by their position there, each with its QoS. If they need more than a new head they
    /// are left in `run`.
    ///
    /// One function serves both, so that the compiler inlines what it calls.
    fn forward(
        &self,
        route: &Route,
        passed: Option<&[Option<Qos>]>,
        run: &mut PushRun<'a>,
        burst: &mut ReadCycle,
    ) {
        let qos_at = |index: usize| match passed {
            None => Some(self.push.qos),
            Some(passed) => passed[index],
        };
        if !self.push.is_head_and_body() {
            return;
        }
        let Ok(first) = self
            .shared
            .timestamps
            .stamp_run(self.push, run, || burst.now())
        else {
            return;
        };
        // several neighbours share one encoding if the copies are small
        let before = run.left();
        let mut paper = std::mem::take(&mut burst.paper);
        let sheet = self.sheet(route, qos_at, first, run, &mut paper);
        let mut end = None;
        for (index, hop) in route.remote.iter().enumerate() {
            let Some(qos) = qos_at(index) else { continue };
            let copies = Copies {
                head: hop.head(qos),
                first,
                run,
                sheet: sheet.as_ref(),
            };
            self.queue(hop, qos, &copies, &mut end, burst);
        }
        // skip what is queued or dropped
        match end.or(sheet.map(|sheet| sheet.end)) {
            Some(end) => *run = end,
            // no neighbour took all of them, and the rest is dropped
            None => run.by_ref().for_each(drop),
        }
        burst.paper = paper;
        burst.worked((before - run.left()) * route.remote.len());
    }

    /// Delivers the messages of `run` to the subscribers of a route that leads to them alone. After
    /// a change of the routes the rest is left in `run` for other routes.
    pub(crate) fn deliver(&self, route: &Arc<Route>, run: &mut PushRun<'a>, burst: &mut ReadCycle) {
        let before = run.left();
        let like = Delivery {
            key: &route.key,
            push: self.push,
            block: self.context.block,
            reliability: self.context.reliability,
        };
        let mut run = Deliveries {
            run,
            validity: &route.validity,
        };
        match burst.open(route) {
            [only] => call_run(only, &like, &mut run),
            // each message goes to all subscribers before the next one does
            all => run.one_by_one(&like, |delivery| call(all, delivery)),
        }
        let done = before - run.run.left();
        burst.worked(done * route.local.len());
    }

    /// Encodes the copies for the first of several neighbours, which usually fit the rest as
    /// well. Returns `None` for a single neighbour or long messages.
    fn sheet<'s>(
        &self,
        route: &'s Route,
        qos_at: impl Fn(usize) -> Option<Qos>,
        first: Option<Timestamp>,
        run: &PushRun<'a>,
        paper: &'s mut Vec<u8>,
    ) -> Option<EncodedRun<'s, 'a>> {
        let [_, _, ..] = &*route.remote else {
            return None;
        };
        let PushBody::Put(put) = &self.push.body else {
            return None;
        };
        let copy_bytes = HeaderTemplate::ID_BYTES_MAX + put.payload.len();
        if copy_bytes.saturating_mul(run.left()) > SHEET_BYTES_MAX {
            return None;
        }
        let mut hops = route.remote.iter().enumerate();
        let head = hops.find_map(|(index, hop)| Some(hop.head(qos_at(index)?)))?;
        let stencil = head.stencil(first, SHARE_BYTES_MIN, run);
        EncodedRun::write(head, &stencil, run.clone(), paper)
    }

    /// Queues the messages for one neighbour. Sets `end` to the end of the run if it was found on
    /// the way.
    fn queue(
        &self,
        hop: &Hop,
        qos: Qos,
        copies: &Copies<'_, 'a>,
        end: &mut Option<PushRun<'a>>,
        burst: &mut ReadCycle,
    ) {
        let copy = |queue: &mut Queue<'_>| {
            if !self.repeat(queue, copies) {
                *end = self.fill(queue, copies).or(end.take());
            }
        };
        burst.downstream.pass_run(&hop.outbox, qos, copy);
    }

    /// Copies the encoded messages into the queue, if they are for this neighbour as well and fit
    /// without a change. Returns true on success.
    fn repeat(&self, queue: &mut Queue<'_>, copies: &Copies<'_, 'a>) -> bool {
        let sheet = copies.sheet.filter(|sheet| sheet.is_for(&copies.head));
        sheet.is_some_and(|sheet| {
            let reliability = self.context.reliability;
            queue.extend(reliability, |writer| sheet.copy(writer)) == Some(true)
        })
    }

    /// Queues the messages as far as the queue takes them; returns the end of the run if all were
    /// taken.
    fn fill(&self, queue: &mut Queue<'_>, copies: &Copies<'_, 'a>) -> Option<PushRun<'a>> {
        let reliability = self.context.reliability;
        let mut run = copies.run.clone();
        let stencil = copies.head.stencil(copies.first, SHARE_BYTES_MIN, &run);
        // small payloads are copied in one go; a message that does not fit that is pushed on its
        // own
        let mut number = 0;
        loop {
            let copied = queue.extend(reliability, |writer| {
                let copied = stencil.copy(number, writer, &mut run);
                (copied.number - number, copied)
            });
            let Copied {
                number: place,
                left,
            } = copied.unwrap_or_else(|| Copied {
                number,
                left: run.next(),
            });
            let Some(again) = left else {
                return Some(run);
            };
            let message = Outgoing {
                reliability,
                head: &stencil.one(&again, place),
                payload: Tail::Part {
                    block: self.context.block,
                    part: again.payload,
                },
            };
            if !queue.push(&message) {
                return None;
            }
            number = place + 1;
        }
    }
}

/// Messages for one neighbour.
struct Copies<'r, 'a> {
    head: PushHead<'r>,
    /// Timestamp of the first message, if this node gives timestamps.
    first: Option<Timestamp>,
    run: &'r PushRun<'a>,
    /// Copies that are encoded already, for a neighbour that may spell the key differently.
    sheet: Option<&'r EncodedRun<'r, 'a>>,
}
