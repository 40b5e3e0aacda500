// SPDX-License-Identifier: MIT OR Apache-2.0

//! A session finds its neighbour again after a restart, and sends it all its declarations.

use crate::pair::{LONG, alone, connected_to, until, until_matched};
use zonda::qos::CongestionControl;
use zonda::{Config, Session, Wait};

/// Opens a session at the endpoint of `before`, once the port is free.
fn restarted(address: &str) -> Session {
    let mut session = None;
    until("the port is free again", || {
        session = zonda::open(Config::peer().listen([address])).wait().ok();
        session.is_some()
    });
    session.expect("the loop ended")
}

fn survives_a_restart(config: Config) {
    let first = alone();
    let address = first.info().locators().remove(0).to_string();
    let quick = config.with("connect/retry", "{ period_init_ms: 10, period_max_ms: 50 }");
    let session = connected_to(&first, quick);
    let subscriber = session.declare_subscriber("down/**").wait().unwrap();
    let publisher = session
        .declare_publisher("up/value")
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    first.close().wait().unwrap();
    until("the link is gone", || session.info().links().is_empty());
    drop(first);

    let second = restarted(&address);
    let at_second = second.declare_subscriber("up/*").wait().unwrap();
    until("the link is back", || {
        session.info().links().iter().any(|l| l.zid == second.zid())
    });
    until_matched(&publisher);
    publisher.put("up again").wait().unwrap();
    let sample = at_second
        .recv_timeout(LONG)
        .unwrap()
        .expect("the put after the restart");
    assert_eq!(sample.payload(), &"up again".into());

    let down = second.declare_publisher("down/value").wait().unwrap();
    until_matched(&down);
    down.put("down again").wait().unwrap();
    assert!(subscriber.recv_timeout(LONG).unwrap().is_some());
}

#[test]
fn a_peer_survives_a_restart_of_the_other() {
    survives_a_restart(Config::peer().listen([] as [&str; 0]));
}

#[test]
fn a_client_survives_a_restart_of_its_peer() {
    survives_a_restart(Config::client([] as [&str; 0]));
}
