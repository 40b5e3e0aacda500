// SPDX-License-Identifier: MIT OR Apache-2.0

//! Upkeep of the configured connections: connect, wait for the loss, connect again.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::{Endpoint, WhatAmI};
use zonda_runtime::with_runtime;
use zonda_transport::{
    dial::{Backoff, DialError, DialOptions, RetryPolicy, open_link_with},
    link::Link,
};

use crate::{
    config::{Retry, TimeLimit},
    node::shared::Shared,
    peers::{admit, attempt::Attempt, crossing, links::LinkHandle, notes, rejoin, wanted::Upkeep},
    table::scouting,
};

/// Duration from which on a lost connection counts as stable and resets the backoff.
const SETTLED: Duration = Duration::from_secs(2);

/// Connection to keep.
pub(crate) struct Kept {
    /// Endpoints of which one is to be connected.
    endpoints: Vec<Endpoint>,
    /// Connection that stands already, if one does.
    pub(crate) standing: Option<LinkHandle>,
}

impl Kept {
    pub(crate) fn new(endpoints: Vec<Endpoint>, standing: Option<LinkHandle>) -> Self {
        Kept {
            endpoints,
            standing,
        }
    }
}

/// Attempts to connect to one endpoint once, and notes the result.
async fn attempt(shared: &Arc<Shared>, endpoint: &Endpoint) -> Result<LinkHandle, Attempt> {
    notes::note_begin(shared, endpoint);
    let result = attempt_untold(shared, endpoint).await;
    notes::note_attempt(shared, endpoint, &result);
    result
}

async fn attempt_untold(shared: &Arc<Shared>, endpoint: &Endpoint) -> Result<LinkHandle, Attempt> {
    if shared.is_closed() {
        return Err(Attempt::Closed);
    }
    let link = match dial(shared, endpoint).await {
        Err(refused) if is_linked_to(shared, &refused) => {
            return Err(Attempt::Known(endpoint.clone()));
        }
        dialed => dialed?,
    };
    if crossing::reserve_dialed(shared, &link.established)
        .await
        .is_err()
    {
        return Err(Attempt::Known(endpoint.clone()));
    }
    admit::settle(shared, link, true).ok_or(Attempt::Closed)
}

/// Returns true if the node at the other end refused a link because it has one to this node,
/// and this node has that link as well.
fn is_linked_to(shared: &Shared, refused: &DialError) -> bool {
    let linked = refused.linked();
    linked.is_some_and(|zid| shared.state.lock().peers.link_to(&zid) == scouting::Link::Up)
}

async fn dial(shared: &Shared, endpoint: &Endpoint) -> Result<Link, DialError> {
    let options = DialOptions {
        timeout: shared.settings.open_timeout,
        links: shared.state.lock().peers.links(),
        ..DialOptions::default()
    };
    with_runtime!(&shared.runtime, runtime => {
        open_link_with(runtime, endpoint, &shared.parameters(), &options).await
    })
}

/// Attempts each endpoint in turn, until one succeeds or, unless this node is a client, one
/// turns out to be connected already.
pub(crate) async fn attempt_any(
    shared: &Arc<Shared>,
    endpoints: &[Endpoint],
) -> Result<LinkHandle, Option<Attempt>> {
    let mut last = None;
    for endpoint in endpoints {
        match attempt(shared, endpoint).await {
            Ok(face) => {
                notes::note_reached(shared, endpoints);
                return Ok(face);
            }
            Err(known @ Attempt::Known(_)) if shared.role != WhatAmI::Client => {
                return Err(Some(known));
            }
            Err(failure) => last = Some(failure),
        }
    }
    Err(last)
}

/// Keeps a connection to one of the endpoints of `upkeep` until that is over. `face` is the
/// connection that stands already, if one does.
async fn keep_connected(shared: Arc<Shared>, upkeep: Arc<Upkeep>, mut face: Option<LinkHandle>) {
    let endpoints = upkeep.endpoints();
    let mut pauses = Pauses::new(&shared, endpoints);
    let mut failures = Failures::default();
    let mut is_joined = shared.role != WhatAmI::Client;
    while !is_over(&shared, &upkeep) {
        // hold the connection until it is lost
        if let Some(face) = face.take() {
            if !std::mem::replace(&mut is_joined, true) {
                start_joining(&shared, face);
            }
            let since = Instant::now();
            wait_until_gone(&shared, face, || is_over(&shared, &upkeep)).await;
            if is_over(&shared, &upkeep) {
                return;
            }
            failures.lose();
            rejoin::stay_away(&shared).await;
            if let Some(wait) = pauses.after_loss(&shared, since.elapsed()) {
                notes::note_retry(&shared, endpoints, Some(wait));
                shared
                    .pause_unless(wait, || is_over(&shared, &upkeep))
                    .await;
            }
        }
        // one attempt at each endpoint
        match attempt_any(&shared, endpoints).await {
            Ok(connected) => {
                if let Some(lost) = failures.end(endpoints) {
                    shared.lines.log_return(&names(endpoints), lost);
                }
                face = Some(connected);
                continue;
            }
            Err(Some(Attempt::Known(_))) => {
                failures = Failures::default();
                tracing::debug!("{}", "this node is connected already")
            }
            Err(Some(failure)) => failures.add(&failure),
            Err(None) => return,
        }
        // back off after a failure
        let wait = pauses.current(&shared).next_wait_apart();
        notes::note_retry(&shared, endpoints, Some(wait));
        shared
            .pause_unless(wait, || {
                is_over(&shared, &upkeep) || pauses.are_over(&shared)
            })
            .await;
    }
}

/// Returns true if a connection is not to be kept any more.
fn is_over(shared: &Shared, upkeep: &Upkeep) -> bool {
    upkeep.has_ended() || shared.is_closed()
}

/// Waits for the loss of a connection, or until `is_over`.
async fn wait_until_gone(shared: &Shared, standing: LinkHandle, is_over: impl Fn() -> bool) {
    loop {
        let changed = shared.changed.listen();
        if is_over() || !shared.state.lock().stands(standing) {
            return;
        }
        changed.await;
    }
}

/// Starts the upkeep of a client's further links to the neighbour that it has connected to
/// first.
fn start_joining(shared: &Arc<Shared>, standing: LinkHandle) {
    if shared.settings.max_links < 2 {
        return;
    }
    let opened = shared
        .state
        .lock()
        .peers
        .dials
        .opened(standing.face)
        .cloned();
    for group in &shared.settings.connect_groups.together {
        if !group
            .iter()
            .any(|endpoint| Some(endpoint) == opened.as_ref())
        {
            continue;
        }
        for endpoint in group.iter().filter(|e| Some(*e) != opened.as_ref()) {
            let (node, endpoint) = (Arc::clone(shared), endpoint.clone());
            shared
                .runtime
                .spawn("zonda-connect", move || keep_joined(node, endpoint));
        }
    }
}

/// Keeps one more link to the neighbour that a client is connected to, for as long as the node
/// is open.
async fn keep_joined(shared: Arc<Shared>, endpoint: Endpoint) {
    let own = std::slice::from_ref(&endpoint);
    let mut pauses = Pauses::new(&shared, own);
    while !shared.is_closed() {
        notes::note_begin(&shared, &endpoint);
        let joined = attempt_joining(&shared, &endpoint).await;
        notes::note_attempt(&shared, &endpoint, &joined);
        match joined {
            Ok(standing) => {
                let since = Instant::now();
                wait_until_gone(&shared, standing, || shared.is_closed()).await;
                if since.elapsed() >= SETTLED {
                    pauses.backoff.reset();
                }
            }
            Err(failure) => tracing::debug!("{failure}"),
        }
        let wait = pauses.current(&shared).next_wait();
        notes::note_retry(&shared, own, Some(wait));
        shared
            .pause_unless(wait, || shared.is_closed() || pauses.are_over(&shared))
            .await;
    }
}

/// Attempts to open one more link. A link to any other node is closed again.
async fn attempt_joining(shared: &Arc<Shared>, endpoint: &Endpoint) -> Result<LinkHandle, Attempt> {
    let link = dial(shared, endpoint).await?;
    let links_max = shared.settings.max_links;
    let reserved = shared
        .state
        .lock()
        .reserve_link(&link.established, links_max);
    if reserved.is_err() {
        return Err(Attempt::Known(endpoint.clone()));
    }
    admit::settle(shared, link, true).ok_or(Attempt::Closed)
}

/// Starts the upkeep of a configured connection.
pub(crate) fn start_connecting(shared: &Arc<Shared>, kept: Kept) {
    let upkeep = shared.state.lock().peers.wanted.keep(kept.endpoints);
    let node = Arc::clone(shared);
    shared.runtime.spawn("zonda-connect", move || {
        keep_connected(node, upkeep, kept.standing)
    });
}

/// Starts the upkeep of a connection that a reload has added. One that is tried only once
/// (`connect/timeout_ms`) is given up after a failure.
pub(super) fn start_added(shared: &Arc<Shared>, kept: Kept) {
    if kept.standing.is_some() || shared.settings.connect_timeout != TimeLimit::Once {
        return start_connecting(shared, kept);
    }
    let node = Arc::clone(shared);
    shared.runtime.spawn("zonda-connect", move || async move {
        match attempt_any(&node, &kept.endpoints).await {
            Ok(standing) => start_connecting(&node, Kept::new(kept.endpoints, Some(standing))),
            Err(Some(failure)) => tracing::warn!("{failure}"),
            Err(None) => {}
        }
    });
}

/// Pauses between attempts at the same endpoints, as they are configured now.
struct Pauses<'e> {
    endpoints: &'e [Endpoint],
    retry: Retry,
    backoff: Backoff,
    /// True if the last connection was lost as soon as it stood.
    was_brief: bool,
}

impl Pauses<'_> {
    fn new<'e>(shared: &Shared, endpoints: &'e [Endpoint]) -> Pauses<'e> {
        let retry = shared.times.connect_retry();
        Pauses {
            endpoints,
            retry,
            backoff: backoff_any(retry, endpoints),
            was_brief: false,
        }
    }

    /// Returns the pause after the loss of a connection, by the time that it lasted: none, unless
    /// brief ones follow each other, as with a neighbour that has no room for this node.
    fn after_loss(&mut self, shared: &Shared, lasted: Duration) -> Option<Duration> {
        let is_brief = lasted < SETTLED;
        if !is_brief {
            self.backoff.reset();
        }
        let was_brief = std::mem::replace(&mut self.was_brief, is_brief);
        (is_brief && was_brief).then(|| self.current(shared).next_wait_apart())
    }

    /// Returns true once a reload has changed them.
    fn are_over(&self, shared: &Shared) -> bool {
        self.retry != shared.times.connect_retry()
    }

    /// Returns those in force, from the shortest if they have changed.
    fn current(&mut self, shared: &Shared) -> &mut Backoff {
        if self.are_over(shared) {
            *self = Pauses::new(shared, self.endpoints);
        }
        &mut self.backoff
    }
}

pub(crate) fn backoff_any(retry: Retry, endpoints: &[Endpoint]) -> Backoff {
    match endpoints.first() {
        Some(endpoint) => backoff(retry, endpoint),
        None => Backoff::new(policy(retry)),
    }
}

pub(crate) fn backoff(retry: Retry, endpoint: &Endpoint) -> Backoff {
    let policy = policy(retry);
    // The configuration rejects invalid options, except for unknown protocols, which no attempt
    // can reach anyway.
    Backoff::new(policy.with_endpoint(endpoint).unwrap_or(policy))
}

/// Log lines about attempts that fail one after the other. The second failure is a warning, so that
/// programs that start within a moment of each other are quiet; so is the connection that finally
/// succeeds, and each connection after a loss.
#[derive(Default)]
struct Failures {
    count: u32,
    lost: Option<Instant>,
}

impl Failures {
    const TOLD: u32 = 2;

    /// Notes that the connection is lost.
    fn lose(&mut self) {
        self.lost = Some(Instant::now());
    }

    fn add(&mut self, failure: &Attempt) {
        self.count = self.count.saturating_add(1);
        match self.count {
            Self::TOLD => tracing::warn!("{failure}; trying again"),
            _ => tracing::info!("{failure}"),
        }
    }

    /// Notes that there is a connection; returns the time at which the previous one was lost, if
    /// there was one.
    fn end(&mut self, endpoints: &[Endpoint]) -> Option<Instant> {
        let Failures { count, lost } = std::mem::take(self);
        if lost.is_none() && count >= Self::TOLD {
            let names = names(endpoints);
            tracing::warn!("connected to {names} after {count} attempts that failed");
        }
        lost
    }
}

fn names(endpoints: &[Endpoint]) -> String {
    let names: Vec<String> = endpoints.iter().map(ToString::to_string).collect();
    names.join(" or ")
}

fn policy(retry: Retry) -> RetryPolicy {
    RetryPolicy {
        init: retry.period_init,
        max: retry.period_max,
        factor: retry.increase_factor,
    }
}
