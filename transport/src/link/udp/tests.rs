// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints of datagrams, and the byte stream above them.

use super::*;

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    for (text, what) in [
        ("udp/224.0.0.1:7446#ttl=256", "hops"),
        ("udp/224.0.0.1:7446#join=192.0.2.1", "multicast addresses"),
        ("udp/[ff02::1]:7446#join=224.0.0.1", "multicast addresses"),
        ("udp/127.0.0.1:1?rel=1", "not supported yet"),
        ("udp/127.0.0.1", "has no port"),
    ] {
        let endpoint: Endpoint = text.parse().expect("an endpoint");
        let problem = check(&endpoint).expect_err(text).to_string();
        assert!(problem.contains(what), "{text}: {problem}");
        assert!(!problem.contains('\n'), "{text}: {problem}");
    }
    for text in ["udp/127.0.0.1:1", "udp/127.0.0.1:1?rel=0", "udp/[::]:0"] {
        check_unicast(&text.parse().expect("an endpoint")).expect(text);
    }
}

#[test]
fn nobody_connects_to_a_group() {
    for text in ["udp/224.0.0.1:7446#ttl=3", "udp/[ff02::1]:7446"] {
        let endpoint = text.parse().expect("an endpoint");
        check(&endpoint).expect(text);
        assert!(group::is_group(&endpoint));
        let problem = check_unicast(&endpoint).expect_err(text).to_string();
        assert!(problem.contains("listen/endpoints"), "{problem}");
    }
}

/// No machine sends a datagram of IPv4 of this size. The loss is logged once for a link, and other
/// losses are not logged.
#[test]
fn datagrams_that_no_machine_sends_are_said_once() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let to = socket.local_addr().expect("bound");
    let error = socket.send_to(&[0; 65_520], to).expect_err("too long");
    let flow = datagrams::Flow::dialled(Rate::default());
    assert!(is_lost(&error), "the link goes on");
    assert!(!flow.note_lost(9, &io::ErrorKind::NetworkUnreachable.into()));
    assert!(flow.note_lost(65_520, &error));
    assert!(!flow.note_lost(65_520, &error));
}
