// SPDX-License-Identifier: MIT OR Apache-2.0

//! Several sessions on one node: delivery between them, locality, and the end of one of them.

use std::time::Duration;

use crate::pair::{LONG, alone, matched, until};
use zonda::handlers::FifoChannelHandler;
use zonda::sample::{Locality, Sample, SampleKind};
use zonda::session::Node;
use zonda::{Config, GetError, OpenError, Operation, Outcome, PublishError, Session, Wait};

use Locality::{Any, Remote, SessionLocal};

const ALL: [Locality; 3] = [Any, SessionLocal, Remote];

/// A node that listens on loopback, and two sessions on it.
fn two() -> (Node, Session, Session) {
    let config = Config::peer().listen(["tcp/127.0.0.1:0"]);
    let config = config.with("scouting/multicast/enabled", "false");
    let node = async_io::block_on(Node::open(config)).unwrap();
    let on = || Session::from_node(&node, Config::peer()).unwrap();
    let (one, other) = (on(), on());
    (node, one, other)
}

fn close(node: &Node) {
    node.close_blocking(LONG).unwrap();
}

/// Returns a session that is connected to the node.
fn neighbour(node: &Node) -> Session {
    let config = Config::client([&node.locators()[0].to_string()]);
    zonda::open(config).wait().unwrap()
}

fn next<T>(queue: &FifoChannelHandler<T>) -> T {
    queue.recv_timeout(LONG).unwrap().expect("one more")
}

fn texts(samples: impl Iterator<Item = Sample>) -> Vec<String> {
    let text = |sample: Sample| sample.payload().try_to_string().unwrap().into_owned();
    samples.map(text).collect()
}

#[test]
fn a_put_of_one_session_reaches_each_subscriber_of_the_other_once() {
    let (node, one, other) = two();
    let own = one.declare_subscriber("demo/*").wait().unwrap();
    let twice = [0, 1].map(|_| other.declare_subscriber("demo/**").wait().unwrap());
    let far = neighbour(&node);
    let away = far.declare_subscriber("demo/a").wait().unwrap();
    let publisher = one.declare_publisher("demo/a").wait().unwrap();
    until("the neighbour is known", || {
        node.links().iter().any(|link| link.zid == far.zid()) && matched(&publisher)
    });
    for number in 0..100 {
        one.put("demo/a", number.to_string()).wait().unwrap();
        publisher.put(number.to_string()).wait().unwrap();
    }
    let sent: Vec<String> = (0..100)
        .flat_map(|n| [n.to_string(), n.to_string()])
        .collect();
    for subscriber in [&own, &twice[0], &twice[1]] {
        assert_eq!(texts(subscriber.drain()), sent);
    }
    drop(away);
    far.put("demo/b", "from afar").wait().unwrap();
    for subscriber in [&own, &twice[0], &twice[1]] {
        assert_eq!(texts([next(subscriber)].into_iter()), ["from afar"]);
    }
    assert!(own.is_empty() && twice.iter().all(|one| one.is_empty()));
    close(&node);
}

#[test]
fn locality_is_seen_from_each_session() {
    let (node, one, other) = two();
    for origin in ALL {
        let [own, others] = [&one, &other].map(|session| {
            let subscriber = session.declare_subscriber("demo/*").allowed_origin(origin);
            subscriber.wait().unwrap()
        });
        for destination in ALL {
            let case = format!("{origin:?} {destination:?}");
            let publisher = one
                .declare_publisher("demo/a")
                .allowed_destination(destination);
            let publisher = publisher.wait().unwrap();
            let within = origin != Remote && destination != Remote;
            let between = origin != SessionLocal && destination != SessionLocal;
            assert_eq!(matched(&publisher), within || between, "{case}");
            publisher.put("by a publisher").wait().unwrap();
            let put = one.put("demo/a", "by the session");
            put.allowed_destination(destination).wait().unwrap();
            assert_eq!(own.drain().count(), 2 * usize::from(within), "{case}");
            assert_eq!(others.drain().count(), 2 * usize::from(between), "{case}");
        }
    }
    close(&node);
}

#[test]
fn queries_pass_between_the_sessions() {
    let (node, one, other) = two();
    for (session, text) in [(&one, "one"), (&other, "other")] {
        let queryable = session.declare_queryable("demo/a");
        let queryable =
            queryable.callback(move |query| query.reply("demo/a", text).wait().unwrap());
        queryable.background().wait().unwrap();
    }
    let asked = |destination| {
        let get = one.get("demo/*").target(zonda::query::QueryTarget::All);
        let get = get.consolidation(zonda::query::ConsolidationMode::None);
        let replies = get.allowed_destination(destination).wait().unwrap();
        let samples = replies.iter().map(|reply| reply.into_result().unwrap());
        let mut all = texts(samples);
        all.sort_unstable();
        all
    };
    assert_eq!(asked(Any), ["one", "other"]);
    assert_eq!(asked(SessionLocal), ["one"]);
    assert_eq!(asked(Remote), ["other"]);
    close(&node);
}

#[test]
fn tokens_and_their_ends_reach_the_other_session() {
    let (node, one, other) = two();
    let listener = one
        .liveliness()
        .declare_subscriber("live/**")
        .wait()
        .unwrap();
    let token = other.liveliness().declare_token("live/1").wait().unwrap();
    assert_eq!(next(&listener).kind(), SampleKind::Put);
    let _second = other.liveliness().declare_token("live/2").wait().unwrap();
    assert_eq!(next(&listener).key_expr().as_str(), "live/2");
    drop(token);
    assert_eq!(next(&listener).kind(), SampleKind::Delete);
    other.close().wait().unwrap();
    let ended = next(&listener);
    assert_eq!(ended.kind(), SampleKind::Delete);
    assert_eq!(ended.key_expr().as_str(), "live/2");
    let alive = one.liveliness().get("live/**").wait().unwrap();
    assert_eq!(alive.iter().count(), 0);
    close(&node);
}

#[test]
fn closing_one_session_ends_its_own_declarations_and_nothing_else() {
    let (node, one, other) = two();
    let far = neighbour(&node);
    let kept = one.declare_subscriber("demo/**").wait().unwrap();
    let ended = other.declare_subscriber("demo/**").wait().unwrap();
    let publisher = other.declare_publisher("demo/a").wait().unwrap();
    let matching = one.declare_publisher("only/other").wait().unwrap();
    let only = other.declare_subscriber("only/*").wait().unwrap();
    let open = other
        .get("nowhere")
        .timeout(Duration::from_secs(600))
        .wait()
        .unwrap();
    publisher.put("before").wait().unwrap();
    assert!(matched(&matching) && next(&kept).payload().try_to_string().is_ok());
    other.close().wait().unwrap();
    assert!(other.is_closed() && !one.is_closed() && !node.is_closed());
    // Nothing of the closed session is left.
    assert!(!matched(&matching));
    assert_eq!(
        publisher.put("after").outcome().wait(),
        Err(PublishError::Closed)
    );
    let async_put = async_io::block_on(async { publisher.put("after").outcome().await });
    assert_eq!(async_put, Err(PublishError::Closed));
    let put = other.put("demo/a", "after").outcome().wait();
    assert_eq!(put, Err(PublishError::Closed));
    let get = other.get("demo/a").typed().wait();
    assert!(matches!(get, Err(GetError::Closed)));
    assert!(other.declare_subscriber("demo/a").wait().is_err());
    assert!(other.declare_queryable("demo/a").wait().is_err());
    assert!(other.declare_publisher("demo/a").wait().is_err());
    assert!(other.declare_querier("demo/a").wait().is_err());
    assert!(other.liveliness().declare_token("demo/a").wait().is_err());
    assert!(
        other
            .liveliness()
            .declare_subscriber("demo/a")
            .wait()
            .is_err()
    );
    assert!(open.iter().all(|reply| reply.result().is_err()));
    // The other session goes on.
    assert_eq!(one.put("demo/a", "on").outcome().wait(), Ok(Outcome::Sent));
    assert_eq!(texts([next(&kept)].into_iter()), ["on"]);
    until("the neighbour knows it", || {
        far.put("demo/a", "from afar").outcome().wait() != Ok(Outcome::NoSubscriber)
    });
    assert_eq!(texts([next(&kept)].into_iter()), ["from afar"]);
    let queued: Vec<String> = texts(ended.drain());
    assert_eq!(queued, ["before"]);
    other.close().wait().unwrap();
    drop((only, ended, publisher));
    close(&node);
    assert!(one.is_closed());
}

#[test]
fn what_neighbours_know_ends_with_the_last_session_that_has_declared_it() {
    let (node, one, other) = two();
    let far = neighbour(&node);
    let publisher = far.declare_publisher("demo/a").wait().unwrap();
    let _one = one.declare_subscriber("demo/a").wait().unwrap();
    let _other = other.declare_subscriber("demo/a").wait().unwrap();
    until("it is known", || matched(&publisher));
    drop(one);
    far.put("demo/a", "to the rest").wait().unwrap();
    assert_eq!(texts([next(&_other)].into_iter()), ["to the rest"]);
    assert!(matched(&publisher));
    drop(other);
    until("it is gone", || !matched(&publisher));
    close(&node);
}

#[test]
fn each_session_is_a_source_of_its_own() {
    let (node, one, other) = two();
    let ids = [one.id(), other.id(), alone().id()];
    assert_eq!((ids[0].zid, ids[1].zid), (node.zid(), node.zid()));
    assert!(ids[0].eid != 0 && ids[1].eid != 0 && ids[0].eid != ids[1].eid);
    assert_eq!(ids[2].eid, 0);
    let token = one.liveliness().declare_token("live/a").wait().unwrap();
    let publishers = [&one, &other].map(|on| on.declare_publisher("demo/a").wait().unwrap());
    let numbers = publishers.each_ref().map(|publisher| publisher.id().eid);
    assert!(numbers[0] != numbers[1] && !numbers.contains(&ids[0].eid));
    drop((token, publishers));
    close(&node);
    assert!(matches!(
        Session::from_node(&node, Config::peer()),
        Err(OpenError::Node(zonda::DeclareError::Closed))
    ));
    let refused = Session::from_node(&node, Config::peer().with("namespace", "'a/*'"));
    assert!(
        matches!(refused, Err(OpenError::Config { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_session_with_a_namespace_meets_the_other_one_in_it() {
    let (node, one, _) = two();
    let config = Config::peer().with("namespace", "'robot'");
    let inner = Session::from_node(&node, config).unwrap();
    let outside = one.declare_subscriber("robot/**").wait().unwrap();
    let inside = inner.declare_subscriber("demo/*").wait().unwrap();
    inner.put("demo/a", "").wait().unwrap();
    assert_eq!(next(&outside).key_expr().as_str(), "robot/demo/a");
    assert_eq!(next(&inside).key_expr().as_str(), "demo/a");
    one.put("robot/demo/b", "").wait().unwrap();
    assert_eq!(next(&inside).key_expr().as_str(), "demo/b");
    close(&node);
}
