// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gossip between the implementations: peers that know a common router or peer find each other, and
//! messages between them then come once. In networks of the tests' own: the reference does not
//! announce addresses on loopback.

use zonda::config::WhatAmI;

use crate::environment::{of_release, python, release};
use crate::message::Service;
use crate::namespace::{ADDRESS, Network, inside};
use crate::party::{Count, Party, Setup};
use crate::router::Router;
use crate::wait::until;

#[derive(Clone, Copy)]
enum Side {
    Ours,
    Theirs,
}

use Side::{Ours, Theirs};

/// Opens a peer with a reachable address that knows one node. Two of them connect to each other,
/// often at the same moment.
fn peer_beside(side: Side, endpoint: &str) -> Party {
    let setup = Setup {
        listen: vec![format!("tcp/{ADDRESS}:0")],
        ..Setup::peer_at(endpoint)
    };
    match side {
        Ours => Party::Ours(setup.ours()),
        Theirs => Party::Theirs(setup.theirs()),
    }
}

/// Starts a router on the address outside of loopback.
fn router(side: Side) -> Router {
    // theirs does not report which port it was given
    match side {
        Ours => Router::process_at(&format!("tcp/{ADDRESS}:0")),
        Theirs => Router::theirs_at(&format!("tcp/{ADDRESS}:17447")),
    }
}

fn are_linked(one: &Party, other: &Party) -> bool {
    one.linked().contains(&other.zid()) && other.linked().contains(&one.zid())
}

/// Messages of one party that another one received. Declared before the two are linked: a router
/// between them announces the subscriber to the publisher too, perhaps before the subscriber itself
/// does, and by then leaves the delivery to the two of them.
struct Receipts {
    key: String,
    all: Count,
    last: Count,
}

impl Receipts {
    fn at(to: &Party, key: &str) -> Receipts {
        Receipts {
            key: key.to_owned(),
            all: to.count(key),
            last: to.count(&format!("{key}/last")),
        }
    }

    /// Asserts that messages of `from` come once each, and in their order.
    fn come_once(&self, from: &Party) {
        let publish = |key: &str, number| {
            let publisher = from.publisher(key, Service::BLOCK);
            until("it is matched", || publisher.is_matched());
            publisher.publish_numbered(number, 8).done();
        };
        publish(&self.key, 1000);
        self.all.reaches(1000);
        // a copy by another path could come later: a message that is sent after it has passed that
        // path too
        publish(&format!("{}/last", self.key), 1);
        self.last.reaches(1);
        let counted = self.all.now();
        assert_eq!((counted.count, counted.disorder), (1000, None));
    }
}

fn through_a_router(test: &str, sides: [Side; 2], between: Side) {
    if python().is_none() {
        return;
    }
    let test = of_release(test, release());
    inside(&test, Network::Usual, || {
        let router = router(between);
        let [one, other] = sides.map(|side| peer_beside(side, &router.endpoint));
        let (here, there) = (
            Receipts::at(&one, "to/one"),
            Receipts::at(&other, "to/other"),
        );
        until("the two are linked", || are_linked(&one, &other));
        for peer in [&one, &other] {
            until("it has both", || peer.linked().len() == 2);
        }
        there.come_once(&one);
        here.come_once(&other);
        assert_eq!(router.complaints(), [""; 0]);
    });
}

#[test]
fn ours_and_theirs_meet_through_our_router() {
    let name = "gossip::ours_and_theirs_meet_through_our_router";
    through_a_router(name, [Ours, Theirs], Ours);
}

#[test]
fn theirs_and_ours_meet_through_our_router() {
    let name = "gossip::theirs_and_ours_meet_through_our_router";
    through_a_router(name, [Theirs, Ours], Ours);
}

#[test]
fn two_of_theirs_meet_through_our_router() {
    let name = "gossip::two_of_theirs_meet_through_our_router";
    through_a_router(name, [Theirs, Theirs], Ours);
}

#[test]
fn ours_and_theirs_meet_through_their_router() {
    let name = "gossip::ours_and_theirs_meet_through_their_router";
    through_a_router(name, [Ours, Theirs], Theirs);
}

#[test]
fn theirs_and_ours_meet_through_their_router() {
    let name = "gossip::theirs_and_ours_meet_through_their_router";
    through_a_router(name, [Theirs, Ours], Theirs);
}

#[test]
fn two_of_ours_meet_through_their_router() {
    let name = "gossip::two_of_ours_meet_through_their_router";
    through_a_router(name, [Ours, Ours], Theirs);
}

/// Connects three peers, of which two know the first.
fn through_a_peer(test: &str, first: Side, others: [Side; 2]) {
    if python().is_none() {
        return;
    }
    let test = of_release(test, release());
    inside(&test, Network::Usual, || {
        let endpoint = format!("tcp/{ADDRESS}:17448");
        let setup = Setup::listening(WhatAmI::Peer, &endpoint);
        let first = match first {
            Ours => Party::Ours(setup.ours()),
            Theirs => Party::Theirs(setup.theirs()),
        };
        let [one, other] = others.map(|side| peer_beside(side, &endpoint));
        let receipts = [&one, &other, &first].map(|to| Receipts::at(to, &to.zid()));
        until("the two are linked", || are_linked(&one, &other));
        receipts[0].come_once(&other);
        receipts[1].come_once(&one);
        receipts[2].come_once(&other);
    });
}

#[test]
fn ours_and_theirs_meet_through_our_peer() {
    let name = "gossip::ours_and_theirs_meet_through_our_peer";
    through_a_peer(name, Ours, [Ours, Theirs]);
}

#[test]
fn two_of_theirs_meet_through_our_peer() {
    let name = "gossip::two_of_theirs_meet_through_our_peer";
    through_a_peer(name, Ours, [Theirs, Theirs]);
}

#[test]
fn ours_and_theirs_meet_through_their_peer() {
    let name = "gossip::ours_and_theirs_meet_through_their_peer";
    through_a_peer(name, Theirs, [Theirs, Ours]);
}

crate::environment::against_older! {
    ours_and_theirs_meet_through_our_router
    theirs_and_ours_meet_through_our_router
    two_of_theirs_meet_through_our_router
    ours_and_theirs_meet_through_their_router
    theirs_and_ours_meet_through_their_router
    two_of_ours_meet_through_their_router
    ours_and_theirs_meet_through_our_peer
    two_of_theirs_meet_through_our_peer
    ours_and_theirs_meet_through_their_peer
}
