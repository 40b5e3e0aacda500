// SPDX-License-Identifier: MIT OR Apache-2.0
//! A socket that is registered with tokio and used outside of it as well, by one descriptor. The
//! registration is made at the first wait: a connection whose bytes are there when it is accepted,
//! and that ends with the answer, is never registered.

use std::io;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use ::tokio::io::Interest;
use ::tokio::io::unix::AsyncFd;
use ::tokio::runtime::Handle;
use socket2::Socket;

/// A non-blocking socket that is registered with tokio from its first wait until this value is
/// dropped.
#[derive(Debug)]
pub(super) struct Registered {
    socket: Arc<Socket>,
    interest: Interest,
    handle: Handle,
    /// The registration, which two tasks may need at the same time. An error is kept: the stream is
    /// then unusable.
    registration: OnceLock<io::Result<AsyncFd<Arc<Socket>>>>,
}

impl Registered {
    fn with(socket: Arc<Socket>, interest: Interest, handle: &Handle) -> Registered {
        Registered {
            socket,
            interest,
            handle: handle.clone(),
            registration: OnceLock::new(),
        }
    }

    /// Wraps a socket that is registered with `handle` at its first wait.
    pub(super) fn new(socket: Arc<Socket>, handle: &Handle) -> io::Result<Registered> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        Ok(Registered::with(socket, interest, handle))
    }

    /// Wraps a socket that is only read or accepted from, and registers it at once.
    pub(super) fn listening(socket: Arc<Socket>, handle: &Handle) -> io::Result<Registered> {
        let listening = Registered::with(socket, Interest::READABLE, handle);
        listening.registration()?;
        Ok(listening)
    }

    /// Registers the socket. tokio deprecates the safe constructor because a type may misreport its
    /// descriptor; a shared `Socket` cannot, and the new constructor would bring `unsafe` into a
    /// crate that has none.
    #[allow(deprecated)]
    fn register(&self) -> io::Result<AsyncFd<Arc<Socket>>> {
        let _context = self.handle.enter();
        AsyncFd::with_interest(Arc::clone(&self.socket), self.interest)
    }

    fn registration(&self) -> io::Result<&AsyncFd<Arc<Socket>>> {
        let registration = self.registration.get_or_init(|| self.register());
        registration
            .as_ref()
            .map_err(|error| match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(error.kind(), error.to_string()),
            })
    }

    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Waits for readability as tokio knows it. At most one task may wait for it: that takes less
    /// time, and less room in the task's future, than tokio's calls for several.
    pub(super) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration()?.poll_read_ready(context).map_ok(drop)
    }

    /// Waits for writability.
    pub(super) async fn writable(&self) -> io::Result<()> {
        self.registration()?.writable().await.map(drop)
    }

    /// Calls `act` if tokio believes that the socket is ready or it is not registered yet, and
    /// clears tokio's readiness if the socket was not ready.
    pub(super) fn try_io<T>(
        &self,
        interest: Interest,
        act: impl FnOnce(&Socket) -> io::Result<T>,
    ) -> io::Result<T> {
        match self.registration.get() {
            Some(Ok(registration)) => registration.try_io(interest, |socket| act(socket)),
            _ => act(&self.socket),
        }
    }

    pub(super) fn into_inner(self) -> Arc<Socket> {
        drop(self.registration);
        self.socket
    }
}
