// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tokens, listeners and liveliness queries of the node's own session, message by message.

use std::time::{Duration, Instant};

use zonda_codec::InterestMode::{Current, Future};
use zonda_codec::WhatAmI::{Client, Peer, Router};
use zonda_codec::{Declaration, WireExpr};
use zonda_table::{Deadline, Kind, Limits, Own};

use crate::bench::{Bench, key_expr, none, token};

fn listen(bench: &mut Bench, id: u32, key: &str, history: bool) {
    let local = bench.local;
    bench.act(|table, actions| {
        table.local_token_listener(local.own(id), &key_expr(key), history, actions);
    });
}

fn ask(bench: &mut Bench, id: u32, key: &str) {
    let local = bench.local;
    bench
        .act(|table, actions| table.local_liveliness_query(local.own(id), &key_expr(key), actions));
}

fn untoken(id: u32) -> Declaration<'static> {
    Declaration::UndeclareToken { id, key: None }
}

#[test]
fn a_client_asks_its_gateway_once_for_all_listeners_to_a_key() {
    let mut bench = Bench::new(Client);
    let router = bench.connect(0x77, Router);
    listen(&mut bench, 1, "live/*", true);
    let asked = ["keyexpr 1 live", "interest 1 CurrentFuture KT 1+/*"];
    assert_eq!(bench.lines(router), asked);
    listen(&mut bench, 2, "live/*", false);
    bench.declare(router, Some(1), token(7, "live/old"));
    bench.declare(router, Some(1), Declaration::Final);
    bench.declare(router, None, token(8, "live/new"));
    assert_eq!(bench.told(1), ["+live/old", "+live/new"]);
    assert_eq!(bench.told(2), ["+live/new"], "the rest was before");
    listen(&mut bench, 3, "live/*", true);
    assert_eq!(bench.told(3), ["+live/old", "+live/new"]);
    assert_eq!(bench.lines(router), none());
    bench.declare(router, None, untoken(7));
    for id in 1..=3 {
        assert_eq!(bench.told(id), ["-live/old"]);
    }
    let local = bench.local;
    for id in 1..=3 {
        bench.act(|table, actions| table.undeclare_local_listener(local.own(id), actions));
        assert_eq!(bench.told(id), none());
    }
    assert_eq!(bench.lines(router), ["interest 1 Final"]);
    bench.declare(router, None, token(9, "live/late"));
    listen(&mut bench, 4, "live/*", true);
    assert_eq!(bench.told(4), none(), "nobody would have told its end");
}

/// Routers of the reference up to 1.8 number the tokens that they announce from 0.
#[test]
fn the_first_token_of_an_old_gateway_is_as_good_as_any() {
    let mut bench = Bench::new(Client);
    let router = bench.connect(0x77, Router);
    listen(&mut bench, 1, "live/*", true);
    bench.declare(router, Some(1), token(0, "live/a"));
    bench.declare(router, Some(1), token(1, "live/b"));
    bench.declare(router, Some(1), Declaration::Final);
    assert_eq!(bench.told(1), ["+live/a", "+live/b"]);
    bench.declare(router, None, untoken(0));
    assert_eq!(bench.told(1), ["-live/a"]);
    bench.declare(router, Some(9), token(0, "live/c"));
    assert_eq!(bench.told(1), none(), "it answers nothing that lasts");
}

#[test]
fn a_lost_gateway_takes_its_tokens_along_and_another_brings_them_back() {
    let mut bench = Bench::new(Client);
    let first = bench.connect(0x77, Router);
    listen(&mut bench, 1, "**", true);
    listen(&mut bench, 2, "**", false);
    bench.declare(first, Some(1), token(7, "a"));
    bench.cut(first);
    assert_eq!(bench.told(1), ["+a", "-a"]);
    assert_eq!(bench.told(2), ["-a"]);
    let second = bench.connect(0x77, Router);
    assert_eq!(bench.lines(second), ["interest 1 CurrentFuture KT **"]);
    bench.declare(second, Some(1), token(1, "a"));
    bench.declare(second, Some(1), Declaration::Final);
    for id in [1, 2] {
        assert_eq!(bench.told(id), ["+a"], "it was told to be gone");
    }
}

#[test]
fn a_question_is_answered_by_the_gateway_and_ends_with_its_final() {
    let mut bench = Bench::new(Client);
    let router = bench.connect(0x77, Router);
    let local = bench.local;
    bench.act(|table, actions| {
        table.local_declare(local.own(1), Own::TOKEN, &key_expr("live/own"), actions)
    });
    assert_eq!(bench.lines(router), ["token 1 live/own"]);
    ask(&mut bench, 5, "live/*");
    let asked = ["keyexpr 1 live", "interest 1 Current T 1+/*"];
    assert_eq!(bench.lines(router), asked);
    assert_eq!(bench.told(5), ["+live/own"]);
    bench.declare(router, Some(1), token(0, "live/a"));
    bench.declare(router, Some(1), token(0, "live/own"));
    bench.declare(router, Some(1), token(0, "live/a"));
    assert_eq!(bench.told(5), ["+live/a"], "each once");
    bench.declare(router, Some(1), Declaration::Final);
    assert_eq!(bench.told(5), ["end true"]);
    bench.declare(router, Some(1), token(0, "live/late"));
    assert_eq!(bench.told(5), none());
}

#[test]
fn answers_that_come_too_late_are_nobodys_tokens() {
    let mut bench = Bench::new(Client);
    let router = bench.connect(0x77, Router);
    listen(&mut bench, 1, "**", true);
    bench.declare(router, Some(1), Declaration::Final);
    ask(&mut bench, 5, "live/*");
    let own = bench.own(5);
    bench.act(|table, actions| table.undeclare_local_listener(own, actions));
    assert_eq!(bench.told(5), ["end false"]);
    bench.declare(router, Some(2), token(0, "live/a"));
    bench.declare(router, Some(2), Declaration::Final);
    bench.declare(router, Some(2), token(0, "live/b"));
    assert_eq!((bench.told(1), bench.told(5)), (none(), none()));
}

#[test]
fn a_client_without_a_gateway_holds_its_question_and_asks_the_next() {
    let mut bench = Bench::new(Client);
    ask(&mut bench, 5, "**");
    assert_eq!(bench.told(5), none());
    let first = bench.connect(0x77, Router);
    assert_eq!(bench.lines(first), ["interest 1 Current T **"]);
    bench.declare(first, Some(1), token(0, "a"));
    bench.cut(first);
    assert_eq!(bench.told(5), ["+a"], "the answer was not over");
    let second = bench.connect(0x77, Router);
    bench.declare(second, Some(1), token(0, "a"));
    bench.declare(second, Some(1), token(0, "b"));
    bench.declare(second, Some(1), Declaration::Final);
    assert_eq!(bench.told(5), ["+b", "end true"]);
}

#[test]
fn a_gateway_that_does_not_answer_is_not_waited_for_for_ever() {
    let mut bench = Bench::new(Client);
    bench.connect(0x77, Router);
    let start = Instant::now();
    ask(&mut bench, 5, "**");
    bench.act(|table, actions| table.expire(start, actions));
    bench.act(|table, actions| table.expire(start + Duration::from_secs(10), actions));
    assert_eq!(bench.told(5), ["end true"]);
}

#[test]
fn peers_are_waited_for_until_they_have_told_what_they_had_or_a_second() {
    let mut bench = Bench::new(Peer);
    let told = bench.connect(0xb1, Peer);
    let silent = bench.connect(0xb2, Peer);
    bench.declare(told, None, token(1, "a"));
    ask(&mut bench, 5, "**");
    assert_eq!(bench.told(5), ["+a"]);
    bench.declare(told, None, token(2, "b"));
    bench.declare(told, Some(0), Declaration::Final);
    assert_eq!(bench.told(5), ["+b"]);
    let start = Instant::now();
    assert_eq!(bench.table.next_deadline(), Some(Deadline::Now));
    bench.act(|table, actions| table.expire(start, actions));
    let due = start + Duration::from_secs(1);
    assert_eq!(bench.table.next_deadline(), Some(Deadline::At(due)));
    bench.act(|table, actions| table.expire(due, actions));
    assert_eq!(bench.told(5), ["end true"]);
    let filtered = start + Duration::from_secs(10);
    assert_eq!(bench.table.next_deadline(), Some(Deadline::At(filtered)));
    ask(&mut bench, 6, "**");
    bench.cut(silent);
    assert_eq!(bench.told(6), ["+a", "+b", "end true"]);
}

#[test]
fn a_key_of_several_faces_comes_once_and_goes_with_the_last() {
    let mut bench = Bench::new(Router);
    let [a, b] = [0xb1, 0xb2].map(|number| bench.connect(number, Client));
    listen(&mut bench, 1, "live/*", false);
    let local = bench.local;
    bench.act(|table, actions| {
        table.local_declare(local.own(1), Own::TOKEN, &key_expr("live/x"), actions)
    });
    bench.act(|table, actions| {
        table.local_declare(local.own(2), Own::TOKEN, &key_expr("live/x"), actions)
    });
    bench.declare(a, None, token(1, "live/x"));
    bench.declare(b, None, token(1, "live/x"));
    assert_eq!(bench.told(1), ["+live/x"]);
    bench.cut(a);
    bench.act(|table, actions| table.local_undeclare(local.own(1), Kind::Token, actions));
    bench.act(|table, actions| table.local_undeclare(local.own(2), Kind::Token, actions));
    assert_eq!(bench.told(1), none());
    bench.declare(b, None, untoken(1));
    assert_eq!(bench.told(1), ["-live/x"]);
}

#[test]
fn who_asked_for_changes_only_hears_of_the_end_of_what_was_before() {
    let mut bench = Bench::new(Router);
    let [holder, asker] = [0xb1, 0xb2].map(|number| bench.connect(number, Client));
    bench.declare(holder, None, token(1, "live/old"));
    bench.interest(asker, 4, Future, "KT", Some("live/*"));
    assert_eq!(bench.lines(asker), ["@4 final"]);
    bench.declare(holder, None, token(2, "live/new"));
    assert_eq!(bench.lines(asker), ["token 1 live/new"]);
    bench.declare(holder, None, untoken(1));
    assert_eq!(bench.lines(asker), ["untoken 0 live/old"]);
    bench.declare(holder, None, untoken(2));
    assert_eq!(bench.lines(asker), ["untoken 1"]);
}

/// The key of a token is declared and undeclared, and no data uses it.
#[test]
fn tokens_that_come_and_go_use_up_no_ids() {
    let mut bench = Bench::new(Router);
    let [holder, asker] = [0xb1, 0xb2].map(|number| bench.connect(number, Client));
    bench.interest(asker, 4, Future, "KTS", Some("live/**"));
    bench.lines(asker);
    bench.subscribe(holder, 1, "live/data");
    assert_eq!(bench.lines(asker), ["keyexpr 1 live/data", "sub 1 1+"]);
    bench.declare(holder, None, token(1, "live/data"));
    assert_eq!(bench.lines(asker), ["token 2 1+"], "an id that is there");
    for number in 2..2000 {
        bench.declare(holder, None, token(number, &format!("live/{number}")));
        bench.declare(holder, None, untoken(number));
        let end = format!("untoken {}", number + 1);
        let said = [format!("token {} live/{number}", number + 1), end];
        assert_eq!(bench.lines(asker), said);
    }
}

#[test]
fn a_gateway_s_word_on_the_end_of_an_unknown_token_is_passed_on() {
    let mut bench = Bench::new(Peer);
    let router = bench.connect(0x77, Router);
    let client = bench.connect(0xb1, Client);
    bench.interest(client, 4, Future, "KT", Some("live/*"));
    let end = |key| Declaration::UndeclareToken {
        id: 0,
        key: Some(WireExpr::full(key)),
    };
    bench.lines(client);
    bench.declare(router, None, end("live/old"));
    bench.declare(router, None, end("other"));
    assert_eq!(bench.lines(client), ["untoken 0 live/old"]);
    bench.declare(client, None, token(1, "live/own"));
    bench.lines(client);
    bench.declare(router, None, end("live/own"));
    assert_eq!(bench.lines(client), none(), "it is alive here");
}

#[test]
fn a_long_history_is_told_in_slices_and_what_changes_meanwhile_is_told_once() {
    let limits = Limits {
        answer_slice_max: 100,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(Router, limits);
    let [many, other] = [0xb1, 0xb2].map(|number| bench.connect(number, Client));
    const TOKENS: u32 = 30_000;
    for id in 1..=TOKENS {
        bench.declare(many, None, token(id, &format!("live/{id}")));
    }
    listen(&mut bench, 1, "live/*", true);
    ask(&mut bench, 2, "live/*");
    let tell_on = |bench: &mut Bench, id| bench.act(|table, actions| table.deliver_on(id, actions));
    let mut slices = 0;
    loop {
        let more = [1, 2].map(|id| tell_on(&mut bench, id));
        slices += 1;
        // Some announced tokens and some that are not yet announced end, and some begin.
        if slices < 100 {
            for id in [slices, TOKENS - slices] {
                bench.declare(many, None, untoken(id));
                bench.declare(other, None, token(id, &format!("live/new/{id}")));
                bench.declare(other, None, token(TOKENS + id, &format!("live/x{id}")));
            }
        }
        if more == [false, false] {
            break;
        }
    }
    assert!(slices > 100, "{slices}");
    let mut alive = std::collections::BTreeSet::new();
    for line in bench.told(1) {
        let (sign, key) = line.split_at(1);
        let changes = match sign {
            "+" => alive.insert(key.to_owned()),
            _ => alive.remove(key),
        };
        assert!(changes, "{line}");
    }
    ask(&mut bench, 3, "live/*");
    while tell_on(&mut bench, 3) {}
    let now: std::collections::BTreeSet<String> = bench.told(3).into_iter().collect();
    let alive: std::collections::BTreeSet<String> = alive
        .iter()
        .map(|key| format!("+{key}"))
        .chain(["end true".into()])
        .collect();
    assert_eq!(now, alive);
    let all = bench.told(2);
    let each: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(
        (all.len(), all.last()),
        (each.len(), Some(&"end true".into()))
    );
    assert!(
        alive.iter().all(|line| each.contains(line)),
        "who lived all the time is told"
    );
}

/// A node behind a peer gets the tokens that this peer knows, and those of the peer's gateways.
#[test]
fn what_a_peer_and_its_gateways_know_is_told_once() {
    let mut bench = Bench::new(Peer);
    let gateways = [0x77, 0x78].map(|number| bench.connect(number, Router));
    let (other, client) = (bench.connect(0x33, Peer), bench.connect(0xd4, Client));
    bench.declare(other, None, token(1, "live/o"));
    bench.lines(client);
    for question in [1, 2] {
        bench.interest(client, question, Current, "T", Some("live/*"));
        let lines = bench.lines(client);
        assert_eq!(
            lines.iter().filter(|line| line.contains("token")).count(),
            1,
            "{lines:?}"
        );
        for gateway in gateways {
            let asked = bench.lines(gateway);
            assert!(
                asked.iter().any(|line| line.contains("Current T")),
                "{asked:?}"
            );
            for key in ["live/o", "live/r", "live/r"] {
                bench.declare(gateway, Some(question), token(0, key));
            }
            bench.declare(gateway, Some(question), Declaration::Final);
        }
        let lines = bench.lines(client);
        let tokens: Vec<_> = lines.iter().filter(|line| line.contains("token")).collect();
        assert!(
            tokens.len() == 1 && tokens[0].contains("live/r"),
            "{lines:?}"
        );
        assert!(
            lines.last().is_some_and(|line| line.contains("final")),
            "{lines:?}"
        );
    }
}
