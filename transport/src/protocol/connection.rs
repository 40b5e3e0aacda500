// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both halves of one open link and its deadlines, for an owner that does everything itself: the
//! simulator, a fuzzer, a program without a runtime. The driver of a shared link holds the same
//! three parts separately, because senders and the receiver run beside each other there.

use std::time::Instant;

use zenoh_buffers::ZSlice;
use zonda_codec::{Close, Encode, EncodeError, Priority, TransportMessage};

use super::compression::{Content, Packer, Unpacker};
use super::options::Framing;
use super::parameters::{Established, LocalParameters};
use super::rx::{Deliver, Flow, PeerMisbehaved, Receiver};
use super::timers::{TimerEvent, Timers};
use super::tx::{Batch, Lane, LaneConfig, Outgoing, Pushed};

/// The peer's lease is over; the link is to be dropped without a Close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing came from the peer for the length of its lease")]
pub struct Expired;

/// How far [`Connection::handle_bytes`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of whole batches that were taken; the rest must be presented again with more behind it.
    pub consumed: usize,
    /// Whether the link goes on.
    pub flow: Flow,
}

/// One open link: what waits to be sent, what is being received, when something is due.
///
/// After each event the owner calls [`poll_transmit`](Connection::poll_transmit) until it returns
/// nothing, and [`handle_timeout`](Connection::handle_timeout) at
/// [`poll_timeout`](Connection::poll_timeout).
#[derive(Debug)]
pub struct Connection {
    /// One lane per priority, from the highest; a single one where priorities are not in use.
    lanes: Vec<Lane>,
    free: Vec<Box<[u8]>>,
    receiver: Receiver,
    timers: Timers,
    packer: Option<Box<Packer>>,
    unpacker: Unpacker,
}

impl Connection {
    /// A link on which `local` and its peer agreed to `established` at `now`. Each priority queues
    /// up to `queue_bytes_max` bytes and one message.
    pub fn new(
        local: &LocalParameters,
        established: &Established,
        queue_bytes_max: usize,
        now: Instant,
    ) -> Self {
        let priorities: &[Priority] = match established.qos {
            true => &Priority::ALL,
            false => &[Priority::Data],
        };
        let lane = |priority: &Priority| {
            Lane::new(LaneConfig {
                priority: *priority,
                batch_size: established.batch_size,
                sn_mask: established.sn_mask,
                initial_sn: established.initial_sn_tx,
                queue_bytes_max,
                framing: established.options.framing(),
            })
        };
        let framing = established.options.framing();
        let divisor = local.keep_alive_divisor;
        Connection {
            lanes: priorities.iter().map(lane).collect(),
            free: Vec::new(),
            receiver: Receiver::new(established, local.message_size_max),
            timers: Timers::new(now, local.lease, divisor, established.remote_lease)
                .steady(framing.is_bare()),
            packer: match framing {
                Framing::Compressed => Packer::new(),
                Framing::Plain | Framing::Bare => None,
            },
            unpacker: Unpacker::default(),
        }
    }

    /// Whether the lane of `priority` takes another message without going over its limit.
    pub fn has_room(&self, priority: Priority) -> bool {
        self.lanes
            .get(self.lane(priority))
            .is_some_and(Lane::has_room)
    }

    /// Queues a message in the lane of `priority`. The limit is the caller's to check, with
    /// [`has_room`](Connection::has_room).
    ///
    /// # Errors
    /// [`EncodeError::TooLong`] if the message has no wire form; nothing was queued.
    pub fn push<E: Encode + ?Sized>(
        &mut self,
        priority: Priority,
        message: &Outgoing<'_, E>,
    ) -> Result<Pushed, EncodeError> {
        let lane = self.lane(priority);
        self.lanes[lane].push(message)
    }

    /// Queues the Close that ends the link, behind everything else of the lowest priority.
    pub fn close(&mut self, reason: u8) {
        if let Some(last) = self.lanes.last_mut() {
            last.push_bare(&Close {
                reason,
                session: false,
            });
        }
    }

    /// The batch to write next, of the highest priority that has one. Give its buffer back with
    /// [`recycle`](Connection::recycle).
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Batch> {
        let free = &mut self.free;
        let mut batch = self.lanes.iter_mut().find_map(|lane| lane.pop(free))?;
        if let Some(packer) = &mut self.packer {
            packer.pack(&mut batch, free, self.lanes[0].buffer_bytes());
        }
        self.timers.on_sent(now);
        Some(batch)
    }

    /// Takes the buffer of a written batch for the next one.
    pub fn recycle(&mut self, batch: Batch) {
        let buffer = batch.into_buffer();
        let whole = self
            .lanes
            .first()
            .is_some_and(|lane| lane.buffer_bytes() == buffer.len());
        if whole && self.free.len() < self.lanes.len() {
            self.free.push(buffer);
        }
    }

    /// Takes one batch without its length prefix, as a datagram brings it; `block` is the buffer
    /// that `batch` lies in. Makes no pauses, whether `deliver` wants them or not.
    ///
    /// # Errors
    /// The peer broke the protocol; drop the link.
    pub fn handle_batch<D: Deliver>(
        &mut self,
        now: Instant,
        batch: &[u8],
        block: &ZSlice,
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        self.timers.on_received(now);
        self.handle_whole(batch, block, deliver)
    }

    fn handle_whole<D: Deliver>(
        &mut self,
        batch: &[u8],
        block: &ZSlice,
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        let unpacked = match self.receiver.framing() {
            Framing::Plain => None,
            Framing::Compressed => Some(self.unpacker.open(batch)?),
            Framing::Bare => return self.handle_message(batch, block, deliver),
        };
        let (batch, block) = match &unpacked {
            None => (batch, block),
            Some(Content::Plain) => (batch.get(1..).unwrap_or(&[]), block),
            Some(Content::Unpacked(unpacked)) => (unpacked.as_slice(), unpacked),
        };
        let mut flow = self.receiver.handle_batch(batch, block, deliver)?;
        while let Flow::Paused(pause) = flow {
            flow = self.receiver.resume_batch(pause, batch, block, deliver)?;
        }
        Ok(flow)
    }

    fn handle_message<D: Deliver>(
        &mut self,
        message: &[u8],
        block: &ZSlice,
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        let mut flow = self.receiver.handle_bare(message, block, deliver)?;
        while let Flow::Paused(pause) = flow {
            flow = self.receiver.resume_bare(pause, message, block, deliver)?;
        }
        Ok(flow)
    }

    /// Takes the whole batches at the front of `block`, each behind its length prefix, as a stream
    /// brings them.
    ///
    /// # Errors
    /// The peer broke the protocol; drop the link.
    pub fn handle_bytes<D: Deliver>(
        &mut self,
        now: Instant,
        block: &ZSlice,
        deliver: &mut D,
    ) -> Result<Progress, PeerMisbehaved> {
        self.timers.on_received(now);
        let mut rest = block.as_slice();
        let mut flow = Flow::Open;
        while let (Flow::Open, Some((batch, behind))) = (flow, self.split(rest)?) {
            flow = self.handle_whole(batch, block, deliver)?;
            rest = behind;
        }
        Ok(Progress {
            consumed: block.len() - rest.len(),
            flow,
        })
    }

    /// The batch or bare message at the front of a stream's bytes and what follows it; `None` if it is not complete.
    fn split<'b>(&self, bytes: &'b [u8]) -> Result<Option<Split<'b>>, PeerMisbehaved> {
        if !self.receiver.framing().is_bare() {
            return Ok(split_batch(bytes));
        }
        let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = self.receiver.check_bare(u32::from_le_bytes(*length))?;
        Ok(rest.split_at_checked(length))
    }

    /// When to call [`handle_timeout`](Connection::handle_timeout) at the latest.
    pub fn poll_timeout(&self) -> Instant {
        self.timers.poll_timeout()
    }

    /// Does what is due at `now`: queues a keep-alive.
    ///
    /// # Errors
    /// The peer was silent for its whole lease; drop the link.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), Expired> {
        match self.timers.handle_timeout(now) {
            Some(TimerEvent::Expired) => Err(Expired),
            Some(TimerEvent::SendKeepAlive) => {
                // What waits already says as much, and a link that takes nothing must not collect them.
                if self.lanes.iter().all(Lane::is_empty) {
                    self.lanes[0].push_bare(&TransportMessage::KeepAlive);
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The receiving half, to ask what it has counted.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// The index of the lane for `priority`.
    fn lane(&self, priority: Priority) -> usize {
        (priority as usize).min(self.lanes.len() - 1)
    }
}

/// What is at the front of a stream's bytes, and what follows it.
type Split<'b> = (&'b [u8], &'b [u8]);

/// The batch at the front of a stream's bytes and what follows it; `None` if it is not complete.
fn split_batch(bytes: &[u8]) -> Option<Split<'_>> {
    let (prefix, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(u16::from_le_bytes(*prefix).into())
}
