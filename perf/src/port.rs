// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ports for programs that cannot choose one themselves, and whether somebody listens on one.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// A TCP port of the loopback address that nobody uses at the moment.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

/// True if a program listens on `port`. Nothing is connected to, so no program takes notice.
pub fn is_listening(port: u16) -> bool {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    if tables.iter().all(Result::is_err) {
        // no such tables on this system: a port that cannot be bound is taken
        return TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err();
    }
    tables
        .iter()
        .flatten()
        .any(|table| has_listener(table, port))
}

/// Looks through a table of sockets: the second column is address:port, the fourth the state.
fn has_listener(table: &str, port: u16) -> bool {
    const LISTEN: &str = "0A";
    table.lines().skip(1).any(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let local = columns.next().and_then(|a| a.rsplit_once(':'));
        let state = columns.nth(1);
        state == Some(LISTEN) && local.is_some_and(|(_, p)| u16::from_str_radix(p, 16) == Ok(port))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_are_seen() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
        let port = listener.local_addr().expect("address").port();
        assert!(is_listening(port));
        drop(listener);
        assert!(!is_listening(port));
    }

    #[test]
    fn connections_are_not_listeners() {
        let table = "  sl  local_address rem_address   st\n\
                     0: 0100007F:1D17 00000000:0000 0A 0\n\
                     1: 0100007F:1D18 0100007F:1D17 01 0\n";
        assert!(has_listener(table, 7447));
        assert!(!has_listener(table, 7448));
        assert!(!has_listener("", 7447));
    }
}
