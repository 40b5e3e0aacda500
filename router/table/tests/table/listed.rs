// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lists of declarations with the nodes that made them, as the admin space answers them.

use zonda_codec::InterestMode::{CurrentFuture, Future};
use zonda_codec::WhatAmI::{Client, Peer, Router};
use zonda_table::{Declarers, ForwardingTable, Kind, Listed, ListedPart, Own, SenderPlace};

use crate::bench::{Bench, key_expr, queryable, token};

/// More steps than any list here has.
const ALL: usize = 10_000;

/// Formats rows as `KEY: routers|peers|clients`, in the order of their keys.
fn lines(rows: &[Listed]) -> Vec<String> {
    let line = |Listed { key, by }: &Listed| {
        let Declarers {
            routers,
            peers,
            clients,
        } = by;
        let names = [routers, peers, clients].map(|zids| {
            let names: Vec<_> = zids.iter().map(ToString::to_string).collect();
            names.join(",")
        });
        format!("{key}: {}", names.join("|"))
    };
    let mut lines: Vec<_> = rows.iter().map(line).collect();
    lines.sort_unstable();
    lines
}

/// Reads a list part by part; returns its lines and the rows of each part.
fn parts<P>(first: P, part: impl Fn(&P) -> ListedPart<P>) -> (Vec<String>, Vec<usize>) {
    let (mut rows, mut sizes, mut next) = (Vec::new(), Vec::new(), Some(first));
    while let Some(from) = next {
        let part = part(&from);
        sizes.push(part.rows.len());
        rows.extend(part.rows);
        next = part.next;
        assert!(sizes.len() < ALL, "the list ends");
    }
    (lines(&rows), sizes)
}

fn entities(table: &ForwardingTable, kind: Kind, steps: usize) -> (Vec<String>, Vec<usize>) {
    parts(0, |from| table.list_entities(kind, *from, steps))
}

fn senders(table: &ForwardingTable, kind: Kind, steps: usize) -> (Vec<String>, Vec<usize>) {
    parts(SenderPlace::FIRST, |from| {
        table.list_senders(kind, from, steps)
    })
}

/// A router with two clients and a peer.
fn bench() -> Bench {
    let mut bench = Bench::new(Router);
    let [one, two] = [0xc1, 0xc2].map(|zid| bench.connect(zid, Client));
    let peer = bench.connect(0xd1, Peer);
    for (face, id, key) in [
        (one, 1, "a"),
        (two, 1, "a"),
        (peer, 7, "a"),
        (two, 2, "b/*"),
    ] {
        bench.subscribe(face, id, key);
    }
    bench.declare(peer, None, queryable(1, "q", true, 0));
    bench.declare(one, None, token(3, "t"));
    let own = bench.own(9);
    bench.act(|table, actions| {
        table.local_declare(own, Own::SUBSCRIBER, &key_expr("a"), actions);
    });
    bench
}

#[test]
fn entities_are_listed_with_their_nodes() {
    let bench = bench();
    let listed = |kind| entities(&bench.table, kind, ALL);
    let (subscribers, parts) = listed(Kind::Subscriber);
    assert_eq!(subscribers, ["a: a1|d1|c1,c2", "b/*: a1||c2"]);
    assert_eq!(parts, [2], "one part has room for all");
    assert_eq!(
        listed(Kind::Queryable).0,
        ["@/a1/router/**: a1||", "q: a1|d1|"]
    );
    assert_eq!(listed(Kind::Token).0, ["t: a1||c1"]);
}

#[test]
fn senders_are_listed_with_their_nodes() {
    let mut bench = bench();
    let [one, two] = [0xe1, 0xe2].map(|zid| bench.connect(zid, Client));
    bench.interest(one, 1, CurrentFuture, "KSA", Some("a"));
    bench.interest(two, 1, Future, "KSA", Some("a"));
    bench.interest(two, 2, CurrentFuture, "KQ", Some("q/**"));
    // A listener for tokens sends nothing to them, and one to all keys has no key.
    bench.interest(two, 3, CurrentFuture, "KT", Some("t"));
    bench.interest(two, 4, CurrentFuture, "KS", None);
    for (id, key) in [(20, "a"), (21, "own")] {
        let own = bench.own(id);
        bench.act(|table, actions| {
            table.local_sender(own, Kind::Subscriber, &key_expr(key), actions);
        });
    }
    for steps in [1, 2, ALL] {
        let (publishers, _) = senders(&bench.table, Kind::Subscriber, steps);
        assert_eq!(publishers, ["a: a1||e1,e2", "own: a1||"], "{steps} steps");
        let (queriers, _) = senders(&bench.table, Kind::Queryable, steps);
        assert_eq!(queriers, ["q/**: ||e2"], "{steps} steps");
    }
}

#[test]
fn a_part_ends_with_its_steps() {
    const KEYS: u32 = 100;
    let mut bench = Bench::new(Router);
    let clients = [0xc1, 0xc2, 0xc3].map(|zid| bench.connect(zid, Client));
    for client in clients {
        for id in 0..KEYS {
            bench.subscribe(client, id, &format!("k/{id}"));
            bench.interest(client, id, Future, "S", Some(&format!("p/{id}")));
        }
    }
    for (what, (lines, parts)) in [
        ("subscribers", entities(&bench.table, Kind::Subscriber, 40)),
        ("publishers", senders(&bench.table, Kind::Subscriber, 40)),
    ] {
        assert_eq!(lines.len(), KEYS as usize, "{what}");
        assert!(
            lines.iter().all(|line| line.ends_with("||c1,c2,c3")),
            "{what}"
        );
        // A key and its three nodes are four steps.
        assert!(parts.iter().all(|rows| *rows <= 10), "{what}: {parts:?}");
    }
    // A part makes progress whatever a key costs.
    assert_eq!(
        entities(&bench.table, Kind::Subscriber, 1).0.len(),
        KEYS as usize
    );
}
