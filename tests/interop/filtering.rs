// SPDX-License-Identifier: MIT OR Apache-2.0
//! Unwanted messages are not sent: publishers know that there is no subscriber, whichever node
//! reported it.

use zonda::config::WhatAmI;

use crate::environment;
use crate::message::{Message, Pattern, Service};
use crate::party::{Party, Setup};
use crate::proxy::{Proxy, Said, Speaker};
use crate::router::{Router, free_endpoint};

/// Asserts that a publisher that dials through `wire` sends only messages with a subscriber at the
/// other end.
fn nothing_unwanted_is_sent(from: &Party, to: &Party, wire: &Proxy) {
    let unwanted = from.publisher("filter/unwanted", Service::BLOCK);
    let wanted = to.subscribe("filter/wanted");
    let publisher = from.matched_publisher("filter/wanted");
    for seed in 0..100 {
        unwanted.publish(&Message::put(Pattern::short(seed)));
    }
    unwanted.publish(&Message::delete());
    publisher.publish(&Message::put(Pattern::short(7)));
    assert!(wanted.next().carries(Pattern::short(7)));
    let pushes = || {
        let said = wire.said(Speaker::Dialler);
        said.iter().filter(|s| matches!(s, Said::Push(_))).count()
    };
    assert_eq!(pushes(), 1, "nobody listens to the other publisher");

    let late = to.subscribe("filter/*");
    crate::wait::until("it is wanted after all", || unwanted.is_matched());
    unwanted.publish(&Message::put(Pattern::short(8)));
    assert!(late.next().carries(Pattern::short(8)));
    assert_eq!(pushes(), 2);
}

fn through_a_router(router: &Router, from: fn(&Setup) -> Party) {
    let wire = Proxy::to(&router.endpoint);
    let from = from(&Setup::client(&wire.endpoint));
    let to = Party::Theirs(Setup::client(&router.endpoint).theirs());
    nothing_unwanted_is_sent(&from, &to, &wire);
}

fn between_peers(from: fn(&Setup) -> Party, to: fn(&Setup) -> Party) {
    let endpoint = free_endpoint();
    let to = to(&Setup::listening(WhatAmI::Peer, &endpoint));
    let wire = Proxy::to(&endpoint);
    let from = from(&Setup::peer_at(&wire.endpoint));
    nothing_unwanted_is_sent(&from, &to, &wire);
}

fn ours(setup: &Setup) -> Party {
    Party::Ours(setup.ours())
}

fn theirs(setup: &Setup) -> Party {
    Party::Theirs(setup.theirs())
}

#[test]
fn their_client_sends_our_router_nothing_unwanted() {
    if environment::python().is_some() {
        through_a_router(&Router::process(), theirs);
    }
}

#[test]
fn our_client_sends_our_router_nothing_unwanted() {
    if environment::python().is_some() {
        through_a_router(&Router::process(), ours);
    }
}

#[test]
fn our_client_sends_their_router_nothing_unwanted() {
    if environment::python().is_some() {
        through_a_router(&Router::theirs(), ours);
    }
}

#[test]
fn our_peer_sends_theirs_nothing_unwanted() {
    if environment::python().is_some() {
        between_peers(ours, theirs);
    }
}

#[test]
fn their_peer_sends_ours_nothing_unwanted() {
    if environment::python().is_some() {
        between_peers(theirs, ours);
    }
}

crate::environment::against_older! {
    their_client_sends_our_router_nothing_unwanted
    our_client_sends_our_router_nothing_unwanted
    our_client_sends_their_router_nothing_unwanted
    our_peer_sends_theirs_nothing_unwanted
    their_peer_sends_ours_nothing_unwanted
}
