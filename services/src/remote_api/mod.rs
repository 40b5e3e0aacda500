// SPDX-License-Identifier: MIT OR Apache-2.0

//! Remote API: sessions of browsers over WebSocket, as npm `@eclipse-zenoh/zenoh-ts` opens them.
//!
//! Each WebSocket has a session of its own on the node, which ends with it. The server of the
//! service `http` has the path `/remote-api`; the reference's `plugins/remote_api` has a server of its
//! own.

mod asking;
mod codec;
mod connection;
mod counts;
mod entities;
mod message;
mod outlet;
mod plugin;
mod remote;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing::any;
use tokio::sync::Semaphore;
use zonda::Config;

use crate::values::number_of;
use crate::{Sessions, Start};
use counts::Counts;

pub(crate) use connection::{is_upgrade, open};
pub(crate) use plugin::Plugin;

/// Bounds of what a client may take.
#[derive(Debug, Clone, Copy)]
struct Limits {
    sessions: usize,
    /// Bytes of a message.
    message_bytes: usize,
    /// Bytes that wait for the client.
    waiting_bytes: usize,
    /// Declarations, and questions that are not answered yet.
    declarations: usize,
}

impl Limits {
    fn read(config: &Config) -> Limits {
        let count = |name: &str| {
            let number = number_of(config, &format!("services/http/limits/{name}"));
            usize::try_from(number).unwrap_or(usize::MAX)
        };
        Limits {
            sessions: count("remote_sessions").min(Semaphore::MAX_PERMITS),
            message_bytes: count("body_bytes"),
            waiting_bytes: count("remote_bytes"),
            declarations: count("remote_declarations"),
        }
    }
}

/// The parts that all remote sessions of a server share.
pub(crate) struct RemoteApi {
    sessions: Sessions,
    limits: Limits,
    room: Arc<Semaphore>,
    counts: Counts,
}

impl RemoteApi {
    /// Creates them for the server of a service.
    pub fn new(start: &Start<'_>, service: &'static str) -> Arc<RemoteApi> {
        let limits = Limits::read(start.config);
        let api = Arc::new(RemoteApi {
            sessions: start.sessions.clone(),
            limits,
            room: Arc::new(Semaphore::new(limits.sessions)),
            counts: Counts::default(),
        });
        let counted = Arc::clone(&api);
        start.counters.add(move || counted.counts.samples(service));
        api
    }

    /// Adds the remote API to the routes of a server, at a path.
    pub fn route<S>(self: &Arc<Self>, routes: Router<S>, path: &str) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        let api = Arc::clone(self);
        let handler = move |request: Request| {
            let answer = open(&api, request);
            async { answer }
        };
        routes.route(path, any(handler))
    }
}
