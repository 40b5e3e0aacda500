// SPDX-License-Identifier: MIT OR Apache-2.0
//! Socket writer, the one place where bytes leave. The holder of the [`SocketWriter`] writes, and
//! takes other senders' queued batches along.

use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use zonda_codec::{Close, Priority, TransportMessage};
use zonda_runtime::{LinkWrite, Runtime};

use crate::{
    clock,
    ended::Ended,
    protocol::{compression::Packer, tx::Batch},
    sync::MutexGuard,
};

use super::{
    Action, Change, DirectSocket, LinkShare, MOMENT, Outbox, SpentPayloads, credit::Credit,
    election::WriteEnd, signal, transmit::Transmit,
};

/// Maximum number of buffers kept for the lanes' next batches: about as many as one write empties.
const FREE_MAX: usize = 8;

/// Maximum size of buffers that belonged to fragments with a shared payload, and are not worth
/// keeping.
const BUFFER_BYTES_MIN: usize = 512;

/// All lanes of a connection, as bits.
pub(super) const ALL_LANES: u8 = u8::MAX;

/// Bytes after which the driver lets other tasks run, whatever the socket takes: some half
/// millisecond. A sender has no such turns: what it left in its lane would count against the lane's
/// limit, although the socket takes it.
const DRIVER_TURN_BYTES_MAX: usize = 2 * 1024 * 1024;

/// State of the writer: the socket, the batches under way, buffers to reuse.
#[derive(Debug)]
pub(super) struct SocketWriter {
    /// Socket of the link that sends all lanes; `None` once they are divided.
    pub(super) direct: Option<DirectSocket>,
    pub(super) transmit: Transmit,
    pub(super) buffers: Buffers,
    /// Credit of the link that sends all lanes.
    pub(super) credit: Credit,
    /// Links among which the lanes are divided, the oldest first.
    pub(super) links: Vec<SendingLink>,
    pub(super) look: Look,
}

/// Memory for making batches, and for compressing them on their way out.
#[derive(Debug)]
pub(super) struct Buffers {
    /// Buffers to be reused.
    free: Vec<Box<[u8]>>,
    /// Compressor, on a link that compresses.
    packer: Option<Box<Packer>>,
    /// Payloads of written batches; the writer [returns them](drop_guarded) when it unlocks.
    spent: SpentPayloads,
}

/// Last look at the lanes that are to move to another link.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub(super) at: Option<Instant>,
    /// Bytes that each lane had sent.
    pub(super) sent: [u64; Priority::ALL.len()],
}

/// Link that sends some of the lanes, as the writer sees it.
#[derive(Debug)]
pub(super) struct SendingLink {
    pub(super) share: Arc<LinkShare>,
    pub(super) direct: DirectSocket,
    /// Lanes that it sends, as bits.
    pub(super) lanes: u8,
    /// Lanes that it is for, as bits.
    pub(super) wanted: u8,
    /// Batches under way: empty, but for one that a full socket has taken in part.
    pub(super) transmit: Transmit,
    /// Set while the socket takes nothing more.
    pub(super) is_full: bool,
    pub(super) credit: Credit,
}

impl SendingLink {
    pub(super) fn new(share: &Arc<LinkShare>, direct: &DirectSocket) -> SendingLink {
        SendingLink {
            share: Arc::clone(share),
            direct: direct.clone(),
            lanes: 0,
            wanted: 0,
            transmit: Transmit::default(),
            is_full: false,
            credit: Credit::default(),
        }
    }

    /// Leaves the link to its task until the socket takes bytes again.
    pub(super) fn wait(&mut self) {
        self.is_full = true;
        self.share.raise(signal::HANDOVER);
    }
}

impl SocketWriter {
    pub(super) fn new(direct: Option<DirectSocket>, packer: Option<Box<Packer>>) -> Self {
        Self {
            direct,
            transmit: Transmit::default(),
            buffers: Buffers {
                free: Vec::with_capacity(FREE_MAX),
                packer,
                spent: SpentPayloads::default(),
            },
            credit: Credit::default(),
            links: Vec::new(),
            look: Look::default(),
        }
    }

    /// Returns the bytes that sockets have taken in part.
    pub(super) fn under_way(&self) -> usize {
        let links = self.links.iter().map(|link| link.transmit.bytes());
        self.transmit.bytes() + links.sum::<usize>()
    }

    /// Returns the socket that senders write to by themselves.
    pub(super) fn direct(&self) -> Option<DirectSocket> {
        self.direct.clone()
    }

    /// Returns the batches under way.
    pub(super) fn transmit(&self) -> &Transmit {
        &self.transmit
    }

    /// Returns the bytes of the buffers that it keeps, and of those in which the link's layers or
    /// its carrier keep sent and received bytes.
    pub(super) fn memory(&self) -> usize {
        let free = self.buffers.free.iter().map(|buffer| buffer.len());
        let links = self.links.iter().map(|link| link.direct.held());
        let held = self.direct.as_ref().map_or(0, DirectSocket::held) + links.sum::<usize>();
        free.sum::<usize>() + held
    }

    /// Takes all resources out of the writer, which cannot write any more.
    pub(super) fn release(&mut self) -> SocketWriter {
        let empty = SocketWriter {
            direct: None,
            transmit: Transmit::default(),
            buffers: Buffers {
                free: Vec::new(),
                packer: None,
                spent: SpentPayloads::default(),
            },
            credit: Credit::default(),
            links: Vec::new(),
            look: Look::default(),
        };
        std::mem::replace(self, empty)
    }

    /// Continues with another socket.
    pub(super) fn replace(&mut self, direct: Option<DirectSocket>) {
        self.direct = direct;
        self.credit = Credit::default();
        self.transmit.rewind();
    }
}

/// Unlocks the writer; the caller has to drop the result with no other lock held.
#[inline]
#[must_use]
pub(super) fn drop_guarded(mut writer: MutexGuard<'_, SocketWriter>) -> Option<SpentPayloads> {
    writer.buffers.spent.take()
}

impl Buffers {
    /// Keeps the reusable parts of a written batch.
    #[inline]
    pub(super) fn reclaim(&mut self, batch: Batch) {
        let buffer = self.spent.take_apart(batch);
        if self.free.len() < FREE_MAX && buffer.len() > BUFFER_BYTES_MIN {
            self.free.push(buffer);
        }
    }

    /// Compresses the batches from the `first` on, which were just added.
    fn pack(&mut self, transmit: &mut Transmit, first: usize, buffer_bytes: usize) {
        if let Some(packer) = &mut self.packer {
            transmit.pack(first, |batch| {
                let payload = packer.pack(batch, &mut self.free, buffer_bytes);
                payload
                    .into_iter()
                    .for_each(|payload| self.spent.keep(payload));
            });
        }
    }
}

/// Lanes of which batches were taken since senders were woken last, as bits.
#[derive(Debug, Default)]
pub(super) struct DrainedLanes {
    /// Lanes that had room for waiting senders at the last look.
    drained: u8,
    taken: u8,
}

impl DrainedLanes {
    #[inline]
    fn note(&mut self, lane: usize, drained: bool) {
        let bit = 1 << lane;
        self.drained = self.drained & !bit | u8::from(drained) << lane;
        self.taken |= bit;
    }

    /// Returns the lanes of which batches were taken.
    #[inline]
    pub(super) fn taken(&self) -> u8 {
        self.taken
    }
}

impl Outbox {
    /// Writes as the elected thread, until the socket is full or has all that is ready, or for a
    /// turn of this many bytes, and ends its election. Returns its next step, and payloads to be
    /// dropped before that step.
    ///
    /// Messages that other threads add during the write are not followed: those threads write
    /// themselves, demand a write, or leave it to the next tick.
    #[inline]
    pub(super) fn write_elected(&self, turn: usize) -> (Action, Option<SpentPayloads>) {
        // The lock is free except for moments: no other holder of this lock writes.
        let locked = self.writer.try_lock();
        let mut writer = locked.unwrap_or_else(|| self.writer.lock());
        let SocketWriter {
            direct,
            transmit,
            buffers,
            credit,
            ..
        } = &mut *writer;
        let Some(direct) = direct else {
            return self.write_divided(writer);
        };
        if credit.is_mixed() {
            return self.write_mixed(writer, turn);
        }
        let send = |transmit: &Transmit| direct.send(transmit);
        let end = self.write_by::<false>(transmit, buffers, credit, turn, send);
        // Under the lock: a link that takes over finds this write either under way or ended, never
        // in between.
        let action = self.finish(end);
        (action, drop_guarded(writer))
    }

    /// Ends the election of the writer, which has to have [`SocketWriter`] locked.
    #[inline]
    pub(super) fn finish(&self, end: WriteEnd) -> Action {
        let action = self.election.apply(Change::Finish(end));
        if end == WriteEnd::Lost {
            self.signals.raise(signal::LOST);
        }
        if action == Action::WakeDriver {
            self.signals.raise(signal::HANDOVER);
        }
        action
    }

    /// Writes by `send`, which returns the number of bytes that it took, for a turn of this many
    /// bytes. `MIXED` if the lanes need credit.
    #[inline(always)]
    pub(super) fn write_by<const MIXED: bool>(
        &self,
        transmit: &mut Transmit,
        buffers: &mut Buffers,
        credit: &mut Credit,
        turn: usize,
        mut send: impl FnMut(&Transmit) -> io::Result<usize>,
    ) -> WriteEnd {
        // Senders that wait for room are woken once the socket has taken the batches that left
        // their lane: the remaining batches go back.
        let mut drained = DrainedLanes::default();
        let mut written = 0;
        loop {
            // No batch is written after the end, so that the lost messages can be counted.
            if self.is_closed() {
                return WriteEnd::Ended;
            }
            let lanes = if MIXED {
                credit.permits(ALL_LANES)
            } else {
                ALL_LANES
            };
            let all = self.gather(lanes, transmit, buffers, &mut drained);
            if transmit.is_empty() {
                return WriteEnd::Done;
            }
            credit.note_lanes(drained.taken(), clock::now);
            if MIXED {
                credit.charge(transmit.last_lane(), transmit.bytes(), clock::now);
            }
            match send(transmit) {
                Ok(count) => {
                    self.count_write(count, &self.counters.writes_direct);
                    transmit.advance(count, buffers, &self.tallies);
                    if transmit.is_empty() {
                        self.tell_room(&mut drained);
                        if all {
                            return WriteEnd::Done;
                        }
                        // The driver lets other tasks run between two turns.
                        written += count;
                        if written < turn {
                            continue;
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) if self.fails_over => {
                    self.tell_room(&mut drained);
                    return WriteEnd::Lost;
                }
                Err(error) => {
                    self.end(Ended::Io(error.kind()));
                    self.signals.raise(signal::ABORT);
                    return WriteEnd::Ended;
                }
            }
            self.put_back(transmit, &mut drained);
            self.tell_room(&mut drained);
            return WriteEnd::Full;
        }
    }

    /// Takes ready batches of these lanes, highest priority first, and notes the room that this
    /// makes. False if more may be ready than go into this write.
    #[inline(always)]
    pub(super) fn gather(
        &self,
        lanes: u8,
        transmit: &mut Transmit,
        buffers: &mut Buffers,
        drained: &mut DrainedLanes,
    ) -> bool {
        if buffers.packer.is_some() {
            return self.gather_packed(lanes, transmit, buffers, drained);
        }
        self.collect(lanes, transmit, &mut buffers.free, drained)
    }

    #[cold]
    #[inline(never)]
    fn gather_packed(
        &self,
        lanes: u8,
        transmit: &mut Transmit,
        buffers: &mut Buffers,
        drained: &mut DrainedLanes,
    ) -> bool {
        let first = transmit.len();
        let all = self.collect(lanes, transmit, &mut buffers.free, drained);
        buffers.pack(transmit, first, self.batch_bytes);
        all
    }

    #[inline(always)]
    fn collect(
        &self,
        lanes: u8,
        transmit: &mut Transmit,
        free: &mut Vec<Box<[u8]>>,
        drained: &mut DrainedLanes,
    ) -> bool {
        while !transmit.is_full() {
            let index = self.most_urgent(lanes);
            let Some(lane) = self.lanes.get(index) else {
                return true;
            };
            // Batches that were already taken do not wait for a sender that is still filling a lane
            // behind them.
            let mut lane = match transmit.is_empty() {
                true => lane.lock(),
                false => match lane.try_lock() {
                    Some(lane) => lane,
                    None => return false,
                },
            };
            // Between the choice of this lane and its lock a thread may have queued a more urgent
            // message and then one here. The urgent message has to leave first: it may declare the
            // id by which the second one names its key.
            if self.most_urgent(lanes) < index {
                continue;
            }
            while !transmit.is_full() {
                let Some(batch) = lane.pop(free) else { break };
                transmit.push(batch);
            }
            if lane.is_empty() {
                self.ready.fetch_and(!(1 << index), Ordering::SeqCst);
            }
            drained.note(index, lane.has_drained());
        }
        false
    }

    /// Returns the first of these lanes that has something to write; beyond the last one if none
    /// has.
    #[inline]
    fn most_urgent(&self, lanes: u8) -> usize {
        (self.ready.load(Ordering::SeqCst) & lanes).trailing_zeros() as usize
    }

    /// Wakes the senders that wait for room if there is some, and the sources that watch the
    /// backlog.
    pub(super) fn tell_room(&self, drained: &mut DrainedLanes) {
        let has_drained = std::mem::take(drained).drained != 0;
        if has_drained {
            self.isolated.note_drained();
        }
        if has_drained || self.isolated.is_watched() {
            self.room.tell();
        }
    }

    /// Returns batches of which a full socket has taken no byte to the front of their lanes, so
    /// that a more urgent message that comes before there is room again waits for one batch at
    /// most.
    #[cold]
    #[inline(never)]
    pub(super) fn put_back(&self, transmit: &mut Transmit, drained: &mut DrainedLanes) {
        let mut next = transmit.take_unwritten();
        while let Some(batch) = next {
            let priority = batch.priority();
            let index = self.lane_index(priority);
            let mut lane = self.lanes[index].lock();
            lane.put_back(batch);
            next = transmit.take_unwritten();
            while let Some(batch) = next.take_if(|batch| batch.priority() == priority) {
                lane.put_back(batch);
                next = transmit.take_unwritten();
            }
            drained.note(index, lane.has_drained());
            drop(lane);
            self.mark_ready(index);
        }
    }

    pub(super) fn count_write(&self, bytes: usize, writes: &std::sync::atomic::AtomicU64) {
        self.wrote.store(true, Ordering::Relaxed);
        writes.fetch_add(1, Ordering::Relaxed);
        self.counters
            .bytes
            .fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Writes for the driver: where senders write by themselves the driver waits for the socket, or
    /// leaves the wait to a sender that waits for room, a moment at a time; elsewhere it takes the
    /// batches over and writes them. Returns when no sender demands more. Not cancel-safe: a write
    /// that is dropped half-way leaves the link unusable.
    pub(crate) async fn drain<R: Runtime, W: LinkWrite>(
        &self,
        runtime: &R,
        writer: &mut W,
    ) -> io::Result<()> {
        if self.has_direct {
            self.drain_direct(runtime, writer).await
        } else {
            self.drain_owned(writer).await
        }
    }

    /// Waits for the socket, with the batches left in the socket writer: a sender that waits for
    /// room writes them as well. While there is such a sender the driver only polls whether it is
    /// still there: two threads that wait for the same socket obstruct each other.
    async fn drain_direct<R: Runtime, W: LinkWrite>(
        &self,
        runtime: &R,
        writer: &mut W,
    ) -> io::Result<()> {
        while self.is_blocked() && !self.is_closed() {
            if self.election.apply(Change::DriverWaits) == Action::LookAgain {
                runtime.sleep_until(clock::now() + MOMENT).await;
                self.election.apply(Change::DriverWoke);
                continue;
            }
            let mut has_waited = false;
            {
                let mut writable = pin!(writer.writable());
                poll_fn(|context| {
                    let polled = writable.as_mut().poll(context);
                    has_waited |= polled.is_pending();
                    polled
                })
                .await?;
            }
            drop(self.resume(DRIVER_TURN_BYTES_MAX));
            // A socket whose peer reads as fast as this task writes never makes it wait.
            if !has_waited && self.is_blocked() {
                runtime.yield_now().await;
            }
        }
        self.flush();
        Ok(())
    }

    /// Returns true while the socket is full and batches wait for it.
    pub(super) fn is_blocked(&self) -> bool {
        self.election.is_blocked()
    }

    /// Continues writing where it stopped, as the socket takes bytes again, for a turn of this many
    /// bytes. The caller has to flush afterwards, for writes that were demanded during this one.
    fn resume(&self, turn: usize) -> Option<SpentPayloads> {
        match self.election.apply(Change::Resume) {
            Action::Write => self.write_elected(turn).1,
            _ => None,
        }
    }

    /// Waits, blocking the calling thread, until the lane has room, the connection closes, or
    /// `deadline` passes. True if there is room. Where the platform allows it the caller writes to
    /// the socket itself during the wait, so that this works on the very thread that drives the
    /// link.
    pub fn wait_room(&self, priority: Priority, deadline: Instant) -> bool {
        loop {
            let listener = self.listen_room();
            if self.has_room(priority) {
                return true;
            }
            let now = clock::now();
            let Some(left) = deadline
                .checked_duration_since(now)
                .filter(|left| !left.is_zero())
            else {
                return false;
            };
            if self.is_withheld(priority) {
                // This thread may be the one that drives the link.
                listener.wait(left.min(MOMENT));
                self.flush();
                continue;
            }
            if self.is_divided() {
                if !self.wait_for_link(priority, left.min(MOMENT)) {
                    listener.wait(left.min(MOMENT));
                }
                continue;
            }
            match self.has_direct.then(|| self.election.attend()) {
                Some(Some(first)) => {
                    let is_writable = self.wait_writable(left);
                    let spent = is_writable.then(|| self.resume(usize::MAX));
                    // The next lines may run the code of a payload's owner, which may wait for this
                    // socket as well.
                    drop(first);
                    if is_writable {
                        // The driver may have found this thread writing, and left its own demand to
                        // it.
                        self.flush();
                        drop(spent);
                    }
                }
                Some(None) => listener.wait(left.min(MOMENT)),
                None => listener.wait(left),
            }
        }
    }

    /// Waits for the socket on the sender's thread; true if the socket takes bytes.
    fn wait_writable(&self, left: Duration) -> bool {
        let socket = self.writer.lock().direct();
        socket.is_some_and(|socket| socket.wait_writable(left))
    }

    async fn drain_owned<W: LinkWrite>(&self, writer: &mut W) -> io::Result<()> {
        loop {
            let (transmit, all) = self.take_for_driver();
            if !transmit.is_empty() {
                let bytes = transmit.bytes();
                let (result, mut transmit) = writer.write_all(transmit).await;
                result?;
                self.count_write(bytes, &self.counters.writes_driver);
                let mut own = self.writer.lock();
                transmit.advance(bytes, &mut own.buffers, &self.tallies);
                own.transmit = transmit;
                drop(drop_guarded(own));
            }
            if self.election.apply(Change::HandBack) != Action::Again && all {
                return Ok(());
            }
        }
    }

    /// Takes the batches that are ready for the driver, which owns them until it hands them back;
    /// the flag is true if these are all: the next write takes more than fit into one.
    fn take_for_driver(&self) -> (Transmit, bool) {
        self.election.apply(Change::Take);
        let mut guard = self.writer.lock();
        let SocketWriter {
            transmit, buffers, ..
        } = &mut *guard;
        let mut drained = DrainedLanes::default();
        let all = self.gather(ALL_LANES, transmit, buffers, &mut drained);
        self.tell_room(&mut drained);
        let taken = std::mem::take(transmit);
        // A compressed batch leaves its payload behind.
        drop(drop_guarded(guard));
        (taken, all)
    }

    /// Queues a keep-alive, ahead of all data. The link was idle for a while: the memory for more
    /// messages is freed.
    pub(crate) fn push_keep_alive(&self) {
        if let Some(mut writer) = self.writer.try_lock() {
            writer.buffers.free.clear();
            if let Some(packer) = &mut writer.buffers.packer {
                packer.trim();
            }
        }
        for lane in &self.lanes {
            lane.lock().trim();
        }
        self.enqueue_own(0, &TransportMessage::KeepAlive);
    }

    /// Queues the Close that ends the link, behind everything else.
    pub(crate) fn push_close(&self, priority: Priority) {
        let reason = self.signals.close_reason();
        self.enqueue_own(
            self.lane_index(priority),
            &TransportMessage::Close(Close {
                reason,
                session: false,
            }),
        );
    }

    /// Returns true if bytes were written since the last call.
    pub(crate) fn take_wrote(&self) -> bool {
        self.wrote.swap(false, Ordering::Relaxed)
    }

    /// Notes that bytes of the peer arrived just now.
    pub(crate) fn note_received(&self, now: Instant) {
        let at = now.saturating_duration_since(self.epoch).as_nanos();
        self.last_received_ns
            .store(u64::try_from(at).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns the time of the last arrival from the peer.
    #[must_use]
    pub fn last_received(&self) -> Instant {
        self.epoch + Duration::from_nanos(self.last_received_ns.load(Ordering::Relaxed))
    }

    /// Returns true if anything arrived from the peer since the handshake, or its reader paused.
    #[must_use]
    pub fn has_received(&self) -> bool {
        self.last_received_ns.load(Ordering::Relaxed) > 0
    }

    /// Checks a hot link at the driver's tick: see [`super::election`]. Returns true if the link is
    /// still hot.
    pub(crate) fn tick(&self, idle_ticks: &mut u32) -> bool {
        if self.waiting_lanes() == 0 {
            *idle_ticks += 1;
            if *idle_ticks < IDLE_TICKS_MAX {
                return true;
            }
            self.election.apply(Change::CoolDown);
            // A sender that still found the stream dense has put its message into a lane by now.
            if self.lanes.iter().any(|lane| !lane.lock().is_empty()) {
                self.flush();
            }
            return false;
        }
        *idle_ticks = 0;
        if self.election.apply(Change::Tick) == Action::Write {
            self.flush();
        }
        true
    }

    /// Shuts both directions of the socket down, which also ends the reading task.
    pub(crate) fn shutdown(&self) {
        let writer = self.writer.lock();
        if let Some(direct) = &writer.direct {
            direct.shutdown();
        }
        writer.links.iter().for_each(|link| link.direct.shutdown());
    }

    /// Returns true if the end of the connection waits for the driver.
    pub(crate) fn wants_end(&self) -> bool {
        self.is_closed()
            || self
                .signals
                .has(signal::CLOSE | signal::ABORT | signal::LOST | signal::DIVIDED)
    }

    /// Returns true if the socket did not take everything and the driver must wait for it.
    pub(crate) fn needs_driver(&self) -> bool {
        !self.has_direct || self.is_blocked()
    }

    /// Takes the raised signals, or registers the driver for the next one.
    pub(crate) fn poll_signals(&self, context: &mut Context<'_>) -> Poll<u8> {
        self.signals.poll(context)
    }

    /// Returns the reason for the Close message.
    pub(crate) fn close_reason(&self) -> u8 {
        self.signals.close_reason()
    }
}

/// Number of ticks without a message after which a hot link cools down.
const IDLE_TICKS_MAX: u32 = 10;

#[cfg(test)]
mod tests;
