// SPDX-License-Identifier: MIT OR Apache-2.0

//! Opening a node: runtime, listeners, first connections.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::{Endpoint, WhatAmI, ZenohId};
use zonda_runtime::{AnyRuntime, with_runtime};
use zonda_transport::listen::{ListenError, ListenOptions, Listening, listen_with};

use crate::{
    config::{Config, TimeLimit},
    forwarding::Deadline,
};

use super::{Node, OpenError, admit::Door, connect::Attempt, shared::Shared};

/// How long a peer or router waits at most for its configured connections before it goes on without them.
const FIRST_CONNECTIONS: Duration = Duration::from_millis(500);

/// How often answers that neighbours owe are looked after.
const LOOK_AFTER: Duration = Duration::from_secs(1);

impl Node {
    /// Opens a node: listens, connects, and keeps doing both on the configured runtime until it is closed.
    ///
    /// A client is connected when this returns. Peers and routers return once every configured endpoint was reached,
    /// or after half a second; what is missing is tried again for as long as the node is open.
    ///
    /// # Errors
    /// What of it is impossible; nothing is left running then.
    pub async fn open(config: Config) -> Result<Node, OpenError> {
        config.validate().map_err(|error| OpenError::Config {
            reason: error.to_string(),
        })?;
        let zid = match config.id() {
            Some(zid) => zid,
            None => random_id()?,
        };
        let runtime = start_runtime(&config)?;
        let role = config.mode();
        let node = Node {
            shared: Arc::new(Shared::new((zid, role), config, runtime)),
        };
        let opened = node.start().await;
        if opened.is_err() {
            // Nothing was sent yet, so there is nothing that could be late.
            let _ = node.close(Duration::ZERO).await;
        }
        opened.map(|()| node)
    }

    async fn start(&self) -> Result<(), OpenError> {
        self.listen()?;
        let shared = &self.shared;
        let standing = match shared.role {
            WhatAmI::Client => Some(self.connect_client().await?),
            WhatAmI::Peer | WhatAmI::Router => None,
        };
        Shared::start_connecting(shared, standing);
        let node = Arc::downgrade(shared);
        let ticks = shared.runtime.clone();
        shared.runtime.spawn("zonda-clock", move || async move {
            while let Some(shared) = node.upgrade().filter(|shared| !shared.is_closed()) {
                shared.expire();
                drop(shared);
                ticks.sleep_until(Instant::now() + LOOK_AFTER).await;
            }
        });
        if shared.role != WhatAmI::Client {
            self.await_connections().await;
        }
        Ok(())
    }

    fn listen(&self) -> Result<(), OpenError> {
        let shared = &self.shared;
        for endpoint in shared.config.listen_endpoints() {
            match self.listen_on(&endpoint) {
                Ok(listening) => shared.state.lock().listening.push(listening),
                Err(error) if shared.config.listen_exit_on_failure() => {
                    let endpoint = endpoint.to_string();
                    let reason = without_prefix(
                        &error.to_string(),
                        &format!("cannot listen on {endpoint}: "),
                    );
                    return Err(OpenError::Listen { endpoint, reason });
                }
                Err(error) => tracing::warn!("{error}"),
            }
        }
        Ok(())
    }

    fn listen_on(&self, endpoint: &Endpoint) -> Result<Listening, ListenError> {
        let config = &self.shared.config;
        let mut options = ListenOptions {
            accept_timeout: config.accept_timeout(),
            ..ListenOptions::default()
        };
        if let Some(pending_max) = config.accept_pending() {
            options.pending_max = pending_max;
        }
        let door = Arc::new(Door(Arc::clone(&self.shared)));
        with_runtime!(&self.shared.runtime, runtime => {
            listen_with(runtime, endpoint, self.shared.parameters(), door, options)
        })
    }

    /// A client's first connection, tried as often as the configuration says.
    async fn connect_client(&self) -> Result<crate::forwarding::FaceId, OpenError> {
        let shared = &self.shared;
        let endpoints = shared.config.connect_endpoints();
        if endpoints.is_empty() {
            return Err(OpenError::NoEndpoint);
        }
        let began = Instant::now();
        let mut backoff = shared.backoff(&endpoints);
        loop {
            let failure = match Shared::attempt_any(shared, &endpoints).await {
                Ok(face) => return Ok(face),
                Err(failure) => failure,
            };
            let wait = backoff.next_wait();
            let again = match shared.config.connect_timeout() {
                TimeLimit::Once => false,
                TimeLimit::For(limit) => began.elapsed() + wait < limit,
                TimeLimit::Forever => true,
            };
            if !again {
                return Err(connect_error(&endpoints, failure));
            }
            shared.pause(wait).await;
        }
    }

    /// Waits for the configured connections, but not for long.
    async fn await_connections(&self) {
        let wanted = self.shared.config.connect_endpoints().len();
        if wanted > 0 {
            let deadline = Instant::now() + FIRST_CONNECTIONS;
            self.shared
                .wait_until(deadline, |state| state.faces.len() >= wanted)
                .await;
        }
    }
}

impl Shared {
    /// Gives up on answers that are overdue.
    fn expire(&self) {
        let now = Instant::now();
        let due = |deadline| match deadline {
            Deadline::Now => true,
            Deadline::At(at) => at <= now,
        };
        self.update(|state| {
            if state.table.next_deadline().is_some_and(due) {
                state.table.expire(now, &mut state.actions);
            }
        });
    }
}

fn start_runtime(config: &Config) -> Result<AnyRuntime, OpenError> {
    if let Some(runtime) = config.runtime_handle() {
        if runtime.is_shut_down() {
            return Err(OpenError::Runtime {
                runtime: runtime.name().to_owned(),
                reason: "the runtime that was handed over is shut down".to_owned(),
            });
        }
        return Ok(runtime.clone());
    }
    let kind = config.runtime_kind();
    AnyRuntime::start(kind, &config.runtime_options()).map_err(|error| OpenError::Runtime {
        runtime: kind.to_string(),
        reason: error.to_string(),
    })
}

fn random_id() -> Result<ZenohId, OpenError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| OpenError::Config {
        reason: format!("the system gives no random id ({error}): set `id`"),
    })?;
    Ok(ZenohId::random_from(u128::from_le_bytes(bytes)))
}

fn connect_error(endpoints: &[Endpoint], failure: Option<Attempt>) -> OpenError {
    let endpoint = endpoints
        .iter()
        .map(Endpoint::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    let reason = failure.map_or_else(
        || "no endpoint was tried".to_owned(),
        |failure| failure.to_string(),
    );
    let reason = without_prefix(&reason, &format!("cannot connect to {endpoint}: "));
    OpenError::Connect { endpoint, reason }
}

/// The text without what the outer error says again.
fn without_prefix(text: &str, prefix: &str) -> String {
    text.strip_prefix(prefix).unwrap_or(text).to_owned()
}
