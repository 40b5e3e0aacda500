// SPDX-License-Identifier: MIT OR Apache-2.0
//! A socket with a second handle for tokio, on systems where tokio registers only its own socket
//! types.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::tokio::io::Interest;
use ::tokio::net::TcpStream;
use ::tokio::runtime::Handle;
use socket2::Socket;

/// A non-blocking socket that is registered with tokio until this value is dropped.
#[derive(Debug)]
pub(super) struct Registered {
    socket: Arc<Socket>,
    stream: TcpStream,
}

impl Registered {
    /// Registers the socket with `handle`.
    pub(super) fn new(socket: Arc<Socket>, handle: &Handle) -> io::Result<Registered> {
        let _context = handle.enter();
        let stream = TcpStream::from_std(socket.try_clone()?.into())?;
        Ok(Registered { socket, stream })
    }

    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Waits for readability as tokio knows it. At most one task may wait for it.
    pub(super) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_read_ready(context)
    }

    /// Waits for writability.
    pub(super) fn writable(&self) -> impl Future<Output = io::Result<()>> {
        self.stream.writable()
    }

    /// Calls `act` if tokio believes that the socket is ready, and clears tokio's readiness if it
    /// was not.
    pub(super) fn try_io<T>(
        &self,
        interest: Interest,
        act: impl FnOnce(&Socket) -> io::Result<T>,
    ) -> io::Result<T> {
        self.stream.try_io(interest, || act(&self.socket))
    }

    pub(super) fn into_inner(self) -> Arc<Socket> {
        self.socket
    }
}
