// SPDX-License-Identifier: MIT OR Apache-2.0

//! Remote API: sessions of browsers over WebSocket, as npm `@eclipse-zenoh/zenoh-ts` opens them.
//!
//! Each WebSocket has a session of its own on the node, which ends with it. The server of the
//! service `http` has the path `/remote-api`; the reference's `plugins/remote_api` has a server of its
//! own.

mod api;
mod asking;
mod codec;
mod connection;
mod counts;
mod entities;
mod message;
mod outlet;
mod remote;
mod rights;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing::any;

pub(crate) use api::RemoteApi;
pub(crate) use connection::{is_upgrade, open};

/// Adds the remote API to the routes of a server, at a path.
pub(crate) fn route<S>(api: &Arc<RemoteApi>, routes: Router<S>, path: &str) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let api = Arc::clone(api);
    let handler = move |request: Request| {
        let answer = open(&api, request);
        async { answer }
    };
    routes.route(path, any(handler))
}
