// SPDX-License-Identifier: MIT OR Apache-2.0
//! WebSocket over TLS: `wss/HOST:PORT`. The handshake is that of `tls`, and the bytes within it are
//! those of `ws`.
//!
//! The reference has no such links; any client of WebSocket that speaks TLS can connect to one.

use zonda_codec::Endpoint;
use zonda_runtime::Runtime;

use super::{
    BoundSocket, ConnectedSocket, EndpointProblem, LinkFailure, LinkParameters, Protocol,
    ServerHandshake, tls, ws,
};

pub(super) fn check(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    ws::origins_of(endpoint)?;
    tls::check(endpoint)
}

/// Connects with TLS, and requests a WebSocket.
pub(super) async fn connect<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<ConnectedSocket, LinkFailure> {
    let connected = tls::connect(runtime, terms).await?;
    ws::ask(runtime, terms, connected, Protocol::Wss).await
}

/// Binds like TLS; the peer requests a WebSocket afterwards.
pub(super) fn bind<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<Vec<BoundSocket>, LinkFailure> {
    let origins = ws::ListenerConfig::of(terms, true)?;
    let bound = tls::bind(runtime, terms)?.into_iter();
    let bound = bound.map(|bound| BoundSocket {
        address: bound.address.over(Protocol::Wss),
        entrance: match bound.entrance {
            ServerHandshake::Tls(gate) => ServerHandshake::Wss(gate, origins.clone()),
            other => other,
        },
        ..bound
    });
    Ok(bound.collect())
}
