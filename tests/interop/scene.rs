// SPDX-License-Identifier: MIT OR Apache-2.0
//! Publisher, subscriber, and the nodes between them: every arrangement in which both
//! implementations meet.

use std::sync::atomic::{AtomicU32, Ordering};

use zonda::config::WhatAmI;

use crate::party::{Party, Setup};
use crate::router::{Router, free_endpoint};
use crate::wait::until;

/// Two parties that can reach each other.
pub struct Scene {
    pub from: Party,
    pub to: Party,
    pub router: Option<Router>,
    /// Role of the subscribing party.
    pub role: WhatAmI,
}

impl Scene {
    /// Returns the complaints of all parties about the other ones.
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints: Vec<String> = self.router.iter().flat_map(Router::complaints).collect();
        for party in [&self.from, &self.to] {
            if let Party::Theirs(theirs) = party {
                complaints.extend(theirs.process.complaints());
            }
        }
        complaints
    }

    /// Asserts that every complaint so far contains one of these texts.
    pub fn complains_only_of(&self, known: &[&str]) {
        let mut complaints = self.complaints();
        complaints.retain(|line| !known.iter().any(|text| line.contains(text)));
        assert_eq!(complaints, [""; 0]);
    }

    /// Opens another subscribing party. Returns `None` without a router.
    pub fn another(&self) -> Option<Party> {
        let router = self.router.as_ref()?;
        let side = match self.to {
            Party::Ours(_) => Ours,
            Party::Theirs(_) => Theirs,
        };
        Some(at_router(side, router, self.role, NOTHING))
    }

    /// Waits until all earlier declarations of `to` are known wherever `from` may query them.
    pub fn settles(&self) {
        settles(&self.to, &self.from);
    }

    /// Waits until all earlier declarations of this party are known wherever `from` may query them.
    pub fn settles_with(&self, party: &Party) {
        settles(party, &self.from);
    }

    /// Waits until all earlier declarations of `from` are known wherever `to` may query them.
    pub fn settles_back(&self) {
        settles(&self.from, &self.to);
    }
}

/// Waits until all earlier declarations of one party are known wherever another one may query them.
pub fn settles(speaker: &Party, hearer: &Party) {
    // a link keeps the order, so a node that knows this subscriber knows every declaration before
    // it
    let key = format!("settled/{}", ROUND.fetch_add(1, Ordering::Relaxed));
    let marker = speaker.subscribe(&key);
    drop(hearer.matched_publisher(&key));
    marker.undeclare();
}

/// Number of waits so far.
static ROUND: AtomicU32 = AtomicU32::new(0);

/// Implementation of a party.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Ours,
    Theirs,
}

use Side::{Ours, Theirs};
use WhatAmI::{Client, Peer};

impl Side {
    fn open(self, setup: &Setup) -> Party {
        match self {
            Ours => Party::Ours(setup.ours()),
            Theirs => Party::Theirs(setup.theirs()),
        }
    }
}

/// Connection of two parties.
#[derive(Clone, Copy)]
enum Between {
    Router(fn() -> Router),
    /// No node between: the publishing party dials the other one.
    FromDials,
    /// No node between: the subscribing party dials the other one.
    ToDials,
}

use Between::{FromDials, ToDials};

const OUR_ROUTER: Between = Between::Router(Router::process);
const OUR_LIBRARY_ROUTER: Between = Between::Router(Router::library);
const THEIR_ROUTER: Between = Between::Router(Router::theirs);

/// Keys and JSON values of a configuration.
pub type Options = &'static [(&'static str, &'static str)];

pub const NOTHING: Options = &[];

/// Parties of a scene, and the connections between them.
#[derive(Clone, Copy)]
pub struct Arrangement {
    from: (Side, WhatAmI),
    between: Between,
    to: (Side, WhatAmI),
}

impl Arrangement {
    const fn new(from: (Side, WhatAmI), between: Between, to: (Side, WhatAmI)) -> Arrangement {
        Arrangement { from, between, to }
    }

    pub fn open(self) -> Scene {
        self.open_with(NOTHING, NOTHING)
    }

    /// Opens it with options in the configurations of the publishing and of the subscribing party.
    pub fn open_with(self, from: Options, to: Options) -> Scene {
        match self.between {
            Between::Router(router) => self.routed(router(), from, to),
            FromDials | ToDials => self.direct(from, to),
        }
    }

    fn routed(self, router: Router, from: Options, to: Options) -> Scene {
        let from = at_router(self.from.0, &router, self.from.1, from);
        let to = at_router(self.to.0, &router, self.to.1, to);
        Scene {
            from,
            to,
            router: Some(router),
            role: self.to.1,
        }
    }

    fn direct(self, from: Options, to: Options) -> Scene {
        let endpoint = free_endpoint();
        // opens a party that listens or dials
        let open = |(side, role): (Side, WhatAmI), listens: bool, options: Options| {
            let setup = if listens {
                Setup::listening(role, &endpoint)
            } else {
                let setup = Setup::client(&endpoint);
                Setup { role, ..setup }
            };
            let options = options.to_vec();
            side.open(&Setup { options, ..setup })
        };
        // the listening party is first
        let (from, to) = if matches!(self.between, FromDials) {
            let to = open(self.to, true, to);
            (open(self.from, false, from), to)
        } else {
            let from = open(self.from, true, from);
            (from, open(self.to, false, to))
        };
        // both have the link
        for (party, other) in [(&from, &to), (&to, &from)] {
            until("both peers see each other", || {
                party.linked().contains(&other.zid())
            });
        }
        Scene {
            from,
            to,
            router: None,
            role: self.to.1,
        }
    }
}

/// Opens a scene, plays a case in it, and asserts that no node complains.
pub fn play(arrangement: Arrangement, case: fn(&Scene)) {
    let scene = arrangement.open();
    case(&scene);
    assert_eq!(scene.complaints(), [""; 0]);
}

/// Opens a party that has a link to a router.
fn at_router(side: Side, router: &Router, role: WhatAmI, options: Options) -> Party {
    let setup = Setup::client(&router.endpoint);
    let options = options.to_vec();
    let party = side.open(&Setup {
        role,
        options,
        ..setup
    });
    until("everybody has the router", || {
        party.linked().contains(&router.zid)
    });
    party
}

/// Names arrangements, and defines for each a function that opens it.
macro_rules! arrangements {
    ($($name:ident: $from:expr, $between:expr, $to:expr;)+) => {
        pub mod arrangement {
            use super::*;
            use super::{Client, Ours, Peer, Theirs};

            $(pub const fn $name() -> Arrangement {
                Arrangement::new($from, $between, $to)
            })+
        }

        $(#[allow(dead_code, reason = "most are opened in the arrangement's own way")]
        pub fn $name() -> Scene {
            arrangement::$name().open()
        })+
    };
}

arrangements! {
    theirs_our_router_theirs: (Theirs, Client), OUR_ROUTER, (Theirs, Client);
    theirs_our_library_router_theirs: (Theirs, Client), OUR_LIBRARY_ROUTER, (Theirs, Client);
    theirs_our_router_ours: (Theirs, Client), OUR_ROUTER, (Ours, Client);
    ours_our_router_theirs: (Ours, Client), OUR_ROUTER, (Theirs, Client);
    ours_their_router_ours: (Ours, Client), THEIR_ROUTER, (Ours, Client);
    ours_their_router_theirs: (Ours, Client), THEIR_ROUTER, (Theirs, Client);
    theirs_their_router_ours: (Theirs, Client), THEIR_ROUTER, (Ours, Client);
    ours_dials_theirs: (Ours, Peer), FromDials, (Theirs, Peer);
    ours_is_dialled_by_theirs: (Ours, Peer), ToDials, (Theirs, Peer);
    theirs_dials_ours: (Theirs, Peer), FromDials, (Ours, Peer);
    theirs_is_dialled_by_ours: (Theirs, Peer), ToDials, (Ours, Peer);
    their_peer_our_router_their_client: (Theirs, Peer), OUR_ROUTER, (Theirs, Client);
    their_client_our_router_their_peer: (Theirs, Client), OUR_ROUTER, (Theirs, Peer);
    our_peer_their_router_their_client: (Ours, Peer), THEIR_ROUTER, (Theirs, Client);
    their_client_their_router_our_peer: (Theirs, Client), THEIR_ROUTER, (Ours, Peer);
    their_client_to_our_peer: (Theirs, Client), FromDials, (Ours, Peer);
    our_peer_to_their_client: (Ours, Peer), ToDials, (Theirs, Client);
    our_client_to_their_peer: (Ours, Client), FromDials, (Theirs, Peer);
    their_peer_to_our_client: (Theirs, Peer), ToDials, (Ours, Client);
    theirs_their_router_theirs: (Theirs, Client), THEIR_ROUTER, (Theirs, Client);
    theirs_dials_theirs: (Theirs, Peer), FromDials, (Theirs, Peer);
}
