// SPDX-License-Identifier: MIT OR Apache-2.0

//! The memory of the whole node, above the limits of each neighbour: how much is held, and who gives way when there is too
//! much of it.
//!
//! What counts: blocks that are read into and messages put together from fragments, from when they are allocated until they
//! are freed, also in queues; queues' own buffers, and those in which a link encodes or carries bytes; what neighbours declared and asked for, and what was declared to them;
//! routes. In this order it is kept within `limits/memory_bytes`:
//! 1. From [`GIVES_WAY`] on the neighbour that keeps most (what waits for it, its unfinished messages, what it declared, its
//!    routes) gives way: its link is closed for the reason `memory`. Then the next, until enough is free. What waits for one that
//!    keeps up does not count: it is gone before a link could be.
//! 2. From [`IS_SHORT`] on nothing more is read until enough is free again, or for [`RELIEF_MAX`]: what is sent on to many
//!    grows faster than a link that gives way is gone, and the next message may be that of a source which keeps nothing.
//! 3. Beyond the budget a link whose unfinished message needs more is closed, as the message would be lost without a word, and
//!    nothing more can be declared.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use zonda_codec::WhatAmI;
use zonda_transport::{
    ledger::{Ledger, Share},
    log_limit::LogLimit,
};

use crate::{config::Settings, table::ForwardingTable};

pub(crate) mod giving_way;
pub(crate) mod leaving;
mod machine;
pub(crate) mod pace;

/// Parts of it from which on nothing more is read.
const IS_SHORT: usize = 7;

const PARTS: usize = 8;

/// The memory that a node holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Bytes that it may hold (`limits/memory_bytes`).
    pub budget: usize,
    /// Bytes that it holds, about; that is `received`, `queues`, `tables` and `routes` together.
    pub held: usize,
    /// The most that it held at a look; at least what is held now.
    pub peak: usize,
    /// Bytes of blocks that are read into and of messages put together from fragments, also where they wait in queues.
    pub received: usize,
    /// Bytes of the queues' own buffers, and of those in which links encode bytes or carry them.
    pub queues: usize,
    /// Bytes of what neighbours declared and asked for, and of what was declared to them.
    pub tables: usize,
    /// Bytes of routes that are kept.
    pub routes: usize,
    /// Links that were closed because the neighbour kept most.
    pub links_closed: u64,
    /// Messages that there was no room for; the link that brought one was closed.
    pub messages_refused: u64,
    /// Links that were closed because a message was begun and not gone on with (`limits/unfinished_ms`).
    pub unfinished_closed: u64,
    /// The largest part that one neighbour has of each: declared keys, routes, unfinished messages.
    pub largest: Largest,
}

/// What the neighbour that has most of it holds, each perhaps another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Largest {
    /// Bytes of what it declared, and of what was declared to it.
    pub tables: usize,
    /// Bytes of routes.
    pub routes: usize,
    /// Bytes of unfinished messages.
    pub unfinished: usize,
}

/// The memory that one neighbour's connection holds, beside its outbox.
#[derive(Debug, Clone)]
pub(crate) struct Holding {
    pub(crate) share: Arc<Share>,
    /// Bytes of routes, said by the task that keeps them.
    pub(crate) routes: Arc<AtomicUsize>,
}

/// The memory of a node.
#[derive(Debug)]
pub(crate) struct Memory {
    ledger: Arc<Ledger>,
    queues: AtomicUsize,
    tables: AtomicUsize,
    routes: AtomicUsize,
    peak: AtomicUsize,
    links_closed: AtomicU64,
    /// Sources have waited for others to give way, and it did not help.
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

    /// A new connection's part.
    pub(crate) fn holding(&self) -> Holding {
        Holding {
            share: Share::of(&self.ledger),
            routes: Arc::default(),
        }
    }

    /// Notes bytes that were queued for neighbours that do not keep up, before the next look finds them there.
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

    /// What all of the budget's parts are in bytes, so many of them.
    fn parts(&self, count: usize) -> usize {
        self.ledger.budget() / PARTS * count
    }

    /// Tells if sources have to wait for neighbours to leave.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.ledger.held() > self.parts(IS_SHORT) && !self.is_stuck.load(Ordering::Relaxed)
    }

    /// Notes whether others have given way.
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

    /// Notes what the table holds after a change; too much, and nothing more can be declared.
    pub(crate) fn note_tables(&self, table: &mut ForwardingTable) {
        self.tables.store(table.memory(), Ordering::Relaxed);
        let is_short = self.add_up() > self.ledger.budget();
        table.set_short_of_memory(is_short);
    }
}

/// The largest budget that a node has by default, in bytes.
const DEFAULT_MAX: usize = 2 << 30;

/// The largest message of a node by default; where larger ones are allowed, the budget follows.
const MESSAGE_MAX: usize = 1 << 30;

/// Gives the configured budget; by default a quarter of the [memory that this process may have](machine) and at most
/// [`DEFAULT_MAX`], but four times the
/// largest message where that was raised.
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

    /// Sources wait from seven eighths on, unless that did not help; then not before others have given way.
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
