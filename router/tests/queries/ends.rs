// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ends of queries: at once when a link is lost, at the timeout, or when they are cancelled; and
//! only once.

use std::time::{Duration, Instant};

use zonda_codec::Payload;
use zonda_router::config::Config;
use zonda_router::node::{AnswerError, OutgoingQuery, QueryEnd};

use crate::party::{
    COMPLETE, Got, LONG, answering, ask, client, close, get, keeping, key, open, peer, peer_of,
    put, query_on, reply, router, until, until_answered, until_kept,
};

fn timeout() -> Got {
    Got::Error(Payload::from("Timeout"))
}

#[test]
fn a_question_times_out_on_time() {
    let middle = router();
    let (asker, answerer) = (client(&middle), client(&middle));
    let kept = keeping(&answerer, "slow");
    until_answered(&asker, "slow");
    let asked = key("slow");
    for milliseconds in [0, 50, 300] {
        let limit = Duration::from_millis(milliseconds);
        let short = OutgoingQuery {
            timeout: limit,
            ..query_on(&asked)
        };
        let begin = Instant::now();
        let (_, notes) = ask(&asker, &short);
        let got = notes.all();
        assert!(begin.elapsed() >= limit);
        // The router in between may be the first whose clock ends the query.
        let ends = [QueryEnd::TimedOut, QueryEnd::Complete].map(Got::End);
        assert_eq!((got.len(), &got[0]), (2, &timeout()));
        assert!(ends.contains(&got[1]), "{got:?}");
        assert!(
            begin.elapsed() < limit + Duration::from_secs(2),
            "{milliseconds} ms"
        );
    }
    // The asker does not wait for these replies any more, and neither does the answering node.
    let queries = std::mem::take(&mut *kept.lock().unwrap());
    until("everybody has given up", || {
        let late = queries.iter().map(|query| reply(query, "slow", "late"));
        late.into_iter().all(|said| said == Err(AnswerError::Over))
    });
    for node in [&asker, &answerer, &middle] {
        close(node);
    }
}

#[test]
fn a_lost_link_ends_its_questions_at_once() {
    let first = peer();
    let second = peer_of(&first);
    let kept = keeping(&second, "k");
    until_answered(&first, "k");
    let (_, notes) = ask(&first, &query_on(&key("k")));
    until_kept(&kept, 1);
    let peer = second.zid();
    close(&second);
    let begin = Instant::now();
    assert_eq!(notes.all(), [Got::End(QueryEnd::LinkLost { peer })]);
    assert!(begin.elapsed() < LONG / 4);
    close(&first);
}

#[test]
fn a_router_ends_what_a_lost_client_was_asked() {
    let middle = router();
    let (asker, answerer, other) = (client(&middle), client(&middle), client(&middle));
    answering(&other, "k", "other");
    until_answered(&asker, "k");
    let kept = keeping(&answerer, "k");
    let asked = key("k");
    until("both are asked", || {
        let (_, notes) = ask(&asker, &query_on(&asked));
        until("one has answered", || !notes.got().is_empty());
        !kept.lock().unwrap().is_empty()
    });
    let (_, notes) = ask(&asker, &query_on(&asked));
    until("the other has answered", || !notes.got().is_empty());
    let lost = answerer.zid();
    close(&answerer);
    // The asker's own link is still up: the router reports the missing reply.
    let missing = Payload::from(format!("the link to {lost} was lost").as_str());
    let told = [put("k", "other"), Got::Error(missing), COMPLETE];
    assert_eq!(notes.all(), told);
    for node in [&asker, &other, &middle] {
        close(node);
    }
}

#[test]
fn an_asker_that_is_gone_is_not_answered() {
    let first = peer();
    let second = peer_of(&first);
    let kept = keeping(&second, "k");
    until_answered(&first, "k");
    let (_, notes) = ask(&first, &query_on(&key("k")));
    until_kept(&kept, 1);
    close(&first);
    assert_eq!(notes.all(), [Got::End(QueryEnd::Closed)]);
    let query = kept.lock().unwrap().pop().expect("it was asked");
    until("the asker is gone", || second.links().is_empty());
    assert_eq!(reply(&query, "k", "x"), Err(AnswerError::Over));
    close(&second);
    assert_eq!(reply(&query, "k", "x"), Err(AnswerError::Closed));
}

#[test]
fn a_cancelled_question_gets_nothing_more() {
    let node = peer();
    let kept = keeping(&node, "k");
    let (open, notes) = ask(&node, &query_on(&key("k")));
    let query = kept.lock().unwrap().pop().expect("it was asked");
    reply(&query, "k", "first").expect("the answer is taken");
    node.cancel(&open);
    node.cancel(&open);
    assert_eq!(
        notes.all(),
        [put("k", "first"), Got::End(QueryEnd::Cancelled)]
    );
    assert_eq!(reply(&query, "k", "second"), Err(AnswerError::Over));
    drop(query);
    assert_eq!(get(&node, "nobody"), [COMPLETE]);
    close(&node);
}

/// A client without its router holds the query, and sends it when the router is back.
#[test]
fn a_client_that_reconnects_holds_its_questions() {
    let middle = router();
    let address = middle.locators().remove(0).to_string();
    let asker = client(&middle);
    close(&middle);
    until("the link is gone", || asker.links().is_empty());
    let (_, notes) = ask(&asker, &query_on(&key("k")));
    let asked = key("k");
    let short = OutgoingQuery {
        timeout: Duration::from_millis(30),
        ..query_on(&asked)
    };
    let (_, in_vain) = ask(&asker, &short);
    assert_eq!(in_vain.all(), [timeout(), Got::End(QueryEnd::TimedOut)]);
    assert_eq!(notes.got(), []);
    let again = restarted(&Config::router().listen([&address]));
    answering(&again, "k", "after all");
    assert_eq!(notes.all(), [put("k", "after all"), COMPLETE]);
    close(&asker);
    close(&again);
}

/// A peer holds a query without a known queryable while a link that it opened is being restored.
#[test]
fn a_peer_that_reconnects_holds_its_questions() {
    let first = peer();
    let address = first.locators().remove(0).to_string();
    let asker = peer_of(&first);
    assert_eq!(get(&asker, "k"), [COMPLETE]);
    close(&first);
    until("the link is gone", || asker.links().is_empty());
    let (_, notes) = ask(&asker, &query_on(&key("k")));
    assert_eq!(notes.got(), []);
    let again = restarted(&Config::peer().listen([&address]));
    answering(&again, "k", "after all");
    assert_eq!(notes.all(), [put("k", "after all"), COMPLETE]);
    close(&asker);
    close(&again);
}

fn restarted(config: &Config) -> zonda_router::node::Node {
    let mut node = None;
    until("the port is free again", || {
        node = zonda_runtime::block_on(zonda_router::node::Node::open(config.clone())).ok();
        node.is_some()
    });
    node.unwrap_or_else(|| open(config.clone()))
}
