// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a client of a loaded router notes of what it gets.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use zonda_codec::{NetworkMessage, Push, PushBody};
use zonda_transport::driver::{Ended, Handler};
use zonda_transport::protocol::rx::{Context, Deliver};

/// What a client got so far.
#[derive(Debug, Default)]
pub struct Seen {
    messages: AtomicU64,
    first: OnceLock<Instant>,
    /// Messages with the time in them.
    probes: AtomicU64,
    /// The longest time that one of these was under way, in nanoseconds.
    longest: AtomicU64,
    answered: AtomicU32,
    ended: OnceLock<String>,
}

impl Seen {
    /// Data messages.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Acquire)
    }

    /// When the first one came.
    pub fn first(&self) -> Option<Instant> {
        self.first.get().copied()
    }

    /// Data messages with the time in them.
    pub fn probes(&self) -> u64 {
        self.probes.load(Ordering::Acquire)
    }

    /// The longest that one of these was under way since this was asked last.
    pub fn take_longest(&self) -> Duration {
        Duration::from_nanos(self.longest.swap(0, Ordering::AcqRel))
    }

    /// The highest number of a question that was answered.
    pub fn answered(&self) -> u32 {
        self.answered.load(Ordering::Acquire)
    }

    /// Why its connection ended, if it did.
    pub fn ended(&self) -> Option<&str> {
        self.ended.get().map(String::as_str)
    }

    /// Its connection is of no use any more.
    pub fn end(&self, why: &str) {
        // the first reason is the cause of the others
        let _ = self.ended.set(why.to_owned());
    }
}

/// The receiving end of a client.
pub struct Watch {
    seen: Arc<Seen>,
    epoch: Instant,
}

impl Watch {
    /// Notes what comes in `seen`; times in messages count from `epoch`.
    pub fn new(seen: Arc<Seen>, epoch: Instant) -> Self {
        Watch { seen, epoch }
    }
}

/// What a message says about when it was sent.
pub fn stamp(epoch: Instant) -> [u8; 8] {
    let nanos = u64::try_from(epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
    nanos.max(1).to_le_bytes()
}

/// In place of a time that nobody wants to know.
pub const NO_STAMP: [u8; 8] = [0; 8];

impl Deliver for Watch {
    fn push(&mut self, push: &Push<'_>, _raw_body: &[u8], _context: &Context<'_>) {
        let seen = &self.seen;
        // one task alone writes this
        let before = seen.messages.load(Ordering::Relaxed);
        seen.messages.store(before + 1, Ordering::Release);
        if before == 0 {
            seen.first.get_or_init(Instant::now);
        }
        let PushBody::Put(put) = &push.body else {
            return;
        };
        let sent = put.payload.try_into().map_or(0, u64::from_le_bytes);
        if sent > 0 {
            let now = u64::from_le_bytes(stamp(self.epoch));
            seen.longest
                .fetch_max(now.saturating_sub(sent), Ordering::AcqRel);
            seen.probes.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn message(&mut self, message: NetworkMessage<'_>, _context: &Context<'_>) {
        if let NetworkMessage::ResponseFinal(end) = message {
            self.seen.answered.fetch_max(end.rid, Ordering::AcqRel);
        }
    }
}

impl Handler for Watch {
    async fn burst_end(&mut self) {}

    fn closed(&mut self, ended: Ended) {
        self.seen.end(&ended.to_string());
    }
}
