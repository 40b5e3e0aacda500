// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two halves of a TCP stream on io_uring: the kernel fills and empties the owned buffers
//! directly.
//!
//! An adopted socket is in blocking mode: an operation on a non-blocking socket would end at once
//! with `WouldBlock` instead of waiting in the kernel. No call ever blocks on it: the ring does the
//! waiting, and a sender that writes past the ring passes `MSG_DONTWAIT` with each call.

use std::io::{self, IoSlice};
use std::mem;
use std::net::Shutdown;
use std::sync::Arc;

use compio::buf::{IntoInner, IoBuf, IoVectoredBuf};
use compio::driver::op::{Interest, PollOnce, Recv, SendVectored};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv};
use socket2::Socket;

use super::operation::Operation;
use super::shard::Shard;
use super::worker;
use crate::sending;
use crate::{Cursor, LinkRead, LinkWrite, RxBuf, SLICES_PER_WRITE, Segments};

/// Receiving half of a TCP stream on io_uring.
pub struct UringRead {
    socket: Arc<Socket>,
    home: Arc<Shard>,
    /// True before the first read. The first bytes of a connection have often arrived when it is
    /// accepted, and reading them at once then costs less than a wait in the ring.
    is_new: bool,
}

/// Sending half of a TCP stream on io_uring.
pub struct UringWrite {
    socket: Arc<Socket>,
    home: Arc<Shard>,
}

/// Splits a stream. `home` runs the operations of halves that are used on foreign threads.
pub(super) fn split(socket: Arc<Socket>, home: &Arc<Shard>) -> io::Result<(UringRead, UringWrite)> {
    socket.set_nonblocking(false)?;
    let read = UringRead {
        socket: Arc::clone(&socket),
        home: Arc::clone(home),
        is_new: true,
    };
    let home = Arc::clone(home);
    Ok((read, UringWrite { socket, home }))
}

/// Undoes [`split`].
pub(super) fn join(read: UringRead, write: UringWrite) -> io::Result<Arc<Socket>> {
    if !Arc::ptr_eq(&read.socket, &write.socket) {
        let text = "halves of different streams";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    read.socket.set_nonblocking(true)?;
    Ok(read.socket)
}

fn is_interrupted<T>(result: &io::Result<T>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::Interrupted)
}

/// Reads without waiting; `None` if there are no bytes.
fn receive_now(socket: &Socket, buf: &mut RxBuf) -> Option<io::Result<usize>> {
    let spare: &mut [u8] = buf.spare_mut();
    if <[u8]>::is_empty(spare) {
        return None;
    }
    match recv(socket, spare, RecvFlags::DONTWAIT) {
        Ok((received, _)) => {
            buf.advance(received);
            Some(Ok(received))
        }
        Err(Errno::AGAIN | Errno::INTR) => None,
        Err(error) => Some(Err(error.into())),
    }
}

impl LinkRead for UringRead {
    async fn read(&mut self, mut buf: RxBuf) -> (io::Result<usize>, RxBuf) {
        // the first read tries without the ring
        if mem::take(&mut self.is_new)
            && let Some(result) = receive_now(&self.socket, &mut buf)
        {
            return (result, buf);
        }
        // lend the spare part to the ring until bytes arrive
        let (mut block, spare) = buf.into_parts();
        if spare.is_empty() {
            let full = io::Error::new(io::ErrorKind::InvalidInput, "a read into a full buffer");
            return (Err(full), RxBuf::from_parts(block, spare));
        }
        loop {
            let part = IoBuf::slice(block, spare.clone());
            let op = Recv::new(Arc::clone(&self.socket), part, RecvFlags::empty());
            let (result, op) = Operation::new(&self.home, op).await;
            let Some(op) = op else {
                return (result.and(Err(worker::shut_down())), RxBuf::default());
            };
            block = op.into_inner().into_inner();
            if is_interrupted(&result) {
                continue;
            }
            let received = *result.as_ref().unwrap_or(&0);
            let rest = spare.start + received..spare.end;
            return (result, RxBuf::from_parts(block, rest));
        }
    }
}

/// The unsent rest of some segments.
struct Rest<S> {
    segments: S,
    cursor: Cursor,
}

impl<S: Segments> IoVectoredBuf for Rest<S> {
    fn iter_slice(&self) -> impl Iterator<Item = &[u8]> {
        self.cursor.rest(&self.segments).take(SLICES_PER_WRITE)
    }
}

impl<S: Segments> Rest<S> {
    fn new(segments: S) -> Self {
        Rest {
            segments,
            cursor: Cursor::default(),
        }
    }

    /// Sends as many bytes as the socket takes at once. The ring reports errors of the socket, so
    /// they are ignored here.
    fn send_now(&mut self, socket: &Socket) {
        let mut slices = [IoSlice::new(&[]); SLICES_PER_WRITE];
        let used = self.cursor.gather(&self.segments, &mut slices);
        if let Ok(taken) = sending::send_now(socket, &slices[..used]) {
            self.cursor.advance(&self.segments, taken);
        }
    }
}

impl UringWrite {
    async fn write<S: Segments>(&mut self, mut rest: Rest<S>) -> (io::Result<()>, S) {
        while rest.iter_slice().next().is_some() {
            let op = SendVectored::new(Arc::clone(&self.socket), rest, SendFlags::NOSIGNAL);
            let (result, op) = Operation::new(&self.home, op).await;
            let Some(op) = op else {
                // The runtime has ended, and the kernel keeps the segments: there is nothing to
                // return.
                return std::future::pending().await;
            };
            rest = op.into_inner();
            match result {
                Ok(0) => return (Err(io::ErrorKind::WriteZero.into()), rest.segments),
                Ok(taken) => rest.cursor.advance(&rest.segments, taken),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (Err(error), rest.segments),
            }
        }
        (Ok(()), rest.segments)
    }
}

impl LinkWrite for UringWrite {
    async fn write_all<S: Segments>(&mut self, segments: S) -> (io::Result<()>, S) {
        self.write(Rest::new(segments)).await
    }

    async fn write_last<S: Segments>(&mut self, segments: S) -> (io::Result<()>, S) {
        let mut rest = Rest::new(segments);
        rest.send_now(&self.socket);
        self.write(rest).await
    }

    async fn writable(&mut self) -> io::Result<()> {
        loop {
            let op = PollOnce::new(Arc::clone(&self.socket), Interest::Writable);
            let (result, _) = Operation::new(&self.home, op).await;
            if !is_interrupted(&result) {
                return result.map(drop);
            }
        }
    }

    async fn shutdown(&mut self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }
}
