// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links over WebSocket between the two implementations, in every position.

use zonda::config::WhatAmI;

use crate::agreed::exchange;
use crate::environment;
use crate::party::{Party, Setup};
use crate::router::{Router, free_endpoint};
use crate::wait::until;

/// Larger than any payload here.
const LARGEST: usize = 10_000_000;

fn endpoint() -> String {
    free_endpoint().replace("tcp/", "ws/")
}

fn clients_of(router: &Router) -> (Party, Party) {
    let setup = Setup::client(&router.endpoint);
    (Party::Ours(setup.ours()), Party::Theirs(setup.theirs()))
}

#[test]
fn websockets_to_our_router() {
    if environment::python().is_some() {
        let router = Router::process_at("ws/127.0.0.1:0");
        assert!(router.endpoint.starts_with("ws/"), "{}", router.endpoint);
        let (ours, theirs) = clients_of(&router);
        exchange(&ours, &theirs, LARGEST);
        assert_eq!(router.complaints(), [""; 0]);
    }
}

#[test]
fn websockets_to_their_router() {
    if environment::python().is_some() {
        let router = Router::theirs_at(&endpoint());
        let (ours, theirs) = clients_of(&router);
        exchange(&ours, &theirs, LARGEST);
        assert_eq!(router.complaints(), [""; 0]);
    }
}

#[test]
fn websockets_between_peers() {
    if environment::python().is_some() {
        for ours_listens in [true, false] {
            let endpoint = endpoint();
            let listening = Setup::listening(WhatAmI::Peer, &endpoint);
            let dialling = Setup::peer_at(&endpoint);
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
            until("both see the link", || {
                ours.linked().contains(&theirs.zid()) && theirs.linked().contains(&ours.zid())
            });
            exchange(&ours, &theirs, LARGEST);
        }
    }
}
