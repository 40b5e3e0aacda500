// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reasons for which a session cannot connect: each kind as event, as status of the endpoint, and
//! where connecting is required, as error of opening.

use std::net::SocketAddr;

use socket2::{Domain, Socket, Type};
use zonda::session::{ConnectionEvent, RefusalKind};
use zonda::{Config, OpenError, Operation, Wait};
use zonda_codec::transport::{InitAck, reason};
use zonda_codec::{Encode, Resolution, WhatAmI, ZenohId};

use crate::scene::{
    address, answering, batch, close, dialing, endpoint, events, listening, next, next_failure,
    next_refusal, quick, until, with_users,
};

/// Asserts that a session that dials this endpoint fails for this reason, again and again.
fn fails(endpoint: &str, kind: RefusalKind, text: &str) {
    fails_as(quick(Config::peer()), endpoint, kind, text);
}

fn fails_as(config: Config, endpoint: &str, kind: RefusalKind, text: &str) {
    let config = config.listen([] as [&str; 0]).connect([endpoint]);
    let must = config.clone().with("connect/exit_on_failure", "true");
    // The event, twice, with a growing number of attempts.
    let session = zonda::open(config).wait().expect("it opens");
    let events = events(&session);
    let ConnectionEvent::Failed {
        endpoint: told,
        reason,
        attempts,
        next_retry,
    } = next(&events, "failed")
    else {
        panic!("not a failure");
    };
    assert_eq!(told.to_string(), endpoint);
    assert_eq!(reason.kind, kind, "{reason}");
    assert!(reason.text.contains(text), "{reason}");
    assert!(
        !reason.text.contains('\n') && !reason.text.contains("cannot connect"),
        "{reason}"
    );
    assert!(next_retry.is_some());
    let ConnectionEvent::Failed {
        attempts: later, ..
    } = next(&events, "failed")
    else {
        panic!("not a failure");
    };
    assert!(later > attempts, "{attempts}, then {later}");

    // The status of the endpoint agrees.
    let status = session.info().endpoints();
    let [status] = &status[..] else {
        panic!("{status:?}");
    };
    assert_eq!(status.endpoint.to_string(), endpoint);
    assert!(!status.connected && !status.reached);
    assert!(status.attempts >= later);
    assert_eq!(status.last_failure.as_ref().map(|f| f.kind), Some(kind));
    assert_eq!(session.info().unreached().len(), 1);

    // With a required connection, opening fails for this reason.
    let must = must.with("connect/timeout_ms", "0");
    let error = zonda::open(must)
        .typed()
        .wait()
        .expect_err("it must connect");
    let OpenError::Connect { reason, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(reason.kind, kind, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn nobody_listens() {
    // The socket is bound and does not listen: no other program can take the port.
    let held = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let any: SocketAddr = ([127, 0, 0, 1], 0).into();
    held.bind(&any.into()).expect("a free port");
    let address = held.local_addr().expect("it is bound").as_socket();
    let endpoint = format!("tcp/{}", address.expect("an address"));
    fails(&endpoint, RefusalKind::ConnectionRefused, "refused");
}

#[test]
fn the_name_has_no_address() {
    fails(
        "tcp/name.invalid:7447",
        RefusalKind::NameNotResolved,
        "name.invalid",
    );
}

#[test]
fn there_is_no_such_kind_of_link() {
    fails(
        "carrier-pigeon/roof:1",
        RefusalKind::Unsupported,
        "carrier-pigeon",
    );
}

#[test]
fn nobody_answers() {
    let endpoint = answering(b"");
    let config = quick(Config::peer()).with("transport/unicast/open_timeout", "300");
    fails_as(config, &endpoint, RefusalKind::TimedOut, "InitAck");
}

#[test]
fn something_else_answers() {
    fails(
        &answering(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        RefusalKind::NotZenoh,
        "HTTP",
    );
    fails(
        &answering(batch(&[0xff; 40])),
        RefusalKind::NotZenoh,
        "undecodable",
    );
}

#[test]
fn the_other_speaks_another_version() {
    let ack = InitAck {
        version: 8,
        whatami: WhatAmI::Peer,
        zid: ZenohId::random_from(7),
        resolution: Resolution::default(),
        batch_size: u16::MAX,
        cookie: &[1, 2, 3],
        ext: Default::default(),
    };
    let bytes = ack.to_vec().expect("it has a wire form");
    fails(&answering(batch(&bytes)), RefusalKind::Version, "version 8");
}

#[test]
fn the_other_hangs_up() {
    // a length that no batch follows
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let endpoint = format!("tcp/{}", socket.local_addr().expect("it is bound"));
    std::thread::spawn(move || socket.incoming().for_each(drop));
    fails(
        &endpoint,
        RefusalKind::Broken,
        "failed during the handshake",
    );
}

#[test]
fn the_other_closes_with_a_reason() {
    for (code, kind) in [
        (reason::GENERIC, RefusalKind::Authentication),
        (reason::INVALID, RefusalKind::ClosedByPeer),
        (reason::MAX_SESSIONS, RefusalKind::MaxSessions),
        (reason::MAX_LINKS, RefusalKind::MaxLinks),
        (reason::CONNECTION_TO_SELF, RefusalKind::ConnectionToSelf),
    ] {
        fails(&answering(close(code)), kind, "refused the link");
    }
}

#[test]
fn the_other_is_out_of_turn() {
    // a keep-alive in place of an answer
    fails(
        &answering(batch(&[0x04])),
        RefusalKind::Misbehaved,
        "InitAck",
    );
}

#[test]
fn the_other_has_no_room() {
    let full = listening(Config::peer().with("transport/unicast/max_sessions", "1"));
    let first = dialing(&endpoint(&full));
    until("the first is connected", || {
        !first.info().links().is_empty()
    });
    fails(&endpoint(&full), RefusalKind::MaxSessions, "sessions");
}

#[test]
fn the_other_asks_for_a_user() {
    let there = with_users("alice:secret\n", &[]);
    let events = events(&there);
    let turned_away = || next_refusal(&events).1.kind;
    fails(&endpoint(&there), RefusalKind::Authentication, "user");
    assert_eq!(turned_away(), RefusalKind::Authentication);
    let config = quick(Config::peer())
        .with("transport/auth/usrpwd/user", "'alice'")
        .with("transport/auth/usrpwd/password", "'guessed'");
    fails_as(
        config,
        &endpoint(&there),
        RefusalKind::Authentication,
        "alice",
    );
    let known = there.info().turned_away();
    assert_eq!(known.len(), 1, "{known:?}");
    assert!(known[0].count >= 2);
}

#[test]
fn the_id_is_taken() {
    let there = listening(Config::peer());
    let named = |config: Config| quick(config).with("id", "'a1'").listen([] as [&str; 0]);
    let first = named(Config::peer()).connect([endpoint(&there)]);
    let first = zonda::open(first).wait().expect("it opens");
    until("the first is connected", || {
        !first.info().links().is_empty()
    });
    let config = quick(Config::peer()).with("id", "'a1'");
    fails_as(
        config,
        &endpoint(&there),
        RefusalKind::MaxLinks,
        "is connected to this node already",
    );
}

#[test]
fn it_is_the_session_itself() {
    let free = listening(Config::peer());
    let own = endpoint(&free);
    free.close().wait().expect("it closes");
    // Another test may have bound the port for a moment; it releases it.
    let config = quick(Config::peer()).with("listen/timeout_ms", "20000");
    let config = config.listen([&own]).connect([&own]);
    let session = zonda::open(config).wait().expect("the port is free again");
    let events = events(&session);
    assert_eq!(next_failure(&events).kind, RefusalKind::ConnectionToSelf);
    until("it is counted", || {
        let turned_away = session.info().turned_away();
        turned_away
            .iter()
            .any(|t| t.reason.kind == RefusalKind::ConnectionToSelf)
    });
}

#[test]
fn an_endpoint_recovers() {
    let (held, there) = {
        let session = listening(Config::peer());
        (address(&session), endpoint(&session))
    };
    let session = dialing(&there);
    let events = events(&session);
    assert_eq!(next_failure(&events).kind, RefusalKind::ConnectionRefused);
    let other = quick(Config::peer()).with("listen/timeout_ms", "20000");
    let other = other.listen([format!("tcp/{held}")]);
    let other = zonda::open(other).wait().expect("the port is free again");
    let ConnectionEvent::Connected(link) = next(&events, "connected") else {
        panic!("not a link");
    };
    assert_eq!((link.zid, link.dialed), (other.zid(), true));
    until("the status says so", || {
        let status = session.info().endpoints().remove(0);
        status.connected && status.reached && status.attempts == 0 && status.last_failure.is_none()
    });
}
