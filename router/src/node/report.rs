// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reports of a node about itself: connections and endpoints, memory, limits.

use std::sync::atomic::Ordering;

use zonda_codec::{Locator, WhatAmI};

use crate::{
    config::ConfigError,
    descriptors,
    node::{
        handle::Node,
        limits::{Limit, LimitStatus, rows},
        memory::Usage,
    },
    peers::{
        dials::{EndpointStatus, Unreached},
        discovery::DiscoveryStatus,
        ended::EndedLinks,
        refusals::TurnedAway,
    },
};

impl Node {
    /// Reads the list of users again (`transport/auth/usrpwd/dictionary_file`), for connections
    /// from now on; open links stay. Returns the number of users; `None` without a list.
    ///
    /// # Errors
    /// The cause why the list cannot be used; the previous list stays in force.
    ///
    /// # Blocking
    /// Reads the file.
    pub fn reload_users(&self) -> Result<Option<usize>, ConfigError> {
        let found = self.shared.settings.users()?;
        let both = self.shared.options.users.as_ref().zip(found);
        Ok(both.map(|(users, found)| {
            users.replace(&found);
            users.len()
        }))
    }

    /// Returns the counts of messages, sent and unsent, on the links that have ended.
    #[must_use]
    pub fn ended_links(&self) -> EndedLinks {
        match self.shared.is_forked() {
            true => EndedLinks::default(),
            false => self.shared.state.lock().peers.ended_links(),
        }
    }

    /// Returns the number of links that this node has closed because the neighbour took too little
    /// while sources waited for it (`isolation/*`).
    #[must_use]
    pub fn slow_consumers(&self) -> u64 {
        match self.shared.is_forked() {
            true => 0,
            false => self.shared.state.lock().peers.slow_consumers(),
        }
    }

    /// Returns the connections that this node refused, one entry for each kind of cause that has
    /// occurred.
    #[must_use]
    pub fn turned_away(&self) -> Vec<TurnedAway> {
        if self.is_forked() {
            return Vec::new();
        }
        self.shared.refusals.all()
    }

    /// Returns the configured endpoints that were never reached since the node was opened, with the
    /// causes. None for a client that was connected once.
    #[must_use]
    pub fn unreached(&self) -> Vec<Unreached> {
        if self.is_forked() {
            return Vec::new();
        }
        let state = self.shared.state.lock();
        match self.shared.role == WhatAmI::Client && state.peers.has_reached_any() {
            true => Vec::new(),
            false => state.peers.unreached(|at| {
                let mut remotes = state.faces.values().map(|face| &face.status.remote);
                remotes.any(|remote| is_same_listener(remote, at))
            }),
        }
    }

    /// Returns the configured endpoints to connect to, with the state of each.
    #[must_use]
    pub fn endpoints(&self) -> Vec<EndpointStatus> {
        if self.is_forked() {
            return Vec::new();
        }
        let state = self.shared.state.lock();
        let stands = |face| state.faces.contains_key(&face);
        state.peers.endpoints(stands)
    }

    /// Returns the counts of this node's discovery.
    #[must_use]
    pub fn discovery(&self) -> DiscoveryStatus {
        match self.is_forked() {
            true => DiscoveryStatus::default(),
            false => self.shared.state.lock().peers.discovery_status(),
        }
    }

    /// Returns the memory that this node holds now.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let shared = &self.shared;
        if shared.is_forked() {
            return Usage::default();
        }
        let mut state = shared.state.lock();
        shared.memory.look(&mut state);
        let mut usage = shared.memory.usage();
        let largest = &mut usage.largest;
        for (&id, face) in &state.faces {
            let routes = face.holding.routes.load(Ordering::Relaxed);
            largest.tables = largest.tables.max(state.table.memory_of(id));
            largest.routes = largest.routes.max(routes);
            largest.unfinished = largest.unfinished.max(face.holding.share.unfinished());
        }
        usage
    }

    /// Returns the limits of this node, each with its configuration key, its value and its present
    /// use.
    #[must_use]
    pub fn limits(&self) -> Vec<LimitStatus> {
        if self.is_forked() {
            return Vec::new();
        }
        let mut all = self.limits_of_connections();
        all.extend(self.limits_of_neighbours());
        let settings = &self.shared.settings;
        let state = self.shared.state.lock();
        let (most, (known, counts)) = (state.table.most(), state.peers.candidates());
        drop(state);
        all.extend(rows::of_table(&settings.table_limits(), &most));
        all.extend(rows::of_found(&settings.candidate_limits(), known, counts));
        all
    }

    fn limits_of_connections(&self) -> Vec<LimitStatus> {
        let (limits, settings) = (&self.shared.limits, &self.shared.settings);
        // counts under the lock, rows without it
        let counts = self.shared.state.lock().peers.connection_counts();
        let mut rows = vec![
            rows::row(
                "transport/unicast/max_sessions",
                "neighbours of the node",
                limits.sessions_max,
            )
            .used(counts.neighbours)
            .reached(limits.counted(Limit::Sessions)),
            rows::row(
                "limits/sessions_per_address",
                "neighbours from one address",
                limits.sessions_per_address,
            )
            .used(counts.of_one_address)
            .reached(limits.counted(Limit::SessionsPerAddress)),
            rows::row(
                "transport/unicast/accept_pending",
                "introductions under way",
                counts.pending_max,
            )
            .used(counts.pending)
            .reached(counts.evicted),
            rows::row(
                "limits/lease_max_ms",
                "ms of silence of a neighbour",
                settings.lease_max.as_millis() as usize,
            ),
            rows::row(
                "limits/batch_bytes_min",
                "bytes of a batch at least",
                settings.batch_size_min.into(),
            ),
        ];
        // groups and descriptors are not counted by the state
        let groups = self.groups();
        let largest = groups.iter().map(|group| group.members.len()).max();
        rows.push(
            rows::row(
                "transport/multicast/max_sessions",
                "others in a multicast group",
                settings.multicast_members_max,
            )
            .used(largest.unwrap_or(0))
            .reached(groups.iter().map(|group| group.counts.over_limit).sum()),
        );
        rows.extend(limits.descriptors.map(|value| LimitStatus {
            key: "ulimit -n",
            counts: "files and sockets",
            value,
            used: descriptors::used(),
            reached: None,
        }));
        rows
    }

    fn limits_of_neighbours(&self) -> Vec<LimitStatus> {
        let (settings, usage) = (&self.shared.settings, self.usage());
        let largest = usage.largest;
        // the budget of the node, then the shares of the neighbour that has most
        let (memory, keys) = ("bytes of memory of the node", "bytes of a neighbour's keys");
        let gave_way = usage.links_closed + usage.messages_refused;
        vec![
            rows::row("limits/memory_bytes", memory, usage.budget)
                .used(usage.held)
                .reached(gave_way),
            rows::row("limits/key_memory_bytes", keys, settings.key_memory_max)
                .used(largest.tables),
            rows::row(
                "limits/route_bytes",
                "bytes of one source's routes",
                settings.route_memory_max,
            )
            .used(largest.routes),
            rows::row(
                "limits/unfinished_bytes",
                "bytes of unfinished messages",
                settings.unfinished_max(),
            )
            .used(largest.unfinished),
            rows::row(
                "limits/unfinished_ms",
                "ms without more of a message",
                settings.unfinished_time.as_millis() as usize,
            )
            .reached(usage.unfinished_closed),
        ]
    }
}

/// Returns true if two addresses may belong to one listener, which a node has at each of its
/// interfaces.
fn is_same_listener(one: &Locator, other: &Locator) -> bool {
    let port = |at: &Locator| {
        at.address()
            .rsplit_once(':')
            .map(|(_, port)| port.to_owned())
    };
    let is_same_port = port(one).is_some() && port(one) == port(other);
    one == other || (one.proto() == other.proto() && is_same_port)
}
