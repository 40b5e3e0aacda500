// SPDX-License-Identifier: MIT OR Apache-2.0

//! Eviction of the neighbours that keep most when the node holds too much memory, and the pause of
//! sources until then.

use std::{
    cmp::Reverse,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use zonda_codec::WhatAmI;
use zonda_transport::{
    ledger::Share,
    outbox::{Outbox, OutboxMemory},
};

use crate::{
    node::{
        shared::Shared,
        state::{Face, State},
    },
    table::FaceId,
};

use super::{Memory, TAKER_PART};

/// Parts of the budget, of [`PARTS`], from which on the neighbour that keeps most is evicted.
const GIVES_WAY: usize = 6;

/// Longest wait of sources for evictions. If it did not help, they do not wait again until an
/// eviction has freed enough.
const RELIEF_MAX: Duration = Duration::from_millis(250);

/// Parts of the budget that may be held afterwards.
const IS_LEFT: usize = 5;

/// Part of the budget below which the queues of a neighbour that keeps up do not count: they drain
/// before the end of its link would free them.
const PASSING_PART: usize = 32;

/// Part of the entities behind a router for which the router is to blame.
const ROUTER_PART: usize = 8;

/// Assumed fastest growth of memory between two checks, in bytes per second.
const GROWTH_MAX: usize = 4 << 30;

/// Shortest and longest time between two checks.
const LOOK_MIN: Duration = Duration::from_millis(5);

const LOOK_MAX: Duration = Duration::from_secs(1);

impl Memory {
    /// Adds up the memory of the node; returns the total.
    pub(crate) fn look(&self, state: &mut State) -> usize {
        let (mut queues, mut routes) = (0, state.routes.memory());
        let now = Instant::now();
        for face in state.faces.values_mut() {
            face.pace.note(now, &face.outbox);
            queues += face.outbox.memory().own;
            routes += face.holding.routes.load(Ordering::Relaxed);
        }
        self.queues.store(queues, Ordering::Relaxed);
        self.routes.store(routes, Ordering::Relaxed);
        self.note_tables(&mut state.table);
        self.ledger.held()
    }

    /// Returns the neighbours to evict, the one with most memory first.
    #[cold]
    fn takers(&self, state: &mut State, held: usize) -> Vec<MemoryUser> {
        // memory that is being freed already is no reason to evict
        let mut excess = held.saturating_sub(self.parts(IS_LEFT));
        // the table is removing the entities of neighbours that are gone
        let declared = state.faces.keys().map(|id| state.table.memory_of(*id));
        let tables = self.tables.load(Ordering::Relaxed);
        excess = excess.saturating_sub(tables.saturating_sub(declared.sum()));
        // evicted neighbours' tasks are freeing theirs
        excess = excess.saturating_sub(state.leavers.received(Instant::now()));
        // faces that are closing free theirs as well, the rest are candidates
        let passing = self.ledger.budget() / PASSING_PART;
        let mut takers = Vec::new();
        for (&id, face) in &state.faces {
            let keeps = FreeableBytes::of(state, id, face);
            if state.leavers.has(&face.outbox) {
                excess = excess.saturating_sub(keeps.own);
            } else if face.outbox.is_closed() {
                excess = excess.saturating_sub(keeps.bytes());
            } else {
                let keeps = keeps.without_passing(face.pace.keeps_up(), passing);
                let blame = match face.status.whatami {
                    WhatAmI::Router => keeps.blame_of_router(),
                    WhatAmI::Peer | WhatAmI::Client => keeps.bytes(),
                };
                takers.push(MemoryUser {
                    keeps,
                    blame,
                    outbox: Arc::clone(&face.outbox),
                    share: Arc::clone(&face.holding.share),
                    who: format!("{} {}", face.status.whatami, face.status.zid),
                });
            }
        }
        // evict the largest ones, and expect their memory back
        let terms = EvictionTerms {
            left: self.parts(IS_LEFT),
            least: self.ledger.budget() / TAKER_PART,
        };
        let blame = |taker: &MemoryUser| taker.blame;
        terms.choose(excess, &mut takers, |taker| taker.keeps.bytes(), blame);
        for taker in &takers {
            let received = taker.keeps.received;
            state.leavers.add(&taker.outbox, &taker.share, received);
        }
        takers
    }

    fn close(&self, taker: &MemoryUser, now: Instant) {
        taker.outbox.give_way();
        self.links_closed.fetch_add(1, Ordering::Relaxed);
        if let Some(left_out) = self.log.admit(now) {
            let mib = |bytes: usize| bytes >> 20;
            tracing::warn!(
                "the link to {} is closed for the reason memory: it keeps {} MiB, more than any other, and the node holds {} of \
                 {} MiB (limits/memory_bytes){left_out}",
                taker.who,
                mib(taker.keeps.bytes()),
                mib(self.ledger.held()),
                mib(self.ledger.budget())
            );
        }
    }
}

/// Terms of an eviction.
struct EvictionTerms {
    /// Bytes that all may keep afterwards.
    left: usize,
    /// Blame below which a neighbour is not evicted.
    least: usize,
}

impl EvictionTerms {
    /// Retains the neighbours to evict so that `excess` bytes are freed, the one with most `blame`
    /// first. Memory that none of them keeps is being freed already, and no link's end would free
    /// it: neighbours answer only for what they keep themselves.
    fn choose<T>(
        &self,
        excess: usize,
        takers: &mut Vec<T>,
        bytes: impl Fn(&T) -> usize,
        blame: impl Fn(&T) -> usize,
    ) {
        let kept: usize = takers.iter().map(&bytes).sum();
        let mut excess = excess.min(kept.saturating_sub(self.left));
        takers.sort_unstable_by_key(|taker| Reverse(blame(taker)));
        takers.retain(|taker| {
            let gives_way = excess > 0 && blame(taker) >= self.least;
            excess = excess.saturating_sub(bytes(taker));
            gives_way
        });
    }
}

/// Neighbour that keeps memory.
struct MemoryUser {
    keeps: FreeableBytes,
    /// Bytes by which it is compared with others.
    blame: usize,
    outbox: Arc<Outbox>,
    share: Arc<Share>,
    who: String,
}

/// Bytes that would be free without a neighbour, about.
#[derive(Debug, Clone, Copy)]
struct FreeableBytes {
    /// Bytes of received messages: its unfinished ones, and those in its queues.
    received: usize,
    /// Bytes of its queues' buffers, its entities, its routes.
    own: usize,
    /// Part of `own` that is entities.
    declared: usize,
    /// Part of both that is in its queues.
    queues: OutboxMemory,
}

impl FreeableBytes {
    fn of(state: &State, id: FaceId, face: &Face) -> Self {
        let queues = face.outbox.memory();
        let routes = face.holding.routes.load(Ordering::Relaxed);
        let declared = state.table.memory_of(id);
        FreeableBytes {
            received: queues.kept + face.holding.share.unfinished(),
            own: queues.own + routes + declared,
            declared,
            queues,
        }
    }

    /// Returns the bytes that count for an eviction: without its queues, if it keeps up and they
    /// are small.
    fn without_passing(self, keeps_up: bool, passing: usize) -> Self {
        let OutboxMemory { own, kept } = self.queues;
        match keeps_up && own + kept < passing {
            true => FreeableBytes {
                received: self.received - kept,
                own: self.own - own,
                queues: OutboxMemory::default(),
                ..self
            },
            false => self,
        }
    }

    fn bytes(self) -> usize {
        self.received + self.own
    }

    /// Returns the bytes by which a router is compared with other neighbours: of the entities behind
    /// it a part, as they belong to many nodes, all of which would lose this node with its link.
    fn blame_of_router(self) -> usize {
        self.bytes() - self.declared + self.declared / ROUTER_PART
    }
}

impl Shared {
    /// Checks the memory of the node, and evicts neighbours if it is too much. Returns the time of
    /// the next check.
    pub(crate) fn look_after_memory(&self) -> Instant {
        let now = Instant::now();
        let memory = &self.memory;
        let mut state = self.state.lock();
        let held = memory.look(&mut state);
        let takers = match held > memory.parts(GIVES_WAY) {
            true => memory.takers(&mut state, held),
            false => {
                memory.note_relief(true);
                Vec::new()
            }
        };
        drop(state);
        for taker in &takers {
            memory.close(taker, now);
        }
        let left = memory.parts(GIVES_WAY).saturating_sub(held);
        let wait = Duration::from_secs_f64(left as f64 / GROWTH_MAX as f64);
        now + wait.clamp(LOOK_MIN, LOOK_MAX)
    }
}

impl Shared {
    /// Pauses the source behind `own` while memory is short. The pause does not count as silence of
    /// the source.
    #[cold]
    pub(crate) async fn wait_for_memory(&self, own: &Outbox) {
        let _held = own.hold_reader();
        let until = Instant::now() + RELIEF_MAX;
        while self.memory.is_short() && !own.is_closed() && !own.is_closing() {
            let now = Instant::now();
            if now >= until {
                self.memory.note_relief(false);
                return;
            }
            self.runtime.sleep_until(now + LOOK_MIN).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EvictionTerms, FreeableBytes, OutboxMemory};

    #[test]
    fn what_passes_through_the_queues_of_one_that_keeps_up_is_not_blamed_on_it() {
        let queues = |own, kept| OutboxMemory { own, kept };
        let keeps = |queues: OutboxMemory| FreeableBytes {
            received: queues.kept + 7,
            own: queues.own + 5,
            declared: 0,
            queues,
        };
        let few = keeps(queues(500, 1000));
        assert_eq!(few.without_passing(true, 2000).bytes(), 12);
        assert_eq!(
            few.without_passing(false, 2000).bytes(),
            1512,
            "it does not take it"
        );
        let many = keeps(queues(500, 5000));
        assert_eq!(
            many.without_passing(true, 2000).bytes(),
            5512,
            "too much of it"
        );
    }

    fn chosen(excess: usize, takers: &[usize]) -> Vec<usize> {
        let mut takers = takers.to_vec();
        let terms = EvictionTerms { left: 80, least: 2 };
        terms.choose(excess, &mut takers, |bytes| *bytes, |bytes| *bytes);
        takers
    }

    /// A router with the entities of many nodes stays beside a client with less memory.
    #[test]
    fn the_entities_behind_a_router_belong_to_many() {
        let keeps = |declared| FreeableBytes {
            received: 10,
            own: declared + 20,
            declared,
            queues: OutboxMemory::default(),
        };
        let (router, client) = (keeps(800), keeps(200));
        assert_eq!((router.bytes(), router.blame_of_router()), (830, 130));
        let mut takers = vec![
            (router.bytes(), router.blame_of_router()),
            (client.bytes(), client.bytes()),
        ];
        let terms = EvictionTerms { left: 80, least: 2 };
        terms.choose(200, &mut takers, |taker| taker.0, |taker| taker.1);
        assert_eq!(takers, [(230, 230)]);
    }

    #[test]
    fn those_who_keep_most_give_way_and_none_for_what_nobody_keeps() {
        assert_eq!(chosen(22, &[1, 92, 9]), [92]);
        assert_eq!(chosen(22, &[12, 60, 12, 10, 8]), [60]);
        assert_eq!(chosen(30, &[20, 25, 25, 20, 20]), [25, 25]);
        assert_eq!(chosen(16, &[3, 1, 2]), [0; 0], "90 are being freed");
        assert_eq!(chosen(40, &[50, 40, 1]), [50], "some of it is");
        assert_eq!(chosen(0, &[90]), [0; 0]);
    }
}
