// SPDX-License-Identifier: MIT OR Apache-2.0
//! Free ports for programs that cannot choose one themselves, and a check for listeners.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::path::Path;

use super::link::Link;

/// The state codes in the socket tables: a listener, and a bound datagram socket.
const LISTEN: &str = "0A";
const BOUND: &str = "07";

/// Returns a port of the loopback address that is free for both TCP and UDP.
pub fn free_port() -> io::Result<u16> {
    loop {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        if UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
}

/// Returns true if a program listens on this endpoint. The check opens no connection, so the
/// program does not notice it.
pub fn is_listening(link: Link, endpoint: &str) -> bool {
    let place = endpoint
        .split_once('/')
        .map_or(endpoint, |(_, place)| place);
    match place.rsplit_once(':').map(|(_, port)| port.parse()) {
        Some(Ok(port)) => is_port_taken(link.is_datagrams(), port),
        _ => Path::new(place).exists(),
    }
}

fn is_port_taken(is_udp: bool, port: u16) -> bool {
    let (files, state) = match is_udp {
        true => (["/proc/net/udp", "/proc/net/udp6"], BOUND),
        false => (["/proc/net/tcp", "/proc/net/tcp6"], LISTEN),
    };
    let tables = files.map(fs::read_to_string);
    if tables.iter().all(Result::is_err) {
        // no such tables on this system: a port that cannot be bound is taken
        return match is_udp {
            true => UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_err(),
            false => TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err(),
        };
    }
    let mut tables = tables.iter().flatten();
    tables.any(|table| has_listener(table, state, port))
}

/// Returns true if a table of sockets has this listener: the second column is address:port, the
/// fourth the state.
fn has_listener(table: &str, wanted: &str, port: u16) -> bool {
    table.lines().skip(1).any(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let local = columns.next().and_then(|a| a.rsplit_once(':'));
        let state = columns.nth(1);
        state == Some(wanted) && local.is_some_and(|(_, p)| u16::from_str_radix(p, 16) == Ok(port))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_are_seen() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
        let tcp = format!("tcp/{}", listener.local_addr().expect("address"));
        let udp = format!("udp/{}", socket.local_addr().expect("address"));
        assert!(is_listening(Link::Tcp, &tcp) && is_listening(Link::Udp, &udp));
        drop((listener, socket));
        assert!(!is_listening(Link::Tcp, &tcp) && !is_listening(Link::Udp, &udp));
    }

    #[test]
    fn connections_are_not_listeners() {
        let table = "  sl  local_address rem_address   st\n\
                     0: 0100007F:1D17 00000000:0000 0A 0\n\
                     1: 0100007F:1D18 0100007F:1D17 01 0\n";
        assert!(has_listener(table, LISTEN, 7447));
        assert!(!has_listener(table, LISTEN, 7448));
        assert!(!has_listener("", LISTEN, 7447));
    }
}
