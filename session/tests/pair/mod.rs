// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sessions for tests: alone, or two connected over loopback; and waiting for a condition.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::time::{Duration, Instant};

use zonda::pubsub::Publisher;
use zonda::qos::CongestionControl;
use zonda::{Config, Session, Wait};

/// Limit that no working test exceeds.
pub const LONG: Duration = Duration::from_secs(20);

/// Opens a peer that listens on a free loopback port.
pub fn alone() -> Session {
    zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"]))
        .wait()
        .expect("a lone peer opens")
}

/// Opens two peers, the second connected to the first.
pub fn pair() -> (Session, Session) {
    let first = alone();
    let second = connected_to(&first, Config::peer().listen([] as [&str; 0]));
    (first, second)
}

/// Opens a session with this configuration, connected to `other`; returns when both know.
pub fn connected_to(other: &Session, config: Config) -> Session {
    let address = other.info().locators().remove(0);
    let session = zonda::open(config.connect([&address]))
        .wait()
        .expect("the second peer opens");
    let linked = |a: &Session, b: &Session| a.info().links().iter().any(|l| l.zid == b.zid());
    until("both see the link", || {
        linked(&session, other) && linked(other, &session)
    });
    session
}

/// Declares a publisher on `demo` under Block, and waits until its node knows a subscriber.
pub fn blocking(session: &Session) -> Publisher<'static> {
    let publisher = session
        .declare_publisher("demo")
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until_matched(&publisher);
    publisher
}

/// Waits until the publisher's node knows a subscriber.
pub fn until_matched(publisher: &Publisher<'_>) {
    until("the publisher is matched", || matched(publisher));
}

pub fn matched(publisher: &Publisher<'_>) -> bool {
    let status = publisher.matching_status().wait().unwrap();
    status.matching()
}

/// Waits for a condition, with a deadline.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < LONG, "not within {LONG:?}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
