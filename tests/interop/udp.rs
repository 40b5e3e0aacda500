// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links of datagrams between the two implementations, in every position. Nothing is repeated, so what is sent at once is
//! no more than a socket has room for.

use zonda::config::WhatAmI;

use crate::agreed::pass_each_size;
use crate::environment;
use crate::party::{Party, Setup};
use crate::positions::linked;
use crate::router::Router;

/// The reference leaves its sockets the system's room, which is a few of the largest datagrams.
const LARGEST: usize = 70_000;

fn both_ways(ours: &Party, theirs: &Party) {
    for (from, to) in [(ours, theirs), (theirs, ours)] {
        pass_each_size(from, to, LARGEST);
    }
}

#[test]
fn datagrams_to_our_router() {
    if environment::python().is_some() {
        let router = Router::process_at("udp/127.0.0.1:0");
        let setup = Setup::client(&router.endpoint);
        let (ours, theirs) = (Party::Ours(setup.ours()), Party::Theirs(setup.theirs()));
        both_ways(&ours, &theirs);
        assert_eq!(router.complaints(), [""; 0]);
    }
}

#[test]
fn datagrams_between_peers() {
    if environment::python().is_some() {
        for ours_listens in [true, false] {
            let (ours, theirs) = if ours_listens {
                let ours = Setup::listening(WhatAmI::Peer, "udp/127.0.0.1:0").ours();
                let at = ours.info().locators().remove(0).to_string();
                (ours, Setup::peer_at(&at).theirs())
            } else {
                let free = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
                let at = format!("udp/{}", free.local_addr().expect("bound"));
                drop(free);
                let theirs = Setup::listening(WhatAmI::Peer, &at).theirs();
                (Setup::peer_at(&at).ours(), theirs)
            };
            let (ours, theirs) = (Party::Ours(ours), Party::Theirs(theirs));
            linked(&ours, &theirs);
            both_ways(&ours, &theirs);
        }
    }
}
