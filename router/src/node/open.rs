// SPDX-License-Identifier: MIT OR Apache-2.0

//! Opening a node: runtime, listeners, first connections.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::{Endpoint, WhatAmI, ZenohId};
use zonda_runtime::AnyRuntime;

use crate::{
    config::{Config, ConfigError, TimeLimit},
    forwarding::Deadline,
};

use super::{
    Node, OpenError,
    connect::{Attempt, Kept},
    links::Standing,
    shared::Shared,
};

/// How long a peer or router waits at most for its configured connections before it goes on without them.
const FIRST_CONNECTIONS: Duration = Duration::from_millis(500);

/// How often answers that neighbours owe are looked after.
const LOOK_AFTER: Duration = Duration::from_secs(1);

impl Node {
    /// Opens a node: listens, connects, and keeps doing both on the configured runtime until it is closed.
    ///
    /// A client is connected when this returns. Peers and routers return once every configured endpoint was reached,
    /// or after half a second; what is missing is tried again for as long as the node is open. `timeout_ms` and
    /// `exit_on_failure` of `connect` and `listen` change how long it is tried and whether a failure is one of `open`.
    ///
    /// # Errors
    /// What of it is impossible; nothing is left running then.
    pub async fn open(config: Config) -> Result<Node, OpenError> {
        let refused = |error: ConfigError| OpenError::Config {
            reason: error.to_string(),
        };
        config.validate().map_err(refused)?;
        let options = config.link_options().map_err(refused)?;
        let zid = match config.id() {
            Some(zid) => zid,
            None => random_id()?,
        };
        let runtime = start_runtime(&config)?;
        let role = config.mode();
        let node = Node {
            shared: Arc::new(Shared::new((zid, role), (config, options), runtime)),
        };
        let opened = node.start().await;
        if opened.is_err() {
            // Nothing was sent yet, so there is nothing that could be late.
            let _ = node.close(Duration::ZERO).await;
        }
        opened.map(|()| node)
    }

    async fn start(&self) -> Result<(), OpenError> {
        self.listen().await?;
        let shared = &self.shared;
        let node = Arc::downgrade(shared);
        let ticks = shared.runtime.clone();
        shared.runtime.spawn("zonda-clock", move || async move {
            while let Some(shared) = node.upgrade().filter(|shared| !shared.is_closed()) {
                shared.expire();
                drop(shared);
                ticks.sleep_until(Instant::now() + LOOK_AFTER).await;
            }
        });
        let kept = self.connect_first().await?;
        let is_waited_for = kept.iter().any(|(_, standing)| standing.is_none());
        for kept in kept {
            Shared::start_connecting(shared, kept);
        }
        if is_waited_for && shared.role != WhatAmI::Client {
            self.await_connections().await;
        }
        Ok(())
    }

    /// The first connections, each with the endpoints that it may be restored with: of a client one, of others one for
    /// each endpoint. Those that are not waited for are left to the background.
    async fn connect_first(&self) -> Result<Vec<Kept>, OpenError> {
        let config = &self.shared.config;
        let endpoints = config.connect_endpoints();
        if self.shared.role == WhatAmI::Client {
            let first = endpoints.first().ok_or(OpenError::NoEndpoint)?;
            let must = config.connect_must_succeed(first);
            return match self.connect_until(&endpoints, Instant::now()).await {
                Err(error) if must => Err(error),
                Err(error) => {
                    tracing::warn!("{error}; trying again in the background");
                    Ok(vec![(endpoints, None)])
                }
                Ok(face) => Ok(vec![(endpoints, face)]),
            };
        }
        let (mut kept, began) = (Vec::new(), Instant::now());
        for endpoint in endpoints {
            let must = config.connect_must_succeed(&endpoint);
            let group = vec![endpoint];
            if !must && config.connect_timeout() != TimeLimit::Once {
                kept.push((group, None));
                continue;
            }
            match self.connect_until(&group, began).await {
                Ok(face) => kept.push((group, face)),
                Err(error) if must => return Err(error),
                Err(error) => tracing::warn!("{error}"),
            }
        }
        Ok(kept)
    }

    /// A connection to one of `endpoints`, tried as often as the configuration says. `None` if the node that answers is
    /// connected already.
    async fn connect_until(
        &self,
        endpoints: &[Endpoint],
        began: Instant,
    ) -> Result<Option<Standing>, OpenError> {
        let shared = &self.shared;
        let mut backoff = shared.backoff_any(endpoints);
        let mut told = false;
        loop {
            let failure = match Shared::attempt_any(shared, endpoints).await {
                Ok(face) => return Ok(Some(face)),
                Err(Some(Attempt::Known(_))) if shared.role != WhatAmI::Client => return Ok(None),
                Err(failure) => failure,
            };
            let wait = backoff.next_wait();
            if !shared
                .config
                .connect_timeout()
                .allows(began.elapsed() + wait)
            {
                return Err(connect_error(endpoints, failure));
            }
            if !std::mem::replace(&mut told, true) {
                let error = connect_error(endpoints, failure);
                tracing::warn!("{error}; waiting for it (connect/timeout_ms)");
            }
            shared.pause(wait).await;
        }
    }

    /// Waits for the configured connections, but not for long.
    async fn await_connections(&self) {
        let deadline = Instant::now() + FIRST_CONNECTIONS;
        self.shared
            .wait_until(deadline, |state| state.dials.are_done())
            .await;
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
