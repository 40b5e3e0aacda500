// SPDX-License-Identifier: MIT OR Apache-2.0
//! `qos/network` in a router and in a session: both implementations give the same messages the same
//! quality of service, from and to clients of either system.

use std::time::Duration;

use zonda::config::WhatAmI;
use zonda::qos::{CongestionControl, Priority};

use crate::environment;
use crate::message::{Message, Pattern, Service};
use crate::party::{Party, Setup};
use crate::questions::{Conditions, Question};
use crate::router::{Router, free_endpoint};
use crate::wait::until;

const RULES: &str = r#"[
    {"messages": ["put"], "key_exprs": ["net/in"], "flows": ["ingress"],
     "overwrite": {"priority": "real_time", "congestion_control": "block", "express": true}},
    {"messages": ["delete"], "key_exprs": ["net/**"], "overwrite": {"priority": "interactive_high"}},
    {"messages": ["put"], "key_exprs": ["net/out"], "flows": ["egress"], "qos": {"priority": "data_low"},
     "payload_size": "10..", "overwrite": {"priority": "background"}},
    {"messages": ["put"], "key_exprs": ["net/tls"], "link_protocols": ["tls"], "overwrite": {"express": true}},
    {"messages": ["query"], "key_exprs": ["net/q/**"], "flows": ["ingress"], "overwrite": {"priority": "real_time"}}
]"#;

/// Rules for both directions.
const BOTH_WAYS: &str = r#"[
    {"messages": ["put"], "key_exprs": ["net/in", "net/out"],
     "overwrite": {"priority": "data_high", "express": true}}
]"#;

fn our_router() -> Router {
    Router::process_with(&["--cfg", &format!("qos/network:{RULES}")])
}

fn their_router() -> Router {
    let listening = Setup::listening(WhatAmI::Router, &free_endpoint());
    Router::of_theirs(&Setup {
        options: vec![("qos/network", RULES)],
        ..listening
    })
}

/// Quality of service that publications ask for.
const ASKED: Service = Service {
    priority: Priority::DataLow,
    congestion: CongestionControl::Drop,
    ..Service::BLOCK
};

/// Priority, express, blocking.
type Carried = (Priority, bool, bool);

const AS_ASKED: Carried = (Priority::DataLow, false, false);

fn put(len: usize) -> Message {
    Message::put(Pattern { len, seed: 1 })
}

/// Returns publications, each with its quality of service at the end.
fn routed() -> Vec<(&'static str, Message, Carried)> {
    vec![
        ("net/in", put(8), (Priority::RealTime, true, true)),
        (
            "net/in",
            Message::delete(),
            (Priority::InteractiveHigh, false, false),
        ),
        ("net/out", put(9), AS_ASKED),
        ("net/out", put(10), (Priority::Background, false, false)),
        (
            "net/out",
            put(100_000),
            (Priority::Background, false, false),
        ),
        ("net/tls", put(8), AS_ASKED),
        ("network/in", put(8), AS_ASKED),
    ]
}

fn filtered_both_ways() -> Vec<(&'static str, Message, Carried)> {
    let other = (Priority::DataHigh, true, false);
    vec![
        ("net/in", put(8), other),
        ("net/in", Message::delete(), AS_ASKED),
        ("net/out", put(100_000), other),
        ("other", put(8), AS_ASKED),
    ]
}

fn publications_are_carried(
    from: &Party,
    to: &Party,
    publications: &[(&'static str, Message, Carried)],
) {
    let seen = to.subscribe("**");
    // The publisher may still know a subscriber of the pass before, so it is matched too early.
    let publisher = from.matched_publisher("first");
    until("the first one arrives", || {
        publisher.publish(&put(1));
        seen.next_within(Duration::from_millis(200)).is_some()
    });
    for (key, message, carried) in publications {
        // One after another, as messages of different priorities overtake each other.
        from.publish(key, ASKED, message);
        let one = std::iter::repeat_with(|| seen.next())
            .find(|one| one.key != "first")
            .expect("samples without end");
        let found = (
            one.key.as_str(),
            one.delete,
            one.priority,
            one.express,
            one.block,
        );
        let (priority, express, block) = *carried;
        let expected = (*key, message.delete, priority as u8, express, block);
        assert_eq!(found, expected, "{message:?}");
        assert!(one.delete || one.carries(message.pattern), "{message:?}");
    }
}

/// Queries have the router's quality of service, which a queryable of the reference does not
/// report.
fn queries_are_carried(from: &Party, to: &Party) {
    let answering = to.queryable("**");
    for (key, priority) in [
        ("net/q/a", Priority::RealTime),
        ("net/p", Priority::DataLow),
    ] {
        // A query whose priority the router may change.
        let service = Service {
            congestion: CongestionControl::Block,
            ..ASKED
        };
        let conditions = Conditions {
            service: Some(service),
            ..Conditions::default()
        };
        let querying = from.querier(key, conditions);
        until("the queryable is known", || querying.is_matched());
        let asking = querying.ask("", Question::with(Pattern { len: 8, seed: 1 }));
        // The queryable sees the router's priority, and the reply returns.
        let asked = answering.next();
        if let Some(seen) = asked.priority {
            assert_eq!(seen, priority as u8, "{key}");
        }
        asked.reply(key, &put(8));
        asked.finish();
        assert_eq!(asking.reply().sample.key, key);
        asking.ends();
    }
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
        publications_are_carried(from, to, &routed());
        queries_are_carried(from, to);
    }
    assert_eq!(router.complaints(), [""; 0]);
}

#[test]
fn our_router_has_messages_carried() {
    everywhere(our_router);
}

#[test]
fn their_router_has_messages_carried() {
    everywhere(their_router);
}

/// A session sets the quality of service of its own messages, and of messages to it.
#[test]
fn sessions_have_messages_carried_alike() {
    if environment::python().is_none() {
        return;
    }
    let router = Router::process();
    let plain = Setup::client(&router.endpoint);
    let ruled = Setup {
        options: vec![("qos/network", BOTH_WAYS)],
        ..Setup::client(&router.endpoint)
    };
    for ruled in [Party::Ours(ruled.ours()), Party::Theirs(ruled.theirs())] {
        let other = Party::Theirs(plain.theirs());
        publications_are_carried(&ruled, &other, &filtered_both_ways());
        publications_are_carried(&other, &ruled, &filtered_both_ways());
    }
    assert_eq!(router.complaints(), [""; 0]);
}
