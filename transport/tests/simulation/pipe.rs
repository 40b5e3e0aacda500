// SPDX-License-Identifier: MIT OR Apache-2.0
//! Direction of a simulated link: the socket it is written to, the path, and the socket it is read
//! from. It takes bytes, and carries whole batches with the configured faults and delays.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::contents::Cutter;
use super::rng::Rng;

/// Minimum bytes that a full socket takes once it takes any again.
const ROOM_MIN: usize = 64;

/// Faults of the path, each as a chance per mille and batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    pub loss: u64,
    pub duplication: u64,
    pub reordering: u64,
    pub truncation: u64,
    pub bit_flips: u64,
    pub garbage: u64,
}

/// Transmission of bytes in one direction.
#[derive(Clone, Copy, Debug)]
pub struct CarrierState {
    /// True if reads are cut anywhere; false if a read brings whole batches.
    pub stream: bool,
    pub latency: Duration,
    pub time_per_byte: Duration,
    /// Bytes under way above which the sender may not write.
    pub window_bytes: usize,
}

pub struct Pipe {
    pub carriage: CarrierState,
    pub faults: Faults,
    /// Time before which nothing arrives.
    pub stalled_until: Option<Instant>,
    /// Set if nothing arrives any more.
    pub cut: bool,
    /// Set if the next write fails.
    pub broken: bool,
    /// Chance per mille that a write stops somewhere.
    pub splits: u64,
    /// Number of sent batches that never arrive.
    pub lost_batches: u64,
    /// Batches that the sender's socket has taken as a whole, with the time; for the sender's
    /// account.
    pub departed: Vec<(Instant, Vec<u8>)>,
    /// Bytes that the receiver has read, for the oracle.
    pub read: Vec<u8>,
    /// Time of the last read.
    pub last_read: Option<Instant>,
    rng: Rng,
    cutter: Cutter,
    under_way: BTreeMap<(Instant, u64), Vec<u8>>,
    bytes_under_way: usize,
    last_arrival: Option<Instant>,
    count: u64,
    /// End of the time for which a partial write has filled the socket.
    full_until: Option<Instant>,
    /// Time at which the end of the stream arrives.
    ends_at: Option<Instant>,
    /// Set once the receiver reads no more: arriving bytes are discarded.
    abandoned: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipe")
            .field("carriage", &self.carriage)
            .field("under way", &self.bytes_under_way)
            .field("partial", &self.cutter.rest().len())
            .field("is read", &self.reader.is_some())
            .field("is awaited", &self.writer.is_some())
            .field("is abandoned", &self.abandoned)
            .field("is full", &self.full_until.is_some())
            .finish_non_exhaustive()
    }
}

/// Pipe that its two ends and the world share.
#[derive(Clone, Debug)]
pub struct SharedPipe(Arc<Mutex<Pipe>>);

impl SharedPipe {
    pub fn new(carriage: CarrierState, rng: Rng) -> Self {
        SharedPipe(Arc::new(Mutex::new(Pipe {
            carriage,
            faults: Faults::default(),
            stalled_until: None,
            cut: false,
            broken: false,
            splits: 100,
            lost_batches: 0,
            departed: Vec::new(),
            read: Vec::new(),
            last_read: None,
            rng,
            cutter: Cutter::new(),
            under_way: BTreeMap::new(),
            bytes_under_way: 0,
            last_arrival: None,
            count: 0,
            full_until: None,
            ends_at: None,
            abandoned: false,
            reader: None,
            writer: None,
        })))
    }

    pub fn lock(&self) -> MutexGuard<'_, Pipe> {
        self.0.lock()
    }
}

impl Pipe {
    /// Switches to bare messages, which have their own lengths.
    pub fn be_bare(&mut self) {
        self.cutter.bare = true;
    }

    pub fn is_writable(&self, now: Instant) -> bool {
        self.broken
            || self.bytes_under_way < self.carriage.window_bytes
                && self.full_until.is_none_or(|until| until <= now)
    }

    /// Writes to the socket, as far as it takes the bytes now.
    pub fn write(&mut self, now: Instant, bytes: &[u8]) -> io::Result<usize> {
        if self.broken {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        if !self.is_writable(now) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let room = self.carriage.window_bytes - self.bytes_under_way;
        let mut taken = bytes.len().min(room.max(ROOM_MIN));
        if self.rng.per_mille(self.splits) {
            taken = self.rng.between(1, taken as u64) as usize;
        }
        if taken < bytes.len() {
            let transfer = self.carriage.time_per_byte * taken as u32;
            self.full_until = Some(now + transfer + Duration::from_micros(1));
        }
        for batch in self.cutter.take(&bytes[..taken]) {
            self.send(now, &batch);
            self.departed.push((now, batch));
        }
        Ok(taken)
    }

    /// Sends a batch without its prefix, as a handshake writes it, or a bare message.
    pub fn send(&mut self, now: Instant, batch: &[u8]) {
        if self.rng.per_mille(self.faults.loss) {
            self.lost_batches += 1;
            return;
        }
        let damaged = self.damage(batch);
        let copies = if self.rng.per_mille(self.faults.duplication) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            self.schedule(now, &damaged);
        }
        if self.rng.per_mille(self.faults.garbage) {
            let count = self.rng.between(1, 64) as usize;
            let garbage = self.rng.bytes(count);
            self.schedule(now, &garbage);
        }
    }

    fn damage(&mut self, batch: &[u8]) -> Vec<u8> {
        let rng = &mut self.rng;
        let mut bytes = batch.to_vec();
        if rng.per_mille(self.faults.truncation) && !bytes.is_empty() {
            bytes.truncate(rng.below(bytes.len() as u64) as usize);
        }
        if rng.per_mille(self.faults.bit_flips) && !bytes.is_empty() {
            for _ in 0..rng.between(1, 4) {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << rng.below(8);
            }
        }
        bytes
    }

    fn schedule(&mut self, now: Instant, batch: &[u8]) {
        let transfer = self.carriage.time_per_byte * batch.len() as u32;
        let mut at = now + self.carriage.latency + transfer;
        if self.rng.per_mille(self.faults.reordering) {
            at += Duration::from_micros(self.rng.below(20_000));
        } else {
            at = at.max(self.last_arrival.unwrap_or(at));
            self.last_arrival = Some(at);
        }
        let mut bytes = match self.cutter.bare {
            true => Vec::new(),
            false => (batch.len() as u16).to_le_bytes().to_vec(),
        };
        bytes.extend_from_slice(batch);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let whole = !self.carriage.stream || self.rng.per_mille(700);
            let cut = if whole {
                rest.len()
            } else {
                self.rng.between(1, rest.len() as u64) as usize
            };
            self.count += 1;
            self.bytes_under_way += cut;
            self.under_way
                .insert((at, self.count), rest[..cut].to_vec());
            rest = &rest[cut..];
        }
    }

    /// Returns the time at which the next bytes arrive, or have arrived.
    pub fn next_arrival(&self) -> Option<Instant> {
        let first = self.under_way.first_key_value();
        let at = first.map(|((at, _), _)| *at).or(self.ends_at)?;
        (!self.cut).then(|| self.stalled_until.map_or(at, |until| until.max(at)))
    }

    /// Returns the time of the next event that a task waits for. Before the link is open the world
    /// `polls`.
    pub fn next_event(&self, polls: bool) -> Option<Instant> {
        // The end of the stream concerns only a reader.
        let has_bytes = !self.under_way.is_empty();
        let waits = self.reader.is_some() || has_bytes && (polls || self.abandoned);
        let arrival = self.next_arrival().filter(|_| waits);
        let writable = self.next_room().filter(|_| self.writer.is_some());
        arrival.into_iter().chain(writable).min()
    }

    /// Returns the time at which a full socket takes bytes again, if that depends on the time
    /// alone.
    pub fn next_room(&self) -> Option<Instant> {
        let has_room = self.bytes_under_way < self.carriage.window_bytes;
        self.full_until.filter(|_| has_room)
    }

    /// Wakes the tasks that wait for an event before or at `now`.
    pub fn wake(&mut self, now: Instant) {
        if self.abandoned {
            while self.arrive(now).is_some() {}
        }
        if self.next_arrival().is_some_and(|at| at <= now)
            && let Some(reader) = self.reader.take()
        {
            reader.wake();
        }
        self.wake_writer(now);
    }

    fn wake_writer(&mut self, now: Instant) {
        if self.is_writable(now) {
            self.full_until = None;
            self.writer.take().into_iter().for_each(Waker::wake);
        }
    }

    /// Returns a chunk that has arrived by `now`.
    pub fn arrive(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.next_arrival()? > now {
            return None;
        }
        let (_, bytes) = self.under_way.pop_first()?;
        self.bytes_under_way -= bytes.len();
        self.wake_writer(now);
        Some(bytes)
    }

    /// Reads the bytes that have arrived; `None` if there are none.
    pub fn read(&mut self, now: Instant, into: &mut [u8]) -> Option<usize> {
        if self.abandoned || self.next_arrival()? > now {
            return self.abandoned.then_some(0);
        }
        let Some((key, mut bytes)) = self.under_way.pop_first() else {
            return Some(0);
        };
        let count = bytes.len().min(into.len());
        into[..count].copy_from_slice(&bytes[..count]);
        self.bytes_under_way -= count;
        self.read.extend_from_slice(&bytes[..count]);
        self.last_read = Some(now);
        let rest = bytes.split_off(count);
        if !rest.is_empty() {
            self.under_way.insert(key, rest);
        }
        self.wake_writer(now);
        Some(count)
    }

    /// Ends the sender's direction.
    pub fn hang_up(&mut self, now: Instant) {
        let at = now + self.carriage.latency;
        let at = at.max(self.last_arrival.unwrap_or(at));
        self.ends_at.get_or_insert(at);
    }

    /// Breaks the link: bytes under way are lost, and waiting tasks are woken.
    pub fn break_down(&mut self) {
        self.broken = true;
        self.under_way.clear();
        self.bytes_under_way = 0;
        self.ends_at = self.last_arrival;
        let waiting = self.reader.take().into_iter().chain(self.writer.take());
        waiting.for_each(Waker::wake);
    }

    /// Ends the reading from this pipe.
    pub fn abandon(&mut self) {
        self.abandoned = true;
        self.reader.take().into_iter().for_each(Waker::wake);
    }

    pub fn await_reading(&mut self, waker: &Waker) {
        self.reader = Some(waker.clone());
    }

    pub fn await_writing(&mut self, waker: &Waker) {
        self.writer = Some(waker.clone());
    }

    /// Returns true if a writer is woken once the pipe takes bytes.
    pub fn is_awaited(&self) -> bool {
        self.writer.is_some()
    }

    /// Returns true if no bytes are under way, and all arrived ones were taken.
    pub fn is_silent(&self) -> bool {
        let has_arrived = self.abandoned || self.reader.is_some();
        self.cut || self.under_way.is_empty() && has_arrived
    }

    /// Returns true if all written bytes have been read.
    pub fn is_confirmed(&self) -> bool {
        self.bytes_under_way == 0 && self.cutter.rest().is_empty()
    }
}
