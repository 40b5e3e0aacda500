// SPDX-License-Identifier: MIT OR Apache-2.0

//! Listeners on the configured endpoints: opened at once, retried for a while, or retried in the
//! background.

use std::{sync::Arc, time::Instant};

use zonda_codec::Endpoint;
use zonda_runtime::with_runtime;
use zonda_transport::{
    link::{LinkSettings, is_group},
    listen::{ListenError, ListenOptions, Listening, listen_with},
};

use crate::{
    config::TimeLimit,
    model::OpenError,
    node::{handle::Node, shared::Shared, state::State},
    peers::{admit::PeerAdmission, connect, finding, groups, trust},
};

impl Node {
    /// Listens on every configured endpoint. A failed one is retried as `listen/timeout_ms` allows:
    /// before this returns if the endpoint must succeed, in the background otherwise.
    pub(crate) async fn listen(&self) -> Result<(), OpenError> {
        let shared = &self.shared;
        let (settings, began) = (&shared.settings, Instant::now());
        for endpoint in settings.listen_endpoints.clone() {
            let Err(error) = listen_once(shared, &endpoint) else {
                continue;
            };
            // a failure ends the node, is waited for, or is left to the background
            let must = settings.listen_must_succeed(&endpoint);
            match settings.listen_timeout {
                TimeLimit::Once if must => return Err(refused(&endpoint, &error)),
                TimeLimit::Once => tracing::warn!("{error}"),
                limit if must => {
                    tracing::warn!("{error}; waiting for it (listen/timeout_ms)");
                    self.listen_until(&endpoint, limit, began).await?;
                }
                TimeLimit::For(_) | TimeLimit::Forever => {
                    tracing::warn!("{error}; trying again in the background");
                    start_trying(shared, endpoint);
                }
            }
        }
        // all listeners are known now
        trust::tell_of_open_mesh(&shared.settings);
        Ok(())
    }

    async fn listen_until(
        &self,
        endpoint: &Endpoint,
        limit: TimeLimit,
        began: Instant,
    ) -> Result<(), OpenError> {
        let shared = &self.shared;
        let mut backoff = connect::backoff(shared.settings.listen_retry(), endpoint);
        loop {
            let Err(error) = listen_once(shared, endpoint) else {
                return Ok(());
            };
            let wait = backoff.next_wait();
            if !limit.allows(began.elapsed() + wait) {
                return Err(refused(endpoint, &error));
            }
            tracing::debug!("{error}");
            shared.pause(wait).await;
        }
    }
}

/// Attempts to listen once; without effect once the node is closed.
fn listen_once(shared: &Arc<Shared>, endpoint: &Endpoint) -> Result<(), ListenError> {
    if is_group(endpoint) {
        return groups::join_group(shared, endpoint);
    }
    let links = shared.state.lock().peers.links();
    keep(shared, open(shared, endpoint, links)?);
    Ok(())
}

/// Keeps a listener that was opened, unless the node is closed or a reload has removed its endpoint.
pub(super) fn keep(shared: &Shared, listening: Listening) {
    let mut state = shared.state.lock();
    // closing takes the listeners with this lock, after it has marked the node as closed
    let is_late = shared.is_closed() || !state.peers.wanted.listens_at(listening.endpoint());
    let late = match is_late {
        true => Some(listening),
        false => {
            state.peers.listening.push(listening);
            None
        }
    };
    drop(state);
    if late.is_none() {
        finding::tell_own(shared);
    }
    drop(late);
}

/// Opens a listener, whose links become neighbours.
pub(super) fn open(
    shared: &Arc<Shared>,
    endpoint: &Endpoint,
    links: LinkSettings,
) -> Result<Listening, ListenError> {
    let options = ListenOptions {
        pending_max: shared.limits.pending_max,
        accept_timeout: shared.settings.accept_timeout,
        links,
        lease: Some(shared.times.shared_lease()),
    };
    let door = Arc::new(PeerAdmission {
        shared: Arc::clone(shared),
        listener: endpoint.clone(),
    });
    with_runtime!(&shared.runtime, runtime => {
        listen_with(runtime, endpoint, shared.parameters(), door, options)
    })
}

/// Tries to listen in the background, until the node listens there or is not to any more.
pub(super) fn start_trying(shared: &Arc<Shared>, endpoint: Endpoint) {
    let node = Arc::clone(shared);
    shared
        .runtime
        .spawn("zonda-listen", move || keep_trying(node, endpoint));
}

async fn keep_trying(shared: Arc<Shared>, endpoint: Endpoint) {
    let mut backoff = connect::backoff(shared.settings.listen_retry(), &endpoint);
    loop {
        shared.pause(backoff.next_wait()).await;
        if shared.is_closed() || !shared.state.lock().lacks_listener(&endpoint) {
            return;
        }
        match listen_once(&shared, &endpoint) {
            Ok(()) => return tracing::info!("listening on {endpoint} now"),
            Err(error) => tracing::debug!("{error}"),
        }
    }
}

impl State {
    /// Returns true if this node is to listen at an endpoint, and does not.
    fn lacks_listener(&self, endpoint: &Endpoint) -> bool {
        let mut open = self.peers.listening.iter();
        let mut groups = self.faces.values().filter_map(|face| face.group.as_ref());
        self.peers.wanted.listens_at(endpoint)
            && open.all(|one| one.endpoint() != endpoint)
            && groups.all(|group| group.endpoint() != endpoint)
    }
}

fn refused(endpoint: &Endpoint, error: &ListenError) -> OpenError {
    let (endpoint, text) = (endpoint.to_string(), error.to_string());
    let reason = text.strip_prefix(&format!("cannot listen on {endpoint}: "));
    OpenError::Listen {
        reason: reason.unwrap_or(&text).to_owned(),
        endpoint,
    }
}
