// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of one WebSocket, between its socket and the bytes of the link.

#[cfg(target_os = "linux")]
use std::io::Write;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use crate::link::LinkStream;
use crate::link::parts::first_part;
#[cfg(target_os = "linux")]
use crate::link::{
    Coding,
    non_blocking::{NonBlockingWriter, TlsWriter},
    tls,
};
use crate::sync::{Mutex, Rank};
#[cfg(target_os = "linux")]
use zonda_runtime::Socket;
use zonda_runtime::{Cursor, LinkRead, LinkWrite, RxBuf, Segments};

use super::frames::{Framing, Lengths, Side, Unframing};
use crate::link::RulesBroken;

/// Maximum number of slices that are examined for a part.
const SLICES: usize = 16;

/// Code of an orderly end.
const NORMAL: u16 = 1000;

/// State of a WebSocket.
#[derive(Debug)]
pub struct Session {
    sending: Mutex<Sending>,
    /// State of the receiving direction; absent while a runtime has the link.
    receiving: Mutex<Option<Receiving>>,
    /// Received bytes that are kept in addition to the buffer that the link is read into.
    keeps: AtomicUsize,
    /// Writer for frames between the link's own bytes: answers to Pings, the Close.
    #[cfg(target_os = "linux")]
    beside: SocketWithTls,
}

#[derive(Debug)]
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only the runtime writes there")
)]
struct Sending {
    framing: Framing,
    /// Frames that the socket has not taken, without the first `sent` bytes.
    waiting: Vec<u8>,
    sent: usize,
    /// Set while frames of a [`Session::send`] wait, and one byte in them is not reported as sent.
    owes: bool,
    /// Set while the runtime writes frames, and no sender does.
    is_lent: bool,
    has_said_close: bool,
}

/// Socket, and its encryption.
#[cfg(target_os = "linux")]
#[derive(Debug)]
struct SocketWithTls {
    socket: Arc<Socket>,
    tls: Option<Arc<tls::Session>>,
}

#[cfg(target_os = "linux")]
impl SocketWithTls {
    fn of(stream: &LinkStream) -> SocketWithTls {
        SocketWithTls {
            socket: Arc::clone(stream.socket()),
            tls: match stream.coding() {
                Coding::Tls(tls) => Some(Arc::clone(tls)),
                _ => None,
            },
        }
    }

    fn write_out(&self, sending: &mut Sending) -> io::Result<()> {
        let mut sink = NonBlockingWriter(&self.socket);
        match &self.tls {
            None => sending.write_out(&mut sink),
            Some(tls) => sending.write_out(&mut TlsWriter { tls, sink }),
        }
    }
}

#[derive(Debug)]
struct Receiving {
    unframing: Unframing,
    /// Bytes that were read and have to be passed to `unframing` again.
    unread: Vec<u8>,
}

impl Session {
    /// Creates the session of a connection that has just become a WebSocket; `behind` was read
    /// already.
    pub(super) fn new(side: Side, stream: &LinkStream, behind: &[u8]) -> Arc<Self> {
        #[cfg(not(target_os = "linux"))]
        let _ = stream;
        // State of each direction.
        let framing = Framing::new(side);
        let unframing = Unframing::new(side);
        let sending = Sending {
            framing,
            waiting: Vec::new(),
            sent: 0,
            owes: false,
            is_lent: false,
            has_said_close: false,
        };
        let receiving = Receiving {
            unframing,
            unread: behind.to_vec(),
        };
        Arc::new(Session {
            sending: Mutex::ranked(Rank::Frames, sending),
            receiving: Mutex::new(Some(receiving)),
            keeps: AtomicUsize::new(0),
            #[cfg(target_os = "linux")]
            beside: SocketWithTls::of(stream),
        })
    }

    /// Returns the approximate bytes of its frame buffers: received and kept, and framed and not
    /// sent.
    pub(in crate::link) fn held(&self) -> usize {
        let sending = self.sending.try_lock();
        let waiting = sending.map_or(0, |sending| sending.waiting.capacity());
        self.keeps.load(Ordering::Relaxed) + waiting
    }

    /// Notes the end of the handshake. No runtime has the link.
    pub(in crate::link) fn agree(&self, is_bare: bool) {
        let lengths = match is_bare {
            true => Lengths::Bare,
            false => Lengths::Batches,
        };
        self.sending.lock().framing.lengths = lengths;
        if let Some(receiving) = &mut *self.receiving.lock() {
            receiving.unframing.lengths = lengths;
        }
    }

    /// Frames the front of `slices` and writes it to `sink`, as far as that takes it without
    /// waiting. Returns the number of bytes that count as sent.
    ///
    /// A frame that was begun has to be continued, and masked bytes have to be sent unchanged.
    /// While frames wait for the socket, one byte therefore counts as unsent, which keeps its batch
    /// under way; the next call sends the frames, and then counts the byte.
    ///
    /// # Errors
    /// The errors of the sink; [`io::ErrorKind::WouldBlock`] while frames wait.
    #[cfg(target_os = "linux")]
    pub(crate) fn send(&self, slices: &[IoSlice<'_>], sink: &mut impl Write) -> io::Result<usize> {
        let mut sending = self.sending.lock();
        sending.write_out(sink)?;
        if std::mem::take(&mut sending.owes) {
            return Ok(1);
        }
        let count = sending.frame(slices);
        match sending.write_out(sink) {
            Ok(()) => Ok(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && count > 0 => {
                sending.owes = true;
                match count - 1 {
                    0 => Err(error),
                    sent => Ok(sent),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Answers a Ping: at once if no frame is under way, or in front of the next frame.
    pub(super) fn answer(&self, ping: Vec<u8>) {
        let mut sending = self.sending.lock();
        sending.framing.answer(ping);
        self.send_beside(&mut sending, |sending| {
            sending.framing.say_pong(&mut sending.waiting);
        });
    }

    /// Sends a Close, if the socket takes it now and no message is begun.
    pub(super) fn say_close(&self, code: u16) {
        let mut sending = self.sending.lock();
        if !std::mem::replace(&mut sending.has_said_close, true) {
            self.send_beside(&mut sending, |sending| {
                sending.framing.say_close(code, &mut sending.waiting);
            });
        }
    }

    #[cfg(target_os = "linux")]
    fn send_beside(&self, sending: &mut Sending, say: impl FnOnce(&mut Sending)) {
        // The next send of the link returns the same error.
        if !sending.is_lent
            && sending.framing.is_between()
            && self.beside.write_out(sending).is_ok()
        {
            say(sending);
            let _ = self.beside.write_out(sending);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn send_beside(&self, _sending: &mut Sending, _say: impl FnOnce(&mut Sending)) {}

    /// Returns the frames of the next part of the segments, for the runtime to write; `None` when
    /// none is left. `written` is the runtime's previous buffer, whose memory is reused.
    fn lend(
        &self,
        segments: &impl Segments,
        at: &mut Cursor,
        written: QueuedFrames,
    ) -> Option<QueuedFrames> {
        let mut sending = self.sending.lock();
        if !written.bytes.is_empty() {
            sending.waiting = written.bytes;
            sending.all_sent();
        }
        loop {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let used = at.gather(segments, &mut slices);
            let mut part = [IoSlice::new(&[]); SLICES];
            let (count, bytes) = first_part(&slices[..used], &mut part);
            sending.frame(&part[..count]);
            at.advance(segments, bytes);
            if used == 0 {
                let Sending {
                    framing, waiting, ..
                } = &mut *sending;
                framing.say_pong(waiting);
                break;
            }
            // A length alone is no frame yet.
            if !sending.waiting.is_empty() {
                break;
            }
        }
        let sent = std::mem::take(&mut sending.sent);
        sending.is_lent = sent < sending.waiting.len();
        sending.is_lent.then(|| QueuedFrames {
            bytes: std::mem::take(&mut sending.waiting),
            sent,
        })
    }
}

/// Frames that the runtime writes, without the first `sent` bytes.
#[derive(Default)]
struct QueuedFrames {
    bytes: Vec<u8>,
    sent: usize,
}

impl Segments for QueuedFrames {
    fn count(&self) -> usize {
        1
    }

    fn segment(&self, _index: usize) -> &[u8] {
        &self.bytes[self.sent..]
    }
}

impl Sending {
    /// Appends the frames of these bytes of the link. Returns the number of bytes.
    fn frame(&mut self, slices: &[IoSlice<'_>]) -> usize {
        let count = slices.iter().map(|slice| slice.len()).sum();
        self.waiting.reserve(count);
        for slice in slices {
            self.framing.frame(slice, &mut self.waiting);
        }
        count
    }

    #[cfg(target_os = "linux")]
    fn write_out(&mut self, sink: &mut impl Write) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        while self.sent < self.waiting.len() {
            match sink.write(&self.waiting[self.sent..])? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.sent += count,
            }
        }
        self.all_sent();
        Ok(())
    }

    /// Notes that the socket has all waiting frames. Their memory is kept while much is sent, and
    /// freed once little is.
    fn all_sent(&mut self) {
        if self.waiting.len() < self.waiting.capacity() / 16 {
            self.waiting = Vec::new();
        }
        self.waiting.clear();
        self.sent = 0;
    }
}

/// Receiving half of a WebSocket.
#[derive(Debug)]
pub struct Reading<L> {
    link: L,
    session: Arc<Session>,
    /// State of the receiving direction, always present.
    receiving: Option<Receiving>,
}

impl<L> Reading<L> {
    pub(in crate::link) fn new(link: L, session: Arc<Session>) -> Self {
        let receiving = session.receiving.lock().take();
        Reading {
            link,
            session,
            receiving,
        }
    }

    pub(in crate::link) fn into_parts(self) -> (L, Arc<Session>) {
        *self.session.receiving.lock() = self.receiving;
        (self.link, self.session)
    }
}

impl Receiving {
    /// Copies bytes that have to be passed again into `buffer`, as far as there is room. Returns
    /// the number of bytes.
    fn recall(&mut self, buffer: &mut [u8]) -> usize {
        let count = self.unread.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.unread[..count]);
        self.unread.drain(..count);
        if self.unread.is_empty() {
            // Large rests are rare, and their memory is not kept.
            self.unread = Vec::new();
        }
        count
    }

    /// Reads bytes of the socket into the buffer's spare part: those that were left, or those of
    /// one read. Returns their range; `None` at the end of the stream.
    async fn bring(
        &mut self,
        session: &Session,
        link: &mut impl LinkRead,
        mut buf: RxBuf,
    ) -> (io::Result<Option<Range<usize>>>, RxBuf) {
        // Bytes for the link come first.
        let spare = buf.spare_mut();
        let Some(start) = self.unframing.place_in(spare.len()) else {
            return (Ok(Some(0..0)), buf);
        };
        // Use bytes that were left before reading.
        let mut count = self.recall(&mut spare[start..]);
        if count == 0 && self.unframing.is_over() {
            session.say_close(NORMAL);
            return (Ok(None), buf);
        }
        // Read from the socket behind `start`.
        if count == 0 {
            let filled = buf.filled().len();
            buf.advance(start);
            let (result, back) = link.read(buf).await;
            buf = back;
            count = match result {
                Ok(count) => count,
                Err(error) => return (Err(error), buf),
            };
            buf.set_filled(filled);
            if count == 0 {
                return (Ok(None), buf);
            }
        }
        (Ok(Some(start..start + count)), buf)
    }

    /// Converts the bytes at `came` in `buffer` to bytes of the link, at its front.
    fn pass(
        &mut self,
        session: &Session,
        buffer: &mut [u8],
        came: Range<usize>,
    ) -> io::Result<usize> {
        let passed = self.unframing.pass(buffer, came.clone());
        let passed = passed.map_err(|broken| {
            session.say_close(broken.code);
            io::Error::new(io::ErrorKind::InvalidData, RulesBroken(broken.to_string()))
        })?;
        let left = came.start + passed.taken..came.end;
        if self.unframing.is_over() {
            self.unread = Vec::new();
        } else if !left.is_empty() {
            self.unread.splice(..0, buffer[left].iter().copied());
        }
        let keeps = self.unframing.held() + self.unread.capacity();
        session.keeps.store(keeps, Ordering::Relaxed);
        if let Some(ping) = self.unframing.take_ping() {
            session.answer(ping);
        }
        Ok(passed.given)
    }
}

impl<L: LinkRead> LinkRead for Reading<L> {
    /// Reads frames into the buffer of the link, and converts them in place.
    async fn read(&mut self, mut buf: RxBuf) -> (io::Result<usize>, RxBuf) {
        let Some(receiving) = self
            .receiving
            .as_mut()
            .filter(|_| !buf.spare_mut().is_empty())
        else {
            return (Err(io::ErrorKind::InvalidInput.into()), buf);
        };
        loop {
            let (came, back) = receiving.bring(&self.session, &mut self.link, buf).await;
            buf = back;
            let came = match came {
                Ok(Some(came)) => came,
                Ok(None) => return (Ok(0), buf),
                Err(error) => return (Err(error), buf),
            };
            match receiving.pass(&self.session, buf.spare_mut(), came) {
                Ok(0) => {}
                Ok(given) => {
                    buf.advance(given);
                    return (Ok(given), buf);
                }
                Err(error) => return (Err(error), buf),
            }
            // Frames without content for the link must not starve other tasks.
            pause().await;
        }
    }
}

/// Yields to other tasks of the runtime.
async fn pause() {
    let mut is_over = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Sending half of a WebSocket.
#[derive(Debug)]
pub struct Writing<L> {
    link: L,
    session: Arc<Session>,
}

impl<L> Writing<L> {
    pub(in crate::link) fn new(link: L, session: Arc<Session>) -> Self {
        Writing { link, session }
    }

    pub(in crate::link) fn into_inner(self) -> L {
        self.link
    }
}

impl<L: LinkWrite> LinkWrite for Writing<L> {
    async fn write_all<S: Segments>(&mut self, segments: S) -> (io::Result<()>, S) {
        let (mut at, mut written) = (Cursor::default(), QueuedFrames::default());
        while let Some(frames) = self.session.lend(&segments, &mut at, written) {
            let (result, back) = self.link.write_all(frames).await;
            if let Err(error) = result {
                return (Err(error), segments);
            }
            written = back;
        }
        (Ok(()), segments)
    }

    async fn writable(&mut self) -> io::Result<()> {
        self.link.writable().await
    }

    async fn shutdown(&mut self) -> io::Result<()> {
        self.session.say_close(NORMAL);
        self.link.shutdown().await
    }
}
