// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two halves of a TCP stream in blocking mode.
//!
//! A read that is the only thing its task waits for is one recv(2) that blocks in the kernel, after
//! the non-blocking ones of the runtime's busy poll. A write is one sendmsg(2) that takes what it
//! can, and a second one blocks only for the bytes that the socket did not take.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::sync::Arc;

use rustix::event::PollFlags;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};
use socket2::Socket;

use super::core::{AdoptedSocket, Core};
use super::wait::{self, CallMode, Source};
use crate::{Cursor, LinkRead, LinkWrite, RxBuf, SLICES_PER_WRITE, Segments};

/// Flags that suppress the signal for a closed peer: it is reported as an error.
#[cfg(not(target_vendor = "apple"))]
const SEND: SendFlags = SendFlags::NOSIGNAL;
/// No flag here: a socket option suppresses the signal.
#[cfg(target_vendor = "apple")]
const SEND: SendFlags = SendFlags::empty();

/// Receiving half of a TCP stream of the `threads` backend.
pub struct ThreadsRead {
    core: Arc<Core>,
    socket: Arc<AdoptedSocket>,
}

/// Sending half of a TCP stream of the `threads` backend.
pub struct ThreadsWrite {
    core: Arc<Core>,
    socket: Arc<AdoptedSocket>,
}

/// Splits a stream. The socket is closed when both halves are dropped; neither half's drop alone ends a direction.
pub(super) fn split(
    core: &Arc<Core>,
    socket: Arc<Socket>,
) -> io::Result<(ThreadsRead, ThreadsWrite)> {
    socket.set_nonblocking(false)?;
    let socket = core.adopt(socket)?;
    let read = ThreadsRead {
        core: Arc::clone(core),
        socket: Arc::clone(&socket),
    };
    let core = Arc::clone(core);
    Ok((read, ThreadsWrite { core, socket }))
}

/// Undoes [`split`]. The stream is then non-blocking.
pub(super) fn join(read: ThreadsRead, write: ThreadsWrite) -> io::Result<Arc<Socket>> {
    if !Arc::ptr_eq(&read.socket, &write.socket) {
        let apart = "halves of different streams";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, apart));
    }
    read.socket.0.set_nonblocking(true)?;
    Ok(Arc::clone(&read.socket.0))
}

impl LinkRead for ThreadsRead {
    async fn read(&mut self, mut buf: RxBuf) -> (io::Result<usize>, RxBuf) {
        // a read into no room would look like the end of the stream
        let spare = buf.spare_mut();
        if spare.is_empty() {
            let full = io::Error::new(io::ErrorKind::InvalidInput, "a read into a full buffer");
            return (Err(full), buf);
        }
        let receive = |how| {
            let flags = match how {
                CallMode::AtOnce => RecvFlags::DONTWAIT,
                CallMode::Waiting => RecvFlags::empty(),
            };
            Ok(recv(&*self.socket.0, &mut *spare, flags)?.0)
        };
        let source = Source {
            socket: &self.socket.0,
            flags: PollFlags::IN,
        };
        let result = wait::call_spinning(&self.core, source, receive).await;
        if let Ok(n) = result {
            buf.advance(n);
        }
        (result, buf)
    }
}

/// Writes the rest of `segments` until the socket would block.
fn send_rest<S: Segments>(
    socket: &Socket,
    segments: &S,
    cursor: &mut Cursor,
    how: CallMode,
) -> io::Result<()> {
    let flags = match how {
        CallMode::AtOnce => SEND | SendFlags::DONTWAIT,
        CallMode::Waiting => SEND,
    };
    loop {
        let mut slices = [IoSlice::new(&[]); SLICES_PER_WRITE];
        let used = cursor.gather(segments, &mut slices);
        if used == 0 {
            return Ok(());
        }
        let mut nothing = SendAncillaryBuffer::default();
        match sendmsg(socket, &slices[..used], &mut nothing, flags)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            taken => cursor.advance(segments, taken),
        }
    }
}

impl LinkWrite for ThreadsWrite {
    async fn write_all<S: Segments>(&mut self, mut segments: S) -> (io::Result<()>, S) {
        let mut cursor = Cursor::default();
        // The closure borrows exclusively: a shared reference would require `Sync`.
        let source = Source {
            socket: &self.socket.0,
            flags: PollFlags::OUT,
        };
        let send = |how| {
            let rest = &mut segments;
            send_rest(&self.socket.0, rest, &mut cursor, how)
        };
        let result = wait::call(&self.core, source, true, send).await;
        (result, segments)
    }

    async fn writable(&mut self) -> io::Result<()> {
        wait::writable(&self.core, &self.socket.0).await
    }

    async fn shutdown(&mut self) -> io::Result<()> {
        self.socket.0.shutdown(Shutdown::Write)
    }
}
