// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a connection's reading task does with messages that are alike but for payload and time: one look at the route,
//! one lock of each neighbour's lane, and the head of the copies is written once for all of them.

use std::sync::Arc;

use zonda_codec::{Copied, Push, PushBody, PushHead, PushRun, Stencil, Timestamp};
use zonda_transport::{
    outbox::Queue,
    protocol::{
        rx::Context,
        tx::{Outgoing, SHARE_BYTES_MIN, Tail},
    },
};

use crate::{
    flow::{
        burst::Burst,
        publish::{call, call_run},
        receiving::{Deliveries, Delivery},
        route::{Hop, Route},
        sheet::{SHEET_BYTES_MAX, Sheet},
    },
    node::shared::Shared,
};

/// Messages like `push`, on their way through this node.
pub(crate) struct Alike<'r, 'a> {
    pub(crate) push: &'r Push<'a>,
    pub(crate) context: &'r Context<'r>,
    pub(crate) shared: &'r Shared,
}

impl<'a> Alike<'_, 'a> {
    /// Hands the messages of `run` on along a route that leads either out or to subscribers of this node, else leaves them.
    pub(crate) fn pass(&self, route: &Arc<Route>, run: &mut PushRun<'a>, burst: &mut Burst) {
        match (route.remote.is_empty(), route.local.is_empty()) {
            (false, true) => self.forward(route, run, burst),
            (true, false) if !self.shared.stamps => self.deliver(route, run, burst),
            (true, true) => run.by_ref().for_each(drop),
            (_, false) => {}
        }
    }

    /// Queues the messages of `run` for every neighbour on the route. If they need more than a new head they are left in
    /// it.
    pub(crate) fn forward(&self, route: &Route, run: &mut PushRun<'a>, burst: &mut Burst) {
        if !self.push.is_head_and_body() {
            return;
        }
        let Ok(first) = self.shared.stamp_run(self.push, run, || burst.now()) else {
            return;
        };
        let before = run.left();
        let mut paper = std::mem::take(&mut burst.paper);
        let sheet = self.sheet(route, first, run, &mut paper);
        let mut end = None;
        for hop in &route.remote {
            let copies = Copies {
                head: hop.head(self.push.qos),
                first,
                run,
                sheet: sheet.as_ref(),
            };
            self.queue(hop, &copies, &mut end, burst);
        }
        match end.or(sheet.map(|sheet| sheet.end)) {
            Some(end) => *run = end,
            // Nobody took all of them.
            None => run.by_ref().for_each(drop),
        }
        burst.paper = paper;
        burst.worked((before - run.left()) * route.remote.len());
    }

    /// Gives the messages of `run` to the subscribers of a route that leads to them alone. A change of the routes is seen by
    /// the next message: what is left is on other ways.
    pub(crate) fn deliver(&self, route: &Arc<Route>, run: &mut PushRun<'a>, burst: &mut Burst) {
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
            // Each message goes to all of them before the next one does.
            all => run.one_by_one(&like, |delivery| call(all, delivery)),
        }
        let done = before - run.run.left();
        burst.worked(done * route.local.len());
    }

    /// The copies for the first of several neighbours, which are small as a rule those for the others as well.
    fn sheet<'s>(
        &self,
        route: &'s Route,
        first: Option<Timestamp>,
        run: &PushRun<'a>,
        paper: &'s mut Vec<u8>,
    ) -> Option<Sheet<'s, 'a>> {
        let [hop, _, ..] = &*route.remote else {
            return None;
        };
        let PushBody::Put(put) = &self.push.body else {
            return None;
        };
        let copy_bytes = Stencil::ID_BYTES_MAX + put.payload.len();
        if copy_bytes.saturating_mul(run.left()) > SHEET_BYTES_MAX {
            return None;
        }
        let head = hop.head(self.push.qos);
        let stencil = head.stencil(first, SHARE_BYTES_MIN, run);
        Sheet::write(head, &stencil, run.clone(), paper)
    }

    /// Queues the messages for one neighbour. `end` is the end of the run if it was found on the way.
    fn queue(
        &self,
        hop: &Hop,
        copies: &Copies<'_, 'a>,
        end: &mut Option<PushRun<'a>>,
        burst: &mut Burst,
    ) {
        let copy = |queue: &mut Queue<'_>| {
            if !self.repeat(queue, copies) {
                *end = self.fill(queue, copies).or(end.take());
            }
        };
        burst.downstream.pass_run(&hop.outbox, self.push.qos, copy);
    }

    /// Queues the copies that are written already, if they are for this neighbour as well and fit as they are.
    fn repeat(&self, queue: &mut Queue<'_>, copies: &Copies<'_, 'a>) -> bool {
        let sheet = copies.sheet.filter(|sheet| sheet.is_for(&copies.head));
        sheet.is_some_and(|sheet| {
            let reliability = self.context.reliability;
            queue.extend(reliability, |writer| sheet.copy(writer)) == Some(true)
        })
    }

    /// Queues the messages as far as they are taken; gives the end of the run if that is all of them.
    fn fill(&self, queue: &mut Queue<'_>, copies: &Copies<'_, 'a>) -> Option<PushRun<'a>> {
        let reliability = self.context.reliability;
        let mut run = copies.run.clone();
        let stencil = copies.head.stencil(copies.first, SHARE_BYTES_MIN, &run);
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

/// The messages for one neighbour.
struct Copies<'r, 'a> {
    head: PushHead<'r>,
    /// The timestamp of the first message, if this node gives them.
    first: Option<Timestamp>,
    run: &'r PushRun<'a>,
    /// Copies that are written already, for a neighbour that may spell the key otherwise.
    sheet: Option<&'r Sheet<'r, 'a>>,
}
