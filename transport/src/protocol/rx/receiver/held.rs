// SPDX-License-Identifier: MIT OR Apache-2.0
//! Held lanes: a message names a key by an id whose declaration is still on its way, on another
//! stream or socket.
//!
//! The [handler](Deliver::take_early) reports this for the last message. The receiver keeps that
//! message and all later ones of its priority, and continues to read the other priorities. After
//! each batch of those it delivers the message to the handler again. A lane is held for the time
//! that the handler allows, and while [`HELD_BYTES_MAX`] suffice; then the handler gets the message
//! a last time, and drops it if it must.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use zonda_codec::{DecodeError, Priority, Reader, Reliability, TransportMessage, ZSlice};

use super::{Context, DecodePass, Deliver, Flow, Pause, PeerMisbehaved, Receiver, deliver_one};
use crate::ledger::Charge;

/// Maximum bytes of batches that a connection keeps in all its held lanes together. The value
/// exceeds the bytes that a link has under way between the socket and the receiver, so a link that
/// stops reading a held lane never needs more.
pub const HELD_BYTES_MAX: usize = 1024 * 1024;

/// Number of priorities.
const LANES: usize = 8;

/// Held lanes of a connection.
#[derive(Debug, Default)]
pub(super) struct Held {
    lanes: [Lane; LANES],
    /// Bytes of the copies in the lanes, which this counts.
    bytes: usize,
    charge: Charge,
    /// Bytes of the reassembled messages, in addition to the copies. Their memory is counted on its
    /// own.
    message_bytes: usize,
    /// Answer of the handler to the last message.
    early: Option<EarlyMessage>,
}

/// Message that arrived before the declaration that it needs.
#[derive(Debug)]
pub(super) struct EarlyMessage {
    patience: Duration,
    /// The message itself, if it arrived in fragments.
    message: Option<Item>,
}

/// Held lane of one priority.
#[derive(Debug, Default)]
struct Lane {
    items: VecDeque<Item>,
    /// Time that the first message may wait.
    patience: Duration,
    until: Option<Instant>,
    /// Set if the messages of this lane wait no more.
    is_over: bool,
}

/// Batch or message that is kept in a lane.
#[derive(Debug, Clone)]
struct Item {
    bytes: ZSlice,
    /// Set if the bytes are a copy, not the memory of a reassembled message.
    is_copy: bool,
    from: From,
}

/// Point from which an item is read.
#[derive(Debug, Clone, Copy)]
enum From {
    /// Start of a batch.
    Start,
    /// Within a frame.
    Within(Pause),
    /// The item is a message, not a batch.
    Message(Reliability),
}

impl Item {
    fn copied(bytes: &[u8], from: From) -> Item {
        Item {
            bytes: ZSlice::from(bytes.to_vec()),
            is_copy: true,
            from,
        }
    }
}

/// Returns the lane of a batch that begins with a frame or a fragment. Keep-alives may precede it:
/// a sender puts one into the batch that it fills.
fn lane_of(batch: &[u8]) -> Option<usize> {
    let mut reader = Reader::new(batch);
    loop {
        match TransportMessage::decode(&mut reader).ok()? {
            TransportMessage::KeepAlive => {}
            TransportMessage::Frame(frame) => return Some(frame.priority as usize),
            TransportMessage::Fragment(fragment) => return Some(fragment.priority as usize),
            _ => return None,
        }
    }
}

impl Held {
    fn is_held(&self, lane: usize) -> bool {
        !self.lanes[lane].items.is_empty()
    }

    /// Adds an item behind, or in front of, the items of the lane.
    fn keep(&mut self, lane: usize, item: Item, in_front: bool) {
        match item.is_copy {
            true => self.bytes += item.bytes.len(),
            false => self.message_bytes += item.bytes.len(),
        }
        let items = &mut self.lanes[lane].items;
        match in_front {
            true => items.push_front(item),
            false => items.push_back(item),
        }
        self.charge.set(self.bytes);
    }

    fn take(&mut self, lane: usize) -> Option<Item> {
        let item = self.lanes[lane].items.pop_front()?;
        match item.is_copy {
            true => self.bytes -= item.bytes.len(),
            false => self.message_bytes -= item.bytes.len(),
        }
        self.charge.set(self.bytes);
        Some(item)
    }

    /// Ends the wait of the lanes for which `is_over` returns true.
    fn give_up(&mut self, is_over: impl Fn(&Lane) -> bool) {
        for lane in &mut self.lanes {
            lane.is_over |= !lane.items.is_empty() && is_over(lane);
        }
    }

    /// Sets the wait of a lane's first message; a new message starts a new wait.
    fn wait(&mut self, lane: usize, patience: Duration, is_new: bool) {
        let lane = &mut self.lanes[lane];
        lane.patience = patience;
        if is_new {
            lane.until = None;
        }
    }
}

impl Receiver {
    /// Returns the bits of the held priorities.
    #[inline]
    pub fn held_lanes(&self) -> u8 {
        let Some(held) = &self.held else {
            return 0;
        };
        let bits = (0..LANES).map(|lane| u8::from(held.is_held(lane)) << lane);
        bits.sum()
    }

    /// Returns the time at which the wait of the first held lane ends; the wait of a newly held
    /// lane begins now.
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

    /// Ends the wait of lanes whose time is over, or with `None` of all. [`Receiver::read_held`]
    /// does the rest.
    pub fn give_up_held(&mut self, now: Option<Instant>) {
        if let Some(held) = &mut self.held {
            held.give_up(|lane| now.is_none_or(|now| lane.until.is_some_and(|until| until <= now)));
        }
    }

    /// Delivers the messages of the held lanes whose declarations have arrived. On [`Flow::Paused`]
    /// the caller has to call this again.
    ///
    /// # Errors
    /// The errors of [`Receiver::handle_batch`].
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
            // Take the first item of the lane, and read it.
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
            // Keep the item from the resume point on, with its early message in front.
            let early = self.take_early();
            is_new |= matches!(item.from, From::Within(before) if before.at < pause.at);
            let Some(held) = &mut self.held else { break };
            match item.from {
                From::Message(_) => held.keep(lane, item, true),
                From::Start | From::Within(_) => {
                    let from = From::Within(pause);
                    held.keep(lane, Item { from, ..item }, true);
                    if let Some(message) = early.as_ref().and_then(|early| early.message.clone()) {
                        held.keep(lane, message, true);
                    }
                }
            }
            // Restart the wait for a new message; without an early one the pause was the handler's.
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

    /// Processes a batch while lanes are held: keeps it behind its lane, or handles it and checks
    /// for declarations in it.
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
            held.keep(lane, Item::copied(batch, From::Start), false);
            if held.bytes <= HELD_BYTES_MAX {
                return Ok(Flow::Open);
            }
            held.give_up(|_| true);
            return self.go_on(batch.len(), deliver);
        }
        let flow = self.read_batch(batch, block, deliver)?;
        self.after_batch(flow, batch, deliver)
    }

    /// Continues after a batch was read this far while lanes are held, or up to a message that
    /// holds one.
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

    /// Processes the held lanes, once all of the current batch, which has `length` bytes, is
    /// processed.
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

    /// Holds the lane of a message that arrived too early, with `rest`, the end of its batch from
    /// the message on, or behind it if it arrived in fragments. False if there is no room for it:
    /// the message may wait no more.
    fn hold(&mut self, pause: Pause, rest: &[u8], early: EarlyMessage) -> bool {
        self.counters.lanes_held += 1;
        let lane = pause.priority as usize;
        let share = self.defragmenter.share().cloned();
        let most = self.message_size_max;
        let held = self.held.get_or_insert_default();
        if let Some(share) = share.filter(|_| held.charge.bytes() == 0) {
            held.charge = share.block();
        }
        held.wait(lane, early.patience, true);
        if let Some(message) = early.message {
            held.keep(lane, message, false);
        }
        if !rest.is_empty() {
            let from = From::Within(Pause { at: 0, ..pause });
            held.keep(lane, Item::copied(rest, from), false);
        }
        // Large messages of several lanes may together exceed the limit of one.
        let has_room = held.message_bytes <= most && held.bytes <= HELD_BYTES_MAX;
        if !has_room {
            held.give_up(|_| true);
        }
        has_room
    }

    /// Holds the lane of a message that arrived in fragments and ended in no current batch, like
    /// [`Receiver::hold`].
    #[cold]
    pub(super) fn hold_landed(&mut self, priority: Priority, reliability: Reliability) {
        if let Some(early) = self.take_early() {
            let pause = Pause {
                at: 0,
                reliability,
                priority,
            };
            // A message without room is delivered at the next read.
            self.hold(pause, &[], early);
        }
    }

    /// Counts a message that was delivered by itself. True if it came too early: then its `bytes` are kept.
    pub(super) fn note_whole<D: Deliver>(
        &mut self,
        bytes: impl FnOnce() -> ZSlice,
        context: &Context<'_>,
        deliver: &mut D,
    ) -> bool {
        let kept = || {
            Some(Item {
                bytes: bytes(),
                is_copy: true,
                from: From::Message(context.reliability),
            })
        };
        let is_early = deliver.wants_pause() && self.note_early(deliver, kept);
        self.note_messages(context.priority, u64::from(!is_early));
        is_early
    }

    fn take_early(&mut self) -> Option<EarlyMessage> {
        self.held.as_mut()?.early.take()
    }

    /// Notes that the handler may want the last message later.
    #[cold]
    fn note_early<D: Deliver>(
        &mut self,
        deliver: &mut D,
        message: impl FnOnce() -> Option<Item>,
    ) -> bool {
        let Some(patience) = deliver.take_early() else {
            return false;
        };
        let message = message();
        self.held.get_or_insert_default().early = Some(EarlyMessage { patience, message });
        true
    }

    /// Delivers a message that arrived in fragments, in the block of the context. True if it
    /// arrived too early.
    pub(super) fn hand_on_whole<D: Deliver>(
        &mut self,
        message: &[u8],
        context: &Context<'_>,
        deliver: &mut D,
    ) -> bool {
        let delivered = deliver_one(message, context, deliver);
        let from = From::Message(context.reliability);
        let kept = || match message.len() == context.block.len() {
            true => Item {
                bytes: context.block.clone(),
                is_copy: false,
                from,
            },
            false => Item::copied(message, from),
        };
        let is_early = deliver.wants_pause() && self.note_early(deliver, || Some(kept()));
        match delivered {
            Ok(true) => self.note_messages(context.priority, u64::from(!is_early)),
            Err(DecodeError::SharedMemory { .. }) => {
                return self.hand_on_shared(message, context, deliver);
            }
            Ok(false) | Err(_) => self.counters.messages_undecodable += 1,
        }
        is_early
    }
}

impl Pause {
    /// Resume point in front of the whole batch.
    const BEFORE: Pause = Pause {
        at: 0,
        reliability: Reliability::Reliable,
        priority: Priority::Control,
    };
}

impl<D: Deliver> DecodePass<'_, D> {
    /// Returns the resume point after a pause: the last message, which begins at `offset`, if it
    /// arrived too early, else `next`.
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
