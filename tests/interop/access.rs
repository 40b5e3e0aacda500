// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `access_control` in a router: one table of kinds of messages, keys and clients, which
//! has the same results at our router and at theirs, for clients of either system.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use zonda::config::WhatAmI;

use crate::answers::Answering;
use crate::environment;
use crate::message::{Message, Pattern, Seen, Service};
use crate::party::{Party, Setup, Subscription};
use crate::questions::{Conditions, Consolidation, Heard, Question, Target};
use crate::router::{Router, free_endpoint};
use crate::tokens::Alive;
use crate::wait::until;

/// Rules with the traps of the reference: a wider subscription than a denied one, a subject without
/// a policy, kinds in one direction only, keys with verbatim chunks.
const RULES: &str = r#"{
    "enabled": true, "default_permission": "deny",
    "rules": [
        {"id": "end", "permission": "allow", "messages": ["put", "declare_subscriber"], "key_exprs": ["end/**"]},
        {"id": "data", "permission": "allow", "messages": ["put", "delete", "declare_subscriber"], "key_exprs": ["data/**"]},
        {"id": "service", "permission": "allow", "messages": ["query", "reply", "declare_queryable"], "key_exprs": ["svc/*"]},
        {"id": "live", "permission": "allow", "messages": ["liveliness_token", "declare_liveliness_subscriber", "liveliness_query"], "key_exprs": ["live/**"]},
        {"id": "no secret", "permission": "deny", "messages": ["put", "declare_subscriber"], "key_exprs": ["data/secret/**"]},
        {"id": "nothing out", "permission": "deny", "messages": ["put"], "flows": ["egress"], "key_exprs": ["data/in/**"]}
    ],
    "subjects": [{"id": "a", "zids": ["a1a1"]}, {"id": "b", "zids": ["b2b2"]}, {"id": "any", "interfaces": ["lo"]}, {"id": "unused"}],
    "policies": [
        {"rules": ["end"], "subjects": ["any"]},
        {"rules": ["data", "no secret"], "subjects": ["a"]},
        {"rules": ["data", "service", "nothing out"], "subjects": ["b"]},
        {"rules": ["live"], "subjects": ["a", "b"]}
    ]
}"#;

const SUBSCRIBED: [&str; 5] = [
    "data/**",
    "data/x",
    "data/secret/y",
    "data/in/z",
    "other/**",
];
const PUBLISHED: [&str; 4] = ["data/x", "data/secret/y", "data/in/z", "other/o"];
const ANSWERED: [&str; 3] = ["svc/one", "svc/a/b", "data/q"];
const ASKED: [&str; 4] = ["svc/one", "svc/*", "svc/a/b", "data/q"];
/// Number of queries for tokens, of which the answers together count.
const ALIVE_QUERIES: usize = 10;

const ALIVE: [&str; 3] = ["live/**", "dead/**", "**"];

/// A client with everything that it declares.
struct Client {
    name: &'static str,
    party: Party,
    subscriptions: Vec<(&'static str, Subscription)>,
    queryables: Vec<(&'static str, Answering)>,
    watches: Vec<(&'static str, Subscription)>,
    end: Subscription,
}

impl Client {
    fn new(name: &'static str, party: Party) -> Client {
        let subscribe = |key| (key, party.subscribe(key));
        let subscriptions = SUBSCRIBED.into_iter().map(subscribe).collect();
        let answer = |key| (key, party.queryable(key));
        let queryables = ANSWERED.into_iter().map(answer).collect();
        let watch = |key| (key, party.watch(key, true));
        let watches = ALIVE.into_iter().map(watch).collect();
        // its end is declared behind all else
        let end = party.subscribe("end/**");
        Client {
            name,
            subscriptions,
            queryables,
            watches,
            end,
            party,
        }
    }
}

/// Publishes marks of each client until all clients have had one of each with this seed. They follow
/// all that was declared before, which has a higher priority.
fn all_are_there(clients: &[Client], seed: u64) {
    for from in clients {
        let key = format!("end/{}", from.name);
        for to in clients {
            let mark = Pattern::short(seed);
            let comes = |seen: Seen| seen.key == key && seen.carries(mark);
            until("the mark comes", || {
                from.party
                    .publish(&key, Service::BLOCK, &Message::put(mark));
                let next = || to.end.next_within(Duration::from_millis(100));
                std::iter::from_fn(next).any(comes)
            });
        }
    }
}

/// Rows of a table: the keys that come, by client, kind and key.
type Rows = BTreeMap<String, Vec<String>>;

/// Returns the table of a router and clients of one kind.
fn table(party: fn(&Setup) -> Party, router: &Router) -> Rows {
    let names = [("a", "a1a1"), ("b", "b2b2"), ("c", "c3c3")];
    let clients = names.map(|(name, zid)| {
        let setup = Setup::client(&router.endpoint).with_zid(zid);
        Client::new(name, party(&setup))
    });
    let mut rows = Rows::new();
    all_are_there(&clients, 1);
    let tokens = clients.each_ref().map(|client| {
        let names = ["live", "dead"].map(|chunk| format!("{chunk}/{}", client.name));
        names.map(|name| client.party.token(&name))
    });
    all_are_there(&clients, 2);
    add_publications(&clients, &mut rows);
    add_queries(&clients, &mut rows);
    tokens.into_iter().flatten().for_each(Alive::undeclare);
    all_are_there(&clients, 4);
    for client in &clients {
        let name = client.name;
        for (key, watch) in &client.watches {
            // the reference's client may report a token again when the session asks for it
            let mut seen = seen_by(watch);
            seen.dedup();
            rows.insert(format!("{name} watches {key}"), seen);
        }
    }
    rows
}

/// Returns the samples that a subscriber has got, sorted.
fn seen_by(subscription: &Subscription) -> Vec<String> {
    let seen = std::iter::from_fn(|| subscription.try_next());
    let text = |seen: Seen| format!("{} {}", seen.key, if seen.delete { "-" } else { "+" });
    let mut all: Vec<_> = seen.map(text).collect();
    all.sort_unstable();
    all
}

fn add_publications(clients: &[Client], rows: &mut Rows) {
    for Client { party, .. } in clients {
        for key in PUBLISHED {
            party.publish(key, Service::BLOCK, &Message::put(Pattern::short(9)));
            party.publish(key, Service::BLOCK, &Message::delete());
        }
    }
    all_are_there(clients, 3);
    for client in clients {
        let name = client.name;
        for (key, subscription) in &client.subscriptions {
            rows.insert(format!("{name} subscribes to {key}"), seen_by(subscription));
        }
    }
}

fn add_queries(clients: &[Client], rows: &mut Rows) {
    let conditions = Conditions {
        consolidation: Some(Consolidation::None),
        any_key: true,
        ..Conditions::of(Target::All)
    };
    for Client { name, party, .. } in clients {
        for key in ASKED {
            let asking = party.ask(key, conditions, Question::PLAIN);
            let mut row = Vec::new();
            until("the query ends", || {
                answer_all(clients);
                match asking.try_next() {
                    Some(Heard::Reply(reply)) => row.push(reply.sample.key),
                    Some(Heard::Fault(_)) => row.push("an error".into()),
                    Some(Heard::End) => return true,
                    None => {}
                }
                false
            });
            row.sort_unstable();
            rows.insert(format!("{name} asks {key}"), row);
        }
        for key in ALIVE {
            // under load the reference's client may miss some of the answers to one query
            let answers = (0..ALIVE_QUERIES).flat_map(|_| party.alive(key).keys());
            let all: BTreeSet<_> = answers.collect();
            rows.insert(
                format!("{name} asks for tokens {key}"),
                all.into_iter().collect(),
            );
        }
    }
}

/// Answers all queries that have come.
fn answer_all(clients: &[Client]) {
    for (key, answering) in clients.iter().flat_map(|client| &client.queryables) {
        while let Some(asked) = answering.try_next() {
            asked.reply(key, &Message::put(Pattern::short(1)));
            asked.finish();
        }
    }
}

fn ours(setup: &Setup) -> Party {
    Party::Ours(setup.ours())
}

fn theirs(setup: &Setup) -> Party {
    Party::Theirs(setup.theirs())
}

fn our_router() -> Router {
    Router::process_with(&["--cfg", &format!("access_control:{RULES}")])
}

fn their_router() -> Router {
    let listening = Setup::listening(WhatAmI::Router, &free_endpoint());
    Router::of_theirs(&Setup {
        options: vec![("access_control", RULES)],
        ..listening
    })
}

#[test]
fn a_table_of_rights_has_the_same_results_at_both_routers() {
    if environment::python().is_none() {
        return;
    }
    let expected = table(theirs, &their_router());
    // A client hears itself, and others as far as both may.
    let heard = |client: &str| expected[&format!("{client} subscribes to data/x")].len();
    assert_eq!((heard("a"), heard("b"), heard("c")), (4, 4, 2));
    for (clients, party) in [
        ("their clients", theirs as fn(&Setup) -> Party),
        ("ours", ours),
    ] {
        let found = table(party, &our_router());
        assert_eq!(found.len(), expected.len());
        for (row, expected) in &expected {
            assert_eq!(found.get(row), Some(expected), "{clients}: {row}");
        }
    }
}
