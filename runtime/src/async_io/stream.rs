// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two halves of a TCP stream on the reactor of async-io: owned buffers in, owned buffers out.

use std::io::{self, IoSlice, Read};
use std::net::Shutdown;
use std::sync::Arc;

use ::async_io::Async;
use socket2::Socket;

use super::yield_budget::YieldBudget;
use crate::sending;
use crate::{Cursor, LinkRead, LinkWrite, RxBuf, SLICES_PER_WRITE, Segments};

/// Size of a read that indicates a streaming peer: the next read is tried without waiting for
/// readiness.
const STREAMING: usize = 4096;

/// Receiving half of a TCP stream on the reactor of async-io.
#[derive(Debug)]
pub struct ReactorRead {
    stream: Arc<Async<Arc<Socket>>>,
    turn: YieldBudget,
    /// True while the peer streams: the next bytes are likely there, so the socket is read before
    /// the reactor is waited for. Otherwise that read would most often be a wasted system call.
    ask_first: bool,
}

/// Sending half of a TCP stream on the reactor of async-io.
#[derive(Debug)]
pub struct ReactorWrite {
    stream: Arc<Async<Arc<Socket>>>,
    turn: YieldBudget,
}

/// Splits a stream. The socket is closed when both halves are dropped; neither half's drop alone ends a direction.
pub fn split(stream: Async<Arc<Socket>>) -> (ReactorRead, ReactorWrite) {
    let stream = Arc::new(stream);
    let read = ReactorRead {
        stream: stream.clone(),
        turn: YieldBudget::default(),
        ask_first: false,
    };
    let turn = YieldBudget::default();
    (read, ReactorWrite { stream, turn })
}

/// Undoes [`split`], and deregisters the stream from the reactor.
pub fn join(read: ReactorRead, write: ReactorWrite) -> io::Result<Arc<Socket>> {
    let together = Arc::ptr_eq(&read.stream, &write.stream);
    drop(write);
    let apart = || io::Error::new(io::ErrorKind::InvalidInput, "halves of different streams");
    Arc::into_inner(read.stream)
        .filter(|_| together)
        .ok_or_else(apart)?
        .into_inner()
}

impl ReactorRead {
    async fn receive(&mut self, spare: &mut [u8]) -> io::Result<usize> {
        if spare.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a read into a full buffer",
            ));
        }
        self.turn.take().await;
        if !self.ask_first {
            self.wait().await?;
        }
        let result = loop {
            let mut socket: &Socket = self.stream.get_ref();
            match socket.read(spare) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait().await?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        self.ask_first = result.as_ref().is_ok_and(|&n| n >= STREAMING);
        result
    }

    async fn wait(&mut self) -> io::Result<()> {
        self.turn.waited();
        self.stream.readable().await
    }
}

impl LinkRead for ReactorRead {
    async fn read(&mut self, mut buf: RxBuf) -> (io::Result<usize>, RxBuf) {
        let result = self.receive(buf.spare_mut()).await;
        if let Ok(n) = &result {
            buf.advance(*n);
        }
        (result, buf)
    }
}

impl ReactorWrite {
    /// Writes as many bytes as the socket takes now; `Ok(None)` if all bytes were taken before.
    fn try_once<S: Segments>(&self, segments: &S, cursor: &Cursor) -> io::Result<Option<usize>> {
        let mut slices = [IoSlice::new(&[]); SLICES_PER_WRITE];
        let taken = match cursor.gather(segments, &mut slices) {
            0 => return Ok(None),
            used => sending::send(self.stream.get_ref(), &slices[..used])?,
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
                    self.turn.take().await;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable().await?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl LinkWrite for ReactorWrite {
    async fn write_all<S: Segments>(&mut self, mut segments: S) -> (io::Result<()>, S) {
        let result = self.send(&mut segments).await;
        (result, segments)
    }

    async fn writable(&mut self) -> io::Result<()> {
        // The reactor polls the system anew for each wait, so its readiness is never older than the
        // wait.
        self.turn.waited();
        self.stream.writable().await
    }

    async fn shutdown(&mut self) -> io::Result<()> {
        self.stream.get_ref().shutdown(Shutdown::Write)
    }
}
