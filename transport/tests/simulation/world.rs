// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two sides, two pipes and a clock that jumps from event to event.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clock;
use crate::protocol::parameters::LocalParameters;
use zonda_codec::{Resolution, WhatAmI};

use super::executor::Executor;
use super::pipe::{CarrierState, Faults, Pipe, SharedPipe};
use super::rng::Rng;
use super::side::{Around, End, Manner, Side, node};
use super::traffic::Note;

use parking_lot::MutexGuard;

/// Upper bound of the events of any run; a run that reaches it hangs.
const EVENTS_MAX: usize = 200_000;

/// Upper bound of the virtual time until everything has arrived.
const SILENCE_MAX: Duration = Duration::from_secs(300);

pub struct World {
    pub now: Instant,
    executor: Executor,
    pub start: Instant,
    pub rng: Rng,
    /// Opener and acceptor.
    pub sides: [Side; 2],
    /// `pipes[i]` leads away from `sides[i]`.
    pipes: [SharedPipe; 2],
}

impl World {
    /// Creates random sides and pipes, without faults and without messages.
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
            // Both ends of every third world compress.
            Arc::make_mut(&mut own.options).compression = seed.is_multiple_of(3);
            own
        };
        let locals = [local(seed as u128 | 1 << 70), local(seed as u128 | 1 << 90)];
        let mut pipe = || {
            let carriage = CarrierState {
                stream,
                latency: Duration::from_micros(rng.below(5000)),
                time_per_byte: Duration::from_nanos(rng.below(200)),
                window_bytes: rng.between(1, 20_000) as usize,
            };
            SharedPipe::new(carriage, rng.fork())
        };
        let pipes = [pipe(), pipe()];
        let mut manner = || Manner {
            direct: rng.per_mille(700),
            pauses: rng.per_mille(300),
            beside: false,
            blocks: false,
        };
        let manners = [manner(), manner()];
        let executor = Executor::new(rng.fork());
        executor.turn(start);
        let [opener, acceptor] = locals;
        let sides = [
            Side::new(opener, true, manners[0]),
            Side::new(acceptor, false, manners[1]),
        ];
        World {
            now: start,
            executor,
            start,
            rng,
            sides,
            pipes,
        }
    }

    /// Creates a world of bare messages: streams without priorities, and buffers that take every
    /// message.
    pub fn bare(seed: u64) -> Self {
        let mut world = World::new(seed);
        for (side, opens) in world.sides.iter_mut().zip([true, false]) {
            let lease = Duration::from_millis(world.rng.between(400, 10_000));
            let zid = seed as u128 | 1 << if opens { 70 } else { 90 };
            let mut own = node(zid, WhatAmI::Peer, lease);
            own.batch_size = world.rng.between(40_000, 65_535) as u16;
            own.qos = false;
            Arc::make_mut(&mut own.options).low_latency = true;
            *side = Side::new(own, opens, side.manner);
        }
        for index in 0..2 {
            world.pipe(index).carriage.stream = true;
        }
        world
    }

    /// Returns the pipe that leads away from a side.
    pub fn pipe(&self, index: usize) -> MutexGuard<'_, Pipe> {
        self.pipes[index].lock()
    }

    /// Sends the opener's first message.
    pub fn begin(&mut self) {
        let [opener, _] = &mut self.sides;
        opener.start(&mut self.pipes[0].lock());
    }

    /// Runs until both sides are open, which they must become.
    pub fn open(&mut self) {
        self.begin();
        while self.sides.iter().any(|side| !side.is_open()) {
            let ends = self.ends();
            assert!(
                ends == [None, None] && self.step(),
                "no handshake: {ends:?}"
            );
        }
    }

    pub fn set_faults(&mut self, faults: Faults) {
        for index in 0..2 {
            self.pipe(index).faults = faults;
        }
    }

    /// Gives both sides `count` messages to send within `span`, on all channels there are.
    pub fn load(&mut self, count: u64, span: Duration) {
        for (side, pipe) in self.sides.iter_mut().zip(&self.pipes) {
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
            pipe.lock().lost_batches = 0;
        }
    }

    /// Returns the time of the next event; `None` if there will be none.
    fn next_event(&self) -> Option<Instant> {
        let [opener, acceptor] = &self.sides;
        let polled = [acceptor.is_polled(), opener.is_polled()];
        let pipes = self.pipes.iter().zip(polled);
        let events = pipes.filter_map(|(pipe, polled)| pipe.lock().next_event(polled));
        let deadlines = self.sides.iter().filter_map(Side::deadline);
        events
            .chain(deadlines)
            .chain(self.executor.next_timer())
            .min()
    }

    /// Jumps to the next event and processes it; false if there will be none.
    pub fn step(&mut self) -> bool {
        let Some(next) = self.next_event() else {
            return false;
        };
        self.now = self.now.max(next);
        self.executor.turn(self.now);
        self.each(Side::receive);
        for pipe in &self.pipes {
            pipe.lock().wake(self.now);
        }
        self.each(Side::act);
        self.executor.run_ready();
        // A sender that blocks its thread advances the time.
        self.now = clock::now();
        self.each(Side::look);
        true
    }

    fn each(&mut self, mut act: impl FnMut(&mut Side, &mut Around<'_>)) {
        for (index, side) in self.sides.iter_mut().enumerate() {
            let mut around = Around {
                executor: &self.executor,
                out: &self.pipes[index],
                back: &self.pipes[1 - index],
                rng: &mut self.rng,
            };
            act(side, &mut around);
        }
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
        let limit = self.now + SILENCE_MAX;
        for _ in 0..EVENTS_MAX {
            let sent = self.sides.iter().all(Side::has_sent_all);
            let quiet = sent && self.pipes.iter().all(|pipe| pipe.lock().is_silent());
            if quiet || self.sides.iter().all(|side| side.end().is_some()) || !self.step() {
                return;
            }
            if self.now > limit {
                break;
            }
        }
        panic!("the run does not end: {:#?} {:#?}", self.sides, self.pipes);
    }

    pub fn ends(&self) -> [Option<End>; 2] {
        self.sides.each_ref().map(|side| side.end().cloned())
    }

    /// Returns the number of polls of tasks.
    pub fn polls(&self) -> u64 {
        self.executor.polls()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.executor.end();
    }
}
