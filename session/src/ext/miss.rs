// SPDX-License-Identifier: MIT OR Apache-2.0

//! That samples were lost, and who hears of it.

use std::sync::Arc;

use parking_lot::Mutex;
use zonda_codec::EntityGlobalId;

use crate::handlers::{Patient, Stored};

/// So many samples of one publisher in a row were lost and could not be recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Miss {
    source: EntityGlobalId,
    nb: u32,
}

impl Miss {
    pub(super) fn new(source: EntityGlobalId, nb: u32) -> Miss {
        Miss { source, nb }
    }

    /// The publisher.
    pub fn source(&self) -> EntityGlobalId {
        self.source
    }

    /// How many samples.
    pub fn nb(&self) -> u32 {
        self.nb
    }
}

impl Stored for Miss {}

/// The listeners of one subscriber. Clones are the same listeners.
#[derive(Clone, Default)]
pub(super) struct Listeners(Arc<Mutex<Listening>>);

#[derive(Default)]
struct Listening {
    /// Nobody listens any more.
    is_over: bool,
    next: u64,
    all: Vec<(u64, Arc<Patient<Miss>>)>,
}

impl Listeners {
    /// Adds one; its number takes it back.
    pub fn add(&self, listener: Patient<Miss>) -> u64 {
        let mut listening = self.0.lock();
        let number = listening.next;
        listening.next += 1;
        if !listening.is_over {
            listening.all.push((number, Arc::new(listener)));
        }
        number
    }

    pub fn remove(&self, number: u64) {
        let mut listening = self.0.lock();
        let at = listening.all.iter().position(|(n, _)| *n == number);
        let removed = at.map(|at| listening.all.swap_remove(at));
        drop(listening);
        drop(removed);
    }

    /// Ends all of them, and what is added later.
    pub fn end(&self) {
        let mut listening = self.0.lock();
        listening.is_over = true;
        let all = std::mem::take(&mut listening.all);
        drop(listening);
        drop(all);
    }

    /// Tells everybody. Samples do not wait for a listener: of one that is full this miss is not heard.
    pub fn tell(&self, miss: Miss) {
        let all: Vec<_> = self
            .0
            .lock()
            .all
            .iter()
            .map(|(_, l)| Arc::clone(l))
            .collect();
        for listener in all {
            if listener.call(miss).is_some() {
                tracing::warn!(
                    ?miss,
                    "a listener to missed samples is full and does not hear of this"
                );
            }
        }
    }
}
