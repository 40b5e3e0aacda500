// SPDX-License-Identifier: MIT OR Apache-2.0

//! The exchanges of the specification between one table and its neighbours, message by message, those of
//! its appendix byte by byte.

mod forwarding;

use std::time::{Duration, Instant};

use forwarding::{Bench, key_expr, wire, zid};
use zonda_codec::InterestMode::{Current, CurrentFuture, Final, Future};
use zonda_codec::WhatAmI::{Client, Peer, Router};
use zonda_codec::{Declaration, Encode, KeyExpr, QueryableInfo, WireExpr};
use zonda_router::forwarding::{Deadline, FaceId, Limits, Relation};

fn none() -> Vec<String> {
    Vec::new()
}

fn queryable<'a>(id: u32, key: &'a str, complete: bool, distance: u16) -> Declaration<'a> {
    Declaration::Queryable {
        id,
        wire_expr: WireExpr::full(key),
        info: QueryableInfo { complete, distance },
    }
}

fn token(id: u32, key: &str) -> Declaration<'_> {
    Declaration::Token {
        id,
        wire_expr: WireExpr::full(key),
    }
}

// ---- appendix A ----

#[test]
fn a2_to_a4_at_the_router() {
    let mut bench = Bench::new(Router);
    let c5 = bench.connect(0xc5, Client);
    let d7 = bench.connect(0xd7, Client);
    bench.receive(
        c5,
        &wire("9e 21 08 20 01 00 09 'demo/test'  9e 21 08 62 01 01 02 '/*'"),
    );
    assert!(bench.bytes(c5).is_empty());

    // A.3: the put without a publisher goes out behind the subscriber's own id.
    let route = bench.route(d7, "demo/test/a", None);
    assert_eq!(route, (vec![(c5, "1-/a".into())], vec![]));

    // A.4: the publisher's interest.
    bench.receive(
        d7,
        &wire("9e 21 08 20 01 00 0b 'demo/test/b'  f9 01 53 01 21 08"),
    );
    let expected = wire("be 01 21 08 62 01 00 0b 'demo/test/*'  be 01 21 08 1a");
    assert_eq!(bench.bytes(d7), expected);
    let mapped = WireExpr::scoped(1, zonda_codec::Mapping::Sender);
    assert_eq!(
        bench.table.key(d7, &mapped),
        Some(key_expr("demo/test/b").into_owned())
    );
}

#[test]
fn a2_to_a4_as_a_client() {
    let mut bench = Bench::new(Client);
    let local = bench.local;
    let router = bench.connect(0x77, Router);
    assert!(bench.bytes(router).is_empty(), "a client starts silently");
    bench.act(|table, actions| {
        table.local_subscriber(local, 5, &key_expr("demo/test/*"), actions);
    });
    assert_eq!(
        bench.bytes(router),
        wire("9e 21 08 20 01 00 09 'demo/test'  9e 21 08 62 01 01 02 '/*'")
    );
    // A.7: the end.
    bench.act(|table, actions| table.undeclare_local_subscriber(local, 5, actions));
    assert_eq!(bench.bytes(router), wire("9e 21 08 03 01"));

    let mut bench = Bench::new(Client);
    let router = bench.connect(0x77, Router);
    bench.act(|table, actions| {
        table.local_publisher(local, 1, &key_expr("demo/test/b"), actions);
    });
    assert_eq!(
        bench.bytes(router),
        wire("9e 21 08 20 01 00 0b 'demo/test/b'  f9 01 53 01 21 08")
    );
    bench.receive(
        router,
        &wire("be 01 21 08 62 01 00 0b 'demo/test/*'  be 01 21 08 1a"),
    );
    let route = bench.route(local, "demo/test/b", Some(1));
    assert_eq!(route, (vec![(router, "1+".into())], vec![]));
}

#[test]
fn a6_liveliness_at_the_router() {
    let mut bench = Bench::new(Router);
    let c5 = bench.connect(0xc5, Client);
    let d7 = bench.connect(0xd7, Client);
    bench.receive(
        c5,
        &wire("9e 21 08 20 03 00 07 'live/c5'  9e 21 08 46 03 03"),
    );
    // Give d7 the ids it had in the capture: two entities told, three key ids declared.
    bench.subscribe(c5, 1, "x");
    bench.declare(c5, None, queryable(2, "x", false, 0));
    bench.interest(d7, 1, CurrentFuture, "SQ", Some("x"));
    bench.receive(
        d7,
        &wire("9e 21 08 20 01 00 01 'y'  9e 21 08 20 02 00 01 'z'"),
    );
    bench.lines(d7);

    bench.receive(
        d7,
        &wire("9e 21 08 20 03 00 04 'live'  b9 03 79 03 02 '/*' 21 08"),
    );
    assert_eq!(
        bench.bytes(d7),
        wire("be 03 21 08 66 00 00 07 'live/c5'  be 03 21 08 1a")
    );
    bench.receive(d7, &wire("f9 04 79 03 03 '/**' 21 08"));
    assert_eq!(
        bench.bytes(d7),
        wire("9e 21 08 20 04 00 07 'live/c5'  be 04 21 08 46 03 04  be 04 21 08 1a")
    );
    bench.receive(c5, &wire("9e 21 08 87 03 5f 02 00 00"));
    assert_eq!(bench.bytes(d7), wire("9e 21 08 87 03 5f 02 00 00"));
    bench.receive(d7, &wire("99 04 21 08"));
    bench.declare(c5, None, token(9, "live/again"));
    assert!(bench.bytes(d7).is_empty());
}

#[test]
fn a9_between_peers() {
    let mut bench = Bench::new(Peer);
    let local = bench.local;
    bench.act(|table, actions| {
        table.local_subscriber(local, 1, &key_expr("demo/**"), actions);
    });
    let other = bench.connect(0xb2, Peer);
    assert_eq!(
        bench.bytes(other),
        wire("9e 21 08 20 01 00 04 'demo'  9e 21 08 62 01 01 03 '/**'  be 00 21 08 1a")
    );
}

#[test]
fn a_request_has_its_end_at_once() {
    let mut bench = Bench::new(Router);
    let d7 = bench.connect(0xd7, Client);
    bench.receive(d7, &wire("fc 04 00 08 'demo/q/*' a1 0d 26 904e 23 03"));
    assert_eq!(bench.bytes(d7), wire("9a 04 21 0d"));
    // An id that nobody declared.
    bench.receive(d7, &wire("dc 05 09 a1 0d 26 904e 23 03"));
    assert_eq!(bench.bytes(d7), wire("9a 05 21 0d"));
}

// ---- interests, row by row of section 6.4 ----

/// A router, a client that declared a subscriber, a queryable and a token, and one that asks.
fn served() -> (Bench, FaceId, FaceId) {
    let mut bench = Bench::new(Router);
    let c5 = bench.connect(0xc5, Client);
    let d7 = bench.connect(0xd7, Client);
    bench.subscribe(c5, 1, "demo/*");
    bench.declare(c5, None, queryable(2, "demo/q", true, 3));
    bench.declare(c5, None, token(3, "demo/t"));
    (bench, c5, d7)
}

#[test]
fn current_and_future_answers_ends_and_goes_on() {
    let (mut bench, c5, d7) = served();
    bench.interest(d7, 9, CurrentFuture, "SQT", Some("demo/**"));
    assert_eq!(
        bench.lines(d7),
        [
            "@9 sub 1 demo/*",
            "@9 queryable 2 demo/q complete distance 3",
            "@9 token 3 demo/t",
            "@9 final"
        ]
    );
    bench.subscribe(c5, 4, "demo/*");
    bench.subscribe(c5, 5, "else/*");
    assert_eq!(bench.lines(d7), none());
    bench.unsubscribe(c5, 1);
    assert_eq!(bench.lines(d7), none());
    bench.unsubscribe(c5, 4);
    assert_eq!(bench.lines(d7), ["unsub 1"]);
    bench.declare(
        c5,
        None,
        Declaration::UndeclareQueryable { id: 2, key: None },
    );
    assert_eq!(bench.lines(d7), ["unqueryable 2"]);
    bench.subscribe(c5, 1, "demo/*");
    assert_eq!(bench.lines(d7), ["sub 4 demo/*"]);
}

#[test]
fn future_ends_at_once_and_tells_changes_only() {
    let (mut bench, c5, d7) = served();
    bench.interest(d7, 2, Future, "SQT", Some("demo/**"));
    assert_eq!(bench.lines(d7), ["@2 final"]);
    bench.unsubscribe(c5, 1);
    assert_eq!(bench.lines(d7), none());
    bench.subscribe(c5, 4, "demo/new");
    bench.declare(c5, None, token(5, "demo/new"));
    assert_eq!(bench.lines(d7), ["sub 1 demo/new", "token 2 demo/new"]);
}

#[test]
fn current_alone_is_for_tokens_alone() {
    let (mut bench, c5, d7) = served();
    bench.interest(d7, 2, Current, "T", Some("demo/**"));
    assert_eq!(bench.lines(d7), ["@2 token 0 demo/t", "@2 final"]);
    bench.interest(d7, 2, Current, "KT", Some("none/**"));
    assert_eq!(bench.lines(d7), ["@2 final"]);
    for letters in ["S", "Q", "K", "KS", "ST", "QT", "SQT"] {
        bench.interest(d7, 3, Current, letters, Some("demo/**"));
        assert_eq!(bench.lines(d7), none(), "{letters}");
    }
    bench.declare(c5, None, token(9, "demo/later"));
    assert_eq!(bench.lines(d7), none(), "nothing was kept");
}

#[test]
fn an_aggregate_interest_gets_one_declaration_on_its_own_key() {
    let (mut bench, c5, d7) = served();
    bench.interest(d7, 1, CurrentFuture, "SQA", Some("demo/**"));
    let told = ["@1 sub 1 demo/**", "@1 queryable 2 demo/**", "@1 final"];
    assert_eq!(bench.lines(d7), told);
    bench.subscribe(c5, 4, "demo/other");
    bench.unsubscribe(c5, 1);
    assert_eq!(bench.lines(d7), none());
    bench.unsubscribe(c5, 4);
    assert_eq!(bench.lines(d7), ["unsub 1"]);
    bench.subscribe(d7, 7, "demo/own");
    assert_eq!(bench.lines(d7), none(), "its own do not count");
    bench.subscribe(c5, 4, "demo/other");
    assert_eq!(bench.lines(d7), ["sub 3 demo/**"]);
    // The same interest of another publisher shares the declaration.
    bench.interest(d7, 2, CurrentFuture, "SA", Some("demo/**"));
    assert_eq!(bench.lines(d7), ["@2 sub 3 demo/**", "@2 final"]);
    bench.interest(d7, 1, Final, "", None);
    bench.unsubscribe(c5, 4);
    assert_eq!(bench.lines(d7), ["unsub 3"]);
    // Not for tokens, and not for peers.
    bench.interest(d7, 3, CurrentFuture, "TA", Some("demo/**"));
    assert_eq!(bench.lines(d7), ["@3 token 4 demo/t", "@3 final"]);
    let peer = bench.connect(0xb2, Peer);
    bench.interest(peer, 1, CurrentFuture, "QA", Some("demo/**"));
    let told = ["@1 queryable 1 demo/q complete distance 3", "@1 final"];
    assert_eq!(bench.lines(peer), told);
}

#[test]
fn an_interest_in_everything_sees_the_admin_space() {
    let (mut bench, _, d7) = served();
    bench.interest(d7, 1, CurrentFuture, "SQT", None);
    let lines = bench.lines(d7);
    let expected = [
        "@1 sub 1 demo/*",
        "@1 queryable 2 @/a1/router/**",
        "@1 queryable 3 demo/q complete distance 3",
        "@1 token 4 demo/t",
        "@1 final",
    ];
    assert_eq!(lines, expected);
    assert_eq!(bench.table.admin_key().as_str(), "@/a1/router");
    bench.interest(d7, 2, CurrentFuture, "Q", Some("**"));
    assert!(
        !bench.lines(d7).join(" ").contains("@/"),
        "** does not reach @"
    );
    bench.interest(d7, 3, CurrentFuture, "Q", Some("@/a1/router"));
    assert_eq!(
        bench.lines(d7),
        ["@3 queryable 2 @/a1/router/**", "@3 final"]
    );
}

#[test]
fn after_final_nothing_is_said_any_more() {
    let (mut bench, c5, d7) = served();
    bench.interest(d7, 1, CurrentFuture, "S", Some("demo/**"));
    bench.lines(d7);
    bench.interest(d7, 1, Final, "", None);
    bench.interest(d7, 77, Final, "", None);
    bench.subscribe(c5, 4, "demo/later");
    assert_eq!(bench.lines(d7), none());
    // The id of a key is stable as long as the key is declared.
    bench.interest(d7, 2, CurrentFuture, "S", Some("demo/**"));
    assert_eq!(
        bench.lines(d7),
        ["@2 sub 1 demo/*", "@2 sub 2 demo/later", "@2 final"]
    );
    bench.interest(d7, 2, Final, "", None);
    bench.unsubscribe(c5, 1);
    bench.subscribe(c5, 1, "demo/*");
    bench.interest(d7, 3, CurrentFuture, "S", Some("demo/*"));
    assert_eq!(
        bench.lines(d7),
        ["@3 sub 3 demo/*", "@3 sub 2 demo/later", "@3 final"]
    );
}

#[test]
fn an_id_in_use_is_served_as_if_new() {
    let (mut bench, c5, d7) = served();
    bench.interest(d7, 1, CurrentFuture, "S", Some("demo/**"));
    bench.lines(d7);
    bench.interest(d7, 1, CurrentFuture, "T", Some("demo/**"));
    assert_eq!(bench.lines(d7), ["@1 token 2 demo/t", "@1 final"]);
    bench.unsubscribe(c5, 1);
    assert_eq!(bench.lines(d7), none(), "the old interest was replaced");
}

#[test]
fn the_asker_sees_its_own_tokens_but_nothing_else_of_its_own() {
    let (mut bench, c5, d7) = served();
    bench.interest(c5, 1, CurrentFuture, "SQT", Some("demo/**"));
    assert_eq!(bench.lines(c5), ["@1 token 1 demo/t", "@1 final"]);
    bench.subscribe(d7, 1, "demo/*");
    assert_eq!(bench.lines(c5), ["sub 2 demo/*"], "now another has it too");
    bench.unsubscribe(d7, 1);
    assert_eq!(bench.lines(c5), ["unsub 2"]);
    bench.cut(d7);
    assert_eq!(bench.lines(c5), none());
}

#[test]
fn what_a_queryable_promises_is_merged_and_kept_up_to_date() {
    let (mut bench, c5, d7) = served();
    let e9 = bench.connect(0xe9, Client);
    bench.interest(d7, 1, CurrentFuture, "Q", Some("demo/q"));
    bench.lines(d7);
    bench.declare(e9, None, queryable(1, "demo/q", false, 1));
    assert_eq!(bench.lines(d7), ["queryable 1 demo/q complete distance 1"]);
    bench.declare(e9, None, queryable(1, "demo/q", false, 5));
    assert_eq!(bench.lines(d7), ["queryable 1 demo/q complete distance 3"]);
    bench.declare(e9, None, queryable(1, "demo/q", false, 5));
    assert_eq!(bench.lines(d7), none());
    bench.cut(c5);
    assert_eq!(bench.lines(d7), ["queryable 1 demo/q distance 5"]);
    bench.cut(e9);
    assert_eq!(bench.lines(d7), ["unqueryable 1"]);
}

#[test]
fn key_ids_are_declared_to_those_who_asked_for_them() {
    let (mut bench, c5, d7) = served();
    bench.interest(d7, 1, CurrentFuture, "KS", Some("plant/**"));
    assert_eq!(bench.lines(d7), ["@1 final"]);
    bench.subscribe(c5, 5, "plant/boiler/*");
    assert_eq!(bench.lines(d7), ["keyexpr 1 plant/boiler", "sub 1 1+/*"]);
    bench.subscribe(c5, 6, "plant/boiler");
    assert_eq!(bench.lines(d7), ["sub 2 1+"]);
    bench.subscribe(c5, 7, "**/boiler");
    assert_eq!(bench.lines(d7), ["sub 3 **/boiler"], "no plain beginning");
    // Pushes use it as well, and the neighbour may write it back.
    bench.subscribe(d7, 1, "plant/**");
    let (hops, _) = bench.route(c5, "plant/boiler/7", None);
    assert_eq!(hops, [(d7, "1+/7".into())]);
    let written = WireExpr {
        scope: 1,
        suffix: "/8",
        mapping: zonda_codec::Mapping::Receiver,
    };
    let key = bench.table.key(d7, &written);
    assert_eq!(key.as_ref().map(KeyExpr::as_str), Some("plant/boiler/8"));
    // Its own id for the same text is preferred.
    bench.receive(d7, &wire("9e 21 08 20 05 00 0c 'plant/boiler'"));
    let (hops, _) = bench.route(c5, "plant/boiler/7", None);
    assert_eq!(hops, [(d7, "5-/7".into())]);
}

#[test]
fn interests_of_the_wrong_side_are_ignored() {
    for (own, remote) in [
        (Client, Router),
        (Client, Peer),
        (Peer, Router),
        (Router, Router),
    ] {
        let mut bench = Bench::new(own);
        let face = bench.connect(0xb2, remote);
        bench.interest(face, 1, CurrentFuture, "SQT", None);
        assert_eq!(bench.lines(face), none(), "{own} from {remote}");
        let counters = bench.table.counters(face).expect("it is connected");
        assert_eq!(counters.misplaced, 1);
    }
}

// ---- key expression ids ----

#[test]
fn key_ids_of_a_neighbour() {
    let mut bench = Bench::new(Router);
    let c5 = bench.connect(0xc5, Client);
    let d7 = bench.connect(0xd7, Client);
    bench.receive(c5, &wire("9e 21 08 20 01 00 01 'a'"));
    let before = bench.table.generation();
    bench.receive(c5, &wire("9e 21 08 20 01 00 01 'a'"));
    assert_eq!(
        bench.table.generation(),
        before,
        "the same again changes nothing"
    );
    bench.receive(
        c5,
        &wire("9e 21 08 20 01 00 01 'b'  9e 21 08 62 01 01 02 '/x'"),
    );
    let (hops, _) = bench.route(d7, "a/x", None);
    assert_eq!(hops, [(c5, "1-/x".into())], "the first text stays");
    bench.receive(c5, &wire("9e 21 08 01 01"));
    let (hops, _) = bench.route(d7, "a/x", None);
    assert_eq!(hops, [(c5, "a/x".into())]);
    bench.receive(
        c5,
        &wire("9e 21 08 20 01 00 01 'b'  9e 21 08 62 02 01 02 '/x'"),
    );
    let (hops, _) = bench.route(d7, "b/x", None);
    assert_eq!(
        hops,
        [(c5, "1-/x".into())],
        "a freed id may be declared anew"
    );
    // A scope in a D_KEYEXPR is looked up among the ids of the receiver: none here.
    bench.receive(c5, &wire("9e 21 08 20 02 01 02 '/y'"));
    // Unknown scopes, keys that are none, id 0.
    bench.receive(
        c5,
        &wire("9e 21 08 62 03 09 02 '/x'  9e 21 08 62 04 00 02 '//'"),
    );
    bench.receive(
        c5,
        &wire("9e 21 08 20 00 00 01 'c'  9e 21 08 01 07  9e 21 08 03 63"),
    );
    let counters = bench.table.counters(c5).expect("it is connected");
    assert_eq!((counters.id_conflicts, counters.bad_keys), (1, 4));
    assert_eq!(counters.unknown_ids, 2);
    assert_eq!(bench.bytes(c5), b"");
}

// ---- subscribers ----

#[test]
fn one_copy_per_neighbour_and_none_to_the_source() {
    let mut bench = Bench::new(Router);
    let c5 = bench.connect(0xc5, Client);
    let d7 = bench.connect(0xd7, Client);
    let b2 = bench.connect(0xb2, Peer);
    for (id, key) in ["demo/**", "demo/a", "*/a"].into_iter().enumerate() {
        for face in [c5, d7, b2] {
            bench.subscribe(face, id as u32, key);
        }
    }
    let local = bench.local;
    bench.act(|table, actions| {
        table.local_subscriber(local, 8, &key_expr("**"), actions);
        table.local_subscriber(local, 9, &key_expr("demo/a"), actions);
        table.local_subscriber(local, 7, &key_expr("other"), actions);
    });
    let key = "demo/a".to_owned();
    let (hops, local) = bench.route(d7, "demo/a", None);
    assert_eq!(hops, [(c5, key.clone()), (b2, key.clone())]);
    assert_eq!(local, [8, 9]);
    let (hops, local) = bench.route(bench.local, "demo/a", None);
    assert_eq!(hops.len(), 3);
    assert_eq!(local, [8, 9], "the session hears itself");
    let (hops, _) = bench.route(c5, "*/a", None);
    assert_eq!(hops.len(), 2, "wildcards match wildcards");
}

#[test]
fn a_reused_subscriber_id_leaves_the_old_key_until_the_face_goes() {
    let mut bench = Bench::new(Router);
    let c5 = bench.connect(0xc5, Client);
    let d7 = bench.connect(0xd7, Client);
    bench.subscribe(c5, 1, "a");
    bench.subscribe(c5, 1, "b");
    bench.subscribe(c5, 1, "b");
    let hops = |bench: &Bench, key| bench.route(d7, key, None).0.len();
    assert_eq!((hops(&bench, "a"), hops(&bench, "b")), (1, 1));
    bench.unsubscribe(c5, 1);
    assert_eq!((hops(&bench, "a"), hops(&bench, "b")), (1, 0));
    bench.interest(d7, 1, CurrentFuture, "S", None);
    assert_eq!(bench.lines(d7), ["@1 sub 1 a", "@1 final"]);
    bench.cut(c5);
    assert_eq!(bench.lines(d7), ["unsub 1"]);
    assert_eq!(hops(&bench, "a"), 0);
}

#[test]
fn two_routers_exchange_nothing_yet() {
    let mut bench = Bench::new(Router);
    let c5 = bench.connect(0xc5, Client);
    bench.subscribe(c5, 1, "**");
    let b2 = bench.connect(0xb2, Router);
    bench.subscribe(b2, 1, "**");
    assert_eq!(bench.lines(b2), none());
    assert_eq!(bench.table.relation(b2), Some(Relation::RouterToRouter));
    assert_eq!(bench.route(c5, "a", None).0, []);
    assert_eq!(bench.route(b2, "a", None).0, []);
}

#[test]
fn an_old_face_id_names_nothing() {
    let mut bench = Bench::new(Router);
    let old = bench.connect(0xc5, Client);
    bench.cut(old);
    let new = bench.connect(0xc5, Client);
    assert_eq!(old.index(), new.index());
    bench.subscribe(old, 1, "a");
    bench.cut(old);
    assert_eq!(bench.table.relation(old), None);
    let d7 = bench.connect(0xd7, Client);
    assert_eq!(bench.route(d7, "a", None).0, []);
    assert_eq!(bench.table.relation(new), Some(Relation::Served));
}

// ---- clients and their gateways ----

#[test]
fn a_client_filters_its_puts_by_what_the_gateway_knows() {
    let mut bench = Bench::new(Client);
    let local = bench.local;
    let router = bench.connect(0x77, Router);
    let sends = |bench: &Bench, publisher| !bench.route(local, "demo/a", publisher).0.is_empty();
    assert!(sends(&bench, None), "without an interest always");
    bench.act(|table, actions| table.local_publisher(local, 4, &key_expr("demo/a"), actions));
    let sent = ["keyexpr 1 demo/a", "interest 1 CurrentFuture KS 1+"];
    assert_eq!(bench.lines(router), sent);
    assert!(sends(&bench, Some(4)), "before the final always");
    let before = bench.table.generation();
    bench.declare(router, Some(1), Declaration::Final);
    assert!(bench.table.generation() > before);
    assert!(!sends(&bench, Some(4)), "after it only to subscribers");
    assert!(
        !bench
            .table
            .has_matching_subscribers(local, &key_expr("demo/a"), Some(4))
    );
    bench.subscribe(router, 9, "demo/*");
    assert!(sends(&bench, Some(4)) && sends(&bench, None));
    assert!(
        bench
            .table
            .has_matching_subscribers(local, &key_expr("demo/a"), Some(4))
    );
    bench.unsubscribe(router, 9);
    assert!(!sends(&bench, Some(4)));
    // A second publisher shares the interest; the last one ends it.
    bench.act(|table, actions| table.local_publisher(local, 5, &key_expr("demo/a"), actions));
    bench.act(|table, actions| table.undeclare_local_publisher(local, 4, actions));
    assert_eq!(bench.lines(router), none());
    bench.subscribe(router, 10, "demo/*");
    bench.act(|table, actions| table.undeclare_local_publisher(local, 5, actions));
    assert_eq!(bench.lines(router), ["interest 1 Final"]);
    assert!(
        !bench
            .table
            .has_matching_subscribers(local, &key_expr("demo/a"), None),
        "nobody would tell when these end"
    );
    bench.subscribe(router, 11, "demo/late");
    assert!(
        !bench
            .table
            .has_matching_subscribers(local, &key_expr("demo/late"), None)
    );
    assert!(sends(&bench, None));
}

#[test]
fn a_gateway_that_does_not_answer_counts_as_done_after_ten_seconds() {
    let mut bench = Bench::new(Client);
    let local = bench.local;
    let start = Instant::now();
    let router = bench.connect(0x77, Router);
    assert_eq!(bench.table.next_deadline(), None);
    bench.act(|table, actions| table.local_publisher(local, 1, &key_expr("a"), actions));
    assert_eq!(bench.table.next_deadline(), Some(Deadline::Now));
    bench.act(|table, actions| table.expire(start, actions));
    let due = start + Duration::from_secs(10);
    assert_eq!(bench.table.next_deadline(), Some(Deadline::At(due)));
    bench.act(|table, actions| table.expire(due - Duration::from_millis(1), actions));
    assert_eq!(bench.route(local, "a", Some(1)).0, [(router, "1+".into())]);
    bench.act(|table, actions| table.expire(due, actions));
    assert_eq!(bench.route(local, "a", Some(1)).0, []);
    assert_eq!(bench.table.next_deadline(), None);
}

#[test]
fn a_new_gateway_is_told_and_asked_everything_again() {
    let mut bench = Bench::new(Client);
    let local = bench.local;
    bench.act(|table, actions| {
        table.local_subscriber(local, 1, &key_expr("in/**"), actions);
        table.local_subscriber(local, 2, &key_expr("in/**"), actions);
        table.local_publisher(local, 1, &key_expr("out/a"), actions);
    });
    let expected = [
        "keyexpr 1 out/a",
        "interest 1 CurrentFuture KS 1+",
        "keyexpr 2 in",
        "sub 1 2+/**",
    ];
    let first = bench.connect(0x77, Router);
    assert_eq!(bench.lines(first), expected);
    bench.declare(first, Some(1), Declaration::Final);
    bench.cut(first);
    assert_eq!(bench.route(local, "out/a", Some(1)).0, []);
    let second = bench.connect(0x77, Router);
    assert_eq!(bench.lines(second), expected);
    assert_eq!(
        bench.route(local, "out/a", Some(1)).0.len(),
        1,
        "not answered yet"
    );
    // Delivery is to the session only.
    let third = bench.connect(0x78, Router);
    let (hops, heard) = bench.route(second, "in/x", None);
    assert_eq!((hops, heard), (vec![], vec![1, 2]), "not on to {third}");
}

// ---- peers ----

#[test]
fn peers_tell_each_other_everything_and_filter_after_the_final() {
    let mut bench = Bench::new(Peer);
    let local = bench.local;
    let b2 = bench.connect(0xb2, Peer);
    assert_eq!(bench.lines(b2), ["@0 final"]);
    assert_eq!(
        bench.route(local, "a", None).0.len(),
        1,
        "it did not say what it has"
    );
    bench.act(|table, actions| table.local_publisher(local, 1, &key_expr("a"), actions));
    assert_eq!(bench.lines(b2), none(), "no interests between peers");
    bench.declare(b2, Some(0), Declaration::Final);
    assert_eq!(bench.route(local, "a", Some(1)).0, []);
    bench.subscribe(b2, 1, "a");
    assert_eq!(bench.route(local, "a", Some(1)).0.len(), 1);
    bench.act(|table, actions| table.local_subscriber(local, 1, &key_expr("x/y"), actions));
    bench.act(|table, actions| table.undeclare_local_subscriber(local, 1, actions));
    assert_eq!(bench.lines(b2), ["keyexpr 1 x/y", "sub 1 1+", "unsub 1"]);
    // An interest is answered all the same.
    bench.act(|table, actions| table.local_subscriber(local, 1, &key_expr("x/y"), actions));
    bench.lines(b2);
    bench.interest(b2, 5, CurrentFuture, "S", Some("x/*"));
    assert_eq!(bench.lines(b2), ["@5 sub 2 1+", "@5 final"]);
}

#[test]
fn peers_do_not_relay_between_peers() {
    let mut bench = Bench::new(Peer);
    let b2 = bench.connect(0xb2, Peer);
    let c3 = bench.connect(0xc3, Peer);
    let client = bench.connect(0xd7, Client);
    bench.lines(b2);
    bench.lines(c3);
    bench.subscribe(b2, 1, "a");
    assert_eq!(bench.lines(c3), none());
    assert_eq!(bench.route(c3, "a", None).0, []);
    // But between a peer and a client of this one it passes both ways.
    let hops = bench.route(client, "a", None).0;
    assert_eq!(
        hops,
        [(b2, "a".into()), (c3, "a".into())],
        "c3 did not say its final"
    );
    bench.subscribe(client, 1, "b");
    assert_eq!(bench.lines(b2), ["keyexpr 1 b", "sub 1 1+"]);
    assert_eq!(bench.route(b2, "b", None).0, [(client, "b".into())]);
    bench.interest(client, 1, CurrentFuture, "S", None);
    assert_eq!(bench.lines(client), ["@1 sub 1 a", "@1 final"]);
}

#[test]
fn a_peer_with_a_gateway_asks_it_on_behalf_of_its_clients() {
    let mut bench = Bench::new(Peer);
    let router = bench.connect(0x77, Router);
    let client = bench.connect(0xd7, Client);
    assert_eq!(bench.lines(router), none(), "no final for a gateway");
    bench.interest(client, 7, CurrentFuture, "KSA", Some("demo/*"));
    assert_eq!(
        bench.lines(client),
        none(),
        "the final waits for the gateway's"
    );
    let sent = ["keyexpr 1 demo", "interest 1 CurrentFuture KS 1+/*"];
    assert_eq!(bench.lines(router), sent);
    bench.subscribe(router, 1, "demo/a");
    bench.declare(router, Some(1), Declaration::Final);
    assert_eq!(bench.lines(client), ["sub 1 demo/*", "@7 final"]);
    assert_eq!(bench.route(client, "demo/a", None).0.len(), 1);
    bench.interest(client, 8, CurrentFuture, "KS", Some("demo/*"));
    let told = ["keyexpr 1 demo/a", "@8 sub 2 1+", "@8 final"];
    assert_eq!(bench.lines(client), told);
    assert_eq!(bench.lines(router), none(), "the gateway was asked already");
    bench.interest(client, 7, Final, "", None);
    assert_eq!(bench.lines(router), none());
    bench.interest(client, 8, Final, "", None);
    assert_eq!(bench.lines(router), ["interest 1 Final"]);
    // A gateway that goes away is not waited for.
    bench.interest(client, 9, CurrentFuture, "S", Some("x"));
    bench.lines(client);
    bench.cut(router);
    assert_eq!(bench.lines(client), ["@9 final"]);
}

#[test]
fn a_peer_relays_the_tokens_its_gateway_has() {
    let mut bench = Bench::new(Peer);
    let router = bench.connect(0x77, Router);
    let client = bench.connect(0xd7, Client);
    let other = bench.connect(0xd8, Client);
    bench.declare(other, None, token(1, "live/here"));
    bench.lines(router);
    bench.interest(client, 3, Current, "KT", Some("live/*"));
    assert_eq!(bench.lines(client), ["@3 token 0 live/here"]);
    assert_eq!(
        bench.lines(router),
        ["keyexpr 2 live", "interest 1 Current T 2+/*"]
    );
    bench.declare(router, Some(1), token(0, "live/there"));
    bench.declare(router, Some(1), Declaration::Final);
    assert_eq!(bench.lines(client), ["@3 token 0 live/there", "@3 final"]);
    bench.declare(router, Some(1), token(0, "live/late"));
    assert_eq!(bench.lines(client), none());
    bench.interest(client, 4, Current, "T", None);
    bench.cut(router);
    assert_eq!(bench.lines(client), ["@4 token 0 live/here", "@4 final"]);
}

#[test]
fn a_router_leaves_data_between_linked_peers_to_them() {
    use zonda_codec::{Encode, Oam, OamBody, Qos};
    let mut bench = Bench::new(Router);
    let b2 = bench.connect(0xb2, Peer);
    let c3 = bench.connect(0xc3, Peer);
    bench.subscribe(c3, 1, "a");
    assert_eq!(bench.route(b2, "a", None).0.len(), 1, "the router relays");
    // b2: itself with a link to number 1, and number 1 is c3.
    let body = wire("02  03 00 01 01 b2 02 01 01  03 01 00 01 c3 02 00");
    let oam = Oam {
        id: Oam::LINK_STATE,
        qos: Qos::DECLARE,
        timestamp: None,
        body: OamBody::Buf(&body),
    };
    bench.receive(b2, &oam.to_vec());
    assert_eq!(
        bench.route(b2, "a", None).0,
        [],
        "they have a link of their own"
    );
    bench.subscribe(b2, 1, "a");
    assert_eq!(bench.route(c3, "a", None).0, []);
    let body = wire("01  03 00 02 01 b2 02 00");
    let body = OamBody::Buf(&body);
    bench.receive(b2, &Oam { body, ..oam }.to_vec());
    assert_eq!(bench.route(b2, "a", None).0.len(), 1);
}

// ---- limits ----

#[test]
fn what_exceeds_a_limit_is_ignored_and_counted() {
    let limits = Limits {
        key_length_max: 10,
        key_ids_max: 2,
        subscribers_max: 3,
        queryables_max: 1,
        tokens_max: 1,
        interests_max: 1,
        key_bytes_max: 1000,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(Router, limits);
    let bad = bench.connect(0xc5, Client);
    let good = bench.connect(0xd7, Client);
    for id in 0..6_u32 {
        let key = format!("k/{id}");
        let wire_expr = WireExpr::full(&key);
        let id16 = id as u16 + 1;
        bench.declare(
            bad,
            None,
            Declaration::KeyExpr {
                id: id16,
                wire_expr,
            },
        );
        bench.subscribe(bad, id, &key);
        bench.declare(bad, None, queryable(id, &key, false, 0));
        bench.declare(bad, None, token(id, &key));
        bench.interest(bad, id, CurrentFuture, "S", Some(&key));
    }
    let counters = bench.table.counters(bad).expect("it is connected");
    assert_eq!(counters.over_limit, 4 + 3 + 5 + 5 + 5);
    assert_eq!(bench.lines(bad), ["@0 final"]);
    bench.subscribe(bad, 9, "much/too/long");
    bench.receive(bad, &wire("9e 21 08 62 09 01 08 '/too/lon'"));
    let counters = bench.table.counters(bad).expect("it is connected");
    assert_eq!(counters.bad_keys, 2);
    assert_eq!(bench.route(good, "k/2", None).0.len(), 1);
    assert_eq!(bench.route(good, "k/3", None).0.len(), 0);
    // What is given back may be used again.
    bench.unsubscribe(bad, 0);
    bench.subscribe(bad, 3, "k/3");
    assert_eq!(bench.route(good, "k/3", None).0.len(), 1);
    bench.subscribe(good, 1, "k/9");
    assert_eq!(bench.table.counters(good).map(|c| c.over_limit), Some(0));
}

#[test]
fn all_keys_of_a_neighbour_share_a_limit_in_bytes() {
    let limits = Limits {
        key_bytes_max: 10,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(Router, limits);
    let c5 = bench.connect(0xc5, Client);
    for round in 0..3 {
        bench.subscribe(c5, 1, "12345");
        bench.interest(c5, 1, Future, "S", Some("1234"));
        bench.declare(c5, None, token(1, "12"));
        bench.receive(c5, &wire("9e 21 08 20 01 00 01 'a'"));
        let over = bench.table.counters(c5).map(|counters| counters.over_limit);
        assert_eq!(over, Some(round + 1), "the token does not fit");
        bench.unsubscribe(c5, 1);
        bench.interest(c5, 1, Final, "", None);
        bench.receive(c5, &wire("9e 21 08 01 01"));
    }
}

#[test]
fn everything_goes_with_the_faces() {
    let mut bench = Bench::new(Peer);
    let faces = [
        bench.connect(1, Router),
        bench.connect(2, Peer),
        bench.connect(3, Client),
        bench.connect(4, Client),
    ];
    for face in faces {
        bench.subscribe(face, 1, "a/**");
        bench.declare(face, None, queryable(2, "a", true, 1));
        bench.declare(face, None, token(3, "a"));
        bench.interest(face, 1, CurrentFuture, "KSQTA", Some("**"));
        bench.interest(face, 2, Current, "T", Some("**"));
        bench.interest(face, 3, Future, "KSQT", None);
    }
    for face in faces {
        bench.cut(face);
    }
    let asker = bench.connect(5, Client);
    bench.interest(asker, 1, CurrentFuture, "SQT", None);
    assert_eq!(bench.lines(asker), ["@1 final"]);
    assert_eq!(bench.table.next_deadline(), None);
    assert_eq!(bench.table.relation(asker), Some(Relation::Served));
    assert_ne!(zid(1), zid(2));
}
