// SPDX-License-Identifier: MIT OR Apache-2.0
//! UDP as a connection: a greeting that the listener answers from a separate socket, then datagrams
//! between the two. A datagram that does not arrive is lost.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use super::{Duplex, Wire};

/// The greeting, and the answer to it.
const HELLO: &[u8] = b"hello";
/// The time after which an unanswered greeting is repeated.
const RETRY: Duration = Duration::from_millis(200);
/// The time limit for the other side's answer.
const CONTACT: Duration = Duration::from_secs(15);
/// The size of the system's buffers, if it permits that; the same as for a node.
const ROOM: usize = 4 << 20;

/// One end of the connection.
struct Datagrams(UdpSocket);

/// Binds a shareable socket to `address`.
pub fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    socket.set_reuse_address(true)?;
    // the system may permit less
    let _ = socket.set_recv_buffer_size(ROOM);
    let _ = socket.set_send_buffer_size(ROOM);
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Returns the address of a socket.
pub fn address(socket: &Socket) -> io::Result<SocketAddr> {
    let address = socket.local_addr()?.as_socket();
    address.ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

/// Waits for a greeting, and answers it from a socket that receives this peer's datagrams from now
/// on.
pub fn accept(listener: &Socket) -> io::Result<Wire> {
    let shared: UdpSocket = listener.try_clone()?.into();
    let mut greeting = [0; 16];
    loop {
        let (n, peer) = shared.recv_from(&mut greeting)?;
        if greeting.get(..n) == Some(HELLO) {
            let own: UdpSocket = bind(address(listener)?)?.into();
            own.connect(peer)?;
            own.send(HELLO)?;
            return Ok(Box::new(Datagrams(own)));
        }
    }
}

/// Sends greetings until one is answered.
pub fn connect(to: SocketAddr) -> io::Result<Wire> {
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => ([0; 4], 0).into(),
        SocketAddr::V6(_) => ([0; 16], 0).into(),
    };
    let socket: UdpSocket = bind(any)?.into();
    socket.connect(to)?;
    socket.set_read_timeout(Some(RETRY))?;
    let (start, mut answer) = (Instant::now(), [0; 16]);
    loop {
        let answered = socket.send(HELLO).and_then(|_| socket.recv(&mut answer));
        match answered {
            Ok(_) => break,
            Err(e) if start.elapsed() > CONTACT => return Err(e),
            Err(_) => {}
        }
    }
    socket.set_read_timeout(None)?;
    Ok(Box::new(Datagrams(socket)))
}

impl Read for Datagrams {
    /// Reads one datagram.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.0.recv(buffer)?;
            // skip a repeated greeting
            if buffer.get(..n) != Some(HELLO) {
                return Ok(n);
            }
        }
    }
}

impl Write for Datagrams {
    /// Writes one datagram.
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.send(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Duplex for Datagrams {
    fn writer(&self) -> io::Result<Wire> {
        Ok(Box::new(Datagrams(self.0.try_clone()?)))
    }
}
