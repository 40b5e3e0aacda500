// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening a link: resolves the addresses, connects to the first that answers, and makes the
//! handshake, all in bounded time.
//!
//! One call is one attempt. [`Backoff`] returns the wait before the next one; it keeps no clock and
//! does not sleep.

mod backoff;

use std::time::Duration;

use zonda_codec::{Endpoint, ZenohId, transport::reason::MAX_LINKS};
use zonda_runtime::Runtime;

pub use backoff::{Backoff, RetryPolicy};

use crate::foreign;
use crate::framing::Exchange;
use crate::link::{
    self, EndpointProblem, IoFailure, Link, LinkAddress, LinkFailure, LinkParameters, LinkSettings,
    LinkStream,
};
use crate::protocol::handshake::{HandshakeError, OpenStep, Opener, Step};
use crate::protocol::parameters::{Established, LocalParameters};

/// Longest batch of an acceptor: its cookie is opaque and may be as long as a batch holds.
const BATCH_BYTES_MAX: usize = 65_535;

/// Error of an attempt to open a link. Each text is one line that names the endpoint and a remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DialError {
    /// The endpoint cannot be connected to, whatever the state of the network.
    #[error("cannot connect to {endpoint}: {problem}")]
    Endpoint {
        /// The endpoint given.
        endpoint: Endpoint,
        /// Fault of the endpoint.
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
        "cannot connect to {endpoint}: {}; {}",
        list(failures),
        advice(endpoint, failures)
    )]
    Connect {
        /// The endpoint given.
        endpoint: Endpoint,
        /// Each address tried, with its failure.
        failures: Vec<(LinkAddress, IoFailure)>,
    },
    /// The time was over before the connection was established.
    #[error(
        "cannot connect to {endpoint}: no answer within {after:?}; check the address and that nothing filters the link"
    )]
    Timeout {
        /// The endpoint given.
        endpoint: Endpoint,
        /// The time that was allowed.
        after: Duration,
    },
    /// Connected, but the two ends agreed on no encryption, or did not trust each other.
    #[error("cannot connect to {endpoint}: no encrypted link to {address}: {text}")]
    Encryption {
        /// The endpoint given.
        endpoint: Endpoint,
        /// The address connected to.
        address: LinkAddress,
        /// The failure, and advice.
        text: String,
    },
    /// Connected, but the server there did not accept a WebSocket.
    #[error(
        "cannot connect to {endpoint}: no WebSocket at {address}: {text}; check that a listener on ws/ is there"
    )]
    Upgrade {
        /// The endpoint given.
        endpoint: Endpoint,
        /// The address connected to.
        address: LinkAddress,
        /// The failure.
        text: String,
    },
    /// The program that listens there speaks another protocol.
    #[error(
        "cannot connect to {endpoint}: {address} speaks {speaks}; {}",
        foreign::advice(speaks)
    )]
    Foreign {
        /// The endpoint given.
        endpoint: Endpoint,
        /// The address connected to.
        address: LinkAddress,
        /// The protocol recognised.
        speaks: &'static str,
    },
    /// Connected, but the two nodes did not agree.
    #[error("cannot connect to {endpoint}: {source}")]
    Handshake {
        /// The endpoint given.
        endpoint: Endpoint,
        /// The address connected to.
        address: LinkAddress,
        /// The failure.
        source: HandshakeError,
    },
}

impl DialError {
    /// Returns the address of the peer, if it refused the link because it is connected to this node
    /// already.
    #[must_use]
    pub fn linked_at(&self) -> Option<&LinkAddress> {
        match self {
            DialError::Handshake {
                address,
                source:
                    HandshakeError::Refused { reason: MAX_LINKS } | HandshakeError::Linked { .. },
                ..
            } => Some(address),
            _ => None,
        }
    }

    /// Returns the id of the peer, if it refused the link because it is connected to this node
    /// already.
    #[must_use]
    pub fn linked(&self) -> Option<ZenohId> {
        match self {
            DialError::Handshake {
                source: HandshakeError::Linked { zid },
                ..
            } => Some(*zid),
            _ => None,
        }
    }

    fn of(failure: LinkFailure, endpoint: &Endpoint, after: Duration) -> Self {
        let endpoint = endpoint.clone();
        match failure {
            LinkFailure::Endpoint(problem) => DialError::Endpoint { endpoint, problem },
            LinkFailure::Resolve { host, failure } => DialError::Resolve {
                endpoint,
                host,
                failure,
            },
            LinkFailure::Refused(failures) => DialError::Connect { endpoint, failures },
            LinkFailure::Encryption { address, text } => DialError::Encryption {
                endpoint,
                address,
                text,
            },
            LinkFailure::Upgrade { address, text } => DialError::Upgrade {
                endpoint,
                address,
                text,
            },
            LinkFailure::Expired => DialError::Timeout { endpoint, after },
        }
    }
}

fn advice(endpoint: &Endpoint, failures: &[(LinkAddress, IoFailure)]) -> &'static str {
    use std::io::ErrorKind::{AddrInUse, AddrNotAvailable, InvalidInput};
    let is_own = |(_, failure): &(LinkAddress, IoFailure)| {
        matches!(failure.kind(), AddrInUse | AddrNotAvailable | InvalidInput)
    };
    match endpoint.config().get("bind") {
        Some(_) if failures.iter().all(is_own) => {
            "`bind` has to be a free address of this machine, of the same family as the other end's"
        }
        _ => "check that a router or peer listens there",
    }
}

fn list(failures: &[(LinkAddress, IoFailure)]) -> String {
    match failures {
        [(_, failure)] => failure.to_string(),
        _ => failures
            .iter()
            .map(|(at, failure)| format!("{at}: {failure}"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// Options of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialOptions {
    /// Bound of the whole attempt. Default 10 s.
    pub timeout: Duration,
    /// Required id of the node. Default: any.
    pub expected: Option<ZenohId>,
    /// Settings for all that the endpoint leaves open. Default: the system's sizes of buffers, and
    /// no certificates.
    pub links: LinkSettings,
}

impl Default for DialOptions {
    fn default() -> Self {
        DialOptions {
            timeout: Duration::from_secs(10),
            expected: None,
            links: LinkSettings::default(),
        }
    }
}

/// Opens a link to `endpoint`: one attempt, at most `timeout` long.
///
/// # Errors
/// The reason for the failure. The socket is closed by then, and no resource is left behind.
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

/// Opens a link like [`open_link`], with all options.
///
/// # Errors
/// The errors of [`open_link`].
pub async fn open_link_with<R: Runtime>(
    runtime: &R,
    endpoint: &Endpoint,
    local: &LocalParameters,
    options: &DialOptions,
) -> Result<Link, DialError> {
    let deadline = zonda_runtime::after(options.timeout);
    let terms = LinkParameters {
        endpoint,
        deadline,
        links: &options.links,
    };
    let connected = link::connect(runtime, &terms).await;
    let connected =
        connected.map_err(|failure| DialError::of(failure, endpoint, options.timeout))?;
    let mut offer = connected.remote.protocol().offer(local, endpoint);
    offer.qos_link = link::qos_link(endpoint);
    offer.is_one_host = connected.remote.is_one_host(&connected.local);
    let mut opening = Opening {
        opener: Opener::new(offer, options.expected),
        speaks: None,
    };
    // Boxed, as callers wait for much else in the same future.
    let introduction = Box::pin(opening.introduce(runtime, connected.stream));
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

/// Opener's side of one handshake.
struct Opening {
    opener: Opener,
    /// Protocol of the peer, if it is recognised as another one.
    speaks: Option<&'static str>,
}

impl Opening {
    async fn introduce<R: Runtime>(
        &mut self,
        runtime: &R,
        stream: LinkStream,
    ) -> Result<(LinkStream, Established, Vec<u8>), HandshakeError> {
        let mut exchange = Exchange::new(runtime, stream, BATCH_BYTES_MAX)?;
        let exchange_repeats = exchange.repeats();
        let mut out = Vec::new();
        self.opener.start(&mut out);
        loop {
            exchange.send(&out).await?;
            let step = self.opener.step();
            let received = exchange.receive().await.map(|_| ());
            self.speaks = exchange.speaks();
            received.map_err(|error| error.during(step))?;
            let batch = exchange.batch();
            // A message that was repeated may get two answers.
            if step == Step::OpenAck && exchange_repeats && is_init_ack(batch) {
                out.clear();
                continue;
            }
            match self.opener.handle_batch(batch, &mut out) {
                Ok(OpenStep::Continue) => {}
                Ok(OpenStep::Done(established)) => {
                    let established = established.certified(exchange.take_certificate());
                    let (stream, unread) = exchange.finish(runtime)?;
                    stream.agree(&established);
                    return Ok((stream, established, unread));
                }
                Err(error) => {
                    exchange.say_goodbye(&out).await;
                    return Err(error);
                }
            }
        }
    }
}

fn is_init_ack(batch: &[u8]) -> bool {
    batch.first().is_some_and(|first| first & 0x1f == 0x01)
}

#[cfg(test)]
mod tests;
