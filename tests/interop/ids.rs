// SPDX-License-Identifier: MIT OR Apache-2.0
//! Key expression ids on the wire: both implementations send frequent keys by id in both
//! directions, and each understands the other's ids, and its own when the other one uses them.

use zonda::config::WhatAmI;

use crate::environment;
use crate::message::{Message, Pattern, Service};
use crate::party::{Party, Setup};
use crate::proxy::{Proxy, Said, Speaker, Spelling};
use crate::router::{Router, free_endpoint};
use crate::wait::until;

/// A party at one end of the wire, and the node at the other end or behind it.
struct Wire {
    near: Party,
    far: Party,
    proxy: Proxy,
    _router: Option<Router>,
}

/// Connects a client, the wire, a router, and another client.
fn to_router(router: Router, near: fn(&Setup) -> Party, far: fn(&Setup) -> Party) -> Wire {
    let proxy = Proxy::to(&router.endpoint);
    Wire {
        near: near(&Setup::client(&proxy.endpoint)),
        far: far(&Setup::client(&router.endpoint)),
        proxy,
        _router: Some(router),
    }
}

/// Connects two peers with the wire between them.
fn to_peer(near: fn(&Setup) -> Party, far: fn(&Setup) -> Party) -> Wire {
    let endpoint = free_endpoint();
    let far = far(&Setup::listening(WhatAmI::Peer, &endpoint));
    let proxy = Proxy::to(&endpoint);
    Wire {
        near: near(&Setup::peer_at(&proxy.endpoint)),
        far,
        proxy,
        _router: None,
    }
}

fn ours(setup: &Setup) -> Party {
    Party::Ours(setup.ours())
}

fn theirs(setup: &Setup) -> Party {
    Party::Theirs(setup.theirs())
}

impl Wire {
    /// Publishes ten times in each direction, by declared publishers to declared subscribers; puts on neighbouring
    /// keys as well, which begin with a declared one.
    fn exchange(&self) {
        let directions = [
            (&self.near, &self.far, "ids/up"),
            (&self.far, &self.near, "ids/down"),
        ];
        for (from, to, under) in directions {
            let key = format!("{under}/a");
            let subscription = to.subscribe(&format!("{under}/**"));
            let publisher = from.matched_publisher(&key);
            for seed in 0..10 {
                publisher.publish(&Message::put(Pattern::short(seed)));
                let seen = subscription.next();
                assert_eq!(seen.key, key);
                assert!(seen.carries(Pattern::short(seed)));
            }
            for more in ["", "/b", "/a/b/c"] {
                let key = format!("{under}{more}");
                from.publish(&key, Service::BLOCK, &Message::put(Pattern::short(1)));
                assert_eq!(subscription.next().key, key);
            }
        }
    }

    /// Returns the spellings of the keys that an end published on.
    fn pushed(&self, speaker: Speaker) -> Vec<Spelling> {
        let said = self.proxy.said(speaker).into_iter();
        let pushed = |said| match said {
            Said::Push(spelling) => Some(spelling),
            _ => None,
        };
        said.filter_map(pushed).collect()
    }

    /// Counts the pushes of an end that name a key by its own id, and by the other end's.
    fn brief(&self, speaker: Speaker) -> (usize, usize) {
        let pushed = self.pushed(speaker);
        let count = |own| {
            pushed
                .iter()
                .filter(|s| s.scope != 0 && s.own == own)
                .count()
        };
        (count(true), count(false))
    }

    /// Asserts that an end has declared every id that it uses as its own, as a text without
    /// wildcards.
    fn declares_before_use(&self, speaker: Speaker) {
        let mut declared = Vec::new();
        for said in self.proxy.said(speaker) {
            match said {
                Said::Id { id, text } => {
                    assert!(!text.is_empty(), "id {id} stands for nothing");
                    declared.push(id);
                }
                Said::Push(spelling) | Said::Subscriber(spelling) if spelling.own => {
                    let known = spelling.scope == 0 || declared.contains(&spelling.scope);
                    assert!(known, "{spelling:?} was not declared: {declared:?}");
                }
                _ => {}
            }
        }
    }
}

/// Asserts that ours publishes by key id, with any party at the other end.
fn ours_is_brief(wire: &Wire, speaker: Speaker) {
    wire.exchange();
    wire.declares_before_use(speaker);
    let (own, other) = wire.brief(speaker);
    let pushed = wire.pushed(speaker);
    assert_eq!(pushed.len(), 13, "{pushed:?}");
    assert!(own + other >= 10, "whole texts again and again: {pushed:?}");
    for spelling in pushed.iter().filter(|s| s.scope != 0) {
        assert!(!spelling.suffix.starts_with("ids"), "{spelling:?}");
    }
}

#[test]
fn our_client_and_their_router() {
    if environment::python().is_some() {
        let wire = to_router(Router::theirs(), ours, theirs);
        ours_is_brief(&wire, Speaker::Dialler);
        let (own, _) = wire.brief(Speaker::Dialler);
        assert!(own >= 10, "our publisher's key has an id of ours");
        let (_, of_ours) = wire.brief(Speaker::Listener);
        assert!(
            of_ours >= 10,
            "the router uses the ids that we gave our subscriber"
        );
    }
}

#[test]
fn their_client_and_our_router() {
    if environment::python().is_some() {
        let wire = to_router(Router::process(), theirs, ours);
        ours_is_brief(&wire, Speaker::Listener);
        let (_, of_theirs) = wire.brief(Speaker::Listener);
        assert!(
            of_theirs >= 10,
            "we use the ids that they gave their subscriber"
        );
        let (own, _) = wire.brief(Speaker::Dialler);
        assert!(own >= 10, "their publisher's key has an id of theirs");
    }
}

#[test]
fn our_peer_and_theirs() {
    if environment::python().is_some() {
        let wire = to_peer(ours, theirs);
        ours_is_brief(&wire, Speaker::Dialler);
        let (own, of_ours) = wire.brief(Speaker::Listener);
        assert!(own + of_ours >= 10, "their publisher's key has an id");
    }
}

#[test]
fn their_peer_and_ours() {
    if environment::python().is_some() {
        let wire = to_peer(theirs, ours);
        ours_is_brief(&wire, Speaker::Listener);
        let (own, of_theirs) = wire.brief(Speaker::Dialler);
        assert!(own + of_theirs >= 10, "their publisher's key has an id");
    }
}

/// A close is sent, not only done.
#[test]
fn our_close_is_on_the_wire() {
    if environment::python().is_some() {
        let router = Router::theirs();
        let proxy = Proxy::to(&router.endpoint);
        let client = ours(&Setup::client(&proxy.endpoint));
        assert!(client.linked().contains(&router.zid));
        client.close();
        until("the close is said", || {
            proxy.said(Speaker::Dialler).contains(&Said::Close)
        });
    }
}

crate::environment::against_older! {
    our_client_and_their_router
    their_client_and_our_router
    our_peer_and_theirs
    their_peer_and_ours
    our_close_is_on_the_wire
}
