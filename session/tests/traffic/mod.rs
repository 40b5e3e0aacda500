// SPDX-License-Identifier: MIT OR Apache-2.0

//! Traffic between two sessions, whatever the link between them is.

use zonda::qos::CongestionControl;
use zonda::{Session, Wait};

use crate::pair::{LONG, until, until_matched};

/// Returns the port that a session listens on.
#[cfg(any(feature = "tls", feature = "ws", feature = "quic"))]
pub fn port(of: &Session) -> u16 {
    let locator = of.info().locators().remove(0).to_string();
    let at = locator.split('?').next().expect("an address");
    let (_, port) = at.rsplit_once(':').expect("a port");
    port.parse().expect("a number")
}

/// Messages of all sizes, both ways at the same time: none is lost, and their order stays.
pub fn check_traffic(first: &Session, second: &Session, sizes: &[usize]) {
    const ROUNDS: usize = 20;
    std::thread::scope(|scope| {
        for (from, to, key) in [(first, second, "test/there"), (second, first, "test/back")] {
            let subscriber = to.declare_subscriber(key).wait().expect("a subscriber");
            scope.spawn(move || {
                let publisher = from
                    .declare_publisher(key)
                    .congestion_control(CongestionControl::Block)
                    .wait()
                    .expect("a publisher");
                until_matched(&publisher);
                for round in 0..ROUNDS {
                    for size in sizes {
                        let value = vec![(round + size) as u8; *size];
                        publisher.put(value).wait().expect("it is sent");
                    }
                }
            });
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    for size in sizes {
                        let sample = subscriber
                            .recv_timeout(LONG)
                            .expect("open")
                            .expect("in time");
                        let bytes = sample.payload().to_bytes();
                        assert_eq!(bytes.len(), *size, "round {round}");
                        assert!(bytes.iter().all(|byte| *byte == (round + size) as u8));
                    }
                }
            });
        }
    });
}

/// Messages of these sizes, both ways, one at a time. A message that is lost, as where a socket has
/// no room for all datagrams of a large one, is sent again.
pub fn check_each(first: &Session, second: &Session, sizes: &[usize]) {
    for (from, to, key) in [(first, second, "test/there"), (second, first, "test/back")] {
        let subscriber = to.declare_subscriber(key).wait().expect("a subscriber");
        let publisher = from
            .declare_publisher(key)
            .congestion_control(CongestionControl::Block)
            .wait()
            .expect("a publisher");
        until_matched(&publisher);
        for size in sizes {
            let value = vec![*size as u8; *size];
            let mut tries = 0;
            loop {
                publisher.put(value.clone()).wait().expect("it is sent");
                let received = subscriber.recv_timeout(LONG / 20).expect("open");
                if let Some(sample) = received {
                    assert_eq!(sample.payload().to_bytes(), value);
                    break;
                }
                tries += 1;
                assert!(tries < 10, "{size} bytes on {key}");
            }
        }
    }
}

/// Checks a query of the first session, which the second answers.
pub fn check_question(first: &Session, second: &Session) {
    let _queryable = second
        .declare_queryable("test/question")
        .callback(|query| {
            let reply = query.reply(query.key_expr().clone(), "answer");
            reply.wait().expect("it is sent");
        })
        .wait()
        .expect("a queryable");
    until("the answer comes", || {
        let replies = first.get("test/question").wait().expect("it is asked");
        replies.into_iter().any(|reply| reply.result().is_ok())
    });
}
