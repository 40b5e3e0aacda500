// SPDX-License-Identifier: MIT OR Apache-2.0
//! A socket that tokio waits for and others use as well, by one descriptor.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::tokio::io::Interest;
use ::tokio::io::unix::AsyncFd;
use socket2::Socket;

/// A non-blocking socket that is registered with tokio until this is dropped.
#[derive(Debug)]
pub(super) struct Registered(AsyncFd<Arc<Socket>>);

impl Registered {
    /// Registers it with the current runtime.
    ///
    /// tokio deprecates the safe constructor because a type may lie about its descriptor; a shared `Socket` cannot, and the
    /// new constructor would bring `unsafe` into a crate that has none.
    #[allow(deprecated)]
    fn with(socket: Arc<Socket>, interest: Interest) -> io::Result<Registered> {
        AsyncFd::with_interest(socket, interest).map(Registered)
    }

    /// Registers it with the current runtime.
    pub(super) fn new(socket: Arc<Socket>) -> io::Result<Registered> {
        Registered::with(socket, Interest::READABLE | Interest::WRITABLE)
    }

    /// The same for one that only ever takes what comes.
    pub(super) fn listening(socket: Arc<Socket>) -> io::Result<Registered> {
        Registered::with(socket, Interest::READABLE)
    }

    pub(super) fn socket(&self) -> &Socket {
        self.0.get_ref()
    }

    /// Waits for bytes, as tokio knows of them. What it gives is of no use.
    pub(super) fn readable(&self) -> impl Future<Output = io::Result<impl Sized>> {
        self.0.readable()
    }

    /// The same where one task at most waits for them, which takes less room in its future.
    pub(super) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_read_ready(context).map_ok(drop)
    }

    /// The same for room.
    pub(super) fn writable(&self) -> impl Future<Output = io::Result<impl Sized>> {
        self.0.writable()
    }

    /// Calls `act` if tokio believes that the socket is ready, and has it forget that if it was not.
    pub(super) fn try_io<T>(
        &self,
        interest: Interest,
        act: impl FnOnce(&Socket) -> io::Result<T>,
    ) -> io::Result<T> {
        self.0.try_io(interest, |socket| act(socket))
    }

    pub(super) fn into_inner(self) -> Arc<Socket> {
        self.0.into_inner()
    }
}
