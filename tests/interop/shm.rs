// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two nodes of the reference that share memory, with ours between and next to them: ours never
//! takes part, and the messages that it receives and forwards are whole.

use crate::message::{Message, Pattern};
use crate::party::{Party, Setup};
use crate::positions::{has_reference, linked};
use crate::router::{Router, free_endpoint};
use zonda::config::WhatAmI;

/// Configuration of sharing from the first message on, for all payloads of more than a few bytes.
const SHARING: &[(&str, &str)] = &[
    ("transport/shared_memory/enabled", "true"),
    ("transport/shared_memory/mode", "\"init\""),
    (
        "transport/shared_memory/transport_optimization/enabled",
        "true",
    ),
    (
        "transport/shared_memory/transport_optimization/pool_size",
        "4194304",
    ),
    (
        "transport/shared_memory/transport_optimization/message_size_threshold",
        "3072",
    ),
];

fn sharing(setup: Setup) -> Setup {
    let options = SHARING.to_vec();
    Setup { options, ..setup }
}

/// Passes several messages of each size: the first ones are sent before the pool of memory exists.
fn pass(from: &Party, to: &Party, key: &str) {
    let subscription = to.subscribe(key);
    let publisher = from.matched_publisher(key);
    for seed in 0..20 {
        for len in [100, 5000, 100_000] {
            publisher.publish(&Message::put(Pattern { len, seed }));
            let seen = subscription.next();
            assert!(seen.carries(Pattern { len, seed }), "{seen:?}");
        }
    }
}

#[test]
fn sharing_nodes_at_our_router() {
    if has_reference() {
        let router = Router::process();
        let setup = sharing(Setup::client(&router.endpoint));
        let (first, second) = (Party::Theirs(setup.theirs()), Party::Theirs(setup.theirs()));
        let ours = Party::Ours(Setup::client(&router.endpoint).ours());
        pass(&first, &second, "shared/theirs");
        pass(&first, &ours, "shared/ours");
        pass(&ours, &second, "shared/back");
        assert_eq!(router.complaints(), [""; 0]);
    }
}

#[test]
fn our_client_at_a_router_that_shares() {
    if has_reference() {
        let setup = sharing(Setup::listening(WhatAmI::Router, &free_endpoint()));
        let router = Router::of_theirs(&setup);
        let theirs = Party::Theirs(sharing(Setup::client(&router.endpoint)).theirs());
        let ours = Party::Ours(Setup::client(&router.endpoint).ours());
        pass(&theirs, &ours, "shared/ours");
        pass(&ours, &theirs, "shared/theirs");
        assert_eq!(router.complaints(), [""; 0]);
    }
}

#[test]
fn a_sharing_peer_and_ours() {
    if has_reference() {
        for ours_listens in [true, false] {
            let at = free_endpoint();
            let (listening, dialling) = (Setup::listening(WhatAmI::Peer, &at), Setup::peer_at(&at));
            let (ours, theirs) = if ours_listens {
                let ours = listening.ours();
                (ours, sharing(dialling).theirs())
            } else {
                let theirs = sharing(listening).theirs();
                (dialling.ours(), theirs)
            };
            let (ours, theirs) = (Party::Ours(ours), Party::Theirs(theirs));
            linked(&ours, &theirs);
            pass(&theirs, &ours, "shared/ours");
            pass(&ours, &theirs, "shared/theirs");
        }
    }
}

crate::environment::against_older! {
    sharing_nodes_at_our_router
    our_client_at_a_router_that_shares
    a_sharing_peer_and_ours
}
