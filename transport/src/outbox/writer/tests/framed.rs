// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes on links with compressed batches, and on links of bare messages.

use super::*;
use crate::protocol::options::LinkOptions;

/// Options of a link, and its outbox.
fn linked(compression: bool) -> (Established, Outbox) {
    let established = Established {
        qos: compression,
        options: LinkOptions {
            compression,
            low_latency: !compression,
            ..LinkOptions::default()
        },
        ..established()
    };
    let outbox = Outbox::new(&established, QUEUE_BYTES_MAX, None);
    (established, outbox)
}

fn counts(outbox: &Outbox) -> (u64, u64, u64) {
    let all = outbox.priorities();
    let sum = |of: fn(&crate::outbox::PriorityCounts) -> u64| all.iter().map(of).sum();
    (sum(|c| c.accepted), sum(|c| c.sent), sum(|c| c.queued))
}

/// Returns `bytes` incompressible bytes.
#[cfg(feature = "compression")]
fn noise(number: u64, bytes: usize) -> ZSlice {
    let mut state = number + 1;
    let mut payload: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
    .take(bytes)
    .collect();
    payload[..8].copy_from_slice(&number.to_le_bytes());
    ZSlice::from(payload)
}

/// Returns the numbers and lengths of the received messages of compressed batches, in order.
#[cfg(feature = "compression")]
fn unpacked(established: &Established, wire: &[u8]) -> Vec<(u64, usize)> {
    use crate::protocol::compression::{Content, Unpacker};

    #[derive(Default)]
    struct Numbers(Vec<(u64, usize)>);

    impl Deliver for Numbers {
        fn push(&mut self, push: &Push<'_>, _raw: &[u8], _context: &Received<'_>) {
            let PushBody::Put(put) = &push.body else {
                panic!("{push:?}");
            };
            let number = u64::from_le_bytes(put.payload[..8].try_into().expect("eight bytes"));
            let expected = match number % 2 {
                0 => numbered(number, put.payload.len()),
                _ => noise(number, put.payload.len()),
            };
            assert!(put.payload == expected.as_slice(), "{number} is damaged");
            self.0.push((number, put.payload.len()));
        }

        fn message(&mut self, message: NetworkMessage<'_>, _context: &Received<'_>) {
            panic!("{message:?}");
        }
    }

    let mut receiver = Receiver::new(established, 1 << 30);
    let (mut unpacker, mut numbers) = (Unpacker::default(), Numbers::default());
    for batch in batches(wire) {
        let block = match unpacker.open(batch).expect("it was packed once") {
            Content::Plain => ZSlice::from(batch[1..].to_vec()),
            Content::Unpacked(block) => block,
        };
        receiver
            .handle_batch(block.as_slice(), &block, &mut numbers)
            .expect("the peer has no complaint");
    }
    numbers.0
}

/// Batches that are taken, compressed, and put back again and again leave compressed once, or as
/// they are.
#[cfg(feature = "compression")]
#[test]
fn what_goes_back_is_packed_once() {
    let (established, outbox) = linked(true);
    let mut wire = Vec::new();
    let mut sent = Vec::new();
    for number in 0..12 {
        let bytes = 5000 * (number as usize + 1);
        let payload = match number % 2 {
            0 => numbered(number, bytes),
            _ => noise(number, bytes),
        };
        push(&outbox, DATA, &payload);
        sent.push((number, bytes));
    }
    let mut rounds = 0;
    while !write(&outbox, &mut wire, 3000) {
        rounds += 1;
        if rounds == 3 {
            push(&outbox, URGENT, &numbered(100, 8));
        }
        let (accepted, sent, queued) = counts(&outbox);
        assert_eq!(accepted, sent + queued);
    }
    assert!(rounds > 12, "{rounds}");
    let mut arrived = unpacked(&established, &wire);
    let urgent = arrived.iter().position(|(number, _)| *number == 100);
    let urgent = urgent.expect("it came");
    assert!(urgent < 5, "it overtook: {arrived:?}");
    arrived.remove(urgent);
    assert_eq!(arrived, sent);
    assert_eq!(counts(&outbox), (13, 13, 0));
    let bytes: u64 = outbox.priorities().iter().map(|c| c.sent_bytes).sum();
    assert_eq!(bytes, wire.len() as u64);
    assert_eq!((outbox.queued_bytes(), outbox.has_unsent()), (0, false));
}

/// A batch that compression does not make shorter is not compressed again with each attempt to
/// write.
#[cfg(feature = "compression")]
#[test]
fn what_was_tried_in_vain_is_not_tried_again() {
    let (_, outbox) = linked(true);
    let mut wire = Vec::new();
    for number in [1, 3, 5] {
        push(&outbox, DATA, &noise(number, 60_000));
    }
    assert!(!write(&outbox, &mut wire, 10));
    let mut lane = outbox.lanes[Priority::Data as usize].lock();
    let mut free = Vec::new();
    let mut settled = 0;
    while let Some(batch) = lane.pop(&mut free) {
        settled += usize::from(batch.is_settled());
        assert!(batch.wire_len() > 60_000);
    }
    assert_eq!(settled, 2, "the others are as they leave");
}

/// A bare message that was put back still has the next one appended, and each counts once.
#[test]
fn bare_messages_that_go_back_are_accounted_for() {
    let (_, outbox) = linked(false);
    let mut wire = Vec::new();
    for number in 0..8 {
        push(&outbox, DATA, &numbered(number, 6000));
    }
    assert!(!write(&outbox, &mut wire, 10));
    for number in 8..12 {
        push(&outbox, DATA, &numbered(number, 100));
        let (accepted, sent, queued) = counts(&outbox);
        assert_eq!((accepted, sent + queued), (number + 1, number + 1));
    }
    while !write(&outbox, &mut wire, 7000) {}
    assert_eq!(counts(&outbox), (12, 12, 0));
    let counted = outbox.priorities()[0];
    assert_eq!(counted.sent_bytes, wire.len() as u64);
    assert_eq!((counted.queued_bytes, counted.dropped), (0, 0));
    let mut left = &wire[..];
    let mut lengths = Vec::new();
    while let Some((length, rest)) = left.split_first_chunk::<4>() {
        let (message, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        let payload = if lengths.len() < 8 { 6000 } else { 100 };
        let payload = numbered(lengths.len() as u64, payload);
        assert!(
            message.ends_with(payload.as_slice()),
            "message {}",
            lengths.len()
        );
        lengths.push(message.len());
        left = rest;
    }
    assert_eq!(lengths.len(), 12);
}

/// The peer has the whole messages of a buffer of bare messages that is written in part.
#[test]
fn bare_messages_of_a_buffer_count_one_by_one_in_the_end() {
    let payload = numbered(1, 100);
    let room = |room: usize| {
        let (_, outbox) = linked(false);
        for _ in 0..5 {
            push(&outbox, DATA, &payload);
        }
        let mut wire = Vec::new();
        write(&outbox, &mut wire, room);
        outbox.last_priorities()[0].sent
    };
    let (_, outbox) = linked(false);
    push(&outbox, DATA, &payload);
    let length = outbox.queued_bytes();
    let all = 5 * length;
    for bytes in [1, length - 1, length, 3 * length + 1, all - 1, all] {
        assert_eq!(room(bytes), (bytes / length) as u64, "{bytes}");
    }
}
