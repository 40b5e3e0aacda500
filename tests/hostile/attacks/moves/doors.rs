// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attacks on admission: handshakes, ids, leases, web pages, and gossip of other nodes.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use zonda_codec::{LinkState, Locators, WhatAmI, ZenohId};
use zonda_transport::framing::frame;
use zonda_transport::protocol::handshake::Opener;

use super::Game;
use crate::attacks::chance::Chance;
use crate::attacks::words::{link_states, subscriber};
use crate::hand::Hand;

/// Begins handshakes, repeats, disturbs or leaves them.
pub fn handshakes(game: &mut Game<'_>) {
    let mut held = VecDeque::new();
    while game.goes_on() {
        let Some(mut hand) = game.visitor() else {
            continue;
        };
        // Silence, noise, one InitSyn, several, or a whole handshake.
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
        // Connections stay open until newer ones replace them.
        held.push_back(hand);
        if held.len() > 200 {
            held.pop_front();
        }
    }
}

/// Connects under the id of another node.
pub fn squatting(game: &mut Game<'_>) {
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

/// Connects with the smallest batches that the router accepts.
pub fn tiny_batches(game: &mut Game<'_>) {
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

/// Opens sessions with leases of any length, and sends nothing afterwards.
pub fn long_leases(game: &mut Game<'_>) {
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

/// Connects, subscribes and leaves, again and again.
pub fn storm(game: &mut Game<'_>) {
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

/// Sends gossip of nodes that do not exist, as a client, a peer or a router.
pub fn gossip(game: &mut Game<'_>) {
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
            // A free port, on an address of this machine.
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
            hand.frame(&link_states(&states));
            if !game.dawdles(50) {
                return;
            }
        }
    }
}

/// Sends handshakes byte by byte, many at once, and does not read the answers for a while.
pub fn slow_logins(game: &mut Game<'_>) {
    let mut begun: VecDeque<(Hand, Vec<u8>)> = VecDeque::new();
    while game.dawdles(20) {
        // New connections, some with whole but slow handshakes.
        for _ in 0..game.chance.below(8) {
            let Some(mut hand) = game.visitor() else {
                break;
            };
            if game.chance.one_in(8) {
                hand.delay = Duration::from_millis(game.chance.up_to(1000) as u64);
                hand.is_let_in();
                continue;
            }
            let (mut batch, mut word) = (Vec::new(), Vec::new());
            Opener::new(hand.parameters.clone(), None).start(&mut batch);
            frame(&batch, &mut word);
            begun.push_back((hand, word));
        }
        // One byte more of each handshake.
        for (hand, word) in &mut begun {
            if !word.is_empty() {
                hand.try_raw(&[word.remove(0)]);
            }
        }
        while begun.len() > 150 {
            begun.pop_front();
        }
    }
}

/// Returns the opening of a WebSocket by a page of any origin, whole or in part.
fn upgrade(chance: &mut Chance, host: &str) -> Vec<u8> {
    let length = chance.up_to(8000);
    let page = |host: &str| ["http:", "", host].join("/");
    // An origin, or several, or a huge one.
    let origin = match chance.below(6) {
        0 => String::new(),
        1 => format!("Origin: {}\r\n", page(host)),
        2 => "Origin: http://evil.example\r\nOrigin: null\r\n".to_owned(),
        3 => format!("Origin: {}\r\n", page(&"a".repeat(length))),
        4 => "Origin: null\r\n".to_owned(),
        _ => "Origin: http://localhost.evil.example\r\n".to_owned(),
    };
    let mut head = format!(
        "GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n{origin}\r\n"
    )
    .into_bytes();
    // Cut or damaged in some cases.
    match chance.below(4) {
        0 => head.truncate(chance.below(head.len())),
        1 => {
            let at = chance.below(head.len());
            head[at] = chance.next() as u8;
        }
        _ => {}
    }
    head
}

/// Returns bytes that begin like a frame of WebSocket: any opcode, masked or not, of any length.
fn web_frame(chance: &mut Chance) -> Vec<u8> {
    let length = chance.up_to(3000);
    let opcodes = [0x82, 0x02, 0x00, 0x80, 0x81, 0x88, 0x89, 0x8a, 0xf2];
    let mut frame = vec![*chance.one_of(&opcodes)];
    let mask = if chance.one_in(4) { 0 } else { 0x80 };
    match chance.below(4) {
        0 => {
            frame.push(mask | 127);
            frame.extend(chance.next().to_be_bytes());
        }
        1 => frame.push(mask | chance.below(126) as u8),
        _ => {
            frame.push(mask | 126);
            frame.extend((length as u16).to_be_bytes());
        }
    }
    frame.extend(chance.bytes(length + 4));
    frame
}

/// Opens WebSockets as web pages do, refused or not, and sends random frames.
pub fn web_pages(game: &mut Game<'_>) {
    let place = game.field.web;
    let mut held = VecDeque::new();
    while game.dawdles(10) {
        let Ok(mut page) = TcpStream::connect(place) else {
            continue;
        };
        let is_set = page.set_nonblocking(true).is_ok();
        let mut buffer = [0; 4096];
        for number in 0..game.chance.below(12) {
            let part = match number {
                0 => upgrade(&mut game.chance, &place.to_string()),
                _ => web_frame(&mut game.chance),
            };
            // The router may have closed the connection, or reads no more.
            if page.write_all(&part).is_err() || !game.dawdles(3) {
                break;
            }
            let _ = page.read(&mut buffer);
        }
        if is_set && game.chance.one_in(2) {
            held.push_back(page);
        }
        if held.len() > 50 {
            held.pop_front();
        }
    }
}
