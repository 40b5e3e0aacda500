// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session and a neighbour that connect to each other at once. The neighbour accepts the session's
//! connection although it has one of its own, as a node of the reference does.

use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use zonda::{Config, Session, Wait};
use zonda_codec::transport::KeepAlive;
use zonda_codec::{Encode, WhatAmI, ZenohId};
use zonda_transport::protocol::handshake::{AcceptStep, Acceptor, CookieKey};
use zonda_transport::protocol::parameters::LocalParameters;

use crate::scene::{Hand, address, quick, until};

const LEASE: Duration = Duration::from_secs(10);

/// Ids of the session: one below the id of the neighbour, one above it.
const IDS: [&str; 2] = ["1", "ffffffffffffffffffffffffffffffff"];

/// A session with one connection that its neighbour opened, and one of its own that the neighbour
/// has still to accept.
struct Crossing {
    session: Session,
    /// Connection that the neighbour opened.
    theirs: Hand,
    /// Connection that the session opens.
    own: Hand,
    acceptor: Acceptor,
}

impl Crossing {
    fn new(id: &str) -> Crossing {
        // a session that dials a listener and is dialed
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let there = listener.local_addr().expect("it is bound");
        let mut config = quick(Config::peer())
            .with("open/return_conditions/connect_scouted", "false")
            .listen(["tcp/127.0.0.1:0"])
            .connect([format!("tcp/{there}")]);
        config.set_id(Some(id.parse().expect("an id")));
        let session = zonda::open(config).wait().expect("it opens");
        let zid = ZenohId::random_from(5);
        // its connection has no OpenAck yet
        let (stream, _) = listener.accept().expect("it dials");
        let mut own = Hand::of(stream);
        let local = LocalParameters::new(zid, WhatAmI::Peer);
        let key = Arc::new(CookieKey::new([7; 32]));
        let (mut acceptor, mut out) = (Acceptor::new(local, key), Vec::new());
        while let AcceptStep::Continue = acceptor
            .handle_batch(&own.receive(), &mut out)
            .expect("a handshake")
        {
            own.send(&out);
        }
        // the neighbour connects, too
        let mut theirs = Hand::connect(address(&session));
        theirs.zid = zid;
        let opened = theirs.introduce_as(WhatAmI::Peer, LEASE);
        assert!(opened.is_ok(), "{opened:?}");
        let crossing = Crossing {
            session,
            theirs,
            own,
            acceptor,
        };
        let port = crossing.theirs.port();
        until("it is connected", || crossing.remotes() == [port]);
        crossing
    }

    /// Ends the handshake of the session's connection.
    fn accept(&mut self) {
        let mut out = Vec::new();
        self.acceptor.admit(&mut out);
        self.own.send(&out);
    }

    /// Returns the neighbour's port of each link.
    fn remotes(&self) -> Vec<u16> {
        let links = self.session.info().links();
        let port = |address: &str| {
            let address: SocketAddr = address.parse().expect("an address");
            address.port()
        };
        let remotes = links.iter().map(|link| port(&link.remote.address()));
        remotes.collect()
    }
}

impl Hand {
    fn port(&self) -> u16 {
        self.stream.local_addr().expect("it is connected").port()
    }

    fn keep_alive(&mut self) {
        self.send(&KeepAlive.to_vec().expect("it has a wire form"));
    }
}

#[test]
fn the_connection_that_the_neighbour_uses_stays() {
    for id in IDS {
        let mut crossing = Crossing::new(id);
        crossing.theirs.keep_alive();
        crossing.accept();
        assert!(crossing.own.is_hung_up_on(), "{id}");
        assert_eq!(crossing.remotes(), [crossing.theirs.port()], "{id}");
    }
}

#[test]
fn a_connection_used_a_moment_later_stays() {
    for id in IDS {
        let mut crossing = Crossing::new(id);
        crossing.accept();
        std::thread::sleep(Duration::from_millis(50));
        crossing.theirs.keep_alive();
        assert!(crossing.own.is_hung_up_on(), "{id}");
        assert_eq!(crossing.remotes(), [crossing.theirs.port()], "{id}");
    }
}

#[test]
fn a_silent_connection_is_replaced() {
    for id in IDS {
        let mut crossing = Crossing::new(id);
        crossing.accept();
        assert!(crossing.theirs.is_hung_up_on(), "{id}");
        let port = crossing.own.port();
        until("the other one stands", || crossing.remotes() == [port]);
    }
}

#[test]
fn a_connection_that_the_neighbour_closes_is_replaced() {
    for id in IDS {
        let mut crossing = Crossing::new(id);
        crossing.accept();
        let closed = crossing.theirs.stream.shutdown(Shutdown::Both);
        closed.expect("it is open");
        let port = crossing.own.port();
        until("the other one stands", || crossing.remotes() == [port]);
    }
}
