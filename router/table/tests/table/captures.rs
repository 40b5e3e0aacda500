// SPDX-License-Identifier: MIT OR Apache-2.0

//! The exchanges captured in appendix A of the specification, byte by byte.

use zonda_codec::InterestMode::CurrentFuture;
use zonda_codec::WhatAmI::{Client, Peer, Router};
use zonda_codec::WireExpr;

use zonda_table::{Kind, Own};

use crate::bench::{Bench, key_expr, queryable, token, wire};

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

    // A.3: a put without a publisher leaves with the subscriber's own id.
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
        table.local_declare(
            local.own(5),
            Own::SUBSCRIBER,
            &key_expr("demo/test/*"),
            actions,
        );
    });
    assert_eq!(
        bench.bytes(router),
        wire("9e 21 08 20 01 00 09 'demo/test'  9e 21 08 62 01 01 02 '/*'")
    );
    // A.7: the end.
    bench.act(|table, actions| table.local_undeclare(local.own(5), Kind::Subscriber, actions));
    assert_eq!(bench.bytes(router), wire("9e 21 08 03 01"));

    let mut bench = Bench::new(Client);
    let router = bench.connect(0x77, Router);
    bench.act(|table, actions| {
        table.local_sender(
            local.own(1),
            Kind::Subscriber,
            &key_expr("demo/test/b"),
            actions,
        );
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
    // Give d7 the ids of the capture: two announced entities, three declared key ids.
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
    // The reference declared an id for the token's key first: 9e 21 08 20 04 00 07 'live/c5'  be 04
    // 21 08 46 03 04.
    assert_eq!(
        bench.bytes(d7),
        wire("be 04 21 08 66 03 00 07 'live/c5'  be 04 21 08 1a")
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
        table.local_declare(local.own(1), Own::SUBSCRIBER, &key_expr("demo/**"), actions);
    });
    let other = bench.connect(0xb2, Peer);
    assert_eq!(
        bench.bytes(other),
        wire("9e 21 08 20 01 00 04 'demo'  9e 21 08 62 01 01 03 '/**'  be 00 21 08 1a")
    );
}
