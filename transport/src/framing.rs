// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handshake batches on a stream: each is a u16le length and as many bytes.
//!
//! An [`Exchange`] owns the stream during a handshake, and returns it with the bytes that were read
//! behind the last batch. Its buffer starts tiny and grows only for a batch whose first byte can
//! start a message, so that unauthenticated peers cost a listener next to nothing.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::foreign;
use crate::link::{Coding, LinkStream, StreamRead, StreamWrite};
use crate::protocol::certificate::CertificateNames;
use crate::protocol::handshake::{HandshakeError, Step};
use zonda_runtime::{LinkRead, LinkWrite, Runtime, RxBuf, Segments};

/// Bytes of the length in front of a batch.
pub const PREFIX_BYTES: usize = 2;

/// Maximum bytes that an unauthenticated peer makes this node keep before its first bytes are seen
/// to start a message. Enough for the usual messages of a handshake.
const FIRST_BYTES: usize = 256;

/// Message ids that the low five bits of a batch's first byte can hold.
const MESSAGE_IDS: std::ops::RangeInclusive<u8> = 0x00..=0x07;

/// Appends a batch with its length in front.
///
/// # Panics
/// When the batch is longer than 65535 bytes.
pub fn frame(batch: &[u8], out: &mut Vec<u8>) {
    let length = u16::try_from(batch.len()).expect("a batch is at most 65535 bytes");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(batch);
}

/// Error of receiving a batch.
#[derive(Debug)]
pub enum ReceiveError {
    /// The socket failed; [`io::ErrorKind::UnexpectedEof`] when the peer hung up.
    Io(io::Error),
    /// The peer announced a longer batch than a handshake needs.
    TooLong {
        /// Announced length in bytes, without the prefix.
        length: usize,
        /// Longest length that is accepted.
        max: usize,
    },
}

impl ReceiveError {
    /// Converts the error into the failure of a handshake that was waiting for `step`.
    pub fn during(self, step: Step) -> HandshakeError {
        match self {
            ReceiveError::Io(error) => error.into(),
            ReceiveError::TooLong { length, max } => HandshakeError::Parameter {
                step,
                what: "batch length",
                value: length as u64,
                min: 0,
                max: max as u64,
            },
        }
    }
}

/// Start of the bytes received so far.
enum Head {
    /// Too few bytes to decide.
    Incomplete,
    /// Batch without content, which is skipped.
    Empty,
    /// Bytes that are no batch of this protocol.
    Foreign,
    /// Batch that ends at this offset, possibly not yet received.
    Batch { end: usize },
}

/// Frame that is being written.
struct Frame(Vec<u8>);

impl Segments for Frame {
    fn count(&self) -> usize {
        1
    }
    fn segment(&self, _index: usize) -> &[u8] {
        &self.0
    }
}

/// Stream that carries the batches of a handshake.
pub struct Exchange<R: Runtime> {
    /// Names in the peer's certificate, if it has shown one.
    certificate: Option<Box<CertificateNames>>,
    read: StreamRead<R::Read>,
    write: StreamWrite<R::Write>,
    received: RxBuf,
    /// Bytes at the front of `received` that belong to batches returned before.
    consumed: usize,
    /// Longest batch to receive, in bytes without the prefix.
    batch_bytes_max: usize,
    /// Set once a batch has arrived.
    has_heard: bool,
    /// Protocol of the peer, if its first bytes are recognised as another one.
    speaks: Option<&'static str>,
    /// Last batch that was sent, if batches may get lost. Boxed, as few links have it.
    again: Option<Box<Retransmission<R>>>,
}

/// Batch that is sent again while no answer arrives.
struct Retransmission<R> {
    runtime: R,
    framed: Vec<u8>,
    wait: Duration,
    at: Instant,
}

/// Time without an answer after which a message that may be lost is sent again; doubled for each
/// repetition.
const REPEAT_AFTER: Duration = Duration::from_secs(1);

impl<R: Runtime> Exchange<R> {
    /// Adopts a connected stream. Batches longer than `batch_bytes_max` are refused.
    ///
    /// # Errors
    /// The errors of the runtime.
    pub fn new(runtime: &R, stream: LinkStream, batch_bytes_max: usize) -> io::Result<Self> {
        let again = matches!(stream.coding(), Coding::Datagrams(_)).then(|| {
            Box::new(Retransmission {
                runtime: runtime.clone(),
                framed: Vec::new(),
                wait: REPEAT_AFTER,
                at: Instant::now(),
            })
        });
        let certificate = stream.certificate();
        let (read, write) = stream.adopt(runtime)?;
        Ok(Exchange {
            certificate,
            again,
            read,
            write,
            received: RxBuf::new(FIRST_BYTES),
            consumed: 0,
            batch_bytes_max,
            has_heard: false,
            speaks: None,
        })
    }

    /// Takes the names in the peer's certificate, if it has shown one.
    pub fn take_certificate(&mut self) -> Option<Box<CertificateNames>> {
        self.certificate.take()
    }

    /// Sends one batch; an empty one is not sent.
    ///
    /// # Errors
    /// The errors of the socket.
    pub async fn send(&mut self, batch: &[u8]) -> io::Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut framed = Vec::with_capacity(PREFIX_BYTES + batch.len());
        frame(batch, &mut framed);
        if let Some(again) = &mut self.again {
            again.framed.clone_from(&framed);
            again.wait = REPEAT_AFTER;
            again.at = Instant::now() + REPEAT_AFTER;
        }
        self.write.write_all(Frame(framed)).await.0
    }

    /// Returns true if batches may get lost, so that both sides repeat theirs.
    pub fn repeats(&self) -> bool {
        self.again.is_some()
    }

    /// Receives the next batch that is not empty.
    ///
    /// If the first byte cannot start any message, returns the bytes received so far without
    /// waiting for the rest: decoding them yields the error, and another protocol never completes a
    /// batch of this one.
    ///
    /// # Errors
    /// The link cannot be used any more.
    pub async fn receive(&mut self) -> Result<&[u8], ReceiveError> {
        self.received.discard_front(self.consumed);
        self.consumed = 0;
        let end = loop {
            if !self.has_heard {
                self.speaks = foreign::recognise(self.received.filled());
            }
            if self.speaks.is_some() {
                break self.received.filled().len();
            }
            match self.head()? {
                Head::Incomplete => self.fill(PREFIX_BYTES + 1).await?,
                Head::Empty => self.received.discard_front(PREFIX_BYTES),
                Head::Foreign => break self.received.filled().len(),
                Head::Batch { end } if end <= self.received.filled().len() => break end,
                Head::Batch { end } => self.fill(end).await?,
            }
        };
        self.has_heard = true;
        self.consumed = end;
        Ok(self.batch())
    }

    /// Returns the batch that was received last.
    pub fn batch(&self) -> &[u8] {
        let received = self.received.filled();
        received
            .get(PREFIX_BYTES..self.consumed)
            .unwrap_or_default()
    }

    /// Returns the protocol that the peer speaks, if its first bytes were recognised as another
    /// one.
    pub fn speaks(&self) -> Option<&'static str> {
        self.speaks
    }

    fn head(&self) -> Result<Head, ReceiveError> {
        let filled = self.received.filled();
        let Some(prefix) = filled.first_chunk::<PREFIX_BYTES>() else {
            return Ok(Head::Incomplete);
        };
        let length = usize::from(u16::from_le_bytes(*prefix));
        match filled.get(PREFIX_BYTES) {
            _ if length == 0 => Ok(Head::Empty),
            None => Ok(Head::Incomplete),
            Some(first) if !MESSAGE_IDS.contains(&(first & 0x1f)) => Ok(Head::Foreign),
            Some(_) if length > self.batch_bytes_max => Err(ReceiveError::TooLong {
                length,
                max: self.batch_bytes_max,
            }),
            Some(_) => Ok(Head::Batch {
                end: PREFIX_BYTES + length,
            }),
        }
    }

    /// Reads once, with room for `needed` bytes in all.
    async fn fill(&mut self, needed: usize) -> Result<(), ReceiveError> {
        if needed > self.received.capacity() {
            let mut larger = RxBuf::new(needed);
            let filled = self.received.filled().len();
            larger.spare_mut()[..filled].copy_from_slice(self.received.filled());
            larger.advance(filled);
            self.received = larger;
        }
        let buffer = self.received.take();
        let (result, received) = match &mut self.again {
            None => self.read.read(buffer).await,
            Some(again) => {
                let repeating = again.until_read(&mut self.read, &mut self.write, buffer);
                Box::pin(repeating).await
            }
        };
        self.received = received;
        match result {
            Ok(0) => Err(ReceiveError::Io(io::ErrorKind::UnexpectedEof.into())),
            Ok(_) => Ok(()),
            Err(error) => Err(ReceiveError::Io(error)),
        }
    }

    /// Sends a last batch, if there is one, and ends the sending direction, so that the peer reads
    /// the batch and then the end. Failures do not matter: the link is given up anyway.
    pub async fn say_goodbye(&mut self, batch: &[u8]) {
        if self.send(batch).await.is_ok() {
            let _ = self.write.shutdown().await;
        }
    }

    /// Returns the stream, with the bytes that were read behind the last batch.
    ///
    /// # Errors
    /// The errors of the runtime.
    pub fn finish(mut self, runtime: &R) -> io::Result<(LinkStream, Vec<u8>)> {
        self.received.discard_front(self.consumed);
        let unread = self.received.filled().to_vec();
        Ok((LinkStream::release(runtime, self.read, self.write)?, unread))
    }
}

impl<R: Runtime> Retransmission<R> {
    /// Reads once, and sends the last batch again whenever its wait is over.
    async fn until_read(
        &mut self,
        read: &mut impl LinkRead,
        write: &mut impl LinkWrite,
        buffer: RxBuf,
    ) -> (io::Result<usize>, RxBuf) {
        let mut reading = pin!(read.read(buffer));
        loop {
            let mut due = pin!(self.runtime.sleep_until(self.at));
            let done = poll_fn(|context| {
                if let Poll::Ready(done) = reading.as_mut().poll(context) {
                    return Poll::Ready(Some(done));
                }
                due.as_mut().poll(context).map(|()| None)
            });
            if let Some(done) = done.await {
                return done;
            }
            self.wait *= 2;
            self.at = Instant::now() + self.wait;
            if !self.framed.is_empty() {
                // An error of the socket shows at the next read.
                let _ = write.write_all(Frame(self.framed.clone())).await;
            }
        }
    }
}
