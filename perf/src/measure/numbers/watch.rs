// SPDX-License-Identifier: MIT OR Apache-2.0
//! The record of messages that a client of a loaded router receives.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use zonda_codec::{NetworkMessage, Push, PushBody};
use zonda_transport::driver::{Ended, Handler};
use zonda_transport::protocol::rx::{Context, Deliver};

/// Counts and times of a client's received messages.
#[derive(Debug, Default)]
pub struct ReceivedCounts {
    messages: AtomicU64,
    first: OnceLock<Instant>,
    /// Messages with a time stamp.
    probes: AtomicU64,
    /// The longest delay of a stamped message, in nanoseconds.
    longest: AtomicU64,
    answered: AtomicU32,
    ended: OnceLock<String>,
}

impl ReceivedCounts {
    /// Returns the number of data messages.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Acquire)
    }

    /// Returns the time of the first data message.
    pub fn first(&self) -> Option<Instant> {
        self.first.get().copied()
    }

    /// Returns the number of data messages with a time stamp.
    pub fn probes(&self) -> u64 {
        self.probes.load(Ordering::Acquire)
    }

    /// Returns the longest delay of a stamped message since the last call.
    pub fn take_longest(&self) -> Duration {
        Duration::from_nanos(self.longest.swap(0, Ordering::AcqRel))
    }

    /// Returns the highest id of a query that was answered.
    pub fn answered(&self) -> u32 {
        self.answered.load(Ordering::Acquire)
    }

    /// Returns the reason of the connection's end, if it has ended.
    pub fn ended(&self) -> Option<&str> {
        self.ended.get().map(String::as_str)
    }

    /// Records the end of the connection.
    pub fn end(&self, why: &str) {
        // the first reason causes the later ones
        let _ = self.ended.set(why.to_owned());
    }
}

/// The receiving end of a client.
pub struct Watch {
    seen: Arc<ReceivedCounts>,
    epoch: Instant,
}

impl Watch {
    /// Records received messages in `seen`; time stamps count from `epoch`.
    pub fn new(seen: Arc<ReceivedCounts>, epoch: Instant) -> Self {
        Watch { seen, epoch }
    }
}

/// Returns a time stamp of the current time.
pub fn stamp(epoch: Instant) -> [u8; 8] {
    let nanos = u64::try_from(epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
    nanos.max(1).to_le_bytes()
}

/// A payload without a time stamp.
pub const NO_STAMP: [u8; 8] = [0; 8];

impl Deliver for Watch {
    fn push(&mut self, push: &Push<'_>, _raw_body: &[u8], _context: &Context<'_>) {
        let seen = &self.seen;
        // only one task writes this
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
