// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reading task beside others on one thread.

use std::{
    io,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use zonda_codec::{NetworkMessage, Push, WhatAmI};
use zonda_runtime::{RuntimeOptions, TokioRuntime};

use super::*;
use crate::protocol::{
    parameters::Established,
    rx::{Context, Deliver},
};

/// How long the link has bytes without an end.
const FLOOD: Duration = Duration::from_millis(500);

/// A link that always has bytes at hand, for [`FLOOD`].
struct Flood {
    until: Instant,
    reads: Arc<AtomicU64>,
}

impl LinkRead for Flood {
    async fn read(&mut self, mut buffer: RxBuf) -> (io::Result<usize>, RxBuf) {
        if Instant::now() >= self.until {
            return (Ok(0), buffer);
        }
        self.reads.fetch_add(1, Ordering::Relaxed);
        // a batch that is one keep-alive
        let batch = [1, 0, 0x04];
        buffer.spare_mut()[..batch.len()].copy_from_slice(&batch);
        buffer.advance(batch.len());
        (Ok(batch.len()), buffer)
    }
}

/// A handler to which nothing is too much.
#[derive(Default)]
struct Patient {
    over: Arc<AtomicBool>,
}

impl Deliver for Patient {
    fn push(&mut self, _: &Push<'_>, _: &[u8], _: &Context<'_>) {}

    fn message(&mut self, _: NetworkMessage<'_>, _: &Context<'_>) {}
}

impl Handler for Patient {
    async fn burst_end(&mut self) {}

    fn closed(&mut self, _: Ended) {
        self.over.store(true, Ordering::SeqCst);
    }
}

fn established() -> Established {
    Established {
        remote_lease: Duration::from_secs(60),
        ..Established::plain("a1".parse().expect("a valid id"), WhatAmI::Client)
    }
}

#[derive(Clone, Default)]
struct Flooded {
    reads: Arc<AtomicU64>,
    turns: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Flooded {
    /// The reading task.
    async fn read<R: Runtime>(self, runtime: R) {
        let established = established();
        let outbox = Arc::new(Outbox::new(&established, 1 << 20, None));
        outbox.note_received(Instant::now());
        let receiver = Receiver::new(&established, 1 << 20);
        let handler = Patient { over: self.over };
        let flood = Flood {
            until: Instant::now() + FLOOD,
            reads: self.reads,
        };
        let reading = Reading::new(runtime, receiver, outbox, handler);
        reading.run(flood, Vec::new()).await;
    }

    /// The other task.
    async fn take_turns<R: Runtime>(self, runtime: R) {
        while !self.over.load(Ordering::SeqCst) {
            self.turns.fetch_add(1, Ordering::Relaxed);
            runtime.yield_now().await;
        }
    }
}

/// With turns of 2 ms there are 250; a busy machine leaves some.
const TURNS_MIN: u64 = 10;

#[test]
fn a_flood_leaves_other_tasks_their_turns() {
    let options = RuntimeOptions::default();
    let runtime = TokioRuntime::start_current_thread(&options).expect("one");
    let flooded = Flooded::default();
    let (reading, other) = (flooded.clone(), flooded.clone());
    let (tasks, others) = (runtime.clone(), runtime.clone());
    runtime.spawn("reading", move || reading.read(tasks));
    runtime.spawn("other", move || other.take_turns(others));
    let deadline = Instant::now() + 10 * FLOOD;
    while !flooded.over.load(Ordering::SeqCst) && Instant::now() < deadline {
        std::thread::yield_now();
    }
    let [reads, turns] = [&flooded.reads, &flooded.turns].map(|count| count.load(Ordering::SeqCst));
    assert!(
        reads > 0 && turns >= TURNS_MIN,
        "{turns} turns beside {reads} reads in {FLOOD:?}"
    );
}

#[test]
fn blocks_grow_with_what_comes_and_shrink_when_nothing_does() {
    for (before, filled, left, after) in [
        (SMALL_BLOCK_BYTES, 0, 0, SMALL_BLOCK_BYTES),
        (SMALL_BLOCK_BYTES, 100, 0, SMALL_BLOCK_BYTES),
        (SMALL_BLOCK_BYTES, 3000, 0, BLOCK_BYTES),
        (SMALL_BLOCK_BYTES, 100, 1, BLOCK_BYTES),
        (BLOCK_BYTES, 100, 0, BLOCK_BYTES),
        (BLOCK_BYTES, 3, 0, SMALL_BLOCK_BYTES),
        (BLOCK_BYTES, 3, 1, BLOCK_BYTES),
    ] {
        assert_eq!(block_bytes(before, filled, left), after, "{filled} {left}");
    }
}
