// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a node is noticed at once: the link is closed and publishers know that no subscriber
//! is left, long before a lease ends.

use crate::environment;
use crate::party::{Party, Subscription};
use crate::scene::{self, Scene};
use crate::wait::{SOON, until_within};

/// Closes the subscribing party; the publishing one and its subscribers notice.
fn it_is_missed(scene: Scene, leave: fn(Party, Subscription)) {
    let subscription = scene.to.subscribe("closing/*");
    let publisher = scene.from.matched_publisher("closing/now");
    let zid = scene.to.zid();
    leave(scene.to, subscription);
    until_within(SOON, "the publisher has no subscriber any more", || {
        !publisher.is_matched()
    });
    if let Some(router) = scene.router {
        until_within(SOON, "the router has only one client left", || {
            router.linked().is_none_or(|linked| !linked.contains(&zid))
        });
        let from = scene.from;
        let zid = router.zid.clone();
        assert!(from.linked().contains(&zid));
        router.end();
        until_within(SOON, "the router is gone", || !from.linked().contains(&zid));
    } else {
        until_within(SOON, "the link is gone", || scene.from.linked().is_empty());
    }
}

#[test]
fn a_close_is_seen_at_once() {
    if environment::python().is_some() {
        for scene in [
            scene::ours_dials_theirs,
            scene::theirs_dials_ours,
            scene::theirs_our_library_router_theirs,
            scene::theirs_our_router_ours,
            scene::ours_our_router_theirs,
            scene::ours_their_router_ours,
            scene::theirs_their_router_ours,
        ] {
            it_is_missed(scene(), |party, _| party.close());
        }
    }
}

/// A process of theirs that is killed sends nothing; its sockets are closed.
#[test]
fn a_killed_process_is_seen_at_once() {
    if environment::python().is_some() {
        for scene in [
            scene::ours_dials_theirs,
            scene::ours_is_dialled_by_theirs,
            scene::theirs_our_library_router_theirs,
            scene::ours_our_router_theirs,
        ] {
            it_is_missed(scene(), |party, subscription| drop((party, subscription)));
        }
    }
}

crate::environment::against_older! {
    a_close_is_seen_at_once
    a_killed_process_is_seen_at_once
}
