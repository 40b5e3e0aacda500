// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entry of messages into a connection: [`Outbox::enqueue`] decides order, overflow and counting,
//! and when the socket is written.
//!
//! A call queues its messages under one lock of their lane. A message whose head was encoded before
//! and that still fits into the open frame takes a short cut, [`Outbox::append`], which writes the
//! same bytes: nearly all messages of a dense stream take it.

use std::sync::atomic::Ordering;

use zonda_codec::{CongestionControl, Encode, Priority, Reliability, TransportMessage, Writer};

use crate::{
    protocol::tx::{Lane, Outgoing, Pushed},
    sync::SpinGuard,
};

use super::{Outbox, Refused, election::Action, overrun::Overrun};

/// Treatment of messages that the lane has no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The first one ends the call and is not counted as dropped: the sender waits for room, or
    /// gives up by itself.
    Refuse,
    /// The messages are dropped and counted.
    Drop,
    /// The messages are queued all the same: control traffic, and messages of a burst that was already
    /// received. The caller has to pause the source. A peer that is so far behind that even the
    /// bound for this is reached is given up.
    Keep,
    /// The messages are queued as with [`Overflow::Keep`], except where the link
    /// [may lose them](Outbox::losing_beyond): beyond its bound they are dropped and counted.
    Pass,
    /// The first one waits in the queue, beyond its limit; as long as it does, the later ones are
    /// dropped and counted.
    KeepFirst,
}

impl Overflow {
    /// Returns the treatment of a message with this congestion control, where a sender under
    /// `Block` wants `block`.
    #[must_use]
    #[inline(always)]
    pub fn under(control: CongestionControl, block: Overflow) -> Overflow {
        match control {
            CongestionControl::Block => block,
            CongestionControl::BlockFirst => Overflow::KeepFirst,
            CongestionControl::Drop => Overflow::Drop,
        }
    }
}

/// Time at which queued messages are written to the socket, as far as the socket takes them without
/// waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// On the caller's [flush](Outbox::flush): after a burst, or after it has released its locks.
    Later,
    /// Now if a batch has become full, while it is in the processor's cache; the rest on the
    /// caller's flush.
    FullBatches,
    /// Now on a quiet link; in a dense stream with the messages that follow within a tick.
    Coalesced,
    /// Now.
    Now,
}

impl Write {
    /// Returns the mode for a sender of single messages.
    #[must_use]
    #[inline(always)]
    pub fn one_by_one(is_express: bool) -> Write {
        match is_express {
            true => Write::Now,
            false => Write::Coalesced,
        }
    }
}

/// Result for messages of which at least one was queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// The socket has them already.
    pub is_written: bool,
    /// The lane takes more without going over its limit.
    pub has_room: bool,
    pushed: Pushed,
}

/// Messages of one call, all of one priority.
pub trait Items {
    /// Pushes the messages in their order, until all are pushed or the queue takes no more.
    fn fill(self, queue: &mut Queue<'_>);
}

impl<E: Encode + ?Sized> Items for &Outgoing<'_, E> {
    #[inline(always)]
    fn fill(self, queue: &mut Queue<'_>) {
        queue.push(self);
    }
}

/// Run of messages: some hundreds at most, because other senders of the priority wait for the lane.
impl<F: FnOnce(&mut Queue<'_>)> Items for F {
    #[inline(always)]
    fn fill(self, queue: &mut Queue<'_>) {
        self(queue);
    }
}

/// The lane of one priority, locked for the messages of one call.
#[derive(Debug)]
pub struct Queue<'a> {
    lane: SpinGuard<'a, Lane>,
    overflow: Overflow,
    overrun: &'a Overrun,
    pushed: Pushed,
    queued: u64,
    dropped: u64,
    too_long: u64,
    /// Set once no more is taken: the lane is full and the sender waits, or the peer is to be given
    /// up.
    is_over: bool,
}

impl Queue<'_> {
    /// Queues the next message, or treats it as agreed for a full lane. `false` once no more can be
    /// taken.
    #[inline(always)]
    pub fn push<E: Encode + ?Sized>(&mut self, message: &Outgoing<'_, E>) -> bool {
        if !self.lane.has_room() {
            match squeeze(&mut self.lane, self.overflow, self.overrun) {
                MakeRoomResult::Kept => {}
                MakeRoomResult::Dropped => {
                    self.dropped += 1;
                    return true;
                }
                MakeRoomResult::Over => {
                    self.is_over = true;
                    return false;
                }
            }
        }
        match self.lane.push(message) {
            Ok(pushed) => {
                self.queued += 1;
                self.pushed = self.pushed.max(pushed);
            }
            Err(_) => self.too_long += 1,
        }
        true
    }

    /// Makes `write` append as many whole messages as fit into the room of the batch that is being
    /// filled; `write` returns their number and any other value. `None` without a call if there is
    /// no such batch, or if the lane is full: then the next message is one for [`Queue::push`].
    #[inline(always)]
    pub fn extend<T>(
        &mut self,
        reliability: Reliability,
        write: impl FnOnce(&mut Writer<'_>) -> (u64, T),
    ) -> Option<T> {
        if !self.lane.has_room() {
            return None;
        }
        let (count, told) = self.lane.extend(reliability, write)?;
        self.queued += count;
        Some(told)
    }
}

/// Lane that [`Outbox::append`] left, locked if [`Outbox::append`] locked it.
#[derive(Debug)]
pub struct VisitedLane<'a>(Option<SpinGuard<'a, Lane>>);

impl VisitedLane<'_> {
    /// Lane that was not locked.
    pub const NONE: VisitedLane<'static> = VisitedLane(None);
}

/// Outcome for one more message of a full lane.
enum MakeRoomResult {
    /// The message is queued all the same.
    Kept,
    /// The message is dropped.
    Dropped,
    /// No more messages are taken.
    Over,
}

#[cold]
fn squeeze(lane: &mut Lane, overflow: Overflow, overrun: &Overrun) -> MakeRoomResult {
    match overflow {
        Overflow::Refuse => MakeRoomResult::Over,
        Overflow::KeepFirst if !lane.has_guest() => {
            lane.begin_guest();
            MakeRoomResult::Kept
        }
        Overflow::KeepFirst | Overflow::Drop => MakeRoomResult::Dropped,
        Overflow::Pass if lane.queued_bytes() > overrun.passing => MakeRoomResult::Dropped,
        Overflow::Keep | Overflow::Pass if lane.queued_bytes_small() > overrun.bytes => {
            MakeRoomResult::Over
        }
        Overflow::Keep | Overflow::Pass => MakeRoomResult::Kept,
    }
}

/// Messages that were not queued, by reason.
struct NotQueued {
    overflow: Overflow,
    dropped: u64,
    too_long: u64,
    is_over: bool,
    /// Set if no message of the call was queued.
    all: bool,
}

impl Outbox {
    /// Appends a small message whose head was encoded before to the open frame, and writes it when
    /// `write` demands it; true if the socket has it already.
    ///
    /// # Errors
    /// The lane, locked if the call locked it, for [`Outbox::enqueue_in`]: the message begins a
    /// frame or a batch, is large or finds no room. Nothing has changed.
    #[inline(always)]
    pub fn append<H: Encode>(
        &self,
        priority: Priority,
        write: Write,
        reliability: Reliability,
        head: &H,
        payload: &[u8],
    ) -> Result<bool, VisitedLane<'_>> {
        if payload.len() >= self.share_bytes_min {
            return Err(VisitedLane(None));
        }
        let Some(lane) = self.lanes.get(self.lane_index(priority)) else {
            return Err(VisitedLane(None));
        };
        let mut lane = lane.lock();
        if self.takes_no_more() || !lane.append(reliability, head, payload) {
            return Err(VisitedLane(Some(lane)));
        }
        drop(lane);
        Ok(self.write(write, Pushed::Open))
    }

    /// Queues messages in their order, under one lock of their lane, and writes them when `write`
    /// demands it. Never waits for the peer. Another sender that is writing at the moment takes
    /// these messages along.
    ///
    /// # Errors
    /// [`Refused`] if nothing was queued. What `overflow` drops is counted.
    #[inline]
    pub fn enqueue(
        &self,
        priority: Priority,
        overflow: Overflow,
        write: Write,
        items: impl Items,
    ) -> Result<Sent, Refused> {
        self.enqueue_in(VisitedLane(None), priority, overflow, write, items)
    }

    /// Queues messages like [`Outbox::enqueue`], in the lane of this priority as [`Outbox::append`]
    /// left it.
    ///
    /// # Errors
    /// The errors of [`Outbox::enqueue`].
    #[inline]
    pub fn enqueue_in<'a>(
        &'a self,
        visit: VisitedLane<'a>,
        priority: Priority,
        overflow: Overflow,
        write: Write,
        items: impl Items,
    ) -> Result<Sent, Refused> {
        let index = self.lane_index(priority);
        let lane = visit.0.unwrap_or_else(|| self.lanes[index].lock());
        if self.takes_no_more() {
            return Err(Refused::Closed);
        }
        let mut queue = Queue {
            lane,
            overflow,
            overrun: &self.overrun,
            pushed: Pushed::Open,
            queued: 0,
            dropped: 0,
            too_long: 0,
            is_over: false,
        };
        items.fill(&mut queue);
        if overflow == Overflow::KeepFirst {
            // Later messages of this run were dropped.
            queue.lane.end_guest();
        }
        if queue.queued > 0 {
            self.mark_ready(index);
        }
        let has_room = queue.lane.has_room();
        let pushed = queue.lane.weigh(queue.pushed);
        let failed = NotQueued {
            overflow,
            dropped: queue.dropped,
            too_long: queue.too_long,
            is_over: queue.is_over,
            all: queue.queued == 0,
        };
        drop(queue.lane);
        if failed.dropped + failed.too_long > 0 || failed.is_over {
            self.account(index, &failed)?;
        }
        Ok(Sent {
            is_written: self.write(write, pushed),
            has_room,
            pushed,
        })
    }

    /// Counts the messages that were not queued; an error if these are all of a call.
    #[cold]
    fn account(&self, lane: usize, failed: &NotQueued) -> Result<(), Refused> {
        let &NotQueued {
            dropped, too_long, ..
        } = failed;
        // Update the counters.
        let is_refused = failed.is_over && failed.overflow == Overflow::Refuse;
        let is_overrun = failed.is_over && !is_refused;
        let (counters, tally) = (&self.counters, &self.tallies[lane]);
        tally.dropped.fetch_add(dropped, Ordering::Relaxed);
        counters.dropped.fetch_add(dropped, Ordering::Relaxed);
        counters
            .refused_full
            .fetch_add(dropped + u64::from(is_refused), Ordering::Relaxed);
        counters
            .refused_too_long
            .fetch_add(too_long, Ordering::Relaxed);
        // Give up a peer that is too far behind.
        if is_overrun {
            self.give_up();
        }
        // The call fails only if no message was queued.
        match failed.all {
            false => Ok(()),
            true if is_overrun => Err(Refused::Closed),
            true if too_long > 0 => Err(Refused::TooLong),
            true => Err(Refused::Full),
        }
    }

    /// Writes messages that were queued with [`Write::Later`] as if `write` had been given at once.
    /// True if the socket has them already. Never blocks.
    pub fn maybe_flush(&self, write: Write, sent: Sent) -> bool {
        self.write(write, sent.pushed)
    }

    #[inline(always)]
    fn write(&self, write: Write, pushed: Pushed) -> bool {
        match write {
            Write::Later => false,
            Write::Now => self.flush(),
            Write::FullBatches => pushed != Pushed::Open && self.flush(),
            Write::Coalesced => match self.election.turn() {
                Action::Leave if pushed != Pushed::Heavy => false,
                turn => self.write_turn(turn, pushed),
            },
        }
    }

    #[inline(never)]
    fn write_turn(&self, turn: Action, pushed: Pushed) -> bool {
        match (turn, pushed) {
            (_, Pushed::Heavy) => {
                self.election.full_batch();
                self.flush()
            }
            (Action::Write, _) => self.flush(),
            (Action::Measure, _) => self.write_quiet(pushed),
            _ => false,
        }
    }

    /// Queues a message of the link itself, outside any frame and regardless of the limit.
    pub(super) fn enqueue_own(&self, lane: usize, message: &TransportMessage<'_>) {
        self.lanes[lane].lock().push_bare(message);
        self.mark_ready(lane);
    }
}

#[cfg(test)]
mod tests;
