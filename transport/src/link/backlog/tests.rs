// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gauge of real connections.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use super::*;

/// Returns the two ends of a connection to this address of the machine.
fn connection(address: &str) -> Option<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind(address).ok()?;
    let port = listener.local_addr().expect("bound").port();
    let to = match address {
        "[::]:0" => SocketAddr::from(([127, 0, 0, 1], port)),
        _ => listener.local_addr().expect("bound"),
    };
    let near = TcpStream::connect(to).expect("it listens");
    Some((near, listener.accept().expect("it was opened").0))
}

/// Bytes that the peer leaves unread make its window smaller, also on a socket of both families.
#[test]
fn unread_bytes_take_the_window() {
    const BYTES: usize = 100_000;
    for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
        let Some((mut peer, near)) = connection(address) else {
            continue; // no IPv6 here
        };
        let near = Socket::from(near);
        let gauge = BacklogGauge::of(&near).expect("Linux has it");
        // the first bytes make the peer's system grant a window
        (&near).write_all(&[0]).expect("there is room");
        peer.read_exact(&mut [0]).expect("it was sent");
        let before = gauge.read().expect("the system answers");
        (&near).write_all(&[0; BYTES]).expect("there is room");
        let wanted = before.acked + BYTES as u64;
        let after = loop {
            let found = gauge.read().expect("the system answers");
            if found.acked + u64::from(found.held) >= wanted {
                break found;
            }
            std::thread::yield_now();
        };
        let unread = before.window.saturating_sub(after.window) + after.held;
        assert!(unread > 30_000, "{address}: {before:?}, {after:?}");
    }
}

#[test]
fn a_socket_of_another_kind_has_no_gauge() {
    let (near, _far) = Socket::pair(Domain::UNIX, Type::STREAM, None).expect("a pair");
    let error = BacklogGauge::of(&near).expect_err("no TCP");
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
}

#[test]
fn a_connection_that_has_ended_is_not_found() {
    let (peer, near) = connection("127.0.0.1:0").expect("loopback");
    let gauge = BacklogGauge::of(&Socket::from(near)).expect("Linux has it");
    // the gauge has the addresses alone: the socket is closed by now
    drop(peer);
    let found = gauge.read();
    assert!(found.is_none_or(|found| found.held == 0), "{found:?}");
}

/// A cut or damaged answer is none.
#[test]
fn a_short_answer_is_none() {
    let (_peer, near) = connection("127.0.0.1:0").expect("loopback");
    let gauge = BacklogGauge::of(&Socket::from(near.try_clone().expect("a descriptor")));
    let gauge = gauge.expect("Linux has it");
    let mut answer = [0; 1024];
    let asked = gauge.netlink.ask(gauge.request, &mut answer);
    let length = asked.expect("an answer");
    let whole = parse(&answer[..length], true).expect("it is whole");
    assert!(whole.window > 0);
    for cut in 0..ANSWER_BYTES + WINDOW_AT {
        assert_eq!(parse(&answer[..cut], true), None, "after {cut} bytes");
    }
    answer[4..6].copy_from_slice(&2_u16.to_ne_bytes());
    assert_eq!(parse(&answer[..length], true), None, "an error");
}
