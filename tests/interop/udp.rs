// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links of datagrams between the two implementations, in every position. Lost datagrams are not
//! repeated, so messages at once are no more than a socket has room for.

use zonda::config::WhatAmI;

use crate::agreed::pass_each_size;
use crate::party::{Party, Setup};
use crate::positions::{clients_pass, has_reference, linked, peers_pass};
use crate::router::{Router, free_endpoint};

fn endpoint() -> String {
    free_endpoint().replace("tcp/", "udp/")
}

/// Passes messages in both directions. The reference keeps the system's socket buffers, which hold
/// a few of the largest datagrams.
fn both_ways(ours: &Party, theirs: &Party) {
    for (from, to) in [(ours, theirs), (theirs, ours)] {
        pass_each_size(from, to, 70_000);
    }
}

#[test]
fn datagrams_to_our_router() {
    if has_reference() {
        let router = Router::process_at("udp/127.0.0.1:0");
        clients_pass(&router, &router.endpoint, both_ways);
    }
}

#[test]
fn datagrams_to_their_router() {
    if has_reference() {
        let router = Router::theirs_at(&endpoint());
        clients_pass(&router, &router.endpoint, both_ways);
    }
}

#[test]
fn datagrams_between_peers() {
    if has_reference() {
        for ours_listens in [true, false] {
            let endpoint = endpoint();
            peers_pass(ours_listens, &endpoint, &endpoint, both_ways);
        }
    }
}

/// A peer of theirs that was killed restarts on its old port while its old link is still open: it
/// is admitted at once, and not when the lease is over.
#[test]
fn their_peer_begins_anew_from_its_port() {
    if has_reference() {
        let ours = Setup::listening(WhatAmI::Peer, "udp/127.0.0.1:0").ours();
        let at = ours.info().locators().remove(0);
        let own = endpoint().replace("udp/", "");
        let setup = Setup::peer_at(&format!("{at}#bind={own}"));
        let ours = Party::Ours(ours);
        let first = setup.theirs();
        first.process.kill();
        let second = Party::Theirs(setup.theirs());
        linked(&ours, &second);
        both_ways(&ours, &second);
    }
}

crate::environment::against_older! {
    datagrams_to_our_router
    datagrams_to_their_router
    datagrams_between_peers
}
