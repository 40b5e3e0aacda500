// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resource exhaustion by unknown peers: they take all places, all handshakes, the id of another
//! node; they make peers dial other addresses, and they make the router log.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zonda_codec::{LinkState, Locators, WhatAmI, ZenohId};

use super::words::{drop_put, keep_alive, link_states, read_beside};
use crate::roles::Stage;
use crate::world::{Bounds, Flow, Load, Setup, World, seconds};

/// Another address of this machine: limits by address then apply apart from honest clients.
const ELSEWHERE: &str = "127.66.0.1";

/// Opens as many sessions as the argument says, each with a lease of a year, and then sends nothing
/// more.
pub fn sessions_for_a_year(stage: &Stage) {
    let mut guests = Vec::new();
    let mut refused = 0;
    for _ in 0..stage.number(1000) {
        let Some(mut guest) = stage.visitor_from(ELSEWHERE) else {
            refused += 1;
            continue;
        };
        guest.parameters.lease = Duration::from_secs(365 * 24 * 3600);
        if guest.is_let_in() {
            guests.push(guest);
        } else {
            refused += 1;
        }
    }
    stage.say(&format!("attacking, {refused} refused"));
    stage.wait();
}

/// Opens silent connections, as many as one thread can; the newest thousand stay open.
pub fn silent_connections(stage: &Stage) {
    let mut open = std::collections::VecDeque::new();
    stage.say("attacking");
    stage.while_on(|| {
        open.extend(stage.visitor_from(ELSEWHERE));
        if open.len() > 600 {
            open.pop_front();
        }
        true
    });
}

/// Connects again and again as a client with a long way to the router. The argument is the delay in
/// milliseconds of each of its two batches; reports how often it connected and how often it was
/// admitted.
pub fn client_far_away(stage: &Stage) {
    let delay = Duration::from_millis(stage.number(100));
    let (mut came, mut let_in) = (0, 0);
    for _ in 0..10 {
        let mut hand = stage.visitor();
        hand.delay = delay;
        came += 1;
        let_in += u64::from(hand.is_let_in());
    }
    stage.say(&format!("let in {let_in} of {came}"));
}

/// Announces many peers by gossip that all share one address; counts the connections to it.
pub fn gossip_of_many(stage: &Stage) {
    // the common address, which counts connections
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let place = listener.local_addr().expect("bound").to_string();
    let dialled = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&dialled);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            count.fetch_add(1, Ordering::Relaxed);
            drop(stream);
        }
    });
    // the gossip, as a peer would send it
    let mut guest = stage.visitor();
    guest.parameters.whatami = WhatAmI::Peer;
    guest.introduce();
    read_beside(stage, &guest);
    keep_alive(stage, &guest);
    let locator = format!("tcp/{place}");
    let texts = [locator.as_str(), locator.as_str()];
    let locators = Locators::new(&texts);
    let states: Vec<LinkState<'_>> = (0..200_u64)
        .map(|number| LinkState {
            psid: number + 10,
            sn: 1,
            zid: Some(ZenohId::random_from(u128::from(number) + 77_777)),
            whatami: Some(WhatAmI::Peer),
            locators: Some(locators),
            ..LinkState::default()
        })
        .collect();
    let gossip = link_states(&states);
    guest.frame(&gossip);
    // the number of connections after the time of the argument
    stage.say("attacking");
    stage.pause(seconds(stage.number(5) as f64));
    stage.say(&format!("dialled {}", dialled.load(Ordering::Relaxed)));
    stage.wait();
}

/// Opens connections that cause a log line, with text of the attacker's choice.
pub fn noisy_strangers(stage: &Stage) {
    stage.say("attacking");
    let mut number = 0_u64;
    stage.while_on(|| {
        number += 1;
        let Some(mut hand) = stage.visitor_from(ELSEWHERE) else {
            return true;
        };
        match number % 4 {
            0 => hand.raw(b"GET / HTTP/1.1\r\nHost: a.line.of.the.strangers.choice\r\n\r\n"),
            1 => {
                hand.parameters.resolution = zonda_codec::Resolution::from_bits(0);
                let _ = hand.try_introduce();
            }
            2 => {
                // the key is invalid: the router logs it, once for each connection
                let text = format!("attack//a-line-of-the-strangers-choice/{number}");
                if hand.is_let_in() {
                    hand.frame(&drop_put(&text, b"x"));
                    hand.is_served();
                    return true;
                }
            }
            _ => {
                if hand.is_let_in() {
                    hand.send(&[0x1f; 90]);
                }
            }
        }
        // the router ends it; the attacker does not wait longer than needed
        let _ = hand
            .stream
            .set_read_timeout(Some(Duration::from_millis(50)));
        hand.is_hung_up_on();
        true
    });
}

#[test]
fn s12_sessions_for_a_year() {
    let mut world = World::open(Setup::router());
    world.honest(Load::usual());
    world.quiet(seconds(1.0));
    let attack = world.attack("sessions_for_a_year", "");
    attack.said("attacking");
    let begin = Instant::now();
    world.honest(Load::of("late", vec![Flow::block(8, 100)]));
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "late: {:?}",
        begin.elapsed()
    );
    world.attacked(seconds(1.0));
    world.verdict().holds(&Bounds::USUAL);
}

#[test]
fn s13_silent_connections() {
    let mut world = World::open(Setup::router());
    world.honest(Load::usual());
    world.quiet(seconds(1.0));
    let attack = world.attack("silent_connections", "");
    attack.said("attacking");
    let client = world.attack("client_far_away", "100");
    world.attacked(seconds(3.0));
    assert_eq!(client.said("let in "), "10 of 10");
    world.verdict().holds(&Bounds::USUAL);
}

#[test]
fn s15_gossip_of_many() {
    let load = Load::of("load", vec![Flow::block(1000, 500)]);
    let mut world = World::of_peers(load);
    world.quiet(seconds(1.0));
    let attack = world.attack("gossip_of_many", "5");
    attack.said("attacking");
    world.attacked(seconds(4.0));
    let dialled: u64 = attack.said("dialled ").parse().expect("a number");
    assert!(
        dialled <= 100,
        "{dialled} connections to one address that a stranger chose"
    );
    world.verdict().holds(&Bounds::USUAL);
}

#[test]
fn s22_noisy_strangers() {
    let mut world = World::open(Setup::router());
    world.honest(Load::usual());
    world.quiet(seconds(1.0));
    let attack = world.attack("noisy_strangers", "");
    attack.said("attacking");
    world.attacked(seconds(3.0));
    world.verdict().holds(&Bounds::USUAL);
}
