// SPDX-License-Identifier: MIT OR Apache-2.0
//! WebSocket over TCP: `ws/HOST:PORT`. Each batch is a binary message, without its length.
//!
//! Unlike in the reference, Pings are answered, and a peer that is silent during the upgrade delays
//! no other one.

mod frames;
mod origins;
mod session;
mod upgrade;

use std::io;
use std::sync::Arc;

use zonda_codec::Endpoint;
use zonda_runtime::Runtime;

pub(crate) use self::session::{Reading, Session, Writing};

use self::frames::Side;
use self::origins::{Origins, SEPARATOR};
use super::{
    BoundSocket, ConnectedSocket, EndpointProblem, LinkFailure, LinkParameters, LinkStream,
    Protocol, ServerHandshake, option, tcp,
};

pub(super) fn check(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    origins_of(endpoint)?;
    tcp::check(endpoint)
}

/// Returns the origins that an endpoint names.
pub(super) fn origins_of(endpoint: &Endpoint) -> Result<Option<Vec<String>>, EndpointProblem> {
    let expected = "origins such as https://robot.example, joined by |, or *";
    option(endpoint, "origins", expected, |value| {
        let origins: Vec<String> = value.split(SEPARATOR).map(str::to_owned).collect();
        let is_one = |origin: &String| origin == "*" || origin.contains("://");
        origins.iter().all(is_one).then_some(origins)
    })
}

/// Connects, and requests a WebSocket.
pub(super) async fn connect<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<ConnectedSocket, LinkFailure> {
    let connected = tcp::connect(runtime, terms, terms.links.tcp).await?;
    ask(runtime, terms, connected, Protocol::Ws).await
}

/// Requests a WebSocket over a connection.
pub(super) async fn ask<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
    connected: ConnectedSocket,
    protocol: Protocol,
) -> Result<ConnectedSocket, LinkFailure> {
    let ConnectedSocket {
        stream,
        local,
        remote,
    } = connected;
    // Make the request within the deadline.
    let (local, remote) = (local.over(protocol), remote.over(protocol));
    let host = host(terms.endpoint.address().as_str());
    let asking = upgrade(runtime, stream, Request::To(&host));
    let done = runtime.timeout_at(terms.deadline, asking).await;
    let done = done.ok_or(LinkFailure::Expired)?;
    let stream = done.map_err(|text| LinkFailure::Upgrade {
        address: remote.clone(),
        text,
    })?;
    Ok(ConnectedSocket {
        stream,
        local,
        remote,
    })
}

/// Returns the server's name for the request: the endpoint's, without the scope of an IPv6 address,
/// which has a meaning on this machine only.
fn host(address: &str) -> String {
    match (address.find('%'), address.find(']')) {
        (Some(scope), Some(end)) if scope < end => [&address[..scope], &address[end..]].concat(),
        _ => address.to_owned(),
    }
}

/// Request that a WebSocket begins with.
#[derive(Clone, Copy)]
enum Request<'a> {
    /// Request of this node to a host.
    To(&'a str),
    /// Request of a client, from pages of which these may connect.
    From(&'a Origins),
}

/// Upgrades a connection to a WebSocket.
async fn upgrade<R: Runtime>(
    runtime: &R,
    stream: LinkStream,
    request: Request<'_>,
) -> Result<LinkStream, String> {
    let as_text = |error: io::Error| error.to_string();
    let halves = stream.adopt(runtime);
    let (mut read, mut write) = halves.map_err(as_text)?;
    let (side, behind) = match request {
        Request::To(host) => {
            let behind = upgrade::ask(&mut read, &mut write, host).await?;
            (Side::Client, behind)
        }
        Request::From(origins) => {
            let behind = upgrade::answer(&mut read, &mut write, origins).await?;
            (Side::Server, behind)
        }
    };
    let stream = LinkStream::release(runtime, read, write).map_err(as_text)?;
    let session = Session::new(side, &stream, &behind);
    Ok(stream.framed(session))
}

/// Binds like TCP.
pub(super) fn bind<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<Vec<BoundSocket>, LinkFailure> {
    let gate = ListenerConfig::of(terms, false)?;
    let bound = tcp::bind(runtime, terms, terms.links.tcp)?.into_iter();
    let bound = bound.map(|bound| BoundSocket {
        address: bound.address.over(Protocol::Ws),
        entrance: ServerHandshake::Ws(gate.clone()),
        ..bound
    });
    Ok(bound.collect())
}

/// Gate of such a listener.
#[derive(Debug, Clone)]
pub(crate) struct ListenerConfig {
    origins: Arc<Origins>,
}

impl ListenerConfig {
    /// Creates a gate with the origins that the endpoint lists, else with those of the
    /// configuration.
    pub(super) fn of(
        terms: &LinkParameters<'_>,
        is_encrypted: bool,
    ) -> Result<ListenerConfig, EndpointProblem> {
        let listed = origins_of(terms.endpoint)?;
        let listed = listed.or_else(|| terms.links.ws_origins.clone());
        Ok(ListenerConfig {
            origins: Arc::new(Origins::of(listed, is_encrypted)),
        })
    }

    /// Waits for a peer's request for a WebSocket, and answers it.
    ///
    /// # Errors
    /// The reason, as a clause.
    pub(crate) async fn pass<R: Runtime>(
        &self,
        runtime: &R,
        stream: LinkStream,
    ) -> Result<LinkStream, String> {
        upgrade(runtime, stream, Request::From(&self.origins)).await
    }
}

#[cfg(test)]
mod tests;
