// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two sides, two pipes and a clock that jumps from event to event.

use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::{Resolution, WhatAmI};
use zonda_transport::protocol::parameters::LocalParameters;

use super::pipe::{Carriage, Faults, Pipe};
use super::rng::Rng;
use super::side::{End, Link, Side, node};
use super::traffic::Note;

/// More events than any run may need; a run that gets here hangs.
const EVENTS_MAX: usize = 200_000;

pub struct World {
    pub now: Instant,
    pub start: Instant,
    pub rng: Rng,
    /// The opener and the acceptor.
    pub sides: [Side; 2],
    /// `pipes[i]` leads away from `sides[i]`.
    pub pipes: [Pipe; 2],
}

impl World {
    /// Sides and pipes as chance will have them, without faults and without messages.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let start = Instant::now();
        let stream = rng.per_mille(500);
        let small = rng.between(1, 3) * 40;
        let scale = rng.pick(&[32, 64, 500, 4000, 65535]);
        let mut local = |zid| {
            let lease = Duration::from_millis(rng.between(400, 10_000));
            let mut own: LocalParameters = node(zid, WhatAmI::Peer, lease);
            own.batch_size = rng.between(scale.min(32 + small), scale) as u16;
            own.resolution = Resolution::from_bits(rng.pick(&[0x0a, 0x0a, 0x01, 0x00, 0x0f]));
            own.qos = rng.per_mille(800);
            own.patch = u8::from(rng.per_mille(850));
            own.message_size_max = usize::from(own.batch_size) * 20;
            // both ends of every third world
            Arc::make_mut(&mut own.options).compression = seed.is_multiple_of(3);
            own
        };
        let locals = [local(seed as u128 | 1 << 70), local(seed as u128 | 1 << 90)];
        let mut carriage = || Carriage {
            stream,
            latency: Duration::from_micros(rng.below(5000)),
            time_per_byte: Duration::from_nanos(rng.below(200)),
            window_bytes: rng.between(1, 20_000) as usize,
        };
        let pipes = [Pipe::new(carriage()), Pipe::new(carriage())];
        let [opener, acceptor] = locals;
        let sides = [
            Side::new(opener, true, start),
            Side::new(acceptor, false, start),
        ];
        World {
            now: start,
            start,
            rng,
            sides,
            pipes,
        }
    }

    /// A world of bare messages: streams without priorities, and buffers that take every message.
    pub fn bare(seed: u64) -> Self {
        let mut world = World::new(seed);
        for (side, opens) in world.sides.iter_mut().zip([true, false]) {
            let lease = Duration::from_millis(world.rng.between(400, 10_000));
            let zid = seed as u128 | 1 << if opens { 70 } else { 90 };
            let mut own = node(zid, WhatAmI::Peer, lease);
            own.batch_size = world.rng.between(40_000, 65_535) as u16;
            own.qos = false;
            Arc::make_mut(&mut own.options).low_latency = true;
            *side = Side::new(own, opens, world.start);
        }
        for pipe in &mut world.pipes {
            pipe.carriage.stream = true;
        }
        world
    }

    /// Sends the opener's first word.
    pub fn begin(&mut self) {
        self.sides[0].start(self.now, &mut self.pipes[0], &mut self.rng);
    }

    /// Runs until both sides are open, which they must become.
    pub fn open(&mut self) {
        self.begin();
        while self.sides.iter().any(|side| side.connection().is_none()) {
            let ends = self.sides.each_ref().map(|side| side.end().cloned());
            assert!(self.step(), "no handshake: {ends:?}");
        }
    }

    pub fn set_faults(&mut self, faults: Faults) {
        for pipe in &mut self.pipes {
            pipe.faults = faults;
        }
    }

    /// Gives both sides `count` messages to send within `span`, on all channels there are.
    pub fn load(&mut self, count: u64, span: Duration) {
        for (side, pipe) in self.sides.iter_mut().zip(&mut self.pipes) {
            let established = side.established.as_ref().expect("an open link");
            let batch = u64::from(established.batch_size);
            let mut numbers = [0; 16];
            let mut times: Vec<_> = (0..count)
                .map(|_| self.now + span.mul_f64(self.rng.below(1000) as f64 / 1000.0))
                .collect();
            times.sort();
            for at in times {
                let channel = match established.qos {
                    true => self.rng.below(16) as usize,
                    false => 10 + self.rng.below(2) as usize,
                };
                let size = match self.rng.below(10) {
                    0..4 => 0,
                    4..7 => self.rng.below(40),
                    7 | 8 => self.rng.below(2 * batch.min(3000)),
                    _ => self
                        .rng
                        .between(batch.saturating_sub(60), batch + (3 * batch).min(33_000)),
                };
                let note = Note {
                    channel,
                    number: numbers[channel],
                    size: size as usize,
                };
                numbers[channel] += 1;
                side.outgoing.push_back((at, note));
            }
            pipe.lost_batches = 0;
        }
    }

    /// Jumps to the next event and lets it happen; false if there will be none.
    pub fn step(&mut self) -> bool {
        let arrivals = self.pipes.iter().filter_map(Pipe::next_arrival);
        let deadlines = self.sides.iter().zip(&self.pipes);
        let deadlines = deadlines.filter_map(|(side, pipe)| side.deadline(pipe));
        let Some(next) = arrivals.chain(deadlines).min() else {
            return false;
        };
        self.now = self.now.max(next);
        for index in 0..2 {
            let (side, mut link, incoming) = self.parts(index);
            let stream = incoming.carriage.stream;
            while let Some(chunk) = incoming.receive(link.now) {
                side.receive(chunk, stream, &mut link);
            }
        }
        for index in 0..2 {
            let (side, mut link, _) = self.parts(index);
            side.act(&mut link);
        }
        true
    }

    /// A side, its way out, and the pipe that brings the peer's bytes.
    fn parts(&mut self, index: usize) -> (&mut Side, Link<'_>, &mut Pipe) {
        let [mut out, mut incoming] = self.pipes.each_mut();
        if index == 1 {
            std::mem::swap(&mut out, &mut incoming);
        }
        let link = Link {
            now: self.now,
            pipe: out,
            rng: &mut self.rng,
        };
        (&mut self.sides[index], link, incoming)
    }

    /// Runs until `end` of the virtual time, or until nothing can happen any more.
    pub fn run_until(&mut self, end: Instant) {
        for _ in 0..EVENTS_MAX {
            if self.now >= end || !self.step() {
                return;
            }
        }
        panic!("the run does not end");
    }

    /// Runs until everything that was to be sent has been sent and has arrived or is lost.
    pub fn run_to_silence(&mut self) {
        for _ in 0..EVENTS_MAX {
            let idle = |(side, pipe): (&Side, &Pipe)| {
                side.outgoing.is_empty() && pipe.next_arrival().is_none()
            };
            let quiet = self.sides.iter().zip(&self.pipes).all(idle);
            if quiet || self.sides.iter().all(|side| side.end().is_some()) || !self.step() {
                return;
            }
        }
        panic!("the run does not end");
    }

    pub fn ends(&self) -> [Option<End>; 2] {
        self.sides.each_ref().map(|side| side.end().cloned())
    }
}
