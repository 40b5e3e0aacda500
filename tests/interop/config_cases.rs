// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties that hold in every arrangement for sessions with other configurations: timestamps and
//! namespaces.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::message::{Message, Pattern, Service};
use crate::party::Party;
use crate::questions::{Conditions, Question};
use crate::scene::{Arrangement, NOTHING, Options, Scene};

/// Runs a case of this file, which opens its scene itself.
pub fn play(arrangement: Arrangement, case: fn(Arrangement) -> Scene) {
    let scene = case(arrangement);
    assert_eq!(scene.complaints(), [""; 0]);
}

const STAMPING: Options = &[("timestamping/enabled", "true")];
const INSIDE: Options = &[("namespace", "\"out/er\"")];

fn put(seed: u64) -> Message {
    Message::put(Pattern::short(seed))
}

/// A session that is configured to stamps its publications, deletes too, and keeps timestamps that
/// it is given.
pub fn sessions_stamp_when_told_to(arrangement: Arrangement) -> Scene {
    let scene = arrangement.open_with(STAMPING, NOTHING);
    let subscription = scene.to.subscribe("stamped/*");
    let publisher = scene.from.matched_publisher("stamped/x");
    let zid = scene.from.zid();
    let mut last = 0;
    // with and without a declared publisher, times always increase
    for message in [put(1), Message::delete(), put(2)] {
        publisher.publish(&message);
        scene.from.publish("stamped/y", Service::BLOCK, &message);
        for _ in 0..2 {
            let seen = subscription.next();
            assert_eq!(seen.stamped_by(), Some(&*zid), "{seen:?}");
            let time = seen.timestamp.as_deref().and_then(|t| t.split('/').next());
            let time: u64 = time.expect("a time").parse().expect("a number");
            assert!(time > last, "the clock stands still: {time}");
            last = time;
        }
    }
    // a timestamp of the message's own is kept
    let shifted = Message {
        stamp_shift: Some(-60.0),
        ..put(3)
    };
    let receipt = publisher.publish(&shifted);
    assert_eq!(subscription.next().timestamp, receipt.timestamp);
    scene
}

/// Waits until all earlier declarations of one party are known to the other one. Each sees the key
/// in its own way.
fn settles(heard: (&Party, &str), known: (&Party, &str)) {
    static ROUND: AtomicU32 = AtomicU32::new(0);
    let round = ROUND.fetch_add(1, Ordering::Relaxed);
    let key = |prefix: &str| format!("{prefix}settled/{round}");
    let marker = heard.0.subscribe(&key(heard.1));
    drop(known.0.matched_publisher(&key(known.1)));
    marker.undeclare();
}

/// Keys of a session with a namespace begin with it for other sessions; messages outside of it do
/// not exist for the session.
pub fn namespaces_hold_for_publications(arrangement: Arrangement) -> Scene {
    // publications from inside arrive with the prefix
    let scene = arrangement.open_with(INSIDE, NOTHING);
    let (inside, outside) = (&scene.from, &scene.to);
    let all = outside.subscribe("**");
    let publisher = inside.matched_publisher("x/a");
    publisher.publish(&put(1));
    assert_eq!(all.next().key, "out/er/x/a");
    inside.publish("x/b", Service::BLOCK, &put(2));
    assert_eq!(all.next().key, "out/er/x/b");
    inside.publish("x/*", Service::BLOCK, &Message::delete());
    assert_eq!(all.next().key, "out/er/x/*");
    all.undeclare();

    // publications from outside arrive without it, or not at all
    let own = inside.subscribe("x/**");
    let publisher = outside.matched_publisher("out/er/x/1");
    for key in ["x/2", "x/**", "out/x/2", "out/er"] {
        outside.publish(key, Service::BLOCK, &put(3));
    }
    publisher.publish(&put(4));
    outside.publish("out/er/x", Service::BLOCK, &put(5));
    let (first, second) = (own.next(), own.next());
    assert_eq!((&*first.key, &*second.key), ("x/1", "x"));
    assert!(first.carries(Pattern::short(4)));
    assert!(second.carries(Pattern::short(5)));
    scene
}

/// Namespaces hold for queries and their replies.
pub fn namespaces_hold_for_queries(arrangement: Arrangement) -> Scene {
    // a query from inside goes out with the prefix, and its reply returns without it
    let scene = arrangement.open_with(INSIDE, NOTHING);
    let (inside, outside) = (&scene.from, &scene.to);
    let queryable = outside.queryable("**");
    settles((outside, "out/er/"), (inside, ""));
    let asking = inside.ask("q/*?a=1", Conditions::default(), Question::PLAIN);
    let asked = queryable.next();
    assert_eq!((&*asked.key, &*asked.parameters), ("out/er/q/*", "a=1"));
    asked.reply("out/er/q/1", &put(1));
    asked.finish();
    assert_eq!(asking.keys(), ["q/1"]);
    queryable.undeclare();

    // a query from outside must have the prefix
    let own = inside.queryable("q/*");
    settles((inside, ""), (outside, "out/er/"));
    let asks = |key| outside.ask(key, Conditions::default(), Question::PLAIN);
    asks("q/1").ends();
    let asking = asks("out/er/q/1");
    let asked = own.next();
    assert_eq!(asked.key, "q/1");
    asked.reply("q/1", &put(2));
    asked.finish();
    assert_eq!(asking.keys(), ["out/er/q/1"]);
    scene
}

/// Namespaces hold for liveliness.
pub fn namespaces_hold_for_liveliness(arrangement: Arrangement) -> Scene {
    let scene = arrangement.open_with(INSIDE, NOTHING);
    let (inside, outside) = (&scene.from, &scene.to);
    let token = inside.token("own/a");
    settles((inside, ""), (outside, "out/er/"));
    assert_eq!(outside.alive("**").keys(), ["out/er/own/a"]);
    // the reference finds its own tokens twice; if the second copy comes behind the end it counts
    // as another token, which stays: the watcher below watches another key
    let mut own = inside.alive("**").keys();
    own.dedup();
    assert_eq!(own, ["own/a"]);
    token.undeclare();

    let _other = outside.token("live/b");
    let _known = outside.token("out/er/live/c");
    settles((outside, "out/er/"), (inside, ""));
    assert_eq!(inside.alive("live/*").keys(), ["live/c"]);
    let watcher = inside.watch("live/**", true);
    assert_eq!(watcher.next().key, "live/c");
    let _later = outside.token("out/er/live/d");
    assert_eq!(watcher.next().key, "live/d");
    scene
}
