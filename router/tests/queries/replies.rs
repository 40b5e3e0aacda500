// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries and replies arrive as they were sent, whatever nodes are in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zonda_codec::{Encoding, Payload, Target};
use zonda_router::node::{AnswerError, OutgoingQuery, QueryableId, SampleKind, Value, Wait};

use crate::party::{
    COMPLETE, Got, PATIENCE, answering, ask, client, close, get, key, peer, peer_of, put, query_on,
    queryable, reply, router, sample, until_answered,
};

#[test]
fn a_client_asks_a_client_through_a_router() {
    let middle = router();
    let (asker, answerer) = (client(&middle), client(&middle));
    answering(&answerer, "demo/a", "hello");
    until_answered(&asker, "demo/*");
    assert_eq!(get(&asker, "demo/*"), [put("demo/a", "hello"), COMPLETE]);
    assert_eq!(get(&asker, "nobody/here"), [COMPLETE]);
    for node in [&asker, &answerer, &middle] {
        close(node);
    }
}

#[test]
fn a_peer_asks_a_peer_both_ways() {
    let first = peer();
    let second = peer_of(&first);
    answering(&first, "at/first", "1");
    answering(&second, "at/second", "2");
    until_answered(&first, "at/second");
    until_answered(&second, "at/first");
    assert_eq!(get(&first, "at/second"), [put("at/second", "2"), COMPLETE]);
    assert_eq!(get(&second, "at/first"), [put("at/first", "1"), COMPLETE]);
    let mut both = get(&first, "at/*");
    assert_eq!(both.pop(), Some(COMPLETE));
    both.sort_by_key(|got| format!("{got:?}"));
    assert_eq!(both, [put("at/first", "1"), put("at/second", "2")]);
    close(&second);
    close(&first);
}

#[test]
fn a_node_answers_itself() {
    let node = peer();
    answering(&node, "own/key", "mine");
    assert_eq!(get(&node, "own/**"), [put("own/key", "mine"), COMPLETE]);
    close(&node);
}

#[test]
fn all_that_is_asked_arrives() {
    let middle = router();
    let (asker, answerer) = (client(&middle), client(&middle));
    let big = Payload::from(vec![7; 300_000]);
    let expected = big.clone();
    queryable(&answerer, "store/**", true, move |query| {
        assert_eq!(query.parameters(), "a=1;b=2");
        assert_eq!(
            query.attachment().map(Payload::as_slice),
            Some(&b"beside"[..])
        );
        assert_eq!(query.payload(), Some(&expected));
        let json = Encoding {
            id: 5,
            schema: Some(b"of mine"),
        };
        assert_eq!(query.encoding(), Some(json));
        assert_eq!(query.target(), Target::AllComplete);
        let none = Payload::empty();
        let deleted = sample(SampleKind::Delete, &none);
        query
            .reply(QueryableId(1), &key("store/gone"), &deleted, PATIENCE)
            .expect("the answer is taken");
        query
            .reply_error(
                QueryableId(1),
                Value::Borrowed(b"bad"),
                Encoding::BYTES,
                PATIENCE,
            )
            .expect("the answer is taken");
    });
    until_answered(&asker, "store/x");
    let asked = key("store/*");
    let json = Encoding {
        id: 5,
        schema: Some(b"of mine"),
    };
    let all = OutgoingQuery {
        parameters: "a=1;b=2",
        body: Some((Value::Shared(&big), json)),
        attachment: Some(b"beside"),
        target: Target::AllComplete,
        ..query_on(&asked)
    };
    let got = ask(&asker, &all).1.all();
    let expected = [
        Got::Delete("store/gone".into()),
        Got::Error(Payload::from("bad")),
        COMPLETE,
    ];
    assert_eq!(got, expected);
    for node in [&asker, &answerer, &middle] {
        close(node);
    }
}

/// Replies of every size keep their order, and the end comes last.
#[test]
fn replies_of_mixed_sizes_stay_in_order() {
    const SIZES: [usize; 9] = [0, 1, 70_000, 8, 20_000, 300_000, 5, 5_000_000, 3];
    let middle = router();
    let (asker, answerer) = (client(&middle), client(&middle));
    queryable(&answerer, "sizes", true, |query| {
        for round in 0..10_u8 {
            for size in SIZES {
                reply(&query, "sizes", vec![round; size]).expect("the answer is taken");
            }
        }
    });
    until_answered(&asker, "sizes");
    let mut got = get(&asker, "sizes");
    assert_eq!(got.pop(), Some(COMPLETE));
    let expected = (0..10_u8).flat_map(|round| SIZES.map(|size| put("sizes", vec![round; size])));
    assert!(got.into_iter().eq(expected));
    for node in [&asker, &answerer, &middle] {
        close(node);
    }
}

#[test]
fn a_reply_of_100_mib_arrives() {
    let middle = router();
    let (asker, answerer) = (client(&middle), client(&middle));
    let huge = Payload::from(vec![0x5a; 100 << 20]);
    let sent = huge.clone();
    queryable(&answerer, "huge", true, move |query| {
        reply(&query, "huge", sent.clone()).expect("the answer is taken");
    });
    until_answered(&asker, "huge");
    assert!(get(&asker, "huge") == [put("huge", huge), COMPLETE]);
    for node in [&asker, &answerer, &middle] {
        close(node);
    }
}

#[test]
fn replies_on_other_keys_need_permission() {
    let node = peer();
    let asker = peer_of(&node);
    let refused = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&refused);
    queryable(&node, "here/**", true, move |query| {
        match reply(&query, "there", "x") {
            Err(AnswerError::OtherKey { .. }) => count.fetch_add(1, Ordering::SeqCst),
            other => {
                other.expect("the answer is taken");
                0
            }
        };
    });
    until_answered(&asker, "here/a");
    assert_eq!(get(&asker, "here/a"), [COMPLETE]);
    assert_eq!(refused.load(Ordering::SeqCst), 1);
    let asked = key("here/a");
    let any = OutgoingQuery {
        parameters: "x=1;_anyke",
        ..query_on(&asked)
    };
    assert_eq!(ask(&asker, &any).1.all(), [put("there", "x"), COMPLETE]);
    close(&asker);
    close(&node);
}

#[test]
fn thousands_at_a_time_all_end() {
    let middle = router();
    let (asker, answerer) = (client(&middle), client(&middle));
    answering(&answerer, "many", "answer");
    until_answered(&asker, "many");
    let asked = key("many");
    let open: Vec<_> = (0..5000)
        .map(|_| ask(&asker, &query_on(&asked)).1)
        .collect();
    for notes in open {
        assert_eq!(notes.all(), [put("many", "answer"), COMPLETE]);
    }
    for node in [&asker, &answerer, &middle] {
        close(node);
    }
}

#[test]
fn the_admin_space_answers_once() {
    let config = zonda_router::config::Config::router()
        .listen(["tcp/127.0.0.1:0"])
        .with("adminspace/enabled", "true");
    let middle = crate::party::open(config);
    let asker = client(&middle);
    let root = format!("@/{}/router", middle.zid());
    for (node, text) in [(&asker, root.clone()), (&middle, root.clone())] {
        let got = get(node, &text);
        assert_eq!(got.len(), 2, "{got:?}");
        assert!(
            matches!(&got[0], Got::Put(key, _) if *key == root),
            "{got:?}"
        );
        assert_eq!(got[1], COMPLETE);
    }
    assert_eq!(get(&asker, &format!("{root}/nothing")), [COMPLETE]);
    close(&asker);
    close(&middle);
}

#[test]
fn nobody_waits_who_does_not_want_to() {
    let node = peer();
    let kept = crate::party::keeping(&node, "k");
    let asked = key("k");
    let (_, notes) = ask(&node, &query_on(&asked));
    let query = kept.lock().unwrap().pop().expect("it was asked");
    let payload = Payload::from("now");
    let outcome = query.reply(
        QueryableId(1),
        &asked,
        &sample(SampleKind::Put, &payload),
        Wait::Never,
    );
    assert_eq!(outcome, Ok(zonda_router::node::Outcome::Sent));
    drop(query);
    assert_eq!(notes.all(), [put("k", "now"), COMPLETE]);
    close(&node);
}
