// SPDX-License-Identifier: MIT OR Apache-2.0

//! Validity of cached routes. The random histories check that no cached route outlives its
//! correctness; these tests, that unrelated changes do not end one.

use zonda_codec::WhatAmI::{Client, Peer, Router};
use zonda_codec::{Declaration, WireExpr};
use zonda_table::Limits;

use crate::bench::{Bench, queryable, token};

const KEY: &str = "fleet/7/pose";

fn key_id(bench: &mut Bench, face: zonda_table::FaceId, id: u16, text: &str) {
    let wire_expr = WireExpr::full(text);
    bench.declare(face, None, Declaration::KeyExpr { id, wire_expr });
}

#[test]
fn what_happens_on_other_keys_ends_no_route() {
    let mut bench = Bench::new(Router);
    let [busy, reader] = [1, 2].map(|zid| bench.connect(zid, Client));
    bench.subscribe(reader, 1, "fleet/**");
    let kept = bench.kept(KEY);
    for id in 10..200 {
        bench.subscribe(busy, id, &format!("fleet/{id}/pose"));
        bench.subscribe(busy, 1000 + id, &format!("*/{id}/**"));
        bench.declare(busy, None, queryable(id, KEY, true, 0));
        bench.declare(busy, None, token(id, KEY));
        key_id(&mut bench, busy, id as u16, &format!("fleet/{id}"));
        let id = id as u16;
        bench.declare(busy, None, Declaration::UndeclareKeyExpr { id });
        bench.unsubscribe(busy, u32::from(id));
    }
    key_id(&mut bench, busy, 1, "fleet/7");
    bench.declare(busy, None, Declaration::UndeclareKeyExpr { id: 1 });
    let newcomer = bench.connect(3, Client);
    let peer = bench.connect(4, Peer);
    bench.subscribe(peer, 1, "elsewhere");
    for gone in [newcomer, peer, busy] {
        bench.cut(gone);
    }
    assert!(kept.holds());
    let last = bench.connect(9, Client);
    assert!(!bench.holds(KEY, |bench| bench.subscribe(last, 1, "*/7/*")));
    assert!(!bench.holds(KEY, |bench| bench.cut(reader)));
}

#[test]
fn an_id_ends_the_routes_that_are_spelled_with_it() {
    let mut bench = Bench::new(Router);
    let reader = bench.connect(2, Client);
    bench.subscribe(reader, 1, "fleet/**");
    assert!(!bench.holds(KEY, |bench| key_id(bench, reader, 1, "fleet")));
    assert!(bench.holds("other", |bench| key_id(bench, reader, 2, "fleet/7")));
    assert_eq!(bench.route(bench.local, KEY, None).0[0].1, "2-/pose");
    let kept = bench.kept(KEY);
    bench.declare(reader, None, Declaration::UndeclareKeyExpr { id: 1 });
    assert!(kept.holds(), "it is spelled with the other");
    bench.declare(reader, None, Declaration::UndeclareKeyExpr { id: 2 });
    assert!(!kept.holds());
    assert_eq!(bench.route(bench.local, KEY, None).0[0].1, KEY);
}

#[test]
fn routes_beyond_the_limit_end_with_any_change_and_those_nobody_keeps_make_room() {
    let limits = Limits {
        route_keys_max: 10,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(Router, limits);
    let busy = bench.connect(1, Client);
    let within: Vec<_> = (0..10).map(|n| bench.kept(&format!("k/{n}"))).collect();
    let beyond: Vec<_> = (10..20).map(|n| bench.kept(&format!("k/{n}"))).collect();
    bench.subscribe(busy, 1, "elsewhere");
    assert!(within.iter().all(|kept| kept.holds()));
    assert!(!beyond.iter().any(|kept| kept.holds()));
    drop(within);
    for n in 0..20 {
        drop(bench.kept(&format!("gone/{n}")));
    }
    let kept = bench.kept("k/21");
    bench.subscribe(busy, 2, "elsewhere/too");
    assert!(kept.holds());
}

/// A change that invalidates all cached routes is paid for once, by those that cache them; a
/// repetition is cheap, because no route is computed again in between.
#[test]
fn a_change_of_everything_costs_little_when_repeated() {
    let mut bench = Bench::new(Router);
    let busy = bench.connect(1, Client);
    let kept: Vec<_> = (0..20_000).map(|n| bench.kept(&format!("k/{n}"))).collect();
    bench.subscribe(busy, 1, "**/nobody/**");
    assert!(
        !kept.iter().any(|kept| kept.holds()),
        "to look at each would take long"
    );
    let before = bench.table.steps();
    for _ in 0..100 {
        bench.unsubscribe(busy, 1);
        bench.subscribe(busy, 1, "**/nobody/**");
    }
    assert!(bench.table.steps() - before < 1000);
}
