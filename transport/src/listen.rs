// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accepting links: a loop per listening socket, and a short-lived task per stranger that introduces itself.
//!
//! A stranger costs a socket, a task and a buffer of 256 bytes (at most 4 KiB while a message arrives), and for the
//! accept timeout only. When too many introduce themselves at once, the listener evicts one of the address that has most, first
//! one that has said nothing, never the newcomer: silent connections cannot keep an honest one out.

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

use self::accept::{Door, Reception};
use self::counters::{Counters, Logs};
use self::datagrams::Counter;
use self::pending::Pending;
use crate::link::{
    self, Bound, EndpointProblem, HostPort, IoFailure, Link, LinkAddress, LinkFailure,
    LinkSettings, Protocol, Purpose, Terms,
};
use crate::protocol::handshake::{CookieKey, HandshakeError};
use crate::protocol::parameters::{Established, LocalParameters};

/// The longest that [`listen`] waits for a host name's addresses.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);

/// The owner of a listener, which decides about strangers and receives links. Called from the runtime's threads, several at once.
pub trait Admission: Send + Sync + 'static {
    /// A peer has introduced itself; [`admit`](Self::admit) is asked when the future is ready. For what has to be clear
    /// before that. The peer's patience, and the listener's, bounds how long this may take.
    fn before_admit(
        &self,
        established: &Established,
        remote: &LinkAddress,
    ) -> impl Future<Output = ()> + Send {
        let _ = (established, remote);
        async {}
    }

    /// A peer at `remote` has introduced itself. `Err` turns it away with that close reason.
    ///
    /// After `Ok`, exactly one of [`accepted`](Self::accepted) and [`withdrawn`](Self::withdrawn) follows.
    fn admit(&self, established: &Established, remote: &LinkAddress) -> Result<(), u8>;

    /// The link is open on both sides. `listener` is the endpoint it came in by, as it was given to [`listen`].
    fn accepted(&self, link: Link, listener: &Endpoint);

    /// A peer that was admitted got lost before its link was open: whatever [`admit`](Self::admit) reserved is free.
    fn withdrawn(&self, established: &Established) {
        let _ = established;
    }

    /// An introduction failed; it is counted and logged already.
    fn failed(&self, remote: Option<&LinkAddress>, error: HandshakeError) {
        let _ = (remote, error);
    }

    /// Notes it with the endpoint it came in by, as it was given to [`listen`]; the listener calls this one.
    fn failed_at(&self, listener: &Endpoint, remote: Option<&LinkAddress>, error: HandshakeError) {
        let _ = listener;
        self.failed(remote, error);
    }
}

/// Why nothing listens. Each text is one line that names the endpoint and what to try.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The endpoint cannot be listened on, whatever the system does.
    #[error("cannot listen on {endpoint}: {problem}")]
    Endpoint {
        /// The endpoint given.
        endpoint: Endpoint,
        /// The fault in it.
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
    /// No secret could be drawn for the cookies.
    #[error("cannot listen on {endpoint}: the system gives no random bytes")]
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

    /// Nothing but a host name is waited for.
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
        io::ErrorKind::AlreadyExists => {
            "; what is there is no socket: take another path, or remove it".to_owned()
        }
        io::ErrorKind::AddrInUse if HostPort::of(endpoint).is_err() => {
            "; is another router running? take another path".to_owned()
        }
        io::ErrorKind::PermissionDenied if HostPort::of(endpoint).is_err() => {
            "; take a path in a directory that you may write to".to_owned()
        }
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

/// The limits of a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenOptions {
    /// Introductions under way at once, at least 1; beyond it one of the address that has most is given up. Default 1024.
    pub pending_max: usize,
    /// The longest time of an introduction in all. Default 10 s.
    pub accept_timeout: Duration,
    /// The settings for all that the endpoint leaves open. Default: sizes of buffers are the system's, and there are no certificates.
    pub links: LinkSettings,
}

impl Default for ListenOptions {
    fn default() -> Self {
        ListenOptions {
            pending_max: 1024,
            accept_timeout: Duration::from_secs(10),
            links: LinkSettings::default(),
        }
    }
}

/// A listener at work. Dropping it stops it.
#[derive(Debug)]
pub struct Listening {
    endpoint: Endpoint,
    addresses: Vec<LinkAddress>,
    pending: Arc<Pending>,
    counters: Arc<Counters>,
    /// Dropping one ends its accept loop.
    stops: Mutex<Vec<oneshot::Sender<()>>>,
    /// Each is done when its loop has closed the socket.
    ended: Vec<oneshot::Receiver<()>>,
}

impl Listening {
    /// The endpoint as it was given.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The bound addresses; port 0 is replaced by the system's choice.
    pub fn addresses(&self) -> &[LinkAddress] {
        &self.addresses
    }

    /// The bound addresses as they may be announced to peers, with the endpoint's metadata.
    pub fn locators(&self) -> Vec<Locator> {
        let at = |address: &LinkAddress| self.endpoint.with_address(&address.to_string()).ok();
        self.addresses
            .iter()
            .filter_map(at)
            .map(|endpoint| endpoint.locator())
            .collect()
    }

    /// Returns the outcomes of introductions so far.
    pub fn counts(&self) -> ListenCounts {
        self.counters.snapshot()
    }

    /// Returns the number of introductions under way.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Returns the most introductions that may be under way.
    pub fn pending_max(&self) -> usize {
        self.pending.max()
    }

    /// Stops accepting and gives up the introductions under way; links that are open stay. Returns at once, the socket
    /// is closed soon after.
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

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Listens on `endpoint` with the default limits, from when it returns on.
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

/// Listens as [`listen`] does, with other limits.
///
/// # Errors
/// The errors of [`listen`].
///
/// # Blocking
/// It blocks as [`listen`] does.
pub fn listen_with<R: Runtime, A: Admission>(
    runtime: &R,
    endpoint: &Endpoint,
    local: LocalParameters,
    admission: Arc<A>,
    options: ListenOptions,
) -> Result<Listening, ListenError> {
    let terms = Terms {
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
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|_| ListenError::Random {
        endpoint: endpoint.clone(),
    })?;
    let reception = Arc::new(Reception {
        runtime: runtime.clone(),
        endpoint: endpoint.clone(),
        local: protocol.offer(&local, endpoint),
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

/// Looks whether this machine could listen on an endpoint, without doing so.
///
/// # Errors
/// The errors of [`listen`], as far as they can be known before.
///
/// # Blocking
/// Reads keys and certificates, and looks a host name up.
pub fn try_listening(endpoint: &Endpoint, links: &LinkSettings) -> Result<(), ListenError> {
    let read = link::check_credentials(endpoint, links, Purpose::Listen).map(drop);
    read.map_err(LinkFailure::from)
        .and_then(|()| link::try_listening(endpoint))
        .map_err(|failure| ListenError::of(failure, endpoint))
}

/// Starts one accept loop per socket.
fn start<R: Runtime, A: Admission>(
    reception: Arc<Reception<R, A>>,
    sockets: Vec<Bound>,
) -> Result<Listening, ListenError> {
    let endpoint = &reception.endpoint;
    let mut addresses = Vec::new();
    let mut doors = Vec::new();
    for Bound {
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
        let door = Door {
            listener,
            address,
            entrance,
            _belongings: belongings,
        };
        doors.push((Box::new(door), counter));
    }
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
        addresses,
        pending: Arc::clone(&reception.pending),
        counters: Arc::clone(&reception.counters),
        stops: Mutex::new(stops),
        ended,
    })
}
