// SPDX-License-Identifier: MIT OR Apache-2.0

//! Key ids, subscribers and routes, and the limits of one neighbour.

use zonda_codec::InterestMode::{Current, CurrentFuture, Final, Future};
use zonda_codec::WhatAmI::{Client, Peer, Router};
use zonda_codec::{Declaration, Mapping, WireExpr};
use zonda_table::{Limits, Own, Relation, Shortage};

use crate::bench::{Bench, key_expr, none, queryable, token, wire};

#[test]
fn key_ids_of_a_neighbour() {
    let mut bench = Bench::new(Router);
    let c5 = bench.connect(0xc5, Client);
    let d7 = bench.connect(0xd7, Client);
    bench.receive(c5, &wire("9e 21 08 20 01 00 01 'a'"));
    bench.receive(c5, &wire("9e 21 08 20 01 00 01 'a'"));
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
    // A scope in a D_KEYEXPR names an id of the receiver: none here.
    bench.receive(c5, &wire("9e 21 08 20 02 01 02 '/y'"));
    // Unknown scopes, invalid keys, id 0.
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

#[test]
fn nothing_passes_between_peers_that_are_kept_apart() {
    for is_apart in [false, true] {
        let mut bench = Bench::new(Router);
        if is_apart {
            bench.table.keep_peers_apart();
        }
        let [a1, b2] = [0xa1, 0xb2].map(|number| bench.connect(number, Peer));
        let c5 = bench.connect(0xc5, Client);
        for (face, id) in [(a1, 1), (b2, 2), (c5, 3)] {
            bench.subscribe(face, id, "demo/a");
            bench.declare(face, None, token(id, &format!("alive/{id}")));
        }
        let to = |bench: &Bench, from| {
            let (hops, _) = bench.route(from, "demo/a", None);
            hops.into_iter().map(|(face, _)| face).collect::<Vec<_>>()
        };
        let from_a1 = if is_apart { vec![c5] } else { vec![b2, c5] };
        assert_eq!(to(&bench, a1), from_a1);
        assert_eq!(to(&bench, c5), [a1, b2]);
        assert_eq!(to(&bench, bench.local), [a1, b2, c5]);
        bench.interest(a1, 1, Current, "KT", Some("alive/*"));
        let seen = bench.lines(a1);
        let sees = |id: u32| {
            seen.iter()
                .any(|line| line.contains(&format!("alive/{id}")))
        };
        // It knows its own token.
        assert_eq!([1, 2, 3].map(sees), [false, !is_apart, true], "{seen:?}");
    }
}

/// Several faces declare on one key: a peer gets the first declaration that it may see, and the end
/// of the last.
#[test]
fn peers_that_are_kept_apart_see_what_others_declare_on_the_same_key() {
    let mut bench = Bench::new(Router);
    bench.table.keep_peers_apart();
    let [a1, b2, c3] = [0xa1, 0xb2, 0xc3].map(|number| bench.connect(number, Peer));
    let [d4, e5] = [0xd4, 0xe5].map(|number| bench.connect(number, Client));
    for face in [a1, d4] {
        bench.interest(face, 1, CurrentFuture, "KS", Some("demo/a"));
        bench.bytes(face);
    }
    let hears = |bench: &mut Bench, face| {
        let lines = bench.lines(face);
        { lines.iter() }
            .filter(|line| line.contains("sub "))
            .count()
    };
    bench.subscribe(b2, 1, "demo/a");
    assert_eq!((hears(&mut bench, a1), hears(&mut bench, d4)), (0, 1));
    bench.subscribe(c3, 1, "demo/a");
    assert_eq!((hears(&mut bench, a1), hears(&mut bench, d4)), (0, 0));
    bench.subscribe(e5, 1, "demo/a");
    assert_eq!((hears(&mut bench, a1), hears(&mut bench, d4)), (1, 0));
    bench.unsubscribe(e5, 1);
    assert_eq!((hears(&mut bench, a1), hears(&mut bench, d4)), (1, 0));
    bench.unsubscribe(b2, 1);
    bench.unsubscribe(c3, 1);
    assert_eq!((hears(&mut bench, a1), hears(&mut bench, d4)), (0, 1));
}

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
        table.local_declare(local.own(8), Own::SUBSCRIBER, &key_expr("**"), actions);
        table.local_declare(local.own(9), Own::SUBSCRIBER, &key_expr("demo/a"), actions);
        table.local_declare(local.own(7), Own::SUBSCRIBER, &key_expr("other"), actions);
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
fn a_neighbour_that_is_gone_is_forgotten_in_slices_that_change_no_route() {
    let mut bench = Bench::new(Router);
    let c5 = bench.connect(0xc5, Client);
    let d7 = bench.connect(0xd7, Client);
    let e9 = bench.connect(0xe9, Client);
    for id in 0..1000 {
        bench.subscribe(c5, id, &format!("a/{id}"));
    }
    bench.subscribe(e9, 1, "a/7");
    bench.interest(d7, 1, CurrentFuture, "S", Some("a/*"));
    bench.bytes(d7);
    bench.lose(c5);
    let newcomer = bench.connect(0xf1, Client);
    assert_ne!(newcomer.index(), c5.index(), "the place is not free yet");
    let after = bench.kept("a/7");
    let hops = |bench: &Bench, key| bench.route(d7, key, None).0.len();
    assert_eq!((hops(&bench, "a/1"), hops(&bench, "a/7")), (0, 1));
    assert_eq!(bench.lines(d7), none(), "nothing is forgotten yet");
    let mut slices = Vec::new();
    while bench.act(|table, actions| table.sweep(actions)) {
        slices.push(bench.lines(d7).len());
        assert!(after.holds(), "routes that are kept stay good");
    }
    assert!(
        slices.len() > 10 && slices.iter().all(|told| *told <= 64),
        "{slices:?}"
    );
    let told: usize = slices.iter().sum::<usize>() + bench.lines(d7).len();
    assert_eq!(told, 999, "one has another subscriber");
    assert_eq!((hops(&bench, "a/1"), hops(&bench, "a/7")), (0, 1));
    assert_eq!(bench.connect(0xf2, Client).index(), c5.index());
}

#[test]
fn a_router_that_has_not_introduced_itself_gets_nothing() {
    let mut bench = Bench::new(Router);
    let c5 = bench.connect(0xc5, Client);
    bench.subscribe(c5, 1, "**");
    let b2 = bench.connect(0xb2, Router);
    assert_eq!(bench.lines(b2), ["oam 1"], "who there is");
    bench.subscribe(b2, 1, "**");
    assert_eq!(bench.lines(b2), none());
    assert_eq!(bench.table.relation(b2), Some(Relation::RouterToRouter));
    assert_eq!(bench.route(c5, "a", None).0, []);
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

#[test]
fn what_exceeds_a_limit_is_ignored_and_counted() {
    let limits = Limits {
        key_length_max: 10,
        key_ids_max: 2,
        subscribers_max: 3,
        queryables_max: 1,
        tokens_max: 1,
        interests_max: 1,
        key_memory_max: 1 << 20,
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
    let ends: Vec<_> = (0..6).map(|id| format!("@{id} final")).collect();
    assert_eq!(bench.lines(bad), ends, "also of those that are ignored");
    bench.subscribe(bad, 9, "much/too/long");
    bench.receive(bad, &wire("9e 21 08 62 09 01 08 '/too/lon'"));
    bench.interest(bad, 9, CurrentFuture, "S", Some("much/too/long"));
    bench.interest(bad, 8, Current, "S", Some("much/too/long"));
    assert_eq!(bench.lines(bad), ["@9 final"]);
    let counters = bench.table.counters(bad).expect("it is connected");
    assert_eq!(counters.bad_keys, 4);
    assert_eq!(bench.route(good, "k/2", None).0.len(), 1);
    assert_eq!(bench.route(good, "k/3", None).0.len(), 0);
    // A place that was freed can be used again.
    bench.unsubscribe(bad, 0);
    bench.subscribe(bad, 3, "k/3");
    assert_eq!(bench.route(good, "k/3", None).0.len(), 1);
    bench.subscribe(good, 1, "k/9");
    assert_eq!(bench.table.counters(good).map(|c| c.over_limit), Some(0));
}

#[test]
fn all_keys_of_a_neighbour_share_a_limit_of_memory() {
    let limits = Limits {
        // of the first, the second and the last, but not of the third in place of the last
        key_memory_max: 149 + 148 + 145,
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

/// The limit counts memory, not text: a key of short chunks takes forty times its text.
#[test]
fn keys_count_as_the_memory_that_they_take() {
    let limits = Limits {
        key_memory_max: 1 << 20,
        ..Limits::default()
    };
    let key = |number: u32| format!("{number}{}", "/a".repeat(199));
    let mut bench = Bench::with_limits(Router, limits);
    let empty = bench.table.memory();
    let faces = [(0xc5, false), (0xd7, true)].map(|(zid, by_id)| {
        let face = bench.connect(zid, Client);
        for number in 0..1000 {
            let key = key(number);
            let (id, wire_expr) = (number as u16 + 1, WireExpr::full(&key));
            match by_id {
                true => bench.declare(face, None, Declaration::KeyExpr { id, wire_expr }),
                false => bench.subscribe(face, number, &key),
            }
        }
        let over = bench
            .table
            .counters(face)
            .map(|counters| counters.over_limit);
        assert!(
            over.is_some_and(|over| (900..950).contains(&over)),
            "{over:?}"
        );
        face
    });
    let held = bench.table.memory() - empty;
    assert!((2 << 19..2 << 20).contains(&held), "{held} bytes");
    for face in faces {
        assert!((1 << 19..=1 << 20).contains(&bench.table.memory_of(face)));
        bench.cut(face);
    }
    assert_eq!(bench.table.memory(), empty);
}

#[test]
fn nothing_more_is_declared_where_memory_is_short() {
    let mut bench = Bench::new(Router);
    let c5 = bench.connect(0xc5, Client);
    bench.subscribe(c5, 1, "a");
    let (served, others) = (0, 0);
    bench.table.set_shortage(Some(Shortage { served, others }));
    bench.subscribe(c5, 2, "b");
    bench.unsubscribe(c5, 1);
    bench.table.set_shortage(None);
    bench.subscribe(c5, 3, "c");
    let over = bench.table.counters(c5).map(|counters| counters.over_limit);
    assert_eq!(over, Some(1));
    assert_eq!(bench.table.memory_of(c5), 64 + 80 + 1);
}

/// A neighbour that has declared little loses no declaration to the shortage that another caused.
#[test]
fn a_neighbour_with_few_declarations_declares_where_memory_is_short() {
    let one = 64 + 80 + 1;
    let mut bench = Bench::new(Router);
    let (c5, c6) = (bench.connect(0xc5, Client), bench.connect(0xc6, Client));
    let a2 = bench.connect(0xa2, Router);
    for (id, key) in (1..).zip(["a", "b", "c"]) {
        bench.subscribe(c6, id, key);
        bench.subscribe(a2, id, key);
    }
    bench.table.set_shortage(Some(Shortage {
        served: 2 * one,
        others: 8 * (one + 200),
    }));
    for face in [c5, c6, a2] {
        bench.subscribe(face, 4, "d");
    }
    let over = |face| {
        bench
            .table
            .counters(face)
            .map(|counters| counters.over_limit)
    };
    assert_eq!([c5, c6, a2].map(over), [Some(0), Some(1), Some(0)]);
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
}

#[test]
fn keys_that_cannot_be_used_are_counted_and_noted_once_for_each_neighbour() {
    let mut bench = Bench::new(Router);
    let c5 = bench.connect(0xc5, Client);
    let d7 = bench.connect(0xd7, Client);
    let long = vec!["a"; 257].join("/");
    bench.subscribe(c5, 1, &long);
    bench.subscribe(c5, 2, "a//b");
    let notes = bench.table.take_notes();
    let [note] = &notes[..] else {
        panic!("one note: {notes:?}")
    };
    let expected = "what c5 sends on a key is ignored: a key of 257 chunks exceeds the limit of 256 (key_chunks_max)";
    let text = &note.text;
    assert!(text.starts_with(expected) && !text.contains('\n'), "{text}");
    let unknown = WireExpr {
        scope: 7,
        suffix: "/x",
        mapping: Mapping::Sender,
    };
    for face in [c5, d7, d7] {
        assert_eq!(bench.table.push_key(face, &unknown), None);
    }
    let notes = bench.table.take_notes();
    assert_eq!(notes.len(), 1, "only the other neighbour is new: {notes:?}");
    assert!(
        notes[0].text.contains("what d7 sends") && notes[0].text.contains("id 7 was not declared")
    );
    let counts = [c5, d7].map(|face| {
        let counters = bench.table.counters(face).expect("it is connected");
        (counters.bad_keys, counters.bad_pushes)
    });
    assert_eq!(counts, [(2, 1), (0, 2)]);
    let good = format!("{}/end", vec!["l".repeat(255); 255].join("/"));
    bench.subscribe(c5, 3, &good);
    assert_eq!(
        bench.route(d7, &good, None).0.len(),
        1,
        "as long as the protocol allows"
    );
}
