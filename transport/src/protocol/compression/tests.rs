// SPDX-License-Identifier: MIT OR Apache-2.0
//! Batches that the reference compressed, round trips of own batches, and corrupt batches.

use zonda_codec::{Encode, EncodeError, Priority, Reliability, Writer};

use super::*;
use crate::protocol::options::Framing;
use crate::protocol::tx::{Batch, Lane, LaneConfig, Outgoing, Tail};

/// Bytes as a message.
struct Bytes<'a>(&'a [u8]);

impl Encode for Bytes<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.bytes(self.0)
    }
}

fn lane(batch_size: u16) -> Lane {
    Lane::new(LaneConfig {
        priority: Priority::Data,
        batch_size,
        sn_mask: 0x0fff_ffff,
        initial_sn: 0,
        queue_bytes_max: 1 << 30,
        framing: Framing::Compressed,
        share_bytes_min: crate::protocol::tx::SHARE_BYTES_MIN,
    })
}

/// Returns the batches that `payload` takes, before and after packing.
fn batches(payload: Tail<'_>, batch_size: u16) -> Vec<(Vec<u8>, Batch)> {
    let mut lane = lane(batch_size);
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &Bytes(b"head"),
        payload,
    };
    lane.push(&message).expect("it has a wire form");
    let (mut packer, mut free) = (Packer::new().expect("it is built in"), Vec::new());
    let mut batches = Vec::new();
    while let Some(mut batch) = lane.pop(&mut free) {
        let before = whole(&batch);
        packer.pack(&mut batch, &mut free, batch_size.into());
        batches.push((before, batch));
    }
    batches
}

/// Returns all bytes of a batch, as they are sent.
fn whole(batch: &Batch) -> Vec<u8> {
    let tail = batch.tail().map_or(&[][..], |tail| tail.as_slice());
    [batch.head(), tail].concat()
}

/// Returns incompressible bytes.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(next).collect()
}

fn unpacked(unpacker: &mut Unpacker, batch: &[u8]) -> Vec<u8> {
    match unpacker.open(batch).expect("a good batch") {
        Content::Plain => batch[1..].to_vec(),
        Content::Unpacked(slice) => slice.as_slice().to_vec(),
    }
}

fn hex(text: &str) -> Vec<u8> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    text.as_bytes().chunks(2).map(pair).collect()
}

#[test]
fn what_the_reference_packed_is_unpacked() {
    let mut unpacker = Unpacker::default();
    let packed = hex("01ef258497fe197d01022f6301ac02430100ff1360434343434343");
    let plain = unpacked(&mut unpacker, &packed);
    assert!(
        plain.starts_with(&hex("258497fe197d01022f6301ac02")),
        "{plain:02x?}"
    );
    assert!(plain[13..].iter().all(|byte| *byte == 0x43));
    assert_eq!(plain.len(), 13 + 300);
    let close = hex("000300");
    assert!(matches!(unpacker.open(&close), Ok(Content::Plain)));
    assert!(matches!(unpacker.open(&[]), Ok(Content::Plain)));
    assert!(matches!(unpacker.open(&[0]), Ok(Content::Plain)));
}

#[test]
fn what_is_packed_comes_back() {
    let mut unpacker = Unpacker::default();
    for len in [0, 1, 63, 64, 200, 5000, 40_000, 65_535, 200_000] {
        for payload in [vec![7; len], noise(len)] {
            for shared in [false, true] {
                let slice = ZSlice::from(payload.clone());
                let tail = match shared {
                    true => Tail::Shared(&slice),
                    false => Tail::Copy(&payload),
                };
                for (before, after) in batches(tail, 65_535) {
                    let bytes = whole(&after);
                    assert!(bytes.len() <= before.len(), "never longer");
                    let counted = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
                    assert_eq!(counted, bytes.len() - 2, "the prefix counts the batch");
                    assert_eq!(unpacked(&mut unpacker, &bytes[2..]), before[3..], "{len}");
                }
            }
        }
    }
}

#[test]
fn what_gets_no_shorter_goes_out_as_it_is_and_where_it_is() {
    let slice = ZSlice::from(noise(40_000));
    let all = batches(Tail::Shared(&slice), 65_535);
    assert_eq!(all.len(), 1);
    let (before, after) = &all[0];
    assert!(after.tail().is_some(), "the payload is not copied");
    assert_eq!(whole(after), *before);
    assert_eq!(before[2], 0, "no flags");
    let sevens = ZSlice::from(vec![7; 40_000]);
    let all = batches(Tail::Shared(&sevens), 65_535);
    assert!(all[0].1.tail().is_none() && whole(&all[0].1).len() < 1000);
}

#[test]
fn what_is_no_block_is_refused() {
    let mut unpacker = Unpacker::default();
    let (_, good) = &batches(Tail::Copy(&[7; 5000]), 65_535)[0];
    let good = whole(good)[2..].to_vec();
    assert_eq!(good[0], PACKED);
    let before = unpacked(&mut unpacker, &good);
    for cut in 1..good.len() {
        if let Ok(Content::Unpacked(slice)) = unpacker.open(&good[..cut]) {
            assert!(slice.as_slice().len() < before.len(), "cut to {cut}");
        }
    }
    for bit in 0..good.len() * 8 {
        let mut changed = good.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        // no panic, and nothing beyond the limit
        if let Ok(Content::Unpacked(slice)) = unpacker.open(&changed) {
            assert!(slice.as_slice().len() <= UNPACKED_BYTES_MAX);
        }
    }
    // a literal, then a match of 255 bytes for every byte: sixteen million in all
    let mut bomb = vec![PACKED, 0x1f, 0, 1, 0];
    bomb.resize(65_000, 255);
    bomb.push(0);
    assert!(unpacker.open(&bomb).is_err());
    // a match that reaches back to before the block
    assert!(unpacker.open(&[PACKED, 0x10, 7, 0xff, 0xff, 0]).is_err());
    let text = unpacker.open(&bomb).expect_err("a bomb").to_string();
    assert!(text.contains("65000 bytes"), "{text}");
}

#[test]
fn blocks_are_used_again_when_nobody_refers_to_them() {
    let mut unpacker = Unpacker::default();
    let (_, packed) = &batches(Tail::Copy(&[7; 5000]), 65_535)[0];
    let packed = whole(packed)[2..].to_vec();
    let address = |content: &Content| match content {
        Content::Unpacked(slice) => slice.as_slice().as_ptr() as usize,
        Content::Plain => panic!("it was packed"),
    };
    let first = unpacker.open(&packed).expect("good");
    let at = address(&first);
    drop(first);
    let second = unpacker.open(&packed).expect("good");
    assert_eq!(address(&second), at, "nobody holds it");
    let held: Vec<_> = (0..20)
        .map(|_| unpacker.open(&packed).expect("good"))
        .collect();
    let mut addresses: Vec<_> = held.iter().chain([&second]).map(address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 21, "none is written to while it is held");
    for content in &held {
        let Content::Unpacked(slice) = content else {
            panic!("it was packed")
        };
        assert!(slice.as_slice().ends_with(&[7; 5000]));
    }
}
