// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Node`]: the shared memory of one node.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::io;
use zonda_codec::{ZSlice, shared::Kind};

use crate::{
    Candidate, Counted, Lease, Loan, Pool, Refusal,
    auth::{self, Auth},
    counts::Counts,
    outgoing::PRIORITIES,
    segment,
};

/// Settings of a node's shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of the pool for ordinary payloads; 0 for none. Default 16 MiB.
    pub pool_bytes: usize,
    /// Smallest ordinary payload that is copied into the pool. Default 3072 bytes.
    pub size_min: usize,
    /// True if the payloads of puts, of queries and of replies are copied into the pool, in the order of [`Kind`].
    pub copied: [bool; 3],
    /// True if received payloads are copied out of the memory of other processes, which may truncate it. Default: no.
    pub copies_out: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            pool_bytes: 16 << 20,
            size_min: 3072,
            copied: [true; 3],
            copies_out: false,
        }
    }
}

/// The shared memory of one node.
#[derive(Debug)]
pub struct Node {
    auth: Auth,
    challenge: u64,
    settings: Settings,
    free_sets: Mutex<Vec<u16>>,
    pool: OnceLock<Option<Pool>>,
    counts: Arc<Counts>,
}

impl Node {
    /// Creates the node's authentication segment, and removes the files of processes that were killed.
    ///
    /// # Errors
    /// The system has no shared memory, or refuses this process a part of it.
    pub fn open(settings: Settings) -> std::io::Result<Arc<Node>> {
        segment::sweep();
        let (auth, challenge) = Auth::create()?;
        let sets = auth::COUNTERS / PRIORITIES as u16;
        Ok(Arc::new(Node {
            auth,
            challenge,
            settings,
            free_sets: Mutex::new((0..sets).rev().collect()),
            pool: OnceLock::new(),
            counts: Arc::default(),
        }))
    }

    /// Returns the number of the authentication segment.
    #[must_use]
    pub fn segment(&self) -> u32 {
        self.auth.id()
    }

    /// Returns the challenge in it, which a process of the same host and user can read.
    #[must_use]
    pub fn challenge(&self) -> u64 {
        self.challenge
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn auth(&self) -> &Auth {
        &self.auth
    }

    pub(crate) fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// Returns the counts.
    #[must_use]
    pub fn counted(&self) -> Counted {
        self.counts.read()
    }

    /// Opens the authentication segment that a neighbour names. A refusal is counted.
    ///
    /// # Errors
    /// There is no such segment of this user.
    pub fn knock(&self, segment: u32) -> Result<Candidate, Refusal> {
        Candidate::open(segment).inspect_err(|refusal| self.counts.refuse(refusal))
    }

    /// Lends the counters of one link; `None` if all are lent, or the authentication segment has lost bytes.
    #[must_use]
    pub fn lease(self: &Arc<Self>) -> Option<Lease> {
        if !self.auth.is_whole() {
            return None;
        }
        let set = self.sets(Vec::pop)?;
        Some(Lease::new(Arc::clone(self), set))
    }

    fn sets<T>(&self, act: impl FnOnce(&mut Vec<u16>) -> T) -> T {
        let sets = self.free_sets.lock();
        act(&mut sets.unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn take_back(&self, set: u16) {
        self.sets(|sets| sets.push(set));
    }

    /// Creates a pool of `bytes` for loans.
    ///
    /// # Errors
    /// The system refuses that much shared memory, or the pool is larger than 4 GiB.
    pub fn provider(&self, bytes: usize) -> std::io::Result<Pool> {
        Pool::create(bytes, true, Arc::clone(&self.counts)).map_err(io::Errno::into)
    }

    /// Returns the pool for ordinary payloads, created at the first call; `None` if the system refuses it.
    pub fn pool(&self) -> Option<&Pool> {
        let create = || {
            let bytes = self.settings.pool_bytes;
            let made = (bytes > 0).then(|| Pool::create(bytes, false, Arc::clone(&self.counts)))?;
            made.inspect_err(|error| {
                tracing::warn!(
                    "no pool of {bytes} bytes in shared memory: {error}; payloads go over the link"
                );
            })
            .ok()
        };
        self.pool.get_or_init(create).as_ref()
    }

    /// Copies an ordinary payload into the pool, if it is large enough and there is room.
    #[must_use]
    pub fn copy_in(&self, payload: &[u8], kind: Kind) -> Option<ZSlice> {
        let wanted = self.settings.copied[kind as usize];
        if !wanted || payload.len() < self.settings.size_min.max(1) {
            return None;
        }
        let mut loan: Loan = self.pool()?.loan(payload.len()).ok()?;
        loan.copy_from_slice(payload);
        Counts::add(&self.counts.copied_in);
        Some(loan.freeze().into())
    }
}
