// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two halves of a TCP stream on tokio: owned buffers in, owned buffers out.

use std::future::poll_fn;
use std::io::{self, IoSlice, Read};
use std::net::Shutdown;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use ::tokio::io::Interest;
use ::tokio::task::coop::consume_budget;
use ::tokio::task::yield_now;
use socket2::{Domain, Socket, Type};

use super::registered::Registered;
use crate::sending;
use crate::spin::Spin;
use crate::{Cursor, LinkRead, LinkWrite, RxBuf, SLICES_PER_WRITE, Segments};

/// Size of a read that indicates a streaming peer: the next read is tried without waiting for
/// readiness.
const STREAMING: usize = 4096;

/// Size of a read that indicates large messages.
const LARGE: usize = 32 * 1024;

/// Number of reads tried after a large one before the task waits in tokio: some microseconds, about
/// the cost of falling asleep here, and less than a wake-up costs the sender for each segment.
const ASKS_LARGE: u32 = 24;

/// Receiving half of a TCP stream on tokio.
pub struct TokioRead {
    stream: Arc<Registered>,
    /// The meaning of a read that does not fill its buffer.
    short_reads: ShortReads,
    /// Number of reads to try before waiting for tokio's readiness. While the peer streams, the
    /// next bytes are likely there, and reading the socket first saves a round of the poller.
    /// Readiness events for bytes read in this way are harmless: the read after them finds no bytes
    /// and waits again.
    asks_first: u32,
    spin: Spin,
}

/// Knowledge about short reads: a short read may have emptied the socket.
#[derive(Clone, Copy)]
enum ShortReads {
    /// No short read yet. The first one is not worth a system call: there may be no second, as on a
    /// connection for one request.
    New,
    /// One short read.
    Once,
    /// Known from the socket's type.
    Known(bool),
}

/// Sending half of a TCP stream on tokio.
pub struct TokioWrite {
    stream: Arc<Registered>,
}

/// Splits a stream. The socket is closed when both halves are dropped; neither half's drop alone ends a direction.
pub(super) fn split(stream: Registered, spin: Spin) -> (TokioRead, TokioWrite) {
    let stream = Arc::new(stream);
    (
        TokioRead {
            short_reads: ShortReads::New,
            stream: stream.clone(),
            asks_first: 0,
            spin,
        },
        TokioWrite { stream },
    )
}

/// Returns true if the socket returns as many bytes as it has: no datagram socket, and no terminal.
fn is_stream(stream: &Registered) -> bool {
    let socket = stream.socket();
    let is_known = |domain| matches!(domain, Domain::IPV4 | Domain::IPV6 | Domain::UNIX);
    cfg!(target_os = "linux")
        && socket.r#type().is_ok_and(|kind| kind == Type::STREAM)
        && socket.local_addr().is_ok_and(|at| is_known(at.domain()))
}

/// Undoes [`split`].
pub(super) fn join(read: TokioRead, write: TokioWrite) -> io::Result<Registered> {
    let together = Arc::ptr_eq(&read.stream, &write.stream);
    drop(write);
    let apart = || io::Error::new(io::ErrorKind::InvalidInput, "halves of different streams");
    Arc::into_inner(read.stream)
        .filter(|_| together)
        .ok_or_else(apart)
}

impl ShortReads {
    /// Returns true if another short read has emptied the socket.
    fn have_emptied(&mut self, stream: &Registered) -> bool {
        *self = match *self {
            ShortReads::New => ShortReads::Once,
            ShortReads::Once => ShortReads::Known(is_stream(stream)),
            known => known,
        };
        matches!(self, ShortReads::Known(true))
    }
}

impl TokioRead {
    /// Reads without waiting for readiness, if the last read makes more bytes likely.
    fn try_at_once(&mut self, spare: &mut [u8]) -> Option<io::Result<usize>> {
        (0..self.asks_first).find_map(|_| self.ask(spare))
    }

    /// Reads regardless of tokio's readiness; `None` if there are no bytes.
    fn ask(&self, spare: &mut [u8]) -> Option<io::Result<usize>> {
        let mut socket = self.stream.socket();
        match socket.read(spare) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            result => Some(result),
        }
    }

    /// Runs the busy poll. Between two polls the thread yields to other threads, because on a fully
    /// loaded machine it would take the time of those it waits for, and to other tasks, for what
    /// their sockets bring.
    async fn ask_for_a_while(&self, spare: &mut [u8]) -> Option<io::Result<usize>> {
        let spinning = self.spin.start(Instant::now)?;
        loop {
            let result = self.ask(spare);
            if result.is_some() || !spinning.goes_on(Instant::now()) {
                return result;
            }
            thread::yield_now();
            yield_now().await;
        }
    }

    /// Reads if tokio reports readiness. If a short read means that the socket is empty, tokio's
    /// readiness is cleared in the same step, as in tokio's own `AsyncRead`: the next read waits at
    /// once, without a system call on an empty socket.
    fn try_read(&mut self, spare: &mut [u8]) -> io::Result<usize> {
        let mut short = None;
        let (stream, short_reads) = (&self.stream, &mut self.short_reads);
        let result = stream.try_io(Interest::READABLE, |mut socket| {
            let received = socket.read(spare)?;
            if received > 0 && received < spare.len() && short_reads.have_emptied(stream) {
                short = Some(received);
                return Err(io::ErrorKind::WouldBlock.into());
            }
            Ok(received)
        });
        short.map_or(result, Ok)
    }

    async fn receive(&mut self, spare: &mut [u8]) -> io::Result<usize> {
        if spare.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a read into a full buffer",
            ));
        }
        // a peer that always has bytes ready must not keep this thread from its other tasks
        consume_budget().await;
        // reads that skip tokio's readiness
        let at_once = match self.try_at_once(spare) {
            None => self.ask_for_a_while(spare).await,
            result => result,
        };
        // reads that wait for it
        let result = match at_once {
            Some(result) => result,
            None => loop {
                match self.try_read(spare) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        poll_fn(|context| self.stream.poll_readable(context)).await?;
                    }
                    result => break result,
                }
            },
        };
        // the size of this read decides about the next one
        self.asks_first = match result {
            Ok(received) if received >= LARGE => ASKS_LARGE,
            Ok(received) if received >= STREAMING => 1,
            _ => 0,
        };
        result
    }
}

impl LinkRead for TokioRead {
    async fn read(&mut self, mut buf: RxBuf) -> (io::Result<usize>, RxBuf) {
        loop {
            match self.receive(buf.spare_mut()).await {
                Ok(n) => {
                    buf.advance(n);
                    return (Ok(n), buf);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (Err(error), buf),
            }
        }
    }
}

impl TokioWrite {
    /// Writes as many bytes as the socket takes now; `Ok(None)` if all bytes were taken before.
    fn try_once<S: Segments>(&self, segments: &S, cursor: &Cursor) -> io::Result<Option<usize>> {
        let mut slices = [IoSlice::new(&[]); SLICES_PER_WRITE];
        let taken = match cursor.gather(segments, &mut slices) {
            0 => return Ok(None),
            used => self.stream.try_io(Interest::WRITABLE, |socket| {
                sending::send(socket, &slices[..used])
            })?,
        };
        if taken == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(Some(taken))
    }

    async fn send<S: Segments>(&mut self, segments: &mut S) -> io::Result<()> {
        let mut cursor = Cursor::default();
        loop {
            match self.try_once(segments, &cursor) {
                Ok(None) => return Ok(()),
                Ok(Some(taken)) => {
                    cursor.advance(segments, taken);
                    consume_budget().await;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.stream.writable().await?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Returns `WouldBlock` unless the socket takes bytes now or is closed.
#[cfg(target_os = "linux")]
fn ask_writable(socket: &Socket) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(socket, PollFlags::OUT)];
    match poll(&mut fds, Some(&Timespec::default()))? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}

/// Always succeeds: on these systems no thread writes past the runtime, so tokio's readiness is
/// current.
#[cfg(not(target_os = "linux"))]
fn ask_writable(_socket: &Socket) -> io::Result<()> {
    Ok(())
}

impl LinkWrite for TokioWrite {
    async fn write_all<S: Segments>(&mut self, mut segments: S) -> (io::Result<()>, S) {
        let result = self.send(&mut segments).await;
        (result, segments)
    }

    async fn writable(&mut self) -> io::Result<()> {
        loop {
            self.stream.writable().await?;
            // Senders fill the socket past tokio's knowledge, so its readiness may be stale: check,
            // and clear it if so.
            match self.stream.try_io(Interest::WRITABLE, ask_writable) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
        }
    }

    async fn shutdown(&mut self) -> io::Result<()> {
        self.stream.socket().shutdown(Shutdown::Write)
    }
}
