// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gauge of the bytes of a TCP connection that its peer has not read. Linux answers for its own
//! sockets by netlink (`sock_diag(7)`), in some microseconds and without privileges: the window that
//! the peer's system has granted last, and the bytes that this system still has.

use std::{
    io::{self, Read},
    net::{IpAddr, SocketAddr},
    sync::{Mutex, OnceLock, PoisonError},
};

use socket2::{Domain, Protocol, Socket, Type};

/// `AF_NETLINK` and `NETLINK_SOCK_DIAG` of Linux.
const NETLINK: (i32, i32) = (16, 4);

/// `SOCK_DIAG_BY_FAMILY`: type of the request and of its answer.
const BY_FAMILY: u16 = 20;

/// `INET_DIAG_INFO`: attribute with the connection's `tcp_info`.
const INFO: u16 = 2;

/// Place of the number of a request in its header, and in that of its answer.
const NUMBER_AT: usize = 8;

/// Bytes of a request: the header of netlink, and `inet_diag_req_v2`.
const REQUEST_BYTES: usize = 16 + 56;

/// Bytes before the attributes of an answer: the header of netlink, and `inet_diag_msg`.
const ANSWER_BYTES: usize = 16 + 72;

/// Place of `idiag_wqueue` in an answer.
const QUEUED_AT: usize = 16 + 60;

/// Places in `tcp_info`: `tcpi_bytes_acked`, `tcpi_notsent_bytes` and, from Linux 5.4 on,
/// `tcpi_snd_wnd`.
const ACKED_AT: usize = 120;
const UNSENT_AT: usize = 144;
const WINDOW_AT: usize = 228;

/// State of a TCP connection as the sending system knows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Backlog {
    /// Bytes that the peer's system has confirmed since the connection was opened.
    pub(crate) acked: u64,
    /// Bytes that the peer's system had room for when it confirmed last.
    pub(crate) window: u32,
    /// Bytes that this system holds. Those in flight count only within the machine, where nothing
    /// but the peer delays them.
    pub(crate) held: u32,
}

/// Gauge of one connection.
#[derive(Debug)]
pub(crate) struct BacklogGauge {
    netlink: &'static Netlink,
    request: [u8; REQUEST_BYTES],
    is_same_host: bool,
}

impl BacklogGauge {
    /// Returns the gauge of a connected socket.
    ///
    /// # Errors
    /// The errors of the system; [`io::ErrorKind::Unsupported`] for a socket of another family.
    pub(crate) fn of(socket: &Socket) -> io::Result<BacklogGauge> {
        let address = |at: socket2::SockAddr| at.as_socket().ok_or(io::ErrorKind::Unsupported);
        let (local, peer) = (
            address(socket.local_addr()?)?,
            address(socket.peer_addr()?)?,
        );
        Ok(BacklogGauge {
            netlink: Netlink::of_process()?,
            request: request(local, peer),
            is_same_host: peer.ip().to_canonical().is_loopback() || peer.ip() == local.ip(),
        })
    }

    /// Returns the present state; `None` if the system does not answer, or not at once.
    pub(crate) fn read(&self) -> Option<Backlog> {
        let mut answer = [0; 1024];
        let length = self.netlink.ask(self.request, &mut answer).ok()?;
        parse(answer.get(..length)?, self.is_same_host)
    }
}

/// Socket to the system, one for all connections of the process.
#[derive(Debug)]
struct Netlink(Mutex<Asked>);

#[derive(Debug)]
struct Asked {
    socket: Socket,
    /// Number of the last request.
    number: u32,
}

impl Netlink {
    /// Returns the socket of this process; makes it if there is none yet.
    fn of_process() -> io::Result<&'static Netlink> {
        static NETLINK_SOCKET: OnceLock<Netlink> = OnceLock::new();
        if let Some(made) = NETLINK_SOCKET.get() {
            return Ok(made);
        }
        let (kind, protocol) = NETLINK;
        let protocol = Some(Protocol::from(protocol));
        let socket = Socket::new(Domain::from(kind), Type::DGRAM, protocol)?;
        socket.set_nonblocking(true)?;
        let asked = Asked { socket, number: 0 };
        Ok(NETLINK_SOCKET.get_or_init(|| Netlink(Mutex::new(asked))))
    }

    /// Sends a request, and reads its answer, which the system has made when the send returns.
    fn ask(&self, mut request: [u8; REQUEST_BYTES], answer: &mut [u8]) -> io::Result<usize> {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asked.number = asked.number.wrapping_add(1);
        let number = asked.number.to_ne_bytes();
        request[NUMBER_AT..NUMBER_AT + number.len()].copy_from_slice(&number);
        asked.socket.send(&request)?;
        loop {
            let length = (&asked.socket).read(answer)?;
            // An answer to an earlier request, whose read failed, is left out.
            if answer
                .get(NUMBER_AT..)
                .is_some_and(|rest| rest.starts_with(&number))
            {
                return Ok(length);
            }
        }
    }
}

/// Encodes a request for the one connection between these addresses.
fn request(local: SocketAddr, peer: SocketAddr) -> [u8; REQUEST_BYTES] {
    const NLM_F_REQUEST: u16 = 1;
    const IPPROTO_TCP: u8 = 6;
    let mut request = [0; REQUEST_BYTES];
    let mut put = |at: usize, bytes: &[u8]| {
        for (place, byte) in request.iter_mut().skip(at).zip(bytes) {
            *place = *byte;
        }
    };
    // A socket for both families has addresses of IPv6, also those of a connection of IPv4.
    let (from, to) = (local.ip().to_canonical(), peer.ip().to_canonical());
    let family = if from.is_ipv4() { 2 } else { 10 };
    // header of netlink
    put(0, &(REQUEST_BYTES as u32).to_ne_bytes());
    put(4, &BY_FAMILY.to_ne_bytes());
    put(6, &NLM_F_REQUEST.to_ne_bytes());
    // family, protocol, attributes, all states
    put(16, &[family, IPPROTO_TCP, 1 << (INFO - 1), 0]);
    put(20, &u32::MAX.to_ne_bytes());
    // ports, addresses, any interface, any cookie
    put(24, &local.port().to_be_bytes());
    put(26, &peer.port().to_be_bytes());
    for (at, address) in [(28, from), (44, to)] {
        match address {
            IpAddr::V4(address) => put(at, &address.octets()),
            IpAddr::V6(address) => put(at, &address.octets()),
        }
    }
    put(64, &[0xff; 8]);
    request
}

/// Decodes an answer; `None` for an error, and for a system that does not say all.
fn parse(answer: &[u8], is_same_host: bool) -> Option<Backlog> {
    if u16_at(answer, 4)? != BY_FAMILY {
        return None;
    }
    let queued = u32_at(answer, QUEUED_AT)?;
    let mut rest = answer.get(ANSWER_BYTES..)?;
    loop {
        let (length, kind) = (usize::from(u16_at(rest, 0)?), u16_at(rest, 2)?);
        if kind == INFO {
            let info = rest.get(4..length)?;
            let acked = info.get(ACKED_AT..)?.first_chunk()?;
            let unsent = u32_at(info, UNSENT_AT)?;
            return Some(Backlog {
                acked: u64::from_ne_bytes(*acked),
                window: u32_at(info, WINDOW_AT)?,
                held: if is_same_host { queued } else { unsent },
            });
        }
        rest = rest.get(length.max(4).next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let found = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*found))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let found = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*found))
}

#[cfg(test)]
mod tests;
