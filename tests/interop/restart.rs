// SPDX-License-Identifier: MIT OR Apache-2.0
//! Restarts of a node at the same address: the remaining nodes reconnect, send their declarations
//! again, and continue as before.

use zonda::config::WhatAmI;

use crate::environment;
use crate::message::{Message, Pattern, Service};
use crate::party::{Party, Publishing, Setup, Subscription};
use crate::questions::{Conditions, Question};
use crate::router::{Router, free_endpoint};
use crate::wait::{LONG, until};

/// A party with a subscriber and a publisher, which are to survive.
struct Survivor {
    party: Party,
    subscription: Subscription,
    publisher: Publishing,
}

impl Survivor {
    fn new(party: Party) -> Survivor {
        let subscription = party.subscribe("restart/to/*");
        let publisher = party.publisher("restart/from/it", Service::BLOCK);
        Survivor {
            party,
            subscription,
            publisher,
        }
    }

    /// Exchanges messages with another party, in both directions.
    fn serves(&self, other: &Party, seed: u64) {
        let theirs = other.subscribe("restart/from/**");
        let to = other.matched_publisher("restart/to/it");
        let message = Message::put(Pattern::short(seed));
        to.publish(&message);
        assert!(self.subscription.next().carries(message.pattern));
        until("the survivor's publisher is matched", || {
            self.publisher.is_matched()
        });
        self.publisher.publish(&message);
        assert!(theirs.next().carries(message.pattern));
        assert!(
            self.subscription.try_next().is_none(),
            "something came twice"
        );
    }

    fn loses(&self, zid: &str) {
        until("the link is gone", || !self.party.linked().contains(zid));
        until("and with it the subscriber", || {
            !self.publisher.is_matched()
        });
    }
}

/// Replaces the router of a client twice.
fn a_client_survives(endpoint: &str, client: fn(&Setup) -> Party, router: fn(&str) -> Router) {
    let setup = Setup::client(endpoint);
    let mut running = router(endpoint);
    let survivor = Survivor::new(client(&setup));
    for seed in 1..=3 {
        let other = Party::Theirs(setup.theirs());
        survivor.serves(&other, seed);
        drop(other);
        let old = running.zid.clone();
        running.end();
        survivor.loses(&old);
        running = router(endpoint);
    }
    survivor.serves(&Party::Ours(setup.ours()), 9);
}

#[test]
fn our_client_survives_a_restart_of_their_router() {
    if environment::python().is_some() {
        let ours = |setup: &Setup| Party::Ours(setup.ours());
        a_client_survives(&free_endpoint(), ours, Router::theirs_at);
    }
}

#[test]
fn their_client_survives_a_restart_of_our_router() {
    if environment::python().is_some() {
        let theirs = |setup: &Setup| Party::Theirs(setup.theirs());
        a_client_survives(&free_endpoint(), theirs, Router::process_at);
    }
}

#[test]
fn their_client_survives_an_orderly_restart_of_our_router() {
    if environment::python().is_some() {
        let theirs = |setup: &Setup| Party::Theirs(setup.theirs());
        a_client_survives(&free_endpoint(), theirs, Router::library_at);
    }
}

/// A get that is sent while the router is being replaced waits for the queryable, which is back
/// later.
fn a_get_waits(router: fn(&str) -> Router) {
    let endpoint = free_endpoint();
    let setup = Setup::client(&endpoint);
    // The router ends after the asker has connected.
    let running = router(&endpoint);
    let asker = Party::Ours(setup.ours());
    running.end();
    until("the link is gone", || asker.linked().is_empty());
    // One query while the router is away, one after its return.
    let conditions = Conditions {
        timeout: Some(LONG),
        ..Conditions::default()
    };
    let held = asker.ask("restart/q", conditions, Question::PLAIN);
    let again = router(&endpoint);
    until("the router is back", || asker.linked().contains(&again.zid));
    // The queryable comes last, and replies to both.
    let late = asker.ask("restart/*", conditions, Question::PLAIN);
    let other = Party::Theirs(setup.theirs());
    let queryable = other.queryable("restart/q");
    for _ in 0..2 {
        let asked = queryable.next();
        asked.reply("restart/q", &Message::put(Pattern::short(1)));
        asked.finish();
    }
    for asking in [held, late] {
        assert!(asking.reply().sample.carries(Pattern::short(1)));
        asking.ends();
    }
}

#[test]
fn our_client_waits_for_who_answers_behind_their_restarted_router() {
    if environment::python().is_some() {
        a_get_waits(Router::theirs_at);
    }
}

#[test]
fn our_client_waits_for_who_answers_behind_our_restarted_router() {
    if environment::python().is_some() {
        a_get_waits(Router::process_at);
    }
}

/// Replaces the peer that another peer dials.
fn a_peer_survives(peer: fn(&Setup) -> Party, other: fn(&Setup) -> Party) {
    let endpoint = free_endpoint();
    let survivor = Survivor::new(peer(&Setup::peer_at(&endpoint)));
    for seed in 1..=2 {
        let other = other(&Setup::listening(WhatAmI::Peer, &endpoint));
        survivor.serves(&other, seed);
        let zid = other.zid();
        drop(other);
        survivor.loses(&zid);
    }
}

#[test]
fn our_peer_survives_a_restart_of_theirs() {
    if environment::python().is_some() {
        let ours = |setup: &Setup| Party::Ours(setup.ours());
        a_peer_survives(ours, |setup| Party::Theirs(setup.theirs()));
    }
}

#[test]
fn their_peer_survives_a_restart_of_ours() {
    if environment::python().is_some() {
        let theirs = |setup: &Setup| Party::Theirs(setup.theirs());
        a_peer_survives(theirs, |setup| Party::Ours(setup.ours()));
    }
}

crate::environment::against_older! {
    our_client_survives_a_restart_of_their_router
    our_client_waits_for_who_answers_behind_their_restarted_router
    their_client_survives_a_restart_of_our_router
    their_client_survives_an_orderly_restart_of_our_router
    our_peer_survives_a_restart_of_theirs
    their_peer_survives_a_restart_of_ours
}
