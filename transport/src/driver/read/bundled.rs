// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading task of a link that is one of several: like the plain one, but receiver and handler are
//! borrowed for each read, and fragments are not read to their place.

use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Instant,
};

use zonda_codec::ZSlice;
use zonda_runtime::{LinkRead, Runtime, RxBuf};

use crate::{
    block::SharedBlock,
    clock,
    driver::{
        Ended, Handler,
        bundle::{Bundle, BundleLink, ReceiveState},
    },
    ledger::Charge,
    protocol::{
        compression::{Content, Unpacker},
        options::Framing,
        rx::{Flow, Pause, PeerMisbehaved, Receiver},
    },
};

use super::{BLOCK_BYTES, SPARE_BYTES_MIN, held::read_held, next_batch, time_slice::TimeSlice};

/// State of the reading task.
pub(in crate::driver) struct BundledReadTask<R, H> {
    runtime: R,
    bundle: Arc<Bundle<H>>,
    member: Arc<BundleLink>,
    block: Arc<SharedBlock>,
    consumed: usize,
    /// Bytes read that the receiver has not counted yet.
    uncounted: usize,
    unpacker: Unpacker,
    turn: TimeSlice,
    /// Next time to check, as far as this link knows, for priorities of the connection that waited
    /// for declarations too long and for a peer that was silent too long in the middle of a
    /// message.
    look_at: Option<Instant>,
}

impl<R: Runtime, H: Handler> BundledReadTask<R, H> {
    pub(in crate::driver) fn new(
        runtime: R,
        bundle: Arc<Bundle<H>>,
        member: Arc<BundleLink>,
    ) -> Self {
        Self {
            runtime,
            bundle,
            member,
            block: Arc::default(),
            consumed: 0,
            uncounted: 0,
            unpacker: Unpacker::default(),
            turn: TimeSlice::default(),
            look_at: None,
        }
    }

    /// Reads until the link ends.
    pub(in crate::driver) async fn run<L: LinkRead>(mut self, mut link: L, unread: Vec<u8>) {
        let ended = self.read_all(&mut link, &unread).await;
        let outbox = Arc::clone(self.bundle.outbox());
        let ended = outbox.end_of_reading(ended);
        if let Ended::Misbehaved(_) | Ended::Memory = &ended {
            // the other links come from the same peer
            outbox.end(ended.clone());
            outbox.abort();
        }
        let lingers = ended == Ended::Local;
        if self.bundle.leaves_no_reader() && !outbox.is_closed() {
            self.end_held().await;
        }
        self.bundle.reading_is_over(&self.member, ended);
        if lingers {
            discard(&mut link).await;
        }
        if outbox.is_closed() {
            // The side that sent Close waits for this end.
            outbox.abort();
        }
        self.bundle.finish_task();
    }

    async fn read_all<L: LinkRead>(&mut self, link: &mut L, unread: &[u8]) -> Ended {
        let mut buffer = RxBuf::new(BLOCK_BYTES);
        let first = unread.len().min(buffer.spare_mut().len());
        buffer.spare_mut()[..first].copy_from_slice(&unread[..first]);
        buffer.advance(first);
        self.uncounted = first;
        self.block = Arc::new(SharedBlock(buffer, Charge::default()));
        loop {
            if let Err(ended) = self.deliver().await {
                return ended;
            }
            if self.bundle.outbox().is_closed() {
                return self.why_closed();
            }
            if self.bundle.outbox().is_closing() {
                self.bundle.outbox().over().await;
                discard(link).await;
                return self.why_closed();
            }
            if self.turn.is_over() {
                self.runtime.yield_now().await;
            }
            let buffer = self.next_buffer();
            let (result, buffer) = match self.look_at {
                None => self.turn.watch(link.read(buffer)).await,
                // Boxed, because it is rarely needed and would make every reading task larger.
                Some(_) => match Box::pin(self.read_and_look(link, buffer)).await {
                    Ok(read) => read,
                    Err(ended) => return ended,
                },
            };
            self.block = Arc::new(SharedBlock(buffer, Charge::default()));
            match result {
                _ if self.bundle.outbox().is_closed() => return self.why_closed(),
                Ok(0) => return Ended::HungUp,
                Ok(count) => {
                    self.uncounted += count;
                    self.turn.note_read(clock::now());
                    self.note_received();
                }
                Err(error) => return error.into(),
            }
        }
    }

    fn why_closed(&self) -> Ended {
        let ended = self.bundle.outbox().ended().cloned();
        ended.unwrap_or(Ended::Local)
    }

    fn note_received(&self) {
        note_received(&self.bundle, &self.member);
    }

    /// Returns the rest of the block, with room behind it.
    fn next_buffer(&mut self) -> RxBuf {
        let unshared = Arc::get_mut(&mut self.block).map(|block| block.0.take());
        let buffer = match unshared {
            Some(mut buffer) => {
                buffer.discard_front(self.consumed);
                buffer
            }
            None => {
                let left = self.block.0.filled().get(self.consumed..).unwrap_or(&[]);
                let mut fresh = RxBuf::new(BLOCK_BYTES);
                fresh.spare_mut()[..left.len()].copy_from_slice(left);
                fresh.advance(left.len());
                fresh
            }
        };
        self.consumed = 0;
        buffer
    }

    /// Passes every whole batch of the block to the receiver.
    async fn deliver(&mut self) -> Result<(), Ended> {
        let buffer = Arc::clone(&self.block);
        let filled = buffer.0.filled();
        let Ok(block) = ZSlice::new(Arc::clone(&buffer) as _, 0, filled.len()) else {
            return Ok(());
        };
        if next_batch(filled, self.consumed).is_none() {
            return Ok(());
        }
        let Some(mut seat) = self.bundle.take_seat().await else {
            return Err(self.why_closed());
        };
        let mut done = Ok(());
        while let Some((batch, end)) = next_batch(filled, self.consumed) {
            self.consumed = end;
            done = self.take(&mut seat, batch, &block).await;
            if done.is_err() {
                break;
            }
            if seat.receiver.framing() == Framing::Compressed {
                // Few bytes may be many messages.
                self.turn.note_read(clock::now());
                if self.turn.is_over() {
                    self.runtime.yield_now().await;
                }
            }
        }
        // Also when a Close followed the data: forwarded messages must not stay in their lanes.
        seat.handler.burst_end().await;
        let outbox = self.bundle.outbox();
        seat.receiver
            .note_bytes(std::mem::take(&mut self.uncounted));
        outbox.note_arrived(&seat.receiver.arrived());
        if seat.receiver.thrown_away() > 0 && outbox.note_discarded(&seat.receiver.received()) {
            seat.handler.missed_too_large();
        }
        if seat.receiver.held_lanes() != 0 {
            outbox.note_held(&seat.receiver.received());
        }
        self.look_at = next_look(&mut seat.receiver, clock::now());
        if let Some(hopeless) = seat.receiver.hopeless(clock::now) {
            done = done.and(Err(hopeless.into()));
        }
        self.bundle.put_back(seat);
        done
    }

    /// Delivers the held messages that can be used, as no link brings more.
    #[cold]
    async fn end_held(&mut self) {
        if let Some(mut seat) = self.bundle.take_seat().await {
            let ReceiveState { receiver, handler } = &mut seat;
            receiver.give_up_held(None);
            // An error has no effect any more: the connection has ended.
            let _ = read_held(&self.runtime, receiver, handler, || {}).await;
            self.bundle.put_back(seat);
        }
    }

    /// Delivers the messages of priorities whose waiting time is over, and checks that the peer is
    /// not silent.
    async fn look(&mut self) -> Result<(), Ended> {
        let Some(mut seat) = self.bundle.take_seat().await else {
            return Err(self.why_closed());
        };
        let ReceiveState { receiver, handler } = &mut seat;
        receiver.give_up_held(Some(clock::now()));
        let note = || note_received(&self.bundle, &self.member);
        let mut done = read_held(&self.runtime, receiver, handler, note).await;
        let since = self.bundle.last_received();
        self.look_at = next_look(receiver, since);
        if receiver.is_unfinished() && receiver.silent_by(since) <= clock::now() {
            done = done.and(Err(receiver.give_up_silent().into()));
        }
        self.bundle.put_back(seat);
        done
    }

    /// Reads once, and looks as soon as the time of the next look has come.
    ///
    /// # Errors
    /// A message of a priority that has waited ends the connection, or the peer was silent for too long.
    #[cold]
    async fn read_and_look<L: LinkRead>(
        &mut self,
        link: &mut L,
        buffer: RxBuf,
    ) -> Result<(io::Result<usize>, RxBuf), Ended> {
        // The clock is checked even if the socket always has bytes.
        if self.look_at.is_some_and(|at| at <= clock::now()) {
            self.look().await?;
        }
        let runtime = self.runtime.clone();
        let mut reading = pin!(link.read(buffer));
        while let Some(at) = self.look_at {
            let mut over = None;
            let done = poll_fn(|context| {
                if let Poll::Ready(done) = reading.as_mut().poll(context) {
                    return Poll::Ready(Some(done));
                }
                self.turn.waited();
                let over = over.get_or_insert_with(|| Box::pin(runtime.sleep_until(at)));
                over.as_mut().poll(context).map(|()| None)
            });
            if let Some(done) = done.await {
                return Ok(done);
            }
            self.look().await?;
        }
        Ok(self.turn.watch(reading).await)
    }

    /// Passes one batch to the receiver, with as many pauses as the handler wants.
    async fn take(
        &mut self,
        seat: &mut ReceiveState<H>,
        batch: &[u8],
        block: &ZSlice,
    ) -> Result<(), Ended> {
        let misbehaved = |error: PeerMisbehaved| Ended::Misbehaved(error.to_string());
        // Unpack the batch.
        let unpacked = match seat.receiver.framing() {
            Framing::Compressed => {
                let opened = self.unpacker.open(batch);
                Some(opened.map_err(|error| misbehaved(error.into()))?)
            }
            Framing::Plain | Framing::Bare => None,
        };
        let (content, block) = match &unpacked {
            None => (batch, block),
            Some(Content::Plain) => (batch.get(1..).unwrap_or(&[]), block),
            Some(Content::Unpacked(unpacked)) => (unpacked.as_slice(), unpacked),
        };
        let mut paused: Option<Pause> = None;
        // Pause while the handler wants it.
        loop {
            while seat.handler.wants_pause() {
                seat.handler.burst_end().await;
                self.note_received();
                if seat.handler.is_turn_over() {
                    self.runtime.yield_now().await;
                }
            }
            if self.bundle.outbox().is_closed() {
                return Err(self.why_closed());
            }
            // Decode the batch and deliver its messages.
            let ReceiveState { receiver, handler } = &mut *seat;
            let flow = match paused.take() {
                None => receiver.handle_batch(content, block, handler),
                Some(pause) => receiver.resume_batch(pause, content, block, handler),
            };
            match flow.map_err(misbehaved)? {
                Flow::Open => return Ok(()),
                Flow::Paused(pause) => paused = Some(pause),
                Flow::Closed { reason } => return Err(Ended::Remote(reason)),
            }
        }
    }
}

fn note_received<H>(bundle: &Bundle<H>, member: &BundleLink) {
    member.note_received();
    if bundle.is_first(member) {
        bundle.outbox().note_received(clock::now());
    }
}

/// Returns the time of the next look at a connection with the last arrival at `since`, if there is
/// anything to wait for.
fn next_look(receiver: &mut Receiver, since: Instant) -> Option<Instant> {
    let silent = receiver.is_unfinished().then(|| receiver.silent_by(since));
    let held = receiver.held_until(clock::now);
    held.into_iter().chain(silent).min()
}

/// Reads and discards until the peer hangs up.
async fn discard<L: LinkRead>(link: &mut L) {
    let mut buffer = RxBuf::new(SPARE_BYTES_MIN);
    loop {
        buffer.clear();
        let (result, back) = link.read(buffer).await;
        buffer = back;
        if !matches!(result, Ok(count) if count > 0) {
            return;
        }
    }
}
