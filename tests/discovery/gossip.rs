// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gossip and autoconnect over loopback: nodes with a common neighbour find each other, and data still comes once.

use zonda::config::Strategy;
use zonda::qos::CongestionControl;
use zonda::{Config, Session, Wait};

use crate::scene::{Tally, are_linked, endpoint, linked, open, peer, router, told, until};

/// Returns the configuration of a peer that connects to `other` only.
fn beside(other: &Session) -> Config {
    told(peer()).connect([endpoint(other)])
}

/// Returns the configuration of a peer that does not connect to nodes that it learns of by gossip.
fn staying(other: &Session) -> Config {
    beside(other).with("scouting/gossip/autoconnect", "[]")
}

#[test]
fn peers_of_one_router_find_each_other_and_data_comes_once() {
    let router = open(told(router()));
    let one = open(beside(&router));
    let tally_there = Tally::of(&one, "all");
    let probe = open(told(Config::client([endpoint(&router)])));
    let probing = probe.declare_publisher("all").wait().expect("it is open");
    until("the router knows the subscriber", || {
        let status = probing.matching_status().wait().unwrap();
        status.matching()
    });
    let other = open(beside(&router));
    let tally_here = Tally::of(&other, "all");
    let publisher = other.declare_publisher("all");
    let publisher = publisher.congestion_control(CongestionControl::Block);
    let publisher = publisher.wait().expect("it is open");
    // from before the link until after it, without a pause
    let mut number = 0u64;
    until("the two are linked", || {
        let put = publisher.put(number.to_le_bytes().to_vec());
        put.wait().expect("it is open");
        number += 1;
        are_linked(&one, &other)
    });
    for _ in 0..1000 {
        let put = publisher.put(number.to_le_bytes().to_vec());
        put.wait().expect("it is open");
        number += 1;
    }
    tally_here.await_count(number);
    tally_there.await_count(number);
    // a second copy would have come by now: the router got it before
    let mut numbers = tally_there.numbers();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len() as u64, number, "each came");
    assert_eq!(
        tally_there.numbers().len() as u64,
        number,
        "none came twice"
    );
    assert_eq!(linked(&one).len(), 2);
}

#[test]
fn peers_of_one_peer_find_each_other() {
    let middle = open(told(peer()));
    let peers: Vec<Session> = (0..6).map(|_| open(beside(&middle))).collect();
    for (at, one) in peers.iter().enumerate() {
        for other in peers.iter().skip(at + 1) {
            until("all are linked", || are_linked(one, other));
        }
    }
    for peer in &peers {
        until("one link each", || peer.info().links().len() == peers.len());
    }
    // no peer continues to dial
    let attempts: u64 = peers
        .iter()
        .map(|peer| peer.info().discovery().candidates.attempts)
        .sum();
    assert!(attempts <= 100, "{attempts} attempts for 15 links");
}

#[test]
fn a_link_of_gossip_that_breaks_comes_back() {
    let router = open(told(router()));
    let one = open(beside(&router));
    let config = || beside(&router).with("id", "'b7'");
    let other = open(config());
    until("the two are linked", || are_linked(&one, &other));
    other.close().wait().expect("it closes");
    until("it is gone", || linked(&one).len() == 1);
    let again = open(config());
    until("the two are linked again", || are_linked(&one, &again));
}

#[test]
fn whoever_does_not_connect_by_itself_is_connected_to() {
    let router = open(told(router()));
    let still = open(staying(&router));
    let second = open(staying(&router));
    let eager = open(beside(&router));
    until("the eager one has both", || linked(&eager).len() == 3);
    assert!(!are_linked(&still, &second));
    assert_eq!(still.info().discovery().candidates.attempts, 0);
    assert_eq!(linked(&router).len(), 3, "and the router all three");
    assert_eq!(router.info().discovery().candidates.attempts, 0);
}

#[test]
fn of_two_ids_the_greater_connects() {
    let router = open(told(router()));
    let strategy = "{peer: {to_router: 'always', to_peer: 'greater-zid'}}";
    let config = |id: &str| {
        let config = beside(&router).with("id", &format!("'{id}'"));
        config.with("scouting/gossip/autoconnect_strategy", strategy)
    };
    assert_eq!(
        config("1").settings().gossip().autoconnect.to_peer,
        Strategy::GreaterZid
    );
    let sessions = ["100", "2", "7"].map(|id| open(config(id)));
    for (at, one) in sessions.iter().enumerate() {
        for other in sessions.iter().skip(at + 1) {
            until("all are linked", || are_linked(one, other));
        }
    }
    let attempts = sessions.map(|s| (s.zid(), s.info().discovery().candidates.attempts));
    let mut attempts: Vec<_> = attempts.into_iter().collect();
    attempts.sort_unstable();
    let attempts: Vec<u64> = attempts.into_iter().map(|(_, attempts)| attempts).collect();
    assert_eq!(attempts, [0, 1, 2]);
}

#[test]
fn without_gossip_a_router_stays_between() {
    let router = open(told(router()));
    let off = |config: Config| config.with("scouting/gossip/enabled", "false");
    let one = open(off(beside(&router)));
    let other = open(off(beside(&router)));
    let tally = Tally::of(&one, "all");
    let publisher = other.declare_publisher("all").wait().expect("it is open");
    until("it is matched", || {
        let status = publisher.matching_status().wait().unwrap();
        status.matching()
    });
    publisher
        .put(0u64.to_le_bytes().to_vec())
        .wait()
        .expect("it is open");
    tally.await_count(1);
    assert!(!are_linked(&one, &other));
    assert_eq!(one.info().discovery().gossip, Default::default());
}

#[test]
fn news_go_one_hop_or_many() {
    for (multihop, reached) in [("false", false), ("true", true)] {
        let config = |config: Config| {
            config
                .with("scouting/gossip/multihop", multihop)
                .with("scouting/gossip/autoconnect", "[]")
        };
        // a chain of four, of which the last one subscribes to the first one's messages
        let first = open(config(told(peer())));
        let second = open(config(beside(&first)));
        let third = open(config(beside(&second)));
        let last = config(beside(&third));
        let last = open(last.with("scouting/gossip/autoconnect", "['peer']"));
        until("the last has the second", || are_linked(&second, &last));
        if reached {
            until("the last has the first", || are_linked(&first, &last));
        }
    }
}
