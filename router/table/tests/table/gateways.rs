// SPDX-License-Identifier: MIT OR Apache-2.0

//! Clients, peers and their gateways: announcements, interests, and the routes that follow from the
//! answers.

use std::time::{Duration, Instant};

use zonda_codec::InterestMode::{Current, CurrentFuture, Final};
use zonda_codec::WhatAmI::{Client, Peer, Router};
use zonda_codec::{Declaration, Oam, OamBody, Qos, WireExpr};
use zonda_table::{Counterpart, Deadline, Kind, Locality, Own};

use crate::bench::{Bench, encoded, key_expr, none, token, wire};

/// Returns true if the session's node knows a subscriber that a message would reach.
fn has_subscriber(bench: &Bench, key: &str) -> bool {
    let audience = Counterpart::Subscribers.within(Locality::Any);
    bench.table.has_counterpart(bench.local, key, audience)
}

#[test]
fn a_client_filters_its_puts_by_what_the_gateway_knows() {
    let mut bench = Bench::new(Client);
    let local = bench.local;
    let router = bench.connect(0x77, Router);
    let sends = |bench: &Bench, publisher| !bench.route(local, "demo/a", publisher).0.is_empty();
    assert!(sends(&bench, None), "without an interest always");
    bench.act(|table, actions| {
        table.local_sender(local.own(4), Kind::Subscriber, &key_expr("demo/a"), actions)
    });
    let sent = ["keyexpr 1 demo/a", "interest 1 CurrentFuture KS 1+"];
    assert_eq!(bench.lines(router), sent);
    assert!(sends(&bench, Some(4)), "before the final always");
    let kept = bench.holds("demo/a", |bench| {
        bench.declare(router, Some(1), Declaration::Final);
    });
    assert!(!kept);
    assert!(!sends(&bench, Some(4)), "after it only to subscribers");
    assert!(!has_subscriber(&bench, "demo/a"));
    bench.subscribe(router, 9, "demo/*");
    assert!(sends(&bench, Some(4)) && sends(&bench, None));
    assert!(has_subscriber(&bench, "demo/a"));
    bench.unsubscribe(router, 9);
    assert!(!sends(&bench, Some(4)));
    // A second publisher shares the interest; the last one ends it.
    bench.act(|table, actions| {
        table.local_sender(local.own(5), Kind::Subscriber, &key_expr("demo/a"), actions)
    });
    bench.act(|table, actions| table.undeclare_local_sender(local.own(4), actions));
    assert_eq!(bench.lines(router), none());
    bench.subscribe(router, 10, "demo/*");
    bench.act(|table, actions| table.undeclare_local_sender(local.own(5), actions));
    assert_eq!(bench.lines(router), ["interest 1 Final"]);
    assert!(
        !has_subscriber(&bench, "demo/a"),
        "nobody would tell when these end"
    );
    bench.subscribe(router, 11, "demo/late");
    assert!(!has_subscriber(&bench, "demo/late"));
    assert!(sends(&bench, None));
}

/// The gateway may get data before the declarations that were sent before it.
#[test]
fn a_gateway_gets_keys_in_full_until_it_has_answered_behind_the_declaration_of_their_id() {
    let mut bench = Bench::new(Client);
    let gateway = bench.connect(0xd1, Router);
    bench.table.expect_reordering(gateway);
    let (local, key) = (bench.local, key_expr("demo/a"));
    bench.act(|table, actions| table.local_sender(local.own(4), Kind::Subscriber, &key, actions));
    let lines = bench.lines(gateway);
    assert_eq!(lines[0], "keyexpr 1 demo/a");
    let spelled = |bench: &Bench| bench.route(local, "demo/a", Some(4)).0;
    assert_eq!(spelled(&bench), [(gateway, "demo/a".into())]);
    let validity = bench.kept("demo/a");
    bench.declare(
        gateway,
        Some(1),
        Declaration::Subscriber {
            id: 1,
            wire_expr: WireExpr::full("demo/**"),
        },
    );
    assert_eq!(spelled(&bench), [(gateway, "demo/a".into())]);
    bench.declare(gateway, Some(1), Declaration::Final);
    assert!(!validity.holds());
    assert_eq!(spelled(&bench), [(gateway, "1+".into())]);
    // The next id is not confirmed yet.
    let next = key_expr("demo/b");
    bench.act(|table, actions| table.local_sender(local.own(5), Kind::Subscriber, &next, actions));
    let hops = bench.route(local, "demo/b", Some(5)).0;
    assert_eq!(hops, [(gateway, "demo/b".into())]);
}

#[test]
fn a_gateway_that_does_not_answer_counts_as_done_after_ten_seconds() {
    let mut bench = Bench::new(Client);
    let local = bench.local;
    let start = Instant::now();
    let router = bench.connect(0x77, Router);
    assert_eq!(bench.table.next_deadline(), None);
    bench.act(|table, actions| {
        table.local_sender(local.own(1), Kind::Subscriber, &key_expr("a"), actions)
    });
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
        table.local_declare(local.own(1), Own::SUBSCRIBER, &key_expr("in/**"), actions);
        table.local_declare(local.own(2), Own::SUBSCRIBER, &key_expr("in/**"), actions);
        table.local_sender(local.own(1), Kind::Subscriber, &key_expr("out/a"), actions);
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
    // The message is delivered to the session only.
    let third = bench.connect(0x78, Router);
    let (hops, heard) = bench.route(second, "in/x", None);
    assert_eq!((hops, heard), (vec![], vec![1, 2]), "not on to {third}");
}

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
    bench.act(|table, actions| {
        table.local_sender(local.own(1), Kind::Subscriber, &key_expr("a"), actions)
    });
    assert_eq!(bench.lines(b2), none(), "no interests between peers");
    bench.declare(b2, Some(0), Declaration::Final);
    assert_eq!(bench.route(local, "a", Some(1)).0, []);
    bench.subscribe(b2, 1, "a");
    assert_eq!(bench.route(local, "a", Some(1)).0.len(), 1);
    bench.act(|table, actions| {
        table.local_declare(local.own(1), Own::SUBSCRIBER, &key_expr("x/y"), actions)
    });
    bench.act(|table, actions| table.local_undeclare(local.own(1), Kind::Subscriber, actions));
    assert_eq!(bench.lines(b2), ["keyexpr 1 x/y", "sub 1 1+", "unsub 1"]);
    // An interest is answered nevertheless.
    bench.act(|table, actions| {
        table.local_declare(local.own(1), Own::SUBSCRIBER, &key_expr("x/y"), actions)
    });
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
    // But it passes both ways between a peer and a client of this node.
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
    // A gateway that is lost is not waited for.
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
        ["keyexpr 1 live", "interest 1 Current T 1+/*"]
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
    let mut bench = Bench::new(Router);
    let b2 = bench.connect(0xb2, Peer);
    let c3 = bench.connect(0xc3, Peer);
    bench.subscribe(c3, 1, "a");
    assert_eq!(bench.route(b2, "a", None).0.len(), 1, "the router relays");
    // b2 reports itself with a link to number 1, which is c3.
    let body = wire("02  03 00 01 01 b2 02 01 01  03 01 00 01 c3 02 00");
    let oam = Oam {
        id: Oam::LINK_STATE,
        qos: Qos::DECLARE,
        timestamp: None,
        body: OamBody::Buf(&body),
    };
    bench.receive(b2, &encoded(&oam));
    assert_eq!(
        bench.route(b2, "a", None).0,
        [],
        "they have a link of their own"
    );
    bench.subscribe(b2, 1, "a");
    assert_eq!(bench.route(c3, "a", None).0, []);
    let body = wire("01  03 00 02 01 b2 02 00");
    let body = OamBody::Buf(&body);
    bench.receive(b2, &encoded(&Oam { body, ..oam }));
    assert_eq!(bench.route(b2, "a", None).0.len(), 1);
}

#[test]
fn a_peer_that_never_ends_what_it_has_to_say_gets_what_it_asked_for_and_no_more() {
    let mut bench = Bench::new(Peer);
    let local = bench.local;
    let silent = bench.connect(0x55, Peer);
    let sends = |bench: &Bench, key| !bench.route(local, key, None).0.is_empty();
    assert!(sends(&bench, "demo/a"), "it may yet say that it wants it");
    let now = Instant::now();
    assert_eq!(bench.table.next_deadline(), Some(Deadline::Now));
    bench.act(|table, actions| table.expire(now, actions));
    let mut due = now + Duration::from_secs(10);
    assert_eq!(bench.table.next_deadline(), Some(Deadline::At(due)));
    bench.declare(silent, None, token(1, "it/goes/on"));
    bench.act(|table, actions| table.expire(due, actions));
    assert!(sends(&bench, "demo/a"), "it has more to tell");
    due += Duration::from_secs(10);
    assert_eq!(bench.table.next_deadline(), Some(Deadline::At(due)));
    let kept = bench.holds("demo/a", |bench| {
        bench.act(|table, actions| table.expire(due, actions));
    });
    assert!(!kept, "cached routes are outdated");
    assert!(!sends(&bench, "demo/a"));
    bench.subscribe(silent, 1, "demo/*");
    assert!(sends(&bench, "demo/a") && !sends(&bench, "other"));
    assert_eq!(bench.table.next_deadline(), None);
}
