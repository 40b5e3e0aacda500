// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reasons for which a session refuses connections: each kind as event and counted with the address
//! of the last.

use std::io::Write;
use std::net::SocketAddr;

use zonda::session::RefusalKind;
use zonda::{Config, Session, Wait};
use zonda_codec::transport::InitSyn;
use zonda_codec::{Encode, Resolution, WhatAmI, ZenohId};
use zonda_transport::link::LinkAddress;

use crate::scene::{
    Events, Hand, address, close, dialing, endpoint, events, listening, next_refusal, quick, until,
};

/// Asserts that the session refuses a connection from `remote` for this reason, and counts it.
fn turns_away(session: &Session, events: &Events, remote: SocketAddr, kind: RefusalKind) {
    let (told, reason) = next_refusal(events);
    assert_eq!(reason.kind, kind, "{reason}");
    assert_eq!(told, Some(remote));
    let all = session.info().turned_away();
    let known = all.iter().find(|known| known.reason.kind == kind);
    let known = known.unwrap_or_else(|| panic!("{kind} is not in {all:?}"));
    let place = known.last.as_ref().and_then(LinkAddress::socket_address);
    assert_eq!((known.count, place), (1, Some(remote)));
}

/// Asserts that a peer that sends these bytes is refused.
fn stranger_says(bytes: &[u8], kind: RefusalKind) {
    let session = listening(Config::peer());
    let events = events(&session);
    let mut hand = Hand::connect(address(&session));
    hand.stream.write_all(bytes).expect("it is read");
    let remote = hand.stream.local_addr().expect("it is connected");
    turns_away(&session, &events, remote, kind);
}

#[test]
fn a_stranger_speaks_something_else() {
    stranger_says(b"GET / HTTP/1.1\r\n\r\n", RefusalKind::NotZenoh);
}

#[test]
fn a_stranger_speaks_another_version() {
    let syn = InitSyn {
        version: 8,
        whatami: WhatAmI::Peer,
        zid: ZenohId::random_from(7),
        resolution: Resolution::default(),
        batch_size: u16::MAX,
        ext: Default::default(),
    };
    let bytes = syn.to_vec().expect("it has a wire form");
    stranger_says(crate::scene::batch(&bytes), RefusalKind::Version);
}

#[test]
fn a_stranger_is_out_of_turn() {
    // a keep-alive in place of an InitSyn
    stranger_says(crate::scene::batch(&[0x04]), RefusalKind::Misbehaved);
}

#[test]
fn a_stranger_thinks_better_of_it() {
    stranger_says(close(0), RefusalKind::ClosedByPeer);
}

#[test]
fn a_stranger_hangs_up() {
    let session = listening(Config::peer());
    let events = events(&session);
    let hand = Hand::connect(address(&session));
    let remote = hand.stream.local_addr().expect("it is connected");
    drop(hand);
    turns_away(&session, &events, remote, RefusalKind::Broken);
}

#[test]
fn a_stranger_says_nothing() {
    let session = listening(Config::peer().with("transport/unicast/accept_timeout", "50"));
    let events = events(&session);
    let hand = Hand::connect(address(&session));
    let remote = hand.stream.local_addr().expect("it is connected");
    turns_away(&session, &events, remote, RefusalKind::TimedOut);
}

#[test]
fn there_is_no_room() {
    let session = listening(Config::peer().with("transport/unicast/max_sessions", "1"));
    let first = dialing(&endpoint(&session));
    until("the first is connected", || {
        !session.info().links().is_empty()
    });
    let events = events(&session);
    let second = dialing(&endpoint(&session));
    let (remote, reason) = next_refusal(&events);
    assert_eq!(reason.kind, RefusalKind::MaxSessions, "{reason}");
    assert!(reason.text.contains(&second.zid().to_string()), "{reason}");
    assert!(remote.is_some());
    drop(first);
}

#[test]
fn the_id_is_taken() {
    let session = listening(Config::peer());
    let named = || {
        let config = quick(Config::peer())
            .with("id", "'a1'")
            .listen([] as [&str; 0]);
        zonda::open(config.connect([endpoint(&session)]))
            .wait()
            .expect("it opens")
    };
    let first = named();
    until("the first is connected", || {
        !session.info().links().is_empty()
    });
    let events = events(&session);
    let second = named();
    let (_, reason) = next_refusal(&events);
    assert_eq!(reason.kind, RefusalKind::MaxLinks, "{reason}");
    drop((first, second));
}

#[test]
fn the_last_of_many_is_known() {
    let session = listening(Config::peer());
    let events = events(&session);
    let mut last = None;
    for _ in 0..3 {
        let mut hand = Hand::connect(address(&session));
        hand.stream
            .write_all(b"GET / HTTP/1.1\r\n\r\n")
            .expect("it is read");
        last = Some(hand.stream.local_addr().expect("it is connected"));
        next_refusal(&events);
    }
    let known = session.info().turned_away();
    assert_eq!(known.len(), 1, "{known:?}");
    let place = known[0].last.as_ref().and_then(LinkAddress::socket_address);
    assert_eq!((known[0].count, place), (3, last));
}
