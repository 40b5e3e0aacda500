// SPDX-License-Identifier: MIT OR Apache-2.0
//! Batches made by hand, for each rule of the receiving half.

use std::time::Duration;

use zonda_codec::ZSlice;
use zonda_codec::{
    Close, Encode, Fragment, FrameHeader, NetworkMessage, Priority, Push, PushBody, Put,
    Reliability, ResponseFinal, TransportMessage, WhatAmI, WireExpr,
};

use super::*;
use crate::protocol::parameters::Established;

pub(super) fn established() -> Established {
    Established {
        initial_sn_rx: 100,
        ..Established::plain("a1".parse().expect("a valid id"), WhatAmI::Router)
    }
}

/// Handler that keeps the delivered payloads and their contexts.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) payloads: Vec<Vec<u8>>,
    pub(super) others: usize,
    pub(super) blocks: Vec<ZSlice>,
    last: Option<(Priority, Reliability)>,
    /// Number of messages after which a pause is wanted.
    pauses_after: Option<usize>,
    since_pause: usize,
}

impl Deliver for Seen {
    fn push(&mut self, push: &Push<'_>, raw_body: &[u8], context: &Context<'_>) {
        let PushBody::Put(put) = push.body else {
            panic!("only puts are sent")
        };
        assert!(raw_body.ends_with(put.payload));
        self.payloads.push(put.payload.to_vec());
        let inside = context.block.as_slice().as_ptr_range();
        assert!(
            put.payload.is_empty() || inside.contains(&put.payload.as_ptr()),
            "of the block"
        );
        self.blocks.push(context.block.clone());
        self.last = Some((context.priority, context.reliability));
        self.since_pause += 1;
    }

    fn message(&mut self, message: NetworkMessage<'_>, _context: &Context<'_>) {
        assert!(!matches!(message, NetworkMessage::Push(_)));
        self.others += 1;
        self.since_pause += 1;
    }

    fn wants_pause(&self) -> bool {
        self.pauses_after
            .is_some_and(|after| self.since_pause >= after)
    }
}

pub(super) const DATA: (Priority, Reliability) = (Priority::Data, Reliability::Reliable);

pub(super) fn frame(channel: (Priority, Reliability), sn: u32, payloads: &[&[u8]]) -> Vec<u8> {
    let (priority, reliability) = channel;
    let mut bytes = FrameHeader {
        reliability,
        priority,
        sn,
    }
    .to_vec()
    .expect("it has a wire form");
    for payload in payloads {
        bytes.append(&mut put(payload));
    }
    bytes
}

pub(super) fn put(payload: &[u8]) -> Vec<u8> {
    Push::new(WireExpr::full("a"), PushBody::Put(Put::new(payload)))
        .to_vec()
        .expect("it has a wire form")
}

fn end() -> Vec<u8> {
    ResponseFinal {
        rid: 1,
        qos: Default::default(),
        timestamp: None,
    }
    .to_vec()
    .expect("it has a wire form")
}

pub(super) fn fragment(sn: u32, marks: &str, payload: &[u8]) -> Vec<u8> {
    Fragment {
        reliability: Reliability::Reliable,
        priority: Priority::Data,
        sn,
        more: marks.contains('m'),
        first: marks.contains('f'),
        drop: marks.contains('d'),
        payload,
    }
    .to_vec()
    .expect("it has a wire form")
}

fn take(receiver: &mut Receiver, seen: &mut Seen, batch: &[u8]) -> Result<Flow, PeerMisbehaved> {
    let block = ZSlice::from(batch.to_vec());
    receiver.handle_batch(block.as_slice(), &block, seen)
}

fn receive(established: &Established, batches: &[Vec<u8>]) -> (Seen, Received) {
    let mut receiver = Receiver::new(established, 1 << 20);
    let mut seen = Seen::default();
    for batch in batches {
        assert_eq!(
            take(&mut receiver, &mut seen, batch),
            Ok(Flow::Open),
            "{batch:02x?}"
        );
    }
    (seen, receiver.received())
}

#[test]
fn frames_are_delivered_in_place_and_in_order() {
    let mut batch = vec![0x04];
    batch.append(&mut frame(DATA, 100, &[b"one", b"two"]));
    let be = (Priority::RealTime, Reliability::BestEffort);
    batch.append(&mut frame(be, 100, &[b"three"]));
    batch.append(&mut end());
    batch.append(&mut frame(DATA, 101, &[]));
    let (seen, received) = receive(&established(), &[batch, Vec::new()]);
    assert_eq!(
        seen.payloads,
        [b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]
    );
    assert_eq!((seen.others, seen.last), (1, Some(be)));
    assert_eq!(
        received,
        Received {
            batches: 2,
            transport_messages: 4,
            messages: 4,
            messages_by_priority: [0, 2, 0, 0, 0, 2, 0, 0],
            ..Received::default()
        }
    );
}

#[test]
fn old_and_repeated_frames_are_dropped_and_counted() {
    let both = [frame(DATA, 101, &[b"x"]), frame(DATA, 105, &[b"d"])].concat();
    let batches = [
        frame(DATA, 100, &[b"a"]),
        frame(DATA, 100, &[b"a"]),
        frame(DATA, 102, &[b"c"]),
        both,
    ];
    let (seen, received) = receive(&established(), &batches);
    assert_eq!(seen.payloads, [b"a".to_vec(), b"c".to_vec(), b"d".to_vec()]);
    assert_eq!(
        (received.frames_dropped, received.sequence_numbers_skipped),
        (2, 3)
    );
}

#[test]
fn a_peer_that_breaks_the_rules_is_found_out() {
    let mut receiver = Receiver::new(
        &Established {
            qos: false,
            ..established()
        },
        1 << 20,
    );
    let mut seen = Seen::default();
    let urgent = (Priority::RealTime, Reliability::Reliable);
    let result = take(&mut receiver, &mut seen, &frame(urgent, 100, &[b"a"]));
    assert_eq!(
        result,
        Err(PeerMisbehaved::Priority {
            priority: Priority::RealTime
        })
    );
    let result = take(&mut receiver, &mut seen, &frame(DATA, 1 << 28, &[b"a"]));
    assert_eq!(
        result,
        Err(PeerMisbehaved::SequenceNumber {
            sn: 1 << 28,
            mask: 0x0fff_ffff
        })
    );
    let result = take(
        &mut receiver,
        &mut seen,
        &[frame(DATA, 100, &[b"a"]), vec![0x18]].concat(),
    );
    let Err(PeerMisbehaved::Undecodable { offset, length, .. }) = result else {
        panic!("{result:?}");
    };
    assert_eq!(
        (offset, length - offset, seen.payloads.len()),
        (length - 1, 1, 1)
    );
    let cut = &frame(DATA, 101, &[b"whole"])[..10];
    assert!(matches!(
        take(&mut receiver, &mut seen, cut),
        Err(PeerMisbehaved::Undecodable { .. })
    ));
    let small = Established {
        batch_size: 40,
        ..established()
    };
    let large = frame(DATA, 100, &[&[0; 64]]);
    let result = take(&mut Receiver::new(&small, 1 << 20), &mut seen, &large);
    assert_eq!(
        result,
        Err(PeerMisbehaved::BatchTooLarge {
            length: large.len(),
            max: 40
        })
    );
}

#[test]
fn close_ends_the_batch_and_other_messages_do_not_disturb() {
    let close = Close {
        reason: 6,
        session: true,
    }
    .to_vec()
    .expect("it has a wire form");
    let late = [close, vec![0xff]].concat();
    let mut receiver = Receiver::new(&established(), 1 << 20);
    let mut seen = Seen::default();
    assert_eq!(
        take(&mut receiver, &mut seen, &late),
        Ok(Flow::Closed { reason: 6 })
    );
    let open = TransportMessage::OpenAck(zonda_codec::OpenAck {
        lease: Duration::from_secs(1),
        initial_sn: 3,
        ext: Default::default(),
    });
    assert_eq!(
        take(
            &mut receiver,
            &mut seen,
            &open.to_vec().expect("it has a wire form")
        ),
        Ok(Flow::Open)
    );
    assert_eq!(receiver.received().ignored, 1);
}

/// Messages that the reference sends in a multicast group (captured), followed by one for all
/// nodes, and a query with a body as it sends one to a neighbour that shares memory.
#[test]
fn messages_in_shared_memory_are_read_over() {
    let push = b"\x7d\x00\x03a/b\x81\x12\x01\x01\x07\xa0\x9c\x01\xbc\x67\x00\x00";
    let several = b"\x7d\x00\x03a/b\x81\x12\x02\x00\x01x\x01\x00";
    let question = b"\x1c\x01\x01\x83\x84\x43\x34\x00\x01\x01\x05\x32\xaa\x3e\x00\x00";
    let messages: [&[u8]; 3] = [push, several, question];
    for message in messages {
        let mut batch = frame(DATA, 100, &[b"before"]);
        batch.extend_from_slice(message);
        batch.append(&mut put(b"behind"));
        let (seen, received) = receive(&established(), &[batch]);
        assert_eq!(seen.payloads, [&b"before"[..], b"behind"], "{message:02x?}");
        assert_eq!((received.messages, seen.others), (2, 0));
        assert_eq!(received.messages_in_shared_memory, 1);
        assert_eq!(received.messages_undecodable, 1);
        // In fragments as well.
        let (first, last) = message.split_at(message.len() / 2);
        let batches = [
            fragment(100, "fm", first),
            fragment(101, "", last),
            frame(DATA, 102, &[b"behind"]),
        ];
        let (seen, received) = receive(&established(), &batches);
        assert_eq!(seen.payloads, [b"behind"]);
        assert_eq!(received.messages_in_shared_memory, 1);
    }
    // A truncated message ends the link, like any other.
    let cut = [frame(DATA, 100, &[]), push[..push.len() - 1].to_vec()].concat();
    let mut receiver = Receiver::new(&established(), 1 << 20);
    let taken = take(&mut receiver, &mut Seen::default(), &cut);
    assert!(matches!(taken, Err(PeerMisbehaved::Undecodable { .. })));
}

/// Sends `marks` as the fragments of one message (each `f`, `m`, `d` or none of them) from number
/// 100 on, except for those at `missing`; returns the number of delivered messages and the counts.
fn fragments(patch: u8, marks: &[&str], missing: &[usize]) -> (usize, Received) {
    let message = put(b"in some pieces");
    let pieces = marks.iter().filter(|marks| !marks.contains('d')).count();
    let size = message.len().div_ceil(pieces.max(1));
    let mut rest = message.as_slice();
    let mut batches = Vec::new();
    for (index, marks) in marks.iter().enumerate() {
        let (own, behind) = rest.split_at(if marks.contains('d') {
            0
        } else {
            size.min(rest.len())
        });
        rest = behind;
        if !missing.contains(&index) {
            batches.push(fragment(100 + index as u32, marks, own));
        }
    }
    let (seen, received) = receive(
        &Established {
            patch,
            ..established()
        },
        &batches,
    );
    assert!(
        seen.payloads
            .iter()
            .all(|payload| payload == b"in some pieces")
    );
    (seen.payloads.len(), received)
}

#[test]
fn fragments_become_messages_by_the_rules_of_the_patch_level() {
    assert_eq!(fragments(1, &["fm", "m", "m", ""], &[]).0, 1);
    assert_eq!(fragments(1, &["f"], &[]).0, 1, "one fragment is a message");
    assert_eq!(
        fragments(0, &["m", "m", ""], &[]).0,
        1,
        "marks are not needed"
    );
    assert_eq!(fragments(0, &["fm", "m", ""], &[]).0, 1, "and not minded");
    let (count, received) = fragments(1, &["m", "m", ""], &[]);
    assert_eq!(
        (
            count,
            received.fragments_discarded,
            received.messages_discarded
        ),
        (0, 3, 0)
    );
    let (count, received) = fragments(1, &["fm", "m", "m", ""], &[2]);
    assert_eq!(
        (
            count,
            received.fragments_discarded,
            received.messages_discarded
        ),
        (0, 3, 1)
    );
    let (count, received) = fragments(1, &["fm", "m", "d", ""], &[]);
    assert_eq!(
        (
            count,
            received.fragments_discarded,
            received.messages_discarded
        ),
        (0, 4, 1)
    );
    let (count, received) = fragments(0, &["m", "m", "m", ""], &[1]);
    assert_eq!(
        (
            count,
            received.messages_discarded,
            received.messages_undecodable
        ),
        (0, 1, 1)
    );
}

#[test]
fn a_first_mark_starts_over() {
    let message = put(b"fresh");
    let batches = [
        fragment(100, "fm", b"stale"),
        fragment(101, "fm", &message[..4]),
        fragment(102, "", &message[4..]),
    ];
    let (seen, received) = receive(&established(), &batches);
    assert_eq!(seen.payloads, [b"fresh".to_vec()]);
    assert_eq!(
        (received.messages_discarded, received.fragments_discarded),
        (1, 1)
    );
}

#[test]
fn a_frame_between_fragments_ends_the_message() {
    let message = put(b"torn");
    let other = (Priority::Data, Reliability::BestEffort);
    let batches = |between: Vec<u8>, last: u32| {
        [
            fragment(100, "fm", &message[..4]),
            between,
            fragment(last, "", &message[4..]),
        ]
    };
    let (seen, _) = receive(&established(), &batches(frame(other, 100, &[b"b"]), 101));
    assert_eq!(
        seen.payloads,
        [b"b".to_vec(), b"torn".to_vec()],
        "another channel is no matter"
    );
    let (seen, received) = receive(&established(), &batches(frame(DATA, 101, &[b"a"]), 102));
    assert_eq!(seen.payloads, [b"a".to_vec()]);
    assert_eq!(
        (received.messages_discarded, received.fragments_discarded),
        (1, 2)
    );
}

#[test]
fn reassembled_garbage_costs_the_message_not_the_link() {
    let two = [put(b"one"), put(b"two")].concat();
    let batches = [
        fragment(100, "f", b"\x04"),
        fragment(101, "f", &two),
        fragment(102, "f", b""),
        frame(DATA, 103, &[b"alive"]),
    ];
    let (seen, received) = receive(&established(), &batches);
    assert_eq!(seen.payloads, [b"alive".to_vec()]);
    assert_eq!(received.messages_undecodable, 3);
}

#[test]
fn messages_above_the_limit_are_given_up() {
    let mut receiver = Receiver::new(&established(), 1000);
    let mut seen = Seen::default();
    for index in 0..20 {
        let marks = if index == 0 { "fm" } else { "m" };
        let batch = fragment(100 + index, marks, &[0; 100]);
        assert_eq!(take(&mut receiver, &mut seen, &batch), Ok(Flow::Open));
        assert!(receiver.defragmenter().buffered_bytes() <= 1000);
        assert!(receiver.defragmenter().allocated_bytes() <= 4096);
    }
    assert_eq!(
        take(&mut receiver, &mut seen, &fragment(120, "f", &[0; 1001])),
        Ok(Flow::Open)
    );
    let received = receiver.received();
    assert_eq!(
        (received.messages_discarded, received.fragments_discarded),
        (2, 21)
    );
}

#[test]
fn all_channels_together_are_bounded() {
    let limits = ReassemblyLimits::for_messages(10_000);
    let mut defragmenter = Defragmenter::new(1, limits);
    let piece = Piece {
        follows: true,
        more: true,
        first: true,
        drop: false,
        payload: &[7; 10_000],
    };
    for channel in 0..CHANNELS {
        assert!(matches!(
            defragmenter.push(channel, piece),
            Reassembly::Pending
        ));
        assert!(defragmenter.buffered_bytes() <= limits.total_bytes_max);
    }
    assert_eq!(defragmenter.buffered_bytes(), 20_000);
    assert_eq!(defragmenter.messages_discarded(), CHANNELS as u64 - 2);
}

/// The vector of a delivered message is reused once no slice of it is left, and not before.
#[test]
fn memory_is_reused_only_when_it_is_free() {
    let mut receiver = Receiver::new(&established(), 1 << 20);
    let mut seen = Seen::default();
    let payload = vec![1; 50_000];
    let message = put(&payload);
    let mut addresses = Vec::new();
    for round in 0..6_u32 {
        for (index, part) in message.chunks(20_000).enumerate() {
            let marks = ["fm", "m", ""][index];
            let batch = fragment(100 + round * 3 + index as u32, marks, part);
            assert_eq!(take(&mut receiver, &mut seen, &batch), Ok(Flow::Open));
        }
        addresses.push(seen.blocks[seen.blocks.len() - 1].as_slice().as_ptr());
        if round >= 2 {
            seen.blocks.clear();
        }
    }
    assert!(seen.payloads.iter().all(|seen| *seen == payload));
    assert_ne!(addresses[0], addresses[1], "held");
    assert_eq!(addresses[3], addresses[4], "let go");
    assert_eq!(addresses[4], addresses[5], "let go");
}

/// Frames of two channels in one batch, and a message in fragments: the result with pauses equals
/// the one without.
#[test]
fn a_pause_loses_and_repeats_nothing() {
    let mut batch = frame(DATA, 100, &[b"1", b"2", b"3"]);
    batch.append(&mut end());
    batch.append(&mut frame(
        (Priority::RealTime, Reliability::BestEffort),
        100,
        &[b"4"],
    ));
    let whole = put(b"5");
    let (front, back) = whole.split_at(3);
    let batches = [
        batch,
        fragment(101, "mf", front),
        fragment(102, "", back),
        frame(DATA, 103, &[b"6"]),
    ];
    for pauses_after in [None, Some(1), Some(2), Some(3), Some(7)] {
        let mut receiver = Receiver::new(&established(), 1 << 20);
        let mut seen = Seen {
            pauses_after,
            ..Seen::default()
        };
        let mut pauses = 0;
        for bytes in &batches {
            let block = ZSlice::from(bytes.clone());
            let mut flow = receiver.handle_batch(block.as_slice(), &block, &mut seen);
            while let Ok(Flow::Paused(pause)) = flow {
                pauses += 1;
                seen.since_pause = 0;
                flow = receiver.resume_batch(pause, block.as_slice(), &block, &mut seen);
            }
            assert_eq!(flow, Ok(Flow::Open));
        }
        assert_eq!(seen.payloads, [b"1", b"2", b"3", b"4", b"5", b"6"]);
        assert_eq!((seen.others, seen.last), (1, Some(DATA)));
        assert_eq!(pauses, pauses_after.map_or(0, |after| 7 / after));
        let received = receiver.received();
        assert_eq!((received.messages, received.batches), (7, 4));
    }
}
