// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoint: one socket, the connections that share it, and the task that receives datagrams and
//! serves the timers.
//!
//! Locks are taken in this order: a connection's, then the endpoint's.

use std::collections::{BTreeSet, HashMap};
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use atomic_waker::AtomicWaker;
use quinn_proto::{
    ClientConfig, ConnectError, ConnectionEvent, ConnectionHandle, DatagramEvent, Endpoint,
    EndpointEvent, Incoming,
};
use zonda_runtime::{Runtime, Socket};

use super::super::{EndpointProblem, TlsSettings};
use super::certificates::ListenerCertificates;
use super::connection::{Closing, Connection};
use super::terms::{self, Carrier};
use super::udp_io::{ReceivedDatagrams, UdpIo};

/// Number of handshakes under way from which on peers have to prove their address first.
const RETRY_FROM: usize = 32;

/// Sleep of a task without a timer.
const LONG: Duration = Duration::from_secs(3600);

/// Wait after an error of the socket.
const PAUSE: Duration = Duration::from_millis(10);

/// Rounds of the task before it yields to other tasks.
const TURN: u32 = 16;

/// Endpoint of QUIC.
pub(super) struct EndpointDriver {
    post: UdpIo,
    carrier: Carrier,
    state: Mutex<State>,
    /// Configuration for incoming connections, if the endpoint listens.
    greeting: Option<ListenerCertificates>,
    strangers: AtomicUsize,
    is_stopped: AtomicBool,
    /// Set when the task has work in addition to the socket's.
    is_woken: AtomicBool,
    task: AtomicWaker,
}

struct State {
    endpoint: Endpoint,
    links: HashMap<ConnectionHandle, Arc<Connection>>,
    timers: BTreeSet<(Instant, usize)>,
    /// End of the task's sleep.
    asleep_until: Option<Instant>,
}

impl std::fmt::Debug for EndpointDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

impl EndpointDriver {
    /// # Errors
    /// The errors of the system.
    pub(super) fn new(
        socket: &Socket,
        carrier: Carrier,
        greeting: Option<ListenerCertificates>,
    ) -> io::Result<Arc<EndpointDriver>> {
        // The endpoint of the library has no socket: this one sends for it.
        let post = UdpIo::of(socket)?;
        let server = greeting.as_ref().map(|greeting| greeting.current(false));
        let config = Arc::new(terms::endpoint());
        let state = State {
            endpoint: Endpoint::new(config, server, !post.may_fragment(), None),
            links: HashMap::new(),
            timers: BTreeSet::new(),
            asleep_until: None,
        };
        Ok(Arc::new(EndpointDriver {
            post,
            carrier,
            state: Mutex::new(state),
            greeting,
            strangers: AtomicUsize::new(0),
            is_stopped: AtomicBool::new(false),
            is_woken: AtomicBool::new(false),
            task: AtomicWaker::new(),
        }))
    }

    /// Loads the certificates of other settings, for later connections.
    pub(super) fn renew(&self, settings: TlsSettings) -> Result<(), EndpointProblem> {
        let greeting = self.greeting.as_ref();
        greeting.map_or(Ok(()), |greeting| greeting.renew(settings))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn post(&self) -> &UdpIo {
        &self.post
    }

    /// Returns the carrier of the batches of its links.
    pub(super) fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Begins to connect.
    ///
    /// # Errors
    /// The name or the address cannot be connected to.
    pub(super) fn connect(
        self: &Arc<Self>,
        config: ClientConfig,
        to: SocketAddr,
        name: &str,
    ) -> Result<Closing, ConnectError> {
        let mut state = self.lock();
        let (handle, proto) = state.endpoint.connect(Instant::now(), config, to, name)?;
        let connection = Connection::new(Arc::clone(self), handle, proto);
        state.links.insert(handle, Arc::clone(&connection));
        drop(state);
        connection.look_after();
        Ok(Closing(connection))
    }

    /// Refuses new connections. The socket is closed when the last connection has ended.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        self.is_woken.store(true, Ordering::SeqCst);
        self.task.wake();
    }

    /// Returns true if closed connections are given up at once, so that the socket is free as soon
    /// as possible.
    pub(super) fn forgets(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    /// Notes that the address of a peer is verified, or that the peer is gone.
    pub(super) fn note_known(&self) {
        self.strangers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Processes an event of a connection.
    pub(super) fn tell(
        &self,
        handle: ConnectionHandle,
        event: EndpointEvent,
    ) -> Option<ConnectionEvent> {
        let mut state = self.lock();
        let is_over = event.is_drained();
        let answer = state.endpoint.handle_event(handle, event);
        if is_over {
            state.links.remove(&handle);
            drop(state);
            self.wake();
        }
        answer
    }

    /// Removes a closed connection.
    pub(super) fn forget(&self, handle: ConnectionHandle) {
        self.tell(handle, EndpointEvent::drained());
    }

    /// Sets the timer of a connection.
    pub(super) fn set_timer(
        &self,
        handle: ConnectionHandle,
        before: Option<Instant>,
        due: Option<Instant>,
    ) {
        if before == due {
            return;
        }
        let mut state = self.lock();
        if let Some(before) = before {
            state.timers.remove(&(before, handle.0));
        }
        let Some(due) = due else {
            return;
        };
        state.timers.insert((due, handle.0));
        let oversleeps = state.asleep_until.is_some_and(|until| due < until);
        drop(state);
        if oversleeps {
            self.wake();
        }
    }

    /// Returns the connections that are due.
    fn due(&self) -> Vec<Arc<Connection>> {
        let now = Instant::now();
        let mut state = self.lock();
        let mut due = Vec::new();
        while let Some(&(at, handle)) = state.timers.first()
            && at <= now
        {
            state.timers.pop_first();
            due.extend(state.links.get(&ConnectionHandle(handle)).cloned());
        }
        due
    }

    /// Processes datagrams, and makes their connections perform the consequences. New connections
    /// are passed to `meet`.
    pub(super) fn take_in(
        self: &Arc<Self>,
        mail: &mut ReceivedDatagrams,
        meet: &mut impl FnMut(Closing),
    ) {
        let mut touched: Vec<Arc<Connection>> = Vec::new();
        for mut letter in mail.letters(Instant::now()) {
            while let Some(datagram) = letter.next() {
                // Pass the datagram to the endpoint.
                let (from, to, ecn) = (letter.meta.addr, letter.meta.dst_ip, letter.ecn());
                let mut answer = Vec::new();
                let mut state = self.lock();
                let now = Instant::now();
                let endpoint = &mut state.endpoint;
                match endpoint.handle(now, from, to, ecn, datagram, &mut answer) {
                    // A datagram of a known connection is queued in its inbox.
                    Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                        let Some(connection) = state.links.get(&handle).cloned() else {
                            continue;
                        };
                        drop(state);
                        connection.take_in(event);
                        if !touched.iter().any(|seen| Arc::ptr_eq(seen, &connection)) {
                            touched.push(connection);
                        }
                    }
                    // A new connection begins its handshake.
                    Some(DatagramEvent::NewConnection(incoming)) => {
                        drop(state);
                        self.meet(incoming).into_iter().for_each(&mut *meet);
                    }
                    // The endpoint answers by itself, as to an unknown version.
                    Some(DatagramEvent::Response(transmit)) => {
                        drop(state);
                        let _ = self.post.send(&transmit, &answer);
                    }
                    None => {}
                }
            }
        }
        // Process each inbox once for all datagrams.
        for connection in touched {
            connection.see_to_inbox();
        }
    }

    /// Begins a handshake with a peer; if many are under way already, only with one whose address
    /// is verified.
    fn meet(self: &Arc<Self>, incoming: Incoming) -> Option<Closing> {
        // Choose the configuration for the peer.
        let from = incoming.remote_address().ip();
        let is_same_host = from.is_loopback() || incoming.local_ip() == Some(from);
        let greeting = self.greeting.as_ref();
        let config = greeting.map(|greeting| greeting.current(is_same_host));
        let mut answer = Vec::new();
        let mut state = self.lock();
        let endpoint = &mut state.endpoint;
        let is_busy = self.strangers.load(Ordering::SeqCst) >= RETRY_FROM;
        // Refuse the connection, ask for a proof of the address, or accept.
        let refusal = if self.is_stopped.load(Ordering::SeqCst) {
            Some(endpoint.refuse(incoming, &mut answer))
        } else if is_busy && !incoming.remote_address_validated() {
            endpoint.retry(incoming, &mut answer).ok()
        } else {
            match endpoint.accept(incoming, Instant::now(), &mut answer, config) {
                Ok((handle, proto)) => {
                    self.strangers.fetch_add(1, Ordering::SeqCst);
                    let connection = Connection::new(Arc::clone(self), handle, proto);
                    state.links.insert(handle, Arc::clone(&connection));
                    drop(state);
                    connection.look_after();
                    return Some(Closing(connection));
                }
                Err(error) => error.response,
            }
        };
        // Send the answer without the lock.
        drop(state);
        if let Some(refusal) = refusal {
            let _ = self.post.send(&refusal, &answer);
        }
        None
    }

    /// Returns the end of the task's sleep; `None` when the task has no work left.
    pub(super) fn rest(&self) -> Option<Instant> {
        let mut state = self.lock();
        let is_needed = match self.greeting {
            Some(_) => !self.is_stopped.load(Ordering::SeqCst),
            None => false,
        };
        if !is_needed && state.links.is_empty() {
            return None;
        }
        let first = state.timers.first().map(|&(at, _)| at);
        let until = first.unwrap_or_else(|| Instant::now() + LONG);
        state.asleep_until = Some(until);
        Some(until)
    }

    /// Receives datagrams and serves the timers, until there is no connection left and none can
    /// come in.
    pub(super) async fn serve<R: Runtime>(
        self: &Arc<Self>,
        runtime: &R,
        listener: &mut R::Listener,
        mut meet: impl FnMut(Closing),
    ) {
        let _presence = Presence(self);
        let mut mail = ReceivedDatagrams::new();
        let mut rounds = 0;
        while let Some(until) = self.rest() {
            // Receive datagrams until the next timer.
            match self.next(runtime, listener, (&mut mail, until)).await {
                Some(Ok(())) => self.take_in(&mut mail, &mut meet),
                Some(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    self.refuse();
                }
                Some(Err(error)) => {
                    tracing::debug!("a socket of QUIC failed: {error}");
                    runtime.sleep_until(Instant::now() + PAUSE).await;
                }
                None => {}
            }
            // Serve the timers.
            for connection in self.due() {
                connection.look_after();
            }
            // Yield to other tasks after several rounds.
            rounds += 1;
            if rounds >= TURN {
                rounds = 0;
                runtime.yield_now().await;
            }
        }
    }

    /// Waits for datagrams; `None` when there is other work.
    async fn next<R: Runtime>(
        &self,
        runtime: &R,
        listener: &mut R::Listener,
        wait: (&mut ReceivedDatagrams, Instant),
    ) -> Option<io::Result<()>> {
        let (mail, until) = wait;
        match self.post.receive(mail) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return Some(result),
        }
        // A timer would round a time in the past up to the next millisecond.
        if until <= Instant::now() {
            return None;
        }
        let mut taking = pin!(runtime.take_from(listener, || self.post.receive(mail)));
        let mut sleep = pin!(runtime.sleep_until(until));
        poll_fn(|context| {
            if let Poll::Ready(taken) = taking.as_mut().poll(context) {
                return Poll::Ready(Some(taken));
            }
            self.task.register(context.waker());
            if self.is_woken.swap(false, Ordering::SeqCst) {
                return Poll::Ready(None);
            }
            sleep.as_mut().poll(context).map(|()| None)
        })
        .await
    }

    fn all(&self) -> Vec<Arc<Connection>> {
        self.lock().links.values().cloned().collect()
    }

    /// Gives all connections up, as no socket listens at the address of the peer.
    fn refuse(&self) {
        for connection in self.all() {
            connection.refuse();
        }
    }
}

/// Guard of the task that serves an endpoint. Its drop closes all connections, which cannot work
/// without the task.
struct Presence<'a>(&'a Arc<EndpointDriver>);

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.0.stop();
        for connection in self.0.all() {
            connection.close();
        }
        // The remaining links would keep the socket alive, and the socket them.
        let left = std::mem::take(&mut self.0.lock().links);
        drop(left);
    }
}
