// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory of the whole node, above the limits of each neighbour: its present amount, and the
//! eviction of neighbours when it is too much.
//!
//! The count includes blocks that sockets are read into and messages reassembled from fragments,
//! from their allocation until they are freed, also in queues; the queues' own buffers, and those
//! in which a link encodes or copies bytes; entities of neighbours, and the declarations sent to
//! them; routes. Three measures, in this order, keep it within `limits/memory_bytes`:
//! 1. From [`GIVES_WAY`] on the neighbour that keeps most (its queue, its unfinished messages, its
//!    entities, its routes) is evicted: this node closes its link for the reason `memory`. Then the
//!    next, until enough is free. The queue of a neighbour that keeps up does not count, because it
//!    drains before a link could be closed.
//! 2. From [`IS_SHORT`] on this node reads nothing more until enough is free again, or for
//!    [`RELIEF_MAX`]: messages to many neighbours grow faster than an evicted link is freed, and
//!    the next message may come from a source that keeps nothing.
//! 3. Beyond the budget this node closes a link whose unfinished message needs more, because the
//!    message would be lost silently otherwise, and accepts no more declarations of a neighbour
//!    that has many; from a quarter beyond it on, of one that has more than very few.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use zonda_codec::WhatAmI;
use zonda_transport::{
    ledger::{Ledger, Share},
    log_limit::LogLimit,
};

use crate::{
    config::Settings,
    table::{ForwardingTable, Shortage},
};

pub(crate) mod eviction;
pub(crate) mod leaving;
mod machine;
pub(crate) mod pace;

/// Parts of the budget, of [`PARTS`], from which on nothing more is read.
const IS_SHORT: usize = 7;

const PARTS: usize = 8;

/// Part of the budget below which a neighbour is not to blame for a shortage: it is never evicted,
/// and its declarations are accepted.
const TAKER_PART: usize = 512;

/// Part of the budget that the declarations of a client may take in any shortage: those of a
/// thousand clients are an eighth of it. A router may have more.
const FEW_PART: usize = 8192;

/// Part of the budget that the declarations of a router may take in any shortage.
const ROUTER_FEW_PART: usize = 64;

/// Memory that a node holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Bytes that it may hold (`limits/memory_bytes`).
    pub budget: usize,
    /// Bytes that it holds, about; that is `received`, `queues`, `tables` and `routes` together.
    pub held: usize,
    /// Most bytes that it held at any check; at least `held`.
    pub peak: usize,
    /// Bytes of blocks that sockets are read into and of messages reassembled from fragments, also
    /// where they wait in queues.
    pub received: usize,
    /// Bytes of the queues' own buffers, and of those in which links encode or copy bytes.
    pub queues: usize,
    /// Bytes of neighbours' entities, and of the declarations sent to them.
    pub tables: usize,
    /// Bytes of routes that are kept.
    pub routes: usize,
    /// Links that were closed because the neighbour kept most.
    pub links_closed: u64,
    /// Messages that there was no room for; the link that brought one was closed.
    pub messages_refused: u64,
    /// Links that were closed because a message was begun and not continued
    /// (`limits/unfinished_ms`).
    pub unfinished_closed: u64,
    /// Largest amounts that any one neighbour has of declared keys, routes and unfinished messages.
    pub largest: Largest,
}

/// Largest amounts of any one neighbour, each perhaps of a different one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Largest {
    /// Bytes of its entities, and of the declarations sent to it.
    pub tables: usize,
    /// Bytes of routes.
    pub routes: usize,
    /// Bytes of unfinished messages.
    pub unfinished: usize,
}

/// Memory that one neighbour's connection holds, in addition to its outbox.
#[derive(Debug, Clone)]
pub(crate) struct Holding {
    pub(crate) share: Arc<Share>,
    /// Bytes of routes, stored by the task that keeps them.
    pub(crate) routes: Arc<AtomicUsize>,
}

/// Memory accounting of a node.
#[derive(Debug)]
pub(crate) struct Memory {
    ledger: Arc<Ledger>,
    queues: AtomicUsize,
    tables: AtomicUsize,
    routes: AtomicUsize,
    peak: AtomicUsize,
    links_closed: AtomicU64,
    /// True if sources have waited for evictions without success.
    is_stuck: AtomicBool,
    log: LogLimit,
}

impl Memory {
    pub(crate) fn new(settings: &Settings) -> Self {
        let follows = settings.mode == WhatAmI::Router;
        Memory {
            ledger: Ledger::new(budget(settings), follows),
            queues: AtomicUsize::new(0),
            tables: AtomicUsize::new(0),
            routes: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            links_closed: AtomicU64::new(0),
            is_stuck: AtomicBool::new(false),
            log: LogLimit::new(),
        }
    }

    /// Makes the accounting of a new connection.
    pub(crate) fn holding(&self) -> Holding {
        Holding {
            share: Share::of(&self.ledger),
            routes: Arc::default(),
        }
    }

    /// Adds bytes that were queued for neighbours that do not keep up, before the next check counts
    /// them.
    pub(crate) fn note_behind(&self, bytes: usize) {
        if bytes > 0 {
            self.queues.fetch_add(bytes, Ordering::Relaxed);
            self.add_up();
        }
    }

    fn add_up(&self) -> usize {
        let parts = [&self.queues, &self.tables, &self.routes];
        let others = parts.iter().map(|part| part.load(Ordering::Relaxed)).sum();
        self.ledger.set_others(others);
        let held = self.ledger.held();
        self.peak.fetch_max(held, Ordering::Relaxed);
        held
    }

    /// Returns the size of `count` of the budget's [`PARTS`] in bytes.
    fn parts(&self, count: usize) -> usize {
        self.ledger.budget() / PARTS * count
    }

    /// Returns true if sources have to wait until evicted neighbours are gone.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.ledger.held() > self.parts(IS_SHORT) && !self.is_stuck.load(Ordering::Relaxed)
    }

    /// Notes if evictions have freed enough memory.
    fn note_relief(&self, came: bool) {
        self.is_stuck.store(!came, Ordering::Relaxed);
    }

    pub(crate) fn usage(&self) -> Usage {
        let held = self.add_up();
        let read = |part: &AtomicUsize| part.load(Ordering::Relaxed);
        Usage {
            budget: self.ledger.budget(),
            held,
            peak: read(&self.peak),
            received: self.ledger.received(),
            queues: read(&self.queues),
            tables: read(&self.tables),
            routes: read(&self.routes),
            links_closed: self.links_closed.load(Ordering::Relaxed),
            messages_refused: self.ledger.refused(),
            unfinished_closed: self.ledger.given_up(),
            largest: Largest::default(),
        }
    }

    /// Notes the memory of the table after a change; beyond the budget the table accepts further
    /// declarations only from neighbours with few.
    pub(crate) fn note_tables(&self, table: &mut ForwardingTable) {
        self.tables.store(table.memory(), Ordering::Relaxed);
        table.set_shortage(self.shortage(self.add_up()));
    }

    /// Returns the shortage of a node that holds so many bytes.
    fn shortage(&self, held: usize) -> Option<Shortage> {
        let budget = self.ledger.budget();
        if held <= budget {
            None
        } else if held <= self.parts(PARTS + 2) {
            Some(Shortage {
                served: budget / TAKER_PART,
                others: self.parts(1),
            })
        } else {
            Some(Shortage {
                served: budget / FEW_PART,
                others: budget / ROUTER_FEW_PART,
            })
        }
    }
}

/// Largest budget that a node has by default, in bytes.
const DEFAULT_MAX: usize = 2 << 30;

/// Largest message of a node by default; where larger ones are allowed, the budget follows.
const MESSAGE_MAX: usize = 1 << 30;

/// Returns the configured budget; by default a quarter of the [memory that this process may
/// have](machine) and at most [`DEFAULT_MAX`], but four times the largest message where that was
/// raised.
fn budget(settings: &Settings) -> usize {
    settings.memory_max.unwrap_or_else(|| {
        let quarter = machine::available().map_or(DEFAULT_MAX, |bytes| bytes / 4);
        match settings.max_message_size {
            message @ MESSAGE_MAX.. if message > MESSAGE_MAX => message.saturating_mul(4),
            _ => quarter.min(DEFAULT_MAX),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    /// Sources wait from seven eighths on, unless waiting did not help; then not before an eviction
    /// has.
    #[test]
    fn sources_wait_while_memory_is_short() {
        let mut config = Config::router();
        config
            .insert_json5("limits/memory_bytes", "8000")
            .expect("a known key");
        let memory = Memory::new(&config.settings());
        for (held, is_short) in [(7000, false), (7001, true), (9000, true)] {
            memory.ledger.set_others(held);
            assert_eq!(memory.is_short(), is_short, "{held}");
        }
        memory.note_relief(false);
        assert!(!memory.is_short());
        memory.note_relief(true);
        assert!(memory.is_short());
    }

    #[test]
    fn a_neighbour_with_few_declarations_is_spared_up_to_a_reserve() {
        let mut config = Config::router();
        config
            .insert_json5("limits/memory_bytes", "8192")
            .expect("a known key");
        let memory = Memory::new(&config.settings());
        assert_eq!(memory.shortage(8192), None);
        let (served, others) = (16, 1024);
        for held in [8193, 10_240] {
            assert_eq!(memory.shortage(held), Some(Shortage { served, others }));
        }
        let (served, others) = (1, 128);
        assert_eq!(memory.shortage(10_241), Some(Shortage { served, others }));
    }

    #[test]
    fn the_budget_follows_what_is_configured() {
        let config = Config::router();
        assert!((1..=DEFAULT_MAX).contains(&budget(&config.settings())));
        let larger = config
            .clone()
            .with("transport/link/rx/max_message_size", "2147483648");
        assert_eq!(budget(&larger.settings()), 8 << 30);
        assert_eq!(
            budget(&larger.with("limits/memory_bytes", "70000").settings()),
            70_000
        );
    }
}
