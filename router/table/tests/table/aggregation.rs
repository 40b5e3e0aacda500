// SPDX-License-Identifier: MIT OR Apache-2.0

//! Entities of the session that are declared as one: their declarations, routes, and matching.

use zonda_codec::WhatAmI::{self, Client, Peer, Router};
use zonda_codec::{InterestMode::CurrentFuture, KeyExpr};
use zonda_table::{Aggregation, Counterpart, Kind, Locality, Own};

use crate::bench::{Bench, key_expr, none};

fn bench(role: WhatAmI) -> Bench {
    let mut bench = Bench::new(role);
    let keys = |key: &str| vec![KeyExpr::new(key.to_owned()).expect("a key")];
    let aggregation = Aggregation::new(keys("demo/**"), keys("data/**"));
    bench.table.set_aggregation(aggregation);
    bench
}

fn subscribe(bench: &mut Bench, id: u32, key: &str) {
    let own = bench.own(id);
    bench.act(|table, actions| {
        table.local_declare(own, Own::SUBSCRIBER, &key_expr(key), actions);
    });
}

fn unsubscribe(bench: &mut Bench, id: u32) {
    let own = bench.own(id);
    bench.act(|table, actions| table.local_undeclare(own, Kind::Subscriber, actions));
}

#[test]
fn subscribers_below_a_listed_key_are_declared_once() {
    let mut bench = bench(Router);
    let peer = bench.connect(2, Peer);
    bench.interest(peer, 1, CurrentFuture, "S", None);
    bench.lines(peer);
    subscribe(&mut bench, 7, "demo/a");
    let told = bench.lines(peer);
    assert!(
        told.len() == 1 && told[0].starts_with("sub ") && told[0].ends_with(" demo/**"),
        "{told:?}"
    );
    subscribe(&mut bench, 8, "demo/b/*");
    subscribe(&mut bench, 8, "demo/b/*");
    subscribe(&mut bench, 8, "demo/c");
    assert_eq!(bench.lines(peer), none());
    // Messages reach the subscribers of their keys alone.
    assert_eq!(bench.route(peer, "demo/a", None).1, [7]);
    assert_eq!(bench.route(peer, "demo/b/x", None).1, [0; 0]);
    assert_eq!(bench.route(bench.local, "demo/c", None).1, [8]);
    subscribe(&mut bench, 9, "other");
    assert!(bench.lines(peer)[0].ends_with(" other"));
    unsubscribe(&mut bench, 7);
    assert_eq!(bench.lines(peer), none());
    unsubscribe(&mut bench, 8);
    let told = bench.lines(peer);
    assert!(told.len() == 1 && told[0].starts_with("unsub "), "{told:?}");
}

#[test]
fn publishers_below_a_listed_key_ask_once() {
    let mut bench = bench(Client);
    let router = bench.connect(2, Router);
    bench.lines(router);
    let mut publish = |id, key: &str| {
        let own = bench.own(id);
        bench.act(|table, actions| {
            table.local_sender(own, Kind::Subscriber, &key_expr(key), actions);
        });
        bench.lines(router)
    };
    let asked = publish(1, "data/a");
    let expected = ["keyexpr 1 data", "interest 1 CurrentFuture KS 1+/**"];
    assert_eq!(asked, expected);
    assert_eq!(publish(2, "data/b"), none());
    assert_ne!(publish(3, "demo/a"), none());
    // Each publisher matches the subscribers of its own key.
    bench.subscribe(router, 1, "data/b");
    let matching = |bench: &Bench, key: &str| {
        let audience = Counterpart::Subscribers.within(Locality::Any);
        bench.table.has_counterpart(bench.local, key, audience)
    };
    assert!(matching(&bench, "data/b") && !matching(&bench, "data/a"));
    let mut end = |id| {
        let own = bench.own(id);
        bench.act(|table, actions| table.undeclare_local_sender(own, actions));
        bench.lines(router)
    };
    assert_eq!(end(1), none());
    let told = end(2);
    assert!(told.len() == 1 && told[0].contains("Final"), "{told:?}");
}

#[test]
fn a_publisher_of_the_session_matches_subscribers_of_its_key_alone() {
    let mut bench = bench(Router);
    let owner = bench.own(1);
    let audience = Counterpart::Subscribers.within(Locality::Any);
    bench.act(|table, actions| {
        table.local_matching(owner, 2, &key_expr("demo/a"), audience, actions);
    });
    subscribe(&mut bench, 7, "demo/b");
    assert_eq!(bench.told(2), none());
    subscribe(&mut bench, 8, "demo/a");
    assert_eq!(bench.told(2), ["matching true"]);
    unsubscribe(&mut bench, 8);
    assert_eq!(bench.told(2), ["matching false"]);
}
