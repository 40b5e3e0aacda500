// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random clients that come and leave: afterwards the node has the state of a fresh one with the
//! same neighbours.
//!
//! `ZONDA_SEED` replays one seed, `ZONDA_SEEDS` sets how many are tried.

use std::net::SocketAddr;

use zonda_codec::{CongestionControl, Declaration, Mapping, Priority, Qos, WireExpr};
use zonda_router::node::{Node, Usage};

use crate::{address_of, alone, descriptors, guest::Guest, open, router, until};

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn key(&mut self) -> String {
        let keys = ["a", "a/b", "a/*", "**", "b/$*", "@v/a"];
        let key = keys[self.below(keys.len() as u64) as usize];
        match self.below(3) {
            0 => format!("{key}/{}", "long/".repeat(40) + "end"),
            1 => format!("{key}/{}", self.below(50)),
            _ => key.to_owned(),
        }
    }

    fn qos(&mut self) -> Qos {
        let priorities = [Priority::RealTime, Priority::Data, Priority::Background];
        let control = match self.below(2) {
            0 => CongestionControl::Drop,
            _ => CongestionControl::Block,
        };
        let priority = priorities[self.below(3) as usize];
        Qos::new(priority, control, self.below(4) == 0)
    }
}

/// Makes one step of a client; returns false if the client must not be used any more.
fn step(guest: &mut Guest, random: &mut Random) -> bool {
    let key = random.key();
    let wire_expr = WireExpr::full(&key);
    let id = random.below(30) as u32 + 1;
    match random.below(16) {
        0..=2 => guest.declare(Declaration::Subscriber { id, wire_expr }),
        3 => guest.declare(Declaration::Token { id, wire_expr }),
        4 => {
            let info = Default::default();
            guest.declare(Declaration::Queryable {
                id,
                wire_expr,
                info,
            })
        }
        5 | 6 => guest.declare(Declaration::KeyExpr {
            id: id as u16,
            wire_expr,
        }),
        7 => guest.declare(Declaration::UndeclareSubscriber { id, key: None }),
        8..=10 => {
            let by_id = WireExpr {
                scope: id as u16,
                suffix: "",
                mapping: Mapping::Sender,
            };
            let size = [8, 2000, 20_000][random.below(3) as usize];
            guest.put([by_id, wire_expr], random.qos(), &vec![1; size])
        }
        11 => guest.put_large(&key, random.qos(), 300_000),
        12 => {
            let priority = random.qos().priority();
            guest.half(priority, random.below(2_000_000) as usize + 1)
        }
        13 => guest.ask(&key),
        14 => guest.read_some(),
        _ => false,
    }
}

/// The neighbours that stay: a publisher that uses its key ids, and a subscriber to all keys.
fn residents(address: SocketAddr) -> [Guest; 2] {
    let mut publisher = Guest::connect(address);
    for id in 1..=20_u16 {
        let key = format!("stays/{id}");
        let wire_expr = WireExpr::full(&key);
        assert!(publisher.declare(Declaration::KeyExpr { id, wire_expr }));
    }
    let mut subscriber = Guest::connect(address);
    assert!(subscriber.subscribe(1, "stays/**") && subscriber.is_served());
    [publisher, subscriber]
}

/// Publishes on every route of the publisher that stays.
fn publish(residents: &mut [Guest; 2]) {
    let [publisher, subscriber] = residents;
    for scope in 1..=20 {
        let key = WireExpr {
            scope,
            suffix: "",
            mapping: Mapping::Sender,
        };
        assert!(publisher.put([key], Qos::DATA, b"x") && subscriber.gets_a_push());
    }
}

fn disturb(address: SocketAddr, residents: &mut [Guest; 2], random: &mut Random) {
    let mut guests: Vec<Guest> = Vec::new();
    for _ in 0..random.below(300) + 100 {
        if guests.len() < 2 || (guests.len() < 12 && random.below(6) == 0) {
            guests.push(Guest::connect(address));
        }
        let at = random.below(guests.len() as u64) as usize;
        if !step(&mut guests[at], random) {
            guests.swap_remove(at);
        }
        if random.below(20) == 0 {
            publish(residents);
        }
        assert!(residents.iter_mut().all(Guest::keep_alive));
    }
}

/// State that must equal that of a fresh node.
fn measure(node: &Node) -> (usize, usize, Usage) {
    let links = node.links();
    let counts = links.iter().flat_map(|link| &link.priorities);
    let queued = counts.map(|counts| counts.queued_bytes).sum();
    (descriptors(), queued, node.usage())
}

fn is_as_fresh(now: (usize, usize, Usage), fresh: (usize, usize, Usage)) -> bool {
    // Buffers and blocks shrink once only keep-alives arrive, so they may differ a little.
    let near = |now: usize, fresh: usize| now <= fresh + (2 << 20);
    let (usage, other) = (now.2, fresh.2);
    (now.0, now.1) == (fresh.0, fresh.1)
        && (usage.routes, usage.largest) == (other.routes, other.largest)
        // Keys of cached routes are evicted one by one, when further routes are cached.
        && usage.tables <= other.tables + 16 * 1024
        && near(usage.received, other.received)
        && near(usage.queues, other.queues)
}

fn run(seed: u64) {
    let mut random = Random(seed);
    let node = open(router());
    let address = address_of(&node);
    let mut staying = residents(address);
    publish(&mut staying);
    until("all is said", || node.links().len() == 2);
    let fresh = measure(&node);
    for round in 0..2 {
        disturb(address, &mut staying, &mut random);
        until("only those are left who stay", || node.links().len() == 2);
        publish(&mut staying);
        until("what is held is what a fresh node holds", || {
            assert!(staying.iter_mut().all(Guest::keep_alive));
            let now = measure(&node);
            let same = is_as_fresh(now, fresh);
            if !same && std::env::var_os("ZONDA_SHOW").is_some() {
                eprintln!("seed {seed} round {round}: {now:?}\ninstead of {fresh:?}");
            }
            same
        });
    }
}

#[test]
fn after_comings_and_goings_a_node_holds_what_a_fresh_one_does() {
    let _alone = alone();
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seeds = match number("ZONDA_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..number("ZONDA_SEEDS").unwrap_or(4) + 1,
    };
    for seed in seeds {
        println!("seed {seed} (ZONDA_SEED={seed} replays it)");
        run(seed);
    }
}
