// SPDX-License-Identifier: MIT OR Apache-2.0

//! Entry of messages into the outboxes of neighbours: the terms on which each is queued, when the
//! socket is written, and how the result affects the source. No other module of the node queues a
//! message.
//!
//! - [`keep`]: declarations, queries and replies, which no node repeats. They are never dropped;
//! - [`EgressWork::pass`], [`EgressWork::pass_run`]: messages that pass through this node. Their
//!   source pauses for lanes without room;
//! - [`append`], [`offer`], [`offer_later`]: messages of a session of this node, which waits for
//!   room by itself.

use std::sync::Arc;

use zonda_codec::{Encode, Priority, Qos, Reliability};
use zonda_transport::{
    outbox::{Items, Outbox, Overflow, Queue, Refused, Sent, VisitedLane, Write},
    protocol::tx::{Outgoing, Tail},
};

use crate::{
    flow::{
        congestion::{Congestion, Load},
        outboxes::Outboxes,
        send_result::Accepted,
    },
    model::Value,
};

/// Work at its neighbours that the messages of one source leave to the end of a burst.
#[derive(Default)]
pub(crate) struct EgressWork {
    /// Outboxes that got messages and must be flushed.
    pub(crate) touched: Outboxes,
    /// Lanes that exceeded their limits: the source pauses for them before the next read.
    pub(crate) congestion: Congestion,
}

/// Fate of messages that pass through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Queued {
    /// Dropped for want of room.
    Dropped,
    /// Queued, or discarded with their connection.
    Passed,
    /// Queued, and the lane is over its limit.
    Full,
}

impl EgressWork {
    /// Queues a message that passes through; returns false if it was dropped for want of room.
    #[inline]
    pub(crate) fn pass<E: Encode>(
        &mut self,
        outbox: &Arc<Outbox>,
        qos: Qos,
        message: &Outgoing<'_, E>,
    ) -> bool {
        let queued = self.queue(outbox, qos, Write::Later, message);
        if queued == Queued::Full && !is_alone(outbox, qos, message) {
            self.congestion.note(outbox, qos.priority(), Load::Data);
        }
        queued != Queued::Dropped
    }

    /// Queues the messages of a run that passes through. Full batches are written at once.
    #[inline]
    pub(crate) fn pass_run(
        &mut self,
        outbox: &Arc<Outbox>,
        qos: Qos,
        fill: impl FnOnce(&mut Queue<'_>),
    ) {
        if self.queue(outbox, qos, Write::FullBatches, fill) == Queued::Full {
            self.congestion.note(outbox, qos.priority(), Load::Data);
        }
    }

    #[inline(always)]
    fn queue(&mut self, outbox: &Arc<Outbox>, qos: Qos, write: Write, items: impl Items) -> Queued {
        let priority = qos.priority();
        let overflow = Overflow::under(qos.congestion_control(), Overflow::Pass);
        match outbox.enqueue(priority, overflow, write, items) {
            Ok(sent) => {
                self.touched.add(outbox);
                match overflow == Overflow::Pass && !sent.has_room {
                    true => Queued::Full,
                    false => Queued::Passed,
                }
            }
            // the end of a connection settles whatever waits for it
            Err(refused) => match refused {
                Refused::Full => Queued::Dropped,
                _ => Queued::Passed,
            },
        }
    }
}

/// Size in bytes from which on a message is large: it is passed on by reference, and fills a lane
/// that was nearly empty.
const LARGE_BYTES: usize = 64 * 1024;

/// Returns true if a large message alone fills its lane. Its source then continues, because its
/// next message may be urgent and would have to wait until neighbours have taken megabytes. The
/// source pauses for the next message that finds this one waiting.
#[cold]
#[inline(never)]
fn is_alone<E: Encode>(outbox: &Outbox, qos: Qos, message: &Outgoing<'_, E>) -> bool {
    let bytes = message.payload.size();
    bytes >= LARGE_BYTES && outbox.has_room_beside(qos.priority(), bytes)
}

/// Queues a message that must not be dropped. Returns true if the lane has room for more, and
/// `None` if the connection is closed, whose end settles whatever the message is about.
pub(crate) fn keep(
    touched: &mut Outboxes,
    outbox: &Arc<Outbox>,
    priority: Priority,
    head: &impl Encode,
    payload: Tail<'_>,
) -> Option<bool> {
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head,
        payload,
    };
    let queued = outbox.enqueue(priority, Overflow::Keep, Write::Later, &message);
    let sent = queued.ok()?;
    touched.add(outbox);
    Some(sent.has_room)
}

/// Appends a message of this node's session to the neighbour's next batch if the message is small,
/// need not leave at once, and follows messages like it. Otherwise does nothing, and the caller
/// uses [`offer_in`].
#[inline(always)]
pub(crate) fn append<'a>(
    outbox: &'a Outbox,
    qos: Qos,
    reliability: Reliability,
    head: &impl Encode,
    payload: &[u8],
) -> Result<Accepted, VisitedLane<'a>> {
    if qos.is_express() {
        return Err(VisitedLane::NONE);
    }
    let write = Write::one_by_one(false);
    let is_written = outbox.append(qos.priority(), write, reliability, head, payload)?;
    Ok(passed(is_written))
}

/// Queues a message of this node's session and flushes as its QoS demands.
#[inline(always)]
pub(crate) fn offer<E: Encode>(
    outbox: &Outbox,
    qos: Qos,
    message: &Outgoing<'_, E>,
) -> Result<Accepted, Refused> {
    offer_in(VisitedLane::NONE, outbox, qos, message)
}

/// Queues like [`offer`], in a lane that [`append`] left.
#[inline(always)]
pub(crate) fn offer_in<'a, E: Encode>(
    visit: VisitedLane<'a>,
    outbox: &'a Outbox,
    qos: Qos,
    message: &Outgoing<'_, E>,
) -> Result<Accepted, Refused> {
    let (overflow, write) = terms(qos);
    let sent = outbox.enqueue_in(visit, qos.priority(), overflow, write, message)?;
    Ok(passed(sent.is_written))
}

/// Queues for a caller that holds a lock, and calls [`write`] once it has released the lock.
pub(crate) fn offer_later<E: Encode>(
    outbox: &Outbox,
    qos: Qos,
    message: &Outgoing<'_, E>,
) -> Result<Sent, Refused> {
    outbox.enqueue(qos.priority(), terms(qos).0, Write::Later, message)
}

/// Flushes after [`offer_later`].
pub(crate) fn write(outbox: &Outbox, qos: Qos, sent: Sent) -> Accepted {
    passed(outbox.maybe_flush(terms(qos).1, sent))
}

/// Returns the terms for a sender of single messages that can wait for room by itself.
#[inline(always)]
fn terms(qos: Qos) -> (Overflow, Write) {
    let overflow = Overflow::under(qos.congestion_control(), Overflow::Refuse);
    (overflow, Write::one_by_one(qos.is_express()))
}

#[inline(always)]
fn passed(is_written: bool) -> Accepted {
    match is_written {
        true => Accepted::Sent,
        false => Accepted::Queued,
    }
}

impl<'a> From<Value<'a>> for Tail<'a> {
    fn from(value: Value<'a>) -> Tail<'a> {
        match value {
            Value::Borrowed(bytes) => Tail::Copy(bytes),
            Value::Shared(payload) => Tail::Shared(payload.as_zslice()),
        }
    }
}

#[cfg(test)]
mod tests {
    use zonda_codec::{CongestionControl, ResponseFinal, ZSlice};

    use super::*;
    use crate::flow::route::tests::outbox;

    const BLOCK: Qos = Qos::new(Priority::Data, CongestionControl::Block, false);

    /// Passes a message with so many bytes of payload; returns true if its source pauses.
    fn pauses(outbox: &Arc<Outbox>, bytes: usize) -> bool {
        let payload = ZSlice::from(vec![0; bytes]);
        let head = ResponseFinal {
            rid: 1,
            qos: BLOCK,
            timestamp: None,
        };
        let message = Outgoing {
            reliability: Reliability::Reliable,
            head: &head,
            payload: Tail::Shared(&payload),
        };
        let mut downstream = EgressWork::default();
        assert!(downstream.pass(outbox, BLOCK, &message));
        !downstream.congestion.is_empty()
    }

    #[test]
    fn a_large_message_alone_in_its_lane_does_not_pause_its_source() {
        let outbox = outbox();
        assert!(!pauses(&outbox, 4 << 20), "it waits alone");
        assert!(!outbox.has_room(Priority::Data));
        assert!(pauses(&outbox, 10), "it finds the large one waiting");
        assert!(pauses(&outbox, 4 << 20), "it does so, too");
    }

    #[test]
    fn the_message_that_takes_a_lane_over_its_limit_pauses_its_source() {
        for bytes in [100, LARGE_BYTES / 2] {
            let outbox = outbox();
            while !pauses(&outbox, bytes) {
                assert!(outbox.has_room(Priority::Data), "{bytes}");
            }
            assert!(!outbox.has_room(Priority::Data), "{bytes}");
        }
    }
}
