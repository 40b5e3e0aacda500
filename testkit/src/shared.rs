// SPDX-License-Identifier: MIT OR Apache-2.0
//! Payloads in shared memory of another process: with any descriptors, the message ends where its
//! slices end, it is not delivered, and the messages around it are.

use zonda_codec::{DecodeError, NetworkMessage, Push, Reader, WhatAmI, ZenohId};
use zonda_codec::{ZSlice, shared::SharedMessage};
use zonda_transport::protocol::parameters::Established;
use zonda_transport::protocol::rx::{Context, Deliver, Receiver};

/// A put, the value of a reply, and the body of a query, up to their payloads.
const HEADS: [&[u8]; 3] = [
    b"\x7d\x00\x03a/b\x81\x12",
    b"\x1b\x01\x00\x04\x81\x12",
    b"\x1c\x01\x01\x83\x84\x43\x34\x00",
];

/// Header of a frame, and a put in it.
const FRAME: &[u8] = b"\x25\x00";
const HONEST: &[u8] = b"\x7d\x00\x03a/b\x01\x06honest";

/// Reads a number of the protocol without the codec; `None` if it is cut or wider than 32 bits.
fn number(bytes: &mut &[u8]) -> Option<usize> {
    let mut value = 0;
    for index in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let is_last = index == 8 || byte < 0x80;
        let part = if index == 8 { byte } else { byte & 0x7f };
        value |= u64::from(part) << (7 * index);
        if is_last {
            break;
        }
    }
    u32::try_from(value).ok()?.try_into().ok()
}

/// Counts the bytes that the slices at the start of `data` take.
fn slices(data: &[u8]) -> Option<usize> {
    let mut rest = data;
    for _ in 0..number(&mut rest)? {
        rest = rest.get(1..)?;
        let length = number(&mut rest)?;
        rest = rest.get(length..)?;
    }
    Some(data.len() - rest.len())
}

#[derive(Default)]
struct Seen(Vec<Vec<u8>>);

impl Deliver for Seen {
    fn push(&mut self, push: &Push<'_>, _raw_body: &[u8], _context: &Context<'_>) {
        if let zonda_codec::PushBody::Put(put) = &push.body {
            self.0.push(put.payload.to_vec());
        }
    }

    fn message(&mut self, message: NetworkMessage<'_>, _context: &Context<'_>) {
        panic!("nothing else was sent: {message:?}");
    }
}

/// Checks such a message between two honest ones.
fn among_others(message: &[u8]) {
    let peer = ZenohId::random_from(1);
    let mut receiver = Receiver::new(&Established::plain(peer, WhatAmI::Peer), 1 << 16);
    let mut seen = Seen::default();
    let batch = ZSlice::from([FRAME, HONEST, message, HONEST].concat());
    let flow = receiver.handle_batch(batch.as_slice(), &batch, &mut seen);
    assert!(flow.is_ok(), "{flow:?}");
    assert_eq!(seen.0, [b"honest", b"honest"]);
    assert_eq!(receiver.received().messages_in_shared_memory, 1);
}

/// Checks that such a message has a plain form, whatever its slices are.
fn taken_apart(message: &[u8]) {
    let taken = SharedMessage::read(message).expect("a decoder has read over it");
    assert!(taken.slices().count() <= 1024);
    let (head, rest) = taken.plain(3).expect("it is short");
    let plain = [head.as_slice(), b"abc", rest].concat();
    let mut reader = Reader::new(&plain);
    assert!(NetworkMessage::decode(&mut reader).is_ok() && reader.is_empty());
}

/// Checks any bytes in the place of a payload.
pub fn shared(data: &[u8]) {
    let expected = slices(data);
    for head in HEADS {
        let message = [head, data].concat();
        let read = NetworkMessage::decode(&mut Reader::new(&message));
        let Some(length) = expected else {
            let error = read.expect_err("it is cut");
            assert!(!matches!(error, DecodeError::SharedMemory { .. }));
            continue;
        };
        let end = head.len() + length;
        assert_eq!(read, Err(DecodeError::SharedMemory { end }));
        among_others(&message[..end]);
        taken_apart(&message[..end]);
    }
}
