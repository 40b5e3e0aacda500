// SPDX-License-Identifier: MIT OR Apache-2.0

//! A session with a namespace: its keys have it before them outside, and nothing from outside of it comes in.

mod pair;

use pair::{LONG, alone, connected_to, until_matched};
use zonda::pubsub::Subscriber;
use zonda::{Config, PublishError, Session, Wait};

fn within(namespace: &str, other: &Session) -> Session {
    let config = Config::peer().listen([] as [&str; 0]);
    connected_to(other, config.with("namespace", &format!("'{namespace}'")))
}

/// The key and the payload of the next sample.
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
    let arms = inside.declare_subscriber("arm/*").wait().unwrap();
    let all = inside.declare_subscriber("**").wait().unwrap();
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
    let error = inside.put("k".repeat(30_000), "1").wait().unwrap_err();
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
