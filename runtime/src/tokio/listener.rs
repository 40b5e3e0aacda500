// SPDX-License-Identifier: MIT OR Apache-2.0
//! A listening socket of any family on tokio. A connection is registered only when it is adopted;
//! tokio's own listeners register each one, which here would have to be undone at once.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use ::tokio::io::Interest;
use ::tokio::runtime::Handle;
use ::tokio::task::coop::consume_budget;
use socket2::Socket;

use super::accepting::accept;
use super::registered::Registered;

/// A listening socket on tokio.
#[derive(Debug)]
pub struct TokioListener(Registered);

impl TokioListener {
    /// Registers a non-blocking socket with `handle`.
    pub(super) fn register(socket: Socket, handle: &Handle) -> io::Result<Self> {
        Registered::listening(Arc::new(socket), handle).map(TokioListener)
    }

    pub(super) async fn accept(&mut self) -> io::Result<(Socket, Option<SocketAddr>)> {
        self.take_from(accept).await
    }

    pub(super) async fn take<T>(
        &mut self,
        mut take: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        self.take_from(|_| take()).await
    }

    async fn take_from<T>(
        &mut self,
        mut take: impl FnMut(&Socket) -> io::Result<T>,
    ) -> io::Result<T> {
        // a listener that always has a pending connection must not keep this thread from its other
        // tasks
        consume_budget().await;
        loop {
            match self.0.try_io(Interest::READABLE, &mut take) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    poll_fn(|context| self.0.poll_readable(context)).await?;
                }
                result => return result,
            }
        }
    }
}
