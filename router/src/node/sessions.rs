// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sessions of a node: the one that opened it, and those that were attached later. All of them
//! declare on the node's own face; each declaration carries the number of its session, so that
//! [`Locality`](crate::table::Locality) means its session, and closing one ends its own
//! declarations only.

use std::{
    collections::{HashMap, HashSet},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{
    flow::key_cache::KeyCache,
    table::{Locality, Reach, SessionNumber},
};

/// One session of a node, as its handles share it.
#[derive(Debug, Default)]
pub(crate) struct NodeSession {
    pub(crate) number: SessionNumber,
    /// True once an attached session is closed; the first session closes with the node.
    closed: AtomicBool,
}

impl NodeSession {
    /// Creates an attached session.
    pub(crate) fn attached(number: SessionNumber) -> NodeSession {
        NodeSession {
            number,
            closed: AtomicBool::new(false),
        }
    }

    /// Returns what this session reaches within `locality`.
    #[inline]
    pub(crate) fn reach(&self, locality: Locality) -> Reach {
        Reach {
            session: self.number,
            locality,
        }
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Marks an attached session as closed; returns true if it was open.
    pub(crate) fn set_closed(&self) -> bool {
        !self.closed.swap(true, Ordering::AcqRel)
    }

    /// Returns true unless this is the session that opened the node.
    pub(crate) fn is_attached(&self) -> bool {
        self.number != SessionNumber::default()
    }
}

/// The attached sessions that are open.
#[derive(Default)]
pub(crate) struct Attached {
    open: HashSet<SessionNumber>,
    /// Liveliness tokens of attached sessions; the table does not tell them apart.
    tokens: HashMap<u32, SessionNumber>,
}

impl Attached {
    pub(crate) fn add(&mut self, session: SessionNumber) {
        self.open.insert(session);
    }

    /// Returns true if an open session has this number.
    pub(crate) fn has(&self, id: u32) -> bool {
        self.open.contains(&SessionNumber(id))
    }

    /// Notes the owner of a token.
    pub(crate) fn note_token(&mut self, id: u32, session: &NodeSession) {
        if session.is_attached() {
            self.tokens.insert(id, session.number);
        }
    }

    pub(crate) fn forget_token(&mut self, id: u32) {
        self.tokens.remove(&id);
    }

    /// Removes a session, and returns its tokens.
    pub(crate) fn remove(&mut self, session: SessionNumber) -> Vec<u32> {
        self.open.remove(&session);
        let tokens = self.tokens.iter().filter(|(_, owner)| **owner == session);
        let tokens: Vec<u32> = tokens.map(|(id, _)| *id).collect();
        tokens.iter().for_each(|id| self.forget_token(*id));
        tokens
    }
}

/// Routes of keys without a publisher, by session and destination ([`Locality`]).
#[derive(Default)]
pub(crate) struct UndeclaredRoutes {
    first: [KeyCache; 3],
    attached: HashMap<SessionNumber, [KeyCache; 3]>,
}

impl UndeclaredRoutes {
    /// Returns the routes to this destination.
    #[inline]
    pub(crate) fn to(&mut self, destination: Reach) -> &mut KeyCache {
        match destination.session == SessionNumber::default() {
            true => &mut self.first[destination.locality as usize],
            false => self.attached_to(destination),
        }
    }

    /// Returns the routes of an attached session. Apart, so that its code and its stack are no part
    /// of a put of the first session.
    #[cold]
    #[inline(never)]
    fn attached_to(&mut self, destination: Reach) -> &mut KeyCache {
        let caches = self.attached.entry(destination.session).or_default();
        &mut caches[destination.locality as usize]
    }

    /// Takes the routes of an attached session.
    pub(crate) fn take(&mut self, session: SessionNumber) -> [KeyCache; 3] {
        self.attached.remove(&session).unwrap_or_default()
    }

    /// Returns the bytes of memory that keys and routes hold.
    pub(crate) fn memory(&self) -> usize {
        let attached = self.attached.values().flatten();
        let all = self.first.iter().chain(attached);
        all.map(KeyCache::memory).sum()
    }
}
