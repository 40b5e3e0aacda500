// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a simulated link: takes batches, gives back chunks of bytes, with the faults
//! and delays it was told to have.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::rng::Rng;

/// What goes wrong on the way, each as a chance per mille and batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    pub loss: u64,
    pub duplication: u64,
    pub reordering: u64,
    pub truncation: u64,
    pub bit_flips: u64,
    pub garbage: u64,
}

/// How a direction carries bytes.
#[derive(Clone, Copy, Debug)]
pub struct Carriage {
    /// A stream: batches behind length prefixes, cut anywhere. Else a batch arrives as one piece.
    pub stream: bool,
    pub latency: Duration,
    pub time_per_byte: Duration,
    /// The sender may not write while this many bytes are under way.
    pub window_bytes: usize,
}

#[derive(Debug)]
pub struct Pipe {
    pub carriage: Carriage,
    pub faults: Faults,
    /// Nothing arrives before this time.
    pub stalled_until: Option<Instant>,
    /// Nothing arrives any more.
    pub cut: bool,
    /// Batches that never arrive, as sent.
    pub lost_batches: u64,
    under_way: BTreeMap<(Instant, u64), Vec<u8>>,
    bytes_under_way: usize,
    last_arrival: Option<Instant>,
    count: u64,
    /// What is sent brings its own lengths.
    pub bare: bool,
}

impl Pipe {
    pub fn new(carriage: Carriage) -> Self {
        Pipe {
            carriage,
            faults: Faults::default(),
            stalled_until: None,
            cut: false,
            lost_batches: 0,
            under_way: BTreeMap::new(),
            bytes_under_way: 0,
            last_arrival: None,
            count: 0,
            bare: false,
        }
    }

    pub fn is_writable(&self) -> bool {
        self.bytes_under_way < self.carriage.window_bytes
    }

    /// Takes a batch without its prefix.
    pub fn send(&mut self, now: Instant, batch: &[u8], rng: &mut Rng) {
        if rng.per_mille(self.faults.loss) {
            self.lost_batches += 1;
            return;
        }
        let damaged = self.damage(batch, rng);
        let copies = if rng.per_mille(self.faults.duplication) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            self.schedule(now, &damaged, rng);
        }
        if rng.per_mille(self.faults.garbage) {
            let count = rng.between(1, 64) as usize;
            let garbage = rng.bytes(count);
            self.schedule(now, &garbage, rng);
        }
    }

    fn damage(&self, batch: &[u8], rng: &mut Rng) -> Vec<u8> {
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

    fn schedule(&mut self, now: Instant, batch: &[u8], rng: &mut Rng) {
        let transfer = self.carriage.time_per_byte * batch.len() as u32;
        let mut at = now + self.carriage.latency + transfer;
        if rng.per_mille(self.faults.reordering) {
            at += Duration::from_micros(rng.below(20_000));
        } else {
            at = at.max(self.last_arrival.unwrap_or(at));
            self.last_arrival = Some(at);
        }
        if !self.carriage.stream {
            self.insert(at, batch.to_vec());
            return;
        }
        let mut bytes = match self.bare {
            true => Vec::new(),
            false => (batch.len() as u16).to_le_bytes().to_vec(),
        };
        bytes.extend_from_slice(batch);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let whole = rng.per_mille(700);
            let cut = if whole {
                rest.len()
            } else {
                rng.between(1, rest.len() as u64) as usize
            };
            self.insert(at, rest[..cut].to_vec());
            rest = &rest[cut..];
        }
    }

    fn insert(&mut self, at: Instant, bytes: Vec<u8>) {
        self.count += 1;
        self.bytes_under_way += bytes.len().max(1);
        self.under_way.insert((at, self.count), bytes);
    }

    pub fn next_arrival(&self) -> Option<Instant> {
        let (at, _) = *self.under_way.first_key_value()?.0;
        (!self.cut).then(|| self.stalled_until.map_or(at, |until| until.max(at)))
    }

    /// What has arrived by `now`, a chunk per call.
    pub fn receive(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.next_arrival()? > now {
            return None;
        }
        let (_, bytes) = self.under_way.pop_first()?;
        self.bytes_under_way -= bytes.len().max(1);
        Some(bytes)
    }
}
