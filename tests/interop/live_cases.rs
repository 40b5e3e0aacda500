// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of liveliness in every scene, for any watcher (`from`) and any owner of tokens
//! (`to`).

use crate::message::Pattern;
use crate::party::{Party, Subscription};
use crate::scene::Scene;
pub use crate::scene::play;
use crate::wait::{SOON, until_within};

/// Returns the next change that a watcher sees: true and the key of a new token, or false and that
/// of an ended one.
fn next(watcher: &Subscription) -> (bool, String) {
    let seen = watcher.next();
    assert!(seen.carries(Pattern::default()), "{seen:?}");
    (!seen.delete, seen.key)
}

fn appeared(key: &str) -> (bool, String) {
    (true, key.to_owned())
}

fn vanished(key: &str) -> (bool, String) {
    (false, key.to_owned())
}

/// Returns the keys of existing tokens.
fn alive(scene: &Scene, key: &str) -> Vec<String> {
    scene.from.alive(key).keys()
}

/// Existing tokens are found by key, each once.
pub fn tokens_are_found(scene: &Scene) {
    assert_eq!(alive(scene, "live/**"), [""; 0]);
    let a = scene.to.token("live/a");
    let b = scene.to.token("live/b/c");
    let second = scene.to.token("live/a");
    scene.settles();
    assert_eq!(alive(scene, "live/**"), ["live/a", "live/b/c"]);
    assert_eq!(alive(scene, "live/*"), ["live/a"]);
    assert_eq!(alive(scene, "live/b/c"), ["live/b/c"]);
    assert_eq!(alive(scene, "live/c"), [""; 0]);
    a.undeclare();
    scene.settles();
    assert_eq!(alive(scene, "live/*"), ["live/a"], "one is left");
    second.undeclare();
    b.undeclare();
    scene.settles();
    assert_eq!(alive(scene, "live/**"), [""; 0]);
}

/// A token is neither a subscriber nor a queryable, and a query does not find it.
pub fn tokens_are_nothing_else(scene: &Scene) {
    let _token = scene.to.token("live/only");
    let publisher = scene
        .from
        .publisher("live/only", crate::message::Service::BLOCK);
    scene.settles();
    assert!(!publisher.is_matched());
    let conditions = crate::questions::Conditions::default();
    let question = crate::questions::Question::PLAIN;
    scene.from.ask("live/**", conditions, question).ends();
    assert_eq!(alive(scene, "live/**"), ["live/only"]);
}

/// A watcher without history sees later changes only.
pub fn coming_and_going_is_seen(scene: &Scene) {
    let watcher = scene.from.watch("live/**", false);
    scene.settles_back();
    let first = scene.to.token("live/1");
    assert_eq!(next(&watcher), appeared("live/1"));
    let second = scene.to.token("live/2/x");
    let _else = scene.to.token("other/3");
    assert_eq!(next(&watcher), appeared("live/2/x"));
    first.undeclare();
    assert_eq!(next(&watcher), vanished("live/1"));
    let _again = scene.to.token("live/1");
    assert_eq!(next(&watcher), appeared("live/1"));
    second.undeclare();
    assert_eq!(next(&watcher), vanished("live/2/x"));
    watcher.undeclare();
}

/// A watcher with history sees the existing tokens first, each once, and then the changes.
pub fn history_comes_first(scene: &Scene) {
    let tokens = ["live/1", "live/2", "live/3"].map(|key| scene.to.token(key));
    let _else = scene.to.token("other/4");
    scene.settles();
    let watcher = scene.from.watch("live/*", true);
    let mut seen = [(); 3].map(|()| next(&watcher));
    seen.sort_unstable();
    assert_eq!(seen, ["live/1", "live/2", "live/3"].map(appeared));
    let _more = scene.to.token("live/5");
    assert_eq!(next(&watcher), appeared("live/5"));
    for (token, key) in tokens.into_iter().zip(["live/1", "live/2", "live/3"]) {
        token.undeclare();
        assert_eq!(next(&watcher), vanished(key));
    }
    let narrow = scene.from.watch("live/5", true);
    assert_eq!(next(&narrow), appeared("live/5"));
    assert!(watcher.try_next().is_none(), "something came twice");
}

/// Tokens of one key count as one: the first appears, the last vanishes.
pub fn tokens_of_one_key_are_one(scene: &Scene) {
    let watcher = scene.from.watch("live/**", true);
    let first = scene.to.token("live/same");
    assert_eq!(next(&watcher), appeared("live/same"));
    let other = scene.another();
    let second = other.as_ref().unwrap_or(&scene.to).token("live/same");
    scene.settles_with(other.as_ref().unwrap_or(&scene.to));
    first.undeclare();
    let marker = scene.to.token("live/marker");
    assert_eq!(next(&watcher), appeared("live/marker"), "one is left");
    // from 1.9 on, the reference's sessions with watchers find nothing in some queries
    if matches!(scene.from, Party::Ours(_)) {
        assert_eq!(alive(scene, "live/same"), ["live/same"]);
    }
    second.undeclare();
    assert_eq!(next(&watcher), vanished("live/same"));
    marker.undeclare();
    assert_eq!(next(&watcher), vanished("live/marker"));
}

/// Tokens of a node that crashes end, and every watcher is notified.
pub fn a_crash_ends_liveliness(scene: &Scene) {
    let _tokens = ["live/crash/1", "live/crash/2"].map(|key| scene.to.token(key));
    let watcher = scene.from.watch("live/**", true);
    let mut seen = [(); 2].map(|()| next(&watcher));
    seen.sort_unstable();
    assert_eq!(seen, ["live/crash/1", "live/crash/2"].map(appeared));
    scene.to.crash();
    let mut seen = [(); 2].map(|()| next(&watcher));
    seen.sort_unstable();
    assert_eq!(seen, ["live/crash/1", "live/crash/2"].map(vanished));
    // a client without any queryable to ask waits until there is one
    if scene.router.is_some() {
        until_within(SOON, "nothing is alive", || {
            alive(scene, "live/**").is_empty()
        });
    }
}
