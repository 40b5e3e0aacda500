// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options and addresses of links.

use std::io;

use zonda_codec::Endpoint;

use super::{EndpointProblem, HostPort, IoFailure, Protocol, SocketOptions};

fn endpoint(text: &str) -> Endpoint {
    text.parse().expect("an endpoint")
}

#[test]
fn hosts_and_ports() {
    for (address, host, port) in [
        ("127.0.0.1:7447", "127.0.0.1", 7447),
        ("[::]:0", "::", 0),
        ("[fe80::1%eth0]:65535", "fe80::1%eth0", 65_535),
        ("router.example:1", "router.example", 1),
    ] {
        let found = HostPort::of(&endpoint(&format!("tcp/{address}"))).expect("an address");
        assert_eq!((found.host.as_str(), found.port), (host, port));
        assert_eq!(found.to_string(), address);
        let literal = found.socket_address().map(|address| address.to_string());
        assert_eq!(
            literal.is_some(),
            address.parse::<std::net::SocketAddr>().is_ok() && host != "fe80::1%eth0"
        );
    }
}

#[test]
fn addresses_that_are_none() {
    for (address, what) in [
        ("localhost", "has no port"),
        ("::1:7447", "is an IPv6 address without brackets"),
        ("[::1:7447", "has no \"]\" before its port"),
        (":7447", "has no host"),
        ("[]:7447", "has no host"),
        ("localhost:", "has a port outside 0..=65535"),
        ("localhost:65536", "has a port outside 0..=65535"),
        ("localhost:+1", "has a port outside 0..=65535"),
        ("localhost:http", "has a port outside 0..=65535"),
    ] {
        let problem = HostPort::of(&endpoint(&format!("tcp/{address}"))).expect_err(address);
        assert_eq!(
            problem,
            EndpointProblem::Address {
                address: address.into(),
                what
            }
        );
    }
    let text = HostPort::of(&endpoint("tcp/here"))
        .expect_err("no port")
        .to_string();
    let expected =
        "address \"here\" has no port; write HOST:PORT, such as 127.0.0.1:7447 or [::1]:7447";
    assert_eq!(text, expected);
}

#[test]
fn protocols() {
    assert_eq!(Protocol::of(&endpoint("tcp/a:1")), Ok(Protocol::Tcp));
    let problem = Protocol::of(&endpoint("pigeon/roof")).expect_err("not there");
    let all: Vec<_> = Protocol::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(
        problem.to_string(),
        format!(
            "protocol \"pigeon\" is not supported; use one of: {}",
            all.join(", ")
        )
    );
}

#[test]
fn options() {
    let none = SocketOptions::of(&endpoint("tcp/a:1#retry_period_init_ms=5")).expect("valid");
    assert_eq!(none, SocketOptions::default());
    let all = "tcp/a:1#bind=10.0.0.1:9;dscp=0x48|3;iface=eth0;so_rcvbuf=0;so_sndbuf=2147483647";
    let all = SocketOptions::of(&endpoint(all)).expect("valid");
    assert_eq!(all.send_buffer_bytes, Some(2_147_483_647));
    assert_eq!(all.receive_buffer_bytes, Some(0));
    assert_eq!(all.traffic_class, Some(0x4b));
    assert_eq!(all.bind, Some(([10, 0, 0, 1], 9).into()));
    assert_eq!(all.interface.as_deref(), Some("eth0"));
    for (bind, expected) in [
        ("10.0.0.1", "10.0.0.1:0"),
        ("::1", "[::1]:0"),
        ("[::1]", "[::1]:0"),
    ] {
        let options = SocketOptions::of(&endpoint(&format!("tcp/a:1#bind={bind}"))).expect("valid");
        assert_eq!(
            options.bind.map(|at| at.to_string()).as_deref(),
            Some(expected)
        );
    }
    for wrong in [
        "so_sndbuf=-1",
        "so_rcvbuf=2147483648",
        "so_sndbuf=x",
        "bind=here",
        "iface=",
        "dscp=256",
        "dscp=0x",
        "dscp=ef",
        "iface=a-name-too-long-for-it",
    ] {
        let error = SocketOptions::of(&endpoint(&format!("tcp/a:1#{wrong}"))).expect_err(wrong);
        assert!(
            error
                .to_string()
                .starts_with(&format!("option {wrong} is invalid; write ")),
            "{error}"
        );
    }
}

#[test]
fn failures_read_as_clauses() {
    let refused = IoFailure::from(io::Error::from_raw_os_error(111));
    assert_eq!(
        (refused.kind(), refused.to_string().as_str()),
        (io::ErrorKind::ConnectionRefused, "connection refused")
    );
    assert_eq!(
        IoFailure::from(io::Error::other("Über")).to_string(),
        "Über"
    );
    assert_eq!(IoFailure::from(io::Error::other("")).to_string(), "");
}

#[test]
fn what_an_endpoint_says_of_its_buffers_wins() {
    let endpoint: zonda_codec::Endpoint = "tcp/127.0.0.1:1#so_sndbuf=3".parse().expect("valid");
    let options = super::SocketOptions::of(&endpoint).expect("valid");
    let options = options.or(super::SocketBuffers {
        send_bytes: Some(1),
        receive_bytes: Some(2),
    });
    assert_eq!(options.send_buffer_bytes, Some(3));
    assert_eq!(options.receive_buffer_bytes, Some(2));
}

/// Socket that takes so many bytes.
#[cfg(all(target_os = "linux", any(feature = "tls", feature = "ws")))]
#[derive(Default)]
pub(in crate::link) struct Narrow {
    pub(in crate::link) taken: Vec<u8>,
    pub(in crate::link) room: usize,
}

#[cfg(all(target_os = "linux", any(feature = "tls", feature = "ws")))]
impl std::io::Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = bytes.len().min(self.room);
        if count == 0 {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        self.room -= count;
        self.taken.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
