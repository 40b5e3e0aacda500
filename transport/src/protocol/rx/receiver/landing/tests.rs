// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams of batches that are read in pieces, with fragments landing in their messages, against
//! the same batches handed over one by one.

use zonda_codec::ZSlice;
use zonda_codec::{Priority, Reliability};

use super::super::super::tests::{DATA, Seen, established, fragment, frame, put};
use super::*;
use crate::protocol::rx::{Flow, Received};

/// Repeatable source of small numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Received messages, and the number of bytes that were read in place.
struct Outcome {
    seen: Seen,
    received: Received,
    landed: usize,
}

/// Reads like the reading task: into a block, whose whole batches are handled, and into lent memory
/// in between.
fn read(receiver: &mut Receiver, batches: &[Vec<u8>], mut piece: impl FnMut() -> usize) -> Outcome {
    let wire: Vec<u8> = batches
        .iter()
        .flat_map(|batch| [&(batch.len() as u16).to_le_bytes(), batch.as_slice()].concat())
        .collect();
    let (mut seen, mut rest, mut block, mut landed) =
        (Seen::default(), wire.as_slice(), Vec::new(), 0);
    loop {
        let mut spilled = Vec::new();
        if receiver.is_landing() {
            receiver.landed(&mut seen, |bytes| spilled.extend_from_slice(bytes));
            assert!(block.is_empty(), "all of it has landed");
            block = spilled;
        }
        loop {
            let length = block
                .first_chunk()
                .map_or(1, |prefix| u16::from_le_bytes(*prefix));
            let Some(batch) = block.get(2..2 + usize::from(length)) else {
                if receiver.land(&block) {
                    block.clear();
                }
                break;
            };
            let shared = ZSlice::from(batch.to_vec());
            let flow = receiver.handle_batch(shared.as_slice(), &shared, &mut seen);
            assert_eq!(flow, Ok(Flow::Open));
            block.drain(..2 + usize::from(length));
        }
        if rest.is_empty() {
            break;
        }
        let count = piece().min(rest.len()).max(1);
        if let Some(mut lent) = receiver.lend() {
            assert!(lent.filled + lent.spare <= lent.bytes.len());
            let count = count.min(lent.spare);
            let (now, later) = rest.split_at(count);
            lent.bytes[lent.filled..lent.filled + count].copy_from_slice(now);
            receiver.give_back(lent.bytes, count);
            (rest, landed) = (later, landed + count);
        } else {
            let (now, later) = rest.split_at(count);
            block.extend_from_slice(now);
            rest = later;
        }
    }
    Outcome {
        seen,
        received: receiver.received(),
        landed,
    }
}

fn one_by_one(message_size_max: usize, batches: &[Vec<u8>]) -> Outcome {
    let mut receiver = Receiver::new(&established(), message_size_max);
    let mut seen = Seen::default();
    for batch in batches {
        let block = ZSlice::from(batch.clone());
        let flow = receiver.handle_batch(block.as_slice(), &block, &mut seen);
        assert_eq!(flow, Ok(Flow::Open));
    }
    Outcome {
        seen,
        received: receiver.received(),
        landed: 0,
    }
}

/// Returns a message in fragments of `size` bytes, from sequence number `sn` on, and advances `sn`.
fn cut(message: &[u8], size: usize, sn: &mut u32) -> Vec<Vec<u8>> {
    let pieces: Vec<&[u8]> = message.chunks(size).collect();
    let mut batches = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let first = if index == 0 { "f" } else { "" };
        let more = if index + 1 < pieces.len() { "m" } else { "" };
        batches.push(fragment(*sn, &format!("{first}{more}"), piece));
        *sn += 1;
    }
    batches
}

fn pattern(length: usize, seed: u8) -> Vec<u8> {
    (0..length)
        .map(|index| (index % 251) as u8 ^ seed)
        .collect()
}

#[test]
fn large_messages_come_to_their_place() {
    let (mut sn, mut batches) = (100, Vec::new());
    for (seed, length) in [70_000, 1_000_000, 65_536, 131_046, 200_000]
        .into_iter()
        .enumerate()
    {
        batches.append(&mut cut(
            &put(&pattern(length, seed as u8)),
            65_523,
            &mut sn,
        ));
    }
    let expected = one_by_one(1 << 24, &batches);
    let total: usize = batches.iter().map(Vec::len).sum();
    for piece in [1, 7, 1000, 1024, 60_000, 1 << 18] {
        let mut receiver = Receiver::new(&established(), 1 << 24);
        let outcome = read(&mut receiver, &batches, || piece);
        assert!(
            outcome.seen.payloads == expected.seen.payloads,
            "pieces of {piece}"
        );
        assert_eq!(outcome.received, expected.received, "pieces of {piece}");
        assert!(
            outcome.landed > total / 4,
            "{} in pieces of {piece}",
            outcome.landed
        );
    }
}

/// The result is independent of landing, for any batches between, before and among the fragments of
/// large messages.
#[test]
fn landing_changes_nothing_but_the_copies() {
    let mut landed = 0;
    for seed in 1..40 {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (seed << 40));
        let (mut sn, mut urgent, mut batches) = (100, 100, Vec::new());
        for seed in 0..4 {
            let message = put(&pattern(dice.below(600_000), seed));
            let size = [65_523, 30_000, 20_000, 5000][dice.below(4)];
            let mut pieces = cut(&message, size, &mut sn);
            let at = dice.below(pieces.len() + 1);
            match dice.below(8) {
                0 if at < pieces.len() => drop(pieces.remove(at)),
                1 => pieces.insert(at, frame(DATA, sn, &[b"torn"])),
                2 => {
                    let channel = (Priority::RealTime, Reliability::Reliable);
                    pieces.insert(at, frame(channel, urgent, &[b"urgent", b"more"]));
                    urgent += 1;
                }
                3 => pieces.insert(at, vec![]),
                4 => pieces.insert(at, fragment(sn, "md", b"given up")),
                5 => pieces.insert(at, pieces[at.min(pieces.len() - 1)].clone()),
                6 => pieces.insert(at, vec![0x04]),
                _ => {}
            }
            sn += 1;
            batches.append(&mut pieces);
            if dice.below(2) == 0 {
                batches.push(frame(DATA, sn, &[b"small"]));
                sn += 1;
            }
        }
        let limit = [300_000, 1 << 20][dice.below(2)];
        let expected = one_by_one(limit, &batches);
        let mut receiver = Receiver::new(&established(), limit);
        let outcome = read(&mut receiver, &batches, || 1 + dice.below(80_000));
        assert!(
            outcome.seen.payloads == expected.seen.payloads,
            "seed {seed}"
        );
        assert_eq!(outcome.seen.others, expected.seen.others, "seed {seed}");
        assert_eq!(outcome.received, expected.received, "seed {seed}");
        landed += outcome.landed;
    }
    assert!(landed > 4 << 20, "{landed} bytes landed");
}

/// Encodes a number in more bytes than it needs.
fn padded(mut number: u64, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 1..count {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Returns a reliable fragment of priority Data: its number in up to nine bytes, of which the high
/// bits do not count, among extensions that are unknown or repeated.
fn spelled(dice: &mut Dice, sn: u32, (first, more): (bool, bool), piece: &[u8]) -> Vec<u8> {
    let mut batch = vec![0x26 | if more { 0x40 } else { 0 }];
    let high = [0, 0, 1 << 32, 5 << 40][dice.below(4)];
    batch.extend(padded(
        u64::from(sn) | high,
        [5, 8, 9][dice.below(3)].max(if high > 0 { 7 } else { 0 }),
    ));
    let mut previous = 0;
    for _ in 0..dice.below(5) {
        let extension = match dice.below(4) {
            0 => vec![0x0a],
            1 => [vec![0x2b], padded(77, 1 + dice.below(9))].concat(),
            2 => [vec![0x31], padded(5, 1 + dice.below(9))].concat(),
            _ => {
                let bytes = vec![0x06; dice.below(100)];
                [
                    vec![0x4c],
                    padded(bytes.len() as u64, 2 + dice.below(4)),
                    bytes,
                ]
                .concat()
            }
        };
        batch[previous] |= 0x80;
        previous = batch.len();
        batch.extend(extension);
    }
    if first {
        batch[previous] |= 0x80;
        batch.push(0x02);
    }
    batch.extend_from_slice(piece);
    batch
}

/// The end of a header with redundant bytes is found where the decoder of whole batches finds it.
#[test]
fn fragments_land_in_every_spelling() {
    let mut landed = 0;
    for seed in 1..16 {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (seed << 40));
        let (mut sn, mut batches) = (100, Vec::new());
        for seed in 0..3 {
            let message = put(&pattern(300_000 + dice.below(300_000), seed));
            let pieces: Vec<&[u8]> = message.chunks(65_000).collect();
            for (index, piece) in pieces.iter().enumerate() {
                let place = (index == 0, index + 1 < pieces.len());
                batches.push(spelled(&mut dice, sn, place, piece));
                sn += 1;
            }
        }
        let expected = one_by_one(1 << 20, &batches);
        assert_eq!(expected.seen.payloads.len(), 3, "seed {seed}");
        let mut receiver = Receiver::new(&established(), 1 << 20);
        let outcome = read(&mut receiver, &batches, || {
            [1 + dice.below(100), 1 + dice.below(80_000)][dice.below(2)]
        });
        assert!(
            outcome.seen.payloads == expected.seen.payloads,
            "seed {seed}"
        );
        assert_eq!(outcome.received, expected.received, "seed {seed}");
        landed += outcome.landed;
    }
    assert!(landed > 1 << 20, "{landed} bytes landed");
}

#[test]
fn memory_of_large_messages_serves_again_and_is_let_go_of_on_request() {
    let mut receiver = Receiver::new(&established(), 1 << 24);
    let (mut sn, mut addresses) = (100, Vec::new());
    for _ in 0..3 {
        let batches = cut(&put(&pattern(5 << 20, 3)), 65_523, &mut sn);
        let outcome = read(&mut receiver, &batches, || 1 << 18);
        assert_eq!(outcome.seen.payloads.len(), 1);
        addresses.push(outcome.seen.blocks[0].as_slice().as_ptr());
    }
    assert_eq!(addresses[1], addresses[2]);
    let defragmenter = receiver.defragmenter_mut();
    assert!(defragmenter.keeps_much() && defragmenter.allocated_bytes() >= 5 << 20);
    defragmenter.release();
    assert!(!defragmenter.keeps_much() && defragmenter.allocated_bytes() == 0);
}

#[test]
fn what_is_no_fragment_in_its_turn_does_not_land() {
    let mut receiver = Receiver::new(&established(), 1 << 20);
    let start = |batch: &[u8]| {
        let mut bytes = 60_000_u16.to_le_bytes().to_vec();
        bytes.extend_from_slice(batch);
        bytes
    };
    for sn in 100..103 {
        let marks = if sn == 100 { "fm" } else { "m" };
        assert!(!receiver.land(&start(&fragment(sn, marks, b"too early"))));
        let batch = ZSlice::from(fragment(sn, marks, &[7; 60_000]));
        let flow = receiver.handle_batch(batch.as_slice(), &batch, &mut Seen::default());
        assert_eq!(flow, Ok(Flow::Open));
    }
    let before = receiver.received();
    for refused in [
        vec![0x60],
        frame(DATA, 103, &[b"a frame"]),
        fragment(104, "m", b"a gap"),
        fragment(102, "m", b"old"),
        fragment(103, "fm", b"another message"),
        fragment(103, "md", b"given up"),
        fragment(1 << 28, "m", b"a number too large"),
    ] {
        assert!(!receiver.land(&start(&refused)), "{refused:02x?}");
        assert!(receiver.lend().is_none());
    }
    assert_eq!(receiver.received(), before);
    assert!(receiver.land(&start(&fragment(103, "m", b"its turn"))));
    assert!(receiver.is_landing());
}
