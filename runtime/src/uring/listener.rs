// SPDX-License-Identifier: MIT OR Apache-2.0
//! Acceptance of connections: the ring waits for readability, then an ordinary call accepts. A
//! cancelled accept operation could lose a connection; a cancelled wait cannot.

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;

use compio::driver::op::{Interest, PollOnce};
use socket2::Socket;

use super::operation::Operation;
use super::shard::Shard;

/// A listening socket of an io_uring runtime.
pub struct UringListener {
    socket: Arc<Socket>,
    home: Arc<Shard>,
}

impl UringListener {
    pub(super) fn new(listener: Socket, home: Arc<Shard>) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(UringListener {
            socket: Arc::new(listener),
            home,
        })
    }

    pub(super) async fn accept(&mut self) -> io::Result<(Socket, Option<SocketAddr>)> {
        let socket = Arc::clone(&self.socket);
        let (stream, from) = self.take(|| socket.accept()).await?;
        Ok((stream, from.as_socket()))
    }

    /// Calls `take` until it returns something other than `WouldBlock`.
    pub(super) async fn take<T>(
        &mut self,
        mut take: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match take() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let wait = PollOnce::new(Arc::clone(&self.socket), Interest::Readable);
                    Operation::new(&self.home, wait).await.0?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

impl Drop for UringListener {
    fn drop(&mut self) {
        // A cancelled wait holds the socket until the kernel has confirmed the cancellation. The
        // shutdown refuses connections until then, and lets another socket listen on the port at
        // once.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
