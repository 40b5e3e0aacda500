// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links whose batches are datagrams, on one runtime.
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::channel;

use super::peers::{DEADLINE, Door, Event, House, endpoint, node, within};
use zonda_runtime::Runtime;
use zonda_transport::dial::{DialError, open_link};
use zonda_transport::link::Link;
use zonda_transport::listen::{ListenOptions, listen};

fn house<R: Runtime>(runtime: &R) -> House {
    House::at(runtime, "udp/127.0.0.1:0", ListenOptions::default())
}

fn place(house: &House) -> SocketAddr {
    let address = house.listening.addresses()[0].socket_address();
    address.expect("an internet address")
}

fn dial<R: Runtime>(runtime: &R, to: &str) -> Result<Link, DialError> {
    within(open_link(runtime, &endpoint(to), &node(2), DEADLINE))
}

fn accepted(house: &House) -> Link {
    match house.next() {
        Event::Accepted(link) => *link,
        other => panic!("a link was expected, not {other:?}"),
    }
}

/// Checks that a datagram passes each way.
fn check(near: &Link, far: &Link) {
    assert_eq!(
        (&near.local, &near.remote),
        (&far.remote, &far.local),
        "both ends know both"
    );
    let (near, far) = (near.stream.socket(), far.stream.socket());
    for (from, to) in [(near, far), (far, near)] {
        let from: UdpSocket = from.try_clone().expect("a descriptor").into();
        let to: UdpSocket = to.try_clone().expect("a descriptor").into();
        to.set_nonblocking(false).expect("a socket");
        to.set_read_timeout(Some(DEADLINE)).expect("a socket");
        from.send(b"hello").expect("it is sent");
        let mut received = [0; 64];
        let count = to.recv(&mut received).expect("it comes");
        assert_eq!(&received[..count], b"hello");
    }
}

pub fn links_open<R: Runtime>(runtime: &R) {
    let house = house(runtime);
    let to = format!("udp/{}", place(&house));
    let mut links = Vec::new();
    for _ in 0..3 {
        let near = dial(runtime, &to).expect("somebody listens");
        let far = accepted(&house);
        assert_eq!(near.established.batch_size, 65_487);
        assert_eq!(far.established.batch_size, 65_487);
        links.push((near, far));
    }
    links.iter().for_each(|(near, far)| check(near, far));
    // The address is this listener's alone.
    let (events, _) = channel();
    let (to, door) = (endpoint(&to), Arc::new(Door::new(events)));
    let again = listen(runtime, &to, node(3), door).expect_err("taken");
    let again = again.to_string();
    assert!(again.contains("address already in use"), "{again}");
}

pub fn a_peer_begins_anew_from_its_port<R: Runtime>(runtime: &R) {
    let house = house(runtime);
    let to = place(&house);
    let near = dial(runtime, &format!("udp/{to}")).expect("somebody listens");
    let far = accepted(&house);
    let own = near.local.socket_address().expect("an internet address");
    drop((near, far));
    let anew = dial(runtime, &format!("udp/{to}#bind={own}")).expect("let in");
    let far = accepted(&house);
    assert_eq!(anew.local.socket_address(), Some(own));
    check(&anew, &far);
}

pub fn what_is_no_message_changes_nothing<R: Runtime>(runtime: &R) {
    let house = house(runtime);
    let to = place(&house);
    let near = dial(runtime, &format!("udp/{to}")).expect("somebody listens");
    let far = accepted(&house);
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let own = near.local.socket_address().expect("an internet address");
    for length in [0, 1, 2, 3, 100, 5000, 60_000] {
        for byte in [0, 1, 2, 5, 0x41, 0xff] {
            let garbage = vec![byte; length];
            stranger.send_to(&garbage, to).expect("it is sent");
            // The system keeps the datagram from a socket that is connected to another peer, and
            // may return an error.
            let _ = stranger.send_to(&garbage, own);
        }
    }
    check(&near, &far);
    let second = dial(runtime, &format!("udp/{to}")).expect("it still listens");
    loop {
        match house.next() {
            Event::Accepted(far) => return check(&second, &far),
            Event::Failed(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// The first datagram of each direction is lost.
pub fn a_message_that_is_lost_is_repeated<R: Runtime>(runtime: &R) {
    let house = house(runtime);
    let to = place(&house);
    let relay = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let at = relay.local_addr().expect("bound");
    relay.set_read_timeout(Some(DEADLINE)).expect("a socket");
    let relaying = std::thread::spawn(move || {
        let (mut near, mut forth, mut back) = (None, 0, 0);
        let mut datagram = [0; 4096];
        while back < 3 {
            let (count, from) = relay.recv_from(&mut datagram).expect("it goes on");
            let (seen, target) = if from == to {
                (&mut back, near.expect("it has asked"))
            } else {
                near = Some(from);
                (&mut forth, to)
            };
            *seen += 1;
            if *seen > 1 {
                relay
                    .send_to(&datagram[..count], target)
                    .expect("it is sent");
            }
        }
    });
    let near = dial(runtime, &format!("udp/{at}")).expect("it is repeated");
    accepted(&house);
    assert_eq!(near.established.zid, node(1).zid);
    relaying.join().expect("both messages came");
}
