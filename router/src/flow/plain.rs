// SPDX-License-Identifier: MIT OR Apache-2.0

//! The short way of the message that nearly all are: a put with nothing beside its payload, or with a number, for other
//! nodes alone. Its head differs from the last one's in the payload's length and that number only, so it is encoded once
//! for each neighbour and copied from then on.

use std::sync::Arc;

use zonda_codec::{CongestionControl, Put, Qos};
use zonda_transport::outbox::{self, Outbox, Refused};

use crate::{
    flow::{
        deliver,
        head::MESSAGE_BYTES_MAX,
        label::{Label, Labelled, Number, Unlabelled},
        passing::{Passed, Passing, Plain},
        route::Hop,
        tally::Tally,
        way::Way,
    },
    model::{Outcome, PublishError, Wait},
    node::shared::Shared,
};

/// A neighbour's head, and where it goes.
pub(crate) struct Ready<H> {
    outbox: Arc<Outbox>,
    head: H,
}

/// The prepared heads of one route, once there was a message for them.
#[derive(Default)]
pub(crate) struct Prepared {
    pub(crate) plain: Option<Heads<Unlabelled>>,
    pub(crate) numbered: Option<Heads<Number>>,
}

/// The prepared heads of messages of one kind.
pub(crate) struct Heads<L: Label> {
    qos: Qos,
    encoding: u16,
    /// The length of the payload that stands in them.
    payload_len: usize,
    /// What of its label does.
    shared: L::Shared,
    /// In the order of the route's neighbours; `None` if messages on this route have no short way.
    ready: Option<Box<[Ready<L::Head>]>>,
}

impl<L: Label> Heads<L> {
    /// Prepares the heads for messages like this one. A route that has no short way gets heads that fit no message.
    pub(crate) fn new(shared: &Shared, way: &Way, message: Labelled<'_, L>) -> Heads<L> {
        let (Labelled { plain, label }, route) = (message, &way.route);
        let simple = plain.qos.congestion_control() != CongestionControl::BlockFirst;
        let short = simple && !shared.stamps && route.local.is_empty() && route.hooked.is_none();
        let mut put = Put::new(&[]);
        put.encoding.id = plain.encoding;
        let prepare = |hop: &Hop| {
            let head = L::prepare(hop.head(plain.qos), &put, way.source)?;
            let outbox = Arc::clone(&hop.outbox);
            Some(Ready { outbox, head })
        };
        let ready = short.then(|| route.remote.iter().map(prepare).collect());
        let mut heads = Heads {
            qos: plain.qos,
            encoding: plain.encoding,
            payload_len: 0,
            shared: label.shared(),
            ready: ready.flatten(),
        };
        heads.complete(0, label);
        heads
    }

    /// Those of a message with a payload of that length; `None` if they do not fit it.
    #[inline(always)]
    pub(crate) fn of(
        &mut self,
        message: Labelled<'_, L>,
        payload_len: usize,
    ) -> Option<&[Ready<L::Head>]> {
        let Labelled { plain, label } = message;
        let fit = self.qos == plain.qos
            && self.encoding == plain.encoding
            && ((self.payload_len == payload_len && self.shared == label.shared())
                || self.complete(payload_len, label));
        self.ready.as_deref().filter(|_| fit)
    }

    /// Writes another length and another label into all of them; tells whether it could.
    #[inline(never)]
    fn complete(&mut self, payload_len: usize, label: L) -> bool {
        if payload_len > MESSAGE_BYTES_MAX {
            return false;
        }
        (self.payload_len, self.shared) = (payload_len, label.shared());
        let mut ready = self.ready.iter_mut().flatten();
        let done = ready.all(|one| label.complete(&mut one.head, payload_len).is_some());
        if !done {
            // They differ in their lengths now.
            self.ready = None;
        }
        done
    }
}

impl Shared {
    /// As [`Shared::dispatch`], with the [heads](Heads::of) of the message. It is counted.
    #[inline(always)]
    pub(crate) fn dispatch_plain<L: Label>(
        &self,
        way: &Way,
        ready: &[Ready<L::Head>],
        message: Labelled<'_, L>,
        payload: &[u8],
        wait: Wait,
    ) -> Passing {
        if self.is_closed() {
            return self.dispatch_unusual(way, message, wait);
        }
        let mut passed = Passed::Sent;
        let offered = match ready {
            // Most publishers have one neighbour. Without the loop it stays in registers.
            [one] => offer(one, message, payload, &mut passed).map_err(|refused| (0, refused)),
            all => offer_each(all, message, payload, &mut passed),
        };
        if let Err((index, refused)) = offered {
            let rest = Rest {
                index,
                refused,
                passed,
            };
            return self.dispatch_refused(way, &rest, message, wait);
        }
        way.tally.count(passed, payload.len());
        Passing {
            passed,
            unusual: None,
        }
    }

    /// As [`Shared::dispatch_plain`] for one neighbour that takes it. Else nothing is done, and nothing counted.
    #[inline(always)]
    pub(crate) fn dispatch_plain_at_once<L: Label>(
        &self,
        way: &Way,
        ready: &[Ready<L::Head>],
        message: Labelled<'_, L>,
        payload: &[u8],
    ) -> Option<Passed> {
        let [one] = ready else { return None };
        if self.is_closed() {
            return None;
        }
        let mut passed = Passed::Sent;
        offer(one, message, payload, &mut passed).ok()?;
        way.tally.count(passed, payload.len());
        Some(passed)
    }

    #[inline(never)]
    pub(crate) fn dispatch_unusual<L: Label>(
        &self,
        way: &Way,
        message: Labelled<'_, L>,
        wait: Wait,
    ) -> Passing {
        let result = self.dispatch(&way.route, &message.publication(way.source), wait);
        unusual(result, message.plain, &way.tally)
    }

    #[cold]
    fn dispatch_refused<L: Label>(
        &self,
        way: &Way,
        rest: &Rest,
        message: Labelled<'_, L>,
        wait: Wait,
    ) -> Passing {
        let publication = message.publication(way.source);
        let hops = way.route.remote.get(rest.index..).unwrap_or_default();
        let passed = rest.passed.into();
        let result = self.dispatch_rest(hops, rest.refused, &publication, wait, passed);
        unusual(result, message.plain, &way.tally)
    }
}

/// Where a message stopped on its short way.
struct Rest {
    /// The place of the neighbour that refused it.
    index: usize,
    refused: Refused,
    /// What became of it before.
    passed: Passed,
}

/// Offers it to one neighbour, and notes if it did not leave at once.
#[inline(always)]
fn offer<L: Label>(
    ready: &Ready<L::Head>,
    message: Labelled<'_, L>,
    payload: &[u8],
    passed: &mut Passed,
) -> Result<(), Refused> {
    let Labelled { plain, label } = message;
    let prepared = outbox::Prepared {
        head: label.front(&ready.head),
        body: plain,
        payload,
    };
    if deliver::offer(&ready.outbox, &plain.qos, prepared)? == Passed::Queued {
        *passed = Passed::Queued;
    }
    Ok(())
}

/// Offers it to each neighbour up to one that refuses it, whose place is returned.
#[inline(never)]
fn offer_each<L: Label>(
    ready: &[Ready<L::Head>],
    message: Labelled<'_, L>,
    payload: &[u8],
    passed: &mut Passed,
) -> Result<(), (usize, Refused)> {
    if ready.is_empty() {
        *passed = Passed::Nobody;
    }
    for (index, one) in ready.iter().enumerate() {
        offer(one, message, payload, passed).map_err(|refused| (index, refused))?;
    }
    Ok(())
}

/// The result, counted, in two registers.
#[cold]
fn unusual(result: Result<Outcome, PublishError>, plain: &Plain<'_>, tally: &Tally) -> Passing {
    let bytes = plain.payload.as_slice().len();
    let passed = match result {
        Ok(Outcome::Sent) => Passed::Sent,
        Ok(Outcome::Queued) => Passed::Queued,
        Ok(Outcome::NoSubscriber) => Passed::Nobody,
        other => {
            tally.count_other(bytes, &other);
            return Passing {
                passed: Passed::Queued,
                unusual: Some(Box::new(other)),
            };
        }
    };
    tally.count(passed, bytes);
    Passing {
        passed,
        unusual: None,
    }
}
