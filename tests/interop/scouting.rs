// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scouting by multicast between the implementations, in networks of the tests' own.

use serde_json::{Value, json};
use zonda::config::WhatAmI;
use zonda::{Config, Session, Wait};

use crate::environment::{of_release, python, release};
use crate::message::{Message, Pattern, Service};
use crate::namespace::{ADDRESS, Network, inside};
use crate::party::{Party, Setup, linked};
use crate::program::{run, zonda};
use crate::reference::Reference;
use crate::wait::{LONG, until};

/// Finds other nodes by multicast, and none by gossip.
const BY_MULTICAST: [(&str, &str); 2] = [
    ("scouting/multicast/enabled", "true"),
    ("scouting/gossip/enabled", "false"),
];

fn setup(role: WhatAmI, listen: &[&str]) -> Setup {
    Setup {
        role,
        listen: listen.iter().map(ToString::to_string).collect(),
        connect: vec![],
        zid: None,
        options: BY_MULTICAST.to_vec(),
    }
}

/// Runs the body in the namespace if the reference is installed.
fn scouted(test: &str, network: Network, body: impl FnOnce()) {
    if python().is_some() {
        inside(&of_release(test, release()), network, body);
    }
}

/// Returns the answer of this node to their scout.
fn heard_by_theirs(process: &Reference, what: &str, zid: &str) -> Value {
    let command = json!({"what": what, "zid": zid, "seconds": LONG.as_secs()});
    let heard = process.call("scout", command);
    heard["heard"][zid].clone()
}

fn our_router(listen: &str) -> Session {
    setup(WhatAmI::Router, &[listen]).ours()
}

#[test]
fn their_scout_finds_our_router_that_listens_on_loopback_only() {
    let name = "scouting::their_scout_finds_our_router_that_listens_on_loopback_only";
    scouted(name, Network::TwoSubnets, || {
        let router = our_router("tcp/127.0.0.1:0");
        let process = Reference::start();
        let heard = heard_by_theirs(&process, "router|peer", &router.zid().to_string());
        let locator = router.info().locators().remove(0).to_string();
        assert_eq!(heard, json!({"role": "router", "locators": [locator]}));
        assert_eq!(process.complaints(), [""; 0]);
    });
}

#[test]
fn their_client_with_nothing_configured_connects_to_our_router_on_loopback() {
    let name = "scouting::their_client_with_nothing_configured_connects_to_our_router_on_loopback";
    scouted(name, Network::Usual, || {
        let router = our_router("tcp/127.0.0.1:0");
        let theirs = setup(WhatAmI::Client, &[]).theirs();
        assert!(theirs.linked().contains(&router.zid().to_string()));
        assert_eq!(theirs.process.complaints(), [""; 0]);
    });
}

#[test]
fn their_scout_hears_the_addresses_behind_a_wildcard() {
    let name = "scouting::their_scout_hears_the_addresses_behind_a_wildcard";
    scouted(name, Network::Usual, || {
        let router = our_router("tcp/[::]:0");
        let process = Reference::start();
        let heard = heard_by_theirs(&process, "router", &router.zid().to_string());
        let listening = router.info().locators().remove(0);
        let port = listening
            .address()
            .as_str()
            .rsplit(':')
            .next()
            .expect("a port");
        let told = heard["locators"].as_array().expect("a list");
        assert_eq!(told[0], format!("tcp/{ADDRESS}:{port}"), "the best first");
        assert!(told.contains(&json!(format!("tcp/127.0.0.1:{port}"))));
    });
}

#[test]
fn our_scout_finds_their_router_and_their_peer() {
    let name = "scouting::our_scout_finds_their_router_and_their_peer";
    scouted(name, Network::Usual, || {
        let address = format!("tcp/{ADDRESS}:0");
        for role in [WhatAmI::Router, WhatAmI::Peer] {
            let theirs = setup(role, &[&address]).theirs();
            let scout = zonda::scout(role, Config::default()).wait();
            let scout = scout.expect("it starts");
            let hello = scout.recv_timeout(LONG).expect("it is open");
            let hello = hello.unwrap_or_else(|| panic!("{}", scout.report()));
            assert_eq!(hello.zid().to_string(), theirs.zid());
            assert_eq!(hello.whatami(), role);
            assert!(hello.locators()[0].as_str().contains(ADDRESS));
            let told = run(&zonda(), &["scout", "--json", "--timeout", "1"]);
            assert_eq!(told.code, Some(0), "{told:?}");
            let first = told.out.lines().next().expect("a line");
            let first: Value = serde_json::from_str(first).expect("JSON");
            assert_eq!(first["zid"], theirs.zid(), "{told:?}");
        }
    });
}

#[test]
fn our_client_with_nothing_configured_connects_to_their_router() {
    let name = "scouting::our_client_with_nothing_configured_connects_to_their_router";
    scouted(name, Network::Usual, || {
        let theirs = setup(WhatAmI::Router, &[&format!("tcp/{ADDRESS}:0")]).theirs();
        let client = setup(WhatAmI::Client, &[]).ours();
        assert!(linked(&client).contains(theirs.zid()));
    });
}

/// Opens two peers, the second after the first: they find each other, and data flows both ways.
fn peers_meet(first: Party, second: Party) {
    until("both are linked", || {
        first.linked().contains(&second.zid()) && second.linked().contains(&first.zid())
    });
    for (from, to) in [(&first, &second), (&second, &first)] {
        let key = format!("from/{}", from.zid());
        let count = to.count(&key);
        let publisher = from.publisher(&key, Service::BLOCK);
        until("it is matched", || publisher.is_matched());
        publisher.publish_numbered(100, 8).done();
        count.reaches(100);
        assert_eq!(count.now().disorder, None);
    }
}

#[test]
fn our_peer_finds_theirs() {
    scouted("scouting::our_peer_finds_theirs", Network::Usual, || {
        let address = format!("tcp/{ADDRESS}:0");
        let theirs = setup(WhatAmI::Peer, &[&address]).theirs();
        let ours = setup(WhatAmI::Peer, &[&address]).ours();
        peers_meet(Party::Theirs(theirs), Party::Ours(ours));
    });
}

#[test]
fn their_peer_finds_ours() {
    scouted("scouting::their_peer_finds_ours", Network::Usual, || {
        // ours listens on loopback only, so theirs would not have been answered
        let mut quiet = setup(WhatAmI::Peer, &["tcp/127.0.0.1:0"]);
        quiet.options.push(("scouting/multicast/autoconnect", "[]"));
        let ours = quiet.ours();
        let theirs = setup(WhatAmI::Peer, &[&format!("tcp/{ADDRESS}:0")]).theirs();
        peers_meet(Party::Ours(ours), Party::Theirs(theirs));
    });
}

#[test]
fn a_message_goes_through_a_router_that_was_found() {
    let name = "scouting::a_message_goes_through_a_router_that_was_found";
    scouted(name, Network::Usual, || {
        let _router = our_router("tcp/127.0.0.1:0");
        let ours = Party::Ours(setup(WhatAmI::Client, &[]).ours());
        let theirs = Party::Theirs(setup(WhatAmI::Client, &[]).theirs());
        let subscription = ours.subscribe("found/*");
        let publisher = theirs.matched_publisher("found/a");
        let pattern = Pattern::short(5);
        publisher.publish(&Message::put(pattern));
        assert!(subscription.next().carries(pattern));
    });
}

crate::environment::against_older! {
    their_scout_finds_our_router_that_listens_on_loopback_only
    their_client_with_nothing_configured_connects_to_our_router_on_loopback
    their_scout_hears_the_addresses_behind_a_wildcard
    our_scout_finds_their_router_and_their_peer
    our_client_with_nothing_configured_connects_to_their_router
    our_peer_finds_theirs
    their_peer_finds_ours
    a_message_goes_through_a_router_that_was_found
}
