// SPDX-License-Identifier: MIT OR Apache-2.0

//! Session entities with a restricted locality: their announcements, routes, and matching.

use std::time::{Duration, Instant};

use zonda_codec::WhatAmI::{Client, Peer, Router};
use zonda_codec::{Qos, Target};
use zonda_table::{
    Branches, Counterpart, FaceId, Kind, Locality, NewQuery, Own, QueryDispatch, Reach,
    SessionNumber,
};

use Locality::{Any, Remote, SessionLocal};

use crate::bench::{Bench, key_expr, none, queryable};

const ALL: [Locality; 3] = [Any, SessionLocal, Remote];

fn subscribe(bench: &mut Bench, id: u32, origin: Locality) {
    let own = bench.own(id);
    let key = key_expr("demo/a");
    bench.act(|table, actions| {
        let what = Own {
            origin: origin.into(),
            ..Own::SUBSCRIBER
        };
        table.local_declare(own, what, &key, actions);
    });
}

fn unsubscribe(bench: &mut Bench, id: u32) {
    let local = bench.local;
    bench.act(|table, actions| table.local_undeclare(local.own(id), Kind::Subscriber, actions));
}

fn answer(bench: &mut Bench, id: u32, (complete, origin): (bool, Locality)) {
    let own = bench.own(id);
    let key = key_expr("demo/**");
    bench.act(|table, actions| {
        let what = Own {
            origin: origin.into(),
            ..Own::queryable(complete)
        };
        table.local_declare(own, what, &key, actions);
    });
}

/// Returns the session's queryables and the number of neighbours that a query on `demo/a` goes to.
fn asked(
    bench: &mut Bench,
    from: FaceId,
    target: Target,
    to: impl Into<Reach>,
) -> (Vec<u32>, usize) {
    let ask = NewQuery {
        rid: bench.table.next_query_id(from),
        key: &key_expr("demo/a"),
        target,
        qos: Qos::REQUEST,
        timeout: Duration::from_secs(10),
        querier: None,
        destination: to.into(),
        hears_of_losses: true,
    };
    let disposal = bench.table.handle_query(from, &ask, Instant::now());
    bench.table.forget_query(from, ask.rid);
    let branches = match disposal {
        QueryDispatch::Sent(branches) => branches,
        QueryDispatch::Ended => Branches::default(),
        other => panic!("{other:?}"),
    };
    let own = branches.local.iter().flat_map(|own| own.queryables.clone());
    (own.collect(), branches.hops.len())
}

#[test]
fn a_subscriber_is_told_and_reached_as_its_origin_says() {
    for origin in ALL {
        let mut bench = Bench::new(Router);
        let (local, client) = (bench.local, bench.connect(1, Client));
        let peer = bench.connect(2, Peer);
        bench.interest(peer, 1, zonda_codec::InterestMode::CurrentFuture, "S", None);
        bench.lines(peer);
        let kept = bench.holds("demo/a", |bench| subscribe(bench, 7, origin));
        assert!(!kept, "{origin:?}");
        let told = !bench.lines(peer).is_empty();
        assert_eq!(told, origin.is_beyond(), "{origin:?}");
        let reached = |bench: &Bench, from| bench.route(from, "demo/a", None).1 == [7];
        assert_eq!(reached(&bench, client), origin.is_beyond(), "{origin:?}");
        assert_eq!(reached(&bench, local), origin.is_within(), "{origin:?}");
        let kept = bench.holds("demo/a", |bench| unsubscribe(bench, 7));
        assert!(!kept, "{origin:?}");
        assert_eq!(!bench.lines(peer).is_empty(), told, "{origin:?}");
        for from in [client, local] {
            assert!(bench.route(from, "demo/a", None).1.is_empty());
        }
    }
}

#[test]
fn a_route_has_the_part_that_its_destination_says() {
    let mut bench = Bench::new(Router);
    let (local, client) = (bench.local, bench.connect(1, Client));
    bench.subscribe(client, 1, "demo/*");
    subscribe(&mut bench, 7, Any);
    for destination in ALL {
        let search = bench.table.begin_route(local, key_expr("demo/a"), None);
        let mut search = search.to(destination.into());
        let route = bench.table.search_route(&mut search).expect("one slice");
        assert_eq!(route.hops.len(), usize::from(destination.is_beyond()));
        assert_eq!(route.local.len(), usize::from(destination.is_within()));
    }
}

#[test]
fn matching_counts_whom_a_message_would_reach() {
    for destination in ALL {
        for origin in ALL {
            let mut bench = Bench::new(Router);
            let (local, key) = (bench.local, key_expr("demo/*"));
            let (owner, audience) = (bench.own(1), Counterpart::Subscribers.within(destination));
            bench.act(|table, actions| {
                table.local_matching(owner, 2, &key, audience, actions);
            });
            let matched = destination.is_within() && origin.is_within();
            subscribe(&mut bench, 7, origin);
            let case = format!("{destination:?} {origin:?}");
            let told = |yes: bool, now| match yes {
                true => vec![format!("matching {now}")],
                false => none(),
            };
            assert_eq!(bench.told(2), told(matched, true), "{case}");
            let has = |bench: &Bench| {
                let table = &bench.table;
                table.has_counterpart(local, "demo/*", audience)
            };
            assert_eq!(has(&bench), matched, "{case}");
            unsubscribe(&mut bench, 7);
            assert_eq!(bench.told(2), told(matched, false), "{case}");
            let client = bench.connect(1, Client);
            bench.subscribe(client, 1, "demo/a");
            assert_eq!(bench.told(2), told(destination.is_beyond(), true), "{case}");
            assert_eq!(has(&bench), destination.is_beyond(), "{case}");
        }
    }
}

#[test]
fn the_last_that_the_session_reaches_is_missed_though_another_stays() {
    let mut bench = Bench::new(Router);
    let key = key_expr("demo/a");
    let (owner, audience) = (bench.own(1), Counterpart::Subscribers.within(Any));
    bench.act(|table, actions| table.local_matching(owner, 2, &key, audience, actions));
    subscribe(&mut bench, 7, Any);
    subscribe(&mut bench, 8, Remote);
    assert_eq!(bench.told(2), ["matching true"]);
    unsubscribe(&mut bench, 7);
    assert_eq!(bench.told(2), ["matching false"]);
    subscribe(&mut bench, 9, SessionLocal);
    assert_eq!(bench.told(2), ["matching true"]);
}

#[test]
fn a_question_goes_where_it_says_to_whom_it_may() {
    for destination in ALL {
        for origin in ALL {
            let mut bench = Bench::new(Router);
            let (local, client) = (bench.local, bench.connect(1, Client));
            let other = bench.connect(2, Client);
            bench.declare(client, None, queryable(1, "demo/*", false, 0));
            answer(&mut bench, 7, (false, origin));
            let own = destination.is_within() && origin.is_within();
            for target in [Target::BestMatching, Target::All] {
                let (ids, hops) = asked(&mut bench, local, target, destination);
                assert_eq!(ids.contains(&7), own, "{destination:?} {origin:?}");
                assert_eq!(hops, usize::from(destination.is_beyond()));
                let (ids, hops) = asked(&mut bench, other, target, Any);
                assert_eq!((ids.contains(&7), hops), (origin.is_beyond(), 1));
            }
        }
    }
}

#[test]
fn what_is_complete_for_others_only_is_not_complete_for_the_session() {
    let mut bench = Bench::new(Router);
    let (local, client) = (bench.local, bench.connect(1, Client));
    bench.declare(client, None, queryable(1, "demo/*", true, 0));
    answer(&mut bench, 7, (true, Remote));
    answer(&mut bench, 8, (false, Any));
    let best = Target::BestMatching;
    assert_eq!(asked(&mut bench, local, best, Any), (vec![], 1));
    let own = asked(&mut bench, local, Target::All, SessionLocal);
    assert_eq!(own, (vec![8], 0));
    let complete = asked(&mut bench, local, Target::AllComplete, SessionLocal);
    assert_eq!(complete, (vec![], 0));
    // A complete queryable for the session only is the nearest of all.
    answer(&mut bench, 9, (true, SessionLocal));
    assert_eq!(asked(&mut bench, local, best, Any), (vec![8, 9], 0));
    let complete = asked(&mut bench, local, Target::AllComplete, Any);
    assert_eq!(complete, (vec![9], 1));
    let sought = Counterpart::CompleteQueryables.within(SessionLocal);
    let table = &bench.table;
    assert!(table.has_counterpart(local, "demo/a", sought));
    assert!(!table.has_counterpart(local, "other", sought));
    bench.act(|table, actions| table.local_undeclare(local.own(9), Kind::Queryable, actions));
    assert_eq!(asked(&mut bench, local, best, Any), (vec![], 1));
}

#[test]
fn a_question_to_the_session_waits_for_no_gateway() {
    let mut bench = Bench::new(Client);
    let local = bench.local;
    let own = asked(&mut bench, local, Target::BestMatching, SessionLocal);
    assert_eq!(own, (vec![], 0));
    answer(&mut bench, 7, (false, SessionLocal));
    let own = asked(&mut bench, local, Target::BestMatching, SessionLocal);
    assert_eq!(own, (vec![7], 0));
}

/// Returns a reach of another session than [`subscribe`] uses.
fn of_second(locality: Locality) -> Reach {
    let session = SessionNumber(70);
    Reach { session, locality }
}

#[test]
fn a_message_of_one_session_reaches_another_one_of_the_same_node_as_a_remote_one() {
    for (destination, origin) in pairs() {
        let mut bench = Bench::new(Router);
        let (local, key) = (bench.local, key_expr("demo/a"));
        subscribe(&mut bench, 7, origin);
        let mut reached = |to: Reach| {
            let mut search = bench.table.begin_route(local, key.clone(), None).to(to);
            let route = bench.table.search_route(&mut search).expect("one slice");
            route.local == [7]
        };
        let case = format!("{destination:?} {origin:?}");
        let within = destination.is_within() && origin.is_within();
        let between = destination.is_beyond() && origin.is_beyond();
        assert_eq!(reached(destination.into()), within, "{case}");
        assert_eq!(reached(of_second(destination)), between, "{case}");
    }
}

#[test]
fn sessions_match_each_other_as_a_message_would_go() {
    for (destination, origin) in pairs() {
        let mut bench = Bench::new(Router);
        let (key, owner) = (key_expr("demo/*"), bench.own(1));
        let audience = Counterpart::Subscribers.within(of_second(destination));
        bench.act(|table, actions| table.local_matching(owner, 2, &key, audience, actions));
        // The second session has the same, for itself, and loses it.
        let second = Own {
            origin: of_second(origin),
            ..Own::SUBSCRIBER
        };
        let (own, key) = (bench.own(9), key_expr("demo/a"));
        bench.act(|table, actions| table.local_declare(own, second, &key, actions));
        let within = destination.is_within() && origin.is_within();
        let between = destination.is_beyond() && origin.is_beyond();
        let told = |yes: bool, now| match yes {
            true => vec![format!("matching {now}")],
            false => none(),
        };
        let case = format!("{destination:?} {origin:?}");
        assert_eq!(bench.told(2), told(within, true), "{case}");
        subscribe(&mut bench, 7, origin);
        assert_eq!(bench.told(2), told(between && !within, true), "{case}");
        bench.act(|table, actions| table.local_undeclare(own, Kind::Subscriber, actions));
        assert_eq!(bench.told(2), told(within && !between, false), "{case}");
        unsubscribe(&mut bench, 7);
        assert_eq!(bench.told(2), told(between, false), "{case}");
    }
}

#[test]
fn a_query_of_one_session_reaches_queryables_of_another() {
    for (destination, origin) in pairs() {
        let mut bench = Bench::new(Router);
        let local = bench.local;
        answer(&mut bench, 7, (true, origin));
        for target in [Target::BestMatching, Target::All, Target::AllComplete] {
            let between = destination.is_beyond() && origin.is_beyond();
            let (ids, _) = asked(&mut bench, local, target, of_second(destination));
            assert_eq!(
                ids.contains(&7),
                between,
                "{destination:?} {origin:?} {target:?}"
            );
        }
        let of_first = bench.table.entities_of(SessionNumber::default());
        assert_eq!(of_first, [(Kind::Queryable, 7)]);
        assert_eq!(bench.table.entities_of(SessionNumber(70)), []);
    }
}

fn pairs() -> impl Iterator<Item = (Locality, Locality)> {
    let of = |destination| ALL.map(|origin| (destination, origin));
    ALL.into_iter().flat_map(of)
}
