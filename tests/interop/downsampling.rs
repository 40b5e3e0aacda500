// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `downsampling` in a router: our router and theirs thin out the same messages, from
//! clients of either system.

use std::time::{Duration, Instant};

use zonda::config::WhatAmI;

use crate::environment;
use crate::message::{Message, Pattern, Service};
use crate::party::{Party, Setup};
use crate::questions::{Conditions, Question};
use crate::router::{Router, free_endpoint};
use crate::wait::until;

/// Messages per second.
const RATE: f64 = 10.0;

const RULES: &str = r#"[
    {"messages": ["put"], "flows": ["egress"],
     "rules": [{"key_expr": "down/rate/**", "freq": 10}, {"key_expr": "down/none", "freq": 0}]},
    {"messages": ["query"], "flows": ["ingress"], "rules": [{"key_expr": "down/q", "freq": 0.001}]},
    {"messages": ["put", "delete"], "link_protocols": ["tls"], "rules": [{"key_expr": "**", "freq": 0}]}
]"#;

fn our_router() -> Router {
    Router::process_with(&["--cfg", &format!("downsampling:{RULES}")])
}

fn their_router() -> Router {
    let listening = Setup::listening(WhatAmI::Router, &free_endpoint());
    Router::of_theirs(&Setup {
        options: vec![("downsampling", RULES)],
        ..listening
    })
}

fn put() -> Message {
    Message::put(Pattern { len: 8, seed: 1 })
}

/// Two keys share a rate, which deletes are not subject to.
fn publications_are_thinned_out_alike(from: &Party, to: &Party) {
    let seen = to.subscribe("**");
    // The publisher may still know a subscriber of the pass before, so it is matched too early.
    let publisher = from.matched_publisher("other/first");
    until("the first one arrives", || {
        publisher.publish(&put());
        seen.next_within(Duration::from_millis(200)).is_some()
    });
    let begin = Instant::now();
    let mut sent = 0;
    while begin.elapsed() < Duration::from_secs(3) {
        for key in ["down/rate/a", "down/rate/b", "down/none"] {
            from.publish(key, Service::BLOCK, &put());
        }
        sent += 1;
        std::thread::sleep(Duration::from_millis(5));
    }
    let expected = begin.elapsed().as_secs_f64() * RATE;
    for _ in 0..5 {
        from.publish("down/rate/a", Service::BLOCK, &Message::delete());
    }
    from.publish("other/last", Service::BLOCK, &put());
    let (mut passed, mut deletes) = (0, 0);
    loop {
        let one = seen.next();
        match one.key.as_str() {
            "other/first" => {}
            "other/last" => break,
            "down/rate/a" | "down/rate/b" if one.delete => deletes += 1,
            "down/rate/a" | "down/rate/b" => passed += 1,
            other => panic!("{other} came"),
        }
    }
    assert_eq!(deletes, 5);
    let bounds = expected / 3.0..=expected + 3.0;
    assert!(
        bounds.contains(&f64::from(passed)),
        "{passed} of {sent}, expected {expected}"
    );
}

/// The first of two queries is answered; the second one ends at once.
fn queries_are_thinned_out_alike(from: &Party, to: &Party) {
    let answering = to.queryable("down/q");
    let querying = from.querier("down/q", Conditions::default());
    until("the queryable is known", || querying.is_matched());
    let question = || Question::with(Pattern { len: 1, seed: 1 });
    let asking = querying.ask("", question());
    let asked = answering.next();
    asked.reply("down/q", &put());
    asked.finish();
    assert_eq!(asking.replies().len(), 1);
    let begin = Instant::now();
    assert_eq!(querying.ask("", question()).replies().len(), 0);
    assert!(begin.elapsed() < Duration::from_secs(5), "it ends at once");
    assert!(answering.try_next().is_none(), "dropped at the router");
    answering.undeclare();
}

fn everywhere(router: fn() -> Router) {
    if environment::python().is_none() {
        return;
    }
    let router = router();
    let setup = Setup::client(&router.endpoint);
    let (ours, theirs) = (Party::Ours(setup.ours()), Party::Theirs(setup.theirs()));
    for (from, to) in [(&ours, &theirs), (&theirs, &ours)] {
        publications_are_thinned_out_alike(from, to);
        queries_are_thinned_out_alike(from, to);
    }
    assert_eq!(router.complaints(), [""; 0]);
}

#[test]
fn our_router_thins_out_messages() {
    everywhere(our_router);
}

#[test]
fn their_router_thins_out_messages() {
    everywhere(their_router);
}
