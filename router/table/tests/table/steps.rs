// SPDX-License-Identifier: MIT OR Apache-2.0

//! Work that neighbours can cause at once, counted in steps, with keys and tables that are as
//! expensive as the limits allow.

use std::time::{Duration, Instant};

use zonda_codec::InterestMode::CurrentFuture;
use zonda_codec::WhatAmI::{Client, Router};
use zonda_codec::{Qos, Target};
use zonda_table::{
    FaceId, Limits, NewQuery, QueryDispatch, QuerySearch, Reach, Route, RouteSearch, SLICE_STEPS,
};

use crate::bench::{Bench, key_expr, queryable};

/// Excess over a slice, for work that begins within it and ends after it.
const SLACK: u64 = 2048;

/// Returns a key of as many chunks as are allowed, each of which may match in many ways.
fn hostile_key(number: usize) -> String {
    format!("**/a{number}/{}", vec!["**/a"; 126].join("/"))
}

fn begin(bench: &mut Bench, from: FaceId, key: &str) -> RouteSearch {
    let key = key_expr(key).into_owned();
    bench.table.begin_route(from, key, None)
}

/// Searches a route slice by slice; returns it with the number of slices.
fn slices(bench: &mut Bench, from: FaceId, key: &str) -> (Route, usize) {
    let mut search = begin(bench, from, key);
    for slices in 1.. {
        let before = bench.table.steps();
        let route = bench.table.search_route(&mut search);
        let steps = bench.table.steps() - before;
        assert!(
            steps <= SLICE_STEPS as u64 + SLACK,
            "{steps} in slice {slices}"
        );
        if let Some(route) = route {
            return (route, slices);
        }
    }
    unreachable!("there is an end")
}

#[test]
fn a_route_through_hostile_keys_is_found_in_slices() {
    let mut bench = Bench::new(Router);
    let [hostile, honest] = [0xc5, 0xd7].map(|zid| bench.connect(zid, Client));
    for number in 0..200 {
        bench.subscribe(hostile, number as u32, &hostile_key(number));
    }
    bench.subscribe(honest, 1, "a0/**");
    let key = format!("a0/{}", vec!["a"; 255].join("/"));
    let (route, _) = slices(&mut bench, hostile, &key);
    assert_eq!(route.hops.len(), 1, "the honest one alone");
    let wild = hostile_key(7);
    let (route, taken) = slices(&mut bench, honest, &wild);
    assert_eq!(route.hops.len(), 1);
    assert!(taken > 10, "{taken} slices");
    let (_, taken) = slices(&mut bench, honest, "an/honest/key");
    assert_eq!(taken, 1, "what meets little costs little");
}

/// Subscribers that are there from the first slice to the last are found, whatever comes and goes
/// in between.
#[test]
fn a_route_that_is_looked_for_while_the_table_changes() {
    let mut bench = Bench::new(Router);
    let publisher = bench.connect(1, Client);
    let faces: Vec<FaceId> = (2..12).map(|zid| bench.connect(zid, Client)).collect();
    for (index, face) in faces.iter().enumerate() {
        for id in 0..2000 {
            bench.subscribe(*face, id, &format!("fleet/{index}/{id}"));
        }
    }
    for churn in [false, true] {
        let mut search = begin(&mut bench, publisher, "fleet/**");
        let (mut slices, mut gone) = (1, 0);
        let route = loop {
            if let Some(route) = bench.table.search_route(&mut search) {
                break route;
            }
            slices += 1;
            bench.subscribe(faces[0], 10_000 + slices, &format!("fleet/new/{slices}"));
            if churn {
                gone += 1;
                bench.unsubscribe(faces[slices as usize % 9], gone);
            }
        };
        assert!(slices > 3, "{slices}");
        let hops: Vec<FaceId> = route.hops.iter().map(|hop| hop.face).collect();
        assert_eq!(hops, faces, "churn: {churn}");
        assert!(
            !search.validity().holds(),
            "what came meanwhile may be missing"
        );
    }
}

/// A neighbour is lost, and another takes its place, during the search.
#[test]
fn a_route_that_is_looked_for_leads_to_nobody_who_has_gone() {
    let mut bench = Bench::new(Router);
    let [publisher, gone] = [1, 2].map(|zid| bench.connect(zid, Client));
    for id in 0..20_000 {
        bench.subscribe(gone, id, &format!("fleet/{id}"));
    }
    let mut search = begin(&mut bench, publisher, "fleet/**");
    assert!(bench.table.search_route(&mut search).is_none());
    bench.cut(gone);
    let next = bench.connect(3, Client);
    assert_eq!(next.index(), gone.index());
    let route = loop {
        if let Some(route) = bench.table.search_route(&mut search) {
            break route;
        }
    };
    assert!(route.hops.is_empty(), "{route:?}");
}

fn face_with(bench: &mut Bench, zid: u128, subscribers: u32, interests: u32) -> FaceId {
    let face = bench.connect(zid, Client);
    for id in 0..subscribers {
        bench.subscribe(face, id, &format!("attack/s{id}/**"));
    }
    for id in 0..interests {
        let key = format!("attack/**/n{id}/**");
        bench.interest(face, id + 1, CurrentFuture, "SA", Some(&key));
    }
    bench.bytes(face);
    face
}

/// A face with many aggregated interests, each for many subscribers of its own, which it does not
/// see: a declaration that all of them cover costs a slice, and the rest is done in slices.
#[test]
fn interests_in_one_for_all_multiply_nothing() {
    let mut bench = Bench::new(Router);
    face_with(&mut bench, 1, 256, 1000);
    let other = bench.connect(2, Client);
    let most = 4 * Limits::default().announce_steps_max as u64;
    for round in 0..4 {
        for came in [true, false] {
            let before = bench.table.steps();
            match came {
                true => bench.subscribe(other, 1, "attack/**"),
                false => bench.unsubscribe(other, 1),
            }
            let steps = bench.table.steps() - before;
            assert!(steps < most, "{steps} steps, came: {came}, round {round}");
            if round % 2 == 0 {
                sweep(&mut bench, most);
            }
        }
    }
    sweep(&mut bench, most);
}

/// Steps of a turn of the task that reads a neighbour: 2 ms in a build that is not optimised.
const TURN_STEPS: u64 = 1500;

/// A declaration that thousands of interests cover, and each slice of its announcement, take no
/// longer than a turn: the messages of other neighbours wait for the turns of all tasks.
#[test]
fn a_declaration_takes_no_more_than_a_turn_at_once() {
    let mut bench = Bench::new(Router);
    let asker = bench.connect(1, Client);
    for id in 0..10_000 {
        let key = format!("attack/**/n{id}/**");
        bench.interest(asker, id + 1, CurrentFuture, "S", Some(&key));
    }
    let other = bench.connect(2, Client);
    for came in [true, false] {
        let before = bench.table.steps();
        match came {
            true => bench.subscribe(other, 1, "attack/**"),
            false => bench.unsubscribe(other, 1),
        }
        let steps = bench.table.steps() - before;
        assert!(steps < TURN_STEPS, "{steps} steps, came: {came}");
        assert!(bench.table.is_busy(other), "the rest waits");
        sweep(&mut bench, TURN_STEPS);
    }
}

/// The cost of an interest depends on the declarations of other faces on its key, not on those of
/// the asking face: for all kinds, aggregated or not, with and without a key, and wherever in the
/// tree the other keys are.
#[test]
fn an_interest_does_not_walk_what_its_asker_has() {
    const OWN: u32 = 4096;
    let mut bench = Bench::new(Router);
    let [asker, other] = [1, 2].map(|zid| bench.connect(zid, Client));
    for id in 0..OWN {
        bench.subscribe(asker, id, &format!("attack/s{id}/**"));
        let name = format!("attack/q{id}/**");
        bench.declare(asker, None, queryable(id, &name, false, 0));
        if id % 1000 == 0 {
            bench.subscribe(other, id, &format!("attack/other{id}/a"));
        }
    }
    bench.unsubscribe(other, 1000);
    let keys = ["attack/*/none", "attack/**/n/**", "**/s7/**", "attack/**"];
    let mut id = 0;
    for (key, options) in keys
        .iter()
        .flat_map(|key| [(key, "SA"), (key, "QA"), (key, "SQ")])
    {
        let before = bench.table.steps();
        for _ in 0..100 {
            id += 1;
            bench.interest(asker, id, CurrentFuture, options, Some(key));
        }
        let steps = (bench.table.steps() - before) / 100;
        assert!(steps < 100, "{steps} steps for {options} on {key}");
    }
    let before = bench.table.steps();
    bench.interest(asker, id + 1, CurrentFuture, "SQ", None);
    assert!(bench.table.steps() - before < 100, "without a key");
    let lines = bench.lines(asker);
    let heard = lines.iter().filter(|line| line.contains("other"));
    assert!(heard.count() >= 4, "{lines:?}");
}

/// Does the remaining work, each slice within bounds.
fn sweep(bench: &mut Bench, most: u64) {
    loop {
        let before = bench.table.steps();
        let more = bench.act(|table, actions| table.sweep(actions));
        let steps = bench.table.steps() - before;
        assert!(steps < most, "{steps} steps in a slice");
        if !more {
            return;
        }
    }
}

/// The interested faces have the true state at the end.
#[test]
fn what_is_told_in_slices_is_true_at_the_end() {
    let limits = Limits {
        announce_steps_max: 50,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(Router, limits);
    let asker = face_with(&mut bench, 1, 20, 200);
    let others = [2, 3].map(|zid| bench.connect(zid, Client));
    let told = |bench: &mut Bench| {
        let lines = bench.lines(asker);
        let ends = lines
            .iter()
            .filter(|line| line.starts_with("unsub"))
            .count();
        (lines.len() - ends, ends)
    };
    for other in others {
        bench.subscribe(other, 1, "attack/**");
    }
    assert!(told(&mut bench).0 < 200, "the rest comes later");
    bench.act(|table, actions| while table.sweep(actions) {});
    bench.unsubscribe(others[0], 1);
    bench.act(|table, actions| while table.sweep(actions) {});
    assert_eq!(told(&mut bench).1, 0, "there is another one");
    bench.unsubscribe(others[1], 1);
    bench.act(|table, actions| while table.sweep(actions) {});
    assert_eq!(told(&mut bench), (0, 200));
    // The subscriber ends before it is announced.
    bench.subscribe(others[0], 1, "attack/**");
    bench.unsubscribe(others[0], 1);
    bench.act(|table, actions| while table.sweep(actions) {});
    let (begun, ended) = told(&mut bench);
    assert_eq!(begun, ended);
    bench.subscribe(others[0], 1, "attack/**");
    bench.act(|table, actions| while table.sweep(actions) {});
    assert_eq!(told(&mut bench), (200, 0));
    bench.cut(others[0]);
    assert_eq!(told(&mut bench), (0, 200));
    assert!(!bench.table.is_sweeping());
}

/// Faces with few interests get a change before those with many; then the face that made the change
/// continues.
#[test]
fn few_interests_are_served_before_many() {
    let limits = Limits {
        announce_steps_max: 1000,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(Router, limits);
    let many = face_with(&mut bench, 1, 20, 5000);
    let few = bench.connect(2, Client);
    bench.interest(few, 1, CurrentFuture, "S", Some("attack/**"));
    bench.bytes(few);
    let source = bench.connect(3, Client);
    let slices = |bench: &mut Bench| {
        let mut slices = 0;
        while bench.act(|table, actions| table.work_on(source, actions)) {
            slices += 1;
        }
        slices
    };
    for round in 0..3 {
        bench.subscribe(source, 1, "attack/**");
        assert!(slices(&mut bench) < 10, "round {round}");
        assert!(bench.lines(few)[0].starts_with("sub "), "round {round}");
        bench.unsubscribe(source, 1);
        assert!(slices(&mut bench) < 10, "round {round}");
        assert!(bench.lines(few)[0].starts_with("unsub "), "round {round}");
        assert!(bench.table.is_sweeping(), "the rest comes later");
    }
    assert!(bench.lines(many).len() < 5000);
    bench.subscribe(source, 1, "attack/**");
    bench.act(|table, actions| while table.sweep(actions) {});
    let lines = bench.lines(many);
    let ends = lines.iter().filter(|line| line.starts_with("unsub"));
    let ends = ends.count();
    assert!(lines.len() - 2 * ends >= 1, "it is there at the end");
    // Many changes at once are queued.
    for id in 2..100 {
        bench.subscribe(source, id, &format!("attack/{id}/**"));
    }
    assert!(
        slices(&mut bench) > 80,
        "only some may be left to the sweep"
    );
}

/// A face with many interests gets a change in the end, next to a face that keeps changing a
/// declaration.
#[test]
fn many_interests_are_served_beside_churn() {
    let limits = Limits {
        announce_steps_max: 1000,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(Router, limits);
    let many = face_with(&mut bench, 1, 20, 2000);
    bench.interest(many, 5000, CurrentFuture, "S", Some("attack/late"));
    bench.bytes(many);
    let [churner, source] = [2, 3].map(|zid| bench.connect(zid, Client));
    bench.subscribe(source, 1, "attack/late");
    let heard = (0..10_000).any(|round: u32| {
        match round.is_multiple_of(2) {
            true => bench.subscribe(churner, 1, "attack/**"),
            false => bench.unsubscribe(churner, 1),
        }
        bench.act(|table, actions| table.sweep(actions));
        let lines = bench.lines(many);
        lines.iter().any(|line| line.contains("late"))
    });
    assert!(heard, "not within ten thousand slices");
}

/// Queries are searched like routes.
#[test]
fn a_question_is_looked_for_in_slices() {
    let mut bench = Bench::new(Router);
    let [hostile, honest] = [0xc5, 0xd7].map(|zid| bench.connect(zid, Client));
    for id in 0..20_000 {
        bench.declare(
            honest,
            None,
            queryable(id, &format!("attack/q/{id}/t"), false, 0),
        );
    }
    let key = key_expr("**/t");
    let ask = NewQuery {
        rid: 7,
        key: &key,
        target: Target::All,
        qos: Qos::REQUEST,
        timeout: Duration::from_secs(1),
        querier: None,
        destination: Reach::ANY,
        hears_of_losses: true,
    };
    let (mut search, now) = (QuerySearch::default(), Instant::now());
    for slices in 1.. {
        let before = bench.table.steps();
        let disposal = bench.table.search_query(hostile, &ask, now, &mut search);
        let steps = bench.table.steps() - before;
        assert!(
            steps <= SLICE_STEPS as u64 + SLACK,
            "{steps} in slice {slices}"
        );
        bench.subscribe(honest, 1, &format!("other/{slices}"));
        if let Some(QueryDispatch::Sent(branches)) = disposal {
            assert_eq!(branches.hops.len(), 1);
            assert!(slices > 10, "{slices}");
            break;
        }
    }
}

#[test]
fn a_neighbour_has_so_many_keys_with_wildcards() {
    let limits = Limits {
        wild_keys_max: 3,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(Router, limits);
    let [wild, other] = [1, 2].map(|zid| bench.connect(zid, Client));
    for id in 0..5 {
        bench.subscribe(wild, id, &format!("wild/{id}/*"));
        bench.subscribe(wild, 10 + id, &format!("plain/{id}"));
    }
    let counters = bench.table.counters(wild).expect("it is connected");
    assert_eq!((counters.wild_keys_refused, counters.over_limit), (2, 2));
    let notes = bench.table.take_notes();
    assert!(
        notes.len() == 1 && notes[0].text.contains("limits/wild_keys"),
        "{notes:?}"
    );
    let reached = |bench: &Bench, key| bench.route(other, key, None).0.len();
    assert_eq!(
        (reached(&bench, "wild/2/a"), reached(&bench, "wild/3/a")),
        (1, 0)
    );
    assert_eq!(reached(&bench, "plain/4"), 1);
    bench.unsubscribe(wild, 0);
    bench.subscribe(wild, 3, "wild/3/*");
    assert_eq!(reached(&bench, "wild/3/a"), 1);
}
