// SPDX-License-Identifier: MIT OR Apache-2.0
//! A listening socket on systems where tokio registers only its own socket types.

use std::io;
use std::net::SocketAddr;

use ::tokio::io::Interest;
use ::tokio::net::{TcpListener, UdpSocket};
use ::tokio::runtime::Handle;
use socket2::{SockRef, Socket, Type};

/// A listening socket on tokio.
#[derive(Debug)]
pub enum TokioListener {
    /// A TCP listener of an internet family.
    Internet(TcpListener),
    /// A datagram socket, or a listener of a family that tokio does not know.
    Other(UdpSocket),
}

impl TokioListener {
    /// Registers a non-blocking socket with `handle`.
    pub(super) fn register(socket: Socket, handle: &Handle) -> io::Result<Self> {
        let _context = handle.enter();
        if socket.r#type()? == Type::DGRAM {
            return UdpSocket::from_std(socket.into()).map(TokioListener::Other);
        }
        let address = socket.local_addr()?;
        if address.as_socket().is_none() {
            return UdpSocket::from_std(socket.into()).map(TokioListener::Other);
        }
        TcpListener::from_std(socket.into()).map(TokioListener::Internet)
    }

    pub(super) async fn accept(&mut self) -> io::Result<(Socket, Option<SocketAddr>)> {
        match self {
            TokioListener::Internet(listener) => {
                let (stream, from) = listener.accept().await?;
                Ok((stream.into_std()?.into(), Some(from)))
            }
            TokioListener::Other(socket) => {
                let listener = SockRef::from(&*socket);
                let accepted = socket.async_io(Interest::READABLE, || listener.accept());
                let (stream, _) = accepted.await?;
                stream.set_nonblocking(true)?;
                Ok((stream, None))
            }
        }
    }

    pub(super) async fn take<T>(&mut self, take: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        match self {
            TokioListener::Other(socket) => socket.async_io(Interest::READABLE, take).await,
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}
