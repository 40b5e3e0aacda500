// SPDX-License-Identifier: MIT OR Apache-2.0

//! `qos/publication`: configured service of publications.

use std::future::IntoFuture;

use crate::pair::{LONG, alone, connected_to, matched, until_matched};
use zonda::handlers::FifoChannelHandler;
use zonda::qos::{CongestionControl, Priority, Reliability};
use zonda::sample::{Locality, Sample};
use zonda::{Config, Session, Wait};

const RULES: &str = "[
    {key_exprs: ['demo/told/**'], config: {
        priority: 'data_high', congestion_control: 'drop', express: false, reliability: 'best_effort',
        allowed_destination: 'any'}},
    {key_exprs: ['demo/**'], config: {priority: 'background'}},
]";

/// Service with which a sample came.
type Carried = (Priority, CongestionControl, bool, Reliability);

const TOLD: Carried = (
    Priority::DataHigh,
    CongestionControl::Drop,
    false,
    Reliability::BestEffort,
);
const ASKED: Carried = (
    Priority::DataLow,
    CongestionControl::Block,
    true,
    Reliability::Reliable,
);

fn next(queue: &FifoChannelHandler<Sample>) -> Carried {
    let sample = queue.recv_timeout(LONG).unwrap().expect("one more");
    (
        sample.priority(),
        sample.congestion_control(),
        sample.express(),
        sample.reliability(),
    )
}

/// Opens a session with the rules, and one that is connected to it.
fn told() -> (Session, Session) {
    let other = alone();
    let mut config = Config::peer().listen([] as [&str; 0]);
    config.insert_json5("qos/publication", RULES).unwrap();
    let session = connected_to(&other, config);
    (session, other)
}

/// Sets the service that the program asks for on a put or a delete: for its own session alone.
macro_rules! asked {
    ($publication:expr) => {
        $publication
            .priority(ASKED.0)
            .congestion_control(ASKED.1)
            .express(ASKED.2)
            .reliability(ASKED.3)
            .allowed_destination(Locality::SessionLocal)
    };
}

#[test]
fn a_put_of_the_session_is_carried_as_the_first_rule_for_its_key_says() {
    let (session, other) = told();
    let queue = other.declare_subscriber("demo/**").wait().unwrap();
    until_matched(&session.declare_publisher("demo/told/a").wait().unwrap());

    asked!(session.put("demo/told/a", "1")).wait().unwrap();
    assert_eq!(next(&queue), TOLD, "put");
    asked!(session.delete("demo/told/a")).wait().unwrap();
    assert_eq!(next(&queue), TOLD, "delete");
    async_io::block_on(asked!(session.put("demo/told/a", "2")).into_future()).unwrap();
    assert_eq!(next(&queue), TOLD, "awaited");
    let put = asked!(session.put("demo/told/a", "3"));
    put.try_publish().unwrap();
    assert_eq!(next(&queue), TOLD, "tried");

    // the second rule matches more keys, and sets less
    let put = asked!(session.put("demo/else", "4"));
    put.allowed_destination(Locality::Any).wait().unwrap();
    let (_, congestion_control, express, reliability) = ASKED;
    let background = Priority::Background;
    let less = (background, congestion_control, express, reliability);
    assert_eq!(next(&queue), less);
}

#[test]
fn a_publisher_is_declared_as_the_first_rule_for_its_key_says() {
    let (session, other) = told();
    let queue = other.declare_subscriber("demo/**").wait().unwrap();
    let publisher = asked!(session.declare_publisher("demo/told/a"));
    let publisher = publisher.wait().unwrap();
    // its destination is not the session alone any more
    until_matched(&publisher);
    let service = (publisher.priority(), publisher.congestion_control());
    assert_eq!(service, (TOLD.0, TOLD.1));
    publisher.put("1").wait().unwrap();
    assert_eq!(next(&queue), TOLD, "put");
    publisher.delete().wait().unwrap();
    assert_eq!(next(&queue), TOLD, "delete");
}

#[test]
fn a_key_that_no_rule_includes_is_left_to_the_program() {
    let (session, other) = told();
    let queue = other.declare_subscriber("**").wait().unwrap();
    until_matched(&session.declare_publisher("other").wait().unwrap());
    // wider than the rules
    for key in ["other", "*/told/a"] {
        let publisher = asked!(session.declare_publisher(key));
        assert!(!matched(&publisher.wait().unwrap()), "{key}");
    }
    let put = asked!(session.put("other", "1"));
    put.allowed_destination(Locality::Any).wait().unwrap();
    assert_eq!(next(&queue), ASKED);
}

#[test]
fn rules_are_about_keys_as_the_program_writes_them() {
    let other = alone();
    let mut config = Config::peer().listen([] as [&str; 0]);
    config.insert_json5("qos/publication", RULES).unwrap();
    config.insert_json5("namespace", "'far'").unwrap();
    let session = connected_to(&other, config);
    let queue = other.declare_subscriber("far/**").wait().unwrap();
    until_matched(&session.declare_publisher("demo/told/a").wait().unwrap());
    asked!(session.put("demo/told/a", "1")).wait().unwrap();
    assert_eq!(next(&queue), TOLD);
}
