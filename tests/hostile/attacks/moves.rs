// SPDX-License-Identifier: MIT OR Apache-2.0
//! The moves of the adversary: each is a hostile thing to do for a short time, with chance in every part of it.
//!
//! A move may do what the protocol forbids and whatever the router has to bear from a stranger. It does not do what
//! honest clients would have to bear from any client by the protocol: it neither publishes on their keys, nor answers
//! their questions, nor declares tokens in their names.

use std::io::Write;
use std::time::{Duration, Instant};

use zonda_codec::{
    Declaration, Fragment, LinkState, LinkStates, Locators, Mapping, Oam, OamBody, Priority, Qos,
    Reliability, ResponseFinal, WhatAmI, WireExpr, ZenohId,
};

use super::chance::Chance;
use super::words::{
    declare, drop_put, interest, key_id, narrow, no_subscriber, put, queryable, request,
    subscriber, token,
};
use crate::hand::{Hand, bytes};
use crate::roles::Stage;

/// What a move has.
pub struct Game<'a> {
    pub stage: &'a Stage,
    pub chance: Chance,
    /// The move ends then.
    pub end: Instant,
    /// Ids of honest clients.
    pub ids: &'a [ZenohId],
}

pub type Move = fn(&mut Game<'_>);

/// All moves by name.
pub const MOVES: &[(&str, Move)] = &[
    ("noise", noise),
    ("spellings", spellings),
    ("frozen", frozen),
    ("slow", slow),
    ("churn", churn),
    ("wild keys", wild_keys),
    ("half messages", half_messages),
    ("huge messages", huge_messages),
    ("lying lengths", lying_lengths),
    ("handshakes", handshakes),
    ("squatting", squatting),
    ("tiny batches", tiny_batches),
    ("long leases", long_leases),
    ("questions without end", questions_without_end),
    ("answers to nobody", answers_to_nobody),
    ("gossip", gossip),
    ("storm", storm),
    ("closing early", closing_early),
    ("interests", interests),
    ("numbers", numbers),
    ("unfinished", unfinished),
    ("leaving much behind", leaving_much_behind),
];

impl Game<'_> {
    fn goes_on(&self) -> bool {
        Instant::now() < self.end && !self.stage.is_over()
    }

    /// Waits for a while by chance; tells whether the move goes on.
    fn dawdles(&mut self, ms_max: usize) -> bool {
        let pause = Duration::from_millis(self.chance.up_to(ms_max) as u64);
        !self.stage.pause(pause) && self.goes_on()
    }

    /// A stranger from an address of its own kind.
    fn visitor(&mut self) -> Option<Hand> {
        let from = *self
            .chance
            .one_of(&["127.0.0.1", "127.66.0.1", "127.66.0.2", "127.77.7.7"]);
        let hand = self.stage.visitor_from(from)?;
        hand.stream
            .set_read_timeout(Some(Duration::from_secs(2)))
            .ok()?;
        hand.stream
            .set_write_timeout(Some(Duration::from_millis(500)))
            .ok()?;
        Some(hand)
    }

    /// A guest that was let in.
    fn guest(&mut self) -> Option<Hand> {
        let mut hand = self.visitor()?;
        hand.is_let_in().then_some(hand)
    }

    fn key(&mut self) -> String {
        let number = self.chance.up_to(1000);
        match self.chance.below(8) {
            0 => "attack/**".to_owned(),
            1 => format!("attack/*/{number}"),
            2 => format!("**/attack{number}/**"),
            3 => format!("attack/{number}/$*x/**"),
            4 => format!("attack/{}", vec!["a"; number / 8 + 1].join("/")),
            5 => format!("attack/{}", "k".repeat(number * 16 + 1)),
            _ => format!("attack/{number}"),
        }
    }

    /// One proper message of any kind.
    fn message(&mut self) -> Vec<u8> {
        let key = self.key();
        let id = self.chance.up_to(500) as u32;
        let payload = {
            let length = self.chance.up_to(4000);
            self.chance.bytes(length)
        };
        match self.chance.below(12) {
            0 => subscriber(id, &key),
            1 => no_subscriber(id),
            2 => queryable(id, &format!("attack/{id}")),
            3 => token(id, &key),
            4 => key_id(id as u16 + 1, &key),
            5 => interest(id, &key, id.is_multiple_of(2)),
            6 => request(id, &key),
            7 => bytes(&ResponseFinal {
                rid: id,
                qos: Qos::REQUEST,
                timestamp: None,
            }),
            8 => declare(Declaration::UndeclareQueryable { id, key: None }),
            9 => put(&key, &payload),
            _ => drop_put(&key, &payload),
        }
    }
}

/// Bytes by chance in the place of messages, frames or batches.
fn noise(game: &mut Game<'_>) {
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

/// Proper messages in other spellings: padded, cut, with bytes changed, several alike in a row.
fn spellings(game: &mut Game<'_>) {
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
                    // a length at the end that is longer than it has to be
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

/// Subscribes to what honest ones publish and never reads.
fn frozen(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut guest) = game.guest() else {
            continue;
        };
        narrow(&guest);
        let key = *game.chance.one_of(&["honest/**", "honest/usual/*", "**"]);
        guest.frame(&subscriber(1, key));
        while game.dawdles(200) && guest.is_kept_alive() {}
    }
}

/// The same, reading a little.
fn slow(game: &mut Game<'_>) {
    use std::io::Read;
    let Some(mut guest) = game.guest() else {
        return;
    };
    narrow(&guest);
    guest.frame(&subscriber(1, "honest/**"));
    let piece = game.chance.up_to(100_000) + 1;
    let mut buffer = vec![0; piece];
    while game.dawdles(50) && guest.is_kept_alive() {
        let _ = guest.stream.read(&mut buffer);
    }
}

/// Declares and undeclares everything.
fn churn(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    while game.goes_on() {
        let messages: Vec<Vec<u8>> = (0..200).map(|_| game.message()).collect();
        if !guest.messages(messages.into_iter().filter(|m| m.len() < 60_000)) {
            return;
        }
        guest.swallow();
    }
}

/// Keys with as many chunks and wildcards as fit, each against all others.
fn wild_keys(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    let chunks = [20, 60, 120, 250, 1000, 8000][game.chance.below(6)];
    let part = *game
        .chance
        .one_of(&["**/a", "*/**", "a/**/$*b$*", "$*a/**", "a"]);
    let chain = vec![part; chunks / part.split('/').count()].join("/");
    for number in 0.. {
        let key = format!("**/attack{number}/{chain}/x{}", game.chance.below(3));
        let message = match number % 3 {
            0 => subscriber(number, &key),
            1 => put(&key, b"x"),
            _ => request(number, &key),
        };
        if !game.goes_on() || !guest.frame(&message) {
            return;
        }
        guest.swallow();
    }
}

/// A length, and only a part of what it promises.
fn half_messages(game: &mut Game<'_>) {
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

/// Messages of megabytes to oneself, who does not always read.
fn huge_messages(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    guest.frame(&subscriber(1, "attack/huge"));
    let reads = game.chance.one_in(2);
    while game.goes_on() {
        let length = game.chance.up_to(16 << 20);
        let message = put("attack/huge", &vec![7; length]);
        let priority = Priority::ALL[1 + game.chance.below(7)];
        let pieces = message.chunks(60_000).count();
        for (at, piece) in message.chunks(60_000).enumerate() {
            let part = Fragment {
                reliability: Reliability::Reliable,
                priority,
                sn: guest.sn(priority),
                more: at + 1 < pieces,
                first: at == 0,
                drop: false,
                payload: piece,
            };
            if !guest.fragment(&part) || !game.goes_on() {
                return;
            }
            if reads {
                guest.swallow();
            }
        }
    }
}

/// Lengths of keys, payloads and extensions that are not there.
fn lying_lengths(game: &mut Game<'_>) {
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

/// Introductions that are begun, repeated, disturbed or left.
fn handshakes(game: &mut Game<'_>) {
    let mut held = std::collections::VecDeque::new();
    while game.goes_on() {
        let Some(mut hand) = game.visitor() else {
            continue;
        };
        match game.chance.below(5) {
            0 => {}
            1 => {
                let length = game.chance.up_to(200);
                let noise = game.chance.bytes(length);
                hand.send(&noise);
            }
            2 => hand.begin_introduction(),
            3 => {
                for _ in 0..game.chance.below(10) {
                    hand.begin_introduction();
                }
            }
            _ => {
                hand.parameters.qos = game.chance.one_in(2);
                hand.parameters.patch = game.chance.next() as u8;
                hand.is_let_in();
            }
        }
        held.push_back(hand);
        if held.len() > 200 {
            held.pop_front();
        }
    }
}

/// Comes under an id that another one has.
fn squatting(game: &mut Game<'_>) {
    let own = ZenohId::random_from(u128::from(game.chance.next()));
    let mut held = Vec::new();
    while game.dawdles(30) {
        let Some(mut hand) = game.visitor() else {
            continue;
        };
        hand.parameters.zid = match game.ids {
            [] => own,
            ids => *game.chance.one_of(ids),
        };
        if game.chance.one_in(2) {
            hand.parameters.zid = own;
        }
        hand.parameters.whatami = *game.chance.one_of(&[WhatAmI::Client, WhatAmI::Peer]);
        if hand.is_let_in() {
            held.push(hand);
            held.truncate(50);
        }
    }
}

/// Batches as small as the router lets them be.
fn tiny_batches(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut hand) = game.visitor() else {
            continue;
        };
        hand.parameters.batch_size = game.chance.up_to(4000) as u16;
        if !hand.is_let_in() {
            continue;
        }
        hand.frame(&subscriber(1, "honest/**"));
        while game.goes_on() && hand.is_kept_alive() && !game.chance.one_in(200) {
            hand.swallow();
            game.dawdles(2);
        }
    }
}

/// Leases of any length, with nothing said afterwards.
fn long_leases(game: &mut Game<'_>) {
    let mut held = Vec::new();
    while game.dawdles(10) && held.len() < 300 {
        let Some(mut hand) = game.visitor() else {
            continue;
        };
        hand.parameters.lease = Duration::from_millis(game.chance.up_to(1 << 36) as u64);
        if hand.is_let_in() {
            hand.frame(&subscriber(1, "attack/**"));
            held.push(hand);
        }
    }
    while game.dawdles(100) {}
}

/// Questions to oneself, who never answers.
fn questions_without_end(game: &mut Game<'_>) {
    let Some(mut answering) = game.guest() else {
        return;
    };
    answering.frame(&queryable(1, "attack/silent"));
    let Some(mut asking) = game.guest() else {
        return;
    };
    for rid in 0.. {
        let messages = (0..50).map(|n| request(rid * 50 + n, "attack/silent"));
        if !game.goes_on() || !asking.messages(messages) {
            return;
        }
        asking.swallow();
        if game.chance.one_in(3) {
            answering.swallow();
        }
    }
}

/// Answers and ends of questions that nobody asked.
fn answers_to_nobody(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    while game.goes_on() {
        let ends = (0..100).map(|_| {
            bytes(&ResponseFinal {
                rid: game.chance.up_to(u32::MAX as usize) as u32,
                qos: Qos::REQUEST,
                timestamp: None,
            })
        });
        let ends: Vec<Vec<u8>> = ends.collect();
        if !guest.messages(ends) {
            return;
        }
        guest.swallow();
    }
}

/// Tells of nodes that do not exist, as a client, a peer or a router.
fn gossip(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut hand) = game.visitor() else {
            continue;
        };
        hand.parameters.whatami =
            *game
                .chance
                .one_of(&[WhatAmI::Client, WhatAmI::Peer, WhatAmI::Router]);
        if !hand.is_let_in() {
            continue;
        }
        for _ in 0..20 {
            // a port where nobody listens, on an address of this machine
            let port = 1 + game.chance.below(100);
            let text = format!("tcp/127.99.0.1:{port}");
            let texts = [text.as_str()];
            let state = |chance: &mut Chance| LinkState {
                psid: chance.up_to(1 << 20) as u64,
                sn: chance.up_to(1 << 20) as u64,
                zid: Some(ZenohId::random_from(u128::from(chance.next()))),
                whatami: Some(WhatAmI::Peer),
                locators: Some(Locators::new(&texts)),
                ..LinkState::default()
            };
            let count = game.chance.up_to(200);
            let states: Vec<LinkState<'_>> = (0..count).map(|_| state(&mut game.chance)).collect();
            let body = bytes(&LinkStates(&states));
            hand.frame(&bytes(&Oam {
                id: Oam::LINK_STATE,
                qos: Qos::DECLARE,
                timestamp: None,
                body: OamBody::Buf(&body),
            }));
            if !game.dawdles(50) {
                return;
            }
        }
    }
}

/// Comes, subscribes and goes, again and again.
fn storm(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut guest) = game.guest() else {
            continue;
        };
        for _ in 0..game.chance.below(20) {
            let message = game.message();
            guest.frame(&message);
        }
        match game.chance.below(3) {
            0 => guest.reset(),
            1 => guest.send(&[0x03, 0x00]),
            _ => drop(guest),
        }
    }
}

/// Goes in the middle of a message.
fn closing_early(game: &mut Game<'_>) {
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

/// Interests in everything, one declaration for all, asked again and again.
fn interests(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    let Some(mut other) = game.guest() else {
        return;
    };
    for id in 0.. {
        let (key, aggregate) = (game.key(), game.chance.one_in(2));
        let asked = guest.frame(&interest(id, &key, aggregate));
        let told = other.frame(&subscriber(id % 50, &key)) && other.frame(&no_subscriber(id % 50));
        if !game.goes_on() || !asked || !told {
            return;
        }
        other.swallow();
        if !game.chance.one_in(20) {
            guest.swallow();
        }
    }
}

/// Sequence numbers and key ids that do not fit.
fn numbers(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut guest) = game.guest() else {
            continue;
        };
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

/// Long messages that are begun on every priority and never ended.
fn unfinished(game: &mut Game<'_>) {
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

/// Has much sent to itself under Drop, does not read it, and goes.
fn leaving_much_behind(game: &mut Game<'_>) {
    let Some(mut publisher) = game.guest() else {
        return;
    };
    while game.goes_on() {
        let Some(mut guest) = game.guest() else {
            continue;
        };
        narrow(&guest);
        guest.frame(&subscriber(1, "attack/much"));
        let length = game.chance.up_to(50_000);
        let message = drop_put("attack/much", &vec![7; length]);
        for _ in 0..100 {
            if !publisher.frame(&message) || !game.goes_on() {
                return;
            }
        }
        let _ = guest.stream.flush();
    }
}
