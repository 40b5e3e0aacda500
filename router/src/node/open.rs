// SPDX-License-Identifier: MIT OR Apache-2.0

//! Start of a node: runtime, listeners, first connections.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::{Endpoint, WhatAmI, ZenohId};
use zonda_runtime::{AnyRuntime, Runtime, with_runtime};

use crate::{
    admin::published::take_published_writes,
    config::{Config, ConfigError, Settings, TimeLimit},
    model::OpenError,
    node::{
        handle::Node,
        intercept::{Interceptor, TimestampCallback},
        running::Running,
        shared::{Configured, Shared, first},
    },
    peers::{
        attempt::Attempt,
        connect::{self, Kept},
        finding,
        links::LinkHandle,
        notes,
        reasons::{Refusal, RefusalKind},
    },
    table::Deadline,
};

/// Interval of the check for overdue replies of neighbours.
const LOOK_AFTER: Duration = Duration::from_secs(1);

impl Node {
    /// Opens a node: listens, connects, and keeps doing both on the configured runtime until it is
    /// closed.
    ///
    /// A client is connected when this returns: to one of its endpoints or, without any, to the
    /// first router or peer that answers its scouting. Peers and routers with endpoints, and peers
    /// that scout, return when the first neighbour has sent its declarations, or after half a
    /// second (`scouting/delay`); missing connections are retried for as long as the node is open.
    /// `timeout_ms` and `exit_on_failure` of `connect` and `listen` change the time limit of the
    /// attempts and whether a failure is one of `open`.
    ///
    /// # Errors
    /// The part of the configuration that is impossible; nothing is left running then.
    pub async fn open(config: Config) -> Result<Node, OpenError> {
        Node::open_with(config, None).await
    }

    /// Opens a node like [`Node::open`], whose records of time-stamp stacks get their times from
    /// `callback` if there is one. The node calls it inline, with no lock held, from any thread that
    /// publishes, queries or receives.
    ///
    /// # Errors
    /// See [`Node::open`].
    pub async fn open_with(
        config: Config,
        callback: Option<TimestampCallback>,
    ) -> Result<Node, OpenError> {
        let node = Node::made(&config, Interceptor::new(callback))?;
        drop(config);
        let opened = node.start().await;
        if opened.is_err() {
            // nothing was sent yet, so nothing can be late
            let _ = node.close(Duration::ZERO).await;
        }
        opened.map(|()| node)
    }

    /// Makes a node that does nothing yet. A function of its own, so that its temporary values are
    /// not kept for as long as it takes to open the node.
    fn made(config: &Config, interceptor: Interceptor) -> Result<Node, OpenError> {
        let refused = |error: ConfigError| OpenError::Config {
            reason: error.to_string(),
        };
        config.validate().map_err(refused)?;
        let settings = config.settings();
        let mut options = settings.link_options().map_err(refused)?;
        options.shared = settings.shared_memory();
        let zid = match settings.id {
            Some(zid) => zid,
            None => random_id()?,
        };
        let runtime = start_runtime(config.runtime_handle(), &settings)?;
        let configured = Configured {
            settings,
            options,
            running: Running::new(config),
            interceptor,
        };
        let shared = Arc::new_cyclic(|this| Shared::new(zid, configured, runtime, this.clone()));
        Ok(Node {
            shared,
            session: Arc::default(),
        })
    }

    async fn start(&self) -> Result<(), OpenError> {
        // A node that was just made is open.
        let _ = take_published_writes(&self.shared, &self.session);
        self.listen().await?;
        // one task does the periodic work; it does not keep the node alive
        let shared = &self.shared;
        let node = Arc::downgrade(shared);
        let (ticks, hurry) = (shared.runtime.clone(), Arc::clone(&shared.hurry));
        shared.runtime.spawn("zonda-clock", move || async move {
            while let Some(shared) = node.upgrade().filter(|shared| !shared.is_closed()) {
                let hurried = hurry.listen();
                let next = shared.expire().min(shared.look_after_memory());
                finding::discover_on(&shared);
                drop(shared);
                first(ticks.sleep_until(next), hurried).await;
                // much may be due at once, and sleeping until now is no pause
                with_runtime!(&ticks, runtime => runtime.yield_now().await);
            }
        });
        // neighbours: by scouting, and by the configured endpoints
        finding::start_scouting(shared);
        let kept = self.connect_first().await?;
        let is_waited_for = !kept.is_empty();
        for kept in kept {
            connect::start_connecting(shared, kept);
        }
        if shared.role != WhatAmI::Client {
            self.await_first_links(is_waited_for).await;
        }
        Ok(())
    }

    /// Opens the first connections, each with the endpoints that may restore it: one connection of
    /// a client, otherwise one for each group of endpoints. Optional connections are left to the
    /// background.
    async fn connect_first(&self) -> Result<Vec<Kept>, OpenError> {
        let settings = &self.shared.settings;
        let endpoints: Vec<Endpoint> = settings.connect_endpoints().cloned().collect();
        // a client needs one connection, to any of its endpoints
        if self.shared.role == WhatAmI::Client {
            let Some(first) = endpoints.first() else {
                return self.find_first().await;
            };
            let must = settings.connect_must_succeed(first);
            return match self.connect_until(&endpoints, Instant::now()).await {
                Err(error) if must => Err(error),
                Err(error) => {
                    tracing::warn!("{error}; trying again in the background");
                    Ok(vec![Kept::new(endpoints, None)])
                }
                Ok(standing) => Ok(vec![Kept::new(endpoints, standing)]),
            };
        }
        // other nodes connect to each group, and wait only if so configured
        let (mut kept, began) = (Vec::new(), Instant::now());
        for endpoints in settings.connect_groups.one_of.clone() {
            let must = endpoints.iter().any(|e| settings.connect_must_succeed(e));
            if !must && settings.connect_timeout != TimeLimit::Once {
                kept.push(Kept::new(endpoints, None));
                continue;
            }
            match self.connect_until(&endpoints, began).await {
                Ok(standing) => kept.push(Kept::new(endpoints, standing)),
                Err(error) if must => return Err(error),
                Err(error) => tracing::warn!("{error}"),
            }
        }
        Ok(kept)
    }

    /// Connects to one of `endpoints`, with as many attempts as the configuration allows. Returns
    /// `None` if the node that answers is connected already.
    async fn connect_until(
        &self,
        endpoints: &[Endpoint],
        began: Instant,
    ) -> Result<Option<LinkHandle>, OpenError> {
        let shared = &self.shared;
        let mut backoff = connect::backoff_any(shared.times.connect_retry(), endpoints);
        let mut told = false;
        loop {
            let failure = match connect::attempt_any(shared, endpoints).await {
                Ok(face) => return Ok(Some(face)),
                Err(Some(Attempt::Known(_))) if shared.role != WhatAmI::Client => return Ok(None),
                Err(failure) => failure,
            };
            // the next attempt must begin within the limit
            let wait = backoff.next_wait();
            if !shared
                .settings
                .connect_timeout
                .allows(began.elapsed() + wait)
            {
                notes::note_retry(shared, endpoints, None);
                return Err(connect_error(endpoints, failure));
            }
            // the first failure is reported, then back off
            notes::note_retry(shared, endpoints, Some(wait));
            if !std::mem::replace(&mut told, true) {
                let error = connect_error(endpoints, failure);
                tracing::warn!("{error}; waiting for it (connect/timeout_ms)");
            }
            shared.pause(wait).await;
        }
    }

    /// Connects a client without endpoints. If it finds no router in time, the scouting thread
    /// connects to a later one.
    async fn find_first(&self) -> Result<Vec<Kept>, OpenError> {
        match self.find_gateway().await {
            Err(error @ OpenError::NoNodeFound { .. }) if !self.shared.settings.must_connect => {
                tracing::warn!("{error}; searching on in the background");
            }
            found => found?,
        }
        Ok(Vec::new())
    }
}

impl Shared {
    /// Gives up on overdue replies; returns the time of the next check.
    fn expire(&self) -> Instant {
        let now = Instant::now();
        let due = |deadline| match deadline {
            Deadline::Now => true,
            Deadline::At(at) => at <= now,
        };
        self.update(|state| {
            if state.table.next_deadline().is_some_and(due) {
                state.table.expire(now, &mut state.actions);
            }
            state.queries.set_alarm(now + LOOK_AFTER, &state.table)
        })
    }
}

fn start_runtime(
    handed_over: Option<&AnyRuntime>,
    settings: &Settings,
) -> Result<AnyRuntime, OpenError> {
    if let Some(runtime) = handed_over {
        if runtime.is_shut_down() {
            return Err(OpenError::Runtime {
                runtime: runtime.name().to_owned(),
                reason: "the runtime that was handed over is shut down".to_owned(),
            });
        }
        return Ok(runtime.clone());
    }
    let kind = settings.runtime_kind;
    AnyRuntime::start(kind, &settings.runtime_options()).map_err(|error| OpenError::Runtime {
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
    let (kind, text) = failure.map_or_else(
        || (RefusalKind::Unreachable, "no endpoint was tried".to_owned()),
        |failure| (failure.kind(), failure.to_string()),
    );
    let text = without_prefix(&text, &format!("cannot connect to {endpoint}: "));
    let reason = Refusal { kind, text };
    OpenError::Connect { endpoint, reason }
}

/// Returns the text without the part that the outer error repeats.
fn without_prefix(text: &str, prefix: &str) -> String {
    text.strip_prefix(prefix).unwrap_or(text).to_owned()
}
