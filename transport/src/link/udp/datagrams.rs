// SPDX-License-Identifier: MIT OR Apache-2.0
//! Datagrams as a byte stream for the layers above: the reading half puts the length in front of
//! each datagram, and the writing half sends each batch without it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Instant;

use zonda_codec::{PROTOCOL_VERSION, Reader, TransportMessage};
use zonda_runtime::{LinkRead, LinkWrite, RxBuf, Segments, Socket, oneshot};

use crate::log_limit::LogLimit;

use super::pace::{Pace, PaceTimer, Rate};

/// Longest batch that the reference sends in a datagram.
pub(crate) const DATAGRAM_BYTES_MAX: u16 = 65_487;

/// Bytes of the length in front of a batch.
const PREFIX_BYTES: usize = 2;

/// Buffer size for any datagram and its length.
const ROOM: usize = PREFIX_BYTES + 65_535;

/// Mask of the message id in the low bits of a batch's first byte.
const ID_BITS: u8 = 0x1f;
const INIT: u8 = 1;
const OPEN: u8 = 2;

/// Callback for handshake messages that arrive at an open link.
pub(crate) type HandBack = Box<dyn Fn(&[u8]) + Send + Sync>;

/// State that the halves of a link and its senders share. Its sockets are never shut down: the link
/// that replaces one continues with the same socket, and a datagram without content would look like
/// the end.
pub struct Flow {
    is_over: AtomicBool,
    /// Set once the handshake is over.
    is_open: AtomicBool,
    /// Sender whose drop, when the link is over, ends the reading.
    reading: Mutex<Option<oneshot::Sender<()>>>,
    /// Socket of an accepted link, for the link that replaces it.
    socket: Option<Socket>,
    hand_back: Option<HandBack>,
    /// Set once a datagram that is too long was logged.
    has_said: AtomicBool,
    pace: Pace,
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow")
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

impl Flow {
    fn new(socket: Option<Socket>, hand_back: Option<HandBack>, rate: Rate) -> Arc<Flow> {
        Arc::new(Flow {
            is_over: AtomicBool::new(false),
            is_open: AtomicBool::new(socket.is_some()),
            reading: Mutex::new(None),
            socket,
            hand_back,
            has_said: AtomicBool::new(false),
            pace: Pace::new(rate),
        })
    }

    /// Creates the state of a link whose handshake begins.
    pub(super) fn dialled(rate: Rate) -> Arc<Flow> {
        Flow::new(None, None, rate)
    }

    /// Creates the state of an accepted link.
    pub(super) fn accepted(socket: Socket, hand_back: HandBack, rate: Rate) -> Arc<Flow> {
        Flow::new(Some(socket), Some(hand_back), rate)
    }

    /// Notes the end of the handshake: later handshake messages are not for this link.
    pub(crate) fn note_open(&self) {
        self.is_open.store(true, Ordering::Relaxed);
    }

    /// Ends the link on this side: nothing is read any more. The peer is not notified.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        let reading = self.reading.lock();
        let sender = reading.unwrap_or_else(PoisonError::into_inner).take();
        // Dropped without the lock, as the drop wakes the reader.
        drop(sender);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Returns a receiver that is ready when the link is over.
    fn watch(&self) -> oneshot::Receiver<()> {
        let (sender, over) = oneshot::channel();
        let reading = self.reading.lock();
        *reading.unwrap_or_else(PoisonError::into_inner) = Some(sender);
        over
    }

    /// Returns the pace, which decides when fragments may leave.
    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// Returns another handle of an accepted link's socket.
    ///
    /// # Errors
    /// The errors of the system.
    pub(crate) fn socket(&self) -> io::Result<Socket> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        socket.try_clone()
    }

    /// Sends a datagram to the peer of an accepted link. It may get lost.
    pub(crate) fn say(&self, datagram: &[u8]) {
        if let Some(socket) = &self.socket
            && let Err(error) = socket.send(datagram)
        {
            tracing::debug!("cannot send to a new link: {error}");
        }
    }

    /// Notes that a datagram of so many bytes is lost on its way out. Logs once if the system sends
    /// none of that size, because all such datagrams are lost then; true if it did.
    pub(crate) fn note_lost(&self, bytes: usize, error: &io::Error) -> bool {
        if !is_too_long(error) || self.has_said.swap(true, Ordering::Relaxed) {
            return false;
        }
        static LIMIT: LogLimit = LogLimit::new();
        if let Some(left_out) = LIMIT.admit(Instant::now()) {
            tracing::warn!(
                "a link of udp loses messages: this machine sends no datagrams of {bytes} bytes there ({error}); set \
                 transport/link/tx/batch_size to less{left_out}"
            );
        }
        true
    }

    /// Returns true for a handshake message on an open link, after passing it on: a peer that has
    /// lost its link starts a handshake from the same address, and the network may repeat
    /// datagrams.
    fn turns_away(&self, datagram: &[u8]) -> bool {
        if !self.is_open.load(Ordering::Relaxed) || !is_of_handshake(datagram) {
            return false;
        }
        if let Some(hand_back) = &self.hand_back {
            hand_back(datagram);
        }
        true
    }
}

/// Returns true if a datagram begins with InitSyn, InitAck, OpenSyn or OpenAck. A compressed batch
/// begins with the same byte as an InitSyn without any flag.
fn is_of_handshake(datagram: &[u8]) -> bool {
    match datagram {
        [INIT, PROTOCOL_VERSION, ..] => {
            let mut r = Reader::new(datagram);
            let decoded = TransportMessage::decode(&mut r);
            r.is_empty() && matches!(decoded, Ok(TransportMessage::InitSyn(_)))
        }
        [INIT, ..] => false,
        [first, ..] => matches!(first & ID_BITS, INIT | OPEN),
        [] => false,
    }
}

/// Returns true if a datagram that could not be sent is just lost, as in the network: there is no
/// route to the peer for a moment, or it is too long for the path. Else the socket is full, or the
/// peer is gone.
pub(crate) fn is_lost(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        io::ErrorKind::WouldBlock
            | io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::BrokenPipe
    )
}

/// Returns true if the system sends no datagram of this size.
#[cfg(unix)]
fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error())
}

/// Returns true if the system sends no datagram of this size; on systems where the error has
/// another number.
#[cfg(not(unix))]
fn is_too_long(error: &io::Error) -> bool {
    const WSAEMSGSIZE: i32 = 10_040;
    error.raw_os_error() == Some(WSAEMSGSIZE)
}

/// Receiving half of a link of datagrams.
#[derive(Debug)]
pub struct Reading<L> {
    link: L,
    flow: Arc<Flow>,
    over: oneshot::Receiver<()>,
    /// Datagram for which the reader's buffer had too little room.
    spill: RxBuf,
    /// Bytes of it that the reader has.
    served: usize,
}

impl<L> Reading<L> {
    pub(in crate::link) fn new(link: L, flow: Arc<Flow>) -> Self {
        Reading {
            link,
            over: flow.watch(),
            flow,
            spill: RxBuf::default(),
            served: 0,
        }
    }

    pub(in crate::link) fn into_parts(self) -> (L, Arc<Flow>) {
        (self.link, self.flow)
    }

    /// Copies the rest of a datagram to the reader; returns the number of bytes.
    fn serve(&mut self, buf: &mut RxBuf) -> usize {
        let rest = &self.spill.filled()[self.served..];
        let into = buf.spare_mut();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        buf.advance(count);
        self.served += count;
        count
    }
}

impl<L: LinkRead> Reading<L> {
    /// Appends the next datagram, with its length in front, to `buf`, which has room for any.
    /// Returns the number of bytes, 0 when the link is over.
    async fn receive(&mut self, mut buf: RxBuf) -> (io::Result<usize>, RxBuf) {
        let before = buf.filled().len();
        loop {
            if self.flow.is_over() {
                return (Ok(0), buf);
            }
            buf.advance(PREFIX_BYTES);
            let (link, over) = (&mut self.link, &mut self.over);
            let mut reading = pin!(link.read(buf));
            let done = poll_fn(|context| {
                if let Poll::Ready(done) = reading.as_mut().poll(context) {
                    return Poll::Ready(Some(done));
                }
                Pin::new(&mut *over).poll(context).map(|_| None)
            });
            let Some((result, back)) = done.await else {
                // The cancelled read has dropped the buffer.
                return (Ok(0), RxBuf::default());
            };
            buf = back;
            let start = before + PREFIX_BYTES;
            let datagram = buf.filled().get(start..).unwrap_or(&[]);
            let length = u16::try_from(datagram.len()).unwrap_or(0);
            if result.is_err() || length == 0 || self.flow.turns_away(datagram) {
                // A runtime that has ended may have kept the buffer.
                buf.set_filled(before.min(buf.capacity()));
                match result {
                    Ok(_) => continue,
                    error => return (error, buf),
                }
            }
            buf.filled_mut()[before..start].copy_from_slice(&length.to_le_bytes());
            return (Ok(PREFIX_BYTES + usize::from(length)), buf);
        }
    }
}

impl<L: LinkRead> LinkRead for Reading<L> {
    async fn read(&mut self, mut buf: RxBuf) -> (io::Result<usize>, RxBuf) {
        if buf.spare_mut().is_empty() && !self.flow.is_over() {
            return (Err(io::ErrorKind::InvalidInput.into()), buf);
        }
        let served = self.serve(&mut buf);
        if served > 0 {
            return (Ok(served), buf);
        }
        if buf.spare_mut().len() >= ROOM {
            return self.receive(buf).await;
        }
        let mut spill = self.spill.take();
        if spill.capacity() == 0 {
            spill = RxBuf::new(ROOM);
        }
        spill.clear();
        let (result, spill) = self.receive(spill).await;
        (self.spill, self.served) = (spill, 0);
        let result = result.map(|_| self.serve(&mut buf));
        (result, buf)
    }
}

/// Sending half of a link of datagrams.
#[derive(Debug)]
pub struct Writing<L> {
    link: L,
    flow: Arc<Flow>,
    rest: PaceTimer,
}

impl<L> Writing<L> {
    pub(in crate::link) fn new(link: L, flow: Arc<Flow>, rest: PaceTimer) -> Self {
        Writing { link, flow, rest }
    }

    pub(in crate::link) fn into_inner(self) -> L {
        self.link
    }
}

/// Returns the batches of a stream, without their lengths.
fn batches(segments: &impl Segments) -> Vec<Vec<u8>> {
    let mut stream = Vec::new();
    for index in 0..segments.count() {
        stream.extend_from_slice(segments.segment(index));
    }
    let (mut batches, mut rest) = (Vec::new(), &stream[..]);
    while let Some((prefix, behind)) = rest.split_first_chunk::<PREFIX_BYTES>() {
        let length = usize::from(u16::from_le_bytes(*prefix));
        let (batch, left) = behind.split_at(length.min(behind.len()));
        if !batch.is_empty() {
            batches.push(batch.to_vec());
        }
        rest = left;
    }
    batches
}

impl<L: LinkWrite> LinkWrite for Writing<L> {
    async fn write_all<S: Segments>(&mut self, segments: S) -> (io::Result<()>, S) {
        for batch in batches(&segments) {
            let bytes = batch.len();
            let pace = self.flow.pace();
            while !pace.permits(&batch) {
                self.rest.wait(pace.left()).await;
            }
            let (result, batch) = self.link.write_all(vec![batch]).await;
            match result {
                Err(error) if !is_lost(&error) => return (Err(error), segments),
                Err(error) => drop(self.flow.note_lost(bytes, &error)),
                Ok(()) => pace.note_sent(&batch[0], bytes),
            }
        }
        (Ok(()), segments)
    }

    async fn writable(&mut self) -> io::Result<()> {
        let pace = self.flow.pace();
        if pace.holds() {
            // The pace has refused the fragment, not the socket, which would not signal readiness.
            self.rest.wait(pace.left()).await;
            return Ok(());
        }
        self.link.writable().await
    }

    /// Ends the link. The peer is not notified: its Close was sent before.
    async fn shutdown(&mut self) -> io::Result<()> {
        self.flow.end();
        Ok(())
    }
}
