// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening a link: find the addresses, connect to the first that answers, introduce this node, all in bounded time.
//!
//! One call is one attempt. [`Backoff`] says when to make the next one; it keeps no clock and does not sleep.

mod backoff;

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use zonda_codec::{Endpoint, ZenohId};
use zonda_runtime::Runtime;

pub use backoff::{Backoff, RetryPolicy};

use crate::framing::Exchange;
use crate::link::{
    EndpointProblem, HostPort, IoFailure, Link, Protocol, SocketBuffers, SocketOptions, tcp,
};
use crate::protocol::handshake::{HandshakeError, OpenStep, Opener};
use crate::protocol::parameters::{Established, LocalParameters};

/// The longest batch an acceptor may answer with: its cookie is opaque and may be as long as a batch holds.
const BATCH_BYTES_MAX: usize = 65_535;

/// However many addresses a host has, each gets at least this much of the time that is left.
const ATTEMPT_MIN: Duration = Duration::from_millis(500);

/// Why a link could not be opened. Each text is one line that names the endpoint and what to try.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DialError {
    /// The endpoint cannot be connected to, whatever the network does.
    #[error("cannot connect to {endpoint}: {problem}")]
    Endpoint {
        /// The endpoint given.
        endpoint: Endpoint,
        /// What is wrong with it.
        problem: EndpointProblem,
    },
    /// The host name has no address.
    #[error(
        "cannot connect to {endpoint}: no address found for host \"{host}\": {failure}; check the spelling, or use an IP address"
    )]
    Resolve {
        /// The endpoint given.
        endpoint: Endpoint,
        /// The name looked up.
        host: String,
        /// The resolver's reason.
        failure: IoFailure,
    },
    /// No address accepted the connection.
    #[error(
        "cannot connect to {endpoint}: {}; check that a router or peer listens there",
        list(failures)
    )]
    Connect {
        /// The endpoint given.
        endpoint: Endpoint,
        /// Each address tried, and why it failed.
        failures: Vec<(SocketAddr, IoFailure)>,
    },
    /// The time was over before a connection stood.
    #[error(
        "cannot connect to {endpoint}: no answer within {after:?}; check the address and that nothing filters the link"
    )]
    Timeout {
        /// The endpoint given.
        endpoint: Endpoint,
        /// The time that was allowed.
        after: Duration,
    },
    /// What listens there speaks another protocol.
    #[error(
        "cannot connect to {endpoint}: {address} speaks {speaks}; check the port, a Zenoh router listens on 7447 by default"
    )]
    Foreign {
        /// The endpoint given.
        endpoint: Endpoint,
        /// The address connected to.
        address: SocketAddr,
        /// The protocol recognised.
        speaks: &'static str,
    },
    /// Connected, but the two nodes did not agree.
    #[error("cannot connect to {endpoint}: {source}")]
    Handshake {
        /// The endpoint given.
        endpoint: Endpoint,
        /// The address connected to.
        address: SocketAddr,
        /// What went wrong.
        source: HandshakeError,
    },
}

fn list(failures: &[(SocketAddr, IoFailure)]) -> String {
    match failures {
        [(_, failure)] => failure.to_string(),
        _ => failures
            .iter()
            .map(|(at, failure)| format!("{at}: {failure}"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// How an attempt is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialOptions {
    /// Bound of the whole attempt. Default 10 s.
    pub timeout: Duration,
    /// Only the node of this id will do. Default: any.
    pub expected: Option<ZenohId>,
    /// Sizes of the socket's buffers where the endpoint says none. Default: the system's.
    pub buffers: SocketBuffers,
}

impl Default for DialOptions {
    fn default() -> Self {
        DialOptions {
            timeout: Duration::from_secs(10),
            expected: None,
            buffers: SocketBuffers::default(),
        }
    }
}

/// Opens a link to `endpoint`: one attempt, at most `timeout` long.
///
/// # Errors
/// Why there is no link. The socket is closed by then, and nothing is left behind.
///
/// # Cancel safety
/// Full: dropping the future gives the attempt up.
pub async fn open_link<R: Runtime>(
    runtime: &R,
    endpoint: &Endpoint,
    local: &LocalParameters,
    timeout: Duration,
) -> Result<Link, DialError> {
    open_link_with(
        runtime,
        endpoint,
        local,
        &DialOptions {
            timeout,
            ..DialOptions::default()
        },
    )
    .await
}

/// Opens a link as [`open_link`] does, with all options.
///
/// # Errors
/// As [`open_link`].
pub async fn open_link_with<R: Runtime>(
    runtime: &R,
    endpoint: &Endpoint,
    local: &LocalParameters,
    options: &DialOptions,
) -> Result<Link, DialError> {
    let deadline = zonda_runtime::after(options.timeout);
    let connected = match Protocol::of(endpoint) {
        Ok(Protocol::Tcp) => connect_tcp(runtime, endpoint, deadline, options).await?,
        Err(problem) => {
            return Err(DialError::Endpoint {
                endpoint: endpoint.clone(),
                problem,
            });
        }
    };
    let mut opening = Opening {
        opener: Opener::new(local.clone(), options.expected),
        speaks: None,
    };
    let introduction = opening.introduce(runtime, connected.stream);
    let outcome = runtime.timeout_at(deadline, introduction).await;
    let step = opening.opener.step();
    let endpoint = endpoint.clone();
    let address = connected.remote;
    match (
        outcome.unwrap_or(Err(HandshakeError::Timeout { step })),
        opening.speaks,
    ) {
        (Ok((stream, established, unread)), _) => Ok(Link {
            stream,
            established,
            local: connected.local,
            remote: address,
            unread,
        }),
        (Err(_), Some(speaks)) => Err(DialError::Foreign {
            endpoint,
            address,
            speaks,
        }),
        (Err(source), None) => Err(DialError::Handshake {
            endpoint,
            address,
            source,
        }),
    }
}

/// A socket that is connected, and to what.
struct Connected {
    stream: TcpStream,
    local: SocketAddr,
    remote: SocketAddr,
}

async fn connect_tcp<R: Runtime>(
    runtime: &R,
    endpoint: &Endpoint,
    deadline: Instant,
    dial: &DialOptions,
) -> Result<Connected, DialError> {
    let invalid = |problem| DialError::Endpoint {
        endpoint: endpoint.clone(),
        problem,
    };
    let expired = || DialError::Timeout {
        endpoint: endpoint.clone(),
        after: dial.timeout,
    };
    let options = SocketOptions::of(endpoint)
        .map_err(invalid)?
        .or(dial.buffers);
    let HostPort { host, port } = HostPort::of(endpoint).map_err(invalid)?;
    let found = runtime
        .timeout_at(deadline, runtime.resolve(host.clone(), port))
        .await;
    let addresses = found
        .ok_or_else(expired)?
        .map_err(|error| DialError::Resolve {
            endpoint: endpoint.clone(),
            host,
            failure: error.into(),
        })?;
    let addresses = alternate(addresses);
    let mut failures = Vec::new();
    for (index, &address) in addresses.iter().enumerate() {
        let bound = share(Instant::now(), deadline, addresses.len() - index);
        match runtime
            .timeout_at(bound, connect_one(runtime, address, &options))
            .await
        {
            Some(Ok(connected)) => return Ok(connected),
            Some(Err(error)) => failures.push((address, error.into())),
            None if Instant::now() >= deadline => return Err(expired()),
            None => failures.push((
                address,
                std::io::Error::from(std::io::ErrorKind::TimedOut).into(),
            )),
        }
    }
    Err(DialError::Connect {
        endpoint: endpoint.clone(),
        failures,
    })
}

async fn connect_one<R: Runtime>(
    runtime: &R,
    address: SocketAddr,
    options: &SocketOptions,
) -> std::io::Result<Connected> {
    let stream = tcp::connect(runtime, address, options).await?;
    Ok(Connected {
        local: stream.local_addr()?,
        remote: stream.peer_addr()?,
        stream,
    })
}

/// Takes the families in turn, beginning with the resolver's favourite: when one of them leads nowhere, as IPv6 may,
/// the next attempt is on the other.
fn alternate(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv6() == first_is_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut mixed = Vec::new();
    loop {
        let pair = [first.next(), second.next()];
        if pair == [None, None] {
            return mixed;
        }
        mixed.extend(pair.into_iter().flatten());
    }
}

/// Until when one of the `left` remaining addresses may take: its share of the time, all of it for the last.
fn share(now: Instant, deadline: Instant, left: usize) -> Instant {
    let total = deadline.saturating_duration_since(now);
    let parts = u32::try_from(left.max(1)).unwrap_or(u32::MAX);
    now + (total / parts).max(ATTEMPT_MIN).min(total)
}

/// One handshake from the opener's side.
struct Opening {
    opener: Opener,
    /// What the peer speaks, if it is recognised as something else.
    speaks: Option<&'static str>,
}

impl Opening {
    async fn introduce<R: Runtime>(
        &mut self,
        runtime: &R,
        stream: TcpStream,
    ) -> Result<(TcpStream, Established, Vec<u8>), HandshakeError> {
        let mut exchange = Exchange::new(runtime, stream, BATCH_BYTES_MAX).map_err(io_error)?;
        let mut out = Vec::new();
        self.opener.start(&mut out);
        loop {
            exchange.send(&out).await.map_err(io_error)?;
            let step = self.opener.step();
            let batch = exchange
                .receive()
                .await
                .map_err(|error| error.during(step))?;
            match self.opener.handle_batch(batch, &mut out) {
                Ok(OpenStep::Continue) => {}
                Ok(OpenStep::Done(established)) => {
                    let (stream, unread) = exchange.finish(runtime).map_err(io_error)?;
                    return Ok((stream, established, unread));
                }
                Err(error) => {
                    self.speaks = recognise(exchange.raw());
                    exchange.say_goodbye(&out).await;
                    return Err(error);
                }
            }
        }
    }
}

fn io_error(error: std::io::Error) -> HandshakeError {
    HandshakeError::Io(error.kind())
}

/// Names the protocol of a peer that answered with something else.
fn recognise(bytes: &[u8]) -> Option<&'static str> {
    // As many bytes as are always at hand when the first one behind the prefix is found to be foreign.
    match bytes.first_chunk::<3>()? {
        b"HTT" => Some("HTTP"),
        b"SSH" => Some("SSH"),
        b"220" => Some("SMTP or FTP"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
