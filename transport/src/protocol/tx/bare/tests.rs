// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bare messages as they are sent.

use zonda_codec::ZSlice;
use zonda_codec::{Priority, TransportMessage, Writer};

use super::*;
use crate::protocol::options::Framing;

/// Bytes as a message.
struct Bytes(Vec<u8>);

impl Encode for Bytes {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.bytes(&self.0)
    }
}

fn lane(batch_size: u16) -> Lane {
    Lane::new(LaneConfig {
        priority: Priority::Data,
        batch_size,
        sn_mask: 0x7f,
        initial_sn: 0,
        queue_bytes_max: 100_000,
        framing: Framing::Bare,
        share_bytes_min: crate::protocol::tx::SHARE_BYTES_MIN,
    })
}

fn push(lane: &mut Lane, head: &[u8], payload: Tail<'_>) -> Result<Pushed, EncodeError> {
    lane.push(&Outgoing {
        reliability: Reliability::Reliable,
        head: &Bytes(head.to_vec()),
        payload,
    })
}

/// Returns all queued bytes, as they are sent, and the number of buffers that they take.
fn drain(lane: &mut Lane) -> (Vec<u8>, usize) {
    let (mut bytes, mut count, mut free) = (Vec::new(), 0, Vec::new());
    while let Some(batch) = lane.pop(&mut free) {
        bytes.extend_from_slice(batch.head());
        bytes.extend_from_slice(batch.tail().map_or(&[], |tail| tail.as_slice()));
        count += 1;
        free.push(batch.into_buffer());
    }
    assert!(lane.is_empty() && lane.queued_bytes() == 0);
    (bytes, count)
}

fn messages(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (message, behind) = rest.split_at(u32::from_le_bytes(*length) as usize);
        messages.push(message.to_vec());
        bytes = behind;
    }
    assert!(bytes.is_empty());
    messages
}

#[test]
fn each_message_has_its_length_in_front_and_shares_a_buffer() {
    let mut lane = lane(1000);
    let mut expected = Vec::new();
    for len in 0..60_u8 {
        let (head, payload) = (vec![len; 3], vec![len; len.into()]);
        let pushed = push(&mut lane, &head, Tail::Copy(&payload));
        assert_eq!(pushed, Ok(Pushed::Heavy), "it is written at once");
        expected.push([head, payload].concat());
    }
    lane.push_bare(&TransportMessage::KeepAlive);
    expected.push(vec![4]);
    let (bytes, count) = drain(&mut lane);
    assert_eq!(messages(&bytes), expected);
    assert!(count < 6, "{count} buffers");
}

#[test]
fn a_message_without_room_in_any_buffer_is_refused() {
    let mut lane = lane(1000);
    assert_eq!(lane.message_bytes_max(), Some(996));
    assert!(push(&mut lane, b"", Tail::Copy(&[7; 996])).is_ok());
    for len in [997, 1000, 70_000] {
        let refused = push(&mut lane, b"", Tail::Copy(&vec![7; len]));
        assert_eq!(refused, Err(EncodeError::TooLong), "{len}");
        let refused = push(&mut lane, &vec![7; len], Tail::NONE);
        assert_eq!(refused, Err(EncodeError::TooLong), "{len}");
    }
    assert!(push(&mut lane, b"after", Tail::NONE).is_ok());
    let (bytes, _) = drain(&mut lane);
    assert_eq!(messages(&bytes), [vec![7; 996], b"after".to_vec()]);
}

#[test]
fn a_large_payload_stays_where_it_is() {
    let mut lane = lane(u16::MAX);
    let payload = ZSlice::from(vec![7; 40_000]);
    push(&mut lane, b"small", Tail::NONE).expect("it fits");
    push(&mut lane, b"large", Tail::Shared(&payload)).expect("it fits");
    push(&mut lane, b"behind", Tail::NONE).expect("it fits");
    let mut free = Vec::new();
    let first = lane.pop(&mut free).expect("two wait");
    let tail = first.tail().expect("it is shared");
    assert_eq!(tail.as_slice().as_ptr(), payload.as_slice().as_ptr());
    let head = messages(&[first.head(), tail.as_slice()].concat());
    assert_eq!(head[0], b"small");
    assert_eq!(head[1].len(), 40_005);
    assert_eq!(messages(&drain(&mut lane).0), [b"behind".to_vec()]);
}

#[test]
fn the_queue_is_counted() {
    let mut lane = lane(1000);
    for _ in 0..248 {
        assert!(lane.has_room());
        push(&mut lane, &[1; 400], Tail::NONE).expect("it fits");
    }
    assert_eq!(lane.queued_bytes(), 248 * 404);
    assert!(!lane.has_room() && !lane.has_drained());
    drain(&mut lane);
    assert!(lane.has_room() && lane.has_drained());
}
