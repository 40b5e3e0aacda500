// SPDX-License-Identifier: MIT OR Apache-2.0
//! Eviction of a silent peer when descriptors run out: the next honest peer gets its descriptor.
//! The test is alone in its process, since the limit is the process's.
#![forbid(unsafe_code)]
#![cfg(unix)]

#[macro_use]
#[path = "link/peers.rs"]
mod peers;

use std::net::TcpStream;

use peers::{Hand, House, eventually, node, opener};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};
use zonda_runtime::Runtime;
use zonda_transport::protocol::handshake::OpenStep;

/// Number of peers that connect until one finds no descriptor left.
const ATTEMPTS: usize = 5;

/// Opens descriptors until none is left.
fn exhaust() -> Vec<Socket> {
    let mut hoard = Vec::new();
    while let Ok(socket) = Socket::new(Domain::IPV4, Type::DGRAM, None) {
        hoard.push(socket);
    }
    hoard
}

#[test]
fn a_listener_without_descriptors_recovers_at_the_cost_of_strangers() {
    each_runtime!(runtime => without_descriptors(runtime));
}

fn without_descriptors<R: Runtime>(runtime: &R) {
    let house = House::open(runtime);
    let strangers: Vec<_> = (0..3).map(|_| house.visit()).collect();
    eventually("strangers are pending", || house.listening.pending() == 3);
    let honest: Vec<_> = (0..ATTEMPTS)
        .map(|_| Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket"))
        .collect();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(100),
            maximum: limit.maximum,
        },
    )
    .expect("a lower limit");
    let (mut hoard, mut peers) = (Vec::new(), Vec::new());
    // A descriptor of an earlier runtime may be freed just after all others are taken; the next
    // peer then finds none.
    let recovered = (2..).zip(honest).any(|(number, honest)| {
        hoard.extend(exhaust());
        honest
            .connect(&house.address().into())
            .expect("the kernel accepts");
        peers.push(shake_hands(TcpStream::from(honest), number));
        assert_eq!(house.link().established.zid, node(number).zid);
        let counts = house.listening.counts();
        counts.evicted >= 1 && counts.accept_errors >= 1
    });
    assert!(recovered, "{:?}", house.listening.counts());
    drop((hoard, peers, strangers));
    setrlimit(Resource::Nofile, limit).expect("the old limit");
}

/// Opens a link as node `number`.
fn shake_hands(stream: TcpStream, number: u128) -> Hand {
    let (mut hand, mut opener, mut out) = (Hand(stream), opener(number), Vec::new());
    opener.start(&mut out);
    loop {
        hand.send(&out);
        match opener
            .handle_batch(&hand.receive(), &mut out)
            .expect("an answer")
        {
            OpenStep::Continue => {}
            OpenStep::Done(established) => {
                assert_eq!(established.zid, node(1).zid);
                return hand;
            }
        }
    }
}
