// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two deadlines of an open link: send a keep-alive before the peer gives this node up, and give
//! the peer up when nothing came from it for the length of its lease.

use std::time::{Duration, Instant};

/// Keep-alives that a peer sends in its lease, where it is not configured otherwise.
const KEEP_ALIVES: u32 = 4;

/// The event that a deadline calls for once it has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerEvent {
    /// Send a keep-alive; it counts as sent from here on.
    SendKeepAlive,
    /// The peer's lease is over: drop the link, without a Close.
    Expired,
}

/// The deadlines of one open link. The owner passes in the time; nothing here reads a clock.
#[derive(Clone, Debug)]
pub struct Timers {
    keep_alive_interval: Duration,
    remote_lease: Duration,
    last_sent: Instant,
    last_received: Instant,
    /// The end of the peer's lease where it seemed over, but this node did not look in time.
    reprieve: Option<Instant>,
    /// Keep-alives are due whatever else is sent.
    is_steady: bool,
}

impl Timers {
    /// A look at the deadlines that comes later than this is the fault of a machine without time for it. What the peer sent
    /// may then wait unread as well.
    const LATE: Duration = Duration::from_millis(50);

    /// The smallest interval between keep-alives, whatever the lease.
    const INTERVAL_MIN: Duration = Duration::from_millis(1);

    /// Timers of a link that opened at `now`. `lease_local` is what this node announced, of which
    /// the `divisor`-th part is the longest silence it allows itself; `lease_remote` is the peer's.
    pub fn new(now: Instant, lease_local: Duration, divisor: u32, lease_remote: Duration) -> Self {
        let interval = lease_local / divisor.max(1);
        Timers {
            keep_alive_interval: interval.max(Self::INTERVAL_MIN),
            remote_lease: lease_remote,
            last_sent: now,
            last_received: now,
            reprieve: None,
            is_steady: false,
        }
    }

    /// Makes keep-alives due at each interval, whatever else is sent: what links of bare messages do.
    #[must_use]
    pub fn steady(self, is_steady: bool) -> Self {
        Timers { is_steady, ..self }
    }

    /// The interval in which a peer with its lease says something, as this implementation and the other one do.
    pub fn remote_keep_alive(&self) -> Duration {
        self.remote_lease / KEEP_ALIVES
    }

    /// Bytes came from the peer: whatever they are, they refresh its lease.
    #[inline]
    pub fn on_received(&mut self, now: Instant) {
        if now > self.last_received {
            self.reprieve = None;
        }
        self.last_received = now;
    }

    /// A batch went out: no keep-alive is due for another interval.
    #[inline]
    pub fn on_sent(&mut self, now: Instant) {
        if !self.is_steady {
            self.last_sent = now;
        }
    }

    /// When to call [`handle_timeout`](Timers::handle_timeout) at the latest.
    pub fn poll_timeout(&self) -> Instant {
        self.expiry().min(self.keep_alive())
    }

    /// Returns an event that is due at `now`, one per call; `None` if nothing is.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<TimerEvent> {
        let expiry = self.expiry();
        if now >= expiry {
            // The reader gets as much time again as this look came late.
            let late = now - expiry;
            if self.reprieve.is_some() || late <= Self::LATE {
                return Some(TimerEvent::Expired);
            }
            self.reprieve = Some(after(now, late));
        }
        if now >= self.keep_alive() {
            self.last_sent = now;
            return Some(TimerEvent::SendKeepAlive);
        }
        None
    }

    fn expiry(&self) -> Instant {
        self.reprieve
            .unwrap_or_else(|| after(self.last_received, self.remote_lease))
    }

    fn keep_alive(&self) -> Instant {
        after(self.last_sent, self.keep_alive_interval)
    }
}

/// `start + wait`, or a year from `start` where the clock cannot represent that.
fn after(start: Instant, wait: Duration) -> Instant {
    start
        .checked_add(wait)
        .unwrap_or(start + crate::protocol::parameters::LEASE_MAX)
}
