// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading tasks that share a thread with another task.

use std::{
    io,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use zonda_codec::{
    Declaration, Declare, Encode, FrameHeader, Mapping, NetworkMessage, Priority, Push, PushBody,
    Put, Reliability, WhatAmI, WireExpr,
};
use zonda_runtime::{RuntimeOptions, TokioRuntime};

use super::*;
use crate::ledger::{Ledger, Share};
use crate::protocol::{
    parameters::Established,
    rx::{Context, Deliver},
};

/// The time for which the link has bytes without an end.
const FLOOD: Duration = Duration::from_millis(500);

/// Link that always has bytes to read, for [`FLOOD`].
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
        // A batch of one keep-alive.
        let batch = [1, 0, 0x04];
        buffer.spare_mut()[..batch.len()].copy_from_slice(&batch);
        buffer.advance(batch.len());
        (Ok(batch.len()), buffer)
    }
}

/// Handler that never wants a pause.
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
    /// Runs the reading task.
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
        let reading = ReadTask::new(runtime, receiver, outbox, handler);
        reading.run(flood, Vec::new()).await;
    }

    /// Runs the other task.
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

/// Link that always has a keep-alive to read, until the handler got its message for the last time.
struct Beside {
    given_up: Arc<AtomicBool>,
    deadline: Instant,
}

impl LinkRead for Beside {
    async fn read(&mut self, mut buffer: RxBuf) -> (io::Result<usize>, RxBuf) {
        let goes_on = !self.given_up.load(Ordering::SeqCst) && Instant::now() < self.deadline;
        let batch: &[u8] = if goes_on { &[1, 0, 0x04] } else { &[] };
        buffer.spare_mut()[..batch.len()].copy_from_slice(batch);
        buffer.advance(batch.len());
        (Ok(batch.len()), buffer)
    }
}

/// Handler that waits for each id until one is declared, and knows all ids from then on.
#[derive(Default)]
pub(in crate::driver) struct Waiting {
    patience: Duration,
    knows: bool,
    is_early: bool,
    is_over: bool,
    /// Set once the handler got a message for the last time.
    pub(in crate::driver) given_up: Arc<AtomicBool>,
    pub(in crate::driver) over: Arc<AtomicBool>,
}

impl Waiting {
    pub(in crate::driver) fn for_each_id(patience: Duration) -> Waiting {
        Waiting {
            patience,
            ..Waiting::default()
        }
    }
}

impl Deliver for Waiting {
    fn push(&mut self, _: &Push<'_>, _: &[u8], _: &Context<'_>) {
        self.is_early = !self.is_over && !self.knows;
        self.given_up.fetch_or(self.is_over, Ordering::SeqCst);
    }

    fn message(&mut self, message: NetworkMessage<'_>, _: &Context<'_>) {
        self.knows |= matches!(message, NetworkMessage::Declare(_));
    }

    fn wants_pause(&self) -> bool {
        self.is_early
    }

    fn take_early(&mut self) -> Option<Duration> {
        std::mem::take(&mut self.is_early).then_some(self.patience)
    }

    fn wait_no_more(&mut self, is_over: bool) {
        self.is_over = is_over;
    }
}

impl Handler for Waiting {
    async fn burst_end(&mut self) {}

    fn closed(&mut self, _: Ended) {
        self.over.store(true, Ordering::SeqCst);
    }
}

/// Returns the first frame of a priority, length in front, with this message.
fn framed(priority: Priority, message: &impl Encode) -> Vec<u8> {
    let header = FrameHeader {
        reliability: Reliability::Reliable,
        priority,
        sn: 0,
    };
    let parts = [header.to_vec(), message.to_vec()].map(|bytes| bytes.expect("it has a form"));
    let batch = parts.concat();
    [&(batch.len() as u16).to_le_bytes()[..], &batch].concat()
}

/// Declares an id, of priority `Control`.
pub(in crate::driver) fn declared_id() -> Vec<u8> {
    let body = Declaration::KeyExpr {
        id: 1,
        wire_expr: WireExpr::full("a"),
    };
    framed(Priority::Control, &Declare::new(body))
}

/// Puts on an id, of priority `Data`.
pub(in crate::driver) fn put_on_an_id() -> Vec<u8> {
    let expr = WireExpr {
        scope: 1,
        suffix: "",
        mapping: Mapping::Sender,
    };
    framed(
        Priority::Data,
        &Push::new(expr, PushBody::Put(Put::new(b"early"))),
    )
}

#[test]
fn a_priority_waits_no_longer_than_its_time_beside_a_flood() {
    let runtime = TokioRuntime::start_current_thread(&RuntimeOptions::default()).expect("one");
    let established = established();
    let outbox = Arc::new(Outbox::new(&established, 1 << 20, None));
    outbox.note_received(Instant::now());
    let receiver = Receiver::new(&established, 1 << 20);
    let handler = Waiting::for_each_id(Duration::from_millis(10));
    let (given_up, over) = (Arc::clone(&handler.given_up), Arc::clone(&handler.over));
    let deadline = Instant::now() + Duration::from_secs(20);
    let link = Beside {
        given_up: Arc::clone(&given_up),
        deadline,
    };
    let tasks = runtime.clone();
    runtime.spawn("reading", move || async move {
        let reading = ReadTask::new(tasks, receiver, outbox, handler);
        reading.run(link, put_on_an_id()).await;
    });
    // The end of the link also makes the receiver deliver the message.
    while !over.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    assert!(given_up.load(Ordering::SeqCst));
    assert!(
        Instant::now() < deadline,
        "it waited for the end of the link"
    );
}

/// A link that brings one read, and then nothing for as long as the test runs, or its end.
struct Once {
    bytes: Vec<u8>,
    ends: bool,
}

impl LinkRead for Once {
    async fn read(&mut self, mut buffer: RxBuf) -> (io::Result<usize>, RxBuf) {
        let room = buffer.spare_mut();
        let count = self.bytes.len().min(room.len());
        let bytes: Vec<u8> = self.bytes.drain(..count).collect();
        room[..count].copy_from_slice(&bytes);
        buffer.advance(count);
        if count == 0 && !self.ends {
            std::future::pending::<()>().await;
        }
        (Ok(count), buffer)
    }
}

/// Handler that counts its calls of `burst_end`, and notes how its link ended.
#[derive(Default)]
struct Noting {
    bursts: Arc<AtomicU64>,
    ended: Arc<std::sync::Mutex<Option<Ended>>>,
}

impl Deliver for Noting {
    fn push(&mut self, _: &Push<'_>, _: &[u8], _: &Context<'_>) {}

    fn message(&mut self, _: NetworkMessage<'_>, _: &Context<'_>) {}
}

impl Handler for Noting {
    async fn burst_end(&mut self) {
        self.bursts.fetch_add(1, Ordering::Relaxed);
    }

    fn closed(&mut self, ended: Ended) {
        *self.ended.lock().expect("no panic") = Some(ended);
    }
}

/// Reads from a link until it ends; returns the cause and the number of bursts.
fn ends_with(link: Once, established: &Established, idle_max: Duration) -> (Ended, u64) {
    let runtime = TokioRuntime::start_current_thread(&RuntimeOptions::default()).expect("one");
    let outbox = Arc::new(Outbox::new(established, 1 << 20, None));
    outbox.note_received(Instant::now());
    let share = Share::of(&Ledger::new(1 << 30, false));
    let receiver = Receiver::new(established, 1 << 20).within(share, 1 << 21, idle_max);
    let handler = Noting::default();
    let (bursts, ended) = (Arc::clone(&handler.bursts), Arc::clone(&handler.ended));
    let tasks = runtime.clone();
    runtime.spawn("reading", move || async move {
        let reading = ReadTask::new(tasks, receiver, outbox, handler);
        reading.run(link, Vec::new()).await;
    });
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(ended) = ended.lock().expect("no panic").clone() {
            return (ended, bursts.load(Ordering::Relaxed));
        }
        assert!(Instant::now() < deadline, "it reads for ever");
        std::thread::yield_now();
    }
}

#[test]
fn silence_in_the_middle_of_a_message_has_its_time() {
    let mut bytes = vec![0, 0, 0x66, 0];
    bytes.resize(1000, 7);
    let length = (bytes.len() - 2) as u16;
    bytes[..2].copy_from_slice(&length.to_le_bytes());
    let link = Once { bytes, ends: false };
    // A fragment other than the first begins a message where fragments carry no begin flag.
    let established = Established {
        patch: 0,
        ..established()
    };
    let (ended, _) = ends_with(link, &established, Duration::from_millis(50));
    assert!(
        matches!(&ended, Ended::Misbehaved(why) if why.contains("50ms")),
        "{ended:?}"
    );
}

#[cfg(feature = "compression")]
#[test]
fn batches_that_unpack_to_much_are_read_in_turns() {
    let packed = lz4_flex::block::compress(&[0x04; 65_000]);
    let mut batch = vec![1];
    batch.extend(packed);
    let mut one = (batch.len() as u16).to_le_bytes().to_vec();
    one.extend(batch);
    let link = Once {
        bytes: one.repeat(100),
        ends: true,
    };
    let mut established = established();
    established.options.compression = true;
    let (ended, bursts) = ends_with(link, &established, Duration::from_secs(5));
    assert_eq!(ended, Ended::HungUp);
    // Each burst takes some tenths of a millisecond at least.
    assert!(bursts >= 10, "{bursts}");
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
