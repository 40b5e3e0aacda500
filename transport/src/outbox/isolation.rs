// SPDX-License-Identifier: MIT OR Apache-2.0
//! Isolation of sources from a peer that does not keep up: limits of the bytes that wait for it,
//! and of the time for which sources wait.

use std::{
    sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use crate::{
    clock,
    protocol::patience::{Demand, Flow, Isolation, StallClock},
    sync::Mutex,
};

use super::Outbox;

/// State of a peer's isolation. No thread touches it while the peer keeps up.
#[derive(Debug, Default)]
pub(super) struct Isolated {
    policy: Isolation,
    /// Clock of each [`Demand`].
    clocks: Mutex<[StallClock; 2]>,
    /// The number of sources that wait for the backlog to shrink: each write wakes them.
    watchers: AtomicUsize,
    /// Set if the peer did not make room within a moment, so that sources skip the short pause.
    parks: AtomicBool,
    /// State of the reading task with respect to other peers: [`FREE`], [`HELD`] or [`EXCUSED`].
    reader: AtomicU8,
}

const FREE: u8 = 0;
/// The reading task waits for another peer.
const HELD: u8 = 1;
/// The reading task waits for another peer, and the peer's lease seemed over during the wait.
const EXCUSED: u8 = 2;

impl Isolated {
    pub(super) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::SeqCst) > 0
    }

    /// Notes that a lane has drained: sources may pause for a moment again.
    pub(super) fn note_drained(&self) {
        if self.parks.load(Ordering::Relaxed) {
            self.parks.store(false, Ordering::Relaxed);
        }
    }
}

/// Source that waits for the peer, until it is dropped.
#[derive(Debug)]
pub struct Waiting<'a> {
    outbox: &'a Outbox,
    demand: Demand,
}

impl Waiting<'_> {
    /// Checks the peer's pace; true once the peer has used up the stall budget of the sources that
    /// wait for it. The caller then [gives it up](Outbox::give_up).
    #[must_use]
    pub fn look(&self, now: Instant) -> bool {
        let policy = self.outbox.isolated.policy;
        let (min_rate, limit) = match self.demand {
            Demand::Pace => (policy.min_rate, policy.stall),
            Demand::Progress => (0, policy.standstill),
        };
        let flow = self.outbox.flow(self.demand);
        let mut clocks = self.outbox.isolated.clocks.lock();
        clocks[self.demand as usize].look(now, flow, min_rate, limit)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut clocks = self.outbox.isolated.clocks.lock();
        clocks[self.demand as usize].end();
    }
}

/// Source that is woken by each write, until it is dropped.
#[derive(Debug)]
pub struct Watching<'a>(&'a AtomicUsize);

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Peer that is not read because the reading task waits for other peers, until it is dropped: its
/// lease does not expire during the wait.
#[derive(Debug)]
pub struct HeldReader<'a>(&'a Outbox);

impl Drop for HeldReader<'_> {
    fn drop(&mut self) {
        if self.0.isolated.reader.swap(FREE, Ordering::SeqCst) == EXCUSED {
            self.0.note_received(clock::now());
        }
    }
}

impl Outbox {
    /// Returns the outbox with these terms for a peer that does not keep up. Default: [`Isolation::default`].
    #[must_use]
    pub fn with_isolation(mut self, policy: Isolation) -> Self {
        self.isolated.policy = policy;
        self
    }

    /// Returns the outbox of a link that may lose messages: a lane that holds more than `bytes`
    /// drops further ones under [`Overflow::Pass`](super::Overflow::Pass).
    #[must_use]
    pub fn losing_beyond(mut self, bytes: usize) -> Self {
        self.overrun.passing = bytes;
        self
    }

    /// Returns true if the link [may lose](Outbox::losing_beyond) messages.
    #[must_use]
    pub fn may_lose(&self) -> bool {
        self.overrun.passing != usize::MAX
    }

    /// Returns the outbox for a peer that was too slow on an earlier connection, with the stall
    /// time that it has not made good. If any progress will do ([`Isolation::min_rate`] is 0) it
    /// owes nothing: its sources wait as long as ever.
    #[must_use]
    pub fn with_stall_debt(self, debt: Duration) -> Self {
        if self.isolated.policy.min_rate == 0 {
            return self;
        }
        let owing = StallClock::owing(clock::now(), debt);
        self.isolated.clocks.lock()[Demand::Pace as usize] = owing;
        self
    }

    /// Returns the stall time of sources that the peer has not made good, up to
    /// [`Isolation::stall`].
    #[must_use]
    pub fn stall_debt(&self) -> Duration {
        let clocks = self.isolated.clocks.lock();
        clocks[Demand::Pace as usize]
            .debt()
            .min(self.isolated.policy.stall)
    }

    /// Returns the time for which sources would wait for the peer now.
    #[must_use]
    pub fn stall_left(&self) -> Duration {
        self.isolated.policy.stall - self.stall_debt()
    }

    /// Returns the terms for this peer.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.isolated.policy
    }

    /// Returns true while at most `times` times [`Isolation::backlog_bytes`] waits in all lanes,
    /// whatever the limit of each lane.
    #[must_use]
    pub fn has_room_for_backlogs(&self, times: usize) -> bool {
        let most = self.isolated.policy.backlog_bytes.saturating_mul(times);
        self.is_closed() || self.queued_bytes() <= most
    }

    /// Begins to wait for this peer.
    #[must_use = "the wait ends when it is dropped"]
    pub fn begin_wait(&self, demand: Demand) -> Waiting<'_> {
        let flow = self.flow(demand);
        let mut clocks = self.isolated.clocks.lock();
        clocks[demand as usize].begin(clock::now(), flow);
        drop(clocks);
        let outbox = self;
        Waiting { outbox, demand }
    }

    /// Makes every write wake the sources that [listen for room](Outbox::listen_room), not only one
    /// that drains a lane.
    #[must_use = "it ends when it is dropped"]
    pub fn watch(&self) -> Watching<'_> {
        self.isolated.watchers.fetch_add(1, Ordering::SeqCst);
        Watching(&self.isolated.watchers)
    }

    /// Notes that messages for this peer exceed the limit of a lane, and at which rate they arrive.
    pub fn note_congested(&self, now: Instant) {
        let offered = self.flow(Demand::Pace).offered;
        let mut clocks = self.isolated.clocks.lock();
        clocks[Demand::Pace as usize].note_offered(now, offered);
    }

    /// Returns `true` if the peer made no room when a source paused for a moment, and has made none since.
    #[must_use]
    pub fn is_parking(&self) -> bool {
        self.isolated.parks.load(Ordering::Relaxed)
    }

    /// Notes that the peer made no room within a moment.
    pub fn begin_parking(&self) {
        self.isolated.parks.store(true, Ordering::Relaxed);
    }

    /// Notes that the reading task does not read from this peer until the result is dropped.
    #[must_use = "reading goes on when it is dropped"]
    pub fn hold_reader(&self) -> HeldReader<'_> {
        self.isolated.reader.store(HELD, Ordering::SeqCst);
        HeldReader(self)
    }

    /// Returns true while the peer is not read because of other peers, so that its silence has no
    /// meaning.
    pub(crate) fn excuses_silence(&self) -> bool {
        let reader = &self.isolated.reader;
        let excused = reader.compare_exchange(HELD, EXCUSED, Ordering::SeqCst, Ordering::SeqCst);
        excused.is_ok() || excused == Err(EXCUSED)
    }

    /// Returns the flow; the offer is looked up only if it counts.
    fn flow(&self, demand: Demand) -> Flow {
        let taken = self.counters.bytes.load(Ordering::Relaxed);
        let counts = demand == Demand::Pace && self.isolated.policy.min_rate > 0;
        let queued = if counts { self.queued_bytes() } else { 0 };
        Flow {
            taken,
            offered: taken + queued as u64,
        }
    }
}
