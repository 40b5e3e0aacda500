// SPDX-License-Identifier: MIT OR Apache-2.0

//! Connections to nodes that scouting and gossip have found, and the conditions on which `open`
//! waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::{Endpoint, Locator, WhatAmI, ZenohId};
use zonda_runtime::with_runtime;
use zonda_transport::dial::{DialError, DialOptions, open_link_with};
use zonda_transport::protocol::handshake::HandshakeError;
use zonda_transport::protocol::options::LocalOptions;

use crate::{
    model::OpenError,
    node::{handle::Node, shared::Shared, state::State},
    peers::{admit, attempt::Attempt, crossing, finding},
    table::scouting::{self, Link, Outcome},
};

/// Least share of the remaining time for each locator, however many locators a node has.
const SHARE_MIN: Duration = Duration::from_millis(500);

/// Attempts to connect to a found node once: at each of its locators in turn.
pub(crate) async fn connect_to(shared: Arc<Shared>, attempt: scouting::Attempt) {
    let scouting::Attempt { zid, locators } = attempt;
    let deadline = zonda_runtime::after(shared.settings.open_timeout);
    let mut failure = None;
    for (tried, locator) in locators.iter().enumerate() {
        // another task may have connected to it
        if shared.is_closed() || shared.state.lock().peers.link_to(&zid) != Link::None {
            break;
        }
        if !begins_at(&shared, &zid, locator) {
            continue;
        }
        // locators share the time that is left
        let left = deadline.saturating_duration_since(Instant::now());
        let parts = u32::try_from(locators.len() - tried).unwrap_or(u32::MAX);
        let limit = (left / parts).max(SHARE_MIN);
        let options = DialOptions {
            timeout: limit,
            expected: Some(zid),
            links: shared.state.lock().peers.links(),
        };
        let dialed = dial_found(&shared, &locator.clone().into(), options).await;
        note_tried(&shared, &zid, locator, &dialed);
        match dialed {
            Ok(()) | Err(Attempt::Known(_)) => {
                failure = None;
                break;
            }
            Err(error) => failure = Some(error),
        }
    }
    if let Some(error) = &failure {
        tracing::debug!("{zid}: {error}");
    }
    // a node refuses a second link while it opens one
    let is_crossed = failure.as_ref().is_some_and(Attempt::is_crossed);
    // record the result, and let the next candidates begin
    let mut state = shared.state.lock();
    if let Some(error) = failure {
        state.peers.discovery.last_failure = Some(error.to_string());
    }
    let link = match state.peers.link_to(&zid) {
        Link::None if is_crossed => Link::Coming,
        link => link,
    };
    let candidates = &mut state.peers.discovery.candidates;
    candidates.ended(&zid, link, Instant::now());
    drop(state);
    // the admission of a link of that node may wait for this
    shared.changed.notify(usize::MAX);
    // another candidate may be due
    Shared::connect_to_found(&shared);
}

async fn dial_found(
    shared: &Arc<Shared>,
    endpoint: &Endpoint,
    options: DialOptions,
) -> Result<(), Attempt> {
    let mut parameters = shared.parameters();
    if !shared.settings.shows_user_to_all {
        let mut options = LocalOptions::clone(&parameters.options);
        options.credentials = None;
        parameters.options = Arc::new(options);
    }
    let link = with_runtime!(&shared.runtime, runtime => {
        open_link_with(runtime, endpoint, &parameters, &options).await
    })?;
    if crossing::reserve_dialed(shared, &link.established)
        .await
        .is_err()
    {
        return Err(Attempt::Known(endpoint.clone()));
    }
    admit::settle(shared, link, true)
        .map(drop)
        .ok_or(Attempt::Closed)
}

/// Returns true if a locator of a node may be tried now.
fn begins_at(shared: &Shared, zid: &ZenohId, locator: &Locator) -> bool {
    let candidates = &mut shared.state.lock().peers.discovery.candidates;
    candidates.begin(zid, locator, Instant::now())
}

/// Records the result of an attempt at a locator.
fn note_tried(shared: &Shared, zid: &ZenohId, locator: &Locator, dialed: &Result<(), Attempt>) {
    let candidates = &mut shared.state.lock().peers.discovery.candidates;
    let outcome = match dialed {
        // the node has said goodbye since, so no neighbour is to blame
        Err(_) if candidates.has_left(zid) => Outcome::Declined,
        Ok(()) | Err(Attempt::Known(_)) => Outcome::Found,
        Err(failure) if failure.is_crossed() => Outcome::Declined,
        Err(Attempt::Dial(DialError::Handshake {
            source: HandshakeError::WrongId { found, .. },
            ..
        })) => Outcome::Other(*found),
        Err(_) => Outcome::Failed,
    };
    candidates.tried(locator, outcome, Instant::now());
}

impl State {
    /// Returns true if there is a link, and no more are to be expected soon: each neighbour has sent
    /// its declarations, if they are awaited, and each node that was found has been tried.
    ///
    /// A peer hears of the others from the first one it is linked to. A program that puts a value
    /// and ends would miss those that it is not linked to yet.
    fn has_settled(&self, awaits_declarations: bool) -> bool {
        let faces = || self.faces.iter().filter(|(_, face)| !face.is_group());
        let has_declared = |face| !awaits_declarations || self.table.has_declared_all(face);
        let candidates = &self.peers.discovery.candidates;
        faces().next().is_some()
            && faces().all(|(face, _)| has_declared(*face))
            && !candidates.expects_links(Instant::now(), |zid| self.peers.link_to(zid))
    }
}

impl Node {
    /// Waits until a client without endpoints is connected to a node that answered its scouting.
    pub(crate) async fn find_gateway(&self) -> Result<(), OpenError> {
        let shared = &self.shared;
        let scouting = shared.settings.scouting();
        // wait for a link until the scouting timeout
        if !finding::scouts(&shared.settings) {
            return Err(OpenError::NoEndpoint);
        }
        let deadline = zonda_runtime::after(scouting.timeout);
        let is_connected = |state: &State| !state.faces.is_empty();
        if shared.wait_until(deadline, is_connected).await {
            return Ok(());
        }
        // the error names the interfaces that were tried, and the last failure
        let status = self.discovery();
        let tried = status.scouting.map_or_else(
            || "scouting could not start".to_owned(),
            |report| report.to_string(),
        );
        Err(OpenError::NoNodeFound {
            roles: scouting.autoconnect.roles.to_string(),
            after: scouting.timeout,
            tried: match status.last_failure {
                Some(failure) => format!("{tried}; {failure}"),
                None => tried,
            },
        })
    }

    /// Waits briefly for a usable link to each node that is found at once, if there is reason to
    /// expect one.
    pub(crate) async fn await_first_links(&self, awaits_endpoints: bool) {
        let shared = &self.shared;
        let settings = &shared.settings;
        let scouting = settings.scouting();
        let scouts = shared.role == WhatAmI::Peer && finding::scouts(&shared.settings);
        if !settings.open_awaits_connection || !(awaits_endpoints || scouts) {
            return;
        }
        let deadline = zonda_runtime::after(scouting.delay);
        let awaits_declarations = settings.open_awaits_declarations;
        let has_settled = |state: &State| state.has_settled(awaits_declarations);
        shared.wait_until(deadline, has_settled).await;
    }
}
