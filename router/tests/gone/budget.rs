// SPDX-License-Identifier: MIT OR Apache-2.0
//! One memory budget for a whole node: whichever neighbour uses it up, the process stays within it,
//! and honest neighbours stay connected.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use zonda_codec::{CongestionControl, Declaration, Priority, Qos, WireExpr};
use zonda_router::node::Node;

use crate::{LONG, address_of, alone, guest::Guest, open, resident, router, until};

const MIB: usize = 1 << 20;
const BUDGET: usize = 64 * MIB;

/// Memory of the process in addition to the budget: its own, the clients of the test, the
/// allocator's reserve.
const BESIDE: usize = 64 * MIB;

fn within_budget() -> Node {
    open(router().with("limits/memory_bytes", &BUDGET.to_string()))
}

/// Repeats `act` for a while, and until the router has closed links because of it; checks the
/// memory at each round.
fn attack(node: &Node, mut act: impl FnMut(SocketAddr)) {
    let address = address_of(node);
    let mut honest = Guest::connect(address);
    assert!(honest.subscribe(1, "honest/*") && honest.is_served());
    let before = resident();
    let begin = Instant::now();
    while node.usage().links_closed < 2 || begin.elapsed() < Duration::from_secs(2) {
        assert!(begin.elapsed() < LONG, "{:?}", node.usage());
        act(address);
        let grown = resident().saturating_sub(before);
        assert!(grown < BUDGET + BESIDE, "{grown} bytes, {:?}", node.usage());
        assert!(honest.keep_alive());
    }
    assert!(honest.is_served(), "it takes little, so it stays");
    let usage = node.usage();
    assert!(usage.peak >= BUDGET / 2, "{usage:?}");
    drop(honest);
    until("all is given back", || {
        let usage = node.usage();
        node.links().is_empty() && usage.held < MIB
    });
}

#[test]
fn unfinished_messages_of_many() {
    let _alone = alone();
    let node = within_budget();
    let mut guests = Vec::new();
    attack(&node, |address| {
        if guests.len() > 30 {
            guests.clear();
        }
        let mut guest = Guest::connect(address);
        guest.half(Priority::Data, 7 * MIB);
        guests.push(guest);
    });
    drop(guests);
}

#[test]
fn keys_of_many_chunks() {
    let _alone = alone();
    let node = within_budget();
    let tail = "/a".repeat(200);
    let (mut number, mut guests) = (0, Vec::new());
    attack(&node, |address| {
        guests.retain_mut(Guest::keep_alive);
        let mut guest = Guest::connect(address);
        for _ in 0..1000 {
            number += 1;
            let key = format!("{number}{tail}");
            let wire_expr = WireExpr::full(&key);
            if !guest.declare(Declaration::Subscriber {
                id: number,
                wire_expr,
            }) {
                break;
            }
        }
        guests.push(guest);
    });
    drop(guests);
}

#[test]
fn large_messages_for_those_who_read_nothing() {
    let _alone = alone();
    let node = within_budget();
    let mut sleepers = Vec::new();
    let mut source = None;
    attack(&node, |address| {
        if sleepers.len() < 12 {
            let mut sleeper = Guest::connect(address);
            assert!(sleeper.subscribe(1, "large") && sleeper.is_served());
            sleepers.push(sleeper);
        }
        let mut publisher = source.take().unwrap_or_else(|| Guest::connect(address));
        for priority in [Priority::DataHigh, Priority::Data, Priority::DataLow] {
            let qos = Qos::new(priority, CongestionControl::Drop, false);
            if !publisher.put_large("large", qos, 3 * MIB) {
                return;
            }
        }
        sleepers.retain_mut(Guest::keep_alive);
        source = Some(publisher);
    });
}

#[test]
fn who_begins_a_message_and_does_not_go_on_loses_the_link() {
    let _alone = alone();
    let node = open(router().with("limits/unfinished_ms", "1000"));
    let mut guest = Guest::connect(address_of(&node));
    assert!(guest.half(Priority::Data, 3 * MIB));
    until("it is known", || node.usage().largest.unfinished >= 3 * MIB);
    let begin = Instant::now();
    // The message may take its time as long as other messages arrive as well.
    while begin.elapsed() < Duration::from_secs(2) {
        assert!(guest.keep_alive() && guest.put_urgent("nothing/like/this"));
        std::thread::yield_now();
    }
    assert_eq!(node.usage().unfinished_closed, 0);
    until("its link is closed, and nothing is kept", || {
        guest.keep_alive();
        let usage = node.usage();
        usage.unfinished_closed == 1 && usage.held < MIB && node.links().is_empty()
    });
}
