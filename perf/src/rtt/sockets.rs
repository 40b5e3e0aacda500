// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets of both sides, the same for every backend: without Nagle's delay, with the requested
//! congestion control. User errors are reported in one line.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use zonda_program::Failure;

use super::plan::{AnsweringSocket, AskingSocket};
use crate::scenario::raw::Transport;

/// The time limit of a connection attempt.
const CONNECT: Duration = Duration::from_secs(5);
/// The listener's backlog.
const BACKLOG: i32 = 1024;

/// Resolves an address of the command line.
pub fn resolve(text: &str) -> Result<SocketAddr, Failure> {
    let wrong = |why: String| {
        Failure::Usage(format!(
            "--address {text}: {why}; give IP:PORT or NAME:PORT, such as 127.0.0.1:7461"
        ))
    };
    let mut found = text.to_socket_addrs().map_err(|e| wrong(e.to_string()))?;
    found.next().ok_or_else(|| wrong("no such host".into()))
}

/// Opens the asking side's socket.
pub fn connect(
    transport: Transport,
    address: SocketAddr,
    congestion: Option<&str>,
) -> Result<AskingSocket, Failure> {
    let failed = |e: io::Error| {
        Failure::Run(format!(
            "cannot connect to {transport} {address}: {e}; start the other side first: \
             zonda perf rtt --mode pong --protocol {transport} --address {address}"
        ))
    };
    // TCP
    if transport == Transport::Tcp {
        let socket = stream(address, congestion)?;
        let connected = socket.connect_timeout(&SockAddr::from(address), CONNECT);
        connected.map_err(failed)?;
        return Ok(AskingSocket::Tcp(socket.into()));
    }
    // UDP
    let any = match address {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    let socket = UdpSocket::bind(any).map_err(failed)?;
    socket.connect(address).map_err(failed)?;
    Ok(AskingSocket::Udp(socket))
}

/// Opens the answering side's socket, and returns its address.
pub fn open(
    transport: Transport,
    address: SocketAddr,
    congestion: Option<&str>,
) -> Result<(AnsweringSocket, SocketAddr), Failure> {
    let failed = |e: io::Error| {
        Failure::Run(format!(
            "cannot listen on {transport} {address}: {e}; try another port, or 0 for any free one"
        ))
    };
    if transport == Transport::Tcp {
        let socket = stream(address, congestion)?;
        // on Unix only: on other systems two programs could share the port
        socket.set_reuse_address(cfg!(unix))?;
        let bound = socket.bind(&SockAddr::from(address));
        bound
            .and_then(|()| socket.listen(BACKLOG))
            .map_err(failed)?;
        let listener: std::net::TcpListener = socket.into();
        let bound = listener.local_addr()?;
        return Ok((AnsweringSocket::Tcp(listener), bound));
    }
    let socket = UdpSocket::bind(address).map_err(failed)?;
    let bound = socket.local_addr()?;
    Ok((AnsweringSocket::Udp(socket), bound))
}

fn stream(address: SocketAddr, congestion: Option<&str>) -> Result<Socket, Failure> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_tcp_nodelay(true)?;
    if let Some(name) = congestion {
        set_congestion(&socket, name).map_err(|e| {
            Failure::Run(format!(
                "--congestion {name}: {e}; net.ipv4.tcp_available_congestion_control lists what \
                 there is"
            ))
        })?;
    }
    Ok(socket)
}

#[cfg(target_os = "linux")]
fn set_congestion(socket: &Socket, name: &str) -> io::Result<()> {
    socket.set_tcp_congestion(name.as_bytes())
}

#[cfg(not(target_os = "linux"))]
fn set_congestion(_: &Socket, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_numbers_or_names_with_a_port() {
        assert_eq!(
            resolve("127.0.0.1:80").ok(),
            Some(SocketAddr::from(([127, 0, 0, 1], 80)))
        );
        for wrong in ["127.0.0.1", "", "127.0.0.1:99999"] {
            let Err(Failure::Usage(text)) = resolve(wrong) else {
                panic!("{wrong} was understood");
            };
            assert!(text.contains("IP:PORT"), "{text}");
        }
    }
}
