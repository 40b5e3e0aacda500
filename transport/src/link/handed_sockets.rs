// SPDX-License-Identifier: MIT OR Apache-2.0
//! Listener whose connections are made by threads: the threads pass sockets to the accept loop and
//! wake it by a datagram.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::sync::Arc;

use socket2::{Domain, Type};
use zonda_runtime::Socket;

use crate::sync::Mutex;

/// Connected sockets on their way from the threads that made them to an accept loop.
#[derive(Debug)]
pub(crate) struct HandedSockets {
    waiting: Mutex<VecDeque<Socket>>,
    /// Socket whose datagrams wake the accept loop.
    wake: Socket,
    woken: Socket,
}

impl HandedSockets {
    /// Creates the queue, and the socket that the accept loop waits on.
    pub(super) fn new() -> io::Result<(Arc<HandedSockets>, Socket)> {
        // Datagram sockets, as the accept loop expects them.
        let (wake, woken) = Socket::pair(Domain::UNIX, Type::DGRAM, None)?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        let listener = woken.try_clone()?;
        let handed = HandedSockets {
            waiting: Mutex::default(),
            wake,
            woken,
        };
        Ok((Arc::new(handed), listener))
    }

    /// Passes a socket to the accept loop.
    pub(super) fn hand(&self, socket: Socket) {
        self.waiting.lock().push_back(socket);
        // The write fails only if datagrams are unread, and then the loop is awake.
        let _ = (&self.wake).write(&[0]);
    }

    /// Takes a socket, which has no internet address.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when there is none.
    pub(crate) fn take(&self) -> io::Result<(Socket, Option<SocketAddr>)> {
        if let Some(socket) = self.waiting.lock().pop_front() {
            return Ok((socket, None));
        }
        let mut bytes = [MaybeUninit::uninit(); 64];
        while matches!(self.woken.recv(&mut bytes), Ok(1..)) {}
        let found = self.waiting.lock().pop_front();
        let socket = found.ok_or(io::ErrorKind::WouldBlock)?;
        Ok((socket, None))
    }
}
