// SPDX-License-Identifier: MIT OR Apache-2.0

//! Interests of served nodes, row by row of section 6.4 of the specification.

use zonda_codec::InterestMode::{Current, CurrentFuture, Final, Future};
use zonda_codec::WhatAmI::{Client, Peer, Router};
use zonda_codec::{Declaration, Interest, InterestOptions, KeyExpr, Qos, WireExpr};
use zonda_table::{FaceId, Limits};

use crate::bench::{Bench, none, queryable, token, wire};

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
    // The interest of another publisher in the key shares the declaration.
    bench.interest(d7, 2, CurrentFuture, "SA", Some("demo/**"));
    assert_eq!(bench.lines(d7), ["@2 sub 3 demo/**", "@2 final"]);
    bench.interest(d7, 1, Final, "", None);
    assert_eq!(bench.lines(d7), ["unqueryable 2"], "one is shared still");
    bench.unsubscribe(c5, 4);
    assert_eq!(bench.lines(d7), ["unsub 3"]);
    // Aggregation applies neither to tokens nor to peers.
    bench.interest(d7, 3, CurrentFuture, "TA", Some("demo/**"));
    assert_eq!(bench.lines(d7), ["@3 token 4 demo/t", "@3 final"]);
    let peer = bench.connect(0xb2, Peer);
    bench.interest(peer, 1, CurrentFuture, "QA", Some("demo/**"));
    let told = ["@1 queryable 1 demo/q complete distance 3", "@1 final"];
    assert_eq!(bench.lines(peer), told);
}

#[test]
fn an_aggregate_interest_hears_whether_a_queryable_is_complete_for_its_key() {
    let (mut bench, c5, d7) = served();
    bench.interest(d7, 1, CurrentFuture, "QA", Some("demo/*"));
    // A queryable that is complete for a part of the key is not complete for all of it.
    let told = ["@1 queryable 1 demo/*", "@1 final"];
    assert_eq!(bench.lines(d7), told);
    bench.declare(c5, None, queryable(20, "demo/**", true, 0));
    assert_eq!(bench.lines(d7), ["queryable 1 demo/* complete"]);
    bench.declare(c5, None, queryable(21, "**", true, 0));
    assert_eq!(bench.lines(d7), none(), "it is complete already");
    bench.interest(d7, 2, CurrentFuture, "QA", Some("demo/*"));
    assert_eq!(
        bench.lines(d7),
        ["@2 queryable 1 demo/* complete", "@2 final"]
    );
    bench.declare(
        c5,
        None,
        Declaration::UndeclareQueryable { id: 20, key: None },
    );
    assert_eq!(bench.lines(d7), none(), "there is another one");
    bench.declare(c5, None, queryable(21, "**", false, 0));
    assert_eq!(bench.lines(d7), ["queryable 1 demo/*"]);
    bench.declare(c5, None, queryable(21, "**", true, 0));
    assert_eq!(bench.lines(d7), ["queryable 1 demo/* complete"]);
    // The neighbour's own queryables do not count.
    bench.declare(d7, None, queryable(9, "demo/**", true, 0));
    bench.declare(
        c5,
        None,
        Declaration::UndeclareQueryable { id: 21, key: None },
    );
    assert_eq!(bench.lines(d7), ["queryable 1 demo/*"]);
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
fn after_final_nothing_new_is_said_any_more() {
    let (mut bench, c5, d7) = served();
    bench.interest(d7, 1, CurrentFuture, "S", Some("demo/**"));
    bench.lines(d7);
    bench.interest(d7, 1, Final, "", None);
    bench.interest(d7, 77, Final, "", None);
    bench.subscribe(c5, 4, "demo/later");
    assert_eq!(bench.lines(d7), none());
    // The id of a key does not change while the key is declared.
    bench.interest(d7, 2, CurrentFuture, "S", Some("demo/**"));
    assert_eq!(
        bench.lines(d7),
        ["@2 sub 1 demo/*", "@2 sub 2 demo/later", "@2 final"]
    );
    bench.interest(d7, 2, Final, "", None);
    bench.unsubscribe(c5, 1);
    assert_eq!(bench.lines(d7), ["unsub 1"], "what was said is taken back");
    bench.subscribe(c5, 1, "demo/*");
    assert_eq!(bench.lines(d7), none());
    bench.interest(d7, 3, CurrentFuture, "S", Some("demo/*"));
    assert_eq!(
        bench.lines(d7),
        ["@3 sub 3 demo/*", "@3 sub 2 demo/later", "@3 final"]
    );
}

#[test]
fn who_asks_again_in_the_same_moment_is_not_left_with_what_is_gone() {
    let (mut bench, c5, d7) = served();
    // An announcement for the first interest is under way while the neighbour ends that interest
    // and asks again.
    bench.interest(d7, 1, Future, "S", Some("demo/news"));
    bench.subscribe(c5, 4, "demo/news");
    assert_eq!(bench.lines(d7), ["@1 final", "sub 1 demo/news"]);
    bench.interest(d7, 1, Final, "", None);
    bench.unsubscribe(c5, 4);
    assert_eq!(bench.lines(d7), ["unsub 1"], "it takes it for an answer");
    bench.interest(d7, 2, Future, "S", Some("demo/news"));
    assert_eq!(bench.lines(d7), ["@2 final"]);
}

#[test]
fn an_id_in_use_is_served_as_if_new() {
    let (mut bench, c5, d7) = served();
    bench.interest(d7, 1, CurrentFuture, "S", Some("demo/**"));
    bench.lines(d7);
    bench.interest(d7, 1, CurrentFuture, "T", Some("demo/**"));
    assert_eq!(bench.lines(d7), ["@1 token 2 demo/t", "@1 final"]);
    bench.unsubscribe(c5, 1);
    assert_eq!(bench.lines(d7), ["unsub 1"], "what was said is taken back");
    bench.subscribe(c5, 1, "demo/*");
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
    // Pushes use the id as well, and the neighbour may use it in its messages.
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
    // The neighbour's own id for the same text is preferred.
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
        bench.lines(face);
        bench.interest(face, 1, CurrentFuture, "SQT", None);
        assert_eq!(bench.lines(face), none(), "{own} from {remote}");
        let counters = bench.table.counters(face).expect("it is connected");
        assert_eq!(counters.misplaced, 1);
    }
}

/// Begins an interest in all keys, and leaves the rest of the answer for later.
fn begin_interest(bench: &mut Bench, face: FaceId, key: Option<&str>) {
    let interest = Interest {
        id: 9,
        mode: CurrentFuture,
        options: InterestOptions::SUBSCRIBERS,
        wire_expr: key.map(WireExpr::full),
        qos: Qos::DECLARE,
        timestamp: None,
        node_id: 0,
    };
    bench.act(|table, actions| table.handle_interest(face, &interest, actions));
}

#[test]
fn a_long_answer_comes_in_slices() {
    for key in [None, Some("k/**")] {
        let mut bench = Bench::with_limits(
            Router,
            Limits {
                answer_slice_max: 3,
                ..Limits::default()
            },
        );
        let c5 = bench.connect(0xc5, Client);
        let d7 = bench.connect(0xd7, Client);
        (0..8).for_each(|id| bench.subscribe(c5, id, &format!("k/{id}")));
        begin_interest(&mut bench, d7, key);
        assert!(bench.table.is_answering(d7));
        let told = ["@9 sub 1 k/0", "@9 sub 2 k/1", "@9 sub 3 k/2"];
        assert_eq!(bench.lines(d7), told);
        // The end of an announced subscriber is announced; that of another one is not, and a new
        // key takes its place.
        bench.unsubscribe(c5, 1);
        bench.unsubscribe(c5, 5);
        assert_eq!(bench.lines(d7), ["unsub 2"]);
        bench.subscribe(c5, 9, "else");
        let new = bench.lines(d7);
        assert_eq!(new.is_empty(), key.is_some(), "{new:?}");
        let mut rest = Vec::new();
        while bench.act(|table, actions| table.answer_on(d7, actions)) {
            assert!(bench.table.is_answering(d7));
            let slice = bench.lines(d7);
            assert!(slice.len() <= 3, "{slice:?}");
            rest.extend(slice);
        }
        rest.extend(bench.lines(d7));
        assert_eq!(rest.pop().as_deref(), Some("@9 final"));
        for id in [3, 4, 6, 7] {
            let end = format!(" k/{id}");
            let count = rest.iter().filter(|line| line.ends_with(&end)).count();
            assert_eq!(count, 1, "{id} in {rest:?}");
        }
        assert!(!rest.iter().any(|line| line.ends_with(" k/5")), "{rest:?}");
        assert!(!rest.iter().any(|line| line.ends_with(" else")), "{rest:?}");
        bench.unsubscribe(c5, 3);
        assert_eq!(bench.lines(d7).len(), 1, "changes follow");
    }
}

#[test]
fn an_answer_under_way_is_finished_before_the_next_and_dies_with_its_face() {
    let limits = Limits {
        answer_slice_max: 3,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(Router, limits);
    let c5 = bench.connect(0xc5, Client);
    let d7 = bench.connect(0xd7, Client);
    (0..8).for_each(|id| bench.subscribe(c5, id, &format!("k/{id}")));
    begin_interest(&mut bench, d7, None);
    bench.interest(d7, 9, Final, "", None);
    assert!(!bench.table.is_answering(d7));
    let lines = bench.lines(d7);
    assert_eq!(
        (lines.len(), lines.last().map(|line| &**line)),
        (9, Some("@9 final"))
    );
    begin_interest(&mut bench, d7, None);
    bench.cut(d7);
    assert!(!bench.act(|table, actions| table.answer_on(d7, actions)));
}

/// The final is sent when both answers are complete: this node's own and the gateway's.
#[test]
fn a_long_answer_and_a_gateway_that_answers_meanwhile() {
    for gateway_first in [true, false] {
        let limits = Limits {
            answer_slice_max: 3,
            ..Limits::default()
        };
        let mut bench = Bench::with_limits(Peer, limits);
        let gateway = bench.connect(0x77, Router);
        let c5 = bench.connect(0xc5, Client);
        let d7 = bench.connect(0xd7, Client);
        (0..8).for_each(|id| bench.subscribe(c5, id, &format!("k/{id}")));
        begin_interest(&mut bench, d7, None);
        if gateway_first {
            bench.declare(gateway, Some(1), Declaration::Final);
        }
        while bench.act(|table, actions| table.answer_on(d7, actions)) {}
        if !gateway_first {
            let lines = bench.lines(d7);
            assert!(!lines.contains(&"@9 final".to_owned()), "{lines:?}");
            bench.declare(gateway, Some(1), Declaration::Final);
        }
        let lines = bench.lines(d7);
        let ends = lines.iter().filter(|line| *line == "@9 final").count();
        assert_eq!(ends, 1, "{gateway_first} {lines:?}");
        assert_eq!(lines.last().map(|line| &**line), Some("@9 final"));
    }
}
