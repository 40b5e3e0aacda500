// SPDX-License-Identifier: MIT OR Apache-2.0

//! Bounds and counters that all remote sessions of a server share.

use std::sync::Arc;

use tokio::sync::Semaphore;
use zonda::Config;

use super::counts::Counts;
use crate::values::limit_of;
use crate::{Sessions, Start};

/// Bounds of what a client may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    sessions: usize,
    /// Bytes of a message.
    pub message_bytes: usize,
    /// Bytes that wait for the client.
    pub waiting_bytes: usize,
    /// Declarations, and questions that are not answered yet.
    pub declarations: usize,
}

impl Limits {
    fn read(config: &Config) -> Limits {
        let count = |name| limit_of(config, name);
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
    pub(super) sessions: Sessions,
    pub(super) limits: Limits,
    pub(super) room: Arc<Semaphore>,
    pub(super) counts: Counts,
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
}
