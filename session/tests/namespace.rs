// SPDX-License-Identifier: MIT OR Apache-2.0

//! A session with a namespace: other nodes see its keys with the prefix, and keys outside of it do
//! not come in.

use crate::pair::{LONG, alone, connected_to, until, until_matched};
use zonda::pubsub::Subscriber;
use zonda::{Config, Operation, PublishError, Session, Wait};

fn within(namespace: &str, other: &Session) -> Session {
    let config = Config::peer().listen([] as [&str; 0]);
    connected_to(other, config.with("namespace", &format!("'{namespace}'")))
}

/// Returns the key and the payload of the next sample.
fn next(subscriber: &Subscriber) -> (String, String) {
    let sample = subscriber.recv_timeout(LONG).unwrap().expect("a sample");
    let payload = sample.payload().to_bytes();
    let payload = String::from_utf8_lossy(&payload).into_owned();
    (sample.key_expr().to_string(), payload)
}

fn pair_of(key: &str, payload: &str) -> (String, String) {
    (key.to_owned(), payload.to_owned())
}

#[test]
fn what_goes_out_has_the_namespace() {
    let outside = alone();
    let inside = within("robots/7", &outside);
    let all = outside.declare_subscriber("**").wait().unwrap();
    let publisher = inside.declare_publisher("arm/x").wait().unwrap();
    until_matched(&publisher);
    assert_eq!(publisher.key_expr().as_str(), "arm/x");
    publisher.put("1").wait().unwrap();
    publisher.put("2").attachment("rich").wait().unwrap();
    inside.put("leg", "3").wait().unwrap();
    inside.delete("leg").wait().unwrap();
    publisher.try_put("4").unwrap();
    for (key, payload) in [
        ("robots/7/arm/x", "1"),
        ("robots/7/arm/x", "2"),
        ("robots/7/leg", "3"),
        ("robots/7/leg", ""),
        ("robots/7/arm/x", "4"),
    ] {
        assert_eq!(next(&all), pair_of(key, payload));
    }
}

#[test]
fn what_comes_in_has_it_no_more() {
    let outside = alone();
    let inside = within("robots/7", &outside);
    // First the subscriber of everything: once it is known, nothing is held back.
    let all = inside.declare_subscriber("**").wait().unwrap();
    let arms = inside.declare_subscriber("arm/*").wait().unwrap();
    assert_eq!(arms.key_expr().as_str(), "arm/*");
    let publisher = outside.declare_publisher("robots/7/arm/x").wait().unwrap();
    until_matched(&publisher);
    // not for it
    for key in ["arm/x", "robots/8/arm/x", "robots/7", "robots"] {
        outside.put(key, "no").wait().unwrap();
    }
    publisher.put("1").wait().unwrap();
    outside.put("robots/7/leg", "2").wait().unwrap();
    outside.delete("robots/7/**").wait().unwrap();
    outside.delete("**/x").wait().unwrap();
    for (key, payload) in [("arm/x", "1"), ("leg", "2"), ("**", ""), ("**/x", "")] {
        assert_eq!(next(&all), pair_of(key, payload));
    }
    for (key, payload) in [("arm/x", "1"), ("**", ""), ("**/x", "")] {
        assert_eq!(next(&arms), pair_of(key, payload));
    }
}

#[test]
fn those_within_one_namespace_do_not_notice_it() {
    let outside = alone();
    let (one, two) = (within("a", &outside), within("a", &outside));
    let here = one.declare_subscriber("k/*").wait().unwrap();
    // a peer in the middle does not forward: the one publishes to itself
    one.put("k/1", "1").wait().unwrap();
    assert_eq!(next(&here), pair_of("k/1", "1"));
    let publisher = one.declare_publisher("k/2").wait().unwrap();
    assert!(publisher.matching_status().wait().unwrap().matching());
    drop(two);
}

#[test]
fn a_key_that_becomes_too_long_is_refused() {
    let outside = alone();
    let inside = within(&"n".repeat(40_000), &outside);
    let error = inside
        .put("k".repeat(30_000), "1")
        .typed()
        .wait()
        .unwrap_err();
    assert!(matches!(error, PublishError::TooLarge { .. }), "{error:?}");
    assert!(
        inside
            .declare_subscriber("k".repeat(30_000))
            .wait()
            .is_err()
    );
}

#[test]
fn a_namespace_has_no_wildcards() {
    for bad in ["'a/*'", "'a/'", "''", "3"] {
        assert!(
            Config::default().insert_json5("namespace", bad).is_err(),
            "{bad}"
        );
    }
}

/// Returns the keys of the samples in the replies.
fn keys(replies: impl IntoIterator<Item = zonda::query::Reply>) -> Vec<String> {
    let key = |reply: zonda::query::Reply| {
        let sample = reply.into_result().expect("a sample");
        sample.key_expr().to_string()
    };
    let mut keys: Vec<String> = replies.into_iter().map(key).collect();
    keys.sort();
    keys
}

#[test]
fn questions_go_out_and_their_answers_come_in() {
    let outside = alone();
    let inside = within("robots/7", &outside);
    let answering = |key: &'static str| {
        let queryable = outside.declare_queryable(key).callback(move |query| {
            assert!(
                query.key_expr().as_str().starts_with("robots/7/"),
                "{query}"
            );
            query.reply(key, "1").wait().expect("it waits");
        });
        queryable.wait().unwrap()
    };
    let queryables = ["robots/7/a", "robots/7/b", "a", "robots/8/a"].map(answering);
    let querier = inside.declare_querier("*").wait().unwrap();
    until("the queryables are known", || {
        keys(inside.get("*").wait().unwrap().iter()).len() == 2
    });
    assert_eq!(keys(inside.get("*").wait().unwrap().iter()), ["a", "b"]);
    assert_eq!(keys(querier.get().wait().unwrap().iter()), ["a", "b"]);
    assert_eq!(querier.key_expr().as_str(), "*");
    drop(queryables);
}

#[test]
fn questions_come_in_and_their_answers_go_out() {
    let outside = alone();
    let inside = within("robots/7", &outside);
    let queryable = inside.declare_queryable("q/*").callback(|query| {
        let key = query.key_expr().as_str();
        assert!(["q/a", "*/a", "**"].contains(&key), "{key}");
        assert_eq!(query.selector().key_expr().as_str(), key);
        query.reply("q/a", "1").wait().expect("it waits");
    });
    let queryable = queryable.wait().unwrap();
    let asked = |key: &str| keys(outside.get(key).wait().unwrap().iter());
    until("the queryable is known", || {
        asked("robots/7/q/a").len() == 1
    });
    for key in ["robots/7/q/a", "robots/*/*/a", "robots/**", "**"] {
        assert_eq!(asked(key), ["robots/7/q/a"], "{key}");
    }
    for key in ["q/a", "robots/8/**", "robots/7"] {
        assert_eq!(asked(key), [""; 0], "{key}");
    }
    // and from within
    assert_eq!(keys(inside.get("q/a").wait().unwrap().iter()), ["q/a"]);
    drop(queryable);
}

#[test]
fn tokens_go_out_and_come_in() {
    let outside = alone();
    let inside = within("robots/7", &outside);
    let declare = |key: &str| outside.liveliness().declare_token(key).wait().unwrap();
    let tokens = ["robots/7/x", "robots/8/x", "x"].map(declare);
    let own = inside.liveliness().declare_token("own").wait().unwrap();
    let watch = outside.liveliness().declare_subscriber("**").history(true);
    let watch = watch.wait().unwrap();
    until("the token is seen", || {
        let seen = watch.recv_timeout(LONG).unwrap().expect("a sample");
        seen.key_expr().as_str() == "robots/7/own"
    });
    let all = inside.liveliness().declare_subscriber("**").history(true);
    let all = all.wait().unwrap();
    let mut seen = vec![next(&all).0, next(&all).0];
    seen.sort();
    assert_eq!(seen, ["own", "x"]);
    drop(tokens);
    let gone = all.recv_timeout(LONG).unwrap().expect("a sample");
    assert_eq!(gone.key_expr().as_str(), "x");
    assert_eq!(gone.kind(), zonda::sample::SampleKind::Delete);
    drop(own);
    assert_eq!(next(&all).0, "own");
    assert!(all.try_recv().unwrap().is_none());
}

#[test]
fn tokens_are_asked_for() {
    let outside = alone();
    let inside = within("robots/7", &outside);
    let declare = |key: &str| outside.liveliness().declare_token(key).wait().unwrap();
    let tokens = ["robots/7/x", "robots/7/y", "robots/8/x", "x"].map(declare);
    let asked = || {
        let replies = inside.liveliness().get("*").wait().unwrap();
        let key = |reply: zonda::query::Reply| {
            reply
                .into_result()
                .expect("a sample")
                .key_expr()
                .to_string()
        };
        let mut keys: Vec<String> = replies.iter().map(key).collect();
        keys.sort();
        keys
    };
    until("the tokens are known", || asked().len() == 2);
    assert_eq!(asked(), ["x", "y"]);
    drop(tokens);
}
