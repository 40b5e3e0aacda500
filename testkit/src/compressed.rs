// SPDX-License-Identifier: MIT OR Apache-2.0
//! Batches of a link with compression: what is unpacked is what a plain decoder of LZ4 blocks
//! makes of it, and never longer than a batch may be; the messages in it are those of the same
//! bytes on a plain link; what this node compresses comes back.

use zonda_codec::{
    Encode, EncodeError, NetworkMessage, Priority, Push, Reliability, WhatAmI, Writer, ZSlice,
    ZenohId,
};
use zonda_transport::protocol::compression::{Content, Packer, UNPACKED_BYTES_MAX, Unpacker};
use zonda_transport::protocol::options::Framing;
use zonda_transport::protocol::parameters::Established;
use zonda_transport::protocol::rx::{Context, Deliver, Receiver};
use zonda_transport::protocol::tx::{Lane, LaneConfig, Outgoing, Tail};

/// Flag of a batch whose content is an LZ4 block.
const PACKED: u8 = 1;

/// Maximum bytes of a message that is reassembled from fragments.
const MESSAGE_BYTES_MAX: usize = 1 << 17;

/// Reads the rest of a length of an LZ4 sequence.
fn length(nibble: u8, bytes: &mut &[u8]) -> Option<usize> {
    let mut length = usize::from(nibble);
    let mut more = nibble == 15;
    while more {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        length += usize::from(byte);
        more = byte == 255;
    }
    Some(length)
}

/// Unpacks a block byte by byte, without a library; `None` if it is none, or too long.
fn plainly(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        // Literals.
        let (&token, rest) = bytes.split_first()?;
        bytes = rest;
        let literals = length(token >> 4, &mut bytes)?;
        out.extend_from_slice(bytes.get(..literals)?);
        bytes = &bytes[literals..];
        if out.len() > UNPACKED_BYTES_MAX {
            return None;
        }
        if bytes.is_empty() {
            return Some(out);
        }
        // A copy of earlier bytes.
        let (offset, rest) = bytes.split_first_chunk()?;
        bytes = rest;
        let offset = usize::from(u16::from_le_bytes(*offset));
        let copied = length(token & 15, &mut bytes)? + 4;
        let from = out.len().checked_sub(offset).filter(|_| offset > 0)?;
        if out.len() + copied > UNPACKED_BYTES_MAX {
            return None;
        }
        (from..from + copied).for_each(|at| out.push(out[at]));
    }
}

#[derive(Default)]
struct Seen(Vec<Vec<u8>>);

impl Deliver for Seen {
    fn push(&mut self, _push: &Push<'_>, raw_body: &[u8], _context: &Context<'_>) {
        self.0.push(raw_body.to_vec());
    }

    fn message(&mut self, message: NetworkMessage<'_>, _context: &Context<'_>) {
        self.0.push(format!("{message:?}").into_bytes());
    }
}

/// Link that receives batches.
struct Link {
    receiver: Receiver,
    seen: Seen,
    is_open: bool,
}

impl Link {
    fn new() -> Link {
        let peer = ZenohId::random_from(1);
        Link {
            receiver: Receiver::new(&Established::plain(peer, WhatAmI::Peer), MESSAGE_BYTES_MAX),
            seen: Seen::default(),
            is_open: true,
        }
    }

    fn take(&mut self, content: &[u8], block: &ZSlice) {
        if self.is_open {
            let flow = self.receiver.handle_batch(content, block, &mut self.seen);
            self.is_open = flow.is_ok();
        }
    }
}

/// Receives batches: each is two bytes of length, then so many bytes.
fn received(mut data: &[u8]) {
    let mut unpacker = Unpacker::default();
    let (mut link, mut plain) = (Link::new(), Link::new());
    let mut kept: Vec<(ZSlice, Vec<u8>)> = Vec::new();
    while let Some((length, rest)) = data.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        let (batch, rest) = rest.split_at(length);
        data = rest;
        let content = batch.get(1..).unwrap_or(&[]);
        let is_packed = batch.first().is_some_and(|flags| flags & PACKED != 0);
        match unpacker.open(batch) {
            Ok(Content::Plain) => {
                assert!(!is_packed);
                let block = ZSlice::from(content.to_vec());
                link.take(content, &block);
                plain.take(content, &block);
            }
            Ok(Content::Unpacked(unpacked)) => {
                assert!(is_packed && unpacked.as_slice().len() <= UNPACKED_BYTES_MAX);
                let expected = plainly(content).expect("it is a block");
                assert!(unpacked.as_slice() == expected, "it is another content");
                link.take(unpacked.as_slice(), &unpacked);
                plain.take(&expected, &ZSlice::from(expected.clone()));
                kept.push((unpacked, expected));
            }
            Err(corrupt) => {
                assert!(is_packed && corrupt.length == content.len());
                assert!(plainly(content).is_none_or(|block| !is_ours(&block, content)));
            }
        }
        assert_eq!(link.is_open, plain.is_open);
    }
    assert!(link.seen.0 == plain.seen.0, "the messages differ");
    // Later batches change nothing that messages still refer to.
    for (unpacked, expected) in kept {
        assert!(unpacked.as_slice() == expected);
    }
}

/// Bytes as a message.
struct Bytes<'a>(&'a [u8]);

impl Encode for Bytes<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.bytes(self.0)
    }
}

/// Compresses the payload as a message in batches of at most `batch_size` bytes; returns each batch
/// without its length, before and after.
fn sent(payload: &[u8], batch_size: u16) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut lane = Lane::new(LaneConfig {
        priority: Priority::Data,
        batch_size,
        sn_mask: 0x0fff_ffff,
        initial_sn: 0,
        queue_bytes_max: 1 << 20,
        framing: Framing::Compressed,
        share_bytes_min: zonda_transport::protocol::tx::SHARE_BYTES_MIN,
    });
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &Bytes(b"head"),
        payload: Tail::Copy(payload),
    };
    lane.push(&message).expect("it has a wire form");
    let (mut packer, mut free) = (Packer::new().expect("it is built in"), Vec::new());
    let mut all = Vec::new();
    while let Some(mut batch) = lane.pop(&mut free) {
        let before = batch.head()[2..].to_vec();
        packer.pack(&mut batch, &mut free, batch_size.into());
        let after = batch.head();
        let counted = usize::from(u16::from_le_bytes([after[0], after[1]]));
        assert_eq!(counted, after.len() - 2, "the prefix counts the batch");
        all.push((before, after[2..].to_vec()));
    }
    all
}

/// Returns true if this node compresses the bytes to this block.
fn is_ours(bytes: &[u8], block: &[u8]) -> bool {
    let batches = sent(bytes, u16::MAX);
    batches
        .iter()
        .any(|(_, after)| after.split_first() == Some((&PACKED, block)))
}

/// Compresses a payload, and unpacks it again.
fn round_trip(payload: &[u8], batch_size: u16) {
    let mut unpacker = Unpacker::default();
    for (before, after) in sent(payload, batch_size) {
        assert!(after.len() <= before.len(), "never longer");
        match unpacker.open(&after) {
            Ok(Content::Plain) => assert!(after == before),
            Ok(Content::Unpacked(unpacked)) => {
                assert!(unpacked.as_slice() == &before[1..]);
                assert_eq!(plainly(&after[1..]).as_deref(), Some(&before[1..]));
            }
            Err(corrupt) => panic!("{corrupt}"),
        }
    }
}

/// Receives the bytes behind the first one as batches, or sends them, repeated and in batches of a
/// chosen size.
pub fn compressed(data: &[u8]) {
    match data.split_first() {
        Some((kind, data)) if kind % 2 == 0 => received(data),
        Some((kind, data)) => {
            let times = usize::from(kind / 2 % 8) + 1;
            let batch_size = 64 + u16::from(kind / 16) * 4000;
            round_trip(&data.repeat(times), batch_size);
        }
        None => {}
    }
}

/// Returns an input that receives this payload in the batches that this node makes of it.
pub fn as_batches(payload: &[u8]) -> Vec<u8> {
    let mut data = vec![0];
    for (_, batch) in sent(payload, 4096) {
        data.extend_from_slice(&(batch.len() as u16).to_le_bytes());
        data.extend_from_slice(&batch);
    }
    data
}
