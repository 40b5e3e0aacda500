// SPDX-License-Identifier: MIT OR Apache-2.0
//! One connection: its state, and who waits for it.
//!
//! The task that changes the state (the task of the endpoint for what comes, the task of the link for what goes) also sends what
//! follows from that, before the lock is given back.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use atomic_waker::AtomicWaker;
use bytes::Bytes;
use quinn_proto::{
    ConnectionError, ConnectionEvent, ConnectionHandle, Dir, Event, ReadError, StreamEvent,
    StreamId, Transmit, VarInt, WriteError,
};

use rustls::pki_types::CertificateDer;

use super::super::tls::first_end;
use super::hub::Hub;

/// What is read at once.
const READ_BYTES_MAX: usize = 128 * 1024;

/// System calls for what one change has made ready to be sent, before others have their turn.
const SENDS_MAX: usize = 32;

/// When a full socket is tried again.
const SOCKET_FULL: Duration = Duration::from_millis(1);

/// A connection of an endpoint.
pub(super) struct Connection {
    hub: Arc<Hub>,
    handle: ConnectionHandle,
    remote: SocketAddr,
    state: Mutex<State>,
    opening: AtomicWaker,
    reader: AtomicWaker,
    writer: AtomicWaker,
}

struct State {
    proto: quinn_proto::Connection,
    /// Both directions of the link. There once the two ends have it.
    stream: Option<StreamId>,
    /// Why nothing passes any more.
    lost: Option<Lost>,
    /// The peer has all that was written.
    finished: bool,
    /// What the socket did not take, in `buffer`.
    unsent: Option<Transmit>,
    buffer: Vec<u8>,
    /// When the endpoint looks after this connection, as it was said to it.
    timeout: Option<Instant>,
    /// Nobody knows whether its peer is honest.
    is_strange: bool,
    /// The endpoint knows it no more.
    is_over: bool,
}

/// Why a connection is lost.
#[derive(Debug, Clone)]
pub(super) enum Lost {
    /// Nobody is at the address.
    Refused,
    /// What happened to it.
    Ended(ConnectionError),
}

/// Who has something to look at.
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
            stream: None,
            lost: None,
            finished: false,
            unsent: None,
            buffer: Vec::new(),
            timeout: None,
            is_strange: proto.side().is_server(),
            is_over: false,
            proto,
        };
        Arc::new(Connection {
            hub,
            handle,
            remote: state.proto.remote_address(),
            state: Mutex::new(state),
            opening: AtomicWaker::new(),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
        })
    }

    pub(super) fn remote(&self) -> SocketAddr {
        self.remote
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and does what follows from that.
    fn work<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let (done, woken) = {
            let mut state = self.lock();
            let done = act(&mut state);
            (done, self.settle(&mut state))
        };
        self.wake(&woken);
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

    /// Takes in a datagram; [`Connection::look_after`] does what follows.
    pub(super) fn take_in(&self, event: ConnectionEvent) {
        self.lock().proto.handle_event(event);
    }

    /// Does what is due.
    pub(super) fn look_after(&self) {
        self.work(|state| {
            let now = Instant::now();
            if state.proto.poll_timeout().is_some_and(|due| due <= now) {
                state.proto.handle_timeout(now);
            }
        });
    }

    /// Nobody is at the address, as the system has heard. Anybody can say so: it counts while the connection opens only.
    pub(super) fn refuse(&self) {
        self.work(|state| {
            if state.stream.is_none() && state.lost.is_none() {
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

    /// Waits until there is a stream in both directions.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn opened(&self) -> Result<(), Lost> {
        poll_fn(|context| {
            self.opening.register(context.waker());
            let state = self.lock();
            match &state.lost {
                Some(lost) => Poll::Ready(Err(lost.clone())),
                None if state.stream.is_some() => Poll::Ready(Ok(())),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// When the first of the certificates expires that the peer has shown.
    pub(super) fn valid_until(&self) -> Option<SystemTime> {
        let shown = self.lock().proto.crypto_session().peer_identity()?;
        let shown: &Vec<CertificateDer<'static>> = shown.downcast_ref()?;
        first_end(shown)
    }

    /// Has bytes sent, as many as may wait for the peer; tells how many that is.
    pub(super) fn poll_write(
        &self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writer.register(context.waker());
        self.work(|state| state.write(bytes))
    }

    /// Takes what has come; nothing is the end of the stream.
    pub(super) fn poll_read(&self, context: &mut Context<'_>) -> Poll<io::Result<Vec<Bytes>>> {
        self.reader.register(context.waker());
        self.work(State::read)
    }

    /// Nothing more is written.
    pub(super) fn finish(&self) {
        self.work(|state| {
            let stream = state.stream.filter(|_| state.lost.is_none());
            let finished = stream.map(|stream| state.proto.send_stream(stream).finish());
            // The peer does not want it.
            state.finished |= !matches!(finished, Some(Ok(())));
        });
    }

    /// Waits until the peer has all that was written, or is gone.
    pub(super) async fn finished(&self) {
        poll_fn(|context| {
            self.writer.register(context.waker());
            let state = self.lock();
            match state.finished || state.lost.is_some() {
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
        if state.is_strange && (state.stream.is_some() || state.lost.is_some()) {
            state.is_strange = false;
            self.hub.note_known();
        }
        let is_silent = state.lost.is_some() && state.unsent.is_none();
        if !state.is_over && is_silent && self.hub.forgets() {
            self.hub.forget(self.handle);
            state.is_over = true;
        }
        let due = match state.is_over {
            true => None,
            false => state.proto.poll_timeout().into_iter().chain(again).min(),
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

impl State {
    fn end(&mut self) {
        let reason = Bytes::from_static(&[0]);
        self.proto
            .close(Instant::now(), VarInt::from_u32(0), reason);
    }

    fn take_events(&mut self) -> Woken {
        let mut woken = Woken::default();
        while let Some(event) = self.proto.poll() {
            match event {
                Event::Connected if self.proto.side().is_client() => {
                    self.stream = self.proto.streams().open(Dir::Bi);
                    woken.opening = true;
                }
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) if self.stream.is_none() => {
                    self.stream = self.proto.streams().accept(Dir::Bi);
                    woken.opening = true;
                }
                Event::ConnectionLost { reason } => {
                    self.lost.get_or_insert(Lost::Ended(reason));
                    woken = Woken::ALL;
                }
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => self.refuse_streams(),
                Event::Stream(StreamEvent::Readable { .. }) => woken.reader = true,
                Event::Stream(StreamEvent::Writable { .. }) => woken.writer = true,
                Event::Stream(StreamEvent::Finished { .. } | StreamEvent::Stopped { .. }) => {
                    self.finished = true;
                    woken.writer = true;
                }
                _ => {}
            }
        }
        woken
    }

    /// Streams in one direction carry nothing that this node knows: what comes on them is thrown away.
    fn refuse_streams(&mut self) {
        while let Some(stream) = self.proto.streams().accept(Dir::Uni) {
            // One that has ended already needs no end.
            let _ = self.proto.recv_stream(stream).stop(VarInt::from_u32(0));
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let stream = self.stream.filter(|_| self.lost.is_none());
        let Some(stream) = stream else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        match self.proto.send_stream(stream).write(bytes) {
            Ok(count) => Poll::Ready(Ok(count)),
            Err(WriteError::Blocked) => Poll::Pending,
            Err(_) => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// What came before a connection was lost is read all the same.
    fn read(&mut self) -> Poll<io::Result<Vec<Bytes>>> {
        let broken = || Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        let Some(stream) = self.stream else {
            return broken();
        };
        let mut received = self.proto.recv_stream(stream);
        let Ok(mut chunks) = received.read(true) else {
            return broken();
        };
        let (mut found, mut room) = (Vec::new(), READ_BYTES_MAX);
        let end = loop {
            match chunks.next(room) {
                Ok(Some(chunk)) => {
                    room -= chunk.bytes.len();
                    found.push(chunk.bytes);
                    if room == 0 {
                        break None;
                    }
                }
                Ok(None) => break Some(Ok(Vec::new())),
                Err(ReadError::Blocked) => break None,
                Err(_) => break Some(Err(io::ErrorKind::ConnectionReset.into())),
            }
        };
        // What follows for the peer is sent with all else.
        let _ = chunks.finalize();
        match end {
            _ if !found.is_empty() => Poll::Ready(Ok(found)),
            Some(end) => Poll::Ready(end),
            None if self.lost.is_some() => broken(),
            None => Poll::Pending,
        }
    }
}
