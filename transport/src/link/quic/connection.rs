// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of one connection, and the tasks that wait for it.
//!
//! The task that changes the state (the endpoint's for received datagrams, the link's for sent bytes) also sends the
//! resulting packets, before it releases the lock.

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

use super::super::carrier::{ByteCarrier, Framed};
use super::super::tls::first_end;
use super::endpoint_driver::EndpointDriver;
use super::inbox::StateInbox;
use super::incoming::Incoming;
use super::outgoing;
use super::outgoing::Outgoing;
use super::reasons::error_of;
use super::streams::Streams;
use super::terms::{
    Carrier, DATAGRAM_BUFFER_BYTES, RECEIVE_WINDOW, SEND_WINDOW, STREAMS, has_lanes,
};

/// Maximum bytes that are read at once.
const READ_BYTES_MAX: usize = 128 * 1024;

/// Maximum number of datagrams that are taken at once.
const DATAGRAMS_MAX: usize = 64;

/// Maximum number of system calls for the packets of one change, before the task yields to other tasks.
const SENDS_MAX: usize = 32;

/// Time for which a closed or lost connection is kept for packets that may still arrive. QUIC keeps it for some round
/// trips, which a peer that confirms late extends to hours.
const KEPT_CLOSED: Duration = Duration::from_secs(10);

/// Interval of attempts at a full socket.
const SOCKET_FULL: Duration = Duration::from_millis(1);

/// Bytes of a queued datagram in addition to its content.
const DATAGRAM_OVERHEAD: usize = size_of::<Bytes>();

/// Number of unconfirmed bytes below which the connection counts as fully confirmed.
const UNCONFIRMED_MIN: u64 = 64 * 1024;

/// Connection of an endpoint.
pub(super) struct Connection {
    hub: Arc<EndpointDriver>,
    handle: ConnectionHandle,
    remote: SocketAddr,
    /// State, and received datagrams that are not processed yet.
    desk: StateInbox<State, ConnectionEvent>,
    opening: AtomicWaker,
    reader: AtomicWaker,
    writer: AtomicWaker,
    kept: Retained,
}

/// Bytes that are kept in addition to the state.
#[derive(Default)]
struct Retained {
    /// Bytes kept by the state, at the last look.
    state: AtomicUsize,
    /// Sent bytes of the link that no stream has taken.
    outgoing: AtomicUsize,
    /// Received bytes for the link: incomplete batches, and the chunks that are being passed to it.
    incoming: AtomicUsize,
    given: AtomicUsize,
    /// Size of the buffer that the link's bytes are read into.
    buffer: AtomicUsize,
}

struct State {
    proto: quinn_proto::Connection,
    carrier: Carrier,
    streams: Streams,
    /// Set once there is a link. The peer's bytes may arrive from then on.
    is_open: bool,
    /// Cause of the loss, once the connection is lost.
    lost: Option<Loss>,
    /// Time at which a lost connection is given up.
    forget_at: Option<Instant>,
    /// Packets in `buffer` that the socket did not take.
    unsent: Option<Transmit>,
    buffer: Vec<u8>,
    /// Time of the endpoint's next call for this connection, as last set.
    timeout: Option<Instant>,
    /// Bytes written since the peer had confirmed all.
    written: u64,
    /// Totals at the last time when no unread bytes were left: bytes of the network, and pieces of streams in them.
    all_read: (u64, u64),
    /// Set while the peer's address is not verified.
    is_strange: bool,
    /// Set once the endpoint has removed it.
    is_over: bool,
}

/// Cause of the loss of a connection.
#[derive(Debug, Clone)]
pub(super) enum Loss {
    /// No socket listens at the address.
    Refused,
    /// The peer takes no datagrams.
    NoDatagrams,
    /// The error that ended it.
    Ended(ConnectionError),
}

/// Tasks to be woken.
#[derive(Default)]
struct WakeList {
    opening: bool,
    reader: bool,
    writer: bool,
}

impl WakeList {
    const ALL: WakeList = WakeList {
        opening: true,
        reader: true,
        writer: true,
    };
}

/// Connection that is closed on drop.
pub(super) struct Closing(pub(super) Arc<Connection>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl std::fmt::Debug for Closing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Held").field(&self.0.remote).finish()
    }
}

impl Connection {
    pub(super) fn new(
        hub: Arc<EndpointDriver>,
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
            desk: StateInbox::new(state),
            opening: AtomicWaker::new(),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
            kept: Retained::default(),
        })
    }

    pub(super) fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// Changes the state, and performs the consequences.
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

    fn wake(&self, woken: &WakeList) {
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

    /// Puts a datagram into the inbox; [`Connection::see_to_inbox`] processes it.
    pub(super) fn take_in(&self, event: ConnectionEvent) {
        self.desk.bring(event);
    }

    /// Processes the received datagrams, or leaves them to the task that works on the state at the moment: the caller
    /// would have to wait, for each confirmation anew, while that task encrypts and sends.
    pub(super) fn see_to_inbox(&self) {
        let look = |state: &mut State, arrived| {
            state.take_in(arrived);
            state.handle_due();
            self.settle(state)
        };
        self.desk.see_to_inbox(look, |woken| self.wake(&woken));
    }

    /// Performs the work that is due.
    pub(super) fn look_after(&self) {
        self.work(State::handle_due);
    }

    /// Gives an opening connection up as the system reports, or a forged packet, that no socket is at the address.
    pub(super) fn refuse(&self) {
        self.work(|state| {
            if !state.is_open && state.lost.is_none() {
                state.lost = Some(Loss::Refused);
                state.end();
            }
        });
        self.wake(&WakeList::ALL);
    }

    /// Closes the connection, and notifies the peer, if it is still open.
    pub(super) fn close(&self) {
        self.work(|state| {
            if state.lost.is_none() {
                state.lost = Some(Loss::Ended(ConnectionError::LocallyClosed));
                state.end();
            }
        });
        self.wake(&WakeList::ALL);
    }

    /// Waits until there is a link.
    ///
    /// # Errors
    /// The cause of the loss.
    pub(super) async fn opened(&self) -> Result<(), Loss> {
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

    /// Returns the time at which the first of the peer's certificates expires.
    pub(super) fn valid_until(&self) -> Option<SystemTime> {
        first_end(&self.shown()?)
    }

    /// Returns the certificates that the peer has shown.
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

    /// Sends bytes of a link; returns how many are processed.
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

    /// Sends queued bytes, as many as possible; ready while there is room for more.
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

    /// Sends all queued bytes.
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

    /// Sends queued bytes, as many as possible.
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

    /// Sends a datagram, as soon as there is room. One that is too long for the path to the peer is lost.
    pub(super) fn poll_send(
        &self,
        context: &mut Context<'_>,
        datagram: &Bytes,
    ) -> Poll<io::Result<()>> {
        self.writer.register(context.waker());
        self.work(|state| state.send(datagram.clone()))
    }

    /// Returns true if no datagram waits to be sent. No task is woken when that becomes true.
    pub(super) fn has_sent(&self) -> bool {
        let mut state = self.desk.lock();
        // The buffer is empty if it has room for its maximum.
        let most = DATAGRAM_BUFFER_BYTES - DATAGRAM_OVERHEAD;
        state.lost.is_some() || state.proto.datagrams().send_buffer_space() >= most
    }

    /// Takes received bytes in batches of all streams, or unchanged on a single one; an empty result is the end.
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

    /// Notes the number of bytes that are being passed to the link.
    pub(super) fn note_given(&self, bytes: usize) {
        self.kept.given.store(bytes, Ordering::Relaxed);
    }

    /// Takes the received datagrams.
    pub(super) fn poll_receive(&self, context: &mut Context<'_>) -> Poll<io::Result<Vec<Bytes>>> {
        self.reader.register(context.waker());
        self.work(State::receive)
    }

    /// Ends the sending direction.
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

    /// Sends pending packets, sets the endpoint's timer, and returns the tasks to wake.
    fn settle(&self, state: &mut State) -> WakeList {
        if state.is_over {
            return WakeList::default();
        }
        let now = Instant::now();
        // Exchange events with the endpoint, and send packets.
        while self.hand_on(state) {}
        let mut again = self.transmit(state, now);
        let woken = state.take_events();
        if self.hand_on(state) {
            again = Some(now);
        }
        // Note the end of the handshake, and the end of the connection.
        if state.is_strange && (state.is_open || state.lost.is_some()) {
            state.is_strange = false;
            self.hub.note_known();
        }
        if !state.is_over && state.is_done(now, self.hub.forgets()) {
            self.hub.forget(self.handle);
            state.is_over = true;
        }
        // Set the timer to the next work.
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

    /// Passes events to the endpoint. True if there was an answer, which may produce packets to send.
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

    /// Sends pending packets. Returns the time to continue, if packets are left.
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

impl ByteCarrier for Connection {
    fn held(&self) -> usize {
        // Another task holds the lock and sends or receives: the number of the last look stands.
        if let Some(mut state) = self.desk.try_lock() {
            state.streams.recycled().look_after(Instant::now());
            let copies = state.streams.recycled().bytes();
            let now = state.unconfirmed().max(copies) + state.unread();
            self.kept.state.store(now, Ordering::Relaxed);
        }
        let Retained {
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
    /// Processes received datagrams.
    fn take_in(&mut self, arrived: Vec<ConnectionEvent>) {
        for event in arrived {
            self.proto.handle_event(event);
        }
    }

    /// Performs the work that is due.
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

    /// Returns true if a lost connection need not be kept any longer, or with `at_once` not at all.
    fn is_done(&mut self, now: Instant, at_once: bool) -> bool {
        if self.lost.is_none() {
            return false;
        }
        let forget_at = *self.forget_at.get_or_insert(now + KEPT_CLOSED);
        forget_at <= now || at_once && self.unsent.is_none()
    }

    fn take_events(&mut self) -> WakeList {
        let mut woken = WakeList::default();
        // Translate events of the library into state and tasks to wake.
        while let Some(event) = self.proto.poll() {
            match event {
                Event::Connected => woken.opening |= self.note_connected(),
                Event::Stream(StreamEvent::Opened { .. }) => {
                    self.streams.accept(&mut self.proto);
                    self.is_open |= self.streams.is_open();
                    (woken.opening, woken.reader) = (true, true);
                }
                Event::ConnectionLost { reason } => {
                    self.lost.get_or_insert(Loss::Ended(reason));
                    woken = WakeList::ALL;
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

    /// Opens the agreed streams once the handshake of QUIC is over. True if there is a link, or never will be.
    fn note_connected(&mut self) -> bool {
        if self.carrier == Carrier::Datagrams {
            self.is_open = self.proto.datagrams().max_size().is_some();
            if !self.is_open {
                self.lost.get_or_insert(Loss::NoDatagrams);
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

    /// Calls `act` with a writer to the streams.
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

    /// Returns ready if the peer has confirmed all that was written: there is room in the smallest window.
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

    /// Returns an upper bound of the unconfirmed bytes, or of queued datagrams. The library shows only if a window
    /// of some size has room, which costs a frame without bytes where something was written.
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

    /// Returns an upper bound of the received bytes that were not read, including their overhead on the network.
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

    /// Returns the bytes that the network has brought, and the pieces of streams or datagrams in them.
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

    /// Takes received bytes, the most urgent stream first: the first one declares the ids that the other streams name.
    /// `held` streams keep their bytes while the first one may bring declarations. A lost connection yields the rest.
    fn read(
        &mut self,
        incoming: &mut Incoming,
        framed: Framed,
        held: u8,
    ) -> Poll<io::Result<Vec<Bytes>>> {
        let is_one = !self.streams.has_lanes() || framed == Framed::Bare;
        let mut taken = Scan {
            room: READ_BYTES_MAX,
            ..Scan::default()
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
            // The closing batch follows the batches of all streams.
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

    /// Takes received bytes of one stream, as far as there is room.
    fn take(&mut self, stream: usize, incoming: &mut Incoming, is_one: bool, taken: &mut Scan) {
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

/// Result of one look at the streams.
#[derive(Default)]
struct Scan {
    /// Whole batches, or raw bytes where there are no batches.
    found: Vec<Bytes>,
    /// Bytes that may still be taken.
    room: usize,
    /// Set once the first stream has ended.
    is_end: bool,
    /// Error of a stream that yields no more bytes.
    broken: Option<io::Error>,
}

#[cfg(test)]
mod tests;
