// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links of bare messages between the two implementations, in every position.

use std::time::{Duration, Instant};

use zonda::config::WhatAmI;

use crate::agreed::Agreed;
use crate::environment;
use crate::message::{Message, Pattern};
use crate::party::{Party, Setup};
use crate::router::{Router, free_endpoint};
use crate::wait::until;

/// Maximum payload of a bare message that the reference accepts: its batches are of 49152 bytes at
/// least.
const LARGEST: usize = 40_000;

const BARE: Agreed = Agreed {
    name: "lowlatency",
    keys: &[
        ("transport/unicast/lowlatency", "true"),
        ("transport/unicast/qos/enabled", "false"),
    ],
    largest: LARGEST,
    less: LARGEST,
    is_optional: false,
    // the reference panics when its transports of this kind are listed
    is_told: false,
};

#[test]
fn bare_links_to_our_router() {
    if environment::python().is_some() {
        BARE.to_our_router();
    }
}

#[test]
fn bare_links_to_their_router() {
    if environment::python().is_some() {
        BARE.to_their_router();
    }
}

#[test]
fn bare_links_between_peers() {
    if environment::python().is_some() {
        BARE.between_peers();
    }
}

/// Links stay open without publications for several leases.
#[test]
fn quiet_bare_links_stay() {
    if environment::python().is_some() {
        const LEASE: (&str, &str) = ("transport/link/tx/lease", "1500");
        let endpoint = free_endpoint();
        let with_lease = |setup: Setup| {
            let mut setup = BARE.with(setup);
            setup.options.push(LEASE);
            setup
        };
        let their_router = with_lease(Setup::listening(WhatAmI::Router, &endpoint));
        for router in [
            BARE.our_router(&["--cfg", "transport/link/tx/lease:1500"]),
            Router::of_theirs(&their_router),
        ] {
            let setup = with_lease(Setup::client(&router.endpoint));
            let (ours, theirs) = (Party::Ours(setup.ours()), Party::Theirs(setup.theirs()));
            let Party::Ours(session) = &ours else {
                unreachable!("it is ours")
            };
            let place = || session.info().links().first().map(|l| l.local.clone());
            let before = place();
            let quiet = Instant::now() + Duration::from_millis(4500);
            until("three leases are over", || Instant::now() > quiet);
            assert_eq!(place(), before, "the same link");
            let subscription = theirs.subscribe("quiet");
            let publisher = ours.matched_publisher("quiet");
            publisher.publish(&Message::put(Pattern::short(1)));
            assert!(subscription.next().carries(Pattern::short(1)));
        }
    }
}

crate::environment::against_older! {
    bare_links_to_our_router
    bare_links_to_their_router
    bare_links_between_peers
    quiet_bare_links_stay
}
