// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick without an answering program: echo requests, which the other side's kernel
//! answers. The requests use a socket for ICMP datagrams where the system grants one, else a raw
//! socket, which requires more privileges.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use zonda_program::Failure;

use super::native::LOOK;

/// The size of type, code, checksum, identifier and number.
const HEADER: usize = 8;
const REQUEST: u8 = 8;
const REPLY: u8 = 0;
/// The longest IP header, which a raw socket includes.
const IP_HEADER_MAX: usize = 60;

/// A socket for echo requests to one address.
#[derive(Debug)]
pub struct Echo {
    socket: Socket,
    is_raw: bool,
    id: u16,
}

impl Echo {
    /// Opens a socket for echo requests; the error contains advice.
    pub fn open(address: SocketAddr) -> Result<Self, Failure> {
        if !address.is_ipv4() {
            let text = format!("--protocol icmp --address {address}: only IPv4 addresses");
            return Err(Failure::Usage(text));
        }
        let new = |kind| Socket::new(Domain::IPV4, kind, Some(Protocol::ICMPV4));
        let (socket, is_raw) = match new(Type::DGRAM) {
            Ok(socket) => (socket, false),
            Err(_) => (new(Type::RAW).map_err(refusal)?, true),
        };
        socket.connect(&SockAddr::from(SocketAddr::new(address.ip(), 0)))?;
        socket.set_read_timeout(Some(LOOK.max(Duration::from_millis(1))))?;
        Ok(Echo {
            socket,
            is_raw,
            id: std::process::id() as u16,
        })
    }

    /// Sends `message` in a request.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        (&self.socket).write_all(&request(self.id, message))
    }

    /// Receives one packet; fails with [`io::ErrorKind::Interrupted`] if it is not an answer to
    /// this socket.
    pub fn receive(&self, message: &mut [u8]) -> io::Result<usize> {
        let mut packet = vec![0; IP_HEADER_MAX + HEADER + message.len()];
        let length = (&self.socket).read(&mut packet)?;
        let packet = packet.get(..length).unwrap_or_default();
        let packet = match self.is_raw {
            true => without_ip(packet),
            false => packet,
        };
        let id = self.is_raw.then_some(self.id);
        let answer = reply(packet, id).ok_or(io::ErrorKind::Interrupted)?;
        let length = answer.len().min(message.len());
        message[..length].copy_from_slice(&answer[..length]);
        Ok(length)
    }
}

fn refusal(error: io::Error) -> Failure {
    Failure::Run(format!(
        "--protocol icmp: the system refuses a socket for it: {error}; allow this group in \
         net.ipv4.ping_group_range, or run with CAP_NET_RAW"
    ))
}

fn request(id: u16, message: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; HEADER];
    packet[0] = REQUEST;
    packet[4..6].copy_from_slice(&id.to_be_bytes());
    packet.extend_from_slice(message);
    let sum = checksum(&packet);
    packet[2..4].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// Returns the message in a reply; `None` for any other packet, and for one with another id if `id`
/// is given.
fn reply(packet: &[u8], id: Option<u16>) -> Option<&[u8]> {
    let (header, message) = packet.split_at_checked(HEADER)?;
    let of = u16::from_be_bytes([*header.get(4)?, *header.get(5)?]);
    (header.first() == Some(&REPLY) && id.is_none_or(|id| id == of)).then_some(message)
}

/// Returns the content of an IP packet, whose header contains its own length in words of four
/// bytes.
fn without_ip(packet: &[u8]) -> &[u8] {
    let words = packet.first().map_or(0, |first| first & 0x0f);
    packet.get(usize::from(words) * 4..).unwrap_or_default()
}

/// Computes the internet checksum: the complement of the sum of all words, with carries added
/// again.
fn checksum(packet: &[u8]) -> u16 {
    let words = packet.chunks(2).map(|pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        u32::from(u16::from_be_bytes([pair[0], low]))
    });
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_sums_to_nothing() {
        for message in [&b"12345678"[..], b"odd", b""] {
            assert_eq!(checksum(&request(0x1234, message)), 0);
        }
    }

    #[test]
    fn replies_are_told_from_requests_and_others_answers() {
        let mut packet = request(7, b"12345678");
        assert_eq!(reply(&packet, None), None);
        packet[0] = REPLY;
        assert_eq!(reply(&packet, Some(7)), Some(&b"12345678"[..]));
        assert_eq!(reply(&packet, None), Some(&b"12345678"[..]));
        assert_eq!(reply(&packet, Some(8)), None);
        assert_eq!(reply(&packet[..5], None), None);
    }

    #[test]
    fn the_header_of_ip_is_skipped() {
        let mut packet = vec![0x45; 20];
        packet.extend_from_slice(b"rest");
        assert_eq!(without_ip(&packet), b"rest");
        assert_eq!(without_ip(&[0x4f, 0]), b"");
        assert_eq!(without_ip(&[]), b"");
    }
}
