// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pairs of one of ours and one of theirs over a kind of link, in every position: as clients of a
//! router, and as peers of which either listens. These functions do nothing without an installed
//! reference.

use zonda::config::WhatAmI;

use crate::agreed::exchange;
use crate::environment;
use crate::party::{Party, Setup};
use crate::router::Router;
use crate::wait::until;

/// Limit above any payload here.
const LARGEST: usize = 10_000_000;

/// Passes messages of all sizes, and many, between two clients of this router.
pub fn clients_exchange(router: &Router, connect: &str) {
    clients_pass(router, connect, |ours, theirs| {
        exchange(ours, theirs, LARGEST)
    });
}

/// Runs `pass` between two clients of this router, which must have no complaints.
pub fn clients_pass(router: &Router, connect: &str, pass: fn(&Party, &Party)) {
    let setup = Setup::client(connect);
    let (ours, theirs) = (Party::Ours(setup.ours()), Party::Theirs(setup.theirs()));
    pass(&ours, &theirs);
    assert_eq!(router.complaints(), [""; 0]);
}

/// Passes messages of all sizes, and many, between two peers, the one that listens and the one that
/// connects to it.
pub fn peers_exchange(ours_listens: bool, listen: &str, connect: &str) {
    peers_pass(ours_listens, listen, connect, |ours, theirs| {
        exchange(ours, theirs, LARGEST);
    });
}

/// Runs `pass` between two such peers.
pub fn peers_pass(ours_listens: bool, listen: &str, connect: &str, pass: fn(&Party, &Party)) {
    let listening = Setup::listening(WhatAmI::Peer, listen);
    let dialling = Setup::peer_at(connect);
    let (ours, theirs) = if ours_listens {
        let ours = listening.ours();
        (ours, dialling.theirs())
    } else {
        let theirs = listening.theirs();
        (dialling.ours(), theirs)
    };
    let (ours, theirs) = (Party::Ours(ours), Party::Theirs(theirs));
    linked(&ours, &theirs);
    pass(&ours, &theirs);
}

/// Waits until both parties see the link.
pub fn linked(ours: &Party, theirs: &Party) {
    until("both see the link", || {
        ours.linked().contains(&theirs.zid()) && theirs.linked().contains(&ours.zid())
    });
}

/// Returns true if the reference is installed.
pub fn has_reference() -> bool {
    environment::python().is_some()
}
