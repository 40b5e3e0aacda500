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

impl Scene {
    /// What anybody who takes part has to say about the others.
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints: Vec<String> = self.router.iter().flat_map(Router::complaints).collect();
        for party in [&self.from, &self.to] {
            if let Party::Theirs(theirs) = party {
                complaints.extend(theirs.process.complaints());
            }
        }
        complaints
    }
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
    routed_as((from, WhatAmI::Client), router, (to, WhatAmI::Client))
}

/// A router with a client or peer that publishes and one that subscribes.
fn routed_as(from: (Side, WhatAmI), router: Router, to: (Side, WhatAmI)) -> Scene {
    let open = |(side, role): (Side, WhatAmI)| {
        let setup = Setup::client(&router.endpoint);
        let party = side.open(&Setup { role, ..setup });
        until("everybody has the router", || {
            party.linked().contains(&router.zid)
        });
        party
    };
    let (from, to) = (open(from), open(to));
    let router = Some(router);
    Scene { from, to, router }
}

/// Two peers of which the one that publishes, or the other one, dials.
fn direct(from: Side, to: Side, from_dials: bool) -> Scene {
    direct_as(from, to, from_dials, WhatAmI::Peer)
}

/// A peer, and a peer or client that dials it.
fn direct_as(from: Side, to: Side, from_dials: bool, dialler: WhatAmI) -> Scene {
    let endpoint = free_endpoint();
    let listening = Setup::listening(WhatAmI::Peer, &endpoint);
    let dialling = Setup {
        role: dialler,
        ..Setup::client(&endpoint)
    };
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

pub fn their_peer_our_router_their_client() -> Scene {
    routed_as(
        (Theirs, WhatAmI::Peer),
        Router::process(),
        (Theirs, WhatAmI::Client),
    )
}

pub fn their_client_our_router_their_peer() -> Scene {
    routed_as(
        (Theirs, WhatAmI::Client),
        Router::process(),
        (Theirs, WhatAmI::Peer),
    )
}

pub fn our_peer_their_router_their_client() -> Scene {
    routed_as(
        (Ours, WhatAmI::Peer),
        Router::theirs(),
        (Theirs, WhatAmI::Client),
    )
}

pub fn their_client_their_router_our_peer() -> Scene {
    routed_as(
        (Theirs, WhatAmI::Client),
        Router::theirs(),
        (Ours, WhatAmI::Peer),
    )
}

pub fn their_client_to_our_peer() -> Scene {
    direct_as(Theirs, Ours, true, WhatAmI::Client)
}

pub fn our_peer_to_their_client() -> Scene {
    direct_as(Ours, Theirs, false, WhatAmI::Client)
}

pub fn our_client_to_their_peer() -> Scene {
    direct_as(Ours, Theirs, true, WhatAmI::Client)
}

pub fn their_peer_to_our_client() -> Scene {
    direct_as(Theirs, Ours, false, WhatAmI::Client)
}
