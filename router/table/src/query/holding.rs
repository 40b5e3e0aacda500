// SPDX-License-Identifier: MIT OR Apache-2.0

//! Decides when a query of the session is held, and when it is sent after all.

use std::time::{Duration, Instant};

use zonda_codec::{WhatAmI, ZenohId};

use crate::{
    face_id::Action,
    forwarding::ForwardingTable,
    query::{
        destinations::Destination,
        held::Held,
        types::{Branches, Ending, NewQuery},
    },
};

impl ForwardingTable {
    /// Expects a neighbour back whose link was lost and is being restored. Called before the
    /// neighbour is removed.
    pub fn expect_back(&mut self, zid: ZenohId, now: Instant) {
        let gateways = self.topology.gateways().iter();
        let mut gateways = gateways.filter_map(|slot| self.topology.at(*slot));
        let is_gateway = gateways.any(|gateway| gateway.info.zid == zid);
        self.queries.held.expect_back(zid, is_gateway, now);
    }

    /// Returns true if [`release_held`](Self::release_held) may have work to do.
    #[inline]
    pub fn may_release_held(&self) -> bool {
        self.queries.held.may_release()
    }

    /// Returns the held queries that can be sent now, by id, with their destinations. Queries that
    /// have nothing to wait for any more are among the [ended](Self::take_ended).
    pub fn release_held(&mut self, now: Instant) -> Vec<(u32, Branches)> {
        let mut released = Vec::new();
        for query in self.queries.held.begin_round(now) {
            let Some(origin) = self.queries.origin(query) else {
                continue;
            };
            let Some(held) = self.queries.held.take(query) else {
                continue;
            };
            // Search for destinations again.
            let new = NewQuery {
                rid: origin.rid,
                key: &held.key,
                target: held.target,
                qos: origin.qos,
                timeout: Duration::ZERO,
                querier: held.querier,
                destination: held.destination,
                hears_of_losses: origin.hears_of_losses,
            };
            let found = self.destinations_of_query(origin.face, &new);
            // Hold the query again, or send it, or end it.
            if self.is_to_hold(&found, now) {
                self.keep_held(query, held);
                continue;
            }
            self.queries.held.end(&held);
            if found.is_empty() {
                self.queries.close(query);
                self.queries.end(origin, Ending::Complete);
            } else {
                let branches = self.branch_out(query, &new, &found);
                released.push((origin.rid, branches));
            }
        }
        released
    }

    /// Returns true if [`watch_held`](Self::watch_held) has work to do.
    #[inline]
    pub fn may_watch_held(&self) -> bool {
        self.queries.held.may_watch()
    }

    /// Sends gateways interests in queryables for the held queries, and ends those of queries that
    /// are not held any more.
    pub fn watch_held(&mut self, actions: &mut Vec<Action>) {
        for query in self.queries.held.take_to_watch() {
            if let Some(key) = self.queries.held.unwatched_key(query) {
                let want = self.add_watch(key, actions);
                self.queries.held.set_want(query, want);
            }
        }
        for want in self.queries.held.take_unwatched() {
            self.release_watch(want, actions);
        }
    }

    pub(super) fn hold(&mut self, query: u32, new: &NewQuery<'_>) {
        let held = Held {
            key: new.key.clone().into_owned(),
            target: new.target,
            querier: new.querier,
            destination: new.destination,
            want: None,
        };
        self.keep_held(query, held);
    }

    fn keep_held(&mut self, query: u32, held: Held) {
        let has_gateway = !self.topology.gateways().is_empty();
        self.queries.held.hold(query, held, has_gateway);
    }

    /// Returns true if a query of the session with these destinations waits for other queryables.
    pub(super) fn is_to_hold(&self, found: &[Destination], now: Instant) -> bool {
        if self.topology.is_cut_off() {
            return found.is_empty();
        }
        if found.iter().any(|found| found.is_known) {
            return false;
        }
        let is_client = self.topology.role() == WhatAmI::Client;
        let goes_on = is_client || found.iter().any(|found| found.is_gateway);
        self.queries.held.waits(goes_on, now)
    }
}
