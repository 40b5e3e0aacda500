// SPDX-License-Identifier: MIT OR Apache-2.0

//! `aggregation`: a session declares one key for its subscribers or publishers below it.

use zonda::query::QueryTarget;
use zonda::{Config, Session, Wait};

use crate::pair::{LONG, connected_to, until};

/// Returns the keys of the entities of a kind that a router knows from others, in order.
fn declared(router: &Session, kind: &str) -> Vec<String> {
    let root = format!("@/a1/router/{kind}/");
    let get = router.get(format!("{root}**")).target(QueryTarget::All);
    let replies = get.timeout(LONG).wait().expect("a selector");
    let mut keys = Vec::new();
    while let Ok(reply) = replies.recv() {
        let key = reply.result().expect("no error").key_expr().to_string();
        let key = key.strip_prefix(&root).expect("a key below it").to_owned();
        keys.extend(Some(key).filter(|key| !key.starts_with('@')));
    }
    keys.sort();
    keys
}

fn pair() -> (Session, Session) {
    let router = Config::router().listen(["tcp/127.0.0.1:0"]);
    let router = router.with("id", "'a1'").with("adminspace/enabled", "true");
    let router = zonda::open(router).wait().expect("it opens");
    let client = Config::client([] as [&str; 0])
        .with("aggregation/subscribers", "['demo/**']")
        .with("aggregation/publishers", "['data/**']");
    let client = connected_to(&router, client);
    (router, client)
}

#[test]
fn a_router_knows_one_subscriber_and_each_gets_its_own_messages() {
    let (router, client) = pair();
    let subscribe = |key: &str| client.declare_subscriber(key).wait().expect("declared");
    let (first, second) = (subscribe("demo/a"), subscribe("demo/b"));
    let other = subscribe("other");
    until("they are declared", || {
        declared(&router, "subscriber") == ["demo/**", "other"]
    });
    for key in ["demo/a", "demo/c", "demo/b", "other"] {
        router.put(key, key).wait().expect("sent");
    }
    for (subscriber, key) in [(&first, "demo/a"), (&second, "demo/b"), (&other, "other")] {
        let sample = subscriber
            .recv_timeout(LONG)
            .expect("open")
            .expect("in time");
        assert_eq!(sample.key_expr().as_str(), key);
    }
    assert!(first.try_recv().expect("open").is_none());
    assert!(second.try_recv().expect("open").is_none());
    drop(first);
    router.put("demo/b", "again").wait().expect("sent");
    let sample = second.recv_timeout(LONG).expect("open").expect("in time");
    assert_eq!(sample.payload().try_to_string().expect("text"), "again");
    assert_eq!(declared(&router, "subscriber"), ["demo/**", "other"]);
    drop(second);
    until("the last one is undeclared", || {
        declared(&router, "subscriber") == ["other"]
    });
}

#[test]
fn a_router_knows_one_publisher_and_each_finds_its_own_subscribers() {
    let (router, client) = pair();
    let publish = |key: &'static str| client.declare_publisher(key).wait().expect("declared");
    let (first, second) = (publish("data/a"), publish("data/b"));
    until("they are declared", || {
        declared(&router, "publisher") == ["data/**"]
    });
    let subscriber = router
        .declare_subscriber("data/b")
        .wait()
        .expect("declared");
    let matches = |publisher: &zonda::pubsub::Publisher<'_>| {
        let status = publisher.matching_status().wait();
        status.expect("open").matching()
    };
    until("it is known", || matches(&second));
    assert!(!matches(&first));
    second.put("value").wait().expect("sent");
    let sample = subscriber
        .recv_timeout(LONG)
        .expect("open")
        .expect("in time");
    assert_eq!(sample.key_expr().as_str(), "data/b");
    drop(second);
    assert_eq!(declared(&router, "publisher"), ["data/**"]);
    drop(first);
    until("the last one is undeclared", || {
        declared(&router, "publisher").is_empty()
    });
}
