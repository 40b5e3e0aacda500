// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of matching in every scene: any publisher or querier (`from`) knows whether a match
//! exists.

use crate::listening::Listening;
use crate::message::{Message, Pattern, Service};
use crate::questions::{Conditions, Question, Target};
use crate::scene::Scene;
pub use crate::scene::play;
use crate::wait::until;

/// Asserts that the listener reports this change, and that the status agrees.
fn tells(listener: &Listening, status: impl Fn() -> bool, matching: bool) {
    assert_eq!(listener.next(), matching);
    assert_eq!(status(), matching);
}

/// A publisher's listener reports the first subscriber and the end of the last one, and nothing
/// else.
pub fn publishers_know_whether_anybody_listens(scene: &Scene) {
    let publisher = scene.from.publisher("match/pub/a", Service::BLOCK);
    let listener = publisher.listen();
    let status = || publisher.is_matched();
    assert!(!status());
    let elsewhere = scene.to.subscribe("match/other");
    let first = scene.to.subscribe("match/pub/*");
    tells(&listener, status, true);
    let second = scene.to.subscribe("match/**");
    scene.settles();
    first.undeclare();
    scene.settles();
    publisher.publish(&Message::put(Pattern::short(1)));
    assert!(second.next().carries(Pattern::short(1)));
    second.undeclare();
    tells(&listener, status, false);
    let third = scene.to.subscribe("match/pub/a");
    tells(&listener, status, true);
    third.undeclare();
    tells(&listener, status, false);
    assert!(elsewhere.try_next().is_none());
    assert!(listener.try_next().is_none(), "it told something twice");
}

/// A publisher's listener reports the crash of the subscriber.
pub fn publishers_know_of_a_crash(scene: &Scene) {
    let publisher = scene.from.publisher("match/crash", Service::BLOCK);
    let listener = publisher.listen();
    let _subscription = scene.to.subscribe("match/*");
    tells(&listener, || publisher.is_matched(), true);
    scene.to.crash();
    tells(&listener, || publisher.is_matched(), false);
}

/// A querier's listener reports the first queryable and the end of the last one.
pub fn queriers_know_whether_anybody_answers(scene: &Scene) {
    let querier = scene.from.querier("match/q/a", Conditions::default());
    let listener = querier.listen();
    let status = || querier.is_matched();
    assert!(!status());
    let _elsewhere = scene.to.queryable("match/other");
    let first = scene.to.queryable("match/q/*");
    tells(&listener, status, true);
    let second = scene.to.queryable("match/**");
    scene.settles();
    first.undeclare();
    scene.settles();
    let asking = querier.ask("", Question::PLAIN);
    second.next().finish();
    asking.ends();
    second.undeclare();
    tells(&listener, status, false);
    querier.ask("", Question::PLAIN).ends();
    let third = scene.to.queryable("match/q/a");
    tells(&listener, status, true);
    third.undeclare();
    tells(&listener, status, false);
    assert!(listener.try_next().is_none(), "it told something twice");
}

/// A querier for complete queryables is matched by queryables that cover all of its key.
pub fn queriers_of_complete_queryables_wait_for_them(scene: &Scene) {
    let querier = scene
        .from
        .querier("match/c/*", Conditions::of(Target::AllComplete));
    let listener = querier.listen();
    let _incomplete = scene.to.queryable_of("match/c/**", false);
    let _narrow = scene.to.queryable_of("match/c/a", true);
    scene.settles();
    assert!(!querier.is_matched());
    let complete = scene.to.queryable_of("match/**", true);
    tells(&listener, || querier.is_matched(), true);
    complete.undeclare();
    tells(&listener, || querier.is_matched(), false);
    until("nothing more is told", || listener.try_next().is_none());
}
