// SPDX-License-Identifier: MIT OR Apache-2.0
//! Declarations and queries without a counterpart end at once, and publishing continues.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use serde_json::json;

use crate::environment;
use crate::message::{Message, Pattern};
use crate::party::{Party, Setup, Theirs};
use crate::router::Router;
use crate::scene::{self, Scene};
use crate::wait::SOON;

/// Queries, and waits for the end, with no reply before it.
fn gets_nothing_at_once(theirs: &Theirs, key: &str, liveliness: bool) {
    let begin = Instant::now();
    let command = theirs.command(json!({"key": key, "liveliness": liveliness}));
    let answer = theirs.process.call("get", command);
    assert_eq!(answer["replies"], 0, "{key} liveliness={liveliness}");
    let took = begin.elapsed();
    assert!(took < SOON, "{key} liveliness={liveliness}: {took:?}");
}

/// Declares and queries everything, and asserts that messages still arrive.
fn goes_on(theirs: &Theirs, publishing: &Party, subscribing: &Party) {
    for key in ["others/key", "others/**"] {
        let about = |key| theirs.command(json!({"key": key}));
        theirs.process.call("declare_others", about(key));
        gets_nothing_at_once(theirs, "nobody/has/this", false);
        gets_nothing_at_once(theirs, "nobody/has/this", true);
        theirs.process.call("undeclare_others", about(key));
    }
    // A key of its own: the undeclaration of an earlier subscriber may still be on its way, and a publisher that it
    // still matches would publish before the new one is known to the router.
    static ROUND: AtomicU32 = AtomicU32::new(0);
    let round = ROUND.fetch_add(1, Ordering::Relaxed);
    let subscription = subscribing.subscribe(&format!("others/{round}/*"));
    let publisher = publishing.matched_publisher(&format!("others/{round}/key"));
    publisher.publish(&Message::put(Pattern::short(1)));
    assert!(subscription.next().carries(Pattern::short(1)));
}

#[test]
fn our_router_answers_their_queries_and_tokens() {
    if environment::python().is_some() {
        let router = Router::process();
        let theirs = Setup::client(&router.endpoint).theirs();
        let peer = Setup::peer_at(&router.endpoint).theirs();
        let ours = Party::Ours(Setup::client(&router.endpoint).ours());
        let other = Party::Theirs(Setup::client(&router.endpoint).theirs());
        for asking in [&theirs, &peer] {
            goes_on(asking, &ours, &other);
            goes_on(asking, &other, &ours);
        }
        assert_eq!(router.complaints(), [""; 0]);
        assert_eq!(theirs.process.complaints(), [""; 0]);
    }
}

#[test]
fn our_session_answers_their_queries_and_tokens() {
    if environment::python().is_some() {
        for scene in [
            scene::ours_dials_theirs,
            scene::ours_is_dialled_by_theirs,
            scene::our_client_to_their_peer,
            scene::our_peer_to_their_client,
            scene::ours_their_router_theirs,
        ] {
            let scene: Scene = scene();
            let Party::Theirs(theirs) = &scene.to else {
                panic!("they are at this end")
            };
            goes_on(theirs, &scene.from, &scene.to);
            goes_on(theirs, &scene.to, &scene.from);
            assert_eq!(scene.complaints(), [""; 0]);
        }
    }
}

crate::environment::against_older! {
    our_router_answers_their_queries_and_tokens
    our_session_answers_their_queries_and_tokens
}
