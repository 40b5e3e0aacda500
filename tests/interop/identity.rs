// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two nodes with one id: the second is refused, the first does not notice.

use zonda::config::WhatAmI;

use crate::environment;
use crate::message::{Message, Pattern};
use crate::party::{Party, Setup};
use crate::reference::Reference;
use crate::router::Router;

const SAME: &str = "5a5e";

/// Connects `first` and `second` with one id to `router`.
fn the_second_is_refused(
    router: &Router,
    first: fn(&Setup) -> Party,
    second: fn(&Setup) -> Result<Party, String>,
) {
    let setup = Setup::client(&router.endpoint).with_zid(SAME);
    let first = first(&setup);
    let subscription = first.subscribe("identity");
    let other = Party::Theirs(Setup::client(&router.endpoint).theirs());
    let publisher = other.matched_publisher("identity");
    for seed in 1..=2 {
        assert!(second(&setup).is_err(), "two nodes with one id");
        publisher.publish(&Message::put(Pattern::short(seed)));
        assert!(subscription.next().carries(Pattern::short(seed)));
        assert!(publisher.is_matched());
        assert!(subscription.try_next().is_none());
    }
    assert_eq!(
        first.linked().into_iter().collect::<Vec<_>>(),
        [&*router.zid]
    );
}

fn ours(setup: &Setup) -> Party {
    Party::Ours(setup.ours())
}

fn theirs(setup: &Setup) -> Party {
    Party::Theirs(setup.theirs())
}

fn try_ours(setup: &Setup) -> Result<Party, String> {
    setup.try_ours().map(Party::Ours).map_err(|e| e.to_string())
}

fn try_theirs(setup: &Setup) -> Result<Party, String> {
    let opened = setup.try_theirs_in(&Reference::start());
    opened.map(Party::Theirs)
}

#[test]
fn our_router_refuses_a_second_node_of_the_same_id() {
    if environment::python().is_some() {
        the_second_is_refused(&Router::process(), theirs, try_theirs);
        the_second_is_refused(&Router::process(), ours, try_theirs);
        the_second_is_refused(&Router::process(), theirs, try_ours);
    }
}

#[test]
fn their_router_refuses_a_second_one_of_ours() {
    if environment::python().is_some() {
        the_second_is_refused(&Router::theirs(), theirs, try_ours);
    }
}

/// The reference's router and a client of ours with its own id.
#[test]
fn a_node_does_not_connect_to_its_own_id() {
    if environment::python().is_some() {
        let router = Router::process();
        let zid: &'static str = router.zid.clone().leak();
        let setup = Setup::client(&router.endpoint).with_zid(zid);
        assert!(try_theirs(&setup).is_err(), "a link to its own id");
        let router = Router::theirs();
        let zid: &'static str = router.zid.clone().leak();
        let setup = Setup::client(&router.endpoint).with_zid(zid);
        let refused = try_ours(&setup).err().expect("a link to its own id");
        assert_eq!(refused.lines().count(), 1, "{refused}");
    }
}

/// Peers that dial each other at once end up with one link, whichever side wins.
#[test]
fn peers_that_dial_each_other_keep_one_link() {
    if environment::python().is_some() {
        let [first, second] = [0, 1].map(|_| crate::router::free_endpoint());
        let both = |listen: &str, connect: &str| Setup {
            connect: vec![connect.to_owned()],
            ..Setup::listening(WhatAmI::Peer, listen)
        };
        let ours = ours(&both(&first, &second));
        let theirs = theirs(&both(&second, &first));
        // A key for each direction, so that no publisher is matched by a subscriber of its own
        // session.
        for (key, from, to) in [("to/theirs", &ours, &theirs), ("to/ours", &theirs, &ours)] {
            let subscription = to.subscribe(key);
            let publisher = from.matched_publisher(key);
            for seed in 0..10 {
                publisher.publish(&Message::put(Pattern::short(seed)));
                assert!(subscription.next().carries(Pattern::short(seed)));
            }
            assert!(subscription.try_next().is_none(), "something came twice");
            assert_eq!(from.linked().len(), 1);
        }
    }
}

crate::environment::against_older! {
    our_router_refuses_a_second_node_of_the_same_id
    their_router_refuses_a_second_one_of_ours
    a_node_does_not_connect_to_its_own_id
    peers_that_dial_each_other_keep_one_link
}
