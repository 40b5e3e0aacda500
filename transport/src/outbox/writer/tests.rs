// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes to a socket that takes as much as the test decides: no message is lost, doubled or late.

mod framed;

use std::{
    future::Future,
    pin::Pin,
    sync::atomic::AtomicBool,
    task::{Context, Waker},
    thread,
};

use proptest::prelude::*;
use zonda_codec::ZSlice;
use zonda_codec::{
    Encode, EncodeError, NetworkMessage, NodeId, Push, PushBody, Put, Qos, Reliability, WhatAmI,
    WireExpr, Writer,
};
use zonda_runtime::Segments;

use super::*;
use crate::{
    outbox::{Overflow, Queue, Refused, RoomListener, Write},
    protocol::{
        parameters::Established,
        rx::{Context as Received, Deliver, Receiver},
        tx::{Outgoing, Tail},
    },
};

const BATCH_BYTES: usize = 65_535;
const QUEUE_BYTES_MAX: usize = 1 << 20;

fn established() -> Established {
    Established::plain("a1".parse().expect("a valid id"), WhatAmI::Router)
}

fn outbox() -> Outbox {
    Outbox::new(&established(), QUEUE_BYTES_MAX, None)
}

/// PUSH up to its payload of so many bytes.
struct Head(usize);

impl Encode for Head {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        Push::encode_head(&WireExpr::full("k"), Qos::DATA, NodeId::ITSELF, writer)?;
        Put::new(&[]).encode_head(self.0, writer)
    }
}

/// Returns a payload that carries its number.
fn numbered(number: u64, bytes: usize) -> ZSlice {
    let mut payload = vec![number as u8; bytes.max(8)];
    payload[..8].copy_from_slice(&number.to_le_bytes());
    ZSlice::from(payload)
}

type Channel = (Priority, Reliability);

fn push(outbox: &Outbox, (priority, reliability): Channel, payload: &ZSlice) {
    let message = Outgoing {
        reliability,
        head: &Head(payload.len()),
        payload: Tail::Shared(payload),
    };
    outbox
        .enqueue(priority, Overflow::Keep, Write::Later, &message)
        .expect("it is open");
}

/// Writes to a socket that takes `room` bytes. True if the socket took everything.
fn write(outbox: &Outbox, wire: &mut Vec<u8>, room: usize) -> bool {
    write_turn(outbox, wire, room, usize::MAX)
}

/// Writes like [`write`], for a turn of this many bytes.
fn write_turn(outbox: &Outbox, wire: &mut Vec<u8>, mut room: usize, turn: usize) -> bool {
    assert_eq!(outbox.election.apply(Change::Demand), Action::Write);
    let mut writer = outbox.writer.lock();
    let SocketWriter {
        transmit,
        buffers,
        credit,
        ..
    } = &mut *writer;
    let end = outbox.write_by::<true>(transmit, buffers, credit, turn, |transmit| {
        let before = wire.len();
        for index in 0..transmit.count() {
            let segment = transmit.segment(index);
            let taken = segment.len().min(room);
            wire.extend_from_slice(&segment[..taken]);
            room -= taken;
        }
        match wire.len() - before {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    });
    let kept = transmit.bytes();
    assert!(
        kept < BATCH_BYTES && transmit.batches() <= 1,
        "no more than the rest of a batch is kept, not {kept} bytes"
    );
    let done = end == WriteEnd::Done;
    outbox.finish(end);
    assert_eq!(
        outbox.is_blocked(),
        !done,
        "the driver's turn if anything is left"
    );
    // The test makes the next write again.
    outbox.election.apply(Change::Reset);
    done
}

/// Bytes as a peer reads them.
#[derive(Default)]
struct Heard {
    messages: Vec<(Channel, u64, usize)>,
}

impl Deliver for Heard {
    fn push(&mut self, push: &Push<'_>, _raw: &[u8], context: &Received<'_>) {
        let PushBody::Put(put) = &push.body else {
            panic!("{push:?}");
        };
        let number = u64::from_le_bytes(put.payload[..8].try_into().expect("eight bytes"));
        let filler = &put.payload[8..];
        assert!(filler.iter().all(|byte| *byte == number as u8), "damaged");
        let channel = (context.priority, context.reliability);
        self.messages.push((channel, number, put.payload.len()));
    }

    fn message(&mut self, message: NetworkMessage<'_>, _context: &Received<'_>) {
        panic!("{message:?}");
    }
}

/// Splits a stream into its batches.
fn batches(wire: &[u8]) -> Vec<&[u8]> {
    let mut left = wire;
    let mut batches = Vec::new();
    while let Some((prefix, rest)) = left.split_first_chunk::<2>() {
        let (batch, rest) = rest.split_at(usize::from(u16::from_le_bytes(*prefix)));
        batches.push(batch);
        left = rest;
    }
    batches
}

fn heard(wire: &[u8]) -> Heard {
    let mut receiver = Receiver::new(&established(), 1 << 30);
    let mut heard = Heard::default();
    for batch in batches(wire) {
        let block = ZSlice::from(batch.to_vec());
        receiver
            .handle_batch(block.as_slice(), &block, &mut heard)
            .expect("the peer has no complaint");
    }
    heard
}

const DATA: Channel = (Priority::Data, Reliability::Reliable);
const URGENT: Channel = (Priority::RealTime, Reliability::Reliable);

#[test]
fn an_urgent_message_waits_for_the_batch_under_way_alone() {
    for taken in [0, 1, 65_534, 65_535, 65_536, 100_000, 262_140, 300_000] {
        let outbox = outbox();
        let mut wire = Vec::new();
        push(&outbox, DATA, &numbered(1, 10 << 20));
        push(&outbox, DATA, &numbered(2, 20_000));
        assert!(!write(&outbox, &mut wire, taken));
        assert_eq!(wire.len(), taken);
        push(&outbox, URGENT, &numbered(3, 8));
        assert!(write(&outbox, &mut wire, usize::MAX));
        let mut at = 0;
        let urgent = batches(&wire).into_iter().find_map(|batch| {
            let begin = at;
            at += 2 + batch.len();
            (batch.len() < 100).then_some(begin)
        });
        let waited = urgent.expect("the urgent one is short") - taken;
        assert!(
            waited < BATCH_BYTES,
            "{waited} bytes went first after {taken}"
        );
        let order: Vec<u64> = heard(&wire).messages.iter().map(|m| m.1).collect();
        assert_eq!(order, [3, 1, 2], "after {taken}");
    }
}

/// A message that a thread queues after an urgent one of its own leaves after it, whatever the
/// writer does in between. A key that was declared with an id is used in the next message: a
/// message that left first would name an id that the peer does not know.
#[test]
fn what_follows_an_urgent_message_never_overtakes_it() {
    const ROUNDS: u64 = 20_000;
    let outbox = outbox();
    let is_over = AtomicBool::new(false);
    let mut wire = Vec::new();
    let order = thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..ROUNDS {
                push(&outbox, URGENT, &numbered(number, 8));
                push(&outbox, DATA, &numbered(number, 8));
                while outbox.queued_bytes() > QUEUE_BYTES_MAX / 2 {
                    thread::yield_now();
                }
            }
            is_over.store(true, Ordering::Release);
        });
        while !is_over.load(Ordering::Acquire) {
            write(&outbox, &mut wire, usize::MAX);
        }
        write(&outbox, &mut wire, usize::MAX);
        heard(&wire).messages
    });
    let mut announced = 0;
    for (channel, number, _) in order {
        match channel == URGENT {
            true => announced = number + 1,
            false => assert!(number < announced, "{number} came before its announcement"),
        }
    }
    assert_eq!(announced, ROUNDS);
}

#[test]
fn what_goes_back_is_accounted_for() {
    let outbox = outbox();
    let mut wire = Vec::new();
    push(&outbox, DATA, &numbered(1, 700_000));
    push(&outbox, DATA, &numbered(2, 700_000));
    let before = outbox.queued_bytes();
    assert!(!outbox.has_room(Priority::Data));
    assert!(!write(&outbox, &mut wire, 0));
    assert_eq!(outbox.queued_bytes(), before, "nothing left");
    assert!(!outbox.has_room(Priority::Data) && outbox.has_unsent());
    // The first message ends in the eleventh batch.
    assert!(!write(&outbox, &mut wire, 11 * BATCH_BYTES));
    let counts = outbox.priorities()[Priority::Data as usize];
    assert_eq!((counts.accepted, counts.sent, counts.queued), (2, 1, 1));
    assert!(outbox.has_room(Priority::Data));
    assert!(write(&outbox, &mut wire, usize::MAX));
    let counts = outbox.priorities()[Priority::Data as usize];
    assert_eq!((counts.accepted, counts.sent, counts.queued), (2, 2, 0));
    assert_eq!(counts.sent_bytes, wire.len() as u64);
    assert_eq!((outbox.queued_bytes(), outbox.has_unsent()), (0, false));
}

#[test]
fn a_keep_alive_and_the_close_keep_their_places() {
    let outbox = outbox();
    let mut wire = Vec::new();
    push(&outbox, DATA, &numbered(1, 200_000));
    assert!(!write(&outbox, &mut wire, 70_000));
    outbox.push_close(Priority::Background);
    outbox.push_keep_alive();
    assert!(!write(&outbox, &mut wire, 70_000));
    assert!(write(&outbox, &mut wire, usize::MAX));
    let lengths: Vec<usize> = batches(&wire).iter().map(|batch| batch.len()).collect();
    let short: Vec<usize> = (0..lengths.len()).filter(|at| lengths[*at] < 10).collect();
    assert_eq!(short, [2, lengths.len() - 1], "{lengths:?}");
}

/// Around every limit: a message that finds room is queued with all its pieces, one that does not
/// leaves no trace.
#[test]
fn a_message_is_admitted_as_a_whole_or_not_at_all() {
    let around = |limit: usize| [limit - 1, limit, limit + 1];
    let limits = [16 * 1024, BATCH_BYTES, 2 * BATCH_BYTES, QUEUE_BYTES_MAX];
    let sizes = limits.into_iter().flat_map(around).chain([8, 10 << 20]);
    let mut seen = [0, 0];
    for size in sizes {
        for short in [0, 30, 60] {
            let outbox = outbox();
            let mut wire = Vec::new();
            for number in 0..15 {
                push(&outbox, DATA, &numbered(number, BATCH_BYTES - 20));
            }
            let fill = QUEUE_BYTES_MAX - outbox.queued_bytes() - short;
            push(&outbox, DATA, &numbered(16, fill));
            outbox.lanes[Priority::Data as usize]
                .lock()
                .push_bare(&TransportMessage::KeepAlive);
            let before = outbox.queued_bytes();
            let payload = numbered(17, size);
            let message = Outgoing {
                reliability: Reliability::Reliable,
                head: &Head(payload.len()),
                payload: Tail::Shared(&payload),
            };
            let has_room = before < QUEUE_BYTES_MAX;
            match outbox.enqueue(Priority::Data, Overflow::Refuse, Write::Later, &message) {
                Ok(_) => assert!(has_room && outbox.queued_bytes() > before + size),
                Err(refused) => {
                    assert_eq!((refused, has_room), (Refused::Full, false));
                    assert_eq!(outbox.queued_bytes(), before);
                }
            }
            assert!(write(&outbox, &mut wire, usize::MAX));
            let last = heard(&wire).messages.last().map(|m| (m.1, m.2));
            let expected = match has_room {
                true => (17, size),
                false => (16, fill),
            };
            seen[usize::from(has_room)] += 1;
            assert_eq!(last, Some(expected), "{size} behind {before}");
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

/// A batch that a full socket returns makes no room, and one that it takes does.
#[test]
fn those_who_wait_for_room_hear_of_what_the_socket_took() {
    // Half of the limit goes into one write.
    let queue_bytes_max = 512 * 1024;
    let outbox = Outbox::new(&established(), queue_bytes_max, None);
    let mut wire = Vec::new();
    let mut number = 0;
    while outbox.has_room(Priority::Data) {
        push(&outbox, DATA, &numbered(number, BATCH_BYTES - 20));
        number += 1;
    }
    let told = |listener: &mut RoomListener<'_>| {
        let mut context = Context::from_waker(Waker::noop());
        Pin::new(listener).poll(&mut context).is_ready()
    };
    let mut waiting = outbox.listen_room();
    for room in [0, 0, 10, 0] {
        assert!(!write(&outbox, &mut wire, room));
        assert!(!told(&mut waiting), "{room} bytes are no room for others");
    }
    assert!(!write(
        &outbox,
        &mut wire,
        queue_bytes_max / 2 + 2 * BATCH_BYTES
    ));
    assert!(told(&mut waiting) && outbox.has_room(Priority::Data));
    let mut waiting = outbox.listen_room();
    assert!(write(&outbox, &mut wire, usize::MAX));
    assert!(told(&mut waiting));
    assert_eq!(heard(&wire).messages.len() as u64, number);
}

/// The first message that finds no room waits beyond the limit; the next may wait once that one has
/// left.
#[test]
fn under_block_first_one_message_waits_at_a_time() {
    let outbox = outbox();
    let mut wire = Vec::new();
    let payload = numbered(7, 300_000);
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &Head(payload.len()),
        payload: Tail::Shared(&payload),
    };
    let first = Overflow::KeepFirst;
    let offer = |outbox: &Outbox| {
        let queued = outbox.enqueue(Priority::Data, first, Write::Later, &message);
        queued.map(drop)
    };
    for _ in 0..4 {
        offer(&outbox).expect("there is room");
    }
    offer(&outbox).expect("the first that finds none");
    assert_eq!(offer(&outbox), Err(Refused::Full));
    let bytes = outbox.queued_bytes();
    let run = |queue: &mut Queue<'_>| assert!(queue.push(&message), "it goes on");
    let queued = outbox.enqueue(Priority::Data, first, Write::Later, run);
    assert_eq!(queued, Err(Refused::Full));
    assert_eq!(outbox.queued_bytes(), bytes, "and was dropped");
    assert!(!write(&outbox, &mut wire, 0));
    assert_eq!(offer(&outbox), Err(Refused::Full), "put back is not out");
    assert!(write(&outbox, &mut wire, usize::MAX));
    for _ in 0..5 {
        offer(&outbox).expect("again");
    }
    assert_eq!(offer(&outbox), Err(Refused::Full));
    assert_eq!(heard(&wire).messages.len(), 5);
    assert_eq!(outbox.priorities()[Priority::Data as usize].dropped, 4);
}

#[derive(Debug, Clone)]
enum Step {
    Push { channel: Channel, bytes: usize },
    Write { room: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let priorities = prop::sample::select(vec![0, 1, 4, 5, 7]);
    let bytes = prop_oneof![
        5 => 8_usize..100,
        2 => 900_usize..3000,
        2 => 15_000_usize..65_600,
        1 => 65_000_usize..300_000,
    ];
    prop_oneof![
        (priorities, any::<bool>(), bytes).prop_map(|(priority, reliable, bytes)| Step::Push {
            channel: (
                Priority::ALL[priority],
                match reliable {
                    true => Reliability::Reliable,
                    false => Reliability::BestEffort,
                }
            ),
            bytes,
        }),
        (0_usize..400_000).prop_map(|room| Step::Write { room }),
        (0_usize..300).prop_map(|room| Step::Write { room }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// However little a socket takes, each channel's messages arrive once and in the order of their
    /// pushes, and the queues are empty afterwards.
    #[test]
    fn nothing_is_lost_or_doubled(steps in prop::collection::vec(step(), 1..60)) {
        let outbox = outbox();
        let mut wire = Vec::new();
        let mut sent: Vec<(Channel, u64, usize)> = Vec::new();
        for step in steps {
            match step {
                Step::Push { channel, bytes } => {
                    let number = sent.len() as u64;
                    push(&outbox, channel, &numbered(number, bytes));
                    sent.push((channel, number, bytes.max(8)));
                }
                Step::Write { room } => {
                    write(&outbox, &mut wire, room);
                }
            }
        }
        prop_assert!(write(&outbox, &mut wire, usize::MAX));
        let arrived = heard(&wire).messages;
        prop_assert_eq!(arrived.len(), sent.len());
        for priority in Priority::ALL {
            for reliability in [Reliability::Reliable, Reliability::BestEffort] {
                let of = |all: &[(Channel, u64, usize)]| -> Vec<_> {
                    let own = all.iter().filter(|m| m.0 == (priority, reliability));
                    own.copied().collect()
                };
                prop_assert_eq!(of(&arrived), of(&sent));
            }
            let counts = outbox.priorities()[priority as usize];
            let offered = sent.iter().filter(|m| m.0.0 == priority).count() as u64;
            prop_assert_eq!((counts.accepted, counts.sent), (offered, offered));
            prop_assert_eq!(outbox.lanes[priority as usize].lock().queued_bytes_small(), 0);
        }
        prop_assert_eq!(outbox.queued_bytes(), 0);
    }
}

/// A sender was elected to write, and has not written yet, when another one demands a write: the
/// first must not report that all is written.
#[cfg(target_os = "linux")]
#[test]
fn what_another_sender_is_about_to_write_is_not_with_the_socket() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    let stream = std::net::TcpStream::connect(at).expect("loopback");
    let direct = DirectSocket::beside(&stream).expect("a descriptor");
    let outbox = Outbox::new(&established(), QUEUE_BYTES_MAX, direct);
    let channel = (Priority::Data, Reliability::Reliable);
    push(&outbox, channel, &numbered(1, 8));
    assert_eq!(outbox.election.apply(Change::Demand), Action::Write);
    assert!(!outbox.flush(), "nothing is written");
    assert_eq!(outbox.finish(WriteEnd::Done), Action::Again);
    assert!(outbox.flush(), "the socket has room");
}

/// The socket takes all that it is given: what the driver writes leaves in turns, and a sender
/// writes all at once.
#[test]
fn the_driver_writes_in_turns() {
    for (turn, expected) in [(DRIVER_TURN_BYTES_MAX, 5..8), (usize::MAX, 1..2)] {
        let outbox = outbox();
        push(&outbox, DATA, &numbered(7, 5 * DRIVER_TURN_BYTES_MAX));
        let (mut wire, mut turns, mut is_done) = (Vec::new(), 0, false);
        while !is_done {
            is_done = write_turn(&outbox, &mut wire, usize::MAX, turn);
            turns += 1;
        }
        assert!(expected.contains(&turns), "{turns} turns of {turn} bytes");
        assert_eq!(heard(&wire).messages.len(), 1);
    }
}

/// A peer that reads nothing for a while, with megabytes of room in its system: an urgent message
/// overtakes all but a little of the bulk, and the bulk arrives once the peer reads.
#[cfg(target_os = "linux")]
#[test]
fn an_urgent_message_overtakes_what_a_peer_has_not_read() {
    use std::io::Read;

    const BULK_BYTES: usize = 4_000_000;
    const AHEAD_BYTES_MAX: usize = 1_000_000;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    let stream = std::net::TcpStream::connect(at).expect("loopback");
    let (mut peer, _) = listener.accept().expect("it was opened");
    peer.set_nonblocking(true).expect("an option");
    let direct = DirectSocket::beside(&stream).expect("a descriptor");
    let outbox = Outbox::new(&established(), usize::MAX / 4, direct);
    let mut wire = Vec::new();
    let mut bytes = vec![0; 1 << 20];
    let go_on = || {
        outbox.flush();
        outbox.resume(usize::MAX);
    };
    // both priorities are in use, and the peer's system grants more and more
    for number in 100..150 {
        push(&outbox, URGENT, &numbered(1, 8));
        push(&outbox, DATA, &numbered(number, 1_000_000));
        while outbox.has_unsent() {
            go_on();
            while let Ok(count @ 1..) = peer.read(&mut bytes) {
                wire.extend_from_slice(&bytes[..count]);
            }
        }
    }
    // the peer reads nothing, and no pause ends
    crate::clock::tests::set(Some(Instant::now()));
    push(&outbox, DATA, &numbered(2, BULK_BYTES));
    (0..20).for_each(|_| go_on());
    let left = outbox.queued_bytes();
    assert!(
        left > BULK_BYTES - AHEAD_BYTES_MAX,
        "{left} bytes wait here"
    );
    push(&outbox, URGENT, &numbered(3, 8));
    go_on();
    let bulk_left = outbox.queued_bytes();
    assert!(bulk_left <= left, "the urgent message is on its way");
    crate::clock::tests::set(None);
    // all arrives
    while outbox.has_unsent() {
        go_on();
        while let Ok(count @ 1..) = peer.read(&mut bytes) {
            wire.extend_from_slice(&bytes[..count]);
        }
    }
    stream.shutdown(std::net::Shutdown::Write).expect("open");
    peer.set_nonblocking(false).expect("an option");
    peer.read_to_end(&mut wire).expect("its end");
    let numbers = heard(&wire).messages.into_iter().map(|message| message.1);
    let last: Vec<u64> = numbers.skip(100).collect();
    assert_eq!(last, [3, 2], "the urgent message is first");
}
