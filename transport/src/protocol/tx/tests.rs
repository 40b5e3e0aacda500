// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages that go into a lane, as they are found in the batches that come out.

use std::collections::VecDeque;

use zonda_codec::ZSlice;
use zonda_codec::{
    Encode, EncodeError, Fragment, NetworkMessage, NodeId, Priority, Push, PushBody, Put, Qos,
    Reader, Reliability, TransportMessage, WireExpr, Writer,
};

use super::*;
use crate::protocol::options::Framing;

const BATCH_SIZE: u16 = 1000;

fn lane(batch_size: u16) -> Lane {
    Lane::new(LaneConfig {
        priority: Priority::DataHigh,
        batch_size,
        sn_mask: 0x7f,
        initial_sn: 0x7e,
        queue_bytes_max: 3000,
        framing: Framing::Plain,
        share_bytes_min: crate::protocol::tx::SHARE_BYTES_MIN,
    })
}

/// PUT up to its payload.
struct Head(usize);

impl Encode for Head {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        Push::encode_head(&WireExpr::full("k"), Qos::DATA, NodeId::ITSELF, writer)?;
        Put::new(&[]).encode_head(self.0, writer)
    }
}

fn push(lane: &mut Lane, reliability: Reliability, payload: Tail<'_>) -> Pushed {
    let head = Head(payload.bytes().len());
    lane.push(&Outgoing {
        reliability,
        head: &head,
        payload,
    })
    .expect("it has a wire form")
}

fn pop_all(lane: &mut Lane) -> Vec<Batch> {
    std::iter::from_fn(|| lane.pop(&mut Vec::new())).collect()
}

/// Returns the bytes of a batch as a peer gets them, without the prefix, which is checked.
fn wire(batch: &Batch) -> Vec<u8> {
    let mut bytes = batch.head().to_vec();
    bytes.extend_from_slice(batch.tail().map_or(&[], |tail| tail.as_slice()));
    assert_eq!(bytes.len(), batch.wire_len());
    let rest = bytes.split_off(2);
    assert_eq!(
        u16::from_le_bytes([bytes[0], bytes[1]]) as usize,
        rest.len()
    );
    rest
}

/// Returns the frames of a batch: reliability, number, payloads.
fn frames(batch: &[u8]) -> Vec<(Reliability, u32, Vec<Vec<u8>>)> {
    let mut r = Reader::new(batch);
    let mut frames = Vec::new();
    while !r.is_empty() {
        let Ok(TransportMessage::Frame(head)) = TransportMessage::decode(&mut r) else {
            panic!("no frame in {batch:02x?}");
        };
        assert_eq!(head.priority, Priority::DataHigh);
        let mut payloads = Vec::new();
        while r.peek().is_some_and(NetworkMessage::starts) {
            payloads.push(payload(&NetworkMessage::decode(&mut r).expect("a message")));
        }
        frames.push((head.reliability, head.sn, payloads));
    }
    frames
}

fn payload(message: &NetworkMessage<'_>) -> Vec<u8> {
    match message {
        NetworkMessage::Push(Push {
            body: PushBody::Put(put),
            ..
        }) => put.payload.to_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn small_messages_share_a_batch_and_a_frame_per_channel() {
    use Reliability::{BestEffort, Reliable};
    let mut lane = lane(BATCH_SIZE);
    for (reliability, byte) in [(Reliable, 1), (Reliable, 2), (BestEffort, 3), (Reliable, 4)] {
        assert_eq!(
            push(&mut lane, reliability, Tail::Copy(&[byte])),
            Pushed::Open
        );
    }
    let batches = pop_all(&mut lane);
    assert!(lane.is_empty() && batches.len() == 1);
    let expected = [
        (Reliable, 0x7e, vec![vec![1], vec![2]]),
        (BestEffort, 0x7e, vec![vec![3]]),
        (Reliable, 0x7f, vec![vec![4]]),
    ];
    assert_eq!(frames(&wire(&batches[0])), expected);
}

#[test]
fn batches_fill_up_and_numbers_come_around() {
    let mut lane = lane(BATCH_SIZE);
    let mut sent = VecDeque::new();
    while lane.has_room() {
        let bytes = vec![sent.len() as u8; 300];
        push(&mut lane, Reliability::Reliable, Tail::Copy(&bytes));
        sent.push_back(bytes);
    }
    assert!(lane.queued_bytes() < 3000 + 2 * usize::from(BATCH_SIZE));
    let batches = pop_all(&mut lane);
    for (batch, sn) in batches.iter().zip([0x7e, 0x7f, 0, 1, 2]) {
        assert!(batch.wire_len() <= usize::from(BATCH_SIZE));
        let frames = frames(&wire(batch));
        assert_eq!((frames.len(), frames[0].1), (1, sn));
        for payload in &frames[0].2 {
            assert_eq!(Some(payload), sent.pop_front().as_ref());
        }
    }
    assert!(sent.is_empty() && lane.queued_bytes() == 0 && lane.has_drained());
}

/// Sends `payload` alone and reassembles its fragments.
fn fragmented(batch_size: u16, payload: Tail<'_>) -> (Vec<Batch>, Vec<u8>) {
    let mut lane = lane(batch_size);
    assert_eq!(
        push(&mut lane, Reliability::BestEffort, payload),
        Pushed::Sealed
    );
    let batches = pop_all(&mut lane);
    let mut whole = Vec::new();
    for (index, batch) in batches.iter().enumerate() {
        assert!(batch.wire_len() <= usize::from(batch_size));
        let bytes = wire(batch);
        let mut r = Reader::new(&bytes);
        let Ok(TransportMessage::Fragment(fragment)) = TransportMessage::decode(&mut r) else {
            panic!("no fragment in {bytes:02x?}");
        };
        let Fragment {
            sn,
            more,
            first,
            drop,
            ..
        } = fragment;
        assert_eq!(sn, (0x7e + index as u32) & 0x7f);
        assert_eq!(
            (first, more, drop),
            (index == 0, index + 1 < batches.len(), false)
        );
        whole.extend_from_slice(fragment.payload);
    }
    (batches, whole)
}

#[test]
fn a_message_too_large_for_a_batch_becomes_fragments() {
    for size in [1000, 1976, 1977, 5000, 40_000] {
        let bytes: Vec<u8> = (0..size).map(|at| at as u8).collect();
        let (_, whole) = fragmented(BATCH_SIZE, Tail::Copy(&bytes));
        let mut r = Reader::new(&whole);
        assert_eq!(
            payload(&NetworkMessage::decode(&mut r).expect("whole")),
            bytes
        );
        assert!(r.is_empty());
    }
}

#[test]
fn a_large_shared_payload_is_not_copied() {
    let slice = ZSlice::from(vec![7; 100_000]);
    let inside = slice.as_slice().as_ptr_range();
    let (batches, whole) = fragmented(u16::MAX, Tail::Shared(&slice));
    assert_eq!(
        whole.len(),
        100_000 + Head(100_000).to_vec().expect("it has a wire form").len()
    );
    for batch in &batches {
        let tail = batch.tail().expect("a shared part");
        assert!(
            inside.contains(&tail.as_slice().as_ptr()),
            "the same memory"
        );
        assert!(batch.head().len() < 64, "headers only");
    }
    let mut lane = lane(u16::MAX);
    let fits = slice.subslice(0..SHARE_BYTES_MIN).expect("within");
    push(&mut lane, Reliability::Reliable, Tail::Shared(&fits));
    push(
        &mut lane,
        Reliability::Reliable,
        Tail::Copy(fits.as_slice()),
    );
    let batches = pop_all(&mut lane);
    let shared: Vec<_> = batches.iter().map(|batch| batch.tail().is_some()).collect();
    assert_eq!(shared, [true, false], "what cannot be shared is copied");
}

#[test]
fn a_bare_message_stands_between_batches() {
    let mut lane = lane(BATCH_SIZE);
    push(&mut lane, Reliability::Reliable, Tail::Copy(b"a"));
    lane.push_bare(&TransportMessage::KeepAlive);
    push(&mut lane, Reliability::Reliable, Tail::Copy(b"b"));
    let batches: Vec<_> = pop_all(&mut lane).iter().map(wire).collect();
    assert_eq!(batches.len(), 3);
    assert_eq!(batches[1], [0x04]);
    assert_eq!(frames(&batches[2])[0].1, 0x7f, "it took no number");
}

/// Head whose key is one byte longer than the protocol allows.
struct Unsayable(String);

impl Encode for Unsayable {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        Push::encode_head(&WireExpr::full(&self.0), Qos::DATA, NodeId::ITSELF, writer)
    }
}

#[test]
fn what_has_no_wire_form_is_refused_and_leaves_no_trace() {
    let head = Unsayable("k".repeat(65_536));
    for payload in [Tail::NONE, Tail::Copy(&[1; 100_000])] {
        let mut lane = lane(BATCH_SIZE);
        let message = Outgoing {
            reliability: Reliability::Reliable,
            head: &head,
            payload,
        };
        assert_eq!(lane.push(&message), Err(EncodeError::TooLong));
        assert!(lane.is_empty());
        push(&mut lane, Reliability::Reliable, Tail::Copy(b"a"));
        assert_eq!(
            lane.push(&message),
            Err(EncodeError::TooLong),
            "beside an open batch as well"
        );
        push(&mut lane, Reliability::Reliable, Tail::Copy(b"b"));
        let frames: Vec<_> = pop_all(&mut lane)
            .iter()
            .map(wire)
            .flat_map(|batch| frames(&batch))
            .collect();
        let payloads: Vec<_> = frames
            .iter()
            .flat_map(|(_, _, payloads)| payloads.clone())
            .collect();
        assert_eq!(payloads, [b"a".to_vec(), b"b".to_vec()]);
        assert_eq!(frames[0].1, 0x7e, "it took no number");
    }
}

#[test]
fn an_open_batch_is_extended_within_its_room_and_its_frame() {
    use Reliability::{BestEffort, Reliable};
    let one = |byte| Push::new(WireExpr::full("k"), PushBody::Put(Put::new(byte)));
    let mut lane = lane(BATCH_SIZE);
    let nothing = |_: &mut Writer<'_>| panic!("there is no room to write to");
    assert_eq!(lane.extend::<()>(Reliable, nothing), None, "no batch");
    push(&mut lane, Reliable, Tail::Copy(&[0]));
    assert_eq!(lane.extend::<()>(BestEffort, nothing), None, "no frame");
    let told = lane.extend(Reliable, |writer| {
        let mut count = 0;
        while one(&[1]).encode(writer).is_ok() {
            count += 1;
        }
        (count, writer.remaining())
    });
    let (count, room) = told.expect("both are there");
    let bytes = one(&[1]).to_vec().expect("it has a form").len();
    assert!(count > 50 && room < bytes);
    assert_eq!(lane.accepted(), count + 1);
    let full = lane.extend(Reliable, |writer| (0, one(&[1]).encode(writer)));
    assert_eq!(full, Some((0, Err(EncodeError::NoRoom))));
    push(&mut lane, Reliable, Tail::Copy(&[2]));
    let batches = pop_all(&mut lane);
    let mut first = vec![vec![0]];
    first.resize(count as usize + 1, vec![1]);
    let expected = [(Reliable, 0x7e, first), (Reliable, 0x7f, vec![vec![2]])];
    let found: Vec<_> = batches
        .iter()
        .flat_map(|batch| frames(&wire(batch)))
        .collect();
    assert_eq!(found, expected);
    assert!(
        batches
            .iter()
            .all(|batch| batch.wire_len() <= usize::from(BATCH_SIZE))
    );
}

/// A batch with a shared payload holds little else: thousands that wait for a peer do not take a
/// buffer of a whole batch each.
#[test]
fn heads_of_shared_payloads_take_little_while_they_wait() {
    let mut lane = lane(u16::MAX);
    let payload = ZSlice::from(vec![7; SHARE_BYTES_MIN]);
    for _ in 0..2000 {
        push(&mut lane, Reliability::Reliable, Tail::Shared(&payload));
    }
    assert!(
        lane.memory() < 20 * usize::from(u16::MAX),
        "{} bytes of buffers",
        lane.memory()
    );
    let batches = pop_all(&mut lane);
    assert_eq!(batches.len(), 2000);
    for batch in &batches {
        let frames = frames(&wire(batch));
        assert_eq!(frames[0].2, [vec![7; SHARE_BYTES_MIN]]);
    }
    assert_eq!(lane.queued_bytes(), 0);
}
