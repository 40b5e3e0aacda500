// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accepting links: a loop per listening socket, and a short-lived task per connection in its
//! handshake.
//!
//! A handshake costs a socket, a task and a buffer of 256 bytes (at most 4 KiB while a message
//! arrives), and for the accept timeout only. When there are too many handshakes at once, the
//! listener evicts one of the address that has most, first one whose peer has sent no message,
//! never the newest: silent connections cannot keep an honest peer out.

mod accept;
mod answers;
mod counters;
mod datagrams;
mod pending;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use zonda_codec::{Endpoint, Locator};
use zonda_runtime::{Runtime, oneshot};

pub use counters::ListenCounts;

use self::accept::{ListenerState, ListeningSocket};
use self::counters::{Counters, Logs};
use self::datagrams::Counter;
use self::pending::Pending;
use crate::link::{
    self, BoundSocket, EndpointProblem, EndpointUse, HostPort, IoFailure, Link, LinkAddress,
    LinkFailure, LinkParameters, LinkSettings, Protocol, ServerHandshake,
};
use crate::protocol::handshake::{CookieKey, HandshakeError};
use crate::protocol::parameters::{Established, LocalParameters, SharedLease};

/// Maximum time that [`listen`] waits for a host name's addresses.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Owner of a listener, which decides about peers and receives links. The runtime's threads call
/// it, several at once.
pub trait Admission: Send + Sync + 'static {
    /// Prepares the decision about a peer after its handshake; [`admit`](Self::admit) is called
    /// when the future is ready. The timeouts of the peer and of the listener bound its time.
    fn before_admit(
        &self,
        established: &Established,
        remote: &LinkAddress,
    ) -> impl Future<Output = ()> + Send {
        let _ = (established, remote);
        async {}
    }

    /// Decides about a peer at `remote` after its handshake. `Err` refuses the peer with that close
    /// reason.
    ///
    /// After `Ok`, exactly one of [`accepted`](Self::accepted) and [`withdrawn`](Self::withdrawn) follows.
    fn admit(&self, established: &Established, remote: &LinkAddress) -> Result<(), u8>;

    /// Takes a link that is open on both sides. `listener` is the endpoint that accepted it, as it
    /// was given to [`listen`].
    fn accepted(&self, link: Link, listener: &Endpoint);

    /// Releases the reservation of [`admit`](Self::admit) for a peer that was lost before its link
    /// was open.
    fn withdrawn(&self, established: &Established) {
        let _ = established;
    }

    /// Notes a failed handshake, which is already counted and logged.
    fn failed(&self, remote: Option<&LinkAddress>, error: HandshakeError) {
        let _ = (remote, error);
    }

    /// Notes a failed handshake with the endpoint that accepted the connection, as it was given to
    /// [`listen`]; the listener calls this one.
    fn failed_at(&self, listener: &Endpoint, remote: Option<&LinkAddress>, error: HandshakeError) {
        let _ = listener;
        self.failed(remote, error);
    }
}

/// Error of starting a listener. Each text is one line that names the endpoint and a remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The endpoint cannot be listened on, whatever the state of the system.
    #[error("cannot listen on {endpoint}: {problem}")]
    Endpoint {
        /// The endpoint given.
        endpoint: Endpoint,
        /// Fault of the endpoint.
        problem: EndpointProblem,
    },
    /// The host name has no address.
    #[error(
        "cannot listen on {endpoint}: no address found for host \"{host}\": {failure}; check the spelling, or use an IP address"
    )]
    Resolve {
        /// The endpoint given.
        endpoint: Endpoint,
        /// The name looked up.
        host: String,
        /// The resolver's reason.
        failure: IoFailure,
    },
    /// The system refused the socket, the address or an option.
    #[error("cannot listen on {endpoint}: {failure}{}", advice(endpoint, failure))]
    Bind {
        /// The endpoint given.
        endpoint: Endpoint,
        /// The address tried.
        address: LinkAddress,
        /// The system's reason.
        failure: IoFailure,
    },
    /// The system returned no random secret for the cookies.
    #[error("cannot listen on {endpoint}: the system provides no random bytes")]
    Random {
        /// The endpoint given.
        endpoint: Endpoint,
    },
}

impl ListenError {
    pub(crate) fn of(failure: LinkFailure, endpoint: &Endpoint) -> Self {
        let endpoint = endpoint.clone();
        match failure {
            LinkFailure::Endpoint(problem) => ListenError::Endpoint { endpoint, problem },
            LinkFailure::Resolve { host, failure } => ListenError::Resolve {
                endpoint,
                host,
                failure,
            },
            LinkFailure::Refused(failures) => match failures.into_iter().next() {
                Some((address, failure)) => ListenError::Bind {
                    endpoint,
                    address,
                    failure,
                },
                None => ListenError::timed_out(endpoint),
            },
            // No peer has connected yet.
            LinkFailure::Encryption { .. } | LinkFailure::Upgrade { .. } | LinkFailure::Expired => {
                ListenError::timed_out(endpoint)
            }
        }
    }

    /// Returns the error of a timeout, which only the look-up of a host name has.
    fn timed_out(endpoint: Endpoint) -> Self {
        let host = endpoint.address().as_str().to_owned();
        ListenError::Resolve {
            endpoint,
            host,
            failure: io::Error::from(io::ErrorKind::TimedOut).into(),
        }
    }
}

fn advice(endpoint: &Endpoint, failure: &IoFailure) -> String {
    match failure.kind() {
        // Paths of sockets in the file system.
        io::ErrorKind::AlreadyExists => {
            "; what is there is no socket: take another path, or remove it".to_owned()
        }
        io::ErrorKind::AddrInUse if HostPort::of(endpoint).is_err() => {
            "; is another router running? take another path".to_owned()
        }
        io::ErrorKind::PermissionDenied if HostPort::of(endpoint).is_err() => {
            "; take a path in a directory that you may write to".to_owned()
        }
        // Addresses of the network.
        io::ErrorKind::AddrInUse => {
            let host = endpoint
                .address()
                .as_str()
                .rsplit_once(':')
                .map_or("127.0.0.1", |(host, _)| host);
            format!(
                "; is another router running? try -l {}/{host}:0",
                endpoint.proto()
            )
        }
        io::ErrorKind::AddrNotAvailable => {
            "; no interface of this machine has this address".to_owned()
        }
        io::ErrorKind::PermissionDenied => "; try a port from 1024 up".to_owned(),
        _ => String::new(),
    }
}

/// Limits of a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenOptions {
    /// Maximum number of handshakes at once, at least 1; beyond it one of the address that has most
    /// is evicted. Default 1024.
    pub pending_max: usize,
    /// Maximum time of a handshake. Default 10 s.
    pub accept_timeout: Duration,
    /// Settings for all that the endpoint leaves open. Default: the system's sizes of buffers, and
    /// no certificates.
    pub links: LinkSettings,
    /// Lease that is announced in place of the parameters' one, and may change. Default: none.
    pub lease: Option<SharedLease>,
}

impl Default for ListenOptions {
    fn default() -> Self {
        ListenOptions {
            pending_max: 1024,
            accept_timeout: Duration::from_secs(10),
            links: LinkSettings::default(),
            lease: None,
        }
    }
}

/// Running listener. Dropping it stops it.
#[derive(Debug)]
pub struct Listening {
    endpoint: Endpoint,
    addresses: Vec<LinkAddress>,
    pending: Arc<Pending>,
    counters: Arc<Counters>,
    /// Senders whose drop ends the accept loops.
    stops: Mutex<Vec<oneshot::Sender<()>>>,
    /// Certificates that it shows, if links are encrypted.
    certificates: Option<ListenerCertificates>,
    /// Receivers that are ready when their loop has closed its socket.
    ended: Vec<oneshot::Receiver<()>>,
}

impl Listening {
    /// Returns the endpoint as it was given.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the bound addresses; port 0 is replaced by the system's choice.
    pub fn addresses(&self) -> &[LinkAddress] {
        &self.addresses
    }

    /// Returns the bound addresses as they may be announced to peers, with the endpoint's metadata.
    pub fn locators(&self) -> Vec<Locator> {
        let at = |address: &LinkAddress| self.endpoint.with_address(&address.to_string()).ok();
        self.addresses
            .iter()
            .filter_map(at)
            .map(|endpoint| endpoint.locator())
            .collect()
    }

    /// Returns the counts of handshakes so far, by outcome.
    pub fn counts(&self) -> ListenCounts {
        self.counters.snapshot()
    }

    /// Returns the number of handshakes under way.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Returns the maximum number of handshakes under way.
    pub fn pending_max(&self) -> usize {
        self.pending.max()
    }

    /// Returns the certificates that the listener shows, if links are encrypted.
    pub fn certificates(&self) -> Option<ListenerCertificates> {
        self.certificates.clone()
    }

    /// Stops accepting and gives up the handshakes under way; open links stay. Returns at once; the
    /// socket is closed soon after.
    pub fn stop(&self) {
        let stops = std::mem::take(&mut *self.stops.lock().unwrap_or_else(PoisonError::into_inner));
        drop(stops);
        self.pending.close();
    }

    /// Stops, and completes when the port is free again.
    pub async fn close(mut self) {
        self.stop();
        for ended in std::mem::take(&mut self.ended) {
            ended.await;
        }
    }
}

/// Certificates that a listener shows, and those that it trusts. Clones share them.
#[derive(Debug, Clone)]
pub struct ListenerCertificates {
    endpoint: Endpoint,
    gates: Vec<ServerHandshake>,
}

impl ListenerCertificates {
    /// Returns those of a listener; `None` if its links are not encrypted.
    fn of(endpoint: &Endpoint, sockets: &[BoundSocket]) -> Option<ListenerCertificates> {
        let gates = sockets.iter().map(|bound| &bound.entrance);
        let gates: Vec<_> = gates.filter(|gate| gate.is_encrypted()).cloned().collect();
        (!gates.is_empty()).then(|| ListenerCertificates {
            endpoint: endpoint.clone(),
            gates,
        })
    }

    /// Loads those of other settings, for later connections; open links stay.
    ///
    /// # Errors
    /// The setting that cannot be used; the previous certificates stay.
    ///
    /// # Blocking
    /// Reads the files.
    pub fn renew(&self, links: &LinkSettings) -> Result<(), ListenError> {
        let settings = links.tls.of(&self.endpoint);
        let renewed = settings.and_then(|settings| {
            let mut gates = self.gates.iter();
            gates.try_for_each(|gate| gate.renew(settings.clone()))
        });
        renewed.map_err(|problem| ListenError::Endpoint {
            endpoint: self.endpoint.clone(),
            problem,
        })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts a listener on `endpoint` with the default limits, which accepts as soon as the call
/// returns.
///
/// # Errors
/// The endpoint is unusable, or the system refuses it.
///
/// # Blocking
/// Only for the addresses of a host name, at most 10 s; an endpoint with an IP address does not block.
pub fn listen<R: Runtime, A: Admission>(
    runtime: &R,
    endpoint: &Endpoint,
    local: LocalParameters,
    admission: Arc<A>,
) -> Result<Listening, ListenError> {
    listen_with(
        runtime,
        endpoint,
        local,
        admission,
        ListenOptions::default(),
    )
}

/// Starts a listener like [`listen`], with other limits.
///
/// # Errors
/// The errors of [`listen`].
///
/// # Blocking
/// Blocks like [`listen`].
pub fn listen_with<R: Runtime, A: Admission>(
    runtime: &R,
    endpoint: &Endpoint,
    local: LocalParameters,
    admission: Arc<A>,
    options: ListenOptions,
) -> Result<Listening, ListenError> {
    // Make the sockets and read the options of the endpoint.
    let terms = LinkParameters {
        endpoint,
        deadline: Instant::now() + RESOLVE_TIMEOUT,
        links: &options.links,
    };
    let bound = link::bind(runtime, &terms);
    let sockets = bound.map_err(|failure| ListenError::of(failure, endpoint))?;
    let protocol = Protocol::of(endpoint).map_err(|problem| ListenError::Endpoint {
        endpoint: endpoint.clone(),
        problem,
    })?;
    // Draw the key of the cookies.
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|_| ListenError::Random {
        endpoint: endpoint.clone(),
    })?;
    // Collect the state that the tasks share, and start the tasks.
    let reception = Arc::new(ListenerState {
        runtime: runtime.clone(),
        endpoint: endpoint.clone(),
        local: protocol.offer(&local, endpoint),
        lease: options.lease,
        admission,
        accept_timeout: options.accept_timeout,
        key: Arc::new(CookieKey::new(secret)),
        started: Instant::now(),
        pending: Arc::new(Pending::new(options.pending_max)),
        counters: Arc::default(),
        logs: Logs::default(),
    });
    start(reception, sockets)
}

/// Checks if this machine could listen on an endpoint, without doing so.
///
/// # Errors
/// The errors of [`listen`], as far as they can be known before.
///
/// # Blocking
/// Reads keys and certificates, and looks a host name up.
pub fn try_listening(endpoint: &Endpoint, links: &LinkSettings) -> Result<(), ListenError> {
    let read = link::check_credentials(endpoint, links, EndpointUse::Listen).map(drop);
    read.map_err(LinkFailure::from)
        .and_then(|()| link::try_listening(endpoint))
        .map_err(|failure| ListenError::of(failure, endpoint))
}

/// Starts one accept loop per socket.
fn start<R: Runtime, A: Admission>(
    reception: Arc<ListenerState<R, A>>,
    sockets: Vec<BoundSocket>,
) -> Result<Listening, ListenError> {
    // Register the sockets with the runtime; no task runs before all of them are registered.
    let endpoint = &reception.endpoint;
    let certificates = ListenerCertificates::of(endpoint, &sockets);
    let mut addresses = Vec::new();
    let mut doors = Vec::new();
    for BoundSocket {
        socket,
        address,
        belongings,
        entrance,
    } in sockets
    {
        let failed = |error: io::Error| ListenError::Bind {
            endpoint: endpoint.clone(),
            address: address.clone(),
            failure: error.into(),
        };
        let counter = match address.protocol().has_datagrams() {
            true => Some(Counter::new(&socket, &address, endpoint).map_err(failed)?),
            false => None,
        };
        let listener = reception.runtime.listen(socket).map_err(failed)?;
        addresses.push(address.clone());
        let door = ListeningSocket {
            listener,
            address,
            entrance,
            _belongings: belongings,
        };
        doors.push((Box::new(door), counter));
    }
    // Start a task for each socket.
    let (mut stops, mut ended) = (Vec::new(), Vec::new());
    for (door, counter) in doors {
        let (stop, stopped) = oneshot::channel();
        let (end, has_ended) = oneshot::channel();
        stops.push(stop);
        ended.push(has_ended);
        let reception = Arc::clone(&reception);
        let runtime = reception.runtime.clone();
        runtime.spawn("zonda-accept", move || async move {
            let shared = door.entrance.shared().cloned();
            // Sockets of datagrams, sockets that connections share, and sockets that accept one by
            // one.
            match (counter, shared) {
                (Some(counter), _) => Box::pin(reception.receive_all(door, counter, stopped)).await,
                (None, Some(gate)) => {
                    return Box::pin(reception.meet_all(door, gate, (stopped, end))).await;
                }
                (None, None) => reception.accept_all(door, stopped).await,
            }
            end.send(());
        });
    }
    Ok(Listening {
        endpoint: endpoint.clone(),
        certificates,
        addresses,
        pending: Arc::clone(&reception.pending),
        counters: Arc::clone(&reception.counters),
        stops: Mutex::new(stops),
        ended,
    })
}
