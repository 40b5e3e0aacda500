// SPDX-License-Identifier: MIT OR Apache-2.0

//! Questions of the session that wait for somebody to ask, rather than end without an answer because a link is
//! missing just now.
//!
//! A client without a gateway holds every question: it has nobody else to ask. Peers and routers go on with whomever
//! they know. Only while a neighbour is to be connected again soon (a link that this node opened was lost, at most
//! [`ABSENCE_MAX`] ago) do they hold a question for which nobody is known: who would answer may be that neighbour. Questions of other
//! nodes are never held, they hold their own.

use std::time::{Duration, Instant};

use zonda_codec::{KeyExpr, Target, WhatAmI, ZenohId};

use super::destinations::Destination;
use super::{Ask, Branches, Ended, Ending};
use crate::forwarding::table::ForwardingTable;

/// How long a neighbour that was lost is expected back.
pub(super) const ABSENCE_MAX: Duration = Duration::from_secs(10);

/// A neighbour that is expected back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Absent {
    zid: ZenohId,
    until: Instant,
}

/// What is remembered of a question to ask it later.
#[derive(Debug)]
pub(super) struct Held {
    key: KeyExpr<'static>,
    target: Target,
    querier: Option<u32>,
}

impl ForwardingTable {
    /// The link to this neighbour was lost and is being restored.
    pub fn expect_back(&mut self, zid: ZenohId, now: Instant) {
        let until = now + ABSENCE_MAX;
        self.questions.absent.retain(|absent| absent.zid != zid);
        self.questions.absent.push(Absent { zid, until });
    }

    /// Whether [`release_held`](Self::release_held) may have something to do.
    #[inline]
    pub fn may_release_held(&self) -> bool {
        self.questions.held_stale && !self.questions.held.is_empty()
    }

    /// The held questions that can be asked now, by number, and whom they go to. Those that there is nothing to wait
    /// for any more are among the [ended](Self::take_ended).
    pub fn release_held(&mut self, now: Instant) -> Vec<(u32, Branches)> {
        self.questions.held_stale = false;
        let mut released = Vec::new();
        let questions: Vec<u32> = self.questions.held.keys().copied().collect();
        for question in questions {
            let Some(asker) = self.questions.open.get(question).map(|open| open.asker()) else {
                continue;
            };
            let Some(held) = self.questions.held.remove(&question) else {
                continue;
            };
            let ask = Ask {
                rid: asker.rid,
                key: &held.key,
                target: held.target,
                qos: asker.qos,
                timeout: Duration::ZERO,
                querier: held.querier,
            };
            let found = self.destinations_of_question(asker.face, &ask);
            if self.is_to_hold(&found, now) {
                self.questions.held.insert(question, held);
            } else if found.is_empty() {
                self.close_question(question);
                let how = Ending::Complete;
                self.questions.ended.push(Ended { asker, how });
            } else {
                let branches = self.branch_out(question, (&held.key, held.target), &found);
                released.push((asker.rid, branches));
            }
        }
        released
    }

    /// A neighbour is there (again).
    pub(in crate::forwarding) fn welcome(&mut self, zid: ZenohId) {
        self.questions.absent.retain(|absent| absent.zid != zid);
        self.questions.held_stale = true;
    }

    /// Something has changed that held questions may have waited for.
    #[inline]
    pub(in crate::forwarding) fn stir_held(&mut self) {
        self.questions.held_stale = true;
    }

    /// Gives up on neighbours that did not come back.
    pub(in crate::forwarding) fn expire_absent(&mut self, now: Instant) {
        let before = self.questions.absent.len();
        self.questions.absent.retain(|absent| absent.until > now);
        self.questions.held_stale |= self.questions.absent.len() < before;
    }

    /// When [`expire_absent`](Self::expire_absent) changes something that matters.
    pub(in crate::forwarding) fn absence_deadline(&self) -> Option<Instant> {
        if self.questions.held.is_empty() {
            return None;
        }
        self.questions
            .absent
            .iter()
            .map(|absent| absent.until)
            .min()
    }

    pub(super) fn hold(&mut self, question: u32, ask: &Ask<'_>) {
        let held = Held {
            key: ask.key.clone().into_owned(),
            target: ask.target,
            querier: ask.querier,
        };
        self.questions.held.insert(question, held);
    }

    /// Whether a question of the session that would go to these waits for others.
    pub(super) fn is_to_hold(&self, found: &[Destination], now: Instant) -> bool {
        if self.role == WhatAmI::Client {
            return found.is_empty() && self.gateways.is_empty();
        }
        let nobody = |found: &Destination| !found.is_known && !found.is_gateway;
        let mut absent = self.questions.absent.iter();
        found.iter().all(nobody) && absent.any(|absent| absent.until > now)
    }
}
