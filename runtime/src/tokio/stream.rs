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

/// A read of at least this many bytes says that the peer is streaming: the next one is tried at once.
const STREAMING: usize = 4096;

/// A read of at least this many bytes says that large messages come.
const LARGE: usize = 32 * 1024;

/// How often the socket is asked after such a read before tokio waits for it: some microseconds, about what falling asleep
/// costs here, and less than waking a sleeper costs the sender, who has that to do for each segment.
const ASKS_LARGE: u32 = 24;

/// Receiving half of a TCP stream on tokio.
pub struct TokioRead {
    stream: Arc<Registered>,
    /// What a read means that does not fill its buffer.
    short_reads: ShortReads,
    /// After such a read tokio waits for the next event of its poller. While the peer is
    /// streaming the next bytes are most often there by then, and asking the socket first saves that round. Events that
    /// come for bytes read in this way are harmless: the read they lead to finds nothing and waits again.
    asks_first: u32,
    spin: Spin,
}

/// Whether a read that does not fill its buffer has emptied the socket.
#[derive(Clone, Copy)]
enum ShortReads {
    /// There was none. The first is not worth asking the system: there may be no second, as with a connection for one request.
    New,
    /// There was one.
    Once,
    /// It is known.
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

/// Whether the socket hands out as many bytes as it has: it is none of datagrams, and no terminal.
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
    /// Another one has come: has it emptied the socket?
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
    /// Reads without waiting for readiness, if the last read makes it likely that bytes are there.
    fn try_at_once(&mut self, spare: &mut [u8]) -> Option<io::Result<usize>> {
        (0..self.asks_first).find_map(|_| self.ask(spare))
    }

    /// Reads past tokio's knowledge; `None` if nothing is there.
    fn ask(&self, spare: &mut [u8]) -> Option<io::Result<usize>> {
        let mut socket = self.stream.socket();
        match socket.read(spare) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            result => Some(result),
        }
    }

    /// The busy poll. Between two questions other threads have their turn, as on a full machine it would take the time of
    /// those it waits for; and other tasks, with what other sockets bring.
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

    /// Reads if tokio knows of bytes. Where a short read says that there are no more tokio forgets them in the same step,
    /// as it does in its own `AsyncRead`: the next read waits at once, without asking a socket that is empty.
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
        // A peer that always has bytes ready must not keep this thread from its other tasks.
        consume_budget().await;
        let at_once = match self.try_at_once(spare) {
            None => self.ask_for_a_while(spare).await,
            result => result,
        };
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
    /// Gives the socket what it takes now; `Ok(None)` when everything was taken before.
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

/// `WouldBlock` unless the socket takes bytes now or is closed.
#[cfg(target_os = "linux")]
fn ask_writable(socket: &Socket) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(socket, PollFlags::OUT)];
    match poll(&mut fds, Some(&Timespec::default()))? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}

/// Elsewhere nobody writes past the runtime, so its word is good.
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
            // The socket was filled past tokio's knowledge, so its word may be old: ask, and have it forgotten if so.
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
