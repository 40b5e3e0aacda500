// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attacks on links with compression: blocks that expand, blocks that are broken, and batches that
//! are many messages.

use std::sync::Arc;

use zonda_codec::{FrameHeader, Priority, Reliability};
use zonda_transport::framing::frame;
use zonda_transport::protocol::options::LocalOptions;

use super::Game;
use crate::attacks::chance::Chance;
use crate::hand::{Hand, bytes};

impl Game<'_> {
    /// Connects with compression agreed on.
    fn packing(&mut self) -> Option<Hand> {
        let mut hand = self.visitor()?;
        hand.parameters.options = Arc::new(LocalOptions {
            compression: true,
            ..LocalOptions::default()
        });
        (hand.is_let_in() && hand.agreed().options.compression).then_some(hand)
    }
}

/// Writes the rest of a length in the block format of LZ4, behind the nibble that is full.
fn length(out: &mut Vec<u8>, mut left: usize) {
    while left >= 255 {
        out.push(255);
        left -= 255;
    }
    out.push(left as u8);
}

/// Returns a block of literal bytes only.
fn literal(bytes: &[u8]) -> Vec<u8> {
    let mut block = vec![(bytes.len().min(15) as u8) << 4];
    if bytes.len() >= 15 {
        length(&mut block, bytes.len() - 15);
    }
    block.extend_from_slice(bytes);
    block
}

/// Returns a block that repeats one byte `count` times, 32 at least.
fn repeated(byte: u8, count: usize) -> Vec<u8> {
    let mut block = vec![0x1f, byte, 1, 0];
    length(&mut block, count - 1 - 19 - 12);
    block.push(12 << 4);
    block.extend([byte; 12]);
    block
}

/// Returns one batch behind its length: the compression header, then the block.
fn packed(block: &[u8]) -> Vec<u8> {
    let mut framed = Vec::new();
    frame(&[&[1], block].concat(), &mut framed);
    framed
}

/// Returns a batch of one repeated byte, of a size that fits or does not.
fn bomb(chance: &mut Chance) -> Vec<u8> {
    let bytes = [0x04, 0x04, 0x00, 0x03, 0x9f, 0x25];
    let sizes = [65_000, 65_535, 65_536, 70_000, 1 << 20, 1 << 24];
    packed(&repeated(*chance.one_of(&bytes), *chance.one_of(&sizes)))
}

/// Returns a frame of valid messages, compressed and then broken or not.
fn frame_of_messages(game: &mut Game<'_>, guest: &mut Hand) -> Vec<u8> {
    let priority = Priority::ALL[1 + game.chance.below(7)];
    let mut batch = bytes(&FrameHeader {
        reliability: Reliability::Reliable,
        priority,
        sn: guest.sn(priority),
    });
    for _ in 0..game.chance.up_to(20) {
        let message = game.message();
        if batch.len() + message.len() < 60_000 {
            batch.extend(message);
        }
    }
    let mut block = literal(&batch);
    match game.chance.below(8) {
        0 => block.truncate(game.chance.below(block.len())),
        1 => {
            let at = game.chance.below(block.len());
            block[at] = game.chance.next() as u8;
        }
        // A repetition of bytes that do not exist, as long as possible.
        2 => block.extend([0x0f, 0xff, 0xff, 255, 255, 255]),
        _ => {}
    }
    match game.chance.one_in(4) {
        true => {
            let mut framed = Vec::new();
            frame(&[&[0], &batch[..]].concat(), &mut framed);
            framed
        }
        false => packed(&block[..block.len().min(65_000)]),
    }
}

/// Sends few bytes that become many messages, or more than a batch may be.
pub fn expanding_batches(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut guest) = game.packing() else {
            game.dawdles(5);
            continue;
        };
        let batch = match game.chance.one_in(2) {
            true => packed(&repeated(0x04, 65_000)),
            false => bomb(&mut game.chance),
        };
        for _ in 0..game.chance.up_to(200) {
            let many = 1 + game.chance.up_to(100);
            if !guest.try_raw(&batch.repeat(many)) || !game.goes_on() {
                break;
            }
            guest.swallow();
        }
    }
}

/// Sends valid messages and broken blocks in turn, in batches of any size, the smallest above all.
pub fn broken_blocks(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut guest) = game.packing() else {
            game.dawdles(5);
            continue;
        };
        for _ in 0..200 {
            let small = packed(&literal(&[0x04]));
            let batch = match game.chance.below(3) {
                0 => small.repeat(1 + game.chance.up_to(2000)),
                _ => frame_of_messages(game, &mut guest),
            };
            if !guest.try_raw(&batch) || !game.goes_on() {
                break;
            }
            guest.swallow();
        }
    }
}
