// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accept loop, and the task that makes the handshake of one connection.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use zonda_codec::Endpoint;
use zonda_codec::transport::reason::MAX_LINKS;
use zonda_runtime::{Runtime, oneshot};

use super::Admission;
use super::counters::{Counters, Logs, count};
use super::pending::{Entry, HandshakeEviction, Pending, PendingEntry};
use crate::framing::Exchange;
use crate::link::{
    HandshakeResult, IncomingLink, Link, LinkAddress, ServerHandshake, SharedGate, SharedStranger,
};
use crate::protocol::handshake::{AcceptStep, Acceptor, CookieKey, HandshakeError, Step};
use crate::protocol::parameters::{Established, LocalParameters, SharedLease};
use crate::text::shown;

/// Longest batch of a handshake: this node's cookies are short, and other messages fit well.
pub(super) const BATCH_BYTES_MAX: usize = 4096 - 2;

/// Wait after an accept call that failed for want of descriptors or memory.
const PAUSE: Duration = Duration::from_millis(10);

/// Connections that are accepted before the task yields to other tasks.
pub(super) const TURN: u32 = 16;

/// Length of the periods whose numbers seal the cookies.
const EPOCH: Duration = Duration::from_secs(10);

/// One listening socket. It is the first field, so that it is closed before the rest is dropped.
pub(super) struct ListeningSocket<R: Runtime> {
    pub(super) listener: R::Listener,
    pub(super) address: LinkAddress,
    pub(super) entrance: ServerHandshake,
    pub(super) _belongings: Option<Box<dyn Any + Send>>,
}

/// Connection that was accepted, and whose peer has sent no message yet.
struct AcceptedSocket {
    arrival: IncomingLink,
    remote: LinkAddress,
    /// Address that the peer connected to.
    listener: LinkAddress,
    entrance: ServerHandshake,
}

/// State that the tasks of one listener share.
pub(super) struct ListenerState<R, A> {
    pub(super) runtime: R,
    pub(super) endpoint: Endpoint,
    pub(super) local: LocalParameters,
    /// Lease, if it may change.
    pub(super) lease: Option<SharedLease>,
    pub(super) admission: Arc<A>,
    pub(super) accept_timeout: Duration,
    pub(super) key: Arc<CookieKey>,
    pub(super) started: Instant,
    pub(super) pending: Arc<Pending>,
    pub(super) counters: Arc<Counters>,
    pub(super) logs: Logs,
}

/// Waits for `future`, or for the channel's end if that comes first: `Err` with the channel's
/// value.
pub(super) async fn unless<T, F: Future>(
    end: &mut oneshot::Receiver<T>,
    future: F,
) -> Result<F::Output, Option<T>> {
    let mut future = pin!(future);
    poll_fn(|context| {
        if let Poll::Ready(message) = Pin::new(&mut *end).poll(context) {
            return Poll::Ready(Err(message));
        }
        future.as_mut().poll(context).map(Ok)
    })
    .await
}

impl<R: Runtime, A: Admission> ListenerState<R, A> {
    /// Returns the parameters of a handshake that begins now.
    pub(super) fn parameters(&self) -> LocalParameters {
        let mut local = self.local.clone();
        if let Some(lease) = &self.lease {
            local.lease = lease.get();
        }
        local
    }

    /// Accepts until the listener is stopped, then closes the socket.
    pub(super) async fn accept_all(
        self: Arc<Self>,
        mut door: Box<ListeningSocket<R>>,
        mut stopped: oneshot::Receiver<()>,
    ) {
        let mut in_a_row = 0;
        let runtime = &self.runtime;
        loop {
            // Wait for a connection, or for the stop.
            let ListeningSocket {
                listener, entrance, ..
            } = &mut *door;
            let incoming = unless(&mut stopped, entrance.accept(runtime, listener)).await;
            let Ok(incoming) = incoming else {
                break;
            };
            match incoming {
                Ok((stream, from)) => {
                    // Start the handshake; yield after several connections in a row.
                    let remote = door.address.protocol().peer(&stream, from);
                    self.receive(AcceptedSocket {
                        arrival: IncomingLink::Socket(stream),
                        remote,
                        listener: door.address.clone(),
                        entrance: door.entrance.clone(),
                    });
                    in_a_row += 1;
                    if in_a_row >= TURN {
                        in_a_row = 0;
                        self.runtime.yield_now().await;
                    }
                }
                Err(error) => {
                    // Pause after a failure that other attempts would share.
                    let pause = self.after_failure(&error);
                    let wait = self.runtime.sleep_until(Instant::now() + pause);
                    if !pause.is_zero() && unless(&mut stopped, wait).await.is_err() {
                        break;
                    }
                }
            }
        }
    }

    /// Serves a socket that several connections share, until the listener is stopped and the last
    /// connection has ended; reports the stop at once.
    pub(super) async fn meet_all(
        self: Arc<Self>,
        mut door: Box<ListeningSocket<R>>,
        gate: SharedGate,
        ends: (oneshot::Receiver<()>, oneshot::Sender<()>),
    ) {
        let (mut stopped, end) = ends;
        let (address, entrance) = (door.address.clone(), door.entrance.clone());
        let meet = |stranger: SharedStranger| {
            self.receive(AcceptedSocket {
                remote: address.protocol().remote(Some(stranger.from())),
                arrival: IncomingLink::Quic(stranger),
                listener: address.clone(),
                entrance: entrance.clone(),
            });
        };
        let mut serving = pin!(gate.serve(&self.runtime, &mut door.listener, meet));
        if unless(&mut stopped, serving.as_mut()).await.is_err() {
            gate.stop();
            end.send(());
            serving.await;
        }
    }

    /// Notes a failed accept call; returns the time to leave the socket alone.
    pub(super) fn after_failure(&self, error: &io::Error) -> Duration {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
        count(&self.counters.accept_errors);
        tracing::debug!("{}: accepting failed: {error}", self.endpoint);
        if matches!(
            error.kind(),
            ConnectionAborted | ConnectionReset | Interrupted | WouldBlock
        ) {
            // The error concerns this connection only: the peer had hung up already.
            return Duration::ZERO;
        }
        if let Some(left_out) = self.logs.accept.admit(Instant::now()) {
            let endpoint = &self.endpoint;
            tracing::warn!("{endpoint}: accepting fails ({error}); raise `ulimit -n`?{left_out}");
        }
        // Descriptors or memory are used up, most likely: evicting a silent connection frees its
        // descriptor.
        if self.pending.evict() {
            count(&self.counters.evicted);
        }
        PAUSE
    }

    /// Starts the task that makes the handshake of an accepted connection.
    fn receive(self: &Arc<Self>, stranger: AcceptedSocket) {
        // Register the handshake, in place of another one if there are too many.
        let Some(Entry {
            ticket,
            mut ended,
            evicted,
        }) = self.pending.enter(stranger.remote.group())
        else {
            return;
        };
        if evicted {
            self.note_evicted(&stranger.remote);
        }
        let reception = Arc::clone(self);
        let task = "zonda-handshake";
        self.runtime.spawn_brief(task, move || async move {
            // Prepare the acceptor.
            let mut parameters = reception.parameters();
            parameters.is_one_host = stranger.remote.is_one_host(&stranger.listener);
            let mut acceptor = Acceptor::new(parameters, Arc::clone(&reception.key));
            acceptor.set_epoch(reception.epoch());
            let remote = stranger.remote.clone();
            let Some(nonce) = reception.nonce() else {
                return reception.failed(&remote, HandshakeError::Io(io::ErrorKind::Other));
            };
            acceptor.set_nonce(nonce);
            // Make the handshake within its time, unless it is evicted.
            let hearing = reception.hear(&mut acceptor, &ticket, stranger);
            let bounded = reception
                .runtime
                .timeout_at(zonda_runtime::after(reception.accept_timeout), hearing);
            let outcome = unless(&mut ended, bounded).await;
            // Free the entry before the outcome is reported.
            drop(ticket);
            reception.conclude(&remote, acceptor.step(), outcome);
        });
    }

    /// Handles the end of a handshake: the listener has stopped or evicted it, its time was over in
    /// that step, or it completed.
    pub(super) fn conclude(
        &self,
        remote: &LinkAddress,
        step: Step,
        outcome: Result<Option<Result<Admitted<A>, HandshakeError>>, Option<HandshakeEviction>>,
    ) {
        match outcome {
            Ok(Some(Ok(admitted))) => self.accepted(admitted),
            Ok(Some(Err(error))) => self.failed(remote, error),
            Ok(None) => self.failed(remote, HandshakeError::Timeout { step }),
            Err(Some(HandshakeEviction)) => {
                let endpoint = &self.endpoint;
                tracing::debug!("{endpoint}: {remote} was evicted for newer connections");
            }
            Err(None) => {}
        }
    }

    pub(super) fn note_evicted(&self, newcomer: &LinkAddress) {
        count(&self.counters.evicted);
        if let Some(left_out) = self.logs.evicted.admit(Instant::now()) {
            let (endpoint, max) = (&self.endpoint, self.pending.max());
            tracing::warn!(
                "{endpoint}: {max} connections have not introduced themselves yet (transport/unicast/accept_pending), those of the \
                 address that has most give way; the newest is from {newcomer}{left_out}"
            );
        }
    }

    pub(super) fn epoch(&self) -> u32 {
        u32::try_from(self.started.elapsed().as_secs() / EPOCH.as_secs()).unwrap_or(u32::MAX)
    }

    /// Returns a random number, with which a peer has to prove its user. No peer needs one where
    /// the listener authenticates no users and each connection has one link.
    pub(super) fn nonce(&self) -> Option<u64> {
        let options = &self.local.options;
        if options.users.is_none() && options.multilink.is_none() {
            return Some(0);
        }
        getrandom::u64().ok()
    }

    async fn hear(
        &self,
        acceptor: &mut Acceptor,
        ticket: &PendingEntry,
        stranger: AcceptedSocket,
    ) -> Result<Admitted<A>, HandshakeError> {
        let AcceptedSocket {
            arrival,
            remote,
            listener,
            entrance,
        } = stranger;
        let stream = match entrance.pass(&self.runtime, arrival) {
            HandshakeResult::Done(stream) => stream,
            HandshakeResult::Wait(passage) => passage.await?,
        };
        let mut exchange = Exchange::new(&self.runtime, stream, BATCH_BYTES_MAX)?;
        let mut out = Vec::new();
        let established = loop {
            let step = acceptor.step();
            let received = exchange.receive().await.map(|_| ());
            if let Some(speaks) = exchange.speaks() {
                exchange.say_goodbye(&[]).await;
                return Err(HandshakeError::Foreign { speaks });
            }
            received.map_err(|error| error.during(step))?;
            let batch = exchange.batch();
            match acceptor.handle_batch(batch, &mut out) {
                Ok(AcceptStep::Continue) => {
                    ticket.note_heard();
                    exchange.send(&out).await?;
                }
                Ok(AcceptStep::Admit(established)) => {
                    break established.certified(exchange.take_certificate());
                }
                Err(error) => {
                    exchange.say_goodbye(&out).await;
                    return Err(error);
                }
            }
        };
        self.admission.before_admit(&established, &remote).await;
        if let Err(reason) = self.admission.admit(&established, &remote) {
            acceptor.refuse(reason, &mut out);
            exchange.say_goodbye(&out).await;
            return Err(turned_away(&established, reason));
        }
        let reserved = Reservation {
            admission: Arc::clone(&self.admission),
            established: Some(established.clone()),
        };
        acceptor.admit(&mut out);
        exchange.send(&out).await?;
        let (stream, unread) = exchange.finish(&self.runtime)?;
        stream.agree(&established);
        // Created late: connections whose peers send nothing cost no more than necessary.
        let protocol = listener.protocol();
        let local = protocol.accept(&stream, &self.endpoint, &listener);
        let local = local?;
        Ok(Admitted {
            link: Link {
                stream,
                established,
                local,
                remote,
                unread,
            },
            reserved,
        })
    }

    fn accepted(&self, admitted: Admitted<A>) {
        let Admitted { link, mut reserved } = admitted;
        reserved.established = None;
        count(&self.counters.accepted);
        self.admission.accepted(link, &self.endpoint);
    }

    pub(super) fn failed(&self, remote: &LinkAddress, error: HandshakeError) {
        // Count the failure, and check the limit of its log lines.
        self.counters.failure(&error);
        let (logs, now) = (&self.logs, Instant::now());
        let limited = match &error {
            HandshakeError::Unauthenticated { problem, .. } => {
                let user = problem.user().unwrap_or_default();
                Some(logs.unauthenticated.admit(user, now))
            }
            HandshakeError::BatchSize { .. } => Some(logs.batch_size.admit(now)),
            HandshakeError::Encryption(_) => Some(logs.unencrypted.admit(now)),
            HandshakeError::Upgrade(_) => Some(logs.upgrade.admit(now)),
            _ => None,
        };
        // Log it at the level of its kind.
        let endpoint = &self.endpoint;
        let said = || shown(&error.to_string());
        if let Some(left_out) = limited.flatten() {
            tracing::warn!("{endpoint}: no link from {remote}: {}{left_out}", said());
        } else if limited.is_none()
            && let Some(left_out) = self.logs.of_interest(&error).admit(now)
        {
            tracing::info!("{endpoint}: no link from {remote}: {}{left_out}", said());
        } else {
            tracing::debug!("{endpoint}: no link from {remote}: {error}");
        }
        self.admission
            .failed_at(&self.endpoint, Some(remote), error);
    }
}

/// Open link, and its owner's reservation for it.
pub(super) struct Admitted<A: Admission> {
    pub(super) link: Link,
    pub(super) reserved: Reservation<A>,
}

/// Reservation of [`Admission::admit`]; released if the link does not open, for whatever reason.
pub(super) struct Reservation<A: Admission> {
    pub(super) admission: Arc<A>,
    pub(super) established: Option<Established>,
}

impl<A: Admission> Drop for Reservation<A> {
    fn drop(&mut self) {
        if let Some(established) = self.established.take() {
            self.admission.withdrawn(&established);
        }
    }
}

pub(super) fn turned_away(established: &Established, reason: u8) -> HandshakeError {
    match reason {
        MAX_LINKS => HandshakeError::SameId {
            zid: established.zid,
        },
        _ => HandshakeError::NotAdmitted {
            zid: established.zid,
            reason,
        },
    }
}
