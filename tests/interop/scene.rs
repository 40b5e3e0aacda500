// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who publishes, who subscribes, and what is between them: every arrangement in which both implementations meet.

use zonda::config::WhatAmI;

use crate::party::{Party, Setup};
use crate::router::{Router, free_endpoint};
use crate::wait::until;

/// Two parties that can reach each other.
pub struct Scene {
    pub from: Party,
    pub to: Party,
    pub router: Option<Router>,
}

/// Which implementation a party has.
#[derive(Clone, Copy)]
enum Side {
    Ours,
    Theirs,
}

use Side::{Ours, Theirs};

impl Side {
    fn open(self, setup: &Setup) -> Party {
        match self {
            Ours => Party::Ours(setup.ours()),
            Theirs => Party::Theirs(setup.theirs()),
        }
    }
}

/// Two clients of a router.
fn routed(from: Side, router: Router, to: Side) -> Scene {
    let setup = Setup::client(&router.endpoint);
    let scene = Scene {
        from: from.open(&setup),
        to: to.open(&setup),
        router: Some(router),
    };
    for party in [&scene.from, &scene.to] {
        until("both clients have their router", || {
            !party.linked().is_empty()
        });
    }
    scene
}

/// Two peers of which the one that publishes, or the other one, dials.
fn direct(from: Side, to: Side, from_dials: bool) -> Scene {
    let endpoint = free_endpoint();
    let listening = Setup::listening(WhatAmI::Peer, &endpoint);
    let dialling = Setup::peer_at(&endpoint);
    let (from, to) = if from_dials {
        let to = to.open(&listening);
        (from.open(&dialling), to)
    } else {
        let from = from.open(&listening);
        (from, to.open(&dialling))
    };
    let scene = Scene {
        from,
        to,
        router: None,
    };
    for (party, other) in [(&scene.from, &scene.to), (&scene.to, &scene.from)] {
        until("both peers see each other", || {
            party.linked().contains(&other.zid())
        });
    }
    scene
}

pub fn theirs_our_router_theirs() -> Scene {
    routed(Theirs, Router::process(), Theirs)
}

pub fn theirs_our_library_router_theirs() -> Scene {
    routed(Theirs, Router::library(), Theirs)
}

pub fn theirs_our_router_ours() -> Scene {
    routed(Theirs, Router::process(), Ours)
}

pub fn ours_our_router_theirs() -> Scene {
    routed(Ours, Router::process(), Theirs)
}

pub fn ours_their_router_ours() -> Scene {
    routed(Ours, Router::theirs(), Ours)
}

pub fn ours_their_router_theirs() -> Scene {
    routed(Ours, Router::theirs(), Theirs)
}

pub fn theirs_their_router_ours() -> Scene {
    routed(Theirs, Router::theirs(), Ours)
}

pub fn ours_dials_theirs() -> Scene {
    direct(Ours, Theirs, true)
}

pub fn ours_is_dialled_by_theirs() -> Scene {
    direct(Ours, Theirs, false)
}

pub fn theirs_dials_ours() -> Scene {
    direct(Theirs, Ours, true)
}

pub fn theirs_is_dialled_by_ours() -> Scene {
    direct(Theirs, Ours, false)
}
