// SPDX-License-Identifier: MIT OR Apache-2.0

//! Other endpoints, certificates and times on a running node. All of them are checked, and new listeners
//! opened, before any takes effect; open links stay.

use std::sync::Arc;

use zonda_codec::{Endpoint, WhatAmI, transport::reason};
use zonda_transport::{
    link::{EndpointUse, LinkSettings, Protocol, check_credentials, is_group},
    listen::{ListenError, ListenerCertificates, Listening},
    outbox::{CLOSE_GRACE, Outbox},
};

use crate::{
    config::{ConfigError, Settings, TimeLimit},
    node::{shared::Shared, state::State},
    peers::{
        connect::{self, Kept},
        finding,
        links::LinkHandle,
        listen, trust,
    },
};

/// Endpoints and certificates that were checked and can take effect.
pub(crate) struct Renewal {
    settings: Settings,
    links: LinkSettings,
    /// New listeners, which are open.
    opened: Vec<Listening>,
    /// New endpoints that are to be tried in the background: groups, and those whose failure
    /// `listen/exit_on_failure` allows.
    later: Vec<Endpoint>,
}

/// Parts of the former state that end or begin.
#[derive(Default)]
struct Changes {
    closed: Vec<Listening>,
    left: Vec<Arc<Outbox>>,
    certificates: Vec<ListenerCertificates>,
    connect: Vec<Kept>,
}

impl Renewal {
    /// Checks the endpoints and certificates of other settings, and opens new listeners.
    ///
    /// # Errors
    /// The first endpoint, file or port that cannot be used; nothing has changed.
    ///
    /// # Blocking
    /// Reads the files, and looks up host names.
    pub(crate) fn prepare(
        shared: &Arc<Shared>,
        settings: Settings,
    ) -> Result<Renewal, ConfigError> {
        let links = settings.links();
        check_files(shared, &settings, &links)?;
        let mut renewal = Renewal {
            links,
            opened: Vec::new(),
            later: Vec::new(),
            settings,
        };
        let state = shared.state.lock();
        let wanted = &state.peers.wanted;
        let endpoints = renewal.settings.listen_endpoints.iter();
        let new: Vec<Endpoint> = endpoints
            .filter(|endpoint| !wanted.listens_at(endpoint))
            .cloned()
            .collect();
        drop(state);
        for endpoint in new {
            renewal.open(shared, endpoint)?;
        }
        Ok(renewal)
    }

    /// Opens a new listener.
    fn open(&mut self, shared: &Arc<Shared>, endpoint: Endpoint) -> Result<(), ConfigError> {
        if is_group(&endpoint) {
            self.later.push(endpoint);
            return Ok(());
        }
        let may_wait = self.settings.listen_timeout != TimeLimit::Once
            || !self.settings.listen_must_succeed(&endpoint);
        match listen::open(shared, &endpoint, self.links.clone()) {
            Ok(listening) => self.opened.push(listening),
            Err(error) if may_wait => {
                tracing::warn!("{error}; trying again in the background");
                self.later.push(endpoint);
            }
            Err(error) => return Err(refused(&error)),
        }
        Ok(())
    }

    /// Lets all of it take effect. Returns the number of listeners with certificates.
    pub(crate) fn apply(self, shared: &Arc<Shared>) -> usize {
        let (settings, has_new) = (&self.settings, !self.opened.is_empty());
        shared.times.replace(settings);
        let mut state = shared.state.lock();
        let changes = exchange(shared, &mut state, settings, self.links.clone());
        drop(state);
        // listeners: former ones end, new ones begin, the rest shows the current certificates
        drop(changes.closed);
        for outbox in changes.left {
            outbox.close(reason::GENERIC, zonda_runtime::after(CLOSE_GRACE));
        }
        for listening in self.opened {
            tracing::info!("listening on {} now", listening.endpoint());
            listen::keep(shared, listening);
        }
        for endpoint in self.later {
            listen::start_trying(shared, endpoint);
        }
        for certificates in &changes.certificates {
            if let Err(error) = certificates.renew(&self.links) {
                tracing::warn!("{error}; new connections get the previous certificate");
            }
        }
        finding::tell_own(shared);
        if has_new {
            trust::tell_of_open_mesh(settings);
        }
        // connections
        for kept in changes.connect {
            connect::start_added(shared, kept);
        }
        shared.changed.notify(usize::MAX);
        changes.certificates.len()
    }
}

/// Reads the keys and certificates of all listeners, and those for endpoints to connect to that
/// are new or get other ones.
fn check_files(
    shared: &Shared,
    settings: &Settings,
    links: &LinkSettings,
) -> Result<(), ConfigError> {
    let state = shared.state.lock();
    let wanted = &state.peers.wanted;
    let is_other = wanted.links().tls != links.tls;
    let groups = settings.connect_groups.one_of.iter();
    let groups = groups.filter(|group| is_other || !wanted.connects_to(group));
    let connect: Vec<&Endpoint> = groups.flatten().collect();
    drop(state);
    let listen = settings.listen_endpoints.iter();
    let listen = listen.map(|endpoint| (endpoint, EndpointUse::Listen, "listen on"));
    let connect = connect
        .into_iter()
        .map(|endpoint| (endpoint, EndpointUse::Connect, "connect to"));
    for (endpoint, purpose, what) in listen.chain(connect) {
        if Protocol::of(endpoint).is_err() {
            continue;
        }
        check_credentials(endpoint, links, purpose).map_err(|problem| {
            let reason = format!("cannot {what} {endpoint}: {problem}");
            ConfigError::Combination { reason }
        })?;
    }
    Ok(())
}

/// Takes over what is wanted now, and returns what is left to do without the lock.
fn exchange(
    shared: &Shared,
    state: &mut State,
    settings: &Settings,
    links: LinkSettings,
) -> Changes {
    let mut changes = Changes::default();
    let listen = settings.listen_endpoints.clone();
    // listeners and groups that are not wanted any more
    let open = std::mem::take(&mut state.peers.listening).into_iter();
    (state.peers.listening, changes.closed) =
        open.partition(|one: &Listening| listen.contains(one.endpoint()));
    let shown = state.peers.listening.iter();
    changes.certificates = shown.filter_map(Listening::certificates).collect();
    let groups = state.faces.values().filter(|face| {
        let group = face.group.as_ref();
        group.is_some_and(|group| !listen.contains(group.endpoint()))
    });
    changes.left = groups.map(|face| Arc::clone(&face.outbox)).collect();
    state.peers.wanted.replace_listeners(links, listen);
    // a client has one connection, which does not change
    if shared.role == WhatAmI::Client {
        return changes;
    }
    let groups = &settings.connect_groups.one_of;
    let new = state.peers.wanted.replace_connections(groups);
    let endpoints = settings.connect_endpoints().cloned().collect();
    state.peers.dials.replace(endpoints);
    // a link that one of the endpoints has opened goes on
    for endpoints in new {
        let links = state.peers.dials.faces(&endpoints);
        let mut links = links
            .into_iter()
            .map(|face| LinkHandle { face, link: None });
        let standing = links.find(|link| state.stands(*link));
        changes.connect.push(Kept::new(endpoints, standing));
    }
    changes
}

fn refused(error: &ListenError) -> ConfigError {
    ConfigError::Combination {
        reason: error.to_string(),
    }
}
