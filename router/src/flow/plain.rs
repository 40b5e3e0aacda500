// SPDX-License-Identifier: MIT OR Apache-2.0

//! Fast path of most messages: puts with only a payload, or with a number in addition, whose route
//! leads to other nodes alone. Successive heads differ only in the payload's length and that
//! number, so a head is encoded once for each neighbour and copied from then on.

use std::sync::Arc;

use zonda_codec::{CongestionControl, Put, Qos};
use zonda_transport::{
    outbox::{Outbox, Refused, VisitedLane},
    protocol::tx::Outgoing,
};

use crate::{
    config::MessageKind,
    flow::{
        cached_route::CachedRoute,
        deliver,
        head::MESSAGE_BYTES_MAX,
        numbering::{Number, NumberedPut, Numbering, Unnumbered},
        publish::{self, Refusal},
        route::Hop,
        send_result::{Accepted, Plain, SendResult},
        tally::Tally,
    },
    model::{Outcome, PublishError, Wait},
    node::shared::Shared,
};

/// Prepared head for one neighbour, with the neighbour's outbox.
pub(crate) struct HopTemplate<H> {
    outbox: Arc<Outbox>,
    head: H,
}

/// Prepared heads of one route, made with its first message.
#[derive(Default)]
pub(crate) struct HeaderTemplates {
    pub(crate) plain: Option<KindTemplates<Unnumbered>>,
    pub(crate) numbered: Option<KindTemplates<Number>>,
}

/// Prepared heads of messages of one kind.
pub(crate) struct KindTemplates<L: Numbering> {
    qos: Qos,
    encoding: u16,
    /// Length of the payload that is encoded in the heads.
    payload_len: usize,
    /// Shared part of the label that is encoded in the heads.
    shared: L::Shared,
    /// Heads in the order of the route's neighbours; `None` if messages on this route cannot take
    /// the fast path.
    ready: Option<Box<[HopTemplate<L::Head>]>>,
}

impl<L: Numbering> KindTemplates<L> {
    /// Prepares the heads for messages like this one. A route without a fast path gets heads that
    /// fit no message.
    pub(crate) fn new(
        shared: &Shared,
        way: &CachedRoute,
        message: NumberedPut<'_, L>,
    ) -> KindTemplates<L> {
        let NumberedPut { plain, numbering } = message;
        // stamps, filters, local subscribers and `BlockFirst` need the general path
        let simple = plain.qos.congestion_control() != CongestionControl::BlockFirst;
        let short = simple && !shared.timestamps.are_given();
        let route = way.route.unfiltered(MessageKind::Put);
        let route = route.filter(|route| short && route.local.is_empty());
        let mut put = Put::new(&[]);
        put.encoding.id = plain.encoding;
        let prepare = |hop: &Hop| {
            let head = L::prepare(hop.head(plain.qos), &put, way.source)?;
            let outbox = Arc::clone(&hop.outbox);
            Some(HopTemplate { outbox, head })
        };
        let ready = route.map(|route| route.remote.iter().map(prepare).collect());
        let mut heads = KindTemplates {
            qos: plain.qos,
            encoding: plain.encoding,
            payload_len: 0,
            shared: numbering.shared(),
            ready: ready.flatten(),
        };
        heads.complete(0, numbering);
        heads
    }

    /// Returns the heads of a message with a payload of that length; `None` if they do not fit it.
    #[inline(always)]
    pub(crate) fn of(
        &mut self,
        message: NumberedPut<'_, L>,
        payload_len: usize,
    ) -> Option<&[HopTemplate<L::Head>]> {
        let NumberedPut { plain, numbering } = message;
        if self.qos != plain.qos || self.encoding != plain.encoding {
            return None;
        }
        let is_complete = self.payload_len == payload_len && self.shared == numbering.shared();
        if !is_complete && !self.complete(payload_len, numbering) {
            return None;
        }
        self.ready.as_deref()
    }

    /// Updates the length and the label in all heads; returns true on success.
    #[inline(never)]
    fn complete(&mut self, payload_len: usize, numbering: L) -> bool {
        if payload_len > MESSAGE_BYTES_MAX {
            return false;
        }
        (self.payload_len, self.shared) = (payload_len, numbering.shared());
        let mut ready = self.ready.iter_mut().flatten();
        let done = ready.all(|one| numbering.complete(&mut one.head, payload_len).is_some());
        if !done {
            // some heads have the new length, some the old one
            self.ready = None;
        }
        done
    }
}

/// Node that publishes on a cached route.
#[derive(Clone, Copy)]
pub(crate) struct Publishing<'p> {
    pub(crate) shared: &'p Shared,
    pub(crate) way: &'p CachedRoute,
}

impl Publishing<'_> {
    /// Publishes like [`publish::dispatch`], with the heads of the message, and counts
    /// its fate.
    #[inline(always)]
    pub(crate) fn dispatch_plain<L: Numbering>(
        self,
        ready: &[HopTemplate<L::Head>],
        message: NumberedPut<'_, L>,
        payload: &[u8],
        wait: Wait,
    ) -> SendResult {
        match self.append(ready, message, payload) {
            Ok(passed) => taken(self.way, passed, payload.len()),
            Err(visit) => self.dispatch_long(visit, ready, message, wait),
        }
    }

    /// Appends the message to the next batch of its only neighbour, the path of nearly all
    /// messages. On failure the caller continues in the lane as it was left here.
    #[inline(always)]
    fn append<'a, L: Numbering>(
        self,
        ready: &'a [HopTemplate<L::Head>],
        message: NumberedPut<'_, L>,
        payload: &[u8],
    ) -> Result<Accepted, VisitedLane<'a>> {
        let [HopTemplate { outbox, head }] = ready else {
            return Err(VisitedLane::NONE);
        };
        if self.shared.is_closed() {
            return Err(VisitedLane::NONE);
        }
        let NumberedPut { plain, numbering } = message;
        let head = numbering.front(head);
        deliver::append(outbox, plain.qos, plain.reliability, &head, payload)
    }

    /// Publishes a message that begins a frame or a batch, is large or urgent, finds no room, or
    /// goes to no or several neighbours.
    #[inline(never)]
    fn dispatch_long<'a, L: Numbering>(
        self,
        visit: VisitedLane<'a>,
        ready: &'a [HopTemplate<L::Head>],
        message: NumberedPut<'_, L>,
        wait: Wait,
    ) -> SendResult {
        // a closed node and any other number of neighbours have paths of their own
        if self.shared.is_closed() {
            drop(visit);
            return self.dispatch_unusual(message, wait);
        }
        let [one] = ready else {
            return self.dispatch_each(ready, message, wait);
        };
        // a full neighbour may be waited for, on the general path
        match one.offer(visit, message) {
            Ok(passed) => taken(self.way, passed, message.plain.payload.size()),
            Err(refused) => {
                let rest = Rest {
                    index: 0,
                    refused,
                    passed: Accepted::Sent,
                };
                self.dispatch_refused(&rest, message, wait)
            }
        }
    }

    /// Offers the message to each neighbour up to one that refuses it.
    #[inline(never)]
    fn dispatch_each<L: Numbering>(
        self,
        ready: &[HopTemplate<L::Head>],
        message: NumberedPut<'_, L>,
        wait: Wait,
    ) -> SendResult {
        // the outcome is the worst of all neighbours
        let mut passed = match ready {
            [] => Accepted::NoSubscriber,
            _ => Accepted::Sent,
        };
        for (index, one) in ready.iter().enumerate() {
            match one.offer(VisitedLane::NONE, message) {
                Ok(Accepted::Queued) => passed = Accepted::Queued,
                Ok(_) => {}
                Err(refused) => {
                    let rest = Rest {
                        index,
                        refused,
                        passed,
                    };
                    return self.dispatch_refused(&rest, message, wait);
                }
            }
        }
        taken(self.way, passed, message.plain.payload.size())
    }

    /// Publishes like [`Publishing::dispatch_plain`], if there is one neighbour and it takes the
    /// message at once. Otherwise does nothing, and counts nothing.
    #[inline(always)]
    pub(crate) fn dispatch_plain_at_once<L: Numbering>(
        self,
        ready: &[HopTemplate<L::Head>],
        message: NumberedPut<'_, L>,
        payload: &[u8],
    ) -> Option<Accepted> {
        let passed = match self.append(ready, message, payload) {
            Ok(passed) => passed,
            Err(visit) => offer_at_once(self.shared, visit, ready, message)?,
        };
        self.way.tally.count(passed, payload.len());
        Some(passed)
    }

    #[inline(never)]
    pub(crate) fn dispatch_unusual<L: Numbering>(
        self,
        message: NumberedPut<'_, L>,
        wait: Wait,
    ) -> SendResult {
        let result = publish::dispatch(
            self.shared,
            &self.way.route,
            &message.publication(self.way.source),
            wait,
        );
        unusual(result, message.plain, &self.way.tally)
    }

    #[cold]
    fn dispatch_refused<L: Numbering>(
        self,
        rest: &Rest,
        message: NumberedPut<'_, L>,
        wait: Wait,
    ) -> SendResult {
        let publication = message.publication(self.way.source);
        let route = self.way.route.unfiltered(MessageKind::Put);
        let hops = route.and_then(|route| route.remote.get(rest.index..));
        let hops = hops.unwrap_or_default();
        let refusal = Refusal {
            hops,
            refused: rest.refused,
            outcome: rest.passed.into(),
        };
        let result = publish::dispatch_rest(self.shared, &refusal, &publication, wait);
        unusual(result, message.plain, &self.way.tally)
    }
}

#[inline(never)]
fn offer_at_once<'a, L: Numbering>(
    shared: &Shared,
    visit: VisitedLane<'a>,
    ready: &'a [HopTemplate<L::Head>],
    message: NumberedPut<'_, L>,
) -> Option<Accepted> {
    match ready {
        [one] if !shared.is_closed() => one.offer(visit, message).ok(),
        _ => None,
    }
}

/// State of a message whose fast path ended at a neighbour that refused it.
struct Rest {
    /// Index of the neighbour that refused the message.
    index: usize,
    refused: Refused,
    /// Fate of the message at the neighbours before.
    passed: Accepted,
}

impl<H> HopTemplate<H> {
    /// Offers the message to this neighbour.
    #[inline(always)]
    fn offer<'a, L: Numbering<Head = H>>(
        &'a self,
        visit: VisitedLane<'a>,
        message: NumberedPut<'_, L>,
    ) -> Result<Accepted, Refused> {
        let NumberedPut { plain, numbering } = message;
        let outgoing = Outgoing {
            reliability: plain.reliability,
            head: &numbering.front(&self.head),
            payload: plain.payload.into(),
        };
        deliver::offer_in(visit, &self.outbox, plain.qos, &outgoing)
    }
}

/// Counts a message that each neighbour took.
#[inline(always)]
fn taken(way: &CachedRoute, passed: Accepted, bytes: usize) -> SendResult {
    way.tally.count(passed, bytes);
    SendResult {
        passed,
        unusual: None,
    }
}

/// Counts the result, and returns it in two registers.
#[cold]
fn unusual(result: Result<Outcome, PublishError>, plain: &Plain<'_>, tally: &Tally) -> SendResult {
    let bytes = plain.payload.size();
    let passed = match result {
        Ok(Outcome::Sent) => Accepted::Sent,
        Ok(Outcome::Queued) => Accepted::Queued,
        Ok(Outcome::NoSubscriber) => Accepted::NoSubscriber,
        other => {
            tally.count_other(bytes, &other);
            return SendResult {
                passed: Accepted::Queued,
                unusual: Some(Box::new(other)),
            };
        }
    };
    tally.count(passed, bytes);
    SendResult {
        passed,
        unusual: None,
    }
}
