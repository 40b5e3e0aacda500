// SPDX-License-Identifier: MIT OR Apache-2.0
//! Admission with few places, and the choice between two connections with one id.

use std::time::{Duration, Instant};

use zonda::session::LossKind;
use zonda::{Config, Session, Wait};
use zonda_codec::transport::reason;
use zonda_transport::protocol::handshake::HandshakeError;

use crate::ending::{loss, subscriber_of};
use crate::scene::{Hand, address, endpoint, events, listening, next, until};

const QUITE_A_WHILE: Duration = Duration::from_secs(60);

/// Opens a session with four places, of which one address gets three.
fn with_few_places() -> Session {
    listening(Config::router().with("transport/unicast/max_sessions", "4"))
}

/// Returns the current use of a limit, and how often it was reached.
fn limit(session: &Session, key: &str) -> (u64, u64) {
    let all = session.info().limits();
    let limit = all.iter().find(|limit| limit.key == key).expect(key);
    (
        limit.used.expect("counted"),
        limit.reached.expect("counted"),
    )
}

/// Connects a hand that declares a subscriber of this key, and waits until the session knows it.
fn subscribing(session: &Session, key: &str) -> Hand {
    let mut hand = Hand::introduced(address(session), QUITE_A_WHILE);
    let declared = subscriber_of(key, hand.sn);
    hand.send(&declared);
    let publisher = session.declare_publisher(key.to_owned()).wait();
    let publisher = publisher.expect("it is open");
    until("the subscriber is known", || {
        let status = publisher.matching_status().wait().unwrap();
        status.matching()
    });
    hand
}

/// Idle clients for which there is no room evict each other. Each of them connected again at once,
/// hundreds of times a second.
#[test]
fn idle_clients_over_the_limit_connect_again_slowly() {
    let session = listening(Config::router().with("transport/unicast/max_sessions", "1"));
    let events = events(&session);
    let open = || {
        let config = Config::client([endpoint(&session)]);
        let config = config.with("scouting/multicast/enabled", "false");
        zonda::open(config).wait().expect("it opens")
    };
    let _clients = [open(), open()];
    let end = Instant::now() + Duration::from_secs(3);
    let mut connected = 0;
    while let Some(event) = events.recv_deadline(end).expect("the session is open") {
        connected += u32::from(event.name() == "connected");
    }
    assert!((3..20).contains(&connected), "{connected} connections");
}

/// A thousand idle sessions kept every other client out without limit.
#[test]
fn who_says_nothing_gives_way() {
    let session = with_few_places();
    let mut crowd: Vec<Hand> = (0..3)
        .map(|_| Hand::introduced(address(&session), QUITE_A_WHILE))
        .collect();
    let _newcomer = Hand::introduced(address(&session), QUITE_A_WHILE);
    assert!(crowd[0].is_hung_up_on(), "the oldest gives way");
    until("three are left", || session.info().links().len() == 3);
    let elsewhere = &mut Hand::connect_from([127, 0, 0, 2], address(&session));
    elsewhere.introduce(QUITE_A_WHILE).expect("its own share");
    until("all places are taken", || session.info().links().len() == 4);
    let mut third = Hand::connect_from([127, 0, 0, 3], address(&session));
    third
        .introduce(QUITE_A_WHILE)
        .expect("the largest crowd gives way");
    assert!(crowd[1].is_hung_up_on());
}

#[test]
fn one_address_cannot_take_every_place() {
    let session = with_few_places();
    let _crowd = ["a", "b", "c"].map(|key| subscribing(&session, key));
    let refused = Hand::connect_from([127, 0, 0, 1], address(&session)).introduce(QUITE_A_WHILE);
    let reason = reason::MAX_SESSIONS;
    assert_eq!(refused, Err(HandshakeError::Refused { reason }));
    assert_eq!(limit(&session, "limits/sessions_per_address"), (3, 1));
    let mut elsewhere = Hand::connect_from([127, 0, 0, 2], address(&session));
    elsewhere.introduce(QUITE_A_WHILE).expect("the reserve");
    assert_eq!(limit(&session, "transport/unicast/max_sessions"), (4, 0));
}

/// The id of a node that has crashed, or that an attacker holds, was taken until the lease was
/// over.
#[test]
fn a_silent_connection_gives_its_id_to_a_newer_one() {
    let session = listening(Config::router());
    let events = events(&session);
    let lease = Duration::from_secs(4);
    let older = Hand::introduced(address(&session), lease);
    next(&events, "connected");
    let mut newer = Hand::connect_from([127, 0, 0, 1], address(&session));
    newer.zid = older.zid;
    let refused = newer.introduce(QUITE_A_WHILE);
    assert!(refused.is_err(), "the older one may be alive");
    // it stays, so that the first lost link is the older one's
    let mut let_in = None;
    until("the newer one is let in", || {
        let mut newer = Hand::connect_from([127, 0, 0, 1], address(&session));
        newer.zid = older.zid;
        if newer.introduce(QUITE_A_WHILE).is_ok() {
            let_in = Some(newer);
        }
        let_in.is_some()
    });
    assert_eq!(
        loss(&events).kind,
        LossKind::ClosedHere,
        "before its lease was over"
    );
}

/// A neighbour that sends a message now and then keeps its id.
#[test]
fn a_connection_that_lives_keeps_its_id() {
    let session = listening(Config::router());
    let mut older = Hand::introduced(address(&session), QUITE_A_WHILE);
    for _ in 0..20 {
        older.send(&[0x04]);
        let mut newer = Hand::connect_from([127, 0, 0, 1], address(&session));
        newer.zid = older.zid;
        let refused = newer.introduce(QUITE_A_WHILE);
        assert!(
            matches!(refused, Err(HandshakeError::Linked { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(session.info().links().len(), 1);
}
