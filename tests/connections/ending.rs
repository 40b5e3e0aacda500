// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reasons for which a link ends: each kind, on the side that remains.

use std::time::Duration;

use socket2::SockRef;
use zonda::session::{ConnectionEvent, Loss, LossKind};
use zonda::{Config, Session, Wait};

use crate::scene::{Events, Hand, address, dialing, endpoint, events, listening, next, until};

/// Opens a session and connects a hand to it; returns both with the session's events from then on.
fn beside_a_hand(lease: Duration) -> (Session, Events, Hand) {
    let session = listening(Config::peer());
    let events = events(&session);
    let hand = Hand::introduced(address(&session), lease);
    let ConnectionEvent::Connected(link) = next(&events, "connected") else {
        panic!("not a link");
    };
    assert_eq!((link.zid, link.dialed), (hand.zid, false));
    (session, events, hand)
}

pub fn loss(events: &Events) -> Loss {
    match next(events, "lost") {
        ConnectionEvent::Lost { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

const QUITE_A_WHILE: Duration = Duration::from_secs(60);

#[test]
fn the_other_closes() {
    let session = listening(Config::peer());
    let events = events(&session);
    let other = dialing(&endpoint(&session));
    next(&events, "connected");
    other.close().wait().expect("it closes");
    assert_eq!(loss(&events).kind, LossKind::ClosedByPeer(0));
}

#[test]
fn the_other_closes_for_a_reason() {
    let (_session, events, mut hand) = beside_a_hand(QUITE_A_WHILE);
    // CLOSE of the whole connection, because of silence
    hand.send(&[0x23, 6]);
    assert_eq!(loss(&events).kind, LossKind::ClosedByPeer(6));
}

#[test]
fn the_other_hangs_up() {
    let (_session, events, hand) = beside_a_hand(QUITE_A_WHILE);
    drop(hand);
    assert_eq!(loss(&events).kind, LossKind::HungUp);
}

#[test]
fn the_connection_breaks() {
    let (_session, events, hand) = beside_a_hand(QUITE_A_WHILE);
    // closing it then sends a reset
    SockRef::from(&hand.stream)
        .set_linger(Some(Duration::ZERO))
        .expect("a socket");
    drop(hand);
    assert_eq!(loss(&events).kind, LossKind::Broken);
}

#[test]
fn the_other_is_silent() {
    let (_session, events, _hand) = beside_a_hand(Duration::from_millis(100));
    assert_eq!(loss(&events).kind, LossKind::LeaseExpired);
}

#[test]
fn the_other_misbehaves() {
    let (_session, events, mut hand) = beside_a_hand(QUITE_A_WHILE);
    hand.send(&[0xff; 30]);
    let loss = loss(&events);
    assert_eq!(loss.kind, LossKind::Misbehaved);
    assert!(
        loss.text.starts_with("the peer broke the protocol: "),
        "{loss}"
    );
}

#[test]
fn the_session_closes_it() {
    let (session, events, hand) = beside_a_hand(QUITE_A_WHILE);
    session.close().wait().expect("it closes");
    assert_eq!(loss(&events).kind, LossKind::ClosedHere);
    drop(hand);
}

#[test]
fn the_other_takes_nothing() {
    // Routed messages pass over a full queue; then their source waits for this time.
    let session = listening(
        Config::router()
            .with("transport/link/tx/queue/size/data", "1")
            .with("transport/link/tx/batch_size", "1024")
            .with(
                "transport/link/tx/queue/congestion_control/block/wait_before_close",
                "50000",
            ),
    );
    let events = events(&session);
    let mut hand = Hand::introduced(address(&session), QUITE_A_WHILE);
    // a subscriber of everything that never reads
    let declared = subscriber_of("**", hand.sn);
    hand.send(&declared);
    let source = dialing(&endpoint(&session));
    let publisher = source
        .declare_publisher("a")
        .congestion_control(zonda::qos::CongestionControl::Block)
        .wait()
        .expect("it is open");
    until("the subscriber is known", || {
        let status = publisher.matching_status().wait().unwrap();
        status.matching()
    });
    let payload = vec![0; 1 << 16];
    until("it is given up", || {
        publisher
            .put(payload.as_slice())
            .timeout(Duration::from_millis(1))
            .wait()
            .ok();
        events.try_iter().any(|event| match event {
            ConnectionEvent::Lost { reason, link } => {
                assert_eq!((reason.kind, link.zid), (LossKind::TooSlow, hand.zid));
                true
            }
            _ => false,
        })
    });
}

/// Returns a frame of one declaration: a subscriber of this key.
pub fn subscriber_of(key: &str, sn: u32) -> Vec<u8> {
    use zonda_codec::{Declaration, Declare, Encode, FrameHeader, Reliability, WireExpr};
    let header = FrameHeader {
        reliability: Reliability::Reliable,
        priority: zonda_codec::Priority::Control,
        sn,
    };
    let declare = Declare::new(Declaration::Subscriber {
        id: 1,
        wire_expr: WireExpr::full(key),
    });
    let mut bytes = header.to_vec().expect("it has a wire form");
    bytes.extend(declare.to_vec().expect("it has a wire form"));
    bytes
}
