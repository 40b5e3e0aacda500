// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attacks with bytes, lengths, numbers, fragments and ids that do not fit.

use zonda_codec::{
    Declaration, Fragment, Mapping, Priority, Push, PushBody, Put, Qos, Query, Reliability,
    Request, WireExpr,
};

use super::Game;
use crate::attacks::words::{declare, in_parts, key_id, put, subscriber};
use crate::hand::bytes;

/// Sends random bytes in the place of messages, frames or batches.
pub fn noise(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut guest) = game.guest() else {
            continue;
        };
        let length = game.chance.up_to(20_000);
        let noise = game.chance.bytes(length);
        match game.chance.below(3) {
            0 => guest.raw(&noise),
            1 => guest.send(&noise[..noise.len().min(60_000)]),
            _ => {
                guest.frame(&noise);
            }
        }
    }
}

/// Sends valid messages in other spellings: padded, cut, with bytes changed, several alike in a
/// row.
pub fn spellings(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut guest) = game.guest() else {
            continue;
        };
        for _ in 0..50 {
            let message = game.message();
            let mut run = Vec::new();
            for _ in 0..=game.chance.below(4) {
                let mut message = message.clone();
                let at = game.chance.below(message.len());
                match game.chance.below(6) {
                    // one more byte of a number, if there is one
                    0 => {
                        message[at] |= 0x80;
                        message.insert(at + 1, 0);
                    }
                    1 => message[at] = game.chance.next() as u8,
                    2 => message.truncate(at + 1),
                    3 => message.insert(at, game.chance.next() as u8),
                    // a length at the end that is longer than necessary
                    4 => {
                        if let Some(last) = message.last_mut() {
                            *last |= 0x80;
                        }
                        message.push(game.chance.below(2) as u8);
                    }
                    _ => {}
                }
                run.extend_from_slice(&message);
            }
            if run.len() > 60_000 || !guest.frame(&run) || !game.goes_on() {
                break;
            }
        }
    }
}

/// Sends a length, and only a part of the announced bytes.
pub fn half_messages(game: &mut Game<'_>) {
    let mut held = Vec::new();
    while game.dawdles(20) {
        let Some(mut hand) = game.visitor() else {
            continue;
        };
        if game.chance.one_in(2) && !hand.is_let_in() {
            continue;
        }
        let promised = game.chance.up_to(65_535) as u16;
        hand.raw(&promised.to_le_bytes());
        let sent = game.chance.up_to(usize::from(promised));
        let part = game.chance.bytes(sent);
        hand.raw(&part);
        held.push(hand);
        held.truncate(100);
    }
}

/// Sends lengths of keys, payloads and extensions that do not exist.
pub fn lying_lengths(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut guest) = game.guest() else {
            continue;
        };
        let mut message = game.message();
        let at = game.chance.below(message.len());
        let large = [0xff; 9];
        let digits = game.chance.below(9) + 1;
        message.splice(at..at, large[..digits].iter().copied());
        if message.len() < 60_000 {
            guest.frame(&message);
        }
        guest.swallow();
    }
}

/// Sends messages of megabytes to itself, and does not always read them.
pub fn huge_messages(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    guest.frame(&subscriber(1, "attack/huge"));
    let reads = game.chance.one_in(2);
    while game.goes_on() {
        let length = game.chance.up_to(16 << 20);
        let message = put("attack/huge", &vec![7; length]);
        let priority = Priority::ALL[1 + game.chance.below(7)];
        if !in_parts(&mut guest, &message, priority) || !game.goes_on() {
            return;
        }
        if reads {
            guest.swallow();
        }
    }
}

/// Sends long messages that are begun on every priority and never ended.
pub fn unfinished(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    for at in 0.. {
        let priority = Priority::ALL[game.chance.below(8)];
        let part = Fragment {
            reliability: Reliability::Reliable,
            priority,
            sn: guest.sn(priority),
            more: true,
            first: at < 8,
            drop: false,
            payload: &[7; 60_000],
        };
        if !game.goes_on() || !guest.fragment(&part) {
            return;
        }
    }
}

/// Closes the connection in the middle of a message.
pub fn closing_early(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut guest) = game.guest() else {
            continue;
        };
        let message = put("attack/whole", &vec![7; 30_000]);
        let part = Fragment {
            reliability: Reliability::Reliable,
            priority: Priority::Data,
            sn: guest.sn(Priority::Data),
            more: true,
            first: true,
            drop: false,
            payload: &message[..message.len() / 2],
        };
        guest.fragment(&part);
        let mut framed = 30_000_u16.to_le_bytes().to_vec();
        framed.extend_from_slice(&message[..game.chance.below(message.len())]);
        guest.raw(&framed);
        if game.chance.one_in(2) {
            guest.reset();
        }
    }
}

/// Sends sequence numbers and key ids that do not fit.
pub fn numbers(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut guest) = game.guest() else {
            continue;
        };
        // keys by ids of any number, under any sequence number
        for _ in 0..100 {
            let expr = WireExpr {
                scope: game.chance.up_to(65_535) as u16,
                suffix: ["", "/x", "attack"][game.chance.below(3)],
                mapping: *game.chance.one_of(&[Mapping::Sender, Mapping::Receiver]),
            };
            let message = declare(Declaration::Subscriber {
                id: 1,
                wire_expr: expr,
            });
            let sn = game
                .chance
                .one_in(2)
                .then(|| game.chance.next() as u32 >> 4);
            if !guest.frame_numbered(&message, sn) || !game.goes_on() {
                break;
            }
        }
        guest.swallow();
    }
}

/// Returns one message on a key id, of any kind.
fn on_id(game: &mut Game<'_>, wire_expr: WireExpr<'_>) -> Vec<u8> {
    let id = game.chance.up_to(100) as u32;
    match game.chance.below(6) {
        0 => declare(Declaration::Subscriber { id, wire_expr }),
        1 => declare(Declaration::Token { id, wire_expr }),
        2 => declare(Declaration::UndeclareKeyExpr {
            id: wire_expr.scope,
        }),
        3 => bytes(&Request::new(id, wire_expr, Query::default())),
        _ => {
            let mut push = Push::new(wire_expr, PushBody::Put(Put::new(b"x")));
            push.qos = *game.chance.one_of(&[Qos::DATA, Qos::REQUEST]);
            bytes(&push)
        }
    }
}

/// Sends messages on key ids that were never declared, are declared later or were undeclared, in
/// every lane and in fragments.
pub fn undeclared_ids(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut guest) = game.guest() else {
            continue;
        };
        for round in 0..200 {
            let priority = Priority::ALL[1 + game.chance.below(7)];
            let mut messages = Vec::new();
            // messages of all kinds on arbitrary ids
            for _ in 0..game.chance.up_to(500) {
                let expr = WireExpr {
                    scope: 1 + game.chance.up_to(65_534) as u16,
                    suffix: ["", "/x", "attack/x"][game.chance.below(3)],
                    mapping: *game.chance.one_of(&[Mapping::Sender, Mapping::Receiver]),
                };
                messages.extend(on_id(game, expr));
            }
            // an id that earlier messages may have used
            if game.chance.one_in(3) {
                let id = 1 + game.chance.up_to(200) as u16;
                messages.extend(key_id(id, &format!("attack/late/{round}")));
            }
            // as a frame, or in fragments
            let is_sent = match game.chance.one_in(10) {
                true => messages.is_empty() || in_parts(&mut guest, &messages, priority),
                false => guest.frame_on(priority, &messages),
            };
            if !is_sent || !game.goes_on() {
                break;
            }
            guest.swallow();
        }
    }
}
