// SPDX-License-Identifier: MIT OR Apache-2.0
//! A listener whose connections are made by threads: they hand sockets over, and the accept loop waits on one that says so.

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
pub(crate) struct Handed {
    waiting: Mutex<VecDeque<Socket>>,
    /// A datagram in it says that there are some.
    wake: Socket,
    woken: Socket,
}

impl Handed {
    /// With the socket that the accept loop waits on.
    pub(super) fn new() -> io::Result<(Arc<Handed>, Socket)> {
        // Of datagrams, as what takes from a listener expects.
        let (wake, woken) = Socket::pair(Domain::UNIX, Type::DGRAM, None)?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        let listener = woken.try_clone()?;
        let handed = Handed {
            waiting: Mutex::default(),
            wake,
            woken,
        };
        Ok((Arc::new(handed), listener))
    }

    /// Hands a socket over.
    pub(super) fn hand(&self, socket: Socket) {
        self.waiting.lock().push_back(socket);
        // Where it is full the loop is awake.
        let _ = (&self.wake).write(&[0]);
    }

    /// Takes a socket, which has no address of the internet.
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
