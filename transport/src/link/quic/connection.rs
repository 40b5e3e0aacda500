// SPDX-License-Identifier: MIT OR Apache-2.0
//! One connection: its state, and who waits for it.
//!
//! The task that changes the state (the task of the endpoint for what comes, the task of the link for what goes) also sends what
//! follows from that, before the lock is given back.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use atomic_waker::AtomicWaker;
use bytes::Bytes;
use quinn_proto::crypto::rustls::HandshakeData;
use quinn_proto::{
    ConnectionError, ConnectionEvent, ConnectionHandle, Event, SendDatagramError, StreamEvent,
    Transmit, VarInt,
};
use rustls::pki_types::CertificateDer;

use super::super::carriage::{Carries, Framed};
use super::super::tls::first_end;
use super::desk::Desk;
use super::hub::Hub;
use super::incoming::Incoming;
use super::outgoing;
use super::outgoing::Outgoing;
use super::reasons::error_of;
use super::streams::Streams;
use super::terms::{
    Carrier, DATAGRAM_BUFFER_BYTES, RECEIVE_WINDOW, SEND_WINDOW, STREAMS, has_lanes,
};

/// The most bytes that are read at once.
const READ_BYTES_MAX: usize = 128 * 1024;

/// Datagrams that are taken at once.
const DATAGRAMS_MAX: usize = 64;

/// System calls for what one change has made ready to be sent, before other tasks have their turn.
const SENDS_MAX: usize = 32;

/// The time for which a connection that is closed, or lost, is kept for packets that may still come. QUIC keeps it for some round trips, and a
/// peer that confirms late makes them last for hours.
const KEPT_CLOSED: Duration = Duration::from_secs(10);

/// When a full socket is tried again.
const SOCKET_FULL: Duration = Duration::from_millis(1);

/// Bytes of a datagram that waits to be sent, beside its content.
const DATAGRAM_OVERHEAD: usize = size_of::<Bytes>();

/// The smallest number of bytes without a confirmation that is distinguished from none.
const UNCONFIRMED_MIN: u64 = 64 * 1024;

/// A connection of an endpoint.
pub(super) struct Connection {
    hub: Arc<Hub>,
    handle: ConnectionHandle,
    remote: SocketAddr,
    /// The state, and datagrams that came and were not looked at.
    desk: Desk<State, ConnectionEvent>,
    opening: AtomicWaker,
    reader: AtomicWaker,
    writer: AtomicWaker,
    kept: Kept,
}

/// Bytes that are kept beside the state.
#[derive(Default)]
struct Kept {
    /// By the state, as it was known last.
    state: AtomicUsize,
    /// Of what the link sends: what no stream takes.
    outgoing: AtomicUsize,
    /// Of what the link is to read: batches that are not whole, and the chunks that it is given.
    incoming: AtomicUsize,
    given: AtomicUsize,
    /// The buffer that the link's bytes are read into.
    buffer: AtomicUsize,
}

struct State {
    proto: quinn_proto::Connection,
    carrier: Carrier,
    streams: Streams,
    /// The link is there. What the peer sends may come by then.
    is_open: bool,
    /// Why nothing passes any more.
    lost: Option<Lost>,
    /// When it is given up, once it is lost.
    forget_at: Option<Instant>,
    /// The rest that the socket did not take, in `buffer`.
    unsent: Option<Transmit>,
    buffer: Vec<u8>,
    /// When the endpoint looks after this connection, as it was said to it.
    timeout: Option<Instant>,
    /// Bytes that were written since the peer had confirmed all.
    written: u64,
    /// The sum of what had come when nothing was left to be read: bytes of the network, and pieces of streams in them.
    all_read: (u64, u64),
    /// Its peer has not shown that it is honest.
    is_strange: bool,
    /// The endpoint knows it no more.
    is_over: bool,
}

/// Why a connection is lost.
#[derive(Debug, Clone)]
pub(super) enum Lost {
    /// No socket is at the address.
    Refused,
    /// The peer takes no datagrams.
    NoDatagrams,
    /// The error that ended it.
    Ended(ConnectionError),
}

/// The tasks that have something to look at.
#[derive(Default)]
struct Woken {
    opening: bool,
    reader: bool,
    writer: bool,
}

impl Woken {
    const ALL: Woken = Woken {
        opening: true,
        reader: true,
        writer: true,
    };
}

/// A connection that is closed when this is dropped.
pub(super) struct Held(pub(super) Arc<Connection>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Held").field(&self.0.remote).finish()
    }
}

impl Connection {
    pub(super) fn new(
        hub: Arc<Hub>,
        handle: ConnectionHandle,
        proto: quinn_proto::Connection,
    ) -> Arc<Connection> {
        let state = State {
            carrier: hub.carrier(),
            streams: Streams::default(),
            is_open: false,
            lost: None,
            forget_at: None,
            unsent: None,
            buffer: Vec::new(),
            timeout: None,
            written: 0,
            all_read: (0, 0),
            is_strange: proto.side().is_server(),
            is_over: false,
            proto,
        };
        Arc::new(Connection {
            hub,
            handle,
            remote: state.proto.remote_address(),
            desk: Desk::new(state),
            opening: AtomicWaker::new(),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
            kept: Kept::default(),
        })
    }

    pub(super) fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// Changes the state, and does what follows from that.
    fn work<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let (done, woken) = self.desk.work(|state, arrived| {
            state.take_in(arrived);
            let done = act(state);
            (done, self.settle(state))
        });
        self.wake(&woken);
        self.see_to_inbox();
        done
    }

    fn wake(&self, woken: &Woken) {
        for (waker, wanted) in [
            (&self.opening, woken.opening),
            (&self.reader, woken.reader),
            (&self.writer, woken.writer),
        ] {
            if wanted {
                waker.wake();
            }
        }
    }

    /// Takes in a datagram; [`Connection::see_to_inbox`] does what follows.
    pub(super) fn take_in(&self, event: ConnectionEvent) {
        self.desk.bring(event);
    }

    /// Looks at the datagrams that came, or leaves that to the task that works on the state at the moment: that one would have to
    /// be waited for while it encrypts and sends, for each confirmation anew.
    pub(super) fn see_to_inbox(&self) {
        let look = |state: &mut State, arrived| {
            state.take_in(arrived);
            state.handle_due();
            self.settle(state)
        };
        self.desk.see_to_inbox(look, |woken| self.wake(&woken));
    }

    /// Does what is due.
    pub(super) fn look_after(&self) {
        self.work(State::handle_due);
    }

    /// Gives it up as no socket is at the address, by the word of the system. Any machine can forge that word: it counts only while
    /// the connection opens.
    pub(super) fn refuse(&self) {
        self.work(|state| {
            if !state.is_open && state.lost.is_none() {
                state.lost = Some(Lost::Refused);
                state.end();
            }
        });
        self.wake(&Woken::ALL);
    }

    /// Says to the peer that it is over, if it is not yet.
    pub(super) fn close(&self) {
        self.work(|state| {
            if state.lost.is_none() {
                state.lost = Some(Lost::Ended(ConnectionError::LocallyClosed));
                state.end();
            }
        });
        self.wake(&Woken::ALL);
    }

    /// Waits until there is a link.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn opened(&self) -> Result<(), Lost> {
        poll_fn(|context| {
            self.opening.register(context.waker());
            let state = self.desk.lock();
            match &state.lost {
                Some(lost) => Poll::Ready(Err(lost.clone())),
                None if state.is_open => Poll::Ready(Ok(())),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// When the first of the certificates expires that the peer has shown.
    pub(super) fn valid_until(&self) -> Option<SystemTime> {
        first_end(&self.shown()?)
    }

    /// The certificates that the peer has shown.
    pub(super) fn shown(&self) -> Option<Vec<CertificateDer<'static>>> {
        let shown = self.desk.lock().proto.crypto_session().peer_identity()?;
        shown.downcast().ok().map(|shown| *shown)
    }

    /// Returns the carrier of the link's batches.
    pub(super) fn carrier(&self) -> Carrier {
        self.desk.lock().carrier
    }

    /// Returns `true` if each priority has a stream of its own.
    pub(super) fn has_lanes(&self) -> bool {
        self.desk.lock().streams.has_lanes()
    }

    /// Has bytes of a link sent; tells how many are dealt with.
    ///
    /// # Errors
    /// The connection is lost, or the peer wants no more.
    pub(super) fn put(
        &self,
        outgoing: &mut Outgoing,
        bytes: &[u8],
        framed: Framed,
    ) -> io::Result<usize> {
        let result = self.work(|state| {
            let copy = state.streams.recycled().copy(bytes, Instant::now());
            state.write_by(|write| outgoing.put(&copy.freeze(), framed, write))
        });
        self.note_outgoing(outgoing);
        result
    }

    /// Has what waits sent, as much as may be; ready while there is room for more.
    pub(super) fn poll_room(
        &self,
        context: &mut Context<'_>,
        outgoing: &mut Outgoing,
    ) -> Poll<io::Result<()>> {
        self.poll_flush(context, outgoing)?;
        match outgoing.has_room() {
            true => Poll::Ready(Ok(())),
            false => Poll::Pending,
        }
    }

    /// Has all that waits sent.
    pub(super) async fn flush(&self, outgoing: &mut Outgoing) -> io::Result<()> {
        poll_fn(|context| {
            self.poll_flush(context, outgoing)?;
            match outgoing.is_empty() {
                true => Poll::Ready(Ok(())),
                false => Poll::Pending,
            }
        })
        .await
    }

    /// Has what waits sent, as much as may be.
    ///
    /// # Errors
    /// The errors of [`Connection::put`].
    pub(super) fn poll_flush(
        &self,
        context: &mut Context<'_>,
        outgoing: &mut Outgoing,
    ) -> io::Result<()> {
        if outgoing.is_empty() {
            return Ok(());
        }
        self.writer.register(context.waker());
        let result = self.work(|state| state.write_by(|write| outgoing.flush(write)));
        self.note_outgoing(outgoing);
        result
    }

    /// Waits until the peer has confirmed all that was written, or is gone.
    pub(super) async fn confirmed(&self) {
        poll_fn(|context| {
            self.writer.register(context.waker());
            self.work(State::confirmed)
        })
        .await;
    }

    /// Has a datagram sent, as soon as there is room. One that is too long for the way to the peer is lost.
    pub(super) fn poll_send(
        &self,
        context: &mut Context<'_>,
        datagram: &Bytes,
    ) -> Poll<io::Result<()>> {
        self.writer.register(context.waker());
        self.work(|state| state.send(datagram.clone()))
    }

    /// Returns `true` if no datagram waits to be sent. No task is woken when that is so.
    pub(super) fn has_sent(&self) -> bool {
        let mut state = self.desk.lock();
        // There is room for as many as ever.
        let most = DATAGRAM_BUFFER_BYTES - DATAGRAM_OVERHEAD;
        state.lost.is_some() || state.proto.datagrams().send_buffer_space() >= most
    }

    /// Takes what has come in batches of all streams, or as it is on one; nothing is the end.
    pub(super) fn poll_read(
        &self,
        context: &mut Context<'_>,
        incoming: &mut Incoming,
        framed: Framed,
        held: u8,
    ) -> Poll<io::Result<Vec<Bytes>>> {
        self.reader.register(context.waker());
        let result = self.work(|state| state.read(incoming, framed, held));
        let kept = incoming.kept_bytes();
        self.kept.incoming.store(kept, Ordering::Relaxed);
        result
    }

    fn note_outgoing(&self, outgoing: &Outgoing) {
        let waits = outgoing.waiting_bytes();
        self.kept.outgoing.store(waits, Ordering::Relaxed);
    }

    /// Notes the size of the buffer into which the link's bytes are read.
    pub(super) fn note_buffer(&self, bytes: usize) {
        self.kept.buffer.store(bytes, Ordering::Relaxed);
    }

    /// The link is given so many bytes now, and has not taken them.
    pub(super) fn note_given(&self, bytes: usize) {
        self.kept.given.store(bytes, Ordering::Relaxed);
    }

    /// Takes the datagrams that have come.
    pub(super) fn poll_receive(&self, context: &mut Context<'_>) -> Poll<io::Result<Vec<Bytes>>> {
        self.reader.register(context.waker());
        self.work(State::receive)
    }

    /// Nothing more is written.
    pub(super) fn finish(&self) {
        self.work(|state| {
            if state.lost.is_none() {
                state.streams.finish(&mut state.proto);
            }
        });
    }

    /// Waits until the peer has all that was written, or is gone.
    pub(super) async fn finished(&self) {
        poll_fn(|context| {
            self.writer.register(context.waker());
            let state = self.desk.lock();
            match state.streams.is_finished() || state.lost.is_some() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    /// Sends what is to be sent, has the endpoint look after what is due later, and says who has something to look at.
    fn settle(&self, state: &mut State) -> Woken {
        if state.is_over {
            return Woken::default();
        }
        let now = Instant::now();
        while self.hand_on(state) {}
        let mut again = self.transmit(state, now);
        let woken = state.take_events();
        if self.hand_on(state) {
            again = Some(now);
        }
        if state.is_strange && (state.is_open || state.lost.is_some()) {
            state.is_strange = false;
            self.hub.note_known();
        }
        if !state.is_over && state.is_done(now, self.hub.forgets()) {
            self.hub.forget(self.handle);
            state.is_over = true;
        }
        let due = match state.is_over {
            true => None,
            false => {
                let due = [state.proto.poll_timeout(), again, state.forget_at];
                due.into_iter().flatten().min()
            }
        };
        self.hub.set_timer(self.handle, state.timeout, due);
        state.timeout = due;
        woken
    }

    /// Hands what concerns the endpoint on to it. Whether there was an answer, which may be something to send.
    fn hand_on(&self, state: &mut State) -> bool {
        let mut answered = false;
        while let Some(event) = state.proto.poll_endpoint_events() {
            state.is_over |= event.is_drained();
            if let Some(answer) = self.hub.tell(self.handle, event) {
                state.proto.handle_event(answer);
                answered = true;
            }
        }
        answered
    }

    /// Sends what there is. Tells when to go on, if something is left.
    fn transmit(&self, state: &mut State, now: Instant) -> Option<Instant> {
        let post = self.hub.post();
        for _ in 0..SENDS_MAX {
            let next = match state.unsent.take() {
                Some(unsent) => Some(unsent),
                None => {
                    state.buffer.clear();
                    let most = post.segments_max(state.proto.current_mtu());
                    state.proto.poll_transmit(now, most, &mut state.buffer)
                }
            };
            let next = next?;
            if post.send(&next, &state.buffer).is_err() {
                state.unsent = Some(next);
                return Some(now + SOCKET_FULL);
            }
        }
        Some(now)
    }
}

impl Carries for Connection {
    fn held(&self) -> usize {
        // A task that holds the lock sends or receives: the figure of the last look stands.
        if let Some(mut state) = self.desk.try_lock() {
            state.streams.recycled().look_after(Instant::now());
            let copies = state.streams.recycled().bytes();
            let now = state.unconfirmed().max(copies) + state.unread();
            self.kept.state.store(now, Ordering::Relaxed);
        }
        let Kept {
            state,
            outgoing,
            incoming,
            given,
            buffer,
        } = &self.kept;
        let all = [state, outgoing, incoming, given, buffer].into_iter();
        all.map(|bytes| bytes.load(Ordering::Relaxed)).sum()
    }
}

impl State {
    /// Takes datagrams in.
    fn take_in(&mut self, arrived: Vec<ConnectionEvent>) {
        for event in arrived {
            self.proto.handle_event(event);
        }
    }

    /// Does what is due.
    fn handle_due(&mut self) {
        let now = Instant::now();
        if self.proto.poll_timeout().is_some_and(|due| due <= now) {
            self.proto.handle_timeout(now);
        }
    }

    fn end(&mut self) {
        let reason = Bytes::from_static(&[0]);
        self.proto
            .close(Instant::now(), VarInt::from_u32(0), reason);
    }

    /// Tells if a connection that is lost need not be kept any longer, or any time at all.
    fn is_done(&mut self, now: Instant, at_once: bool) -> bool {
        if self.lost.is_none() {
            return false;
        }
        let forget_at = *self.forget_at.get_or_insert(now + KEPT_CLOSED);
        forget_at <= now || at_once && self.unsent.is_none()
    }

    fn take_events(&mut self) -> Woken {
        let mut woken = Woken::default();
        while let Some(event) = self.proto.poll() {
            match event {
                Event::Connected => woken.opening |= self.note_connected(),
                Event::Stream(StreamEvent::Opened { .. }) => {
                    self.streams.accept(&mut self.proto);
                    self.is_open |= self.streams.is_open();
                    (woken.opening, woken.reader) = (true, true);
                }
                Event::ConnectionLost { reason } => {
                    self.lost.get_or_insert(Lost::Ended(reason));
                    woken = Woken::ALL;
                }
                Event::Stream(StreamEvent::Readable { .. }) | Event::DatagramReceived => {
                    woken.reader = true;
                }
                Event::Stream(StreamEvent::Writable { .. }) | Event::DatagramsUnblocked => {
                    woken.writer = true;
                }
                Event::Stream(StreamEvent::Finished { id } | StreamEvent::Stopped { id, .. }) => {
                    self.streams.note_finished(id);
                    woken.writer = true;
                }
                _ => {}
            }
        }
        woken
    }

    /// The handshake of QUIC is over: opens what the two ends have agreed on. Whether the link is there, or never is.
    fn note_connected(&mut self) -> bool {
        if self.carrier == Carrier::Datagrams {
            self.is_open = self.proto.datagrams().max_size().is_some();
            if !self.is_open {
                self.lost.get_or_insert(Lost::NoDatagrams);
                self.end();
            }
            return true;
        }
        let agreed = self.proto.crypto_session().handshake_data();
        let agreed = agreed.and_then(|data| data.downcast::<HandshakeData>().ok());
        let name = agreed.and_then(|data| data.protocol);
        let has_lanes = name.is_some_and(|name| has_lanes(&name));
        self.streams.open(&mut self.proto, has_lanes);
        self.is_open = self.streams.is_open();
        self.is_open
    }

    /// Gives an action what writes to the streams.
    fn write_by<T>(
        &mut self,
        act: impl FnOnce(&mut outgoing::Write<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        if let Some(lost) = &self.lost {
            return Err(error_of(lost, io::ErrorKind::BrokenPipe));
        }
        let (streams, proto, written) = (&self.streams, &mut self.proto, &mut self.written);
        act(&mut |stream, bytes| {
            let result = streams.write(proto, stream, bytes);
            if let Poll::Ready(Ok(count)) = result {
                *written += count as u64;
            }
            result
        })
    }

    /// Ready if the peer has confirmed all that was written: there is room in the smallest window.
    fn confirmed(&mut self) -> Poll<()> {
        if self.lost.is_some() {
            return Poll::Ready(());
        }
        self.proto.set_send_window(1);
        match self.streams.write(&mut self.proto, 0, &mut Bytes::new()) {
            Poll::Ready(_) => {
                self.proto.set_send_window(SEND_WINDOW);
                self.written = 0;
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// Bytes that the peer has not confirmed, at most, or datagrams that wait to be sent. Nothing tells how many they are but whether
    /// there is room in a window of some size; what that costs is a frame without bytes, where something was written.
    fn unconfirmed(&mut self) -> usize {
        if self.carrier == Carrier::Datagrams {
            let room = self.proto.datagrams().send_buffer_space();
            return DATAGRAM_BUFFER_BYTES.saturating_sub(room + DATAGRAM_OVERHEAD);
        }
        if self.written == 0 || self.confirmed().is_ready() {
            return 0;
        }
        let most = self.written.min(SEND_WINDOW);
        let mut window = UNCONFIRMED_MIN;
        while window < most {
            self.proto.set_send_window(window);
            let none = &mut Bytes::new();
            if self.streams.write(&mut self.proto, 0, none).is_ready() {
                break;
            }
            window *= 2;
        }
        self.proto.set_send_window(SEND_WINDOW);
        window.min(most) as usize
    }

    /// Bytes that have come and were not read, at most: with all that the network brought beside them.
    fn unread(&self) -> usize {
        let most = match self.carrier {
            Carrier::Streams => RECEIVE_WINDOW as usize,
            Carrier::Datagrams => DATAGRAM_BUFFER_BYTES,
        };
        let ((bytes, pieces), (had, had_pieces)) = (self.received(), self.all_read);
        match self.lost.is_some() || pieces == had_pieces {
            true => 0,
            false => usize::try_from(bytes - had).map_or(most, |bytes| bytes.min(most)),
        }
    }

    /// Bytes that the network has brought, and pieces of streams or datagrams in them.
    fn received(&self) -> (u64, u64) {
        let stats = self.proto.stats();
        (
            stats.udp_rx.bytes,
            stats.frame_rx.stream + stats.frame_rx.datagram,
        )
    }

    fn send(&mut self, datagram: Bytes) -> Poll<io::Result<()>> {
        if let Some(lost) = &self.lost {
            return Poll::Ready(Err(error_of(lost, io::ErrorKind::BrokenPipe)));
        }
        let bytes = datagram.len();
        match self.proto.datagrams().send(datagram, false) {
            Ok(()) => Poll::Ready(Ok(())),
            Err(SendDatagramError::Blocked(_)) => Poll::Pending,
            Err(error) => {
                tracing::debug!("a datagram of {bytes} bytes is lost: {error}");
                Poll::Ready(Ok(()))
            }
        }
    }

    fn receive(&mut self) -> Poll<io::Result<Vec<Bytes>>> {
        let mut found = Vec::new();
        while found.len() < DATAGRAMS_MAX
            && let Some(datagram) = self.proto.datagrams().recv()
        {
            found.push(datagram);
        }
        if found.len() < DATAGRAMS_MAX {
            self.all_read = self.received();
        }
        match &self.lost {
            _ if !found.is_empty() => Poll::Ready(Ok(found)),
            Some(lost) => Poll::Ready(Err(error_of(lost, io::ErrorKind::ConnectionReset))),
            None => Poll::Pending,
        }
    }

    /// Takes what has come, the most urgent stream first: the first one declares the ids that messages of the other streams name.
    /// Streams that are `held` keep what they have, as long as the first one may bring the declarations that they wait for. A
    /// connection that is lost still gives all that came before.
    fn read(
        &mut self,
        incoming: &mut Incoming,
        framed: Framed,
        held: u8,
    ) -> Poll<io::Result<Vec<Bytes>>> {
        let is_one = !self.streams.has_lanes() || framed == Framed::Bare;
        let mut taken = Taken {
            room: READ_BYTES_MAX,
            ..Taken::default()
        };
        if is_one || !incoming.has_last() {
            self.take(0, incoming, is_one, &mut taken);
        }
        let is_over = taken.is_end || incoming.has_last() || self.lost.is_some();
        let held = if is_over { 0 } else { held };
        let beside = match is_one || !incoming.is_introduced() {
            true => 0..0,
            false => 1..STREAMS,
        };
        let is_each = is_one || !beside.is_empty();
        let before = taken.room;
        for stream in beside.filter(|stream| held & 1 << stream == 0) {
            self.take(stream, incoming, false, &mut taken);
        }
        let is_all = taken.room > 0 && held == 0;
        if is_all && before == taken.room {
            // The last word stands behind all streams.
            incoming.take_last(&mut taken.found);
        }
        if is_all && is_each {
            self.all_read = self.received();
        }
        match (taken.broken, &self.lost) {
            _ if !taken.found.is_empty() || taken.is_end && is_all => Poll::Ready(Ok(taken.found)),
            (Some(error), _) => Poll::Ready(Err(error)),
            (None, Some(lost)) => Poll::Ready(Err(error_of(lost, io::ErrorKind::ConnectionReset))),
            (None, None) => Poll::Pending,
        }
    }

    /// Takes what has come on one stream, as far as there is room.
    fn take(&mut self, stream: usize, incoming: &mut Incoming, is_one: bool, taken: &mut Taken) {
        if taken.room == 0 {
            return;
        }
        let read = match self.streams.read(&mut self.proto, stream, taken.room) {
            Ok(read) => read,
            Err(error) => return taken.broken = Some(error),
        };
        taken.room -= read.bytes;
        taken.is_end |= stream == 0 && read.is_end;
        match is_one {
            true => incoming.take_bare(read.chunks, &mut taken.found),
            false => incoming.take(stream, read.chunks, &mut taken.found),
        }
    }
}

/// The result of one look at the streams.
#[derive(Default)]
struct Taken {
    /// Whole batches, or what is no batch where there are none.
    found: Vec<Bytes>,
    /// Bytes that may still be taken.
    room: usize,
    /// Nothing more comes on the first stream.
    is_end: bool,
    /// Why nothing more comes on one of them.
    broken: Option<io::Error>,
}

#[cfg(test)]
mod tests;
