// SPDX-License-Identifier: MIT OR Apache-2.0
//! A socket that tokio waits for and others use as well, by one descriptor. It is registered when somebody has to wait for
//! the first time: a connection whose bytes are there when it is accepted, and that ends with the answer, never is.

use std::io;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use ::tokio::io::Interest;
use ::tokio::io::unix::AsyncFd;
use ::tokio::runtime::Handle;
use socket2::Socket;

/// A non-blocking socket that is registered with tokio from the first wait on until this is dropped.
#[derive(Debug)]
pub(super) struct Registered {
    socket: Arc<Socket>,
    interest: Interest,
    handle: Handle,
    /// Two tasks may have to wait at the same time. An error stays: the stream is of no use then.
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

    /// Has `handle` register it when somebody waits.
    pub(super) fn new(socket: Arc<Socket>, handle: &Handle) -> io::Result<Registered> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        Ok(Registered::with(socket, interest, handle))
    }

    /// The same for one that only ever takes what comes. It is registered at once.
    pub(super) fn listening(socket: Arc<Socket>, handle: &Handle) -> io::Result<Registered> {
        let listening = Registered::with(socket, Interest::READABLE, handle);
        listening.registration()?;
        Ok(listening)
    }

    /// tokio deprecates the safe constructor because a type may lie about its descriptor; a shared `Socket` cannot, and the
    /// new constructor would bring `unsafe` into a crate that has none.
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

    /// Waits for bytes, as tokio knows of them. One task at most may wait for them: that takes less time, and less room in its
    /// future, than what tokio offers for several.
    pub(super) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration()?.poll_read_ready(context).map_ok(drop)
    }

    /// Waits for room.
    pub(super) async fn writable(&self) -> io::Result<()> {
        self.registration()?.writable().await.map(drop)
    }

    /// Calls `act` if tokio believes that the socket is ready or has not been asked yet, and has it forget that if it was
    /// not.
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
