// SPDX-License-Identifier: MIT OR Apache-2.0

//! The short way of the message that nearly all are: a put with nothing beside its payload, for other nodes alone. Its
//! head differs from the last one's in the payload's length only, so it is encoded once for each neighbour and copied
//! from then on.

use std::sync::Arc;

use zonda_codec::{CongestionControl, PreparedHead, Put, Qos};
use zonda_transport::outbox::{Outbox, Prepared, Refused};

use crate::{
    flow::{
        deliver,
        head::MESSAGE_BYTES_MAX,
        passing::{Passed, Passing, Plain},
        route::{Hop, Route},
        tally::Tally,
        way::Way,
    },
    model::{Outcome, PublishError, Wait},
    node::shared::Shared,
};

/// A neighbour's head, and where it goes.
pub(crate) struct Ready {
    outbox: Arc<Outbox>,
    prepared: PreparedHead,
}

/// The prepared heads of one route.
pub(crate) struct Heads {
    qos: Qos,
    encoding: u16,
    /// The length of the payload that stands in them.
    payload_len: usize,
    /// In the order of the route's neighbours; `None` if messages on this route have no short way.
    prepared: Option<Box<[Ready]>>,
}

impl Heads {
    /// Prepares the heads for messages like `plain`. A route that has no short way gets heads that fit no message.
    pub(crate) fn new(shared: &Shared, route: &Route, plain: &Plain<'_>) -> Heads {
        let simple = plain.qos.congestion_control() != CongestionControl::BlockFirst;
        let short = simple && !shared.stamps && route.local.is_empty() && route.hooked.is_none();
        let mut put = Put::new(&[]);
        put.encoding.id = plain.encoding;
        let prepare = |hop: &Hop| {
            let prepared = hop.head(plain.qos).prepare(&put)?;
            let outbox = Arc::clone(&hop.outbox);
            Some(Ready { outbox, prepared })
        };
        let prepared = short.then(|| route.remote.iter().map(prepare).collect());
        Heads {
            qos: plain.qos,
            encoding: plain.encoding,
            payload_len: 0,
            prepared: prepared.flatten(),
        }
    }

    /// Those of `plain`, with its length; `None` if they do not fit it.
    #[inline(always)]
    pub(crate) fn of(&mut self, plain: &Plain<'_>, payload_len: usize) -> Option<&[Ready]> {
        let fit = self.qos == plain.qos
            && self.encoding == plain.encoding
            && (self.payload_len == payload_len || self.complete(payload_len));
        self.prepared.as_deref().filter(|_| fit)
    }

    /// Writes another length into all of them; tells whether it could.
    #[inline(never)]
    fn complete(&mut self, payload_len: usize) -> bool {
        if payload_len > MESSAGE_BYTES_MAX {
            return false;
        }
        self.payload_len = payload_len;
        let mut heads = self.prepared.iter_mut().flatten();
        let done = heads.all(|head| head.prepared.complete(payload_len).is_some());
        if !done {
            // They differ in their lengths now.
            self.prepared = None;
        }
        done
    }
}

impl Shared {
    /// As [`Shared::dispatch`], with the [heads](Heads::of) of the message. It is counted.
    #[inline(always)]
    pub(crate) fn dispatch_plain(
        &self,
        way: &Way,
        ready: &[Ready],
        plain: &Plain<'_>,
        payload: &[u8],
        wait: Wait,
    ) -> Passing {
        if self.is_closed() {
            return self.dispatch_unusual(way, plain, wait);
        }
        let mut passed = Passed::Sent;
        let offered = match ready {
            // Most publishers have one neighbour. Without the loop it stays in registers.
            [one] => offer(one, plain, payload, &mut passed).map_err(|refused| (0, refused)),
            all => offer_each(all, plain, payload, &mut passed),
        };
        if let Err((index, refused)) = offered {
            let rest = way.route.remote.get(index..).unwrap_or_default();
            let result = self.dispatch_refused(rest, refused, plain, wait, passed);
            return unusual(result, plain, &way.tally);
        }
        way.tally.count(passed, payload.len());
        Passing {
            passed,
            unusual: None,
        }
    }

    #[inline(never)]
    pub(crate) fn dispatch_unusual(&self, way: &Way, plain: &Plain<'_>, wait: Wait) -> Passing {
        let result = self.dispatch(&way.route, &(*plain).into(), wait);
        unusual(result, plain, &way.tally)
    }

    #[cold]
    fn dispatch_refused(
        &self,
        rest: &[Hop],
        refused: Refused,
        plain: &Plain<'_>,
        wait: Wait,
        passed: Passed,
    ) -> Result<Outcome, PublishError> {
        let publication = (*plain).into();
        self.dispatch_rest(rest, refused, &publication, wait, passed.into())
    }
}

/// Offers it to one neighbour, and notes if it did not leave at once.
#[inline(always)]
fn offer(
    ready: &Ready,
    plain: &Plain<'_>,
    payload: &[u8],
    passed: &mut Passed,
) -> Result<(), Refused> {
    let message = Prepared {
        head: ready.prepared.whole(),
        body: plain,
        payload,
    };
    if deliver::offer(&ready.outbox, &plain.qos, message)? == Passed::Queued {
        *passed = Passed::Queued;
    }
    Ok(())
}

/// Offers it to each neighbour up to one that refuses it, whose place is returned.
#[inline(never)]
fn offer_each(
    ready: &[Ready],
    plain: &Plain<'_>,
    payload: &[u8],
    passed: &mut Passed,
) -> Result<(), (usize, Refused)> {
    for (index, one) in ready.iter().enumerate() {
        offer(one, plain, payload, passed).map_err(|refused| (index, refused))?;
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
