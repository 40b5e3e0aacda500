// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links of bare messages between the two implementations, in every position.

use std::time::{Duration, Instant};

use zonda::config::WhatAmI;

use crate::compression::{exchange, have};
use crate::environment;
use crate::message::{Message, Pattern};
use crate::party::{Party, Setup};
use crate::router::{Router, free_endpoint};
use crate::wait::until;

const OPTIONS: &[(&str, &str)] = &[
    ("transport/unicast/lowlatency", "true"),
    ("transport/unicast/qos/enabled", "false"),
];

/// The largest payload of a bare message that the reference takes: its batches are of 49152 bytes at least.
const LARGEST: usize = 40_000;

fn bare(setup: Setup) -> Setup {
    Setup {
        options: OPTIONS.to_vec(),
        ..setup
    }
}

fn our_router(more: &[&str]) -> Router {
    let options: Vec<String> = OPTIONS
        .iter()
        .map(|(key, json)| format!("{key}:{json}"))
        .collect();
    let mut flags: Vec<&str> = options.iter().flat_map(|o| ["--cfg", o]).collect();
    flags.extend(more);
    Router::process_with(&flags)
}

#[test]
fn bare_links_to_our_router() {
    if environment::python().is_some() {
        let router = our_router(&[]);
        let setup = bare(Setup::client(&router.endpoint));
        let (theirs, ours) = (Party::Theirs(setup.theirs()), Party::Ours(setup.ours()));
        assert!(have(&ours, &["lowlatency"]));
        exchange(&theirs, &ours, LARGEST);
        let plain = Party::Theirs(Setup::client(&router.endpoint).theirs());
        exchange(&theirs, &plain, LARGEST);
        assert_eq!(router.complaints(), [""; 0]);
    }
}

#[test]
fn bare_links_to_their_router() {
    if environment::python().is_some() {
        let endpoint = free_endpoint();
        let router = Router::of_theirs(&bare(Setup::listening(WhatAmI::Router, &endpoint)));
        let setup = bare(Setup::client(&router.endpoint));
        let (theirs, ours) = (Party::Theirs(setup.theirs()), Party::Ours(setup.ours()));
        assert!(have(&ours, &["lowlatency"]));
        exchange(&ours, &theirs, LARGEST);
        assert_eq!(router.complaints(), [""; 0]);
    }
}

#[test]
fn bare_links_between_peers() {
    if environment::python().is_some() {
        for ours_listens in [true, false] {
            let endpoint = free_endpoint();
            let listening = bare(Setup::listening(WhatAmI::Peer, &endpoint));
            let dialling = bare(Setup::peer_at(&endpoint));
            let (ours, theirs) = match ours_listens {
                true => {
                    let ours = listening.ours();
                    (ours, dialling.theirs())
                }
                false => {
                    let theirs = listening.theirs();
                    (dialling.ours(), theirs)
                }
            };
            let (ours, theirs) = (Party::Ours(ours), Party::Theirs(theirs));
            // the reference panics when it is asked for its transports of this kind
            until("ours sees theirs", || ours.linked().contains(&theirs.zid()));
            assert!(have(&ours, &["lowlatency"]));
            exchange(&ours, &theirs, LARGEST);
        }
    }
}

/// Nothing is published for several leases.
#[test]
fn quiet_bare_links_stay() {
    if environment::python().is_some() {
        const LEASE: (&str, &str) = ("transport/link/tx/lease", "400");
        let endpoint = free_endpoint();
        let with_lease = |setup: Setup| {
            let mut setup = bare(setup);
            setup.options.push(LEASE);
            setup
        };
        let their_router = with_lease(Setup::listening(WhatAmI::Router, &endpoint));
        for router in [
            our_router(&["--cfg", "transport/link/tx/lease:400"]),
            Router::of_theirs(&their_router),
        ] {
            let setup = with_lease(Setup::client(&router.endpoint));
            let (ours, theirs) = (Party::Ours(setup.ours()), Party::Theirs(setup.theirs()));
            let Party::Ours(session) = &ours else {
                unreachable!("it is ours")
            };
            let place = || session.info().links().first().map(|l| l.local.clone());
            let before = place();
            let quiet = Instant::now() + Duration::from_millis(1200);
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
