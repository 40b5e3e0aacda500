// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several links between the two implementations.

use zonda::config::WhatAmI;

use crate::agreed::{exchange, have};
use crate::environment;
use crate::party::{Party, Setup};
use crate::relay::Relay;
use crate::router::free_endpoint;
use crate::wait::until;

const SEVERAL: (&str, &str) = ("transport/unicast/max_links", "3");

/// Both sides of a connection of two links, each of which leads through a relay of its own.
struct Pair {
    ours: Party,
    theirs: Party,
    relays: [Relay; 2],
}

impl Pair {
    fn new(ours_listens: bool, role: WhatAmI) -> Pair {
        // one side listens, the other one dials through two relays
        let endpoint = free_endpoint();
        let listening = Setup {
            options: vec![SEVERAL],
            ..Setup::listening(role, &endpoint)
        };
        let dialling = |relays: &[Relay; 2]| Setup {
            connect: relays.iter().map(|p| p.endpoint.clone()).collect(),
            options: vec![SEVERAL],
            ..Setup::peer_at(&endpoint)
        };
        let relays = || [Relay::to(&endpoint), Relay::to(&endpoint)];
        // the listening side opens before the relays and the dialling side
        let (ours, theirs, relays) = match ours_listens {
            true => {
                let ours = listening.ours();
                let relays = relays();
                let theirs = dialling(&relays).theirs();
                (ours, theirs, relays)
            }
            false => {
                let theirs = listening.theirs();
                let relays = relays();
                (dialling(&relays).ours(), theirs, relays)
            }
        };
        let (ours, theirs) = (Party::Ours(ours), Party::Theirs(theirs));
        let pair = Pair {
            ours,
            theirs,
            relays,
        };
        until("there are two links", || pair.links() == 2);
        pair
    }

    fn links(&self) -> usize {
        self.places().len()
    }

    /// Returns the two ends of each link.
    fn places(&self) -> Vec<(String, String)> {
        let Party::Ours(session) = &self.ours else {
            unreachable!("it is ours")
        };
        let links = session.info().links();
        links
            .iter()
            .map(|link| (link.local.to_string(), link.remote.to_string()))
            .collect()
    }
}

fn exchange_on_both_and_on_one(ours_listens: bool, role: WhatAmI) {
    let pair = Pair::new(ours_listens, role);
    assert!(have(&pair.ours, &["multilink"]));
    exchange(&pair.ours, &pair.theirs, 3_000_000);
    for relay in &pair.relays {
        let before = pair.places();
        relay.cut();
        // messages sent before the loss is noticed are lost; the opener restores the link
        until("the loss is noticed", || {
            let now = pair.places();
            now.len() < 2 || now.iter().any(|place| !before.contains(place))
        });
        until("there are two links again", || pair.links() == 2);
        exchange(&pair.theirs, &pair.ours, 300_000);
    }
    exchange(&pair.ours, &pair.theirs, 300_000);
}

#[test]
fn two_links_from_our_peer_to_their_router() {
    if environment::python().is_some() {
        exchange_on_both_and_on_one(false, WhatAmI::Router);
    }
}

#[test]
fn two_links_from_our_peer_to_their_peer() {
    if environment::python().is_some() {
        exchange_on_both_and_on_one(false, WhatAmI::Peer);
    }
}

#[test]
fn two_links_from_their_peer_to_our_router() {
    if environment::python().is_some() {
        exchange_on_both_and_on_one(true, WhatAmI::Router);
    }
}

#[test]
fn two_links_from_their_peer_to_our_peer() {
    if environment::python().is_some() {
        exchange_on_both_and_on_one(true, WhatAmI::Peer);
    }
}

crate::environment::against_older! {
    two_links_from_our_peer_to_their_router
    two_links_from_our_peer_to_their_peer
    two_links_from_their_peer_to_our_router
    two_links_from_their_peer_to_our_peer
}
