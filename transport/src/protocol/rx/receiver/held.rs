// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lanes that are held: a message names a key by an id whose declaration is still on its way, on another stream or socket.
//!
//! The [handler](Deliver::take_early) says so of the message that it was given last. The receiver keeps that message and all
//! that follows in its priority, and reads the other priorities on. After each batch of those it gives the message to the
//! handler again. A lane is held for as long as the handler has patience, and while [`HELD_BYTES_MAX`] suffice; then the handler
//! gets the message a last time, and drops it if it must.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use zonda_codec::{DecodeError, Priority, Reader, Reliability, TransportMessage, ZSlice};

use super::{Context, Deliver, Flow, Pass, Pause, PeerMisbehaved, Receiver, deliver_one};
use crate::ledger::Charge;

/// Bytes of batches that a connection keeps in all its held lanes together. More than a link has under way between the socket
/// and here, so a link that stops reading a held lane never needs more.
pub const HELD_BYTES_MAX: usize = 1024 * 1024;

/// The priorities.
const LANES: usize = 8;

/// What a connection keeps of its held lanes.
#[derive(Debug, Default)]
pub(super) struct Held {
    lanes: [Lane; LANES],
    /// Bytes of the batches in them.
    bytes: usize,
    /// Bytes of the messages that came in fragments, beside that.
    message_bytes: usize,
    charge: Charge,
    /// What the handler said of the message that it was given last.
    early: Option<Early>,
}

/// A message that came before what it needs.
#[derive(Debug)]
pub(super) struct Early {
    patience: Duration,
    /// It, if it came in fragments, and its channel.
    message: Option<(ZSlice, Reliability)>,
}

/// One priority.
#[derive(Debug, Default)]
struct Lane {
    items: VecDeque<Item>,
    /// How long the first message may wait, and until when that is.
    patience: Duration,
    until: Option<Instant>,
    /// What is kept waits no more.
    is_over: bool,
}

/// Something that is kept of a lane.
#[derive(Debug)]
struct Item {
    bytes: ZSlice,
    from: From,
}

/// Where the reading of an item begins.
#[derive(Debug, Clone, Copy)]
enum From {
    /// At the start of a batch.
    Start,
    /// Within a frame.
    Within(Pause),
    /// It is a message, and no batch.
    Message(Reliability),
}

impl Item {
    fn is_message(&self) -> bool {
        matches!(self.from, From::Message(_))
    }
}

/// The lane of a batch that begins with a frame or a fragment.
fn lane_of(batch: &[u8]) -> Option<usize> {
    match TransportMessage::decode(&mut Reader::new(batch)) {
        Ok(TransportMessage::Frame(frame)) => Some(frame.priority as usize),
        Ok(TransportMessage::Fragment(fragment)) => Some(fragment.priority as usize),
        _ => None,
    }
}

fn copy(bytes: &[u8]) -> ZSlice {
    ZSlice::from(bytes.to_vec())
}

impl Held {
    fn is_held(&self, lane: usize) -> bool {
        !self.lanes[lane].items.is_empty()
    }

    /// Keeps something behind, or in front of, what the lane has.
    fn keep(&mut self, lane: usize, item: Item, in_front: bool) {
        match item.is_message() {
            true => self.message_bytes += item.bytes.len(),
            false => self.bytes += item.bytes.len(),
        }
        let items = &mut self.lanes[lane].items;
        match in_front {
            true => items.push_front(item),
            false => items.push_back(item),
        }
        self.charge.set(self.bytes + self.message_bytes);
    }

    fn take(&mut self, lane: usize) -> Option<Item> {
        let item = self.lanes[lane].items.pop_front()?;
        match item.is_message() {
            true => self.message_bytes -= item.bytes.len(),
            false => self.bytes -= item.bytes.len(),
        }
        self.charge.set(self.bytes + self.message_bytes);
        Some(item)
    }

    /// Has no lane wait any longer that it may.
    fn give_up(&mut self, is_over: impl Fn(&Lane) -> bool) {
        for lane in &mut self.lanes {
            lane.is_over |= !lane.items.is_empty() && is_over(lane);
        }
    }

    /// The handler has had no use for the first message of a lane yet; a new one may wait anew.
    fn wait(&mut self, lane: usize, patience: Duration, is_new: bool) {
        let lane = &mut self.lanes[lane];
        lane.patience = patience;
        if is_new {
            lane.until = None;
        }
    }
}

impl Receiver {
    /// The priorities that are held, a bit for each.
    #[inline]
    pub fn held_lanes(&self) -> u8 {
        let Some(held) = &self.held else {
            return 0;
        };
        let bits = (0..LANES).map(|lane| u8::from(held.is_held(lane)) << lane);
        bits.sum()
    }

    /// Until when the first of the held lanes may wait; the time of one that is held anew begins now.
    pub fn held_until(&mut self, now: impl FnOnce() -> Instant) -> Option<Instant> {
        self.held.as_ref()?;
        let now = now();
        let lanes = self.held.as_mut()?.lanes.iter_mut();
        let waiting = lanes.filter(|lane| !lane.items.is_empty());
        let until = waiting.map(|lane| match lane.is_over {
            true => now,
            false => *lane.until.get_or_insert(now + lane.patience),
        });
        until.min()
    }

    /// Has lanes whose time is over wait no more; without a time all of them. [`Receiver::read_held`] does the rest.
    pub fn give_up_held(&mut self, now: Option<Instant>) {
        if let Some(held) = &mut self.held {
            held.give_up(|lane| now.is_none_or(|now| lane.until.is_some_and(|until| until <= now)));
        }
    }

    /// Hands on what the held lanes have, as far as nothing is missing any more. [`Flow::Paused`] means that this is to be
    /// called again.
    ///
    /// # Errors
    /// As [`Receiver::handle_batch`].
    pub fn read_held<D: Deliver>(&mut self, deliver: &mut D) -> Result<Flow, PeerMisbehaved> {
        for lane in 0..LANES {
            match self.read_lane(lane, deliver)? {
                Flow::Open => {}
                flow => return Ok(flow),
            }
        }
        if self.held_lanes() == 0 {
            self.held = None;
        }
        Ok(Flow::Open)
    }

    fn read_lane<D: Deliver>(
        &mut self,
        lane: usize,
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        let mut is_new = false;
        while let Some(held) = &mut self.held {
            if deliver.wants_pause() {
                return Ok(Flow::Paused(Pause::BEFORE));
            }
            let is_over = held.lanes[lane].is_over;
            let Some(item) = held.take(lane) else {
                held.lanes[lane] = Lane::default();
                break;
            };
            deliver.wait_no_more(is_over);
            let flow = self.read_item(lane, &item, deliver);
            deliver.wait_no_more(false);
            let pause = match flow? {
                Flow::Open => {
                    is_new = true;
                    continue;
                }
                Flow::Paused(pause) => pause,
                closed => return Ok(closed),
            };
            let early = self.take_early();
            is_new |= matches!(item.from, From::Within(before) if before.at < pause.at);
            let Some(held) = &mut self.held else { break };
            let message = early.as_ref().and_then(|early| early.message.clone());
            if !item.is_message() {
                let from = From::Within(pause);
                held.keep(lane, Item { from, ..item }, true);
            }
            if let Some((bytes, reliability)) = message {
                let from = From::Message(reliability);
                held.keep(lane, Item { bytes, from }, true);
            }
            match early {
                Some(early) => held.wait(lane, early.patience, is_new),
                None => return Ok(Flow::Paused(Pause::BEFORE)),
            }
            break;
        }
        Ok(Flow::Open)
    }

    fn read_item<D: Deliver>(
        &mut self,
        lane: usize,
        item: &Item,
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        let batch = item.bytes.as_slice();
        match item.from {
            From::Start => self.read_batch(batch, &item.bytes, deliver),
            From::Within(pause) => self.read_rest(pause, batch, &item.bytes, deliver),
            From::Message(reliability) => {
                let context = Context {
                    block: &item.bytes,
                    reliability,
                    priority: Priority::ALL[lane],
                    raw: &[],
                };
                Ok(match self.hand_on_whole(batch, &context, deliver) {
                    true => Flow::Paused(Pause::BEFORE),
                    false => Flow::Open,
                })
            }
        }
    }

    /// One batch while lanes are held: it waits behind them, or is handled, and what was missing may be there now.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_beside_held<D: Deliver>(
        &mut self,
        batch: &[u8],
        block: &ZSlice,
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        if let (Some(lane), Some(held)) = (lane_of(batch), &mut self.held)
            && held.is_held(lane)
        {
            let from = From::Start;
            let bytes = copy(batch);
            held.keep(lane, Item { bytes, from }, false);
            if held.bytes <= HELD_BYTES_MAX {
                return Ok(Flow::Open);
            }
            held.give_up(|_| true);
            return self.go_on(batch.len(), deliver);
        }
        let flow = self.read_batch(batch, block, deliver)?;
        self.after_batch(flow, batch, deliver)
    }

    /// A batch was read this far beside held lanes, or to a message that holds one.
    #[cold]
    #[inline(never)]
    pub(super) fn after_batch<D: Deliver>(
        &mut self,
        flow: Flow,
        batch: &[u8],
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        match (flow, self.take_early()) {
            (Flow::Paused(pause), Some(early)) => {
                match self.hold(pause, batch.get(pause.at..).unwrap_or(&[]), early) {
                    true => Ok(Flow::Open),
                    false => self.go_on(batch.len(), deliver),
                }
            }
            (Flow::Open, _) => self.go_on(batch.len(), deliver),
            (flow, _) => Ok(flow),
        }
    }

    /// What is held is looked at; all of the batch at hand, which is so long, is dealt with.
    fn go_on<D: Deliver>(
        &mut self,
        length: usize,
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        Ok(match self.read_held(deliver)? {
            Flow::Paused(_) => Flow::Paused(Pause {
                at: length,
                ..Pause::BEFORE
            }),
            flow => flow,
        })
    }

    /// Holds the lane of a message that came too early, with `rest`, the end of its batch from it on, or behind it if it came in
    /// fragments. False if there is no room for it: it may wait no more.
    fn hold(&mut self, pause: Pause, rest: &[u8], early: Early) -> bool {
        self.counters.lanes_held += 1;
        let lane = pause.priority as usize;
        let share = self.defragmenter.share().cloned();
        let most = self.message_size_max;
        let held = self.held.get_or_insert_default();
        if let Some(share) = share.filter(|_| held.charge.bytes() == 0) {
            held.charge = share.block();
        }
        held.wait(lane, early.patience, true);
        if let Some((bytes, reliability)) = early.message {
            let from = From::Message(reliability);
            held.keep(lane, Item { bytes, from }, false);
        }
        if !rest.is_empty() {
            let from = From::Within(Pause { at: 0, ..pause });
            let bytes = copy(rest);
            held.keep(lane, Item { bytes, from }, false);
        }
        // Large messages of several lanes are together more than one may be.
        let has_room = held.message_bytes <= most && held.bytes <= HELD_BYTES_MAX;
        if !has_room {
            held.give_up(|_| true);
        }
        has_room
    }

    /// As [`Receiver::hold`], for a message that came in fragments and ended no batch at hand.
    #[cold]
    pub(super) fn hold_landed(&mut self, priority: Priority, reliability: Reliability) {
        if let Some(early) = self.take_early() {
            let pause = Pause {
                at: 0,
                reliability,
                priority,
            };
            // One that has no room is looked at with the next read.
            self.hold(pause, &[], early);
        }
    }

    fn take_early(&mut self) -> Option<Early> {
        self.held.as_mut()?.early.take()
    }

    /// Notes that the handler may want the message that it was given last later.
    #[cold]
    pub(super) fn note_early<D: Deliver>(
        &mut self,
        deliver: &mut D,
        message: impl FnOnce() -> Option<(ZSlice, Reliability)>,
    ) -> bool {
        let Some(patience) = deliver.take_early() else {
            return false;
        };
        let message = message();
        self.held.get_or_insert_default().early = Some(Early { patience, message });
        true
    }

    /// Hands on a message that came in fragments, in the block that the context names. True if it came too early.
    pub(super) fn hand_on_whole<D: Deliver>(
        &mut self,
        message: &[u8],
        context: &Context<'_>,
        deliver: &mut D,
    ) -> bool {
        let delivered = deliver_one(message, context, deliver);
        let kept = || match message.len() == context.block.len() {
            true => (context.block.clone(), context.reliability),
            false => (copy(message), context.reliability),
        };
        let is_early = deliver.wants_pause() && self.note_early(deliver, || Some(kept()));
        match delivered {
            Ok(true) => self.counters.messages += u64::from(!is_early),
            Err(DecodeError::SharedMemory { .. }) => self.note_shared_memory(),
            Ok(false) | Err(_) => self.counters.messages_undecodable += 1,
        }
        is_early
    }
}

impl Pause {
    /// In front of everything.
    const BEFORE: Pause = Pause {
        at: 0,
        reliability: Reliability::Reliable,
        priority: Priority::Control,
    };
}

impl<D: Deliver> Pass<'_, D> {
    /// Where to go on after a pause: at the last message, which begins at `offset`, if it came too early, else at `next`.
    #[cold]
    pub(super) fn pause_at(&mut self, offset: usize, next: usize) -> usize {
        match self.receiver.note_early(self.deliver, || None) {
            true => offset,
            false => next,
        }
    }
}

#[cfg(test)]
mod tests;
