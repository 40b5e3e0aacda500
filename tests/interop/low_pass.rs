// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `low_pass_filter` in a router: our router and theirs pass the same messages, from
//! clients of either system.

use std::iter;
use std::time::Duration;

use zonda::config::WhatAmI;

use crate::environment;
use crate::message::{Message, Pattern, Service};
use crate::party::{Party, Setup};
use crate::questions::{Conditions, Question};
use crate::router::{Router, free_endpoint};
use crate::wait::until;

const RULES: &str = r#"[
    {"messages": ["put", "delete", "query", "reply"], "key_exprs": ["low/**"], "size_limit": 10},
    {"messages": ["put"], "flows": ["ingress"], "key_exprs": ["low/narrow"], "size_limit": 4},
    {"messages": ["put"], "link_protocols": ["tls"], "key_exprs": ["**"], "size_limit": 0}
]"#;

/// Rules for both directions.
const BOTH_WAYS: &str =
    r#"[{"messages": ["put", "delete"], "key_exprs": ["low/a"], "size_limit": 10}]"#;

fn our_router() -> Router {
    Router::process_with(&["--cfg", &format!("low_pass_filter:{RULES}")])
}

fn their_router() -> Router {
    let listening = Setup::listening(WhatAmI::Router, &free_endpoint());
    Router::of_theirs(&Setup {
        options: vec![("low_pass_filter", RULES)],
        ..listening
    })
}

fn put(len: usize, attachment: Option<&'static [u8]>) -> Message {
    Message {
        attachment,
        ..Message::put(Pattern { len, seed: 1 })
    }
}

/// Returns puts and deletes, each with true if it passes; `is_narrow` adds the one that only an
/// ingress rule stops.
fn publications(is_narrow: bool) -> Vec<(&'static str, Message, bool)> {
    let delete = |attachment| Message {
        attachment,
        ..Message::delete()
    };
    vec![
        ("low/a", put(0, None), true),
        ("low/a", put(10, None), true),
        ("low/a", put(11, None), false),
        ("low/a", put(8, Some(b"xyz")), false),
        ("low/a", put(7, Some(b"xyz")), true),
        ("low/a", put(100_000, None), false),
        ("low/a", delete(None), true),
        ("low/a", delete(Some(b"0123456789")), true),
        ("low/a", delete(Some(b"0123456789a")), false),
        ("low/narrow", put(4, None), true),
        ("low/narrow", put(5, None), !is_narrow),
        ("lower/a", put(100_000, None), true),
        ("other", put(1000, Some(b"xyz")), true),
    ]
}

fn publications_pass_alike(from: &Party, to: &Party) {
    pass(from, to, true);
}

fn pass(from: &Party, to: &Party, is_narrow: bool) {
    let seen = to.subscribe("**");
    // The publisher may still know a subscriber of the pass before, so it is matched too early.
    let publisher = from.matched_publisher("other/first");
    until("the first one arrives", || {
        publisher.publish(&put(1, None));
        seen.next_within(Duration::from_millis(200)).is_some()
    });
    let next = || {
        iter::repeat_with(|| seen.next())
            .find(|one| one.key != "other/first")
            .expect("samples without end")
    };
    for (key, message, _) in publications(is_narrow) {
        from.publish(key, Service::BLOCK, &message);
    }
    from.publish("other/last", Service::BLOCK, &put(1, None));
    let passing = publications(is_narrow)
        .into_iter()
        .filter(|(_, _, passes)| *passes);
    for (key, message, _) in passing {
        let one = next();
        assert_eq!(
            (one.key.as_str(), one.delete),
            (key, message.delete),
            "{message:?}"
        );
        assert!(one.delete || one.carries(message.pattern), "{message:?}");
    }
    assert_eq!(next().key, "other/last");
}

/// Lengths of the bodies of queries and replies, and the number of replies that come.
const QUERIES: [(usize, usize, usize); 5] =
    [(0, 0, 1), (10, 10, 1), (11, 1, 0), (1, 11, 0), (10, 0, 1)];

fn queries_pass_alike(from: &Party, to: &Party) {
    let answering = to.queryable("low/q");
    let querying = from.querier("low/q", Conditions::default());
    until("the queryable is known", || querying.is_matched());
    for (question, reply, count) in QUERIES {
        let body = Question::with(Pattern {
            len: question,
            seed: 1,
        });
        let asking = querying.ask("", body);
        if question <= 10 {
            let asked = answering.next();
            asked.reply("low/q", &put(reply, None));
            asked.finish();
        }
        assert_eq!(asking.replies().len(), count, "{question} {reply}");
        assert!(
            answering.try_next().is_none(),
            "{question}: dropped at the router"
        );
    }
    answering.undeclare();
}

fn everywhere(router: fn() -> Router, case: fn(&Party, &Party)) {
    if environment::python().is_none() {
        return;
    }
    let router = router();
    let setup = Setup::client(&router.endpoint);
    let (ours, theirs) = (Party::Ours(setup.ours()), Party::Theirs(setup.theirs()));
    case(&ours, &theirs);
    case(&theirs, &ours);
    assert_eq!(router.complaints(), [""; 0]);
}

#[test]
fn publications_pass_our_router() {
    everywhere(our_router, publications_pass_alike);
}

#[test]
fn publications_pass_their_router() {
    everywhere(their_router, publications_pass_alike);
}

#[test]
fn queries_pass_our_router() {
    everywhere(our_router, queries_pass_alike);
}

#[test]
fn queries_pass_their_router() {
    everywhere(their_router, queries_pass_alike);
}

/// A session filters its own messages, and messages to it.
#[test]
fn sessions_filter_alike() {
    if environment::python().is_none() {
        return;
    }
    let router = Router::process();
    let plain = Setup::client(&router.endpoint);
    let filtering = Setup {
        options: vec![("low_pass_filter", BOTH_WAYS)],
        ..Setup::client(&router.endpoint)
    };
    for filters in [
        Party::Ours(filtering.ours()),
        Party::Theirs(filtering.theirs()),
    ] {
        let other = Party::Theirs(plain.theirs());
        pass(&filters, &other, false);
        pass(&other, &filters, false);
    }
    assert_eq!(router.complaints(), [""; 0]);
}
