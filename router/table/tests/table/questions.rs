// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries: their destinations, their ends, and what hostile neighbours can do about them.

use std::time::{Duration, Instant};

use zonda_codec::{Declaration, InterestMode, Qos, Target, WhatAmI, WireExpr};
use zonda_table::{
    Branches, Counterpart, Ended, Ending, FaceId, Kind, Limits, Locality, NewQuery, Own,
    QueryDispatch, Reach,
};

use WhatAmI::{Client, Peer, Router};

use crate::bench::{Bench, key_expr, queryable, zid};

const TIMEOUT: Duration = Duration::from_secs(10);

fn try_ask(
    bench: &mut Bench,
    face: FaceId,
    (rid, key): (u32, &str),
    target: Target,
) -> QueryDispatch {
    let ask = NewQuery {
        rid,
        key: &key_expr(key),
        target,
        qos: Qos::REQUEST,
        timeout: TIMEOUT,
        querier: None,
        destination: Reach::ANY,
        hears_of_losses: true,
    };
    bench.table.handle_query(face, &ask, Instant::now())
}

fn ask(bench: &mut Bench, face: FaceId, (rid, key): (u32, &str), target: Target) -> Branches {
    match try_ask(bench, face, (rid, key), target) {
        QueryDispatch::Sent(branches) => branches,
        other => panic!("{other:?}"),
    }
}

/// Returns the neighbours that a query goes to.
fn faces(branches: &Branches) -> Vec<FaceId> {
    branches.hops.iter().map(|hop| hop.face).collect()
}

fn ended(bench: &mut Bench) -> Vec<(FaceId, u32, Ending)> {
    let line = |ended: Ended| (ended.origin.face, ended.origin.rid, ended.how);
    bench.table.take_ended().into_iter().map(line).collect()
}

#[test]
fn targets_choose_by_completeness_and_distance() {
    let mut bench = Bench::new(Router);
    let asker = bench.connect(1, Client);
    let clients: Vec<FaceId> = (2..6).map(|number| bench.connect(number, Client)).collect();
    bench.declare(asker, None, queryable(1, "a/**", true, 0));
    bench.declare(clients[0], None, queryable(1, "a/b", false, 0));
    bench.declare(clients[1], None, queryable(1, "a/*", true, 7));
    bench.declare(clients[2], None, queryable(1, "a/**", true, 1));
    bench.declare(clients[3], None, queryable(1, "a/b/c", true, 0));
    let all = ask(&mut bench, asker, (1, "a/b"), Target::All);
    assert_eq!(faces(&all), clients[..3]);
    let complete = ask(&mut bench, asker, (2, "a/b"), Target::AllComplete);
    assert_eq!(faces(&complete), clients[1..3]);
    // Distances that clients declare do not count; the first of the nearest gets the query.
    let best = ask(&mut bench, asker, (3, "a/b"), Target::BestMatching);
    assert_eq!(faces(&best), clients[1..2]);
    let none_complete = ask(&mut bench, asker, (4, "*/b/**"), Target::BestMatching);
    assert_eq!(faces(&none_complete), clients);
    assert_eq!(
        try_ask(&mut bench, asker, (5, "x"), Target::All),
        QueryDispatch::Ended
    );
    assert_eq!(ended(&mut bench), [(asker, 5, Ending::Complete)]);
}

#[test]
fn the_session_is_nearest() {
    let mut bench = Bench::new(Router);
    let (local, client) = (bench.local, bench.connect(1, Client));
    bench.declare(client, None, queryable(1, "k", true, 0));
    let key = key_expr("k");
    bench.act(|table, actions| {
        table.local_declare(local.own(5), Own::queryable(true), &key, actions);
        table.local_declare(local.own(6), Own::queryable(false), &key, actions);
    });
    let best = ask(&mut bench, local, (1, "k"), Target::BestMatching);
    assert_eq!(
        (best.hops.len(), &best.local[0].queryables[..]),
        (0, &[5, 6][..])
    );
    let complete = ask(&mut bench, local, (2, "k"), Target::AllComplete);
    assert_eq!(faces(&complete), [client]);
    assert_eq!(complete.local[0].queryables, [5]);
    // A neighbour's query does not go to its own queryable, but to the session's.
    let other = ask(&mut bench, client, (1, "k"), Target::All);
    assert_eq!(
        (other.hops.len(), &other.local[0].queryables[..]),
        (0, &[5, 6][..])
    );
    // Without the complete queryable the promise changes, and a neighbour that got the promise gets
    // the change.
    let interested = bench.connect(2, Client);
    bench.interest(interested, 1, InterestMode::CurrentFuture, "Q", Some("k"));
    assert_eq!(
        bench.lines(interested),
        ["@1 queryable 1 k complete", "@1 final"]
    );
    bench.declare(
        client,
        None,
        Declaration::UndeclareQueryable { id: 1, key: None },
    );
    bench.lines(interested);
    bench.act(|table, actions| {
        table.local_undeclare(local.own(5), Kind::Queryable, actions);
    });
    assert_eq!(bench.lines(interested), ["queryable 1 k"]);
    bench.act(|table, actions| {
        table.local_declare(local.own(5), Own::queryable(true), &key, actions)
    });
    assert_eq!(bench.lines(interested), ["queryable 1 k complete"]);
    bench.declare(client, None, queryable(1, "k", true, 0));
    bench.act(|table, actions| table.local_undeclare(local.own(5), Kind::Queryable, actions));
    let best = ask(&mut bench, local, (3, "k"), Target::BestMatching);
    assert_eq!((faces(&best), best.local.len()), (vec![client], 0));
}

#[test]
fn peers_are_asked_until_they_have_told_all() {
    let mut bench = Bench::new(Peer);
    let local = bench.local;
    let (first, second) = (bench.connect(1, Peer), bench.connect(2, Peer));
    assert_eq!(
        faces(&ask(&mut bench, local, (1, "k"), Target::AllComplete)),
        [first, second]
    );
    bench.declare(first, Some(0), Declaration::Final);
    bench.declare(second, None, queryable(1, "k", true, 0));
    bench.declare(second, Some(0), Declaration::Final);
    assert_eq!(
        faces(&ask(&mut bench, local, (2, "k"), Target::All)),
        [second]
    );
    // A query of one peer does not go to another peer.
    assert_eq!(
        try_ask(&mut bench, first, (1, "k"), Target::All),
        QueryDispatch::Ended
    );
}

#[test]
fn a_gateway_is_asked_until_it_has_told_a_querier_of_nobody() {
    let mut bench = Bench::new(Client);
    let local = bench.local;
    let gateway = bench.connect(1, Router);
    let key = key_expr("k");
    bench.act(|table, actions| table.local_sender(local.own(9), Kind::Queryable, &key, actions));
    assert_eq!(
        bench.lines(gateway),
        ["keyexpr 1 k", "interest 1 CurrentFuture KQ 1+"]
    );
    let question = |rid| NewQuery {
        rid,
        key: &key,
        target: Target::BestMatching,
        qos: Qos::REQUEST,
        timeout: TIMEOUT,
        querier: Some(9),
        destination: Reach::ANY,
        hears_of_losses: true,
    };
    let now = Instant::now();
    let before = bench.table.handle_query(local, &question(1), now);
    assert!(matches!(before, QueryDispatch::Sent(_)));
    bench.declare(gateway, Some(1), Declaration::Final);
    let after = bench.table.handle_query(local, &question(2), now);
    assert_eq!(after, QueryDispatch::Ended);
    bench.declare(gateway, None, queryable(4, "k", false, 1));
    let matched = bench.table.handle_query(local, &question(3), now);
    assert!(matches!(matched, QueryDispatch::Sent(_)));
    let has = |bench: &Bench, target| {
        let audience = Counterpart::of_target(target).within(Locality::Any);
        bench.table.has_counterpart(local, key.as_str(), audience)
    };
    assert!(has(&bench, Target::All) && !has(&bench, Target::AllComplete));
}

#[test]
fn every_branch_has_a_number_of_its_own_and_the_last_ends_the_question() {
    let mut bench = Bench::new(Router);
    let asker = bench.connect(1, Client);
    let (one, two) = (bench.connect(2, Client), bench.connect(3, Client));
    bench.declare(one, None, queryable(1, "k/a", false, 0));
    bench.declare(two, None, queryable(1, "k/b", false, 0));
    let first = ask(&mut bench, asker, (77, "k/*"), Target::All);
    let second = ask(&mut bench, asker, (78, "k/*"), Target::All);
    let rids = |branches: &Branches| branches.hops.iter().map(|hop| hop.rid).collect::<Vec<_>>();
    assert_eq!((rids(&first), rids(&second)), (vec![1, 1], vec![2, 2]));
    assert_eq!(
        bench.table.origin_of_reply(two, 2).map(|asker| asker.rid),
        Some(78)
    );
    bench.table.finish_branch(one, 1);
    assert_eq!(ended(&mut bench), []);
    // Its final again, a reply after the final, and finals of queries that it never got.
    bench.table.finish_branch(one, 1);
    assert_eq!(bench.table.origin_of_reply(one, 1), None);
    bench.table.finish_branch(asker, 1);
    assert_eq!(bench.table.origin_of_reply(asker, 2), None);
    assert_eq!(ended(&mut bench), []);
    let unknown = |bench: &Bench, face| bench.table.counters(face).map(|c| c.unknown_answers);
    assert_eq!(
        (unknown(&bench, one), unknown(&bench, asker)),
        (Some(2), Some(2))
    );
    bench.table.finish_branch(two, 1);
    assert_eq!(ended(&mut bench), [(asker, 77, Ending::Complete)]);
    // The number can be used again.
    ask(&mut bench, asker, (77, "k/*"), Target::All);
    assert_eq!(bench.table.open_queries(), 2);
}

#[test]
fn a_number_in_use_is_not_used_twice() {
    let mut bench = Bench::new(Router);
    let (asker, one) = (bench.connect(1, Client), bench.connect(2, Client));
    bench.declare(one, None, queryable(1, "k", false, 0));
    ask(&mut bench, asker, (5, "k"), Target::All);
    for _ in 0..3 {
        let again = try_ask(&mut bench, asker, (5, "k"), Target::All);
        assert_eq!(again, QueryDispatch::Ignored);
    }
    let counters = bench.table.counters(asker).expect("it is connected");
    assert_eq!(counters.repeated_questions, 3);
    bench.table.finish_branch(one, 1);
    assert_eq!(ended(&mut bench), [(asker, 5, Ending::Complete)]);
    assert_eq!(ended(&mut bench), []);
}

#[test]
fn time_ends_what_nobody_does() {
    let mut bench = Bench::new(Router);
    let asker = bench.connect(1, Client);
    let (one, two) = (bench.connect(2, Client), bench.connect(3, Client));
    bench.declare(one, None, queryable(1, "k", false, 0));
    bench.declare(two, None, queryable(1, "k", false, 0));
    ask(&mut bench, asker, (1, "k"), Target::All);
    let due = bench.table.query_deadline().expect("one is open");
    bench.act(|table, actions| table.expire(due - Duration::from_millis(1), actions));
    assert_eq!(ended(&mut bench), []);
    bench.table.finish_branch(one, 1);
    bench.act(|table, actions| table.expire(due, actions));
    assert_eq!(ended(&mut bench), [(asker, 1, Ending::TimedOut(1))]);
    assert_eq!(bench.table.query_deadline(), None);
    assert_eq!(bench.table.origin_of_reply(two, 1), None);
    bench.table.finish_branch(two, 1);
    assert_eq!(ended(&mut bench), []);
}

/// Queries of lost neighbours end in slices, and none ends twice whatever happens in between.
#[test]
fn questions_of_the_lost_end_before_all_else_that_is_theirs() {
    let limits = Limits {
        removal_slice_max: 2,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(Router, limits);
    let (asker, other) = (bench.connect(1, Client), bench.connect(2, Client));
    let lost = bench.connect(3, Client);
    for id in 0..50 {
        bench.declare(lost, None, queryable(id, &format!("k/{id}"), false, 0));
    }
    bench.declare(other, None, queryable(1, "o", false, 0));
    for rid in 0..6 {
        ask(&mut bench, asker, (rid, "k/**"), Target::All);
        ask(&mut bench, lost, (rid, "o"), Target::All);
    }
    bench.lose(lost);
    assert_eq!(bench.table.origin_of_reply(lost, 1), None);
    let mut ends = Vec::new();
    let mut slices = 0;
    while bench.table.open_queries() > 0 {
        if slices == 1 {
            // One of them is removed, and one times out, before its slice.
            assert!(bench.table.forget_query(asker, 0) || !ends.is_empty());
            bench.table.finish_branch(other, 1);
        }
        bench.act(|table, actions| table.sweep(actions));
        ends.extend(ended(&mut bench));
        slices += 1;
    }
    assert!((6..10).contains(&slices), "{slices}");
    ends.retain(|(face, _, _)| *face == asker);
    ends.sort_by_key(|(_, rid, _)| *rid);
    let count = ends.len();
    ends.dedup();
    assert_eq!(ends.len(), count, "none ends twice");
    assert!(count >= 5, "{ends:?}");
    assert!(
        ends.iter()
            .all(|(_, _, how)| *how == Ending::LinkLost(zid(3)))
    );
    assert!(bench.table.is_sweeping());
    bench.act(|table, actions| while table.sweep(actions) {});
    assert!(!bench.table.is_sweeping());
    assert_eq!(ended(&mut bench), []);
}

#[test]
fn whoever_asked_is_told_whose_link_was_lost() {
    let mut bench = Bench::new(Peer);
    let local = bench.local;
    let (one, two) = (bench.connect(1, Peer), bench.connect(2, Peer));
    ask(&mut bench, local, (1, "k"), Target::All);
    bench.cut(two);
    assert_eq!(ended(&mut bench), []);
    bench.table.finish_branch(one, 1);
    assert_eq!(ended(&mut bench), [(local, 1, Ending::LinkLost(zid(2)))]);

    let mut bench = Bench::new(Router);
    let (asker, one) = (bench.connect(1, Client), bench.connect(2, Client));
    bench.declare(one, None, queryable(1, "k", false, 0));
    ask(&mut bench, asker, (1, "k"), Target::All);
    bench.cut(one);
    assert_eq!(ended(&mut bench), [(asker, 1, Ending::LinkLost(zid(2)))]);
}

#[test]
fn a_client_without_a_gateway_holds() {
    let mut bench = Bench::new(Client);
    let local = bench.local;
    assert_eq!(
        try_ask(&mut bench, local, (1, "k"), Target::All),
        QueryDispatch::Held
    );
    assert_eq!(bench.table.release_held(Instant::now()), []);
    assert!(!bench.table.may_release_held());
    let gateway = bench.connect(1, Router);
    assert!(bench.table.may_release_held());
    let released = bench.table.release_held(Instant::now());
    assert_eq!(released.len(), 1);
    assert_eq!((released[0].0, faces(&released[0].1)), (1, vec![gateway]));
    assert!(!bench.table.may_release_held());
    // A held query that is cancelled is never sent, whatever connects.
    bench.cut(gateway);
    assert_eq!(ended(&mut bench), [(local, 1, Ending::LinkLost(zid(1)))]);
    assert_eq!(
        try_ask(&mut bench, local, (2, "k"), Target::All),
        QueryDispatch::Held
    );
    assert!(bench.table.forget_query(local, 2));
    let gateway = bench.connect(1, Router);
    ask(&mut bench, local, (1, "k"), Target::All);
    assert_eq!(bench.table.release_held(Instant::now()), []);
    assert_eq!(bench.table.open_queries(), 1);
    bench.cut(gateway);
    assert_eq!(ended(&mut bench), [(local, 1, Ending::LinkLost(zid(1)))]);
    // A query for the session's own queryable needs no gateway.
    let key = key_expr("own");
    bench.act(|table, actions| {
        table.local_declare(local.own(5), Own::queryable(false), &key, actions)
    });
    assert_eq!(
        ask(&mut bench, local, (2, "own"), Target::All).local.len(),
        1
    );
}

/// A gateway that is back may not know the queryables behind it yet.
#[test]
fn others_behind_a_gateway_that_is_back_are_waited_for() {
    let mut bench = Bench::new(Client);
    let (local, begin) = (bench.local, Instant::now());
    let gateway = bench.connect(1, Router);
    bench.table.expect_back(zid(1), begin);
    bench.cut(gateway);
    let held = try_ask(&mut bench, local, (1, "k"), Target::All);
    assert_eq!(held, QueryDispatch::Held);
    let gateway = bench.connect(2, Router);
    assert_eq!(bench.table.release_held(begin), []);
    let held = try_ask(&mut bench, local, (2, "a/*"), Target::AllComplete);
    assert_eq!(held, QueryDispatch::Held);
    assert!(bench.table.may_watch_held());
    bench.act(|table, actions| table.watch_held(actions));
    assert!(!bench.table.may_watch_held());
    assert_eq!(
        bench.lines(gateway),
        [
            "keyexpr 1 k",
            "interest 1 CurrentFuture KQ 1+",
            "keyexpr 2 a",
            "interest 2 CurrentFuture KQ 2+/*"
        ]
    );
    // The gateway has declared all it has, which is no queryable.
    bench.declare(gateway, Some(1), Declaration::Final);
    assert_eq!(bench.table.release_held(begin), []);
    bench.declare(gateway, None, queryable(1, "a/b", false, 1));
    bench.declare(gateway, None, queryable(2, "k", false, 1));
    let released = bench.table.release_held(begin);
    assert_eq!((released[0].0, faces(&released[0].1)), (1, vec![gateway]));
    bench.act(|table, actions| table.watch_held(actions));
    assert_eq!(bench.lines(gateway), ["interest 1 Final"]);
    // After the wait, the gateway gets the query nevertheless, and so do later ones.
    let later = begin + Duration::from_secs(6);
    bench.act(|table, actions| table.expire(later, actions));
    let released = bench.table.release_held(later);
    assert_eq!((released[0].0, faces(&released[0].1)), (2, vec![gateway]));
    bench.act(|table, actions| table.watch_held(actions));
    assert_eq!(bench.lines(gateway), ["interest 2 Final"]);
    ask(&mut bench, local, (3, "x"), Target::All);
}

#[test]
fn a_peer_holds_what_nobody_is_known_for_while_a_link_is_restored() {
    let mut bench = Bench::new(Peer);
    let (local, begin) = (bench.local, Instant::now());
    assert_eq!(
        try_ask(&mut bench, local, (1, "k"), Target::All),
        QueryDispatch::Ended
    );
    bench.table.expect_back(zid(1), begin);
    assert_eq!(
        try_ask(&mut bench, local, (2, "k"), Target::All),
        QueryDispatch::Held
    );
    // Another neighbour that has not declared all yet is not the one that is waited for.
    let other = bench.connect(2, Peer);
    assert_eq!(bench.table.release_held(begin), []);
    bench.declare(other, Some(0), Declaration::Final);
    assert_eq!(bench.table.release_held(begin), []);
    let back = bench.connect(1, Peer);
    let released = bench.table.release_held(begin);
    assert_eq!((released[0].0, faces(&released[0].1)), (2, vec![back]));
    bench.cut(back);
    // The wait for a lost neighbour is bounded.
    bench.table.expect_back(zid(1), begin);
    assert_eq!(
        try_ask(&mut bench, local, (3, "k"), Target::All),
        QueryDispatch::Held
    );
    ended(&mut bench);
    let later = begin + Duration::from_secs(11);
    bench.act(|table, actions| table.expire(later, actions));
    let held = bench.table.release_held(later);
    let ends = ended(&mut bench);
    assert!(
        held.is_empty() && ends.iter().any(|(_, rid, _)| *rid == 3),
        "{ends:?}"
    );
}

#[test]
fn a_neighbour_with_too_many_questions_is_told_so_by_their_end() {
    let limits = Limits {
        questions_max: 1000,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(Router, limits);
    let (asker, one) = (bench.connect(1, Client), bench.connect(2, Client));
    bench.declare(one, None, queryable(1, "k", false, 0));
    for rid in 0..200_000 {
        try_ask(&mut bench, asker, (rid, "k"), Target::All);
    }
    assert_eq!(bench.table.open_queries(), 1000);
    assert_eq!(ended(&mut bench).len(), 199_000);
    let counters = bench.table.counters(asker).expect("it is connected");
    assert_eq!(counters.questions_refused, 199_000);
    // One log line reports all of them.
    assert_eq!(bench.table.take_notes().len(), 1);
    // Another neighbour is not affected.
    let other = bench.connect(3, Client);
    ask(&mut bench, other, (1, "k"), Target::All);
}

#[test]
fn keys_that_make_no_sense_end_the_question_or_lose_the_answer() {
    let mut bench = Bench::new(Router);
    let asker = bench.connect(1, Client);
    let bad = [
        WireExpr::scoped(9, zonda_codec::Mapping::Sender),
        WireExpr::full("a//b"),
        WireExpr::full(""),
    ];
    for expr in &bad {
        assert_eq!(bench.table.declared_key(asker, expr), None);
        assert_eq!(bench.table.declared_key(asker, expr), None);
    }
    let counters = bench.table.counters(asker).expect("it is connected");
    assert_eq!(counters.bad_keys, 6);
    assert_eq!(bench.table.take_notes().len(), 1);
    let qos = Qos::REQUEST;
    let refused = zonda_table::QueryOrigin {
        face: asker,
        rid: 3,
        qos,
        hears_of_losses: true,
    };
    bench.table.refuse_query(refused);
    assert_eq!(ended(&mut bench), [(asker, 3, Ending::Complete)]);
}

#[test]
fn interests_in_queryables_and_the_admin_space_are_as_before() {
    let mut bench = Bench::new(Router);
    let asker = bench.connect(1, Client);
    bench.interest(asker, 1, InterestMode::CurrentFuture, "Q", None);
    assert_eq!(
        bench.lines(asker),
        ["@1 queryable 1 @/a1/router/**", "@1 final"]
    );
    let admin = ask(&mut bench, asker, (1, "@/a1/router"), Target::BestMatching);
    assert_eq!((admin.hops.len(), admin.local.len()), (0, 1));
    assert_ne!(admin.local[0].face, bench.local);
}
